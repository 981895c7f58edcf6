//! A queue of 64-byte slots with many producers and one consumer, which survives producers that die at any moment.
//!
//! Each slot has a word: the *lap* for which it is in use and its state there, who claimed it, and a mark.
//!
//! | state | means | who may change it |
//! | --- | --- | --- |
//! | `FREE` | to be claimed for this lap | any producer → `CLAIMED`, with its number |
//! | `CLAIMED` | being filled | that producer → `READY`; the consumer → `FREE` of the next lap, if that producer is dead |
//! | `READY` | a message | the consumer → `FREE` of the next lap |
//!
//! `tail` only says where to try: a producer claims by changing the slot's word, and whoever finds a slot claimed moves
//! `tail` on. So a claim always names its producer, and no death leaves a slot that nobody can account for.
//!
//! All zero is an empty mailbox, and nothing in it is an address, so it may lie in memory that processes share.
//!
//! Races closed: the payload is written between the claim and the store of `READY` (release) and read after that was
//! seen (acquire); it is claimed again only after the consumer's store of `FREE` (release, acquire). Two producers never
//! claim one slot for one lap, because a lap's `FREE` is stored once and claimed by compare-and-swap.
#![allow(unsafe_code)] // Slots are shared cells; their words say whose they are.

use crate::CachePadded;
use crate::facade::{
    UnsafeCell,
    atomic::{AtomicU64, Ordering},
};
use crate::ring::Payload;

const FREE: u64 = 0;
const CLAIMED: u64 = 1;
const READY: u64 = 2;

#[repr(C, align(64))]
struct Slot {
    /// From the lowest bit: state (2), lap (26), producer (12), mark (24).
    word: AtomicU64,
    payload: UnsafeCell<Payload>,
}

/// Where the producer begins in a word; below it are state and lap, the ticket.
const PRODUCER: u32 = 28;
/// Where the mark begins.
const MARK: u32 = 40;
/// How many producers there may be.
pub const PRODUCERS: u16 = 1 << (MARK - PRODUCER);
const TICKET: u64 = (1 << PRODUCER) - 1;

fn ticket(lap: u64, state: u64) -> u64 {
    (lap << 2 | state) & TICKET
}

/// What is next in a mailbox.
#[derive(Debug)]
pub enum Next<'a> {
    /// Nothing.
    Nothing,
    /// A slot that its producer has not filled yet.
    Unfinished {
        /// The producer's number.
        producer: u16,
    },
    /// A message; it stays until [`Mailbox::pop`].
    Message {
        /// The producer's number.
        producer: u16,
        /// The mark it came with.
        mark: u32,
        /// Its content.
        payload: &'a Payload,
    },
}

/// A mailbox of `N` slots; `N` is a power of two. See the module's page.
#[repr(C)]
pub struct Mailbox<const N: usize> {
    tail: CachePadded<AtomicU64>,
    /// Written by the consumer.
    head: CachePadded<AtomicU64>,
    slots: [Slot; N],
}

// SAFETY: the words of the slots make the accesses to payloads exclusive; the consumer's functions are unsafe to call.
unsafe impl<const N: usize> Send for Mailbox<N> {}
// SAFETY: senders write a slot only after they have claimed it by its word.
unsafe impl<const N: usize> Sync for Mailbox<N> {}

impl<const N: usize> Default for Mailbox<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Mailbox<N> {
    const SHIFT: u32 = N.trailing_zeros();

    /// Creates an empty mailbox.
    pub fn new() -> Self {
        const { assert!(N.is_power_of_two()) };
        Self {
            tail: CachePadded(AtomicU64::new(0)),
            head: CachePadded(AtomicU64::new(0)),
            slots: core::array::from_fn(|_| Slot {
                word: AtomicU64::new(0),
                payload: UnsafeCell::new(Payload::default()),
            }),
        }
    }

    /// Adds a message: lets `fill` write a payload (all of it, or the rest is unspecified) and publishes it. Returns
    /// false, without calling `fill`, if there is no room. The producer's number is below [`PRODUCERS`], the mark below 2^24.
    #[inline]
    pub fn push(&self, producer: u16, mark: u32, fill: impl FnOnce(&mut Payload)) -> bool {
        debug_assert!(producer < PRODUCERS && mark < 1 << 24);
        let Some((slot, lap)) = self.claim(producer) else { return false };
        // SAFETY: the claim makes the payload the caller's until the store below.
        slot.payload.with_mut(|payload| fill(unsafe { &mut *payload }));
        let word = ticket(lap, READY) | u64::from(producer) << PRODUCER | u64::from(mark) << MARK;
        slot.word.store(word, Ordering::Release);
        true
    }

    fn claim(&self, producer: u16) -> Option<(&Slot, u64)> {
        let mut at = self.tail.load(Ordering::Relaxed);
        loop {
            let (slot, lap) = (&self.slots[at as usize % N], at >> Self::SHIFT);
            let seen = slot.word.load(Ordering::Acquire) & TICKET;
            if seen == ticket(lap, FREE) {
                let claimed = ticket(lap, CLAIMED) | u64::from(producer) << PRODUCER;
                // The word holds nothing but the ticket while it is free.
                let done = slot.word.compare_exchange(seen, claimed, Ordering::AcqRel, Ordering::Acquire);
                if done.is_ok() {
                    let _ = self.tail.compare_exchange(at, at + 1, Ordering::Relaxed, Ordering::Relaxed);
                    return Some((slot, lap));
                }
            } else if seen == ticket(lap.wrapping_sub(1), CLAIMED)
                || seen == ticket(lap.wrapping_sub(1), READY)
            {
                return None;
            }
            // Claimed for this lap already, or even done with: the tail is behind.
            match self.tail.compare_exchange(at, at + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => at += 1,
                Err(now) => at = now,
            }
        }
    }

    /// Tells whether something is there. Open to all; a hint to those who are not the consumer.
    #[inline]
    pub fn is_ready(&self) -> bool {
        let at = self.head.load(Ordering::Relaxed);
        let word = self.slots[at as usize % N].word.load(Ordering::Acquire);
        word & TICKET == ticket(at >> Self::SHIFT, READY)
    }

    /// Returns what is next.
    ///
    /// # Safety
    /// The caller has the consumer's role, and keeps it until it has let go of the payload.
    #[inline]
    pub unsafe fn peek(&self) -> Next<'_> {
        let at = self.head.load(Ordering::Relaxed);
        let slot = &self.slots[at as usize % N];
        let word = slot.word.load(Ordering::Acquire);
        let (lap, producer) = (at >> Self::SHIFT, (word >> PRODUCER) as u16 % PRODUCERS);
        let seen = word & TICKET;
        if seen == ticket(lap, READY) {
            // SAFETY: the word says that the payload is written, and it is the consumer's until it frees the slot.
            let payload = slot.payload.with(|payload| unsafe { &*payload });
            Next::Message { producer, mark: (word >> MARK) as u32, payload }
        } else if seen == ticket(lap, CLAIMED) {
            Next::Unfinished { producer }
        } else {
            Next::Nothing
        }
    }

    /// Takes what [`Mailbox::peek`] returned: a message, or a slot whose producer is dead.
    ///
    /// # Safety
    /// The caller has the consumer's role and has seen one of the two since the last call.
    #[inline]
    pub unsafe fn pop(&self) {
        let at = self.head.load(Ordering::Relaxed);
        let free = ticket((at >> Self::SHIFT).wrapping_add(1), FREE);
        self.slots[at as usize % N].word.store(free, Ordering::Release);
        self.head.store(at.wrapping_add(1), Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn take<const N: usize>(mailbox: &Mailbox<N>) -> Option<(u16, u32, u64)> {
        // SAFETY: each test has one consumer, the caller.
        unsafe {
            let Next::Message { producer, mark, payload } = mailbox.peek() else { return None };
            let found = (producer, mark, payload[0]);
            mailbox.pop();
            Some(found)
        }
    }

    #[test]
    fn a_full_mailbox_refuses() {
        let mailbox = Mailbox::<4>::new();
        for round in 0..10u64 {
            assert!(take(&mailbox).is_none());
            for i in 0..4 {
                assert!(mailbox.push(i, 7, |payload| payload[0] = round));
            }
            assert!(!mailbox.push(9, 9, |_| unreachable!("it is full")));
            for i in 0..4 {
                assert!(mailbox.is_ready());
                assert_eq!(take(&mailbox), Some((i, 7, round)));
            }
        }
    }

    #[test]
    fn the_claim_of_a_dead_producer_is_passed_over() {
        let mailbox = Mailbox::<4>::new();
        for _ in 0..10 {
            assert!(mailbox.claim(3).is_some());
            assert!(mailbox.push(4, 0, |payload| payload[0] = 1));
            // SAFETY: this thread is the consumer.
            unsafe {
                assert!(matches!(mailbox.peek(), Next::Unfinished { producer: 3 }));
                assert!(!mailbox.is_ready());
                mailbox.pop();
            }
            assert_eq!(take(&mailbox), Some((4, 0, 1)));
        }
    }

    #[test]
    fn every_producers_order_is_kept() {
        let mailbox = Mailbox::<8>::new();
        const EACH: u64 = 20_000;
        std::thread::scope(|scope| {
            for producer in 0..3 {
                let mailbox = &mailbox;
                scope.spawn(move || {
                    for i in 0..EACH {
                        while !mailbox.push(producer, i as u32, |payload| payload[0] = i) {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            let mut next = [0; 3];
            while next.iter().sum::<u64>() < 3 * EACH {
                let Some((producer, mark, value)) = take(&mailbox) else {
                    std::thread::yield_now();
                    continue;
                };
                let expected = &mut next[usize::from(producer)];
                assert_eq!((value, mark), (*expected, *expected as u32));
                *expected += 1;
            }
        });
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn a_slot_serves_one_producer_per_lap() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let mailbox = Arc::new(Mailbox::<2>::new());
            // SAFETY: nobody else knows the mailbox yet.
            unsafe {
                assert!(mailbox.push(0, 0, |payload| *payload = [1; 7]));
                assert!(matches!(mailbox.peek(), Next::Message { .. }));
            }
            let other = mailbox.clone();
            let producer = loom::thread::spawn(move || other.push(1, 0, |payload| *payload = [1; 7]));
            // SAFETY: the only consumer, which has seen a message.
            unsafe { mailbox.pop() };
            let mine = mailbox.push(2, 0, |payload| *payload = [2; 7]);
            let take = || {
                // SAFETY: the only consumer, which pops what it has seen.
                unsafe {
                    let Next::Message { producer, payload, .. } = mailbox.peek() else { return 0 };
                    assert_eq!(payload, &[u64::from(producer); 7]);
                    mailbox.pop();
                    1
                }
            };
            let mut taken = take();
            let added = usize::from(mine) + usize::from(producer.join().unwrap());
            assert!(added >= 1, "one slot was free all the time");
            while take() == 1 {
                taken += 1;
            }
            assert_eq!(taken, added);
        });
    }
}
