//! What tools see of each rank of the process, by its number in the job.

use crate::tools::counters::{Cells, Counter};
use crate::tools::events::{Event, Told};
use std::sync::OnceLock;

/// What tools see of a rank.
#[derive(Default, Debug)]
pub struct Observed {
    /// Its counters.
    pub cells: Cells,
    /// What happened, and was not told yet.
    pub told: Told,
}

const CHUNK: usize = 1024;
const CHUNKS: usize = 4096;

type Chunk = Box<[OnceLock<Box<Observed>>]>;

/// By rank, in chunks: found without a lock, and memory is used for the ranks that tools look at only.
static RANKS: [OnceLock<Chunk>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];

/// Returns what tools see of a rank. Ranks beyond four millions, more than jobs have, share.
pub fn of(rank: u32) -> &'static Observed {
    let (chunk, index) = (rank as usize / CHUNK % CHUNKS, rank as usize % CHUNK);
    let chunk = RANKS[chunk].get_or_init(|| (0..CHUNK).map(|_| OnceLock::new()).collect());
    chunk[index].get_or_init(Box::default)
}

/// Adds to a counter of a rank. To be called if [`watch`](crate::tools::watch) says that counters count.
#[cold]
#[inline(never)]
pub fn count(rank: u32, counter: Counter, amount: u64) {
    of(rank).cells.add(counter, amount);
}

/// Adds to a counter of an object of a rank, as [`count`].
#[cold]
#[inline(never)]
pub fn count_of(rank: u32, counter: Counter, object: u64, amount: u64) {
    of(rank).cells.add_of(counter, object, amount);
}

/// Tells a rank's tools what happened. To be called if [`watch`](crate::tools::watch) says that somebody listens; holding locks
/// is no obstacle.
#[cold]
#[inline(never)]
pub fn tell(rank: u32, event: Event, object: u64, words: &[i64]) {
    of(rank).told.push(event, object, words);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_counters_of_its_own() {
        for (rank, amount) in [(0, 1), (1, 2), (1023, 3), (1024, 4), (700_001, 5)] {
            count(rank, Counter::Parks, amount);
        }
        let found = [0, 1, 1023, 1024, 700_001].map(|rank| of(rank).cells.get(Counter::Parks));
        assert_eq!(found, [1, 2, 3, 4, 5]);
    }
}
