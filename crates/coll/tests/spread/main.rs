//! Operations of communicators whose ranks live on several node processes, under the transport's simulator: one thread
//! plays all ranks of all node processes, so that a seed repeats a run. `WEFT_TEST_SEED` does.
#![allow(unsafe_code)] // States that the tests' buffers are valid.

mod cases;
mod counts;
mod faults;
mod threads;
mod world;

use cases::{Case, Shape};
use weft_transport::Places;
use weft_transport::simulator::{Conditions, Random};
use world::{World, seed};

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
    for turn in 0..80 {
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
    for turn in 0..50 {
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
    for turn in 0..15 {
        let (world, ranks) = some(turn, &mut random);
        let teams = world.join(&world.ordered(ranks, &mut random), 0);
        let cases: Vec<Case> = (0..12)
            .map(|_| Case::some(Shape { size: ranks, split: 0 }, world.is_fast, &mut random))
            .collect();
        world.run_all(&teams, &cases, &mut random);
        world.end(teams);
    }
}
