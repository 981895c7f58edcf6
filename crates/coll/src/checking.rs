//! Checking mode: ranks look at each other's arguments when they come to an operation, and wait for nobody.
//!
//! The collective calls of a communicator are in the same order at all its ranks, whether they wait or not, so a rank's
//! nth call belongs to the others' nth calls.

use crate::team::Team;
use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a rank shows.
type Shown = Arc<dyn Any + Send + Sync>;

/// What ranks have shown of calls that not all have come to, by the calls' numbers.
#[derive(Default)]
pub(crate) struct Board(Mutex<HashMap<u64, Vec<(u32, Shown)>>>);

/// Counts the calls of one rank.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Team {
    /// Shows what the rank's next call is, and calls `look` with what the ranks show that have come to it already, in
    /// the order in which they came.
    pub fn show<F: Send + Sync + 'static>(&self, mine: &Arc<F>, mut look: impl FnMut(u32, &F)) {
        if self.size() == 1 {
            return;
        }
        let number = self.shown.0.fetch_add(1, Ordering::Relaxed);
        let others = {
            // Ranks of other node processes show nothing here.
            let (board, population) = match self.spread() {
                Some(spread) => (&spread.shown, spread.population()),
                None => (&self.shared().shown, self.size() as usize),
            };
            let mut board = board.0.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = board.entry(number).or_default();
            let others = entry.clone();
            entry.push((self.rank(), mine.clone()));
            if entry.len() == population {
                board.remove(&number);
            }
            others
        };
        for (rank, other) in &others {
            if let Some(other) = other.downcast_ref() {
                look(*rank, other);
            }
        }
    }
}
