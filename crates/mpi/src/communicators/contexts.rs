//! Context numbers: given out when a communicator is created, taken back when the last of its ranks has let it go.
//!
//! A number is not used again at once. A message that was sent in a communicator and that nobody ever received (an
//! error of the program, but one that must not hurt its next communicator) may still lie in a queue under the old
//! number, so [`RESTING`] other numbers are given out before. The numbers in use are bounded by that and by the
//! communicators that are alive, however many were created.
//!
//! # Several node processes
//! Each allocates from numbers of its own, so that a number means the same everywhere: blocks of [`NODE_STRIDE`] numbers,
//! dealt out in turn. The first of a block is for the communicator that is created, the others for duplicates of it that
//! ranks begin without a word to each other ([`spare`]). A rank that has let all of a block go, which it does not take up
//! again then because the first cannot be duplicated any more, tells the node process that allocated it; when all ranks
//! have, the block rests as a number does in a single process. `MPI_Comm_free` waits for nobody by that.
//!
//! # Several jobs
//! No process knows which numbers the processes of other jobs use. A communicator that joins processes of several jobs gets
//! one of the numbers from [`FIRST_OF_JOBS`] on, of which none is allocated otherwise: one rank draws it at random, and
//! all ranks [`claim`] it on their node processes. If it is taken on one of them, all let it go, and another one is drawn
//! (`crate::communicators::agreement`). A number comes with [`JOB_STRIDE`]` - 1` more for duplicates, and is free again when the last rank
//! here has let go of it and of these.

use crate::jobs::nodes;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use weft_base::constants::MPI_ERR_OTHER;
use weft_base::{Error, Result};
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

/// What is allocated when all numbers are in use.
const NONE: u32 = WORLD_CONTEXT;

/// Returns how many blocks each of `nodes` node processes can allocate.
fn blocks_of_node(nodes: u32) -> u32 {
    (FIRST_OF_JOBS - FIRST_OF_NODES) / NODE_STRIDE / nodes
}

/// Returns the first number of the `count`th block that node process `node` of `nodes` allocates, one of
/// [`blocks_of_node`].
fn number_of_node(count: u32, node: u32, nodes: u32) -> u32 {
    FIRST_OF_NODES + (count * nodes + node) * NODE_STRIDE
}

/// Returns the first number of a number's block, if it is in one.
fn block_of(number: u32) -> Option<u32> {
    (FIRST_OF_NODES..FIRST_OF_JOBS).contains(&number).then_some(number - number % NODE_STRIDE)
}

/// Returns which of `nodes` node processes has allocated a block.
fn owner_of(block: u32, nodes: u32) -> u32 {
    (block - FIRST_OF_NODES) / NODE_STRIDE % nodes
}

/// Passes a number on that one rank has allocated for all of a communicator.
///
/// # Errors
/// `MPI_ERR_OTHER` if there was none.
pub(crate) fn usable(number: u32) -> Result<u32> {
    if number != NONE {
        return Ok(number);
    }
    let text = "no context number is left for another communicator; free communicators that are not needed any more, on all \
                their ranks";
    Err(Error::new(MPI_ERR_OTHER, text))
}

/// The blocks of a node process.
#[derive(Default)]
struct Blocks {
    /// How many were ever given out.
    created: u32,
    /// Of those that are in use: how many ranks have not let go.
    users: HashMap<u32, u32>,
    /// Blocks that came back, the oldest first.
    resting: VecDeque<u32>,
    /// By block, of whatever node process, and rank of this one: how many of the numbers the rank holds.
    held: HashMap<(u32, u32), u32>,
}

impl Blocks {
    /// Gives a block out to so many ranks, of at most `most` for each node process.
    fn allocate(&mut self, ranks: u32, node: u32, nodes: u32, most: u32) -> u32 {
        let is_rested = self.resting.len() > RESTING.min(most as usize / 2);
        let block = if is_rested || self.created == most {
            let Some(block) = self.resting.pop_front() else { return NONE };
            block
        } else {
            self.created += 1;
            number_of_node(self.created - 1, node, nodes)
        };
        self.users.insert(block, ranks);
        block
    }

    fn hold(&mut self, block: u32, rank: u32) {
        *self.held.entry((block, rank)).or_default() += 1;
    }

    /// Lets one number go. Returns whether the rank has no other of the block.
    fn let_go(&mut self, block: u32, rank: u32) -> bool {
        let Entry::Occupied(mut held) = self.held.entry((block, rank)) else { return false };
        *held.get_mut() -= 1;
        let is_last = *held.get() == 0;
        if is_last {
            held.remove();
        }
        is_last
    }

    /// Notes that a rank has let all of a block go.
    fn come_back(&mut self, block: u32) {
        let Entry::Occupied(mut users) = self.users.entry(block) else { return };
        *users.get_mut() -= 1;
        if *users.get() == 0 {
            users.remove();
            self.resting.push_back(block);
        }
    }
}

static BLOCKS: Lock<Option<Blocks>> = Lock::new(None);

/// Notes that a rank somewhere has let all of a block go that this node process has allocated.
pub(crate) fn come_back(block: u64) {
    if let (Ok(block), Some(blocks)) = (u32::try_from(block), BLOCKS.lock().as_mut()) {
        blocks.come_back(block);
    }
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

/// Gives out a number that `holders` ranks will [`hold`](Held::new), or one that is not [`usable`].
pub(crate) fn allocate(holders: u32) -> u32 {
    let Some((node, nodes)) = nodes::own_place() else {
        return NUMBERS.lock().get_or_insert_default().allocate(holders);
    };
    BLOCKS.lock().get_or_insert_default().allocate(holders, node, nodes, blocks_of_node(nodes))
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
    if let Some(numbers) = NUMBERS.lock().as_mut() {
        numbers.release(number);
    }
}

/// Returns the block of a number, if there are several node processes, and which of them has allocated it.
fn block_and_owner(number: u32) -> Option<(u32, u32)> {
    let (_, nodes) = nodes::own_place()?;
    let block = block_of(number)?;
    Some((block, owner_of(block, nodes)))
}

/// One rank's hold on a number.
#[derive(Debug)]
pub(crate) struct Held {
    context: u32,
    rank: u32,
}

impl Held {
    /// Takes one of the holds that the number was allocated with, for a rank of the job.
    pub fn new(context: u32, rank: u32) -> Self {
        if let Some((block, _)) = block_and_owner(context) {
            BLOCKS.lock().get_or_insert_default().hold(block, rank);
        } else if let Some(numbers) = NUMBERS.lock().as_mut().filter(|_| context >= FIRST_OF_JOBS) {
            numbers.hold(context);
        }
        Self { context, rank }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some((block, owner)) = block_and_owner(self.context) else { return let_go(self.context) };
        let is_last = BLOCKS.lock().as_mut().is_some_and(|blocks| blocks.let_go(block, self.rank));
        if is_last {
            nodes::note(owner, block.into());
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
    fn blocks_are_used_again_when_all_ranks_have_let_all_of_them_go() {
        let (most, mut blocks) = (10, Blocks::default());
        let first = blocks.allocate(2, 1, 3, most);
        assert_eq!((owner_of(first, 3), block_of(first + 15)), (1, Some(first)));
        for rank in [4, 5] {
            blocks.hold(first, rank);
        }
        // A duplicate of one rank, which the other is late to begin.
        blocks.hold(first, 4);
        assert!(!blocks.let_go(first, 4));
        assert!(blocks.let_go(first, 4));
        blocks.come_back(first);
        assert!(blocks.resting.is_empty());
        assert!(blocks.let_go(first, 5) && !blocks.let_go(first, 5));
        blocks.come_back(first);
        assert_eq!(blocks.resting, [first]);
        assert!(blocks.held.is_empty() && blocks.users.is_empty());
        // It rests as long as there are others.
        let others: Vec<u32> = (1..most).map(|_| blocks.allocate(1, 1, 3, most)).collect();
        assert!(others.iter().all(|&other| other != first && other != NONE));
        assert_eq!(blocks.allocate(1, 1, 3, most), first);
        assert_eq!(usable(blocks.allocate(1, 1, 3, most)).map_err(|error| error.class), Err(MPI_ERR_OTHER));
        blocks.come_back(others[3]);
        assert_eq!(usable(blocks.allocate(1, 1, 3, most)).ok(), Some(others[3]));
    }

    #[test]
    fn numbers_do_not_run_out_while_few_are_in_use() {
        for nodes in [2, 128, 1024, 40_000] {
            let (most, mut blocks, mut highest) = (blocks_of_node(nodes), Blocks::default(), 0);
            for _ in 0..3 * RESTING {
                let block = blocks.allocate(1, nodes - 1, nodes, most);
                assert_ne!(block, NONE);
                highest = highest.max(block);
                blocks.come_back(block);
            }
            assert!(highest < FIRST_OF_JOBS && blocks.created <= RESTING as u32 + 1);
        }
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
