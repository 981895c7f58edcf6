//! Node processes that are lost, or send what no node process sends.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The tests are callers that promise their buffers.

use crate::job::{Job, Memory, Seed, content, dense};
use weft_base::constants::*;
use weft_p2p::{Completion, Envelope, Limits, Mode};
use weft_transport::simulator::{Conditions, Random};
use weft_transport::{Channel, Places};
use weft_trials::seeds;

/// Cuts a connection in the middle of traffic: everything ends, and what says it went well did.
#[test]
fn a_lost_node_process_fails_operations_and_hangs_none() {
    for seed in seeds(160) {
        let _seed = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits { eager: 300, unexpected: 2000, rings: 0, spins: 0, ..Limits::default() };
        let job = Job::new(Places::blocks(3, 1), Conditions::random(seed, 3), limits);
        job.network().cut_at(random.below(400), 0, 1);
        let (mut sending, mut receiving) = (Vec::new(), Vec::new());
        for number in 0..30u32 {
            let length = [8, 200, 400, 20_000][random.below(4) as usize];
            let (from, to) = if random.below(2) == 0 { (0, 1) } else { (1, 0) };
            let gaps = random.below(3) == 0;
            let mut memory = Box::new(Memory::new(length, gaps));
            let data = content(memory.length, from, number);
            memory.store(&data);
            let datatype = memory.datatype.clone();
            sending.push((
                from,
                job.isend(from, to, number as i32, memory.buffer(), datatype, Mode::Standard),
                memory,
            ));
            let mut memory = Box::new(Memory::new(20_010, random.below(3) == 0));
            let datatype = memory.datatype.clone();
            let request = job.irecv(to, from as i32, number as i32, memory.buffer(), datatype);
            receiving.push((to, request, memory, data));
            for _ in 0..random.below(10) {
                job.poll();
            }
        }
        let mut failures = 0;
        for (rank, request, memory, data) in receiving {
            let Completion { status, error, .. } = job.finish(rank, request);
            match error {
                Some(error) => {
                    assert_eq!(error.class, MPI_ERR_PROC_ABORTED);
                    assert!(error.message.contains("node process"), "{}", error.message);
                    failures += 1;
                }
                None => assert_eq!(memory.load(status.bytes() as usize), data),
            }
        }
        for (rank, request, memory) in sending {
            failures += u32::from(job.finish(rank, request).error.is_some());
            drop(memory);
        }
        job.network().advance(1000);
        for _ in 0..2000 {
            job.poll();
        }
        // Whoever waits for a message now waits in vain.
        let mut late = [0; 8];
        let receive = job.irecv(0, 1, 99, dense(&mut late), None);
        assert!(job.finish(0, receive).error.is_some(), "after {failures} failures");
        let pattern = Envelope::new(2, MPI_ANY_SOURCE, 98);
        assert!(job.engine(0).probe(job.me(0), &pattern).is_err());
        let send = job.isend(0, 1, 99, dense(&mut late), None, Mode::Synchronous);
        assert!(job.finish(0, send).error.is_some());
    }
}

/// Returns the header of a message of a rank, with what is in the upper half of its last word.
fn header(kind: u8, target: u32, envelope: Envelope, flags: u32) -> Vec<u8> {
    let (source, tag) = (envelope.source() as u32, envelope.tag() as u32);
    let words = [u32::from(kind), target, envelope.context, source, tag, flags];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

const SHORT: u8 = 1;
const OFFER: u8 = 2;

#[test]
fn nonsense_from_a_peer_fails_the_peer_and_nothing_else() {
    use weft_post::header::Frame;
    for seed in seeds(120) {
        let _seed = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits { eager: 300, unexpected: 2000, rings: 0, spins: 0, ..Limits::default() };
        let job = Job::new(Places::blocks(3, 1), Conditions::calm(seed), limits);
        let device = job.network().device(2);
        let mut data = content(9000, 0, 1);
        let send = job.isend(0, 2, 1, dense(&mut data), None, Mode::Standard);
        for _ in 0..20 {
            let mut name = || random.below(4) << 44 | random.below(2) << 24 | random.below(2);
            let (lent, room, offset) = (name(), name(), name());
            let in_pieces = random.below(2) == 0;
            let target = random.below(3) as u32;
            let envelope = Envelope::new(2, 2, random.below(3) as i32);
            let mut header = match random.below(7) {
                0 => Frame::Ask { in_pieces, lent, room, bytes: random.below(10_000) }
                    .encode()
                    .bytes()
                    .to_vec(),
                1 => Frame::Data { room, offset }.encode().bytes().to_vec(),
                2 => Frame::Withdrawn { lent }.encode().bytes().to_vec(),
                3 => Frame::Withdraw { word: target, lent }.encode().bytes().to_vec(),
                4 => Frame::Done { lent }.encode().bytes().to_vec(),
                5 => self::header(SHORT, target, envelope, random.below(3) as u32),
                _ => self::header(OFFER, target, envelope, random.below(3) as u32),
            };
            if random.below(3) == 0 {
                let place = random.below(header.len() as u64) as usize;
                header[place] = random.below(256) as u8;
            }
            header.truncate(64 - random.below(8) as usize * random.below(2) as usize);
            let payload = content(random.below(100) as usize * random.below(2) as usize, 2, 1);
            let _ = device.send(0, Channel::POINT_TO_POINT, &header, &payload);
            job.nodes[0].poll();
        }
        // Whatever became of it, it has an end.
        if job.is_complete(0, send) {
            job.end(0, send);
        } else {
            job.network().isolate(2);
            job.finish(0, send);
        }
        let mut got = vec![0; 9000];
        let send = job.isend(0, 1, 5, dense(&mut data), None, Mode::Standard);
        let mut steps = 0;
        let pattern = Envelope::new(2, 0, 5);
        let matched = loop {
            job.poll();
            steps += 1;
            assert!(steps < 100_000, "ranks of other node processes cannot talk any more");
            if let Some((matched, _)) = job.engine(1).improbe(job.me(1), &pattern, MPI_COMM_WORLD) {
                break matched;
            }
        };
        let receive = unsafe { job.engine(1).imrecv(job.me(1), matched, dense(&mut got)) };
        job.finish(1, receive);
        job.finish(0, send);
        assert_eq!(got, data);
    }
}

#[test]
fn what_no_rank_sends_is_reported_for_what_it_is() {
    let envelope = Envelope::new(2, 1, 3);
    let mut short = header(SHORT, 0, envelope, 0);
    short.truncate(20);
    let mut free = header(SHORT, 0, envelope, 0);
    free[1] = 1;
    let cases = [
        (header(SHORT, 0, envelope, 2), "a malformed header"),
        (header(SHORT, 0, envelope, 1 << 31), "a malformed header"),
        (short, "a malformed header"),
        (header(SHORT, 0, envelope, 1), "a message that does not say what it is"),
        (header(SHORT, 7, envelope, 0), "a rank that is not here"),
        (header(OFFER, 7, envelope, 0), "a malformed offer"),
        (free, "a message that has cost nothing"),
    ];
    for (header, what) in cases {
        let limits = Limits { eager: 300, unexpected: 2000, rings: 0, spins: 0, ..Limits::default() };
        let job = Job::new(Places::blocks(2, 1), Conditions::calm(1), limits);
        let mut got = [0; 8];
        let receive = job.irecv(0, 1, 3, dense(&mut got), None);
        let sent = job.network().device(1).send(0, Channel::POINT_TO_POINT, &header, &[0xff; 5]);
        assert!(sent.is_ok(), "{sent:?}");
        let error = job.finish(0, receive).error.expect("its sender is no peer of ours any more");
        // All jobs of the test are lost to this process, which keeps the first reason.
        println!("{what}: {}", error.message);
        assert_eq!(got, [0; 8], "{what}");
    }
}
