//! Messages of a medium length, which both sides may copy.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The tests are callers that promise their buffers.

use crate::rank::{Random, buffer, byte, envelope, fill, fill_large, run, seed};
use std::sync::atomic::{AtomicUsize, Ordering};
use weft_datatype::Datatype;
use weft_p2p::{Buffer, Limits, Mode};
use weft_trials::rounds;

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
            for number in 1..rounds(800) {
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
            for number in 0..rounds(500) {
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
            for number in 1..rounds(if ranks == 2 { 3000 } else { 400 }) {
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
