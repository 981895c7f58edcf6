//! Ranks are plain threads here; every test is about what holds whichever way messages take.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The tests are callers that promise their buffers.

use std::io::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use weft_base::abi;
use weft_base::constants::*;
use weft_datatype::Datatype;
use weft_p2p::{Buffer, Endpoint, Engine, Envelope, Limits, Mode};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// The seed of the test that runs; of one of them if several do.
static SEED: AtomicU64 = AtomicU64::new(0);

/// Ends the test program when a rank fails: the others would wait for it for ever.
struct EndAll;

impl Drop for EndAll {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Past the test harness, which would keep what is printed until the test ends.
            let seed = SEED.load(Ordering::Relaxed);
            let _ =
                writeln!(std::io::stderr(), "a rank failed; WEFT_TEST_SEED={seed}, --nocapture says more");
            std::process::abort();
        }
    }
}

fn seed() -> u64 {
    let seed = std::env::var("WEFT_TEST_SEED").ok().and_then(|s| s.parse().ok());
    let seed =
        seed.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64);
    println!("seed {seed} (set WEFT_TEST_SEED to repeat)");
    SEED.store(seed, Ordering::Relaxed);
    seed
}

fn byte() -> &'static Datatype {
    Datatype::predefined(MPI_BYTE).unwrap()
}

fn buffer(data: &mut [u8]) -> Buffer {
    unsafe { Buffer::new(data.as_mut_ptr(), data.len() as u64, byte()) }
}

fn envelope(source: i32, tag: i32) -> Envelope {
    Envelope::new(0, source, tag)
}

struct Rank {
    engine: &'static Engine,
    me: &'static Endpoint,
    rank: u32,
}

impl Rank {
    fn send(&self, target: u32, tag: i32, data: &mut [u8], mode: Mode) {
        unsafe { self.engine.send(self.me, target, envelope(self.rank as i32, tag), buffer(data), mode) }
            .unwrap()
    }
    fn isend(&self, target: u32, tag: i32, data: &mut [u8], mode: Mode) -> abi::Request {
        let envelope = envelope(self.rank as i32, tag);
        unsafe { self.engine.isend(self.me, target, envelope, buffer(data), None, mode, MPI_COMM_WORLD) }
    }
    fn receive(&self, source: i32, tag: i32, data: &mut [u8]) -> abi::Status {
        let from = u32::try_from(source).ok();
        let (status, result) =
            unsafe { self.engine.receive(self.me, from, envelope(source, tag), buffer(data)) };
        result.unwrap();
        status
    }
    fn irecv(&self, source: i32, tag: i32, data: &mut [u8]) -> abi::Request {
        unsafe { self.engine.irecv(self.me, envelope(source, tag), buffer(data), None, MPI_COMM_WORLD) }
    }
    fn wait(&self, request: abi::Request) -> abi::Status {
        let completion = self.engine.wait_request(self.me, request).unwrap();
        assert!(completion.error.is_none() && completion.handle == MPI_REQUEST_NULL);
        completion.status
    }
}

fn run(ranks: u32, limits: Limits, body: impl Fn(Rank) + Sync) {
    let engine: &'static Engine = Box::leak(Box::new(Engine::new(ranks, limits)));
    let attached = std::sync::Barrier::new(ranks as usize);
    std::thread::scope(|scope| {
        for rank in 0..ranks {
            let (body, attached) = (&body, &attached);
            scope.spawn(move || {
                let _guard = EndAll;
                let me = engine.attach(rank, weft_sched::current());
                attached.wait();
                body(Rank { engine, me, rank });
                assert_eq!(me.requests().live(), 0, "requests leak");
            });
        }
    });
}

/// Every combination of what decides the way of a message: rings or not, spinning or not, eager or not.
fn all_limits() -> Vec<Limits> {
    let mut all = Vec::new();
    for rings in [0, 1, 16] {
        for spins in [0, 300] {
            for (eager, unexpected) in [(0, 0), (64, 1000), (4096, 1 << 20)] {
                all.push(Limits { eager, unexpected, rings, spins });
            }
        }
    }
    all
}

const LENGTHS: [usize; 10] = [0, 4, 8, 39, 40, 41, 64, 700, 4096, 9000];

/// Fills `data` so that sender, number and position show.
fn fill(data: &mut [u8], source: u32, number: u32) {
    for (i, byte) in data.iter_mut().enumerate() {
        *byte = (i as u32 ^ source.wrapping_mul(31) ^ number.wrapping_mul(7)) as u8;
    }
}

#[test]
fn messages_of_a_pair_stay_in_order_by_all_ways() {
    let seed = seed();
    for limits in all_limits() {
        run(2, limits, |rank| {
            let mut random = Random(seed | 1);
            let (mut data, mut expected) = (vec![0; 10_000], vec![0; 10_000]);
            for number in 0..1500u32 {
                let length = LENGTHS[random.below(LENGTHS.len() as u64) as usize];
                let (way, wild) = (random.below(4), random.below(3));
                if rank.rank == 0 {
                    fill(&mut data[..length], 0, number);
                    match way {
                        0 => rank.send(1, 5, &mut data[..length], Mode::Synchronous),
                        1 => _ = rank.wait(rank.isend(1, 5, &mut data[..length], Mode::Standard)),
                        _ => rank.send(1, 5, &mut data[..length], Mode::Standard),
                    }
                } else {
                    let source = if wild == 0 { MPI_ANY_SOURCE } else { 0 };
                    let tag = if wild == 1 { MPI_ANY_TAG } else { 5 };
                    let status = match way {
                        2 => rank.wait(rank.irecv(source, tag, &mut data)),
                        3 => {
                            let probed = rank.engine.probe(rank.me, &envelope(source, tag)).unwrap();
                            let status = rank.receive(source, tag, &mut data);
                            assert_eq!(probed, status);
                            status
                        }
                        _ => rank.receive(source, tag, &mut data),
                    };
                    fill(&mut expected[..length], 0, number);
                    assert_eq!((status.source, status.tag, status.bytes()), (0, 5, length as u64));
                    assert!(data[..length] == expected[..length], "message {number} of {length} bytes");
                }
            }
        });
    }
}

#[test]
fn many_senders_to_one_wildcard_receiver_keep_each_their_order() {
    let seed = seed();
    const MESSAGES: u32 = 600;
    for limits in all_limits() {
        let ranks = 4;
        run(ranks, limits, |rank| {
            let mut random = Random(seed ^ u64::from(rank.rank) << 32 | 1);
            if rank.rank == 0 {
                let mut next = vec![0u32; ranks as usize];
                let mut data = vec![0; 10_000];
                let mut expected = vec![0; 10_000];
                for _ in 0..MESSAGES * (ranks - 1) {
                    let status = match random.below(3) {
                        0 => rank.wait(rank.irecv(MPI_ANY_SOURCE, MPI_ANY_TAG, &mut data)),
                        1 => {
                            let pattern = envelope(MPI_ANY_SOURCE, MPI_ANY_TAG);
                            let (matched, probed) =
                                rank.engine.mprobe(rank.me, &pattern, MPI_COMM_WORLD).unwrap();
                            let (status, result) =
                                unsafe { rank.engine.mrecv(rank.me, matched, &buffer(&mut data)) };
                            result.unwrap();
                            assert_eq!(probed, status);
                            status
                        }
                        _ => rank.receive(MPI_ANY_SOURCE, MPI_ANY_TAG, &mut data),
                    };
                    let number = next[status.source as usize];
                    assert_eq!(status.tag, number as i32, "message of rank {} out of order", status.source);
                    next[status.source as usize] += 1;
                    let length = status.bytes() as usize;
                    fill(&mut expected[..length], status.source as u32, number);
                    assert!(data[..length] == expected[..length]);
                }
            } else {
                let mut data = vec![0; 10_000];
                for number in 0..MESSAGES {
                    let length = LENGTHS[random.below(LENGTHS.len() as u64) as usize];
                    fill(&mut data[..length], rank.rank, number);
                    match random.below(6) {
                        0 => rank.send(0, number as i32, &mut data[..length], Mode::Synchronous),
                        1 => _ = rank.wait(rank.isend(0, number as i32, &mut data[..length], Mode::Standard)),
                        _ => rank.send(0, number as i32, &mut data[..length], Mode::Standard),
                    }
                }
            }
        });
    }
}

#[test]
fn a_cancelled_receive_or_its_message_is_never_lost() {
    let seed = seed();
    for limits in all_limits() {
        run(2, limits, |rank| {
            let mut random = Random(seed ^ u64::from(rank.rank) | 1);
            for number in 0..800u32 {
                let mut data = number.to_le_bytes();
                if rank.rank == 0 {
                    for _ in 0..random.below(200) {
                        std::hint::spin_loop();
                    }
                    rank.send(1, 1, &mut data, Mode::Standard);
                } else {
                    let mut got = [0; 4];
                    let request = rank.irecv(0, 1, &mut got);
                    for _ in 0..random.below(200) {
                        std::hint::spin_loop();
                    }
                    rank.engine.cancel(rank.me, request).unwrap();
                    if rank.wait(request).cancelled() {
                        assert_eq!(rank.receive(0, 1, &mut got).bytes(), 4);
                    }
                    assert_eq!(got, data);
                }
            }
        });
    }
}

#[test]
fn threads_of_a_rank_that_synchronise_keep_their_order() {
    for limits in all_limits() {
        run(2, limits, |rank| {
            const ROUNDS: u32 = 500;
            if rank.rank == 1 {
                for number in 0..ROUNDS * 2 {
                    let mut data = [0; 4];
                    rank.receive(0, MPI_ANY_TAG, &mut data);
                    assert_eq!(u32::from_le_bytes(data), number);
                }
                return;
            }
            // The rank's own thread may use a ring, the other thread may not; they take turns.
            let turn = AtomicUsize::new(0);
            let send = |parity: usize| {
                for number in (parity as u32..ROUNDS * 2).step_by(2) {
                    while turn.load(Ordering::Acquire) != number as usize {
                        std::hint::spin_loop();
                    }
                    rank.send(1, parity as i32, &mut number.to_le_bytes(), Mode::Standard);
                    turn.store(number as usize + 1, Ordering::Release);
                }
            };
            std::thread::scope(|scope| {
                scope.spawn(|| send(1));
                send(0);
            });
        });
    }
}

#[test]
fn several_threads_of_two_ranks_exchange_at_once() {
    let seed = seed();
    for limits in all_limits() {
        run(2, limits, |rank| {
            let other = 1 - rank.rank;
            let talk = |thread: u64| {
                let mut random = Random(seed ^ thread << 40 ^ u64::from(rank.rank) << 50 | 1);
                let tag = thread as i32;
                for number in 0..200u32 {
                    let length = LENGTHS[random.below(LENGTHS.len() as u64) as usize].max(4);
                    let mut data = vec![0; length];
                    data[..4].copy_from_slice(&number.to_le_bytes());
                    let mut got = vec![0; 10_000];
                    let receive = rank.irecv(other as i32, tag, &mut got);
                    let send = rank.isend(other, tag, &mut data, Mode::Standard);
                    while !rank.engine.is_request_complete(rank.me, receive).unwrap() {
                        if random.below(2) == 0 {
                            rank.engine.wait_for_some(rank.me, &[receive]).unwrap();
                        }
                        weft_p2p::note_failure();
                    }
                    let status = rank.wait(receive);
                    assert_eq!(status.tag, tag);
                    assert_eq!(got[..4], number.to_le_bytes());
                    rank.wait(send);
                }
            };
            std::thread::scope(|scope| {
                (1..3).for_each(|thread| _ = scope.spawn(move || talk(thread)));
                talk(0);
            });
        });
    }
}

#[test]
fn a_message_that_is_too_long_is_cut_and_reported_by_all_ways() {
    for limits in all_limits() {
        run(2, limits, |rank| {
            for posted in [false, true] {
                for length in [8usize, 40, 100, 8000] {
                    if rank.rank == 0 {
                        if posted {
                            rank.receive(1, 9, &mut []);
                        }
                        rank.send(1, 3, &mut vec![7; length], Mode::Standard);
                        if !posted {
                            rank.send(1, 4, &mut [], Mode::Standard);
                        }
                        continue;
                    }
                    let mut data = [0; 8];
                    let completion = if posted {
                        let request = rank.irecv(0, 3, &mut data[..5]);
                        rank.send(0, 9, &mut [], Mode::Standard);
                        let completion = rank.engine.wait_request(rank.me, request).unwrap();
                        (completion.status, completion.error.unwrap())
                    } else {
                        let small = buffer(&mut data[..5]);
                        let (status, result) =
                            unsafe { rank.engine.receive(rank.me, Some(0), envelope(0, 3), small) };
                        rank.receive(0, 4, &mut []);
                        (status, result.unwrap_err())
                    };
                    assert_eq!(completion.0.bytes(), 5);
                    assert_eq!(completion.1.class, MPI_ERR_TRUNCATE);
                    assert!(completion.1.message.contains(&format!("{length} bytes")));
                    assert_eq!(data, [7, 7, 7, 7, 7, 0, 0, 0]);
                }
            }
        });
    }
}

/// Fills a large message so that its number and every position show.
fn fill_large(data: &mut [u8], number: u32) {
    for (line, bytes) in data.chunks_mut(64).enumerate() {
        bytes.fill(line as u8 ^ number as u8);
        let mark = (line as u64) << 32 | u64::from(number);
        let length = bytes.len().min(8);
        bytes[..length].copy_from_slice(&mark.to_le_bytes()[..length]);
    }
}

#[test]
fn large_messages_arrive_whole_by_all_ways() {
    let seed = seed();
    const LONGEST: usize = 1_200_000;
    // Around the sizes where a copy begins to be shared and where its pieces end.
    const NEAR: [usize; 8] = [8 << 10, 32 << 10, 48 << 10, 52 << 10, 64 << 10, 128 << 10, 512 << 10, 1 << 20];
    // Without spinning nobody helps; with a few looks a helper comes now and then; with many, always.
    for spins in [0, 300, 1 << 22] {
        run(2, Limits { spins, ..Limits::default() }, |rank| {
            let mut random = Random(seed | 1);
            let (mut data, mut expected) = (vec![0; LONGEST], vec![0; LONGEST]);
            let mut second = vec![0; LONGEST];
            for number in 0..400u32 {
                let near = NEAR[random.below(NEAR.len() as u64) as usize];
                let length = near - 4097 + random.below(8195) as usize;
                let room = match random.below(4) {
                    0 => length - 1 - random.below(length as u64 - 1) as usize,
                    1 => length + random.below(5000) as usize,
                    _ => length,
                };
                let (sending, receiving, posted) = (random.below(5), random.below(4), random.below(2) == 0);
                // The last way receives two at once.
                let both = receiving == 3;
                if rank.rank == 0 {
                    fill_large(&mut data[..length], number);
                    if posted {
                        rank.receive(1, 9, &mut []);
                    }
                    let mode = if sending == 1 { Mode::Synchronous } else { Mode::Standard };
                    match sending {
                        2 => _ = rank.wait(rank.isend(1, 5, &mut data[..length], mode)),
                        3 => {
                            let request = rank.isend(1, 5, &mut data[..length], mode);
                            rank.engine.wait_for_all(rank.me, 1, |_| request).unwrap();
                            rank.wait(request);
                        }
                        4 => {
                            let request = rank.isend(1, 5, &mut data[..length], mode);
                            rank.engine.wait_for_some(rank.me, &[request]).unwrap();
                            rank.wait(request);
                        }
                        _ => rank.send(1, 5, &mut data[..length], mode),
                    }
                    // The buffer is free now, whoever copied: what is written next must not arrive.
                    data[..length].fill(0xee);
                    if both {
                        fill_large(&mut data[..length], number);
                        rank.send(1, 5, &mut data[..length], Mode::Standard);
                        data[..length].fill(0xee);
                    }
                    continue;
                }
                data.fill(0x55);
                second.fill(0x55);
                fill_large(&mut expected[..length], number);
                let arrived = length.min(room);
                if receiving == 0 {
                    if posted {
                        rank.send(0, 9, &mut [], Mode::Standard);
                    }
                    let target = buffer(&mut data[..room]);
                    let (status, result) =
                        unsafe { rank.engine.receive(rank.me, Some(0), envelope(0, 5), target) };
                    assert_eq!(status.bytes(), length.min(room) as u64);
                    assert_eq!(result.is_err(), room < length);
                } else {
                    let mut requests = vec![rank.irecv(0, 5, &mut data[..room])];
                    if both {
                        requests.push(rank.irecv(0, 5, &mut second[..room]));
                    }
                    if posted {
                        rank.send(0, 9, &mut [], Mode::Standard);
                    }
                    if receiving >= 2 {
                        rank.engine.wait_for_all(rank.me, requests.len(), |i| requests[i]).unwrap();
                    }
                    for request in requests {
                        let completion = rank.engine.wait_request(rank.me, request).unwrap();
                        assert_eq!(completion.status.bytes(), length.min(room) as u64);
                        assert_eq!(completion.error.is_some(), room < length);
                    }
                }
                for got in [Some(&data), both.then_some(&second)].into_iter().flatten() {
                    // What is copied last lies about the middle; looked at first, before a late helper could have
                    // written it.
                    let middle = arrived / 4..arrived / 4 * 3;
                    assert!(
                        got[middle.clone()] == expected[middle],
                        "message {number} of {length} bytes came early"
                    );
                    assert!(
                        got[..arrived] == expected[..arrived],
                        "message {number} of {length} bytes into {room}"
                    );
                    assert!(
                        got[arrived..].iter().all(|&b| b == 0x55),
                        "message {number} went beyond {arrived}"
                    );
                }
            }
        });
    }
}

#[test]
fn a_large_message_is_whole_as_soon_as_its_receive_returns() {
    let seed = seed();
    run(2, Limits { spins: 1 << 22, ..Limits::default() }, |rank| {
        let mut random = Random(seed | 1);
        let mut data = vec![0; 128 << 10];
        let mut expected = vec![0; 128 << 10];
        for number in 0..3000u32 {
            let length = (48 << 10) + random.below(80 << 10) as usize;
            fill_large(&mut expected[..length], number);
            if rank.rank == 0 {
                rank.send(1, 5, &mut expected[..length], Mode::Standard);
            } else {
                rank.receive(0, 5, &mut data[..length]);
                // The helper's last piece, wherever it was: the end of each unit, quickly.
                let ends = |at: usize| at..(at + 8).min(length);
                for unit in (length / 4096 / 4..length / 4096).rev() {
                    let last = ends(unit * 4096 + 4088);
                    assert_eq!(data[last.clone()], expected[last], "message {number} of {length} bytes");
                }
                assert!(data[..length] == expected[..length], "message {number} of {length} bytes");
            }
        }
    });
}

#[test]
fn large_messages_cross_between_many_ranks() {
    let seed = seed();
    for spins in [0, 300, 1 << 16] {
        run(4, Limits { spins, ..Limits::default() }, |rank| {
            let mut random = Random(seed | 1);
            let mut data = vec![0; 300_000];
            let mut got = vec![0; 300_000];
            let mut expected = vec![0; 300_000];
            for number in 0..150u32 {
                let length = 40_000 + random.below(250_000) as usize;
                let (next, previous) = ((rank.rank + 1) % 4, (rank.rank + 3) % 4);
                fill_large(&mut data[..length], number << 2 | rank.rank);
                let receive = rank.irecv(previous as i32, 5, &mut got);
                if random.below(2) == 0 {
                    rank.send(next, 5, &mut data[..length], Mode::Standard);
                } else {
                    _ = rank.wait(rank.isend(next, 5, &mut data[..length], Mode::Standard));
                }
                data[..length].fill(0xee);
                assert_eq!(rank.wait(receive).bytes(), length as u64);
                fill_large(&mut expected[..length], number << 2 | previous);
                assert!(got[..length] == expected[..length], "message {number} of {length} bytes");
            }
        });
    }
}

#[test]
fn a_send_nobody_receives_can_be_cancelled() {
    run(2, Limits::default(), |rank| {
        if rank.rank == 0 {
            let mut data = vec![1; 100_000];
            let request = rank.isend(1, 0, &mut data, Mode::Standard);
            rank.engine.cancel(rank.me, request).unwrap();
            assert!(rank.wait(request).cancelled());
            rank.send(1, 1, &mut [], Mode::Standard);
        } else {
            rank.receive(0, 1, &mut []);
            assert!(rank.engine.iprobe(rank.me, &envelope(MPI_ANY_SOURCE, 0)).is_none());
        }
    });
}

#[test]
fn freed_requests_go_on_and_leave_nothing() {
    run(2, Limits::default(), |rank| {
        let mut data = vec![rank.rank as u8; 100_000];
        if rank.rank == 0 {
            let request = rank.isend(1, 0, &mut data, Mode::Standard);
            rank.me.requests().free(request).unwrap();
            assert_eq!(rank.me.requests().free(request).unwrap_err().class, MPI_ERR_REQUEST);
            rank.receive(1, 0, &mut []);
            // The send completes before its receiver answers, but the slot is freed after its word is set.
            while rank.me.requests().live() != 0 {
                std::hint::spin_loop();
            }
        } else {
            rank.receive(0, 0, &mut data);
            assert!(data.iter().all(|&b| b == 0));
            rank.send(0, 0, &mut [], Mode::Standard);
        }
    });
}

#[test]
fn ten_thousand_of_each_queue_take_no_quadratic_time() {
    // Quadratic would be 10^8 steps per queue and time out every patience; nothing is measured.
    run(1, Limits { unexpected: u64::MAX, ..Limits::default() }, |rank| {
        const MANY: i32 = 10_000;
        for tag in 0..MANY {
            rank.send(0, tag, &mut tag.to_le_bytes(), Mode::Standard);
        }
        for tag in (0..MANY).rev() {
            let mut data = [0; 4];
            let source = if tag % 2 == 0 { MPI_ANY_SOURCE } else { 0 };
            rank.receive(source, tag, &mut data);
            assert_eq!(i32::from_le_bytes(data), tag);
        }
        let mut data = vec![[0; 4]; MANY as usize];
        let requests: Vec<_> =
            data.iter_mut().zip(0..).map(|(d, tag)| rank.irecv(MPI_ANY_SOURCE, tag, d)).collect();
        for tag in (0..MANY).rev() {
            rank.send(0, tag, &mut tag.to_le_bytes(), Mode::Standard);
        }
        rank.engine.wait_for_all(rank.me, requests.len(), |i| requests[i]).unwrap();
        requests.into_iter().for_each(|r| _ = rank.wait(r));
        assert!(data.iter().zip(0..).all(|(d, tag)| *d == i32::to_le_bytes(tag)));
    });
}

/// Lengths that are offered in rings: above the eager size, below where copies are shared.
fn medium(random: &mut Random) -> usize {
    4097 + random.below(40_000) as usize
}

/// How often a rank that makes no call looks for a word before the test has failed.
const LOOKS: u64 = 1_000_000_000;

#[test]
fn a_medium_send_ends_while_its_receiver_computes() {
    let seed = seed();
    for spins in [0, 300, 4000] {
        let sent = AtomicUsize::new(0);
        run(2, Limits { spins, ..Limits::default() }, |rank| {
            let mut random = Random(seed ^ u64::from(rank.rank) << 40 | 1);
            let mut lengths = Random(seed | 1);
            let (mut data, mut expected) = (vec![0; 50_000], vec![0; 50_000]);
            for number in 1..800u32 {
                let length = medium(&mut lengths);
                // Sender and receiver begin about the same time, so each is the first now and then.
                if rank.rank == 0 {
                    fill(&mut data[..length], 0, number);
                    rank.receive(1, 9, &mut []);
                    (0..random.below(100)).for_each(|_| std::hint::spin_loop());
                    rank.send(1, 5, &mut data[..length], Mode::Standard);
                    sent.store(number as usize, Ordering::Release);
                } else {
                    rank.send(0, 9, &mut [], Mode::Standard);
                    (0..random.below(400)).for_each(|_| std::hint::spin_loop());
                    let request = rank.irecv(0, 5, &mut data);
                    let mut looks = 0;
                    while sent.load(Ordering::Acquire) != number as usize {
                        std::hint::spin_loop();
                        looks += 1;
                        assert!(looks < LOOKS, "message {number} waits for a call of its receiver");
                    }
                    assert_eq!(rank.wait(request).bytes(), length as u64);
                    fill(&mut expected[..length], 0, number);
                    assert!(data[..length] == expected[..length], "message {number} of {length} bytes");
                }
            }
        });
    }
}

#[test]
fn medium_messages_of_any_layout_arrive_whole_and_may_be_overtaken() {
    let seed = seed();
    for spins in [0, 300, 4000] {
        run(2, Limits { spins, ..Limits::default() }, |rank| {
            let mut lengths = Random(seed | 1);
            let mut wide = vec![0; 100_000];
            for number in 0..500u32 {
                let length = medium(&mut lengths);
                let (strided, overtaken) = (lengths.below(3), lengths.below(3) == 0);
                let every_second = Datatype::vector(length as i64, 1, 2, byte()).unwrap();
                every_second.commit();
                // At most one side's data has gaps.
                let has_gaps = strided == rank.rank.into();
                let step = if has_gaps { 2 } else { 1 };
                let value = |i: usize| (i as u32 ^ number.wrapping_mul(7)) as u8;
                let data = if has_gaps {
                    unsafe { Buffer::new(wide.as_mut_ptr(), 1, &every_second) }
                } else {
                    buffer(&mut wide[..length])
                };
                if rank.rank == 0 {
                    (0..length).for_each(|i| wide[i * step] = value(i));
                    let send = || unsafe {
                        rank.engine.send(rank.me, 1, envelope(0, 5), data, Mode::Standard).unwrap();
                    };
                    if overtaken {
                        let request = rank.isend(1, 6, &mut [], Mode::Standard);
                        send();
                        rank.wait(request);
                        rank.send(1, 7, &mut [], Mode::Standard);
                    } else {
                        send();
                    }
                } else {
                    wide.fill(0xee);
                    let (status, result) =
                        unsafe { rank.engine.receive(rank.me, Some(0), envelope(0, 5), data) };
                    result.unwrap();
                    assert_eq!(status.bytes(), length as u64);
                    let wrong = (0..length).find(|&i| wide[i * step] != value(i));
                    assert_eq!(wrong, None, "message {number} of {length} bytes");
                    if overtaken {
                        rank.receive(0, 6, &mut []);
                        rank.receive(0, 7, &mut []);
                    }
                }
            }
        });
    }
}

/// Both sides copy medium messages, one block to one block. When its receive returns, a message is whole and nobody
/// writes to its buffer any more; when its send returns, nobody reads its buffer any more. More ranks than cores, so that
/// senders lose their core in every state.
#[test]
fn medium_blocks_are_whole_and_left_alone_when_calls_return() {
    let seed = seed();
    for ranks in [2, 8] {
        run(ranks, Limits::default(), |rank| {
            let peer = rank.rank ^ 1;
            let mut lengths = Random(seed ^ u64::from(rank.rank / 2) << 40 | 1);
            let mut random = Random(seed ^ u64::from(rank.rank) << 20 | 1);
            // Two buffers in turn: the other one holds what the message before left.
            let mut data = [vec![0; 170_000], vec![0; 170_000]];
            let mut before = 0..0;
            for number in 1..if ranks == 2 { 3000 } else { 400u32 } {
                let length = 20_000 + lengths.below(if number % 4 == 0 { 145_000 } else { 25_000 }) as usize;
                let skip = lengths.below(3) as usize * 20;
                let (by_lower, posted) = (lengths.below(2) == 0, lengths.below(4) == 0);
                (0..random.below(200)).for_each(|_| std::hint::spin_loop());
                let turn = number as usize % 2;
                let [even, odd] = &mut data;
                let (now, last) = if turn == 0 { (even, odd) } else { (odd, even) };
                let place = &mut now[skip..skip + length];
                if by_lower == (rank.rank < peer) {
                    fill_large(place, number);
                    rank.send(peer, 5, place, Mode::Standard);
                    place.fill(0xdd);
                } else {
                    place.fill(0x11);
                    let bytes = if posted {
                        let request = rank.irecv(peer as i32, 5, place);
                        rank.wait(request).bytes()
                    } else {
                        rank.receive(peer as i32, 5, place).bytes()
                    };
                    assert_eq!(bytes, length as u64);
                    let mut expected = vec![0; length];
                    fill_large(&mut expected, number);
                    let wrong = (0..length).find(|&i| place[i] != expected[i]);
                    assert_eq!(wrong, None, "message {number} of {length} bytes");
                    place.fill(0xdd);
                }
                let changed = last[before.clone()].iter().position(|byte| *byte != 0xdd);
                assert_eq!(changed, None, "after message {number}");
                before = skip..skip + length;
            }
        });
    }
}
