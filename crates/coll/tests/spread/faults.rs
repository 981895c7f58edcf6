//! Calls that do not match, data that does not fit, peers that are lost: everybody is told, nobody waits for ever.

use crate::cases::{Case, Shape};
use crate::world::World;
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_coll::{Call, Pending, Team};
use weft_transport::Places;
use weft_transport::simulator::{Conditions, Random};
use weft_trials::seed;

/// Looks until all parts are over; returns how they ended.
fn results(pending: &[Pending]) -> Vec<Result> {
    for _ in 0..20_000 {
        // Not `all`: everybody must look.
        if pending.iter().filter(|operation| !operation.advance(None)).count() == 0 {
            return pending.iter().map(Pending::result).collect();
        }
    }
    let stuck: Vec<_> = (0..pending.len()).filter(|&rank| !pending[rank].advance(None)).collect();
    panic!("ranks {stuck:?} wait for ever");
}

fn world(random: &mut Random) -> (World, Vec<Team>, u32) {
    let nodes = 2 + random.below(5) as u32;
    let ranks = 2 * nodes;
    let conditions = Conditions { delay: random.below(5), ..Conditions::calm(random.below(1 << 60)) };
    let world = World::new(Places::blocks(ranks, 2), conditions, 2);
    let teams = world.join(&(0..ranks).collect::<Vec<_>>(), 0);
    (world, teams, ranks)
}

fn case(call: Call, count: usize, size: u32, random: &mut Random) -> Case {
    let kinds = [0, 0];
    let plain = Case::new(call, Shape { size, split: 0 }, false, random);
    Case { count, kinds, root: 0, in_place: false, ..plain }
}

#[test]
fn ranks_in_different_calls_are_told_so() {
    let mut random = Random::new(seed());
    for _ in 0..40 {
        let (world, teams, ranks) = world(&mut random);
        let count = if random.below(8) == 0 { 20_000 } else { 10 };
        let right = case(Call::Allreduce, count, ranks, &mut random);
        let wrong = case(Call::Barrier, 10, ranks, &mut random);
        let odd = random.below(u64::from(ranks)) as u32;
        let mut memory = right.buffers();
        let pending: Vec<Pending> = world
            .shuffled(ranks, &mut random)
            .into_iter()
            .map(|rank| {
                let case = if rank == odd { &wrong } else { &right };
                case.start(&teams[rank as usize], rank, &mut memory[rank as usize])
            })
            .collect();
        for result in results(&pending) {
            let error = result.expect_err("an allreduce cannot end without one rank");
            assert_eq!(error.class, MPI_ERR_OTHER);
            assert!(error.message.contains("MPI_Barrier"), "{error}");
        }
        drop(pending);
        // The communicator goes on, and nothing is left.
        world.run(&teams, &case(Call::Scan, 5, ranks, &mut random), &mut random);
        world.end(teams);
    }
}

#[test]
fn receivers_of_too_much_are_told_so_and_nobody_else() {
    let mut random = Random::new(seed());
    for _ in 0..40 {
        let (world, teams, ranks) = world(&mut random);
        let (long, short) = (case(Call::Broadcast, 11, ranks, &mut random), 10);
        let short = Case { count: short, ..long.clone() };
        let odd = 1 + random.below(u64::from(ranks) - 1) as u32;
        let mut memory: Vec<_> = long.buffers();
        memory[odd as usize] = short.buffers().swap_remove(odd as usize);
        let start = |rank: u32| {
            let case = if rank == odd { &short } else { &long };
            case.start(&teams[rank as usize], rank, &mut memory[rank as usize])
        };
        let order = world.shuffled(ranks, &mut random);
        let pending: Vec<Pending> = order.iter().copied().map(start).collect();
        for (rank, result) in order.into_iter().zip(results(&pending)) {
            let class = result.map_err(|error: Error| error.class);
            assert_eq!(class, if rank == odd { Err(MPI_ERR_TRUNCATE) } else { Ok(()) });
        }
        world.end(teams);
    }
}

#[test]
fn contributions_of_different_lengths_are_told_from_each_other() {
    let mut random = Random::new(seed());
    for _ in 0..40 {
        let (world, teams, ranks) = world(&mut random);
        let right = case(Call::Allreduce, 10, ranks, &mut random);
        let wrong = Case { count: 1 + random.below(9) as usize, ..right.clone() };
        let odd = random.below(u64::from(ranks)) as u32;
        let mut memory = right.buffers();
        memory[odd as usize] = wrong.buffers().swap_remove(odd as usize);
        let start = |rank: u32| {
            let case = if rank == odd { &wrong } else { &right };
            case.start(&teams[rank as usize], rank, &mut memory[rank as usize])
        };
        let pending: Vec<Pending> = world.shuffled(ranks, &mut random).into_iter().map(start).collect();
        for result in results(&pending) {
            let error = result.expect_err("one rank contributes less than the others");
            assert_eq!(error.class, MPI_ERR_OTHER);
        }
        drop(pending);
        world.run(&teams, &case(Call::Scan, 5, ranks, &mut random), &mut random);
        world.end(teams);
    }
}

#[test]
fn a_lost_peer_ends_operations() {
    let mut random = Random::new(seed());
    for _ in 0..40 {
        let (world, teams, ranks) = world(&mut random);
        let lost = random.below(u64::from(ranks / 2)) as u32;
        let barrier = case(Call::Barrier, 0, ranks, &mut random);
        let mut memory = barrier.buffers();
        // One rank is late, so that nobody can be through before the loss.
        let late = random.below(u64::from(ranks)) as u32;
        let mut start = |rank: u32| barrier.start(&teams[rank as usize], rank, &mut memory[rank as usize]);
        let mut pending: Vec<Pending> = (0..ranks).filter(|&rank| rank != late).map(&mut start).collect();
        world.network.isolate(lost);
        pending.push(start(late));
        for result in results(&pending) {
            let error = result.expect_err("a barrier cannot end without a node process");
            assert_eq!(error.class, MPI_ERR_PROC_ABORTED);
        }
        let again: Vec<Pending> = (0..ranks).map(&mut start).collect();
        for result in results(&again) {
            assert!(result.expect_err("it is still lost").message.contains("is gone"));
        }
    }
}
