//! Context numbers: given out when a communicator is created, taken back when the last of its ranks has let it go.
//!
//! A number is not used again at once. A message that was sent in a communicator and that nobody ever received (an
//! error of the program, but one that must not hurt its next communicator) may still lie in a queue under the old
//! number, so [`RESTING`] other numbers are given out before. The numbers in use are bounded by that and by the
//! communicators that are alive, however many were created.

use std::collections::{HashMap, VecDeque};
use weft_comm::FIRST_FREE_CONTEXT;
use weft_sync::Lock;

/// How many numbers that came back wait before the oldest of them is used again.
const RESTING: usize = 1 << 16;

#[derive(Default)]
struct Numbers {
    /// Numbers that were ever given out.
    created: u32,
    /// How many ranks hold a number.
    holders: HashMap<u32, u32>,
    /// Numbers that came back, the oldest first.
    resting: VecDeque<u32>,
}

impl Numbers {
    fn allocate(&mut self, holders: u32) -> u32 {
        let rested = self.resting.len() > RESTING;
        let number = rested.then(|| self.resting.pop_front()).flatten().unwrap_or_else(|| {
            self.created += 1;
            FIRST_FREE_CONTEXT + self.created - 1
        });
        self.holders.insert(number, holders);
        number
    }

    fn release(&mut self, number: u32) {
        let Some(holders) = self.holders.get_mut(&number) else { return };
        *holders -= 1;
        if *holders == 0 {
            self.holders.remove(&number);
            self.resting.push_back(number);
        }
    }
}

static NUMBERS: Lock<Option<Numbers>> = Lock::new(None);

/// Gives out a number that `holders` ranks will [`hold`](Held::new).
pub(crate) fn allocate(holders: u32) -> u32 {
    NUMBERS.lock().get_or_insert_default().allocate(holders)
}

/// One rank's hold on a number.
#[derive(Debug)]
pub(crate) struct Held(u32);

impl Held {
    /// Takes one of the holds that the number was allocated with.
    pub fn new(context: u32) -> Self {
        Self(context)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(numbers) = NUMBERS.lock().as_mut() {
            numbers.release(self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_use_are_bounded_and_never_shared() {
        let mut numbers = Numbers::default();
        let mut alive = VecDeque::new();
        for round in 0..1_000_000 {
            let number = numbers.allocate(2);
            assert!(number >= FIRST_FREE_CONTEXT && numbers.holders[&number] == 2);
            alive.push_back(number);
            if round >= 100 {
                let oldest = alive.pop_front().expect("a hundred are alive");
                numbers.release(oldest);
                assert_eq!(numbers.holders[&oldest], 1);
                numbers.release(oldest);
            }
        }
        assert_eq!(numbers.holders.len(), alive.len());
        assert!(numbers.created as usize <= RESTING + 102);
    }

    #[test]
    fn a_number_rests_before_it_is_used_again() {
        let mut numbers = Numbers::default();
        let first = numbers.allocate(1);
        numbers.release(first);
        for _ in 0..RESTING {
            let other = numbers.allocate(1);
            assert_ne!(other, first);
            numbers.release(other);
        }
        assert_eq!(numbers.allocate(1), first);
        // Predefined numbers are nobody's.
        numbers.release(0);
        assert!(!numbers.resting.contains(&0));
    }
}
