//! The blocking forms, with a thread for each rank.

use crate::cases::{Case, Shape};
use crate::some;
use crate::world::World;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use weft_coll::{Call, Team};
use weft_transport::Places;
use weft_transport::simulator::{Conditions, Random};
use weft_trials::{rounds, seed};

/// Ends the test program when a rank fails: the others would wait for it for ever.
struct EndAll;

impl Drop for EndAll {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

fn as_threads(teams: &[Team], body: impl Fn(&Team) + Sync) {
    std::thread::scope(|scope| {
        for team in teams {
            let body = &body;
            scope.spawn(move || {
                let _guard = EndAll;
                weft_sched::current().set_process(team.rank(), core::ptr::null_mut());
                body(team);
            });
        }
    });
}

#[test]
fn blocking_and_persistent_forms_give_what_the_model_says() {
    let mut random = Random::new(seed());
    for turn in 0..u64::from(rounds(12)) {
        let (world, ranks) = some(turn, &mut random);
        let teams = world.join(&world.shuffled(ranks, &mut random), 0);
        let shape = Shape { size: ranks, split: 0 };
        let cases: Vec<Case> = (0..6).map(|_| Case::some(shape, false, &mut random)).collect();
        as_threads(&teams, |team| {
            let rank = team.rank();
            for case in &cases {
                let what = || format!("rank {rank} in {case:?}");
                let mut memory = case.buffers().swap_remove(rank as usize);
                team.run(&case.operation(rank, &mut memory)).unwrap();
                case.check(rank, &memory, what);
                let mut memory = case.buffers().swap_remove(rank as usize);
                let prepared = team.prepare(&case.operation(rank, &mut memory), &[]);
                for _ in 0..2 {
                    case.restore(rank, &mut memory);
                    prepared.start().wait().unwrap();
                    case.check(rank, &memory, what);
                }
            }
            let mine = [rank as u8 + 1; 3];
            let mut all = vec![0; 3 * ranks as usize];
            team.allgather_bytes(&mine, &mut all).unwrap();
            assert_eq!(all, (0..ranks).flat_map(|r| [r as u8 + 1; 3]).collect::<Vec<_>>());
            let mut word = [if rank == 0 { 7 } else { 0 }; 100];
            team.broadcast_bytes(0, &mut word).unwrap();
            assert_eq!(word, [7; 100]);
            team.barrier().unwrap();
        });
        world.end(teams);
    }
}

#[test]
fn who_parks_is_woken_although_it_looked_again_after_it_had_registered() {
    let mut random = Random::new(seed());
    for turn in 0..u64::from(rounds(12)) {
        let (world, ranks) = some(turn, &mut random);
        let teams = world.join(&world.shuffled(ranks, &mut random), 0);
        let shape = Shape { size: ranks, split: 0 };
        let cases: Vec<Case> = (0..10).map(|_| Case::some(shape, false, &mut random)).collect();
        let left = AtomicU32::new(ranks);
        std::thread::scope(|scope| {
            // Somebody polls, as the scheduler does in a job.
            scope.spawn(|| {
                let _guard = EndAll;
                let mut vain = 0u64;
                while left.load(Ordering::Acquire) > 0 {
                    world.exchanges.iter().for_each(|exchange| {
                        exchange.nodes().poll();
                    });
                    vain = if world.network.is_quiet() { vain + 1 } else { 0 };
                    assert!(vain < 3_000_000, "nothing is under way, and ranks are parked");
                    std::thread::yield_now();
                }
            });
            as_threads(&teams, |team| {
                let thread = weft_sched::current();
                for case in &cases {
                    let mut memory = case.buffers().swap_remove(team.rank() as usize);
                    let pending = team.start(&case.operation(team.rank(), &mut memory));
                    // As a wait for requests does it.
                    loop {
                        pending.advance(Some(thread));
                        if pending.advance(None) {
                            break;
                        }
                        weft_sched::park();
                    }
                    pending.leave();
                    pending.result().unwrap();
                }
                left.fetch_sub(1, Ordering::Release);
            });
        });
        world.end(teams);
    }
}

#[test]
fn no_rank_is_any_number_of_operations_ahead_of_others_of_its_process() {
    const OPERATIONS: u32 = 500;
    // One that starts an operation and then waits for it is no further ahead than one that does both in one call.
    for waits_later in [false, true] {
        let mut random = Random::new(seed());
        let world = World::new(Places::blocks(4, 2), Conditions::calm(random.below(1 << 60)), 2);
        let teams = world.join(&[0, 1, 2, 3], 0);
        let calm = Case::new(Call::Broadcast, Shape { size: 4, split: 0 }, false, &mut random);
        let case = Case { root: 0, count: 1, kinds: [0, 0], in_place: false, ..calm };
        let done = AtomicU32::new(0);
        as_threads(&teams, |team| {
            let rank = team.rank();
            if rank == 1 {
                while done.load(Ordering::Relaxed) < 63 {
                    std::thread::yield_now();
                }
                // Time enough for the root to do all of them, were nobody to hold it up.
                for _ in 0..200 {
                    std::thread::sleep(Duration::from_millis(1));
                    assert!(done.load(Ordering::Relaxed) <= 64);
                }
            }
            let mut memory = case.buffers().swap_remove(rank as usize);
            for number in 0..OPERATIONS {
                if rank == 1 {
                    assert!(done.load(Ordering::Relaxed) <= number + 64);
                }
                let operation = case.operation(rank, &mut memory);
                match waits_later {
                    false => team.run(&operation),
                    true => team.start(&operation).wait(),
                }
                .unwrap();
                if rank == 0 {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        world.end(teams);
    }
}
