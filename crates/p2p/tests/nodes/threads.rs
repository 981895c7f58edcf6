//! Ranks on threads, parts, and jobs that meet.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The tests are callers that promise their buffers.

use crate::job::{Job, LENGTHS, Seed, byte, content, dense};
use weft_base::constants::*;
use weft_datatype::Datatype;
use weft_local::{Segment, SegmentDevice};
use weft_p2p::{Buffer, Envelope, Limits, Mode};
use weft_transport::simulator::{Conditions, Network, Random};
use weft_transport::{Device, Node, Places};
use weft_trials::seeds;

/// Ends the test program when a rank fails: the others would wait for it for ever.
struct EndAll;

impl Drop for EndAll {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

#[test]
fn ranks_on_threads_exchange_messages() {
    for seed in seeds(12) {
        println!("seed {seed}");
        exchange(seed, &Job::random(&mut Random::new(seed)));
    }
}

/// The same through shared memory, as processes of one host use it.
#[test]
fn ranks_on_threads_exchange_messages_through_a_segment() {
    for (seed, nodes) in seeds(8).zip([2, 3, 4].into_iter().cycle()) {
        println!("seed {seed}");
        let (memory, _) = Segment::create(nodes).unwrap();
        let attach = |node| SegmentDevice::attach(memory.try_clone().unwrap(), node).unwrap();
        let devices = (0..nodes).map(|node| Box::new(attach(node)) as Box<dyn Device>).collect();
        let limits = Limits { eager: 4096, unexpected: 10_000, rings: 16, spins: 50, ..Limits::default() };
        exchange(seed, &Job::over(devices, Places::round_robin(nodes + 2, nodes), limits));
    }
}

/// Each rank a thread, each node process polled by one more: blocking calls, several threads of several ranks at once.
fn exchange(seed: u64, job: &Job) {
    let ranks = job.places.size();
    let left = std::sync::atomic::AtomicU32::new(ranks);
    let ready = std::sync::Barrier::new(ranks as usize);
    std::thread::scope(|scope| {
        for node in &job.nodes {
            scope.spawn(|| {
                while left.load(std::sync::atomic::Ordering::Relaxed) != 0 {
                    if !node.poll() {
                        std::thread::yield_now();
                    }
                }
            });
        }
        for rank in 0..ranks {
            let (left, ready) = (&left, &ready);
            scope.spawn(move || {
                let _guard = EndAll;
                let (engine, me) = (job.engine(rank), job.me(rank));
                engine.attach(rank, weft_sched::current());
                ready.wait();
                let mut random = Random::new(seed ^ 77);
                for number in 0..120u32 {
                    // All ranks draw the same numbers.
                    let (shift, length) =
                        (1 + random.below(u64::from(ranks) - 1) as u32, LENGTHS[random.below(10) as usize]);
                    let (way, wild) = (random.below(4), random.below(2));
                    let (next, previous) = ((rank + shift) % ranks, (rank + ranks - shift) % ranks);
                    let mut data = content(length, rank, number);
                    let mut got = vec![0; length];
                    let envelope = Envelope::new(4, rank as i32, number as i32);
                    let source = if wild == 0 { MPI_ANY_SOURCE } else { previous as i32 };
                    let pattern = Envelope::new(envelope.context, source, envelope.tag());
                    let from = (wild != 0).then_some(previous);
                    let (data, room) = (dense(&mut data), dense(&mut got));
                    let status = unsafe {
                        match way {
                            0 => {
                                let send = Some((next, envelope, data));
                                let (status, result) = engine.sendrecv(me, send, Some((from, pattern, room)));
                                result.unwrap();
                                status
                            }
                            1 => {
                                let request = engine.irecv(me, pattern, room, None, MPI_COMM_WORLD);
                                engine.send(me, next, envelope, data, Mode::Synchronous).unwrap();
                                engine.wait_request(me, request).unwrap().status
                            }
                            2 => {
                                let mode = Mode::Standard;
                                let request =
                                    engine.isend(me, next, envelope, data, None, mode, MPI_COMM_WORLD);
                                let (matched, probed) = engine.mprobe(me, &pattern, MPI_COMM_WORLD).unwrap();
                                let (status, result) = engine.mrecv(me, matched, &room);
                                result.unwrap();
                                assert_eq!(probed, status);
                                engine.wait_request(me, request).unwrap();
                                status
                            }
                            _ => {
                                let mode = Mode::Standard;
                                let request =
                                    engine.isend(me, next, envelope, data, None, mode, MPI_COMM_WORLD);
                                let (status, result) = engine.receive(me, from, pattern, room);
                                result.unwrap();
                                engine.wait_request(me, request).unwrap();
                                status
                            }
                        }
                    };
                    assert_eq!((status.source, status.bytes()), (previous as i32, length as u64));
                    assert_eq!(got, content(length, previous, number));
                }
                assert_eq!(me.requests().live(), 0, "requests leak");
                // Others may still need this process to poll, which its own thread does.
                left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
            });
        }
    });
}

/// Partitioned operations of several rounds, with different numbers of parts on both sides, some buffers with gaps.
#[test]
fn parts_arrive_where_they_belong() {
    for seed in seeds(160) {
        let _seed = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits {
            eager: 300,
            unexpected: [0, 2000, 1 << 20][random.below(3) as usize],
            rings: 0,
            spins: 0,
            ..Limits::default()
        };
        let job = Job::new(Places::blocks(2, 1), Conditions::random(seed, 2), limits);
        // In units of three bytes, which is a block of the types with gaps.
        let (theirs, mine) =
            ([1, 2, 6, 12][random.below(4) as usize], [1, 3, 4, 12][random.below(4) as usize]);
        let units = 12 * (1 + random.below(400) as usize);
        let gaps = [random.below(2) == 0, random.below(2) == 0];
        let (mut from, mut to) = (vec![0u8; units * 5], vec![0u8; units * 5]);
        let block = |gaps: bool| {
            let packed = Datatype::contiguous(3, byte()).unwrap();
            if gaps { Datatype::resized(0, 5, &packed).unwrap() } else { packed }
        };
        let place = |gaps: bool, i: usize| if gaps { i / 3 * 5 + i % 3 } else { i };
        let envelope = Envelope::new(4, 0, 9);
        let parts = |memory: &mut [u8], parts: usize, gaps: bool| unsafe {
            weft_p2p::Parts::new(memory.as_mut_ptr(), parts as u32, (units / parts) as u64, block(gaps))
        };
        let (sender, receiver) = ((job.engine(0), job.me(0)), (job.engine(1), job.me(1)));
        // Whichever comes first.
        let mut sending = None;
        if random.below(2) == 0 {
            sending = Some(sender.0.psend_init(
                sender.1,
                Some(1),
                envelope,
                parts(&mut from, theirs, gaps[0]),
                MPI_COMM_WORLD,
            ));
        }
        let receiving = receiver.0.precv_init(
            receiver.1,
            Some((0, envelope)),
            parts(&mut to, mine, gaps[1]),
            MPI_COMM_WORLD,
        );
        let sending = sending.unwrap_or_else(|| {
            sender.0.psend_init(
                sender.1,
                Some(1),
                envelope,
                parts(&mut from, theirs, gaps[0]),
                MPI_COMM_WORLD,
            )
        });
        for round in 0..3u32 {
            let data = content(units * 3, 0, round);
            (0..units * 3).for_each(|i| from[place(gaps[0], i)] = data[i]);
            let receive_first = random.below(2) == 0;
            if receive_first {
                receiver.0.start(receiver.1, receiving).unwrap();
            }
            sender.0.start(sender.1, sending).unwrap();
            let mut order: Vec<i32> = (0..theirs as i32).collect();
            (0..theirs).for_each(|i| order.swap(i, random.below(theirs as u64) as usize));
            let last = order.pop().unwrap();
            sender.0.pready(sender.1, sending, order.iter().copied()).unwrap();
            if !receive_first {
                receiver.0.start(receiver.1, receiving).unwrap();
            }
            // Everything that does not overlap the part that is missing comes.
            let is_missing = |part: usize| {
                let (first, end) = (part * theirs / mine, ((part + 1) * theirs).div_ceil(mine));
                (first..end).contains(&(last as usize))
            };
            for part in 0..mine {
                let mut steps = 0;
                while !receiver.0.parrived(receiver.1, receiving, part as i32).unwrap() {
                    job.poll();
                    steps += 1;
                    if is_missing(part) && steps > 200 {
                        break;
                    }
                    assert!(steps < 100_000, "part {part} does not arrive");
                }
                assert_eq!(
                    is_missing(part),
                    steps > 200 && is_missing(part),
                    "a part is there before it is ready"
                );
                if !is_missing(part) {
                    let length = units * 3 / mine;
                    let range = part * length..(part + 1) * length;
                    assert!(range.into_iter().all(|i| to[place(gaps[1], i)] == data[i]), "part {part}");
                }
            }
            assert!(!job.is_complete(0, sending) && !job.is_complete(1, receiving));
            sender.0.pready(sender.1, sending, [last].into_iter()).unwrap();
            for (rank, request) in [(1, receiving), (0, sending)] {
                let mut steps = 0;
                while !job.is_complete(rank, request) {
                    job.poll();
                    steps += 1;
                    assert!(steps < 100_000, "a round does not end");
                }
                let completion = job.end(rank, request);
                assert!(completion.error.is_none() && completion.handle == request);
                if rank == 1 {
                    let status = completion.status;
                    assert_eq!((status.source, status.tag, status.bytes()), (0, 9, units as u64 * 3));
                }
            }
            assert!((0..units * 3).all(|i| to[place(gaps[1], i)] == data[i]));
        }
        sender.1.requests().free(sending).unwrap();
        receiver.1.requests().free(receiving).unwrap();
    }
}

/// Ranks of two jobs that meet exchange messages; each job gives the other's ranks numbers of its own.
#[test]
fn ranks_of_two_jobs_that_meet_exchange_messages() {
    for seed in seeds(20) {
        let _named = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits { eager: 64, unexpected: 1 << 16, rings: 0, spins: 0, ..Limits::default() };
        let jobs = [2, 3].map(|nodes| {
            Job::new(Places::blocks(nodes, 1), Conditions::random(random.below(u64::MAX), nodes), limits)
        });
        let between = Network::new(5, Conditions::random(random.below(u64::MAX), 5));
        for (job, begin, others) in [(&jobs[0], 0, [2, 3, 4].as_slice()), (&jobs[1], 2, &[0, 1])] {
            let count = job.nodes.len() as u32;
            for (number, nodes) in job.nodes.iter().enumerate() {
                let device = between.device(begin + number as u32);
                assert_eq!(nodes.add(device, others, &vec![1; others.len()]), count);
                let node_of: Vec<Node> = (count..).take(others.len()).collect();
                assert_eq!(nodes.places().add(&node_of), count);
            }
        }
        let [first, second] = &jobs;
        for bytes in [0, 60, 200, 100_000] {
            let data: Vec<u8> = (0..bytes).map(|_| random.below(256) as u8).collect();
            let mut targets: Vec<Vec<u8>> = (0..6).map(|_| vec![0; bytes]).collect();
            let mut requests = Vec::new();
            for (number, target) in targets.iter_mut().enumerate() {
                let (one, other) = (number as u32 % 2, number as u32 / 2);
                let there = second.irecv(
                    other,
                    one as i32,
                    5,
                    unsafe { Buffer::dense(target.as_mut_ptr(), bytes as u64) },
                    None,
                );
                let buffer = unsafe { Buffer::dense(data.as_ptr().cast_mut(), bytes as u64) };
                let here = first.isend(one, 2 + other, 5, buffer, None, Mode::Standard);
                requests.push((one, here, other, there));
            }
            let is_done = |&(one, here, other, there): &(u32, _, u32, _)| {
                first.is_complete(one, here) && second.is_complete(other, there)
            };
            while !requests.iter().all(is_done) {
                first.nodes.iter().chain(&second.nodes).for_each(|nodes| _ = nodes.poll());
            }
            for (one, here, other, there) in requests {
                first.end(one, here);
                assert!(second.end(other, there).error.is_none());
            }
            assert!(targets.iter().all(|target| *target == data), "{bytes} bytes");
        }
    }
}
