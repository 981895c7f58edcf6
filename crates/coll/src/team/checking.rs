//! Checking mode: ranks look at each other's arguments when they come to an operation, and wait for nobody.
//!
//! The collective calls of a communicator are in the same order at all its ranks, whether they wait or not, so a rank's
//! nth call belongs to the others' nth calls. Ranks of one process show theirs on a [`Board`]. Where a communicator has several
//! processes all of them show theirs on that of the process of its first member, the others in messages (`hier::shown`).

use crate::team::Team;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a rank shows.
pub trait Shown: Any + Send + Sync {
    /// Looks at what other ranks show that have come to the call before, in the order in which they came.
    fn look_at(&self, earlier: &[Arc<dyn Shown>]);

    /// Writes it for another process.
    fn write(&self) -> Vec<u8>;
}

/// One call: the ranks that have come to it.
type Call = Vec<(u32, Arc<dyn Shown>)>;

/// A communicator, and the number of a call.
type Number = ((u32, u32), u64);

/// What ranks have shown of calls that not all have come to, by communicator and the calls' numbers. The number of a
/// communicator is used again when it is freed, but nobody shows a call of the next one before the same call of this one: so
/// there may be several of one number, and what a rank shows belongs to the first in which it is missing.
#[derive(Default)]
pub(crate) struct Board(Mutex<BTreeMap<Number, Vec<Call>>>);

/// How many calls are remembered to which not all come. Only ranks of another job, which may not check, never do.
const REMEMBERED: usize = 1 << 16;

/// Counts the calls of one rank.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Board {
    /// Shows what call `number` of member `rank` of `population` is; returns what was shown of it before.
    pub fn show(
        &self,
        team: (u32, u32),
        number: u64,
        rank: u32,
        population: u32,
        mine: Arc<dyn Shown>,
    ) -> Vec<Arc<dyn Shown>> {
        let mut board = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = board.entry((team, number)).or_default();
        let missing = |call: &Call| call.iter().all(|(member, _)| *member != rank);
        let place = calls.iter().position(missing).unwrap_or_else(|| {
            calls.push(Vec::new());
            calls.len() - 1
        });
        let earlier = calls[place].iter().map(|(_, shown)| shown.clone()).collect();
        calls[place].push((rank, mine));
        if calls[place].len() == population as usize {
            calls.remove(place);
        }
        if calls.is_empty() {
            board.remove(&(team, number));
        } else if board.len() > REMEMBERED {
            board.pop_first();
        }
        earlier
    }
}

impl Team {
    /// Shows what the rank's next call is, and has it look at what the ranks show that have come to it already.
    pub fn show(&self, mine: Arc<dyn Shown>) {
        if self.size() == 1 {
            return;
        }
        let number = self.shown.0.fetch_add(1, Ordering::Relaxed);
        match self.spread() {
            Some(spread) => spread.show(number, self.rank(), self.size(), mine),
            None => {
                let board = &self.shared().shown;
                mine.look_at(&board.show((0, 0), number, self.rank(), self.size(), mine.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Word(u32);

    impl Shown for Word {
        fn look_at(&self, _: &[Arc<dyn Shown>]) {}

        fn write(&self) -> Vec<u8> {
            Vec::new()
        }
    }

    fn show(board: &Board, number: u64, rank: u32, word: u32) -> Vec<u32> {
        let earlier = board.show((5, 7), number, rank, 3, Arc::new(Word(word)));
        earlier.iter().map(|one| (&**one as &dyn Any).downcast_ref::<Word>().expect("a word").0).collect()
    }

    #[test]
    fn a_call_is_forgotten_when_all_have_come_and_a_number_used_again_is_another_call() {
        let board = Board::default();
        assert_eq!(show(&board, 0, 2, 20), []);
        assert_eq!(show(&board, 1, 2, 21), []);
        assert_eq!(show(&board, 0, 0, 1), [20]);
        // Rank 0 is in the next communicator of this number already.
        assert_eq!(show(&board, 0, 0, 100), []);
        assert_eq!(show(&board, 0, 1, 10), [20, 1]);
        assert_eq!(show(&board, 0, 1, 110), [100]);
        assert_eq!(show(&board, 0, 2, 120), [100, 110]);
        assert_eq!(show(&board, 1, 0, 2), [21]);
        assert_eq!(show(&board, 1, 1, 11), [21, 2]);
        assert!(board.0.lock().expect("no panic").is_empty());
    }

    #[test]
    fn calls_to_which_others_never_come_do_not_pile_up() {
        let board = Board::default();
        (0..2 * REMEMBERED as u64).for_each(|number| _ = show(&board, number, 0, 0));
        assert_eq!(board.0.lock().expect("no panic").len(), REMEMBERED);
    }
}
