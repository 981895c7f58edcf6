//! Which rank takes which place in a topology, so that neighbors share a worker, and workers that are near each other
//! hold neighboring parts.
//!
//! Recursive bisection: the ranks, in the order of the places they run on, are cut in two where a place ends, and the
//! topology is cut in two parts of the same sizes with few edges between them; then each half likewise (Hoefler and
//! Snir, *Generic Topology Mapping Strategies for Large-Scale Parallel Architectures*, ICS 2011, section 3.3). Places
//! are numbered so that near ones have near numbers, so the first cuts, which weigh most, fall between far places.
//!
//! Grids are cut across their longest side (Berger and Bokhari, *A Partitioning Strategy for Nonuniform Problems on
//! Multiprocessors*, IEEE Transactions on Computers 36(5), 1987). Graphs are cut by growing one half greedily from a
//! node at their rim (Karypis and Kumar, *A Fast and High Quality Multilevel Scheme for Partitioning Irregular Graphs*,
//! SIAM Journal on Scientific Computing 20(1), 1998, section 4.2), and the cut is then improved by exchanging nodes
//! (Fiduccia and Mattheyses, *A Linear-Time Heuristic for Improving Network Partitions*, DAC 1982; in pairs, so that the
//! halves keep their sizes).

use super::Cartesian;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Finds for each rank of `grid` the old rank that takes it. `places` has the place of each old rank, at least as many
/// as the grid has ranks; those beyond are left out.
pub fn place_grid(grid: &Cartesian, places: &[usize]) -> Vec<u32> {
    let count = grid.size().expect("the grid is no larger than a communicator") as usize;
    let edges = |rank: u32| grid.neighbors(rank).into_iter().flatten().map(|other| (other, 1));
    let adjacent: Vec<Vec<(u32, u64)>> = (0..count as u32).map(|rank| edges(rank).collect()).collect();
    let coordinates: Vec<Vec<u32>> = (0..count as u32).map(|rank| grid.coordinates(rank)).collect();
    let cut = |nodes: &mut [u32], _: usize| {
        let extent = |dimension: &usize| {
            let along = nodes.iter().map(|&node| coordinates[node as usize][*dimension]);
            along.clone().max().unwrap_or(0) - along.min().unwrap_or(0)
        };
        // Of sides of equal length the first: its halves are contiguous in rank order.
        let longest = (0..grid.dimensions.len()).rev().max_by_key(extent).unwrap_or(0);
        nodes.sort_unstable_by_key(|&node| (coordinates[node as usize].get(longest).copied(), node));
    };
    place(count, &places[..count], &adjacent, cut)
}

/// Finds for each node of a graph the old rank that takes it. `edges` are pairs of nodes with a weight, in any order
/// and direction; `places` has the place of each old rank, as many as there are nodes.
pub fn place_graph(edges: &[(u32, u32, u64)], places: &[usize]) -> Vec<u32> {
    let mut adjacent = vec![Vec::new(); places.len()];
    for &(from, to, weight) in edges.iter().filter(|(from, to, _)| from != to) {
        adjacent[from as usize].push((to, weight));
        adjacent[to as usize].push((from, weight));
    }
    place(places.len(), places, &adjacent, |nodes, size| {
        grow(nodes, size, &adjacent);
        while improve(nodes, size, &adjacent) {}
    })
}

/// Places nodes by recursive bisection; the old order stays if the result is no better. `cut` reorders nodes so that
/// the first ones of the given number make a good half.
fn place(
    count: usize,
    places: &[usize],
    adjacent: &[Vec<(u32, u64)>],
    cut: impl Fn(&mut [u32], usize),
) -> Vec<u32> {
    let mut ranks: Vec<u32> = (0..count as u32).collect();
    let unchanged = ranks.clone();
    ranks.sort_by_key(|&rank| places[rank as usize]);
    let mut nodes = unchanged.clone();
    bisect(&mut nodes, &ranks, places, &cut);
    let mut placed = vec![0; count];
    for (&node, &rank) in nodes.iter().zip(&ranks) {
        placed[node as usize] = rank;
    }
    if cost(&placed, places, adjacent) < cost(&unchanged, places, adjacent) { placed } else { unchanged }
}

/// Returns the weight of all edges between different places.
fn cost(placed: &[u32], places: &[usize], adjacent: &[Vec<(u32, u64)>]) -> u64 {
    let place = |node: usize| places[placed[node] as usize];
    let of = |(node, edges): (usize, &Vec<(u32, u64)>)| -> u64 {
        edges.iter().filter(|(to, _)| place(*to as usize) != place(node)).map(|(_, weight)| weight).sum()
    };
    adjacent.iter().enumerate().map(of).sum()
}

/// Orders `nodes` so that each belongs to the rank at the same position; `ranks` are in the order of their places.
fn bisect(nodes: &mut [u32], ranks: &[u32], places: &[usize], cut: &impl Fn(&mut [u32], usize)) {
    let place = |index: usize| places[ranks[index] as usize];
    let middle = ranks.len() / 2;
    let ends_a_place = |&at: &usize| place(at - 1) != place(at);
    // The end of a place that is nearest to the middle.
    let Some(at) = (1..ranks.len()).filter(ends_a_place).min_by_key(|at| at.abs_diff(middle)) else {
        nodes.sort_unstable();
        return;
    };
    cut(nodes, at);
    let (first, second) = nodes.split_at_mut(at);
    bisect(first, &ranks[..at], places, cut);
    bisect(second, &ranks[at..], places, cut);
}

/// Reorders `nodes` so that the first `size` hang together: starts at a node far from others, and takes again and again
/// the node with the heaviest edges to those taken.
fn grow(nodes: &mut [u32], size: usize, adjacent: &[Vec<(u32, u64)>]) {
    nodes.sort_unstable();
    let sorted = nodes.to_vec();
    let mut distance = vec![usize::MAX; sorted.len()];
    let start = farthest(&sorted, 0, adjacent, &mut distance);
    let mut weight = vec![0u64; sorted.len()];
    let mut taken = vec![false; sorted.len()];
    let mut heap = BinaryHeap::from([(0u64, Reverse(start))]);
    let mut order = Vec::with_capacity(sorted.len());
    let mut next_untaken = 0;
    while order.len() < size {
        let candidate = match heap.pop() {
            Some((known, Reverse(node))) if !taken[node] && known == weight[node] => node,
            Some(_) => continue,
            // The part that hangs together is used up.
            None => {
                while taken[next_untaken] {
                    next_untaken += 1;
                }
                next_untaken
            }
        };
        taken[candidate] = true;
        order.push(sorted[candidate]);
        for &(other, edge) in &adjacent[sorted[candidate] as usize] {
            if let Ok(other) = sorted.binary_search(&other)
                && !taken[other]
            {
                weight[other] += edge.max(1);
                heap.push((weight[other], Reverse(other)));
            }
        }
    }
    order.extend(sorted.iter().enumerate().filter(|(index, _)| !taken[*index]).map(|(_, &node)| node));
    nodes.copy_from_slice(&order);
}

/// Returns the position of the node that is most edges away from the one at `start`, among those connected to it.
fn farthest(sorted: &[u32], start: usize, adjacent: &[Vec<(u32, u64)>], distance: &mut [usize]) -> usize {
    distance[start] = 0;
    let mut queue = std::collections::VecDeque::from([start]);
    let mut last = start;
    while let Some(node) = queue.pop_front() {
        last = node;
        for &(other, _) in &adjacent[sorted[node] as usize] {
            if let Ok(other) = sorted.binary_search(&other)
                && distance[other] == usize::MAX
            {
                distance[other] = distance[node] + 1;
                queue.push_back(other);
            }
        }
    }
    last
}

/// How many exchanges in a row may fail to improve the cut before a pass ends.
const PATIENCE: usize = 64;

/// Exchanges nodes of the first `size` with others where that makes the cut lighter: one pass, in which each node moves
/// once at most, also where a move alone does harm; the best state met stays. Returns whether it is better than before.
fn improve(nodes: &mut [u32], size: usize, adjacent: &[Vec<(u32, u64)>]) -> bool {
    let mut sorted: Vec<(u32, bool)> = nodes.iter().enumerate().map(|(i, &node)| (node, i < size)).collect();
    sorted.sort_unstable();
    let mut halves = Halves::new(sorted, adjacent);
    let mut exchanges = Vec::new();
    let (mut won, mut best, mut best_length) = (0i64, 0i64, 0);
    while exchanges.len() < best_length + PATIENCE {
        let Some((leaves, gain)) = halves.take_best(true) else { break };
        halves.move_over(leaves);
        // Its gain counts that the first has left.
        let Some((joins, back)) = halves.take_best(false) else {
            halves.nodes[leaves].1 = true;
            break;
        };
        halves.move_over(joins);
        exchanges.push((leaves, joins));
        won += gain + back;
        if won > best {
            (best, best_length) = (won, exchanges.len());
        }
    }
    let mut first: Vec<bool> = halves.nodes.iter().map(|&(_, in_first)| in_first).collect();
    for &(leaves, joins) in &exchanges[best_length..] {
        first[leaves] = true;
        first[joins] = false;
    }
    if best == 0 {
        return false;
    }
    let part =
        |wanted: bool| halves.nodes.iter().zip(&first).filter(move |(_, f)| **f == wanted).map(|(n, _)| n.0);
    let order: Vec<u32> = part(true).chain(part(false)).collect();
    nodes.copy_from_slice(&order);
    true
}

/// Two halves of a set of nodes between which nodes move.
struct Halves<'a> {
    /// In ascending order, and whether each is in the first half.
    nodes: Vec<(u32, bool)>,
    adjacent: &'a [Vec<(u32, u64)>],
    /// By how much the cut becomes lighter if a node moves.
    gains: Vec<i64>,
    moved: Vec<bool>,
    /// Nodes that have not moved by gain, for the second half and for the first; with entries that are out of date.
    heaps: [BinaryHeap<(i64, Reverse<usize>)>; 2],
}

impl<'a> Halves<'a> {
    fn new(nodes: Vec<(u32, bool)>, adjacent: &'a [Vec<(u32, u64)>]) -> Self {
        let moved = vec![false; nodes.len()];
        let mut halves =
            Self { gains: vec![0; nodes.len()], nodes, adjacent, moved, heaps: Default::default() };
        for index in 0..halves.nodes.len() {
            halves.gains[index] =
                halves.neighbors(index).map(|(_, outside, weight)| signed(outside, weight)).sum();
            halves.push(index);
        }
        halves
    }

    /// Returns the neighbors of a node in the set: where, whether in the other half, and the edge's weight.
    fn neighbors(&self, index: usize) -> impl Iterator<Item = (usize, bool, u64)> + '_ {
        let (node, half) = self.nodes[index];
        self.adjacent[node as usize].iter().filter_map(move |&(other, weight)| {
            let at = self.nodes.binary_search_by_key(&other, |&(node, _)| node).ok()?;
            Some((at, self.nodes[at].1 != half, weight))
        })
    }

    fn push(&mut self, index: usize) {
        self.heaps[usize::from(self.nodes[index].1)].push((self.gains[index], Reverse(index)));
    }

    /// Takes the node of a half whose move wins most, and says how much.
    fn take_best(&mut self, first: bool) -> Option<(usize, i64)> {
        loop {
            let (gain, Reverse(index)) = self.heaps[usize::from(first)].pop()?;
            if !self.moved[index] && self.gains[index] == gain {
                return Some((index, gain));
            }
        }
    }

    fn move_over(&mut self, index: usize) {
        self.moved[index] = true;
        let neighbors: Vec<_> = self.neighbors(index).collect();
        self.nodes[index].1 = !self.nodes[index].1;
        for (other, was_outside, weight) in neighbors {
            // What was inside for the other node is outside now, and the other way round.
            self.gains[other] += 2 * signed(!was_outside, weight);
            if !self.moved[other] {
                self.push(other);
            }
        }
    }
}

fn signed(positive: bool, weight: u64) -> i64 {
    let weight = i64::try_from(weight).unwrap_or(i64::MAX / 2);
    if positive { weight } else { -weight }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_permutation(placed: &[u32]) -> bool {
        let mut sorted = placed.to_vec();
        sorted.sort_unstable();
        sorted.iter().copied().eq(0..placed.len() as u32)
    }

    fn crossing(edges: &[(u32, u32, u64)], placed: &[u32], places: &[usize]) -> u64 {
        let place = |node: u32| places[placed[node as usize] as usize];
        edges.iter().filter(|(a, b, _)| place(*a) != place(*b)).map(|(_, _, weight)| weight).sum()
    }

    fn edges_of(grid: &Cartesian) -> Vec<(u32, u32, u64)> {
        let edges = |rank| grid.neighbors(rank).into_iter().flatten().map(move |other| (rank, other, 1));
        (0..grid.size().unwrap()).flat_map(edges).collect()
    }

    #[test]
    fn a_square_is_cut_into_squares() {
        // Sixteen places of 16 ranks: bands of one row each are the worst, 4 x 4 squares the best.
        let grid = Cartesian { dimensions: vec![16, 16], periods: vec![false; 2] };
        let places: Vec<usize> = (0..256).map(|rank| rank / 16).collect();
        let edges = edges_of(&grid);
        let unchanged: Vec<u32> = (0..256).collect();
        let placed = place_grid(&grid, &places);
        assert!(is_permutation(&placed));
        assert_eq!(crossing(&edges, &unchanged, &places), 2 * 15 * 16);
        assert_eq!(crossing(&edges, &placed, &places), 2 * 2 * 3 * 16);
        let by_graph = place_graph(&edges, &places);
        assert!(is_permutation(&by_graph));
        assert!(crossing(&edges, &by_graph, &places) < 2 * 15 * 16 * 2 / 3);
    }

    #[test]
    fn ranks_dealt_round_robin_are_gathered() {
        let grid = Cartesian { dimensions: vec![64], periods: vec![true] };
        let places: Vec<usize> = (0..64).map(|rank| rank % 4).collect();
        let edges = edges_of(&grid);
        for placed in [place_grid(&grid, &places), place_graph(&edges, &places)] {
            assert!(is_permutation(&placed));
            assert_eq!(crossing(&edges, &placed, &places), 2 * 4);
        }
    }

    #[test]
    fn places_of_different_sizes_and_graphs_in_pieces_are_filled_exactly() {
        let places: Vec<usize> = [vec![0; 3], vec![1; 7], vec![2; 1], vec![3; 9]].concat();
        // Two rings and five nodes alone.
        let ring = |from: u32, n: u32| (0..n).map(move |i| (from + i, from + (i + 1) % n, 5));
        let edges: Vec<_> = ring(0, 9).chain(ring(9, 6)).collect();
        let placed = place_graph(&edges, &places);
        assert!(is_permutation(&placed));
        assert!(
            crossing(&edges, &placed, &places) <= crossing(&edges, &(0..20).collect::<Vec<_>>(), &places)
        );
        assert_eq!(place_graph(&[], &[0]), [0]);
        let point = Cartesian { dimensions: vec![], periods: vec![] };
        assert_eq!(place_grid(&point, &[3, 1]), [0]);
    }

    #[test]
    fn the_old_order_stays_where_nothing_is_won() {
        let grid = Cartesian { dimensions: vec![4, 4], periods: vec![false; 2] };
        assert_eq!(place_grid(&grid, &[0; 16]), (0..16).collect::<Vec<u32>>());
        let halves: Vec<usize> = (0..16).map(|rank| rank / 8).collect();
        assert_eq!(place_grid(&grid, &halves), (0..16).collect::<Vec<u32>>());
    }

    #[test]
    fn heavy_edges_stay_inside() {
        // A ring of eight whose even edges are heavy, on four places of two.
        let places: Vec<usize> = (0..8).map(|rank| rank / 2).collect();
        let edges: Vec<_> = (0..8).map(|i| (i, (i + 1) % 8, if i % 2 == 1 { 100 } else { 1 })).collect();
        let placed = place_graph(&edges, &places);
        assert_eq!(crossing(&edges, &placed, &places), 4);
    }
}
