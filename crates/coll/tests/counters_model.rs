//! All interleavings of rounds with counters, by model checking: `RUSTFLAGS="--cfg loom" cargo test -p weft-coll --release`.
#![cfg(loom)]
#![allow(unsafe_code, dead_code)] // Slots as the library uses them: cells whose accesses the model checks.

#[path = "../src/rounds/counters.rs"]
mod counters;

use counters::{Combine, Counters, DEPTH, Nothing, ring};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

struct World {
    counters: Counters,
    /// By rank, by ring index.
    slots: Vec<Vec<UnsafeCell<u64>>>,
    result: Vec<UnsafeCell<u64>>,
    shard_of: Vec<usize>,
}

impl World {
    fn new(populations: &[u32]) -> Self {
        let cells = || (0..DEPTH).map(|_| UnsafeCell::new(0)).collect::<Vec<_>>();
        let shards = populations.iter().enumerate();
        let shard_of: Vec<_> = shards.flat_map(|(s, &n)| vec![s; n as usize]).collect();
        Self {
            counters: Counters::new(populations),
            slots: shard_of.iter().map(|_| cells()).collect(),
            result: cells(),
            shard_of,
        }
    }

    fn write(&self, rank: usize, round: u64) {
        // SAFETY: the model reports a conflicting access.
        self.slots[rank][ring(round)].with_mut(|p| unsafe { *p = round * 10 + rank as u64 });
    }

    fn read(&self, rank: usize, round: u64) {
        // SAFETY: a read before the writer's arrival would be reported by the model.
        self.slots[rank][ring(round)].with(|p| assert_eq!(unsafe { *p }, round * 10 + rank as u64));
    }
}

struct Sum<'a>(&'a World, u64);

impl Combine for Sum<'_> {
    fn all(&self) {
        // SAFETY: the model reports a conflicting access.
        let sum =
            (0..self.0.slots.len()).map(|r| self.0.slots[r][ring(self.1)].with(|p| unsafe { *p })).sum();
        // SAFETY: only the last rank to arrive comes here, which the model checks.
        self.0.result[ring(self.1)].with_mut(|p| unsafe { *p = sum });
    }
}

fn until(done: impl Fn() -> bool) {
    while !done() {
        thread::yield_now();
    }
}

fn run(populations: &'static [u32], body: fn(&World, usize)) {
    loom::model(move || {
        let world = Arc::new(World::new(populations));
        let size = world.shard_of.len();
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

/// Everybody contributes, waits and reads the result, like allreduce.
fn allreduce(world: &World, rank: usize, rounds: u64) {
    for round in 1..=rounds {
        until(|| world.counters.may_enter(round));
        world.write(rank, round);
        world.counters.arrive(round, world.shard_of[rank], 7, &Sum(world, round));
        until(|| world.counters.is_complete(round));
        assert!(!world.counters.is_mismatched(round));
        let size = world.slots.len() as u64;
        let right = round * 10 * size + size * (size - 1) / 2;
        // SAFETY: complete, and nobody writes this ring before all have entered the next round.
        world.result[ring(round)].with(|p| assert_eq!(unsafe { *p }, right));
    }
}

#[test]
fn results_are_seen_and_not_overwritten_two_shards() {
    run(&[1, 1], |world, rank| allreduce(world, rank, 3));
}

#[test]
fn results_are_seen_and_not_overwritten_one_shard() {
    run(&[2], |world, rank| allreduce(world, rank, 4));
}

#[test]
fn three_ranks_in_two_shards() {
    // Nobody waits (three waiting ranks are too many interleavings): the last to arrive sees what all have written.
    run(&[2, 1], |world, rank| {
        world.write(rank, 1);
        if world.counters.arrive(1, world.shard_of[rank], 7, &Sum(world, 1)) {
            assert!(world.counters.is_complete(1));
            // SAFETY: the model reports a conflicting access.
            world.result[ring(1)].with(|p| assert_eq!(unsafe { *p }, 33));
        }
    });
}

#[test]
fn a_rank_that_waits_for_nobody_does_not_overwrite_what_is_being_read() {
    // Like reduce to rank 0: rank 1 contributes and goes on.
    run(&[2], |world, rank| {
        for round in 1..=4 {
            until(|| world.counters.may_enter(round));
            world.write(rank, round);
            world.counters.arrive(round, 0, 7, &Nothing);
            if rank == 0 {
                until(|| world.counters.is_complete(round));
                world.read(1, round);
            }
        }
    });
}

#[test]
fn different_signatures_are_noticed_by_all_who_wait() {
    run(&[1, 1], |world, rank| {
        for round in 1..=2 {
            until(|| world.counters.may_enter(round));
            world.counters.arrive(round, rank, if round == 1 { rank as u64 } else { 7 }, &Nothing);
            until(|| world.counters.is_complete(round));
            assert_eq!(world.counters.is_mismatched(round), round == 1);
        }
    });
}
