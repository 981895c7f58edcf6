//! Rounds among few ranks, without counters: each rank has a line of its own per ring index, which it alone writes and the
//! others read. What a rank says and small data with it cross to another core at once, in one line.
//!
//! The ranks go through rounds as with [`counters`](super::counters): in round `r` a rank enters, writes its post of
//! ring index `r % DEPTH`, *says* so, and reads the posts of those that have said their part. Each looks for itself whether
//! the others have, so there is no last rank that does something for all.
//!
//! The words, and who may touch them
//!
//! - `said` of a line: the last round with this ring index in which its rank has written its post. Written by that rank.
//! - the post: written by its rank after it has entered and before it says so, read by the others after that.
//! - `sleepers`: how many ranks are about to sleep or asleep until something is said.
//!
//! The races, and what closes them
//!
//! - *A post overwritten while somebody reads it.* Whoever enters `r` has seen all others say `r + 1 - DEPTH`; they do so
//!   when they have done all their work in the rounds before, reading in `r - DEPTH` included.
//! - *Visibility.* `said` is stored with `Release` after the post, and read with `Acquire` before it.
//! - *A sleeper missed.* A rank counts itself among the sleepers before it looks for the last time; who says something
//!   looks for sleepers afterwards; both have a full barrier between.

use super::counters::{DEPTH, ring};
use weft_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use weft_sync::facade::fence_after_rmw;
use weft_sync::{CachePadded, Place};

/// Up to how many ranks reading each other's lines is less work than counting.
pub const FEW: u32 = 4;

/// A rank's line of one ring index.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Line<P> {
    said: AtomicU64,
    post: P,
}

/// The words of the protocol; see the module's page.
#[derive(Debug)]
pub struct Lines<P> {
    /// By rank and ring index.
    lines: Place<[CachePadded<Line<P>>]>,
    /// Counted while they may sleep.
    pub sleepers: Place<CachePadded<AtomicU32>>,
}

impl<P> Lines<P> {
    /// Creates the lines of so many ranks.
    pub fn new(size: u32, post: impl Fn() -> P) -> Self {
        let line = || CachePadded(Line { said: AtomicU64::new(0), post: post() });
        Self {
            lines: Place::from((0..Self::count(size)).map(|_| line()).collect::<Box<[_]>>()),
            sleepers: Place::from(Box::new(CachePadded(AtomicU32::new(0)))),
        }
    }

    /// Returns the number of lines of so many ranks.
    pub fn count(size: u32) -> usize {
        size as usize * DEPTH
    }

    /// Makes use of lines and a counter that lie elsewhere, in memory that ranks of several processes share.
    pub fn at(lines: &'static [CachePadded<Line<P>>], sleepers: &'static CachePadded<AtomicU32>) -> Self {
        Self { lines: Place::from(lines), sleepers: Place::from(sleepers) }
    }

    #[inline]
    fn line(&self, rank: u32, round: u64) -> &Line<P> {
        &self.lines[rank as usize * DEPTH + ring(round)]
    }

    /// Tells whether any rank has said anything.
    pub fn are_used(&self) -> bool {
        self.lines.iter().any(|line| line.said.load(Ordering::Relaxed) != 0)
    }

    /// Returns a rank's post in a round.
    #[inline]
    pub fn post(&self, rank: u32, round: u64) -> &P {
        &self.line(rank, round).post
    }

    /// Tells whether a rank has said its part of a round.
    #[inline]
    pub fn has_said(&self, rank: u32, round: u64) -> bool {
        self.line(rank, round).said.load(Ordering::Acquire) >= round
    }

    /// Tells whether all ranks but `rank` have.
    #[inline]
    pub fn others_have_said(&self, rank: u32, round: u64) -> bool {
        let size = (self.lines.len() / DEPTH) as u32;
        (0..size).all(|other| other == rank || self.has_said(other, round))
    }

    /// Returns the last round before `round` that all ranks but `rank` are seen to have said, if that is enough for `rank`
    /// to enter `round`.
    pub fn may_enter(&self, rank: u32, round: u64) -> Option<u64> {
        let first = (round + 1).checked_sub(DEPTH as u64).filter(|&first| first > 0);
        let Some(first) = first else { return Some(0) };
        let mut said = (first..round).take_while(|&r| self.others_have_said(rank, r));
        let mut last = said.next()?;
        // One look serves for several rounds if the others are near.
        for round in said {
            last = round;
        }
        Some(last)
    }

    /// Says that the rank has written its post of a round. Returns whether somebody must be woken.
    #[inline]
    pub fn say(&self, rank: u32, round: u64) -> bool {
        // On x86-64 a swap is both the store and the barrier.
        self.line(rank, round).said.swap(round, Ordering::SeqCst);
        fence_after_rmw();
        self.sleepers.load(Ordering::Relaxed) != 0
    }
}
