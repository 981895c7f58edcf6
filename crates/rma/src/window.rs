//! A rank's view of a window.

use crate::epoch::Epochs;
use crate::mapped::Station;
use crate::shared::{Control, Segment, Shared};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use weft_base::Result;
use weft_sync::{Lock, LockGuard};
use weft_transport::Node;

/// A window as one rank sees it.
pub struct Window {
    shared: Arc<Shared>,
    /// The rank in the window.
    pub(crate) rank: u32,
    /// Whether memory is attached, and displacements are addresses.
    pub(crate) is_dynamic: bool,
    epochs: Lock<Epochs>,
    /// What operations may be directed at ([`crate::epoch::Summary`]).
    pub(crate) summary: AtomicU64,
    /// The ranks of a group that a start waits for.
    pub(crate) missing: Lock<Vec<u32>>,
    /// The ranks of other processes whose memory this one sees and where nothing has to be asked for before operations, until the
    /// rank locks or unlocks all ([`Segment::bit`]).
    pub(crate) reached: AtomicU64,
    /// Whether the rank has written into others' memory since the last flush.
    pub(crate) has_written: AtomicBool,
    /// How many flushes there were, more or less.
    pub(crate) flushes: AtomicU32,
}

/// A rank that an operation is directed at.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    /// Its memory is this process's.
    Here(&'a Segment, &'a Control),
    /// It is in another process, and this one sees its memory, too.
    Mapped(&'a Segment, Node, &'a Station),
    /// It is in another process, where its memory lies so.
    Elsewhere(&'a Segment, Node),
}

impl Window {
    /// Creates a rank's view of a window.
    pub fn new(shared: Arc<Shared>, rank: u32, is_dynamic: bool) -> Self {
        Self {
            shared,
            rank,
            is_dynamic,
            epochs: Lock::default(),
            summary: AtomicU64::new(0),
            missing: Lock::default(),
            reached: AtomicU64::new(0),
            has_written: AtomicBool::new(false),
            flushes: AtomicU32::new(0),
        }
    }

    /// Returns what the ranks of this process share of the window.
    #[inline]
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Finds a rank.
    #[inline]
    pub fn target(&self, rank: u32) -> Target<'_> {
        let segment = self.shared.segment(rank);
        if let Some(control) = self.shared.control(segment) {
            return Target::Here(segment, control);
        }
        let node = segment.node().unwrap_or(0);
        match self.shared.mapped_station(segment) {
            Some(station) => Target::Mapped(segment, node, station),
            None => Target::Elsewhere(segment, node),
        }
    }

    pub(crate) fn own(&self) -> &Control {
        match self.target(self.rank) {
            Target::Here(_, control) => control,
            _ => unreachable!("a rank is in its own process"),
        }
    }

    /// Changes the rank's epochs.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Epochs) -> Result<T>) -> Result<T> {
        let mut epochs = self.epochs.lock();
        let result = change(&mut epochs);
        self.summary.store(epochs.summary().word(), Ordering::Release);
        result
    }

    pub(crate) fn epochs(&self) -> LockGuard<'_, Epochs> {
        self.epochs.lock()
    }
}
