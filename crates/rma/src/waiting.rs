//! What a rank waits for that waits for ever, for reports. Nothing changes meanwhile.

use crate::gate::Way;
use crate::window::{Target, Window};
use std::sync::atomic::Ordering;

/// Who has locked a rank's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// This rank of the window, exclusively.
    One(u32),
    /// Ranks that share the lock.
    Shared,
}

impl Window {
    /// Returns who has locked the memory of a rank, if that is seen here.
    pub fn holder(&self, rank: u32) -> Option<Holder> {
        let station = match self.target(rank) {
            Target::Here(segment, control) => self.shared().station(segment, control),
            Target::Mapped(_, _, station) => station,
            Target::Elsewhere(..) => return None,
        };
        match station.latch.held()? {
            Way::Alone => Some(Holder::One(station.holder.load(Ordering::Relaxed))),
            Way::Shared => Some(Holder::Shared),
        }
    }

    /// Tells whether ranks have locked the memory of all.
    pub fn is_locked_as_a_whole(&self) -> bool {
        self.shared().everything().1.held() == Some(Way::Shared)
    }

    /// Returns those of the ranks of the started group that have not exposed their memory to this one.
    pub fn missing_posts(&self) -> Vec<u32> {
        self.missing.lock().clone()
    }

    /// Returns how many origins have not completed, and how many there are, of those to which memory is exposed.
    pub fn missing_completions(&self) -> (u64, u64) {
        let origins = self.epochs().exposed().unwrap_or(0);
        (origins.saturating_sub(self.own().exposure.completions()), origins)
    }
}
