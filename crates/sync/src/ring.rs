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
//! A message may take several consecutive slots: the later ones are filled and published first, so who sees the first has
//! all of them, and lines that follow each other travel together.
//!
//! A message may carry a *mark* of 24 bits in the upper part of the sequence word, which costs no room in the slot.
//!
//! All zero is an empty ring, and nothing in it is an address, so it may lie in memory that processes share.
//!
//! Races closed: a consumer sees the payload whole, because the word is written after it; a producer reuses a slot
//! only after it has seen `taken` past it (acquire), hence after the consumer's reads (release).
#![allow(unsafe_code)] // Slots are shared cells; the sequence words say whose they are.

use crate::facade::{
    UnsafeCell,
    atomic::{AtomicU64, Ordering},
};
use crate::{CachePadded, prefetch};

/// The payload bytes of a slot.
pub const PAYLOAD: usize = 56;

/// A slot's payload.
pub type Payload = [u64; PAYLOAD / 8];

/// How many slots ahead of the one that is written the producer fetches. The consumer's core had them last, and stores go out
/// in order, so otherwise each line is waited for. Two processes of a Zen 3, 64 messages in flight, before and so: where their cores are
/// far from each other 1 byte takes 217 and 151 ns, 64 bytes 243 and 160, 128 bytes 255 and 187; near 139 and 134, 145 and
/// 146, 153 and 157. Threads: 1 byte 209 and 176, 112 and 111.
const AHEAD: usize = 8;

/// Where the mark begins in a sequence word; below it is the position plus one.
const MARK: u32 = 40;
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
// SAFETY: a slot is written by the producer before its word says so, and read by the consumer after that.
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
    pub unsafe fn push_marked(&self, mark: u32, fill: impl FnOnce(&mut Payload)) -> bool {
        self.producer.with_mut(|p| {
            // SAFETY: only the producer touches this cell, and the caller is the only producer.
            let producer = unsafe { &mut *p };
            if producer.next.wrapping_sub(producer.known) == N as u64 {
                producer.known = self.taken.load(Ordering::Acquire);
                if producer.next.wrapping_sub(producer.known) == N as u64 {
                    return false;
                }
            }
            self.fetch(producer.next);
            let slot = &self.slots[producer.next as usize % N];
            // SAFETY: the consumer has taken this slot's last content (`taken`), and looks at the payload again
            // only after the store below.
            slot.payload.with_mut(|payload| fill(unsafe { &mut *payload }));
            producer.next += 1;
            slot.sequence.store(producer.next & POSITION | u64::from(mark) << MARK, Ordering::Release);
            true
        })
    }

    /// As [`Ring::push_marked`], with a message of several slots: `fill` writes each, whose place in the message it is told,
    /// the first last. Returns false, without calling it, if there is not room for all.
    ///
    /// # Safety
    /// One thread at a time is the producer.
    #[inline]
    pub unsafe fn push_slots(&self, mark: u32, slots: u32, fill: impl Fn(u32, &mut Payload)) -> bool {
        let count = u64::from(slots);
        debug_assert!((1..=N as u64).contains(&count));
        self.producer.with_mut(|p| {
            // SAFETY: only the producer touches this cell, and the caller is the only producer.
            let producer = unsafe { &mut *p };
            if producer.next.wrapping_sub(producer.known) > N as u64 - count {
                producer.known = self.taken.load(Ordering::Acquire);
                if producer.next.wrapping_sub(producer.known) > N as u64 - count {
                    return false;
                }
            }
            (0..count).for_each(|place| self.fetch(producer.next.wrapping_add(place)));
            for place in (1..slots).chain([0]) {
                let at = producer.next.wrapping_add(u64::from(place));
                let slot = &self.slots[at as usize % N];
                // SAFETY: as for `push_marked`; the consumer looks at a later slot only after the first one's store.
                slot.payload.with_mut(|payload| fill(place, unsafe { &mut *payload }));
                let mark = if place == 0 { u64::from(mark) << MARK } else { 0 };
                slot.sequence.store(at.wrapping_add(1) & POSITION | mark, Ordering::Release);
            }
            producer.next = producer.next.wrapping_add(count);
            true
        })
    }

    /// Fetches the slot that is written so much later than the one of a position.
    #[inline(always)]
    fn fetch(&self, position: u64) {
        prefetch::for_writing(&self.slots[(position as usize).wrapping_add(AHEAD) % N]);
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

    /// Tells whether there is room for so many messages of one slot.
    ///
    /// # Safety
    /// The caller is the producer.
    #[inline]
    pub unsafe fn has_room_for(&self, messages: u32) -> bool {
        debug_assert!(messages as usize <= N);
        self.producer.with_mut(|p| {
            // SAFETY: only the producer touches this cell.
            let producer = unsafe { &mut *p };
            let most = N as u64 - u64::from(messages);
            if producer.next.wrapping_sub(producer.known) > most {
                producer.known = self.taken.load(Ordering::Acquire);
            }
            producer.next.wrapping_sub(producer.known) <= most
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
        self.next_mark().is_some()
    }

    /// Returns the mark of the next message, if one is there. Open to all; a hint to those who are not the consumer.
    #[inline]
    pub fn next_mark(&self) -> Option<u32> {
        let at = self.taken.load(Ordering::Relaxed);
        let word = self.slots[at as usize % N].sequence.load(Ordering::Acquire);
        ((word ^ (at + 1)) & POSITION == 0).then_some((word >> MARK) as u32)
    }

    /// Fetches later slots of the next message, which is there, to be read soon. Open to all.
    #[inline]
    pub fn prefetch_message(&self, places: core::ops::Range<u32>) {
        let at = self.taken.load(Ordering::Relaxed);
        for place in places {
            crate::prefetch::for_reading(&self.slots[at.wrapping_add(u64::from(place)) as usize % N]);
        }
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
    pub unsafe fn peek_marked(&self) -> Option<(u32, &Payload)> {
        let at = self.taken.load(Ordering::Relaxed);
        let slot = &self.slots[at as usize % N];
        let word = slot.sequence.load(Ordering::Acquire);
        ((word ^ (at + 1)) & POSITION == 0).then(|| {
            // SAFETY: the word says the payload is written, and it is ours until `taken` moves.
            ((word >> MARK) as u32, slot.payload.with(|p| unsafe { &*p }))
        })
    }

    /// Returns a later slot of the message that [`Ring::peek_marked`] returned, if the producer has filled that.
    ///
    /// # Safety
    /// As there.
    #[inline]
    pub unsafe fn peek_slot(&self, place: u32) -> Option<&Payload> {
        let at = self.taken.load(Ordering::Relaxed).wrapping_add(u64::from(place));
        let slot = &self.slots[at as usize % N];
        let is_there = (slot.sequence.load(Ordering::Acquire) ^ at.wrapping_add(1)) & POSITION == 0;
        // SAFETY: as in `peek_marked`.
        is_there.then(|| slot.payload.with(|p| unsafe { &*p }))
    }

    /// Takes a message of several slots.
    ///
    /// # Safety
    /// As [`Ring::pop`]; all of them have been seen.
    #[inline]
    pub unsafe fn pop_slots(&self, slots: u32) {
        let at = self.taken.load(Ordering::Relaxed);
        self.taken.store(at.wrapping_add(u64::from(slots)), Ordering::Release);
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
            for i in 0..10u32 {
                assert!(ring.push_marked(i << 20 | i, |payload| payload[0] = u64::from(i)));
                assert!(ring.is_ready());
                assert_eq!(
                    ring.peek_marked().map(|(mark, p)| (mark, p[0])),
                    Some((i << 20 | i, u64::from(i)))
                );
                ring.pop();
                assert!(!ring.is_ready());
            }
        }
    }

    #[test]
    fn messages_of_several_slots_come_whole_or_not_at_all() {
        let ring = Ring::<8>::new();
        // SAFETY: one thread is both sides.
        unsafe {
            for round in 0..50u64 {
                let fill = |place: u32, slot: &mut Payload| slot[0] = round << 8 | u64::from(place);
                assert!(ring.push_slots(3, 5, fill));
                assert!(!ring.push_slots(3, 4, fill));
                assert!(ring.push_slots(4, 3, fill));
                assert!(!ring.has_room());
                for (mark, slots) in [(3, 5), (4, 3)] {
                    assert_eq!(ring.peek_marked().map(|(mark, p)| (mark, p[0])), Some((mark, round << 8)));
                    for place in 1..slots {
                        assert_eq!(ring.peek_slot(place).map(|p| p[0]), Some(round << 8 | u64::from(place)));
                    }
                    ring.pop_slots(slots);
                }
                assert!(ring.peek_marked().is_none() && ring.peek_slot(1).is_none());
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
    fn all_slots_of_a_message_are_there_with_the_first() {
        loom::model(|| {
            let ring = Arc::new(Ring::<4>::new());
            let other = ring.clone();
            let producer = loom::thread::spawn(move || {
                for i in 1..=2u64 {
                    // SAFETY: the only producer.
                    while !unsafe {
                        other.push_slots(7, 3, |place, slot| *slot = [i + 8 * u64::from(place); 7])
                    } {
                        loom::thread::yield_now();
                    }
                }
            });
            for i in 1..=2u64 {
                // SAFETY: the only consumer; the message was seen.
                unsafe {
                    while ring.peek_marked().is_none() {
                        loom::thread::yield_now();
                    }
                    assert_eq!(ring.peek_marked(), Some((7, &[i; 7])));
                    for place in 1..3 {
                        assert_eq!(ring.peek_slot(place), Some(&[i + 8 * u64::from(place); 7]));
                    }
                    ring.pop_slots(3);
                }
            }
            producer.join().unwrap();
        });
    }

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
