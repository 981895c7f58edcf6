//! How many messages operations take, and whom a late rank delays.

use crate::cases::{Case, Shape};
use crate::places;
use crate::world::World;
use weft_coll::{Call, Team};
use weft_transport::simulator::{Conditions, Random};
use weft_transport::{Channel, Places};
use weft_trials::{rounds, seed};

fn calm(seed: u64) -> Conditions {
    Conditions { eager: 1 << 20, memory: 1 << 30, ..Conditions::calm(seed) }
}

/// The node processes that hold ranks.
fn used(places: &Places) -> u64 {
    (0..places.nodes()).filter(|&node| !places.ranks(node).is_empty()).count() as u64
}

fn messages(world: &World) -> u64 {
    world.network.all_messages(Channel::COLLECTIVE)
}

fn case(call: Call, root: u32, count: usize, size: u32, random: &mut Random) -> Case {
    let kinds = [0, 0];
    Case { root, count, kinds, in_place: false, ..Case::new(call, Shape { size, split: 0 }, false, random) }
}

fn run(world: &World, teams: &[Team], case: &Case, random: &mut Random) -> u64 {
    let before = messages(world);
    world.run(teams, case, random);
    messages(world) - before
}

#[test]
fn a_tree_over_n_node_processes_sends_n_less_1_messages() {
    let mut random = Random::new(seed());
    for nodes in 2..34 {
        for _ in 0..rounds(3) {
            let ranks = nodes * 2;
            let places = places(ranks, nodes, &mut random);
            let edges = used(&places) - 1;
            let world = World::new(places, calm(random.below(1 << 60)), nodes);
            let teams = world.join(&world.shuffled(ranks, &mut random), 0);
            // Every root where there are few.
            let (step, first) = if nodes < 10 { (1, 0) } else { (17, random.below(17) as u32) };
            for root in (first..ranks).step_by(step) {
                for call in [Call::Broadcast, Call::Reduce] {
                    let case = case(call, root, 8, ranks, &mut random);
                    assert_eq!(run(&world, &teams, &case, &mut random), edges, "{case:?}");
                }
            }
            world.end(teams);
        }
    }
}

#[test]
fn a_tree_sends_so_many_messages_for_each_segment() {
    let mut random = Random::new(seed());
    for (nodes, call) in [2, 3, 5, 8].into_iter().flat_map(|n| [(n, Call::Broadcast), (n, Call::Reduce)]) {
        let ranks = nodes * 2;
        let places = places(ranks, nodes, &mut random);
        let edges = used(&places) - 1;
        let world = World::new(places, calm(random.below(1 << 60)), nodes);
        // Two segments of at most 128 KiB; few enough bytes that no credit is given back meanwhile.
        let teams = world.join(&world.shuffled(ranks, &mut random), 0);
        let case = case(call, random.below(u64::from(ranks)) as u32, 16_500, ranks, &mut random);
        assert_eq!(run(&world, &teams, &case, &mut random), 2 * edges, "{case:?}");
        world.end(teams);
    }
}

#[test]
fn hints_choose_between_node_processes() {
    let mut random = Random::new(seed());
    for nodes in [2, 5, 8] {
        let ranks = nodes * 2;
        let world = World::new(Places::blocks(ranks, 2), calm(random.below(1 << 60)), nodes);
        let teams = world.join(&world.shuffled(ranks, &mut random), 0);
        let case = case(Call::Broadcast, 0, 16_500, ranks, &mut random);
        let hints = [("weft_bcast_nodes_algorithm".to_owned(), "chain segment=64K".to_owned())];
        teams.iter().for_each(|team| team.hint(&hints));
        assert!(teams.iter().all(|team| team.hints() == hints));
        assert_eq!(run(&world, &teams, &case, &mut random), 3 * u64::from(nodes - 1), "{case:?}");
        world.end(teams);
    }
}

#[test]
fn node_processes_of_a_host_combine_before_hosts_do() {
    let mut random = Random::new(seed());
    for hosts in 1..7 {
        let nodes = hosts * 3;
        let world = World::new(Places::blocks(nodes, 1), calm(random.below(1 << 60)), hosts);
        let teams = world.join(&world.shuffled(nodes, &mut random), 0);
        let between = || -> u64 {
            let pairs = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b)));
            let far = pairs.filter(|(a, b)| a % hosts != b % hosts);
            far.map(|(a, b)| world.network.messages(a, b, Channel::COLLECTIVE)).sum()
        };
        let rounds = u64::from(hosts.next_power_of_two().trailing_zeros());
        let hosts = u64::from(hosts);
        for (call, far, all) in [
            (Call::Broadcast, hosts - 1, 3 * hosts - 1),
            (Call::Reduce, hosts - 1, 3 * hosts - 1),
            (Call::Barrier, hosts * rounds, hosts * (rounds + 4)),
        ] {
            for root in 0..nodes {
                let (before, so_far) = (between(), messages(&world));
                let case = case(call, root, 3, nodes, &mut random);
                world.run(&teams, &case, &mut random);
                assert_eq!((between() - before, messages(&world) - so_far), (far, all), "{case:?}");
            }
        }
        world.end(teams);
    }
}

#[test]
fn the_shape_of_a_tree_follows_from_the_number_of_node_processes() {
    let mut random = Random::new(seed());
    for nodes in 2..34 {
        let world = World::new(Places::blocks(nodes, 1), calm(random.below(1 << 60)), nodes);
        let order: Vec<u32> = (0..nodes).collect();
        let teams = world.join(&order, 0);
        let root = random.below(u64::from(nodes)) as u32;
        world.run(&teams, &case(Call::Broadcast, root, 1, nodes, &mut random), &mut random);
        let sent = |from: u32| -> u64 {
            (0..nodes).map(|to| world.network.messages(from, to, Channel::COLLECTIVE)).sum()
        };
        let most = (0..nodes).map(sent).max().unwrap();
        let right = match nodes {
            // Flat.
            ..=4 => u64::from(nodes) - 1,
            // Binary: two below each.
            5..=15 => 2,
            // Binomial: one for each step.
            _ => u64::from(nodes.next_power_of_two().trailing_zeros()),
        };
        assert_eq!((sent(root), most), (right, right), "{nodes} node processes");
        world.end(teams);
    }
}

/// Starts an operation at all ranks but one, and sees who finishes without it.
fn without(world: &World, teams: &[Team], case: &Case, late: usize, random: &mut Random) -> Vec<u32> {
    let mut memory = case.buffers();
    let order = world.shuffled(teams.len() as u32, random);
    let start = |rank: u32, memory: &mut Vec<_>| {
        (rank, case.start(&teams[rank as usize], rank, &mut memory[rank as usize]))
    };
    let early = order.iter().filter(|&&rank| rank as usize != late);
    let mut pending: Vec<_> = early.map(|&rank| start(rank, &mut memory)).collect();
    let mut done = Vec::new();
    let mut turn = |pending: &mut Vec<_>, memory: &[_], turns: u32| {
        for _ in 0..turns {
            pending.retain(|(rank, operation): &(u32, weft_coll::Pending)| {
                let over = operation.advance(None);
                if over {
                    operation.result().unwrap();
                    case.check(*rank, &memory[*rank as usize], || format!("rank {rank} of {case:?}"));
                    done.push(*rank);
                }
                !over
            });
        }
    };
    turn(&mut pending, &memory, 3000);
    let stayed: Vec<u32> = pending.iter().map(|(rank, _)| *rank).collect();
    pending.push(start(late as u32, &mut memory));
    turn(&mut pending, &memory, 3000);
    assert!(
        pending.is_empty(),
        "{:?} of {case:?} never end",
        pending.iter().map(|p| p.0).collect::<Vec<_>>()
    );
    stayed
}

#[test]
fn a_late_rank_of_a_broadcast_delays_nobody() {
    let mut random = Random::new(seed());
    for turn in 0..60 {
        let nodes = 2 + random.below(8) as u32;
        let ranks = nodes * 2;
        let conditions = Conditions { delay: turn % 5, ..Conditions::calm(random.below(1 << 60)) };
        // Two ranks on each node process, so that one comes in time.
        let places = if turn % 2 == 0 { Places::blocks(ranks, 2) } else { Places::round_robin(ranks, nodes) };
        let world = World::new(places, conditions, nodes.min(3));
        let teams = world.join(&world.shuffled(ranks, &mut random), 0);
        let root = random.below(u64::from(ranks)) as u32;
        let late = (root + 1 + random.below(u64::from(ranks) - 1) as u32) % ranks;
        let count = [1, 100, 5000][random.below(3) as usize];
        let case = case(Call::Broadcast, root, count, ranks, &mut random);
        assert_eq!(without(&world, &teams, &case, late as usize, &mut random), [], "{case:?} without {late}");
        world.end(teams);
    }
}

#[test]
fn a_late_rank_of_a_reduction_delays_only_who_needs_it() {
    let mut random = Random::new(seed());
    for turn in 0..60 {
        let nodes = 2 + random.below(3) as u32;
        let ranks = nodes * 3;
        let places = if turn % 2 == 0 { Places::blocks(ranks, 3) } else { Places::round_robin(ranks, nodes) };
        // A flat tree: no node process passes on what others contribute.
        let world = World::new(places, Conditions::calm(random.below(1 << 60)), nodes);
        let order: Vec<u32> = (0..ranks).collect();
        let teams = world.join(&order, 0);
        let root = random.below(u64::from(ranks)) as u32;
        let late = (root + 1 + random.below(u64::from(ranks) - 1) as u32) % ranks;
        for call in [Call::Reduce, Call::Gatherv] {
            let case = case(call, root, 100, ranks, &mut random);
            let stayed = without(&world, &teams, &case, late as usize, &mut random);
            assert_eq!(stayed, [root], "{case:?} without {late}");
        }
        world.end(teams);
    }
}

#[test]
fn halving_and_rotation_send_as_many_messages_as_their_authors_say() {
    let mut random = Random::new(seed());
    for nodes in 2..34u32 {
        let world = World::new(Places::blocks(nodes * 2, 2), calm(random.below(1 << 60)), nodes);
        let teams = world.join(&(0..nodes * 2).collect::<Vec<_>>(), 0);
        for (operation, algorithm) in
            [("alltoall", "bruck"), ("allreduce", "rabenseifner"), ("reduce", "rabenseifner")]
        {
            let hint = (format!("weft_{operation}_nodes_algorithm"), algorithm.into());
            teams.iter().for_each(|team| team.hint(core::slice::from_ref(&hint)));
        }
        let rounds = u64::from(nodes.next_power_of_two().trailing_zeros());
        let core = 1 << nodes.ilog2();
        let (extra, steps) = (u64::from(nodes) - core, u64::from(nodes.ilog2()));
        let expected = [
            (Call::Alltoall, u64::from(nodes) * rounds),
            (Call::Allreduce, 2 * core * steps + 2 * extra),
            (Call::Reduce, core * steps + core - 1 + extra),
        ];
        for (call, expected) in expected {
            let case = case(call, random.below(u64::from(nodes)) as u32, 40, nodes * 2, &mut random);
            assert_eq!(run(&world, &teams, &case, &mut random), expected, "{case:?}, {nodes} nodes");
        }
        world.end(teams);
    }
}
