//! Pure arithmetic: who does what and who talks to whom at which step, without data.
//!
//! Ranks of a shared address space need the arithmetic of this file: segments, and the order in which to visit peers.
//! What ranks that send messages do is in the others:
//!
//! - `tree`: trees over any root (flat, chain, binary, binomial, k-nomial), the ranks below one, the shape for a number
//!   of nodes, the steps of a pipelined chain.
//! - `ring`: allgather and reduce-scatter around a ring.
//! - `doubling`: recursive doubling and halving, for any number of ranks.
//! - `dissemination`: barriers, and Bruck's allgather and all-to-all.

pub mod dissemination;
pub mod doubling;
pub mod ring;
pub mod tree;

use core::ops::Range;

/// Returns the number of times a number can be multiplied by `radix`, from 1, before it is at least `size`.
pub fn rounds(size: u32, radix: u32) -> u32 {
    let (mut rounds, mut reach) = (0, 1u64);
    while reach < u64::from(size) {
        reach *= u64::from(radix);
        rounds += 1;
    }
    rounds
}

/// Returns the ranks of a communicator in the order in which `rank` visits them: itself first, then upwards and around,
/// so that not all ranks read from the same peer at once.
pub(crate) fn rotation(rank: u32, size: u32) -> impl Iterator<Item = u32> {
    (rank..size).chain(0..rank)
}

/// Returns the peers with which `rank` is the one to act: of each pair of ranks exactly one is, and every rank in about
/// as many pairs.
pub(crate) fn partners(rank: u32, size: u32) -> impl Iterator<Item = u32> {
    let acts = move |&distance: &u32| distance * 2 < size || rank < size / 2;
    (1..=size / 2).filter(acts).map(move |distance| (rank + distance) % size)
}

/// Divides `count` elements among the ranks in segments of at least `granule` elements (and a multiple of it, but the
/// last); returns the caller's. Fewer segments than ranks are spread over the ranks, hence over the workers.
pub(crate) fn segment(count: u64, granule: u64, rank: u32, size: u32) -> Range<u64> {
    let (rank, size) = (u64::from(rank), u64::from(size));
    let length = count.div_ceil(size).next_multiple_of(granule.max(1)).max(1);
    let segments = count.div_ceil(length);
    let index = (rank * segments).div_ceil(size);
    if index >= segments || index * size / segments != rank {
        return 0..0;
    }
    index * length..count.min((index + 1) * length)
}

/// Cuts a range into blocks of at most `length`.
pub(crate) fn blocks(range: Range<u64>, length: u64) -> impl Iterator<Item = Range<u64>> {
    let end = range.end;
    range.step_by(length.max(1) as usize).map(move |first| first..end.min(first + length.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_every_element_once() {
        for size in 1..130 {
            for count in [0, 1, 2, 7, 63, 64, 65, 1000, 4096] {
                for granule in [1, 3, 64] {
                    let mut segments: Vec<_> = (0..size).map(|r| segment(count, granule, r, size)).collect();
                    segments.retain(|s| !s.is_empty());
                    segments.sort_by_key(|s| s.start);
                    let mut next = 0;
                    for part in segments {
                        assert_eq!(part.start, next, "size {size}, count {count}, granule {granule}");
                        next = part.end;
                    }
                    assert_eq!(next, count);
                }
            }
        }
    }

    #[test]
    fn one_rank_of_each_pair_acts() {
        for size in 1..130 {
            let mut seen = vec![0; (size * size) as usize];
            for rank in 0..size {
                for peer in partners(rank, size) {
                    assert_ne!(peer, rank);
                    seen[(rank.min(peer) * size + rank.max(peer)) as usize] += 1;
                }
            }
            for low in 0..size {
                for high in low + 1..size {
                    assert_eq!(seen[(low * size + high) as usize], 1, "size {size}: {low}, {high}");
                }
            }
        }
    }

    #[test]
    fn blocks_cover_a_range() {
        assert_eq!(blocks(3..10, 4).collect::<Vec<_>>(), [3..7, 7..10]);
        assert_eq!(blocks(3..3, 4).count(), 0);
    }

    #[test]
    fn a_rotation_visits_all() {
        assert_eq!(rotation(2, 4).collect::<Vec<_>>(), [2, 3, 0, 1]);
    }
}
