//! Ranks are plain threads here; every test is about what holds whichever way messages take.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The tests are callers that promise their buffers.

mod medium;
mod rank;

use rank::{LENGTHS, Random, all_limits, buffer, envelope, fill, fill_large, run, seed};
use std::sync::atomic::{AtomicUsize, Ordering};
use weft_base::constants::*;
use weft_p2p::{Limits, Mode};
use weft_trials::rounds;

#[test]
fn messages_of_a_pair_stay_in_order_by_all_ways() {
    let seed = seed();
    for limits in all_limits() {
        run(2, limits, |rank| {
            let mut random = Random(seed | 1);
            let (mut data, mut expected) = (vec![0; 10_000], vec![0; 10_000]);
            for number in 0..rounds(1500) {
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
    let messages = rounds(600);
    for limits in all_limits() {
        let ranks = 4;
        run(ranks, limits, |rank| {
            let mut random = Random(seed ^ u64::from(rank.rank) << 32 | 1);
            if rank.rank == 0 {
                let mut next = vec![0u32; ranks as usize];
                let mut data = vec![0; 10_000];
                let mut expected = vec![0; 10_000];
                for _ in 0..messages * (ranks - 1) {
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
                for number in 0..messages {
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
            for number in 0..rounds(800) {
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
            let rounds = rounds(500);
            if rank.rank == 1 {
                for number in 0..rounds * 2 {
                    let mut data = [0; 4];
                    rank.receive(0, MPI_ANY_TAG, &mut data);
                    assert_eq!(u32::from_le_bytes(data), number);
                }
                return;
            }
            // The rank's own thread may use a ring, the other thread may not; they take turns.
            let turn = AtomicUsize::new(0);
            let send = |parity: usize| {
                for number in (parity as u32..rounds * 2).step_by(2) {
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
                for number in 0..rounds(200) {
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
            for number in 0..rounds(400) {
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
        for number in 0..rounds(3000) {
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
            for number in 0..rounds(150) {
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
