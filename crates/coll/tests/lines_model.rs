//! All interleavings of rounds among few, by model checking: `RUSTFLAGS="--cfg loom" cargo test -p weft-coll --release`.
#![cfg(loom)]
#![allow(unsafe_code, dead_code)] // Posts as the library uses them: cells whose accesses the model checks.

#[path = "../src/rounds/counters.rs"]
mod counters;
#[path = "../src/rounds/lines.rs"]
mod lines;

use lines::Lines;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering, fence};
use loom::thread;

type World = Lines<UnsafeCell<u64>>;

fn write(world: &World, rank: u32, round: u64) {
    // SAFETY: the model reports a conflicting access.
    world.post(rank, round).with_mut(|p| unsafe { *p = round * 10 + u64::from(rank) });
}

fn read(world: &World, rank: u32, round: u64) {
    // SAFETY: a read before the other rank has said so would be reported by the model.
    world.post(rank, round).with(|p| assert_eq!(unsafe { *p }, round * 10 + u64::from(rank)));
}

fn until(done: impl Fn() -> bool) {
    while !done() {
        thread::yield_now();
    }
}

fn run(size: u32, body: fn(&World, u32)) {
    loom::model(move || {
        let world = Arc::new(Lines::new(size, || UnsafeCell::new(0)));
        let others: Vec<_> = (1..size)
            .map(|rank| {
                let world = world.clone();
                thread::spawn(move || body(&world, rank))
            })
            .collect();
        body(&world, 0);
        for other in others {
            other.join().unwrap();
        }
    });
}

#[test]
fn what_all_have_said_is_seen_and_not_overwritten() {
    run(2, |world, rank| {
        for round in 1..=4 {
            until(|| world.may_enter(rank, round).is_some());
            write(world, rank, round);
            world.say(rank, round);
            until(|| world.others_have_said(rank, round));
            read(world, 1 - rank, round);
        }
    });
}

#[test]
fn a_rank_that_waits_for_nobody_does_not_overwrite_what_is_being_read() {
    // Like a broadcast: rank 0 says and goes on as far as it may, by what it knew last.
    run(2, |world, rank| {
        let mut known = 0;
        for round in 1..=5 {
            if known + counters::DEPTH as u64 <= round {
                until(|| world.may_enter(rank, round).is_some());
                known = world.may_enter(rank, round).unwrap_or(0);
                assert!(known + counters::DEPTH as u64 > round && known < round);
            }
            if rank == 0 {
                write(world, rank, round);
            }
            world.say(rank, round);
            if rank == 1 {
                until(|| world.has_said(0, round));
                read(world, 0, round);
            }
        }
    });
}

#[test]
fn nobody_sleeps_through_what_is_said() {
    loom::model(|| {
        let world = Arc::new((Lines::new(2, || ()), AtomicU32::new(0)));
        let sayer = {
            let world = world.clone();
            thread::spawn(move || {
                if world.0.say(0, 1) {
                    world.1.store(1, Ordering::Release);
                }
            })
        };
        world.0.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if !world.0.has_said(0, 1) {
            until(|| world.1.load(Ordering::Acquire) == 1);
        }
        sayer.join().unwrap();
    });
}
