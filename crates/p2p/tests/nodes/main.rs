//! Ranks on several node processes, over the simulated network. One thread plays all ranks, so that everything follows
//! from the seed; those of `threads` use threads.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The tests are callers that promise their buffers.

mod job;
mod loss;
mod threads;

use job::{Job, LENGTHS, Memory, Seed, content, dense};
use weft_base::abi;
use weft_base::constants::*;
use weft_p2p::{Completion, Envelope, Limits, Mode, Scope, Scopes};
use weft_transport::Places;
use weft_transport::simulator::{Conditions, Random};
use weft_trials::seeds;

struct Sent {
    from: u32,
    tag: i32,
    data: Vec<u8>,
}

/// What a receiver's patterns leave open. All of a receiver's are alike, so any order of arrival serves them all.
#[derive(Clone, Copy, PartialEq)]
enum Wild {
    Both,
    Tag,
    Source,
    None,
}

/// Sends random messages between random ranks in a random order of events, and compares what arrives with what the order
/// rules want.
fn traffic(seed: u64) {
    let _seed = Seed(seed);
    let mut random = Random::new(seed);
    let job = Job::random(&mut random);
    let ranks = job.places.size();
    let wild: Vec<_> = (0..ranks)
        .map(|_| [Wild::Both, Wild::Tag, Wild::Source, Wild::None][random.below(4) as usize])
        .collect();
    let count = 10 + random.below(60);
    // What will be sent, by receiver.
    let mut plans: Vec<Vec<(u32, i32, usize)>> = vec![Vec::new(); ranks as usize];
    let mut sends = Vec::new();
    for _ in 0..count {
        let (from, to) = (random.below(ranks.into()) as u32, random.below(ranks.into()) as u32);
        let (tag, length) = (random.below(3) as i32, LENGTHS[random.below(10) as usize]);
        plans[to as usize].push((from, tag, length));
        sends.push((from, to, tag, length));
    }
    let mut next_send = 0;
    let mut posted: Vec<usize> = vec![0; ranks as usize];
    let mut arrived: Vec<Vec<Sent>> = (0..ranks).map(|_| Vec::new()).collect();
    let mut sending: Vec<(u32, abi::Request, Box<Memory>)> = Vec::new();
    let mut receiving: Vec<(u32, abi::Request, Box<Memory>, Envelope)> = Vec::new();
    let mut received = 0;
    let mut taken: Vec<Vec<bool>> = plans.iter().map(|plan| vec![false; plan.len()]).collect();
    let mut steps = 0;
    while next_send < sends.len() || !sending.is_empty() || received < sends.len() {
        steps += 1;
        assert!(steps < 3_000_000, "{received} of {} messages arrive, then nothing happens", sends.len());
        let all_begun =
            next_send == sends.len() && posted.iter().zip(&plans).all(|(p, plan)| *p == plan.len());
        match if all_begun { 3 + random.below(3) } else { random.below(6) } {
            0 if next_send < sends.len() => {
                let (from, to, tag, length) = sends[next_send];
                next_send += 1;
                let mut memory = Box::new(Memory::new(length, random.below(3) == 0));
                let number = arrived[to as usize].iter().filter(|sent| sent.from == from).count() as u32;
                let data = content(memory.length, from, number << 8 | to);
                memory.store(&data);
                let mode = if random.below(4) == 0 { Mode::Synchronous } else { Mode::Standard };
                let datatype = memory.datatype.clone();
                let request = job.isend(from, to, tag, memory.buffer(), datatype, mode);
                arrived[to as usize].push(Sent { from, tag, data });
                sending.push((from, request, memory));
            }
            1 | 2 => {
                let rank = random.below(ranks.into()) as u32;
                let Some(&(from, tag, _)) = plans[rank as usize].get(posted[rank as usize]) else { continue };
                let (source, tag) = match wild[rank as usize] {
                    Wild::Both => (MPI_ANY_SOURCE, MPI_ANY_TAG),
                    Wild::Tag => (from as i32, MPI_ANY_TAG),
                    Wild::Source => (MPI_ANY_SOURCE, tag),
                    Wild::None => (from as i32, tag),
                };
                let pattern = Envelope::new(2, source, tag);
                let (engine, me) = (job.engine(rank), job.me(rank));
                let room = if random.below(8) == 0 { random.below(1000) as usize } else { 40_010 };
                let mut memory = Box::new(Memory::new(room, random.below(3) == 0));
                let datatype = memory.datatype.clone();
                let request = if random.below(4) == 0 {
                    let Some((matched, _)) = engine.improbe(me, &pattern, MPI_COMM_WORLD) else { continue };
                    unsafe { engine.imrecv(me, matched, memory.buffer()) }
                } else {
                    job.irecv(rank, source, tag, memory.buffer(), datatype)
                };
                posted[rank as usize] += 1;
                receiving.push((rank, request, memory, pattern));
            }
            3 | 4 => _ = job.nodes[random.below(job.nodes.len() as u64) as usize].poll(),
            _ => {
                if random.below(2) == 0
                    && let Some(place) =
                        sending.iter().position(|(rank, request, _)| job.is_complete(*rank, *request))
                {
                    let (rank, request, _) = sending.swap_remove(place);
                    assert!(job.end(rank, request).error.is_none());
                }
                // In the order of their posts, so that messages are taken by the order rule.
                let rank = random.below(ranks.into()) as u32;
                let Some(place) = receiving.iter().position(|(receiver, request, _, _)| {
                    *receiver == rank && job.is_complete(rank, *request)
                }) else {
                    continue;
                };
                let (rank, request, memory, pattern) = receiving.remove(place);
                let Completion { status, error, .. } = job.end(rank, request);
                let data = &arrived[rank as usize];
                let taken = &mut taken[rank as usize];
                // The rank's receives are alike, and those posted before may not be complete: this one got one of the
                // messages it could have got, and its place tells which.
                let before = receiving.iter().filter(|(r, _, _, p)| *r == rank && *p == pattern).count();
                let fits = |sent: &Sent| (sent.from as i32, sent.tag) == (status.source, status.tag);
                let candidates = data.iter().enumerate().filter(|(i, sent)| !taken[*i] && fits(sent));
                let length = status.bytes() as usize;
                let got = memory.load(length);
                let found = candidates.take(before + 1).find(|(_, sent)| {
                    let whole = sent.data.len().min(memory.length);
                    whole == length && sent.data[..whole] == got
                });
                let (index, sent) = found.expect("the data of a message that may be taken here");
                taken[index] = true;
                assert_eq!(
                    error.map(|e| e.class),
                    (sent.data.len() > memory.length).then_some(MPI_ERR_TRUNCATE)
                );
                assert!(memory.gaps_are_clean(), "bytes between the blocks were written");
                received += 1;
            }
        }
    }
    assert!(taken.iter().flatten().all(|taken| *taken));
    for rank in 0..ranks {
        assert_eq!(job.me(rank).requests().live(), 0, "requests leak");
    }
}

#[test]
fn random_traffic_follows_the_order_rules() {
    seeds(240).for_each(traffic);
}

/// Sends numbered messages of one pair, receives them one after the other, and wants them in order.
#[test]
fn messages_of_a_pair_do_not_overtake() {
    for seed in seeds(120) {
        let _seed = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits {
            eager: 300,
            unexpected: [0, 1500, 1 << 20][random.below(3) as usize],
            rings: 0,
            spins: 0,
            ..Limits::default()
        };
        let job = Job::new(Places::blocks(2, 1), Conditions::random(seed, 2), limits);
        let mut sending = Vec::new();
        let mut got = 0u32;
        let mut receive: Option<(abi::Request, Box<Vec<u8>>)> = None;
        let mut steps = 0;
        while got < 60 {
            steps += 1;
            assert!(steps < 1_000_000, "only {got} messages arrive");
            if sending.len() < 60 && random.below(3) == 0 {
                let number = sending.len() as u32;
                let mut data = Box::new(content([8, 200, 301, 3000][random.below(4) as usize], 0, number));
                data[..4].copy_from_slice(&number.to_le_bytes());
                let mode = if random.below(5) == 0 { Mode::Synchronous } else { Mode::Standard };
                sending.push((job.isend(0, 1, 7, dense(&mut data), None, mode), data));
            }
            if receive.is_none() && random.below(3) == 0 {
                let mut data = Box::new(vec![0; 3000]);
                let source = if random.below(2) == 0 { 0 } else { MPI_ANY_SOURCE };
                let request = job.irecv(1, source, 7, dense(&mut data), None);
                receive = Some((request, data));
            }
            job.poll();
            if let Some((request, data)) = receive.take_if(|(request, _)| job.is_complete(1, *request)) {
                let length = job.end(1, request).status.bytes() as usize;
                let mut expected = content(length, 0, got);
                expected[..4].copy_from_slice(&got.to_le_bytes());
                assert_eq!(data[..length], expected, "message {got}");
                got += 1;
            }
        }
        for (request, _) in sending {
            assert!(job.finish(0, request).error.is_none());
        }
    }
}

#[test]
fn what_nobody_receives_stays_within_the_limit() {
    let limits = Limits { eager: 1000, unexpected: 50_000, rings: 0, spins: 0, ..Limits::default() };
    let job = Job::new(Places::blocks(2, 1), Conditions::calm(1), limits);
    let mut data = vec![7; 1000];
    let mut sending: Vec<_> =
        (0..500).map(|_| job.isend(0, 1, 0, dense(&mut data), None, Mode::Standard)).collect();
    for _ in 0..5000 {
        job.poll();
    }
    let early = sending.iter().filter(|request| job.is_complete(0, **request)).count();
    assert!((20..=50).contains(&early), "{early} messages of 1000 bytes are kept of 50,000 bytes");
    let mut got = vec![0; 1000];
    for _ in 0..500 {
        let request = job.irecv(1, 0, 0, dense(&mut got), None);
        assert_eq!(job.finish(1, request).status.bytes(), 1000);
    }
    sending.drain(..).for_each(|request| assert!(job.finish(0, request).error.is_none()));
    // All the credit is back.
    let request = job.isend(0, 1, 0, dense(&mut data), None, Mode::Standard);
    assert!(job.is_complete(0, request), "a short message goes at once again");
}

/// Each part goes its own way, so they come in any order, between other messages, and some of one message before others of it.
#[test]
fn parts_of_long_messages_may_come_in_any_order() {
    for seed in seeds(24) {
        let _seed = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits { eager: 64, unexpected: 1 << 20, rings: 0, spins: 0, ..Limits::default() };
        let conditions = Conditions { parts: 3, remote_read: false, ..Conditions::random(seed, 2) };
        let job = Job::new(Places::blocks(2, 1), conditions, limits);
        let mut sent: Vec<_> = (0..6)
            .map(|number| content([100, 300_000, 700_001, 1 << 20][random.below(4) as usize], 0, number))
            .collect();
        // Some receives are for less, whose sender sends no more, or for more.
        let mut got: Vec<_> = sent
            .iter()
            .map(|data| vec![0; data.len().saturating_add_signed([0, -1, 9][random.below(3) as usize])])
            .collect();
        let receives: Vec<_> = got.iter_mut().map(|got| job.irecv(1, 0, 3, dense(got), None)).collect();
        let sends: Vec<_> =
            sent.iter_mut().map(|data| job.isend(0, 1, 3, dense(data), None, Mode::Standard)).collect();
        for (number, (&receive, &send)) in receives.iter().zip(&sends).enumerate() {
            let length = sent[number].len().min(got[number].len());
            assert_eq!(job.finish(1, receive).error.is_none(), length == sent[number].len(), "too long");
            assert!(got[number][..length] == sent[number][..length], "message {number}");
            assert!(job.finish(0, send).error.is_none());
        }
    }
}

#[test]
fn a_synchronous_send_waits_for_its_receive() {
    for seed in seeds(40) {
        let _seed = Seed(seed);
        let limits = Limits { eager: 4096, unexpected: 1 << 20, rings: 0, spins: 0, ..Limits::default() };
        let job = Job::new(Places::blocks(2, 1), Conditions::random(seed, 2), limits);
        for length in [0, 8, 9000] {
            let mut data = content(length, 0, 1);
            let send = job.isend(0, 1, 3, dense(&mut data), None, Mode::Synchronous);
            for _ in 0..500 {
                job.poll();
            }
            assert!(!job.is_complete(0, send), "nothing has been received");
            let pattern = Envelope::new(2, MPI_ANY_SOURCE, 3);
            let probed = job.engine(1).iprobe(job.me(1), &pattern).expect("the request is there");
            assert_eq!((probed.source, probed.bytes()), (0, length as u64));
            let mut got = vec![0; length];
            let receive = job.irecv(1, 0, 3, dense(&mut got), None);
            assert_eq!(job.finish(1, receive).status.bytes(), length as u64);
            assert!(job.finish(0, send).error.is_none());
            assert_eq!(got, data);
        }
    }
}

#[test]
fn a_cancelled_operation_or_its_message_is_never_lost() {
    for seed in seeds(200) {
        let _seed = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits { eager: 64, unexpected: 1 << 20, rings: 0, spins: 0, ..Limits::default() };
        let job = Job::new(Places::blocks(2, 1), Conditions::random(seed, 2), limits);
        let length = [8, 5000][random.below(2) as usize];
        let mut data = content(length, 0, 1);
        let (mut got, mut again) = (vec![0; length], vec![0; length]);
        let receive = job.irecv(1, 0, 1, dense(&mut got), None);
        let send = job.isend(0, 1, 1, dense(&mut data), None, Mode::Standard);
        for _ in 0..random.below(200) {
            job.poll();
        }
        job.engine(1).cancel(job.me(1), receive).unwrap();
        let cancelled = job.finish(1, receive).status.cancelled();
        if cancelled {
            for _ in 0..random.below(200) {
                job.poll();
            }
            // A short one may wait for room, beyond recall.
            if length > 64 && random.below(2) == 0 {
                job.engine(0).cancel(job.me(0), send).unwrap();
                let status = job.finish(0, send).status;
                assert!(status.cancelled(), "nobody has received it");
                continue;
            }
            let receive = job.irecv(1, 0, 1, dense(&mut again), None);
            assert_eq!(job.finish(1, receive).status.bytes(), length as u64);
            got = again;
        }
        assert!(!job.finish(0, send).status.cancelled());
        assert_eq!(got, data);
    }
}

/// A program may have synchronised in other ways, and so know that the message has come.
#[test]
fn what_has_come_before_its_receive_is_cancelled_is_received() {
    let limits = Limits { eager: 64, unexpected: 1 << 20, rings: 0, spins: 0, ..Limits::default() };
    let job = Job::new(Places::blocks(2, 1), Conditions::calm(1), limits);
    let (mut data, mut got) = (content(8, 0, 1), vec![0; 8]);
    let receive = job.irecv(1, 0, 1, dense(&mut got), None);
    let send = job.isend(0, 1, 1, dense(&mut data), None, Mode::Standard);
    job.engine(1).cancel(job.me(1), receive).unwrap();
    assert!(!job.finish(1, receive).status.cancelled());
    assert!(job.finish(0, send).error.is_none());
    assert_eq!(got, data);
}

/// The receiver has the message, and what says so has arrived at the sender: the next send finds its room.
#[test]
fn a_buffered_send_looks_whether_there_is_room_by_now() {
    let limits = Limits { eager: 300, unexpected: 2000, rings: 0, spins: 0, ..Limits::default() };
    let job = Job::new(Places::blocks(2, 1), Conditions::calm(1), limits);
    const LENGTH: usize = 5000;
    let mut space = vec![0; LENGTH + MPI_BSEND_OVERHEAD as usize];
    let mut data = content(LENGTH, 0, 1);
    let (address, size) = (space.as_mut_ptr(), space.len());
    let (engine, me) = (job.engine(0), job.me(0));
    unsafe { engine.attach_buffer(me, Scope::Process, address, size, false) }.expect("there is none");
    let mut send = |tag| {
        let envelope = Envelope::new(2, 0, tag);
        let scopes = Scopes { comm: MPI_COMM_WORLD, session: None };
        unsafe { engine.send_buffered(me, 1, envelope, dense(&mut data), scopes) }
    };
    let mut got = vec![0; LENGTH];
    for tag in 0..10 {
        send(tag).expect("all is free, as far as can be known");
        let full = send(tag).expect_err("the first is there");
        assert_eq!(full.class, MPI_ERR_BUFFER);
        let receive = job.irecv(1, 0, tag, dense(&mut got), None);
        // The sender polls first, so that it has not heard of the end when the receiver has everything.
        while !job.is_complete(1, receive) {
            job.poll();
        }
        assert!(job.end(1, receive).error.is_none());
    }
}
