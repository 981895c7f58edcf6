//! A job of several node processes in one thread.

use crate::cases::Case;
use std::cell::Cell;
use weft_coll::hier::Exchange;
use weft_coll::{Pending, Team};
use weft_transport::simulator::{Conditions, Network, Random};
use weft_transport::{Channel, Nobody, Nodes, Places};

pub struct World {
    pub network: Network,
    pub exchanges: Vec<&'static Exchange>,
    pub places: Places,
    /// Whether the network is fast enough for large data.
    pub is_fast: bool,
    what: String,
    context: Cell<u32>,
}

/// How often ranks look in vain with nothing under way before a run counts as stuck.
const PATIENCE: u64 = 20_000;

impl World {
    /// Creates node processes; node process `n` is on host `n % hosts`.
    pub fn new(places: Places, conditions: Conditions, hosts: u32) -> Self {
        let what = format!("{conditions:?}, {hosts} hosts, {places:?}");
        let is_fast = conditions.memory >= 100_000 && conditions.slow.is_none();
        let network = Network::new(places.nodes(), conditions);
        let exchanges = (0..places.nodes()).map(|node| {
            let nodes: &'static Nodes = Box::leak(Box::new(Nodes::new(network.device(node), places.clone())));
            nodes.serve(Channel::POINT_TO_POINT, &Nobody);
            Exchange::serve(nodes, |node| node % hosts)
        });
        Self { exchanges: exchanges.collect(), network, places, is_fast, what, context: Cell::new(1) }
    }

    /// Returns the ranks of the job in random order.
    pub fn shuffled(&self, ranks: u32, random: &mut Random) -> Vec<u32> {
        let mut order: Vec<u32> = (0..ranks).collect();
        (1..order.len()).rev().for_each(|i| order.swap(i, random.below(i as u64 + 1) as usize));
        order
    }

    /// Returns the ranks of the job in random order, or in theirs.
    pub fn ordered(&self, ranks: u32, random: &mut Random) -> Vec<u32> {
        if random.below(2) == 0 { (0..ranks).collect() } else { self.shuffled(ranks, random) }
    }

    /// Creates a communicator of these ranks of the job.
    pub fn join(&self, ranks: &[u32], split: u32) -> Vec<Team> {
        self.context.set(self.context.get() + 1);
        let size = ranks.len() as u32;
        let join = |rank: u32| {
            let exchange = self.exchanges[self.places.of(ranks[rank as usize]).node as usize];
            let world_rank = |rank: u32| ranks[rank as usize];
            let team = Team::join_spread(self.context.get(), size, rank, world_rank, exchange);
            if split > 0 { team.divided(split) } else { team }
        };
        (0..size).map(join).collect()
    }

    /// Polls for a node process.
    pub fn poll(&self, node: u64) {
        self.exchanges[node as usize].nodes().poll();
    }

    /// Runs an operation, ranks arriving and looking in random order.
    pub fn run(&self, teams: &[Team], case: &Case, random: &mut Random) {
        self.run_all(teams, core::slice::from_ref(case), random);
    }

    /// Runs operations; each rank starts them in their order.
    pub fn run_all(&self, teams: &[Team], cases: &[Case], random: &mut Random) {
        let mut buffers: Vec<_> = cases.iter().map(|case| case.buffers()).collect();
        let mut pending: Vec<(usize, usize, Pending)> = Vec::new();
        let mut next = vec![0; teams.len()];
        let mut looks = 0;
        while !pending.is_empty() || next.iter().any(|&next| next < cases.len()) {
            let rank = random.below(teams.len() as u64) as usize;
            if next[rank] < cases.len() && random.below(3) == 0 {
                let case = next[rank];
                let started = cases[case].start(&teams[rank], rank as u32, &mut buffers[case][rank]);
                pending.push((case, rank, started));
                next[rank] += 1;
            }
            if pending.is_empty() {
                continue;
            }
            let place = random.below(pending.len() as u64) as usize;
            let (case, rank, operation) = &pending[place];
            if operation.advance(None) {
                let what = || format!("rank {rank} in {:?} of {}", cases[*case], self.what);
                operation.result().unwrap_or_else(|error| panic!("{}: {error}", what()));
                cases[*case].check(*rank as u32, &buffers[*case][*rank], what);
                pending.swap_remove(place);
            }
            looks = if self.network.is_quiet() { looks + 1 } else { 0 };
            if looks > PATIENCE {
                let stuck: Vec<_> = pending.iter().map(|(case, rank, _)| (&cases[*case], rank)).collect();
                panic!("stuck: {stuck:?} of {}", self.what);
            }
        }
    }

    /// Ends a communicator. Nothing may be left of it.
    pub fn end(&self, teams: Vec<Team>) {
        drop(teams);
        for _ in 0..100_000 {
            if self.network.is_quiet() && self.exchanges.iter().all(|exchange| exchange.is_empty()) {
                break;
            }
            (0..self.exchanges.len()).for_each(|node| self.poll(node as u64));
        }
        for exchange in &self.exchanges {
            assert!(exchange.is_empty(), "something is left: {}", self.what);
        }
    }
}
