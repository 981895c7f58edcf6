//! All interleavings of data that goes in pieces, by model checking: `RUSTFLAGS="--cfg loom" cargo test -p weft-coll --release`.
#![cfg(loom)]
#![allow(unsafe_code, dead_code)] // Posts as the library uses them: cells whose accesses the model checks.

#[path = "../src/rounds/lines.rs"]
mod lines;

/// As the library has it, while other models use fewer.
mod counters {
    pub const DEPTH: usize = 4;

    pub fn ring(round: u64) -> usize {
        (round % DEPTH as u64) as usize
    }
}

use lines::Lines;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

type World = Lines<UnsafeCell<u64>>;

fn until(done: impl Fn() -> bool) {
    while !done() {
        thread::yield_now();
    }
}

fn enter_and_write(world: &World, rank: u32, round: u64) {
    until(|| world.may_enter(rank, round).is_some());
    // SAFETY: the model reports a conflicting access.
    world.post(rank, round).with_mut(|p| unsafe { *p = round * 10 + u64::from(rank) });
}

fn wait_and_read(world: &World, rank: u32, round: u64) {
    until(|| world.others_have_said(rank, round));
    let other = 1 - rank;
    // SAFETY: the other rank has said that its post is written; the model would report if it wrote again.
    world.post(other, round).with(|p| assert_eq!(unsafe { *p }, round * 10 + u64::from(other)));
}

/// One operation in pieces, with a round for each from `first` on.
fn in_pieces(world: &World, rank: u32, first: u64, pieces: u64) {
    let last = first + pieces - 1;
    let mut before = None;
    for round in first..=last {
        enter_and_write(world, rank, round);
        if round == last
            && let Some(before) = before.take()
        {
            wait_and_read(world, rank, before);
        }
        world.say(rank, round);
        if let Some(before) = before.replace(round) {
            wait_and_read(world, rank, before);
        }
    }
    wait_and_read(world, rank, last);
}

/// Two operations: in the first ring indices are used again; in the second, where only one rank receives, the other waits for
/// nobody and begins while the first may still be read.
#[test]
fn no_piece_is_overwritten_while_somebody_reads_it() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let world = Arc::new(World::new(2, || UnsafeCell::new(0)));
        let other = {
            let world = world.clone();
            thread::spawn(move || {
                in_pieces(&world, 1, 1, 5);
                for round in 6..=8 {
                    enter_and_write(&world, 1, round);
                    world.say(1, round);
                    wait_and_read(&world, 1, round);
                }
            })
        };
        in_pieces(&world, 0, 1, 5);
        for round in 6..=8 {
            enter_and_write(&world, 0, round);
            world.say(0, round);
        }
        other.join().unwrap();
    });
}
