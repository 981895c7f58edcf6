//! Operations of communicators whose ranks live on several node processes, under the transport's simulator: one thread
//! plays all ranks of all node processes, so that a seed repeats a run. `WEFT_TEST_SEED` does.
#![allow(unsafe_code)] // States that the tests' buffers are valid.

mod cases;
mod counts;
mod faults;
mod threads;
mod world;

use cases::{Case, Shape};
use weft_base::collectives::{Algorithm, Collective, Level};
use weft_coll::Call;
use weft_transport::Places;
use weft_transport::simulator::{Conditions, Random};
use weft_trials::{is_part, rounds, seed};
use world::World;

/// Returns a placement of ranks on up to `nodes` node processes.
fn places(ranks: u32, nodes: u32, random: &mut Random) -> Places {
    match random.below(3) {
        0 => Places::blocks(ranks, ranks.div_ceil(nodes)),
        1 => Places::round_robin(ranks, nodes),
        _ => Places::new(&(0..ranks).map(|_| random.below(u64::from(nodes)) as u32).collect::<Vec<_>>()),
    }
}

fn some(turn: u64, random: &mut Random) -> (World, u32) {
    let nodes = 1 + random.below(9) as u32;
    let ranks = nodes * (1 + random.below(4) as u32);
    let places = places(ranks, nodes, random);
    let hosts = 1 + random.below(u64::from(nodes)) as u32;
    let conditions = Conditions::random(turn ^ random.below(1 << 60), nodes);
    (World::new(places, conditions, hosts), ranks)
}

#[test]
fn every_operation_gives_what_the_model_says() {
    let mut random = Random::new(seed());
    for turn in 0..u64::from(rounds(80)) {
        let (world, ranks) = some(turn, &mut random);
        let teams = world.join(&world.ordered(ranks, &mut random), 0);
        for _ in 0..8 {
            let case = Case::some(Shape { size: ranks, split: 0 }, world.is_fast, &mut random);
            world.run(&teams, &case, &mut random);
        }
        world.end(teams);
    }
}

#[test]
fn every_operation_between_two_groups_gives_what_the_model_says() {
    let mut random = Random::new(seed());
    for turn in 0..u64::from(rounds(50)) {
        let (world, ranks) = some(turn, &mut random);
        if ranks < 2 {
            continue;
        }
        let split = 1 + random.below(u64::from(ranks - 1)) as u32;
        let teams = world.join(&world.ordered(ranks, &mut random), split);
        for _ in 0..6 {
            let case = Case::some(Shape { size: ranks, split }, world.is_fast, &mut random);
            world.run(&teams, &case, &mut random);
        }
        world.end(teams);
    }
}

#[test]
fn operations_under_way_at_once_do_not_meet() {
    let mut random = Random::new(seed());
    for turn in 0..u64::from(rounds(15)) {
        let (world, ranks) = some(turn, &mut random);
        let teams = world.join(&world.ordered(ranks, &mut random), 0);
        let cases: Vec<Case> = (0..12)
            .map(|_| Case::some(Shape { size: ranks, split: 0 }, world.is_fast, &mut random))
            .collect();
        world.run_all(&teams, &cases, &mut random);
        world.end(teams);
    }
}

/// Each collective's procedure.
const CALLS: [(Collective, Call); 17] = [
    (Collective::Barrier, Call::Barrier),
    (Collective::Bcast, Call::Broadcast),
    (Collective::Gather, Call::Gather),
    (Collective::Gatherv, Call::Gatherv),
    (Collective::Scatter, Call::Scatter),
    (Collective::Scatterv, Call::Scatterv),
    (Collective::Allgather, Call::Allgather),
    (Collective::Allgatherv, Call::Allgatherv),
    (Collective::Alltoall, Call::Alltoall),
    (Collective::Alltoallv, Call::Alltoallv),
    (Collective::Alltoallw, Call::Alltoallw),
    (Collective::Reduce, Call::Reduce),
    (Collective::Allreduce, Call::Allreduce),
    (Collective::ReduceScatter, Call::ReduceScatter),
    (Collective::ReduceScatterBlock, Call::ReduceScatterBlock),
    (Collective::Scan, Call::Scan),
    (Collective::Exscan, Call::Exscan),
];

#[test]
fn every_algorithm_between_node_processes_gives_what_the_model_says() {
    let mut random = Random::new(seed());
    let all = [1, 2, 3, 5, 4, 6, 7, 8, 9, 13, 17];
    // Of the part the least, and one of the others.
    let one = 4 + random.below(all.len() as u64 - 4) as usize;
    let numbers = all.into_iter().enumerate().filter(|&(i, _)| !is_part() || i < 4 || i == one);
    for (_, nodes) in numbers {
        let ranks = nodes + random.below(u64::from(nodes) + 1) as u32;
        let places = places(ranks, nodes, &mut random);
        let hosts = 1 + random.below(u64::from(nodes)) as u32;
        let world = World::new(places, Conditions::random(random.below(1 << 60), nodes), hosts);
        for (collective, call) in CALLS {
            for algorithm in Algorithm::of(collective, Level::Nodes) {
                let teams = world.join(&world.ordered(ranks, &mut random), 0);
                let key = format!("weft_{}_nodes_algorithm", collective.name());
                teams.iter().for_each(|team| team.hint(&[(key.clone(), algorithm.name().into())]));
                let case = Case::new(call, Shape { size: ranks, split: 0 }, world.is_fast, &mut random);
                world.run(&teams, &case, &mut random);
                world.end(teams);
            }
        }
    }
}
