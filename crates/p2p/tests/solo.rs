//! A rank that is alone in its process, and strangers: threads of the program that come in later.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The tests are callers that promise their buffers.

use std::sync::atomic::{AtomicBool, Ordering};
use weft_base::constants::*;
use weft_p2p::{Buffer, Ended, Endpoint, Engine, Envelope, Limits, Mode};

const ROUNDS: u64 = 20_000;
const WINDOW: usize = 8;

/// Posts, sends and ends a window of messages of one tag; each carries its number.
fn exchange(engine: &Engine, me: &Endpoint, tag: i32, round: u64) {
    let envelope = Envelope::new(2, 0, tag);
    let mut places = [[0u8; 8]; WINDOW];
    let mut requests = [MPI_REQUEST_NULL; 2 * WINDOW];
    for (request, place) in requests.iter_mut().zip(&mut places) {
        let buffer = unsafe { Buffer::dense(place.as_mut_ptr(), 8) };
        *request = unsafe { engine.irecv(me, envelope, buffer, None, MPI_COMM_WORLD) };
    }
    for (index, request) in requests[WINDOW..].iter_mut().enumerate() {
        let mut data = (round * WINDOW as u64 + index as u64).to_ne_bytes();
        let data = unsafe { Buffer::dense(data.as_mut_ptr(), 8) };
        *request = unsafe { engine.isend(me, 0, envelope, data, None, Mode::Standard, MPI_COMM_WORLD) };
    }
    let mut received = 0;
    let ended = engine.end_all(
        me,
        requests.len(),
        |i| requests[i],
        |_, how| received += u64::from(matches!(how, Ended::Well { source: 0, bytes: 8, .. })),
    );
    ended.unwrap();
    assert_eq!(received, WINDOW as u64);
    for (index, place) in places.iter().enumerate() {
        assert_eq!(u64::from_ne_bytes(*place), round * WINDOW as u64 + index as u64, "tag {tag}");
    }
}

#[test]
fn a_rank_stays_right_when_strangers_come() {
    weft_sync::enable_global_barrier();
    let engine: &'static Engine = Box::leak(Box::new(Engine::new(1, Limits::default())));
    let owner = weft_sched::current();
    weft_p2p::reserve(owner);
    let me = engine.attach(0, owner);
    let alone = AtomicBool::new(true);
    std::thread::scope(|scope| {
        for stranger in 1..3 {
            let alone = &alone;
            scope.spawn(move || {
                while alone.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                (0..ROUNDS / 2).for_each(|round| exchange(engine, me, stranger, round));
            });
        }
        for round in 0..ROUNDS {
            if round == ROUNDS / 4 {
                alone.store(false, Ordering::Release);
            }
            exchange(engine, me, 0, round);
        }
    });
    assert_eq!(me.requests().live(), 0);
}
