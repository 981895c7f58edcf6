//! Dissemination: in step `k` a rank sends to the rank `2^k` above it, around the end. All ranks have heard of all after
//! `log2(size)` steps, rounded up, for any number of ranks.
//!
//! Sources: D. Hensgen, R. Finkel, U. Manber, "Two Algorithms for Barrier Synchronization", IJPP 17 (1988); J. Bruck et al.,
//! "Efficient Algorithms for All-to-All Communications in Multiport Message-Passing Systems", TPDS 8 (1997).

/// Returns the rank to which to send in a step of a barrier, and the one from which to receive. The steps go from 0 to
/// `rounds(size, 2) - 1`.
pub fn barrier(rank: u32, size: u32, step: u32) -> (u32, u32) {
    let distance = 1 << step;
    (above(rank, distance, size), below(rank, distance, size))
}

fn above(rank: u32, distance: u32, size: u32) -> u32 {
    ((u64::from(rank) + u64::from(distance)) % u64::from(size)) as u32
}

fn below(rank: u32, distance: u32, size: u32) -> u32 {
    above(rank, size - distance % size, size)
}

/// A step of Bruck's allgather.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allgather {
    /// The rank to send to.
    pub to: u32,
    /// The rank to receive from.
    pub from: u32,
    /// How many blocks to send, from the first on, and to receive behind those that are there.
    pub blocks: u32,
}

/// Returns a step of Bruck's allgather. A rank collects the blocks of the ranks from itself upwards, around the end, and
/// turns them in the end: the block at place `i` is that of rank `rank + i`.
pub fn allgather(rank: u32, size: u32, step: u32) -> Allgather {
    let has = 1 << step;
    Allgather { to: below(rank, has, size), from: above(rank, has, size), blocks: has.min(size - has) }
}

/// Returns the places of the blocks that a rank sends in a step of Bruck's all-to-all to the rank [`barrier`] says; it
/// receives others in the same places. The block at place `i` is for the rank `i` above; in the end the block at place `i`
/// is from the rank `i` below.
pub fn alltoall(size: u32, step: u32) -> impl Iterator<Item = u32> {
    (0..size).filter(move |place| place >> step & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::rounds;

    #[test]
    fn everybody_has_heard_of_everybody() {
        for size in 1..130 {
            let mut heard: Vec<Vec<bool>> = (0..size).map(|r| (0..size).map(|o| o == r).collect()).collect();
            for step in 0..rounds(size, 2) {
                let before = heard.clone();
                for rank in 0..size {
                    let (to, from) = barrier(rank, size, step);
                    assert_eq!(barrier(to, size, step).1, rank);
                    for other in 0..size as usize {
                        heard[rank as usize][other] |= before[from as usize][other];
                    }
                }
                // Not one step too many.
                let done = heard.iter().flatten().all(|&heard| heard);
                assert_eq!(done, step + 1 == rounds(size, 2), "{size} {step}");
            }
        }
    }

    #[test]
    fn an_allgather_collects_all_blocks_in_order() {
        for size in 1..130 {
            let mut blocks: Vec<Vec<u32>> = (0..size).map(|rank| vec![rank]).collect();
            for step in 0..rounds(size, 2) {
                let before = blocks.clone();
                for rank in 0..size {
                    let now = allgather(rank, size, step);
                    assert_eq!(allgather(now.to, size, step).from, rank);
                    blocks[rank as usize].extend(&before[now.from as usize][..now.blocks as usize]);
                }
            }
            for rank in 0..size {
                let right: Vec<u32> = (0..size).map(|i| (rank + i) % size).collect();
                assert_eq!(blocks[rank as usize], right);
            }
        }
    }

    #[test]
    fn an_alltoall_brings_every_block_to_its_rank() {
        for size in 1..130 {
            // The block at place i: from whom, for whom.
            let mut blocks: Vec<Vec<(u32, u32)>> =
                (0..size).map(|rank| (0..size).map(|i| (rank, (rank + i) % size)).collect()).collect();
            for step in 0..rounds(size, 2) {
                let before = blocks.clone();
                for rank in 0..size {
                    let (_, from) = barrier(rank, size, step);
                    for place in alltoall(size, step) {
                        blocks[rank as usize][place as usize] = before[from as usize][place as usize];
                    }
                }
            }
            for rank in 0..size {
                for place in 0..size {
                    let from = (rank + size - place) % size;
                    assert_eq!(blocks[rank as usize][place as usize], (from, rank), "{size}");
                }
            }
        }
    }
}
