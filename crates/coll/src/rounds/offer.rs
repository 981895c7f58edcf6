//! Data that a root lends to its readers: they copy it from the root's own buffer, or, when they are late, from a copy
//! that the root has put aside. So a late reader delays nobody.
//!
//! The word, and who changes it
//!
//! - bits 0 to 23: how many readers are reading the root's buffer. A reader adds itself, unless `ASIDE` is set, and takes
//!   itself away when it has read.
//! - bits 24 to 47: how many readers have read, wherever.
//! - `ASIDE`: set once, by the root, when its copy is in place. From then on nobody begins to read the root's buffer.
//!
//! The races, and what closes them
//!
//! - *A reader begins while the root gives up waiting.* Both change the one word. Either the reader sees `ASIDE` and reads
//!   the copy, or the root sees the reader and waits for it.
//! - *Who frees the copy.* Whoever makes the word say that all have read and `ASIDE` is set: the last reader, or the root if
//!   all had read before it set the bit. There is exactly one such change.
//! - *Visibility.* The copy is written before `ASIDE` is set with `Release`, which readers see with `Acquire`; they take
//!   themselves away with `Release`, which the root sees with `Acquire` before it lets go of its buffer.
//! - *The next use of the word.* The root opens it again some rounds later, when all readers have arrived in a round that
//!   follows (see `counters`), that is, when none touches it any more.

use weft_sync::atomic::{AtomicU64, Ordering};

const READING: u64 = 1;
const DONE: u64 = 1 << 24;
const COUNT: u64 = DONE - 1;
const ASIDE: u64 = 1 << 63;

/// Where a reader finds the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the root's buffer.
    Buffer,
    /// In the copy.
    Aside,
}

/// What follows from the end of a reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The root may wait for this and must be woken.
    pub wakes: bool,
    /// Nobody needs the copy any more: the caller frees it.
    pub frees: bool,
}

/// The state of a loan; see the module's page.
#[derive(Debug)]
pub struct Offer(AtomicU64);

impl Default for Offer {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

fn all_have_read(word: u64, readers: u32) -> bool {
    (word / DONE) & COUNT == u64::from(readers)
}

impl Offer {
    /// Begins a loan. The root does so before it publishes its data.
    pub fn open(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Begins a reading: tells where.
    pub fn begin(&self) -> Place {
        let mut word = self.0.load(Ordering::Acquire);
        while word & ASIDE == 0 {
            match self.0.compare_exchange_weak(word, word + READING, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Place::Buffer,
                Err(seen) => word = seen,
            }
        }
        Place::Aside
    }

    /// Ends the reading of one of `readers`.
    pub fn end(&self, place: Place, readers: u32) -> Ended {
        let change = if place == Place::Buffer { DONE - READING } else { DONE };
        let word = self.0.fetch_add(change, Ordering::AcqRel) + change;
        let (is_aside, all) = (word & ASIDE != 0, all_have_read(word, readers));
        Ended {
            wakes: place == Place::Buffer && (all || (is_aside && word & COUNT == 0)),
            frees: is_aside && all,
        }
    }

    /// Sends whoever begins to read from now on to the copy, which is in place. Returns whether nobody will: the root frees
    /// the copy.
    pub fn set_aside(&self, readers: u32) -> bool {
        all_have_read(self.0.fetch_or(ASIDE, Ordering::AcqRel), readers)
    }

    /// Tells the root whether nobody reads its buffer any more.
    pub fn is_over(&self, readers: u32) -> bool {
        let word = self.0.load(Ordering::Acquire);
        all_have_read(word, readers) || (word & ASIDE != 0 && word & COUNT == 0)
    }

    /// Returns a value that changes with every begin and end, and whether somebody is reading the root's buffer.
    pub fn progress(&self) -> (u64, bool) {
        let word = self.0.load(Ordering::Relaxed);
        (word, word & COUNT != 0)
    }
}
