//! A ring between one producer and one consumer whose slots carry payload and sequence word in one cache line.
//!
//! Slot `i % N` is filled for position `i` when its sequence word is `i + 1`; the consumer polls that word, and the
//! line that brings it brings the payload: one line transfer per message.
//!
//! Who touches what:
//! - the producer writes slots (payload, then the word with release order) and its own line (`next`, `known`);
//! - the consumer reads slots (the word with acquire order, then the payload) and writes its own line (`taken`); its role
//!   may go from thread to thread under a lock;
//! - the producer reads `taken` only when the ring looks full by what it last knew (`known`), so on the fast path it
//!   reads no line that the consumer writes.
//!
//! A message may carry a *mark* of 16 bits in the upper part of the sequence word, which costs no room in the slot.
//!
//! All zero is an empty ring, and nothing in it is an address, so it may lie in memory that processes share.
//!
//! Races closed: a consumer sees the payload whole, because the word is written after it; a producer reuses a slot
//! only after it has seen `taken` past it (acquire), hence after the consumer's reads (release).
#![allow(unsafe_code)] // Slots are shared cells; the sequence words say whose they are.

use crate::CachePadded;
use crate::facade::{
    UnsafeCell,
    atomic::{AtomicU64, Ordering},
};

/// The payload bytes of a slot.
pub const PAYLOAD: usize = 56;

/// A slot's payload.
pub type Payload = [u64; PAYLOAD / 8];

/// Where the mark begins in a sequence word; below it is the position plus one.
const MARK: u32 = 48;
const POSITION: u64 = (1 << MARK) - 1;

#[repr(C, align(64))]
struct Slot {
    sequence: AtomicU64,
    payload: UnsafeCell<Payload>,
}

#[repr(C)]
struct Producer {
    next: u64,
    known: u64,
}

/// A ring of `N` slots; `N` is a power of two.
#[repr(C)]
pub struct Ring<const N: usize> {
    producer: CachePadded<UnsafeCell<Producer>>,
    taken: CachePadded<AtomicU64>,
    slots: [Slot; N],
}

// SAFETY: producer and consumer sides are unsafe to call; their contracts make the accesses exclusive.
unsafe impl<const N: usize> Send for Ring<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for Ring<N> {}

impl<const N: usize> Default for Ring<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Ring<N> {
    /// Creates an empty ring.
    pub fn new() -> Self {
        const { assert!(N.is_power_of_two()) };
        Self {
            producer: CachePadded(UnsafeCell::new(Producer { next: 0, known: 0 })),
            taken: CachePadded(AtomicU64::new(0)),
            slots: core::array::from_fn(|_| Slot {
                sequence: AtomicU64::new(0),
                payload: UnsafeCell::new([0; PAYLOAD / 8]),
            }),
        }
    }

    /// Lets `fill` write the next slot's payload and publishes it. Returns false, without calling `fill`, if the
    /// ring is full. `fill` need not write all of it; what it leaves is unspecified.
    ///
    /// # Safety
    /// One thread at a time is the producer.
    #[inline]
    pub unsafe fn push_with(&self, fill: impl FnOnce(&mut Payload)) -> bool {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { self.push_marked(0, fill) }
    }

    /// As [`Ring::push_with`], with a mark.
    ///
    /// # Safety
    /// One thread at a time is the producer.
    #[inline]
    pub unsafe fn push_marked(&self, mark: u16, fill: impl FnOnce(&mut Payload)) -> bool {
        self.producer.with_mut(|p| {
            // SAFETY: only the producer touches this cell, and the caller is the only producer.
            let producer = unsafe { &mut *p };
            if producer.next.wrapping_sub(producer.known) == N as u64 {
                producer.known = self.taken.load(Ordering::Acquire);
                if producer.next.wrapping_sub(producer.known) == N as u64 {
                    return false;
                }
            }
            let slot = &self.slots[producer.next as usize % N];
            // SAFETY: the consumer has taken this slot's last content (`taken`), and looks at the payload again
            // only after the store below.
            slot.payload.with_mut(|payload| fill(unsafe { &mut *payload }));
            producer.next += 1;
            slot.sequence.store(producer.next & POSITION | u64::from(mark) << MARK, Ordering::Release);
            true
        })
    }

    /// Adds a message. Returns false if the ring is full.
    ///
    /// # Safety
    /// One thread at a time is the producer.
    #[inline]
    pub unsafe fn try_push(&self, payload: &Payload) -> bool {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { self.push_with(|slot| *slot = *payload) }
    }

    /// Tells whether there is room for a message.
    ///
    /// # Safety
    /// The caller is the producer.
    #[inline]
    pub unsafe fn has_room(&self) -> bool {
        self.producer.with_mut(|p| {
            // SAFETY: only the producer touches this cell.
            let producer = unsafe { &mut *p };
            if producer.next.wrapping_sub(producer.known) == N as u64 {
                producer.known = self.taken.load(Ordering::Acquire);
            }
            producer.next.wrapping_sub(producer.known) != N as u64
        })
    }

    /// Returns the position of the next message to be added.
    ///
    /// # Safety
    /// The caller is the producer.
    #[inline]
    pub unsafe fn next(&self) -> u64 {
        // SAFETY: only the producer touches this cell.
        self.producer.with(|p| unsafe { (*p).next })
    }

    /// Returns the position of the next message to be taken. A hint to those who are not the consumer.
    #[inline]
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Tells whether a message is there. Open to all; a hint to those who are not the consumer.
    #[inline]
    pub fn is_ready(&self) -> bool {
        let at = self.taken.load(Ordering::Relaxed);
        (self.slots[at as usize % N].sequence.load(Ordering::Acquire) ^ (at + 1)) & POSITION == 0
    }

    /// Returns the next message, which stays until [`Ring::pop`].
    ///
    /// # Safety
    /// The caller has the consumer's role, and keeps it until it has let go of the payload.
    #[inline]
    pub unsafe fn peek(&self) -> Option<&Payload> {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { self.peek_marked() }.map(|(_, payload)| payload)
    }

    /// As [`Ring::peek`], with the mark.
    ///
    /// # Safety
    /// As there.
    #[inline]
    pub unsafe fn peek_marked(&self) -> Option<(u16, &Payload)> {
        let at = self.taken.load(Ordering::Relaxed);
        let slot = &self.slots[at as usize % N];
        let word = slot.sequence.load(Ordering::Acquire);
        ((word ^ (at + 1)) & POSITION == 0).then(|| {
            // SAFETY: the word says the payload is written, and it is ours until `taken` moves.
            ((word >> MARK) as u16, slot.payload.with(|p| unsafe { &*p }))
        })
    }

    /// Takes the message that [`Ring::peek`] returned.
    ///
    /// # Safety
    /// The caller has the consumer's role and has seen a message since the last call.
    #[inline]
    pub unsafe fn pop(&self) {
        let at = self.taken.load(Ordering::Relaxed);
        self.taken.store(at + 1, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn full_and_empty() {
        let ring = Ring::<4>::new();
        // SAFETY: one thread is both sides.
        unsafe {
            for round in 0..10u64 {
                assert!(ring.peek().is_none());
                for i in 0..4 {
                    assert!(ring.try_push(&[round * 4 + i; 7]));
                }
                assert!(!ring.try_push(&[0; 7]));
                for i in 0..4 {
                    assert_eq!(ring.peek(), Some(&[round * 4 + i; 7]));
                    ring.pop();
                }
            }
        }
    }

    #[test]
    fn marks_come_with_their_messages() {
        let ring = Ring::<4>::new();
        // SAFETY: one thread is both sides.
        unsafe {
            for i in 0..10u16 {
                assert!(ring.push_marked(i << 12 | i, |payload| payload[0] = u64::from(i)));
                assert!(ring.is_ready());
                assert_eq!(
                    ring.peek_marked().map(|(mark, p)| (mark, p[0])),
                    Some((i << 12 | i, u64::from(i)))
                );
                ring.pop();
                assert!(!ring.is_ready());
            }
        }
    }

    #[test]
    fn keeps_order_and_content_across_threads() {
        let ring = Arc::new(Ring::<8>::new());
        let other = ring.clone();
        let producer = std::thread::spawn(move || {
            for i in 0..100_000u64 {
                // SAFETY: the only producer.
                while !unsafe { other.try_push(&[i; 7]) } {
                    std::thread::yield_now();
                }
            }
        });
        for i in 0..100_000u64 {
            loop {
                // SAFETY: the only consumer.
                if let Some(payload) = unsafe { ring.peek() } {
                    assert_eq!(payload, &[i; 7]);
                    break;
                }
                std::thread::yield_now();
            }
            // SAFETY: a message was seen above.
            unsafe { ring.pop() };
        }
        producer.join().unwrap();
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn every_message_once_and_whole() {
        loom::model(|| {
            let ring = Arc::new(Ring::<2>::new());
            let other = ring.clone();
            let producer = loom::thread::spawn(move || {
                for i in 1..=3u64 {
                    // SAFETY: the only producer.
                    while !unsafe { other.try_push(&[i; 7]) } {
                        loom::thread::yield_now();
                    }
                }
            });
            for i in 1..=3u64 {
                loop {
                    // SAFETY: the only consumer.
                    if let Some(payload) = unsafe { ring.peek() } {
                        assert_eq!(payload, &[i; 7]);
                        break;
                    }
                    loom::thread::yield_now();
                }
                // SAFETY: a message was seen above.
                unsafe { ring.pop() };
            }
            producer.join().unwrap();
        });
    }
}
