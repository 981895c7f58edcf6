//! Context numbers: given out when a communicator is created, taken back when the last of its ranks has let it go.
//!
//! A number is not used again at once. A message that was sent in a communicator and that nobody ever received (an
//! error of the program, but one that must not hurt its next communicator) may still lie in a queue under the old
//! number, so [`RESTING`] other numbers are given out before. The numbers in use are bounded by that and by the
//! communicators that are alive, however many were created.
//!
//! # Several node processes
//! Each allocates from numbers of its own, so that a number means the same everywhere: [`NODE_STRIDE`] times the node
//! process's number and the next one. They are not used again: nobody knows when ranks elsewhere have let one go. The
//! numbers between two allocated ones are for duplicates that ranks begin without a word to each other ([`spare`]).
//!
//! # Several jobs
//! No process knows which numbers the processes of other jobs use. A communicator that joins processes of several jobs gets
//! one of the numbers from [`FIRST_OF_JOBS`] on, of which none is allocated otherwise: one rank draws it at random, and
//! all ranks [`claim`] it on their node processes. If it is taken on one of them, all let it go, and another one is drawn
//! (`crate::agreement`). A number comes with [`JOB_STRIDE`]` - 1` more for duplicates, and is free again when the last rank
//! here has let go of it and of these.

use crate::nodes;
use std::collections::{HashMap, VecDeque};
use weft_comm::{FIRST_FREE_CONTEXT, WORLD_CONTEXT};
use weft_sync::Lock;

/// How many numbers that came back wait before the oldest of them is used again.
const RESTING: usize = 1 << 16;

/// Where numbers that are allocated begin in a job of several node processes; those below are for duplicates of
/// `MPI_COMM_WORLD`.
const FIRST_OF_NODES: u32 = 1 << 16;

/// How far numbers that are allocated are apart in such a job.
const NODE_STRIDE: u32 = 16;

/// Where the numbers of communicators begin that join processes of several jobs.
const FIRST_OF_JOBS: u32 = 1 << 29;

/// How far those are apart.
const JOB_STRIDE: u32 = 1024;

/// Messages use twice the number, and one more; those above are for partitioned operations.
const END: u32 = 1 << 30;

/// Returns the context number of duplicate `number` of a communicator, if it has one that needs no agreement.
pub(crate) fn spare(context: u32, number: u64) -> Option<u32> {
    let number = u32::try_from(number).ok()?;
    if context == WORLD_CONTEXT {
        return (number < FIRST_OF_NODES - FIRST_FREE_CONTEXT).then(|| FIRST_FREE_CONTEXT + number);
    }
    let stride = if context < FIRST_OF_JOBS { NODE_STRIDE } else { JOB_STRIDE };
    let has_some = context >= FIRST_OF_NODES && context.is_multiple_of(stride);
    (has_some && number < stride - 1).then(|| context + 1 + number)
}

/// Returns the `count`th number that node process `node` of `nodes` allocates.
///
/// # Panics
/// When all numbers are used up: a job on 4 node processes can make 8 million communicators on each.
fn number_of_node(count: u32, node: u32, nodes: u32) -> u32 {
    let number = (u64::from(count) * u64::from(nodes) + u64::from(node)) * u64::from(NODE_STRIDE);
    let number = u64::from(FIRST_OF_NODES) + number;
    assert!(
        number < FIRST_OF_JOBS.into(),
        "all context numbers are used up: too many communicators have been made"
    );
    number as u32
}

#[derive(Default)]
struct Numbers {
    /// Numbers that were ever given out.
    created: u32,
    /// How many ranks hold a number.
    holders: HashMap<u32, u32>,
    /// Numbers that came back, the oldest first.
    resting: VecDeque<u32>,
    /// Numbers of communicators of several jobs: which agreement each is from, and how often it is held here.
    claimed: HashMap<u32, (u64, u32)>,
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

    fn claim(&mut self, number: u32, agreement: u64) -> bool {
        let (of, holds) = self.claimed.entry(number).or_insert((agreement, 0));
        *holds += u32::from(*of == agreement);
        *of == agreement
    }

    fn hold(&mut self, number: u32) {
        // The number itself was claimed; its duplicates hold it once more each.
        if number >= FIRST_OF_JOBS
            && !number.is_multiple_of(JOB_STRIDE)
            && let Some((_, holds)) = self.claimed.get_mut(&(number - number % JOB_STRIDE))
        {
            *holds += 1;
        }
    }

    fn unclaim(&mut self, number: u32) {
        let number = number - number % JOB_STRIDE;
        let Some((_, holds)) = self.claimed.get_mut(&number) else { return };
        *holds -= 1;
        if *holds == 0 {
            self.claimed.remove(&number);
        }
    }

    fn release(&mut self, number: u32) {
        if number >= FIRST_OF_JOBS {
            return self.unclaim(number);
        }
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
    let mut numbers = NUMBERS.lock();
    let numbers = numbers.get_or_insert_default();
    let Some((node, nodes)) = nodes::own_place() else { return numbers.allocate(holders) };
    numbers.created += 1;
    number_of_node(numbers.created - 1, node, nodes)
}

/// Draws a number for a communicator of several jobs, and one for the agreement on it.
pub(crate) fn draw() -> (u32, u64) {
    let random = u128::from_ne_bytes(weft_sys::local_socket::random().unwrap_or_default());
    let blocks = (END - FIRST_OF_JOBS) / JOB_STRIDE;
    (FIRST_OF_JOBS + (random as u32 % blocks) * JOB_STRIDE, (random >> 64) as u64)
}

/// Claims a number for a rank of this process, unless another agreement has. A rank that has claimed it makes a
/// communicator with it, or lets it go with [`let_go`].
pub(crate) fn claim(number: u32, agreement: u64) -> bool {
    NUMBERS.lock().get_or_insert_default().claim(number, agreement)
}

/// Takes back a claim.
pub(crate) fn let_go(number: u32) {
    drop(Held(number));
}

/// One rank's hold on a number.
#[derive(Debug)]
pub(crate) struct Held(u32);

impl Held {
    /// Takes one of the holds that the number was allocated with.
    pub fn new(context: u32) -> Self {
        if let Some(numbers) = NUMBERS.lock().as_mut().filter(|_| context >= FIRST_OF_JOBS) {
            numbers.hold(context);
        }
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
    use std::collections::HashSet;

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
    fn node_processes_and_duplicates_never_share_a_number() {
        let mut seen = HashSet::new();
        for nodes in 1..5 {
            seen.clear();
            for duplicate in 0..70_000 {
                seen.extend(spare(WORLD_CONTEXT, duplicate));
            }
            assert_eq!(seen.len() as u32, FIRST_OF_NODES - FIRST_FREE_CONTEXT);
            let mut expected = seen.len();
            for (count, node) in (0..50).flat_map(|count| (0..nodes).map(move |node| (count, node))) {
                let number = number_of_node(count, node, nodes);
                seen.insert(number);
                seen.extend((0..20).filter_map(|duplicate| spare(number, duplicate)));
                expected += NODE_STRIDE as usize;
                assert!((0..20).all(|duplicate| spare(number + 1, duplicate).is_none()));
            }
            assert_eq!(seen.len(), expected);
        }
        assert!(!seen.contains(&0) && !seen.contains(&1));
    }

    #[test]
    fn a_claimed_number_is_free_again_when_all_have_let_it_go() {
        let mut numbers = Numbers::default();
        let (number, agreement) = draw();
        assert!((FIRST_OF_JOBS..END).contains(&number) && number.is_multiple_of(JOB_STRIDE));
        assert!(numbers.claim(number, agreement) && numbers.claim(number, agreement));
        assert!(!numbers.claim(number, agreement ^ 1));
        // A duplicate outlives the communicator itself.
        let duplicate = spare(number, 0).unwrap();
        assert_eq!(spare(number, u64::from(JOB_STRIDE) - 1), None);
        assert_eq!(spare(duplicate, 0), None);
        numbers.hold(duplicate);
        numbers.release(number);
        numbers.release(number);
        assert!(!numbers.claim(number, agreement ^ 1));
        numbers.release(duplicate);
        assert!(numbers.claim(number, agreement ^ 1));
        assert_ne!(draw().1, draw().1);
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
