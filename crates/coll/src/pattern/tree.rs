//! Trees over the ranks of a communicator, with any root.
//!
//! Every tree is laid out over *places*: the root has place 0 and the others follow in rank order, around the end. In a
//! binomial or k-nomial tree the ranks below one have consecutive places, so a scatter sends each child one range.
//!
//! Sources: the binomial tree and its scatter are in R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective
//! Communication Operations in MPICH", IJHPCA 19 (2005), section 4; the choice of a shape by the number of nodes is TMPI's:
//! H. Tang, T. Yang, "Optimizing Threaded MPI Execution on SMP Clusters", ICS 2001, section 4.

use core::ops::Range;

/// The shape of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Everybody below the root.
    Flat,
    /// Each below the one before.
    Chain,
    /// Two below each, levels filled one after the other.
    Binary,
    /// In each step everybody that has the data gives it to `radix - 1` more; 2 makes the binomial tree.
    KNomial(u32),
}

/// The binomial tree.
pub const BINOMIAL: Shape = Shape::KNomial(2);

/// Returns the shape with which a number of nodes, each a message from the other, is reached fastest: the root sends to
/// few nodes itself, fewer levels are worth more than balance with many.
pub fn shape_for(nodes: u32) -> Shape {
    match nodes {
        0..=4 => Shape::Flat,
        5..=15 => Shape::Binary,
        _ => BINOMIAL,
    }
}

/// Returns the place of a rank in a tree with a root.
pub fn place(rank: u32, root: u32, size: u32) -> u32 {
    if rank >= root { rank - root } else { size - root + rank }
}

/// Returns the rank at a place in a tree with a root.
pub fn rank_at(place: u32, root: u32, size: u32) -> u32 {
    let left = size - root;
    if place < left { root + place } else { place - left }
}

/// Returns the weight of the lowest digit of `place` that is not zero, to a base; nothing for place 0.
fn lowest(place: u32, radix: u32) -> Option<u64> {
    let (place, radix) = (u64::from(place), u64::from(radix));
    let weights = core::iter::successors(Some(1), |weight| Some(weight * radix));
    if place == 0 { None } else { weights.take_while(|weight| place.is_multiple_of(*weight)).last() }
}

impl Shape {
    /// Returns the rank above a rank, if it is not the root.
    pub fn parent(self, rank: u32, root: u32, size: u32) -> Option<u32> {
        let place = place(rank, root, size);
        let above = match self {
            _ if place == 0 => return None,
            Self::Flat => 0,
            Self::Chain => place - 1,
            Self::Binary => (place - 1) / 2,
            Self::KNomial(radix) => {
                let weight = lowest(place, radix)?;
                (u64::from(place) - u64::from(place) / weight % u64::from(radix) * weight) as u32
            }
        };
        Some(rank_at(above, root, size))
    }

    /// Returns the ranks below a rank, in the order in which it should send to them: those with most below first.
    pub fn children(self, rank: u32, root: u32, size: u32) -> Vec<u32> {
        let place = place(rank, root, size);
        let places: Vec<u32> = match self {
            Self::Flat if place == 0 => (1..size).collect(),
            Self::Flat => Vec::new(),
            Self::Chain => (place + 1..size.min(place + 2)).collect(),
            Self::Binary => {
                let first = 2 * u64::from(place) + 1;
                (first..first + 2)
                    .filter(|&child| child < u64::from(size))
                    .map(|child| child as u32)
                    .collect()
            }
            Self::KNomial(radix) => {
                let radix = u64::from(radix);
                let end = lowest(place, radix as u32).unwrap_or(u64::from(size));
                let mut weights = Vec::new();
                let mut weight = 1;
                while weight < end {
                    weights.push(weight);
                    weight *= radix;
                }
                let at = |weight: u64| (1..radix).map(move |digit| u64::from(place) + digit * weight);
                let below = weights.into_iter().rev().flat_map(at);
                below.filter(|&child| child < u64::from(size)).map(|child| child as u32).collect()
            }
        };
        places.into_iter().map(|child| rank_at(child, root, size)).collect()
    }

    /// Returns the places of a rank and all below it, where they follow each other: in flat trees, chains and k-nomial
    /// trees.
    pub fn places_below(self, rank: u32, root: u32, size: u32) -> Option<Range<u32>> {
        let place = place(rank, root, size);
        let end = match self {
            Self::Binary => return None,
            _ if place == 0 => size,
            Self::Flat => place + 1,
            Self::Chain => size,
            Self::KNomial(radix) => {
                let weight = lowest(place, radix)?;
                (u64::from(place) + weight).min(u64::from(size)) as u32
            }
        };
        Some(place..end)
    }

    /// Returns the number of steps after which the last rank has the root's data, if a rank gives it to `radix - 1`
    /// others in a step of a k-nomial tree, and to one otherwise.
    pub fn steps(self, size: u32) -> u32 {
        match self {
            Self::Flat | Self::Chain => size - 1,
            // The way down has two steps for each level, one if it goes to first children only.
            Self::Binary => (0..size).map(steps_to).max().unwrap_or(0),
            Self::KNomial(radix) => super::rounds(size, radix),
        }
    }
}

/// Returns the number of steps after which a place of a binary tree is reached.
fn steps_to(mut place: u32) -> u32 {
    let mut steps = 0;
    while place > 0 {
        steps += if place % 2 == 1 { 1 } else { 2 };
        place = (place - 1) / 2;
    }
    steps
}

/// What a rank of a pipelined chain does in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChainStep {
    /// The segment it receives from the rank before.
    pub receive: Option<u32>,
    /// The segment it sends to the rank after.
    pub send: Option<u32>,
}

/// Returns what the rank at a place of a chain does in a step: each segment moves on by one rank per step.
pub fn chain_step(place: u32, size: u32, segments: u32, step: u32) -> ChainStep {
    let at = |delay: u32| step.checked_sub(delay).filter(|&segment| segment < segments);
    ChainStep {
        receive: place.checked_sub(1).and_then(at),
        send: (place + 1 < size).then(|| at(place)).flatten(),
    }
}

/// Returns the number of steps until all segments are at the end of a chain.
pub fn chain_steps(size: u32, segments: u32) -> u32 {
    if size < 2 || segments == 0 { 0 } else { segments + size - 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 7] = [
        Shape::Flat,
        Shape::Chain,
        Shape::Binary,
        BINOMIAL,
        Shape::KNomial(3),
        Shape::KNomial(4),
        Shape::KNomial(7),
    ];

    #[test]
    fn every_rank_but_the_root_has_one_parent_that_knows_it() {
        for size in 1..130 {
            for root in 0..size {
                for shape in SHAPES {
                    let mut received = vec![0; size as usize];
                    for rank in 0..size {
                        for child in shape.children(rank, root, size) {
                            received[child as usize] += 1;
                            assert_eq!(
                                shape.parent(child, root, size),
                                Some(rank),
                                "{shape:?} {size} {root}"
                            );
                        }
                    }
                    let right = |rank: u32| u32::from(rank != root);
                    assert!(
                        (0..size).all(|rank| received[rank as usize] == right(rank)),
                        "{shape:?} {size} {root}"
                    );
                    assert_eq!(shape.parent(root, root, size), None);
                }
            }
        }
    }

    /// Simulates a broadcast in which a rank sends to one child per step (all of one level of a k-nomial tree).
    fn simulated(shape: Shape, size: u32) -> u32 {
        let mut reached = vec![u32::MAX; size as usize];
        reached[0] = 0;
        let mut queue = vec![0];
        while let Some(rank) = queue.pop() {
            let mut step = reached[rank as usize];
            let mut sent = 0;
            let together = if let Shape::KNomial(radix) = shape { radix - 1 } else { 1 };
            let mut weight = 0;
            for child in shape.children(rank, 0, size) {
                // Children of one level differ from the rank in the same digit.
                let level = if let Shape::KNomial(radix) = shape { lowest(child, radix).unwrap() } else { 0 };
                if sent % together == 0 || level != weight {
                    step += 1;
                    sent = 0;
                    weight = level;
                }
                sent += 1;
                reached[child as usize] = step;
                queue.push(child);
            }
        }
        reached.into_iter().max().unwrap()
    }

    #[test]
    fn the_number_of_steps_is_kept() {
        for size in 1..130 {
            for shape in SHAPES {
                let steps = simulated(shape, size);
                assert!(steps <= shape.steps(size), "{shape:?} {size}: {steps} steps");
                if !matches!(shape, Shape::KNomial(3..)) {
                    assert_eq!(steps, shape.steps(size), "{shape:?} {size}");
                }
            }
            assert!(Shape::Binary.steps(size) <= 2 * super::super::rounds(size + 1, 2));
        }
    }

    #[test]
    fn the_places_below_a_rank_are_its_childrens_and_its_own() {
        for size in 1..130 {
            for root in [0, size / 2, size - 1] {
                for shape in SHAPES {
                    for rank in 0..size {
                        let Some(own) = shape.places_below(rank, root, size) else { continue };
                        let mut below = vec![place(rank, root, size)];
                        for child in shape.children(rank, root, size) {
                            below.extend(shape.places_below(child, root, size).unwrap());
                        }
                        below.sort_unstable();
                        assert_eq!(below, own.collect::<Vec<_>>(), "{shape:?} {size} {root} {rank}");
                    }
                }
            }
        }
    }

    #[test]
    fn places_and_ranks_are_one_to_one() {
        for size in 1..130 {
            for root in 0..size {
                assert_eq!(place(root, root, size), 0);
                assert!((0..size).all(|rank| rank_at(place(rank, root, size), root, size) == rank));
            }
        }
    }

    #[test]
    fn a_tree_over_nodes_has_one_edge_less_than_nodes() {
        for nodes in 1..130 {
            let shape = shape_for(nodes);
            let edges: usize = (0..nodes).map(|node| shape.children(node, 0, nodes).len()).sum();
            assert_eq!(edges as u32, nodes - 1);
        }
        assert_eq!([shape_for(4), shape_for(8), shape_for(64)], [Shape::Flat, Shape::Binary, BINOMIAL]);
    }

    #[test]
    fn a_chain_passes_every_segment_on_once_after_it_has_it() {
        for size in 1..130 {
            for segments in [0, 1, 2, 5, 17] {
                let mut has = vec![vec![false; segments as usize]; size as usize];
                has[0].fill(true);
                for step in 0..chain_steps(size, segments) {
                    let before = has.clone();
                    for place in 0..size {
                        let now = chain_step(place, size, segments, step);
                        if let Some(segment) = now.send {
                            assert!(before[place as usize][segment as usize]);
                            assert_eq!(chain_step(place + 1, size, segments, step).receive, Some(segment));
                        }
                        if let Some(segment) = now.receive {
                            assert!(!before[place as usize][segment as usize], "received twice");
                            assert_eq!(chain_step(place - 1, size, segments, step).send, Some(segment));
                            has[place as usize][segment as usize] = true;
                        }
                    }
                }
                assert!(has.iter().flatten().all(|&has| has), "{size} {segments}");
                let after = chain_steps(size, segments);
                assert!(
                    (0..size).all(|place| chain_step(place, size, segments, after) == ChainStep::default())
                );
            }
        }
    }
}
