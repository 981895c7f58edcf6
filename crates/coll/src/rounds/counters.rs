//! Rounds in which every rank of a communicator arrives: the protocol under all collective operations.
//!
//! The ranks of a communicator call its collective operations in one order, so each of them counts the rounds it has
//! entered and the counts agree. In round `r` a rank
//!
//! 1. *enters*: waits until round `r + 1 - DEPTH` is complete (nearly always long true);
//! 2. writes what it contributes into its places of ring index `r % DEPTH`;
//! 3. *arrives*: adds one to the counter of its shard, the ranks that share a home worker. The last of a shard combines
//!    what the shard's ranks wrote and adds one to the top counter; the last of all combines the shards, stores `r` in
//!    `completed` and wakes everybody;
//! 4. waits, if its operation needs the others, until `completed >= r`, and reads what the others wrote.
//!
//! The words, and who may touch them
//!
//! - `counts[i]` of a shard: low 24 bits, how many of the shard's ranks have arrived in the round with ring index `i`;
//!   high 40 bits, the sum of their calls' signatures. Changed by arriving ranks. The last one (it alone sees the count
//!   equal the population) sets it back to 0 before it goes on to the top counter.
//! - `counts[i]` of the top: the same with shards in place of ranks.
//! - `completed`: the last complete round. Written by the last rank to arrive, only ever with `r` after `r - 1`: a rank
//!   arrives in `r` after it has done all its work in `r - 1`, and that may have been the store of `r - 1`.
//! - `mismatched`: the last round whose signatures differed. Written before `completed`.
//!
//! The races, and what closes them
//!
//! - *Reuse of ring index `i` while somebody still reads round `r`.* A rank reads in `r` before it arrives in `r + 1`.
//!   Whoever enters `r + DEPTH` has seen `r + 1` complete, so all ranks have arrived there and nobody reads in `r` any
//!   more. With `DEPTH` 2 that means waiting for the round before, which an operation that synchronises does anyway; 4
//!   lets a broadcasting root run up to three rounds ahead of the slowest rank.
//! - *A counter of round `r + DEPTH` bumped before it was set back in `r`.* The same argument: setting it back happens
//!   before `completed = r`.
//! - *Visibility.* Every write of a rank before it arrives happens before its `AcqRel` addition; the last of a shard
//!   reads the final count by an addition of its own, hence after all of them; likewise at the top; and `completed` is
//!   stored with `Release` and read with `Acquire`. So one who sees `completed >= r` sees all that was written in `r`.
//! - *A sleeper missed.* A rank registers with the wait set before it looks at `completed` for the last time, the last
//!   rank stores `completed` before it looks for sleepers; the wait set orders the two.

use weft_sync::atomic::{AtomicU64, Ordering};
use weft_sync::{CachePadded, Place};

/// How many rounds may be under way at once; the size of every ring. The model uses the smallest that works.
pub const DEPTH: usize = if cfg!(loom) { 2 } else { 4 };

const COUNT_BITS: u32 = 24;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

/// Returns the round that must be complete before one may enter another.
pub fn before_entry(round: u64) -> u64 {
    (round + 1).saturating_sub(DEPTH as u64)
}

/// Returns the ring index of a round.
#[inline]
pub fn ring(round: u64) -> usize {
    (round % DEPTH as u64) as usize
}

#[derive(Debug)]
#[repr(C)]
struct Arrivals {
    population: u64,
    counts: [AtomicU64; DEPTH],
}

impl Arrivals {
    fn new(population: u64) -> Self {
        Self { population, counts: core::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Adds an arrival; returns the sum of all signatures to the last one, which also sets the counter back.
    #[inline]
    fn add(&self, index: usize, signatures: u64) -> Option<u64> {
        let add = 1 | signatures << COUNT_BITS;
        let now = self.counts[index].fetch_add(add, Ordering::AcqRel).wrapping_add(add);
        if now & COUNT_MASK != self.population {
            return None;
        }
        self.counts[index].store(0, Ordering::Relaxed);
        Some(now >> COUNT_BITS)
    }
}

#[derive(Debug, Default)]
#[repr(C)]
struct State {
    completed: AtomicU64,
    mismatched: AtomicU64,
}

/// The words of counters whose ranks are one shard, for memory that processes share.
#[derive(Debug)]
#[repr(C)]
pub struct Words {
    state: CachePadded<State>,
    shard: [CachePadded<Arrivals>; 1],
}

impl Words {
    /// Creates the words for so many ranks.
    pub fn new(size: u32) -> Self {
        Self { state: CachePadded::default(), shard: [CachePadded(Arrivals::new(u64::from(size)))] }
    }
}

/// What the last ranks to arrive do.
pub trait Combine {
    /// Combines what the ranks of a shard wrote; called by the last of them.
    fn shard(&self, _shard: usize) {}
    /// Combines what the shards hold; called by the last rank of all.
    fn all(&self) {}
}

/// Combines nothing.
pub struct Nothing;
impl Combine for Nothing {}

/// The words of the protocol; see the module's page.
#[derive(Debug)]
pub struct Counters {
    state: Place<CachePadded<State>>,
    top: CachePadded<Arrivals>,
    shards: Place<[CachePadded<Arrivals>]>,
    size: u64,
}

impl Counters {
    /// Creates the state for shards of the given numbers of ranks (each at least 1).
    pub fn new(populations: &[u32]) -> Self {
        let size = populations.iter().map(|&p| u64::from(p)).sum();
        assert!(size <= COUNT_MASK && populations.iter().all(|&p| p > 0));
        Self {
            state: Place::from(Box::<CachePadded<State>>::default()),
            top: CachePadded(Arrivals::new(populations.len() as u64)),
            shards: Place::from(
                populations.iter().map(|&p| CachePadded(Arrivals::new(u64::from(p)))).collect::<Box<[_]>>(),
            ),
            size,
        }
    }

    /// Makes counters of words that lie elsewhere, for so many ranks.
    pub fn at(words: &'static Words, size: u32) -> Self {
        Self {
            state: Place::from(&words.state),
            top: CachePadded(Arrivals::new(1)),
            shards: Place::from(&words.shard[..]),
            size: u64::from(size),
        }
    }

    /// Tells whether a rank may enter `round` (the first is 1), that is, use its ring index.
    #[inline]
    pub fn may_enter(&self, round: u64) -> bool {
        self.state.completed.load(Ordering::Acquire) + DEPTH as u64 > round
    }

    /// Tells whether every rank has arrived in `round`.
    #[inline]
    pub fn is_complete(&self, round: u64) -> bool {
        self.state.completed.load(Ordering::Acquire) >= round
    }

    /// Tells whether the calls of a complete round differed. Only for a rank that has not entered a later one.
    #[inline]
    pub fn is_mismatched(&self, round: u64) -> bool {
        self.state.mismatched.load(Ordering::Relaxed) == round
    }

    /// Arrives in `round`. Returns whether the round is complete by that: the caller was the last of all and must wake
    /// the others.
    #[inline]
    pub fn arrive(&self, round: u64, shard: usize, signature: u64, combine: &impl Combine) -> bool {
        let index = ring(round);
        let mask = u64::MAX >> COUNT_BITS;
        let Some(mut sum) = self.shards[shard].add(index, signature) else { return false };
        if sum == signature.wrapping_mul(self.shards[shard].population) & mask {
            combine.shard(shard);
        }
        if self.shards.len() > 1 {
            match self.top.add(index, sum) {
                Some(all) => sum = all,
                None => return false,
            }
        }
        if sum == signature.wrapping_mul(self.size) & mask {
            combine.all();
        } else {
            self.state.mismatched.store(round, Ordering::Relaxed);
        }
        self.state.completed.store(round, Ordering::Release);
        true
    }
}
