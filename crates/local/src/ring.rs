//! The private ring of a pair of ranks: a message's envelope and a short payload in one slot of [`weft_sync::Ring`], so
//! that one cache line carries all of it. Once both ranks have a ring to each other, the two share a
//! [`Shuttle`]: an answer goes back in the line that brought the question.
//!
//! There is one producer at a time: the sending rank's own thread ([`Ring::push`]), or, if the rank has several threads,
//! the one whose turn it is ([`Ring::push_in_turn`]). The consumer's role
//! belongs to whoever holds the lock of the receiving endpoint. Looking whether something is there
//! ([`Ring::is_ready`]) is open to all.
#![allow(unsafe_code)] // Passes on the contracts of the ring below; payloads come by address.

use std::sync::{Arc, OnceLock};
use weft_sync::atomic::AtomicU32;
use weft_sync::ring::Payload;
use weft_sync::{CachePadded, Carrier, Lane, Lock, Shuttle, Side};

/// Messages a ring holds. The models use the smallest number that works.
pub const SLOTS: u32 = if cfg!(loom) { 2 } else { 64 };

/// Words that a ring keeps for its consumer.
pub const MEMORY: usize = 4;

/// Words of a slot that hold the header.
const HEADER_WORDS: usize = 2;

/// Bytes of payload a slot holds.
pub const PAYLOAD: usize = weft_sync::ring::PAYLOAD - 8 * HEADER_WORDS;

/// What travels beside the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The context number.
    pub context: u32,
    /// The sender's rank in the communicator.
    pub source: i32,
    /// The tag.
    pub tag: i32,
    /// The length of the payload, and the mark [`OFFER`].
    pub length: u32,
}

/// Marks, in a header's length, a payload that is not the data, but says where the data is.
pub const OFFER: u32 = 1 << 31;

impl Header {
    #[inline]
    fn words(self) -> [u64; HEADER_WORDS] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [pair(self.context, self.source as u32), pair(self.tag as u32, self.length)]
    }

    #[inline]
    fn of(slot: &Payload) -> Self {
        let [first, second, ..] = *slot;
        Self {
            context: first as u32,
            source: (first >> 32) as u32 as i32,
            tag: second as u32 as i32,
            length: (second >> 32) as u32,
        }
    }
}

/// A message in a ring.
pub struct Message {
    /// The header.
    pub header: Header,
    /// The payload, `header.length` bytes.
    pub payload: *const u8,
    carrier: Carrier,
}

/// A ring with one producer and one consumer; see the module's page.
#[derive(Default)]
pub struct Ring {
    ring: weft_sync::Ring<{ SLOTS as usize }>,
    /// Shared with the ring that leads back; with this ring's sender's side of it.
    shuttle: OnceLock<(Arc<Shuttle>, Side)>,
    /// Held while adding a message, where several threads do.
    turn: CachePadded<Lock<()>>,
    /// What the consumer keeps about this pair.
    memory: CachePadded<[AtomicU32; MEMORY]>,
}

impl Ring {
    /// Lets the two rings of a pair, which lead to and fro, share a shuttle. Does nothing if they do already.
    pub fn join(to: &Self, fro: &Self) {
        let shuttle = Arc::new(Shuttle::new());
        // Callers exclude each other, so either both are set or none.
        if to.shuttle.set((shuttle.clone(), Side::First)).is_ok() {
            let _ = fro.shuttle.set((shuttle, Side::Second));
        }
    }

    #[inline]
    fn lane(&self) -> Lane<'_, { SLOTS as usize }> {
        let shuttle = self.shuttle.get().map(|(shuttle, sender)| (&**shuttle, *sender));
        Lane { ring: &self.ring, shuttle }
    }

    /// Puts a message in. Returns false, and does nothing, if the ring is full.
    ///
    /// # Safety
    /// Only one thread ever calls this on a ring. `payload` is readable for `header.length` bytes (without the mark),
    /// which are at most [`PAYLOAD`].
    #[inline]
    pub unsafe fn push(&self, header: Header, payload: *const u8) -> bool {
        let length = (header.length & !OFFER) as usize;
        debug_assert!(length <= PAYLOAD);
        let fill = |slot: &mut Payload| {
            slot[..HEADER_WORDS].copy_from_slice(&header.words());
            let target = slot[HEADER_WORDS..].as_mut_ptr().cast::<u8>();
            // The most frequent length, without a call to memcpy.
            if length == 8 {
                // SAFETY: the payload has eight bytes, which need no alignment; the slot has room for them.
                unsafe { target.cast::<u64>().write(payload.cast::<u64>().read_unaligned()) };
            } else {
                // SAFETY: the payload is as long as promised, and the slot has room for it.
                unsafe { core::ptr::copy_nonoverlapping(payload, target, length) };
            }
        };
        // SAFETY: the caller is the only producer.
        unsafe { self.lane().push_with(fill) }
    }

    /// As [`Ring::push`], for the threads of a rank that all use this.
    ///
    /// # Safety
    /// No thread calls [`Ring::push`] meanwhile; the payload as there.
    pub unsafe fn push_in_turn(&self, header: Header, payload: *const u8) -> bool {
        let _turn = self.turn.lock();
        // SAFETY: who holds the lock is the only producer; the payload is as promised.
        unsafe { self.push(header, payload) }
    }

    /// Returns words in which the consumer may keep something about this pair. They are 0 at first, and nobody else
    /// touches them.
    #[inline]
    pub fn memory(&self) -> &[AtomicU32; MEMORY] {
        &self.memory
    }

    /// Tells whether a message is there.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.lane().is_ready()
    }

    /// Returns the next message, if there is one. It stays until [`Ring::pop`].
    ///
    /// # Safety
    /// The caller has the consumer's role, and keeps it until it has let go of the payload.
    #[inline]
    pub unsafe fn peek(&self) -> Option<Message> {
        // SAFETY: the caller's role.
        let (slot, carrier) = unsafe { self.lane().peek() }?;
        Some(Message { header: Header::of(slot), payload: slot[HEADER_WORDS..].as_ptr().cast(), carrier })
    }

    /// Takes a message.
    ///
    /// # Safety
    /// The caller has the consumer's role, and `message` is what the last [`Ring::peek`] returned.
    #[inline]
    pub unsafe fn pop(&self, message: &Message) {
        // SAFETY: the caller's promise.
        unsafe { self.lane().pop(message.carrier) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn header(tag: i32) -> Header {
        Header { context: 1, source: 2, tag, length: 4 }
    }

    /// Takes the next message: its tag and its payload of four bytes.
    fn take(ring: &Ring) -> Option<(i32, i32)> {
        // SAFETY: each test has one consumer, the caller; the payload is four bytes.
        unsafe {
            let message = ring.peek()?;
            let value = message.payload.cast::<i32>().read_unaligned();
            ring.pop(&message);
            Some((message.header.tag, value))
        }
    }

    #[test]
    fn a_full_ring_refuses() {
        let ring = Ring::default();
        for round in 0..10 {
            for i in 0..SLOTS as i32 {
                // SAFETY: this thread is producer and consumer.
                assert!(unsafe { ring.push(header(i), (&raw const i).cast()) });
            }
            // SAFETY: this thread is still the only producer.
            assert!(!unsafe { ring.push(header(0), (&raw const round).cast()) });
            for i in 0..SLOTS as i32 {
                assert!(ring.is_ready());
                assert_eq!(take(&ring), Some((i, i)));
            }
            assert!(!ring.is_ready());
        }
    }

    #[test]
    fn joined_rings_keep_order() {
        let (to, fro) = (Ring::default(), Ring::default());
        let push = |ring: &Ring, i: i32| {
            // SAFETY: this thread is producer and consumer.
            assert!(unsafe { ring.push(header(i), (&raw const i).cast()) });
        };
        let pop = |ring: &Ring, i: i32| assert_eq!(take(ring), Some((i, i)));
        push(&to, 0);
        Ring::join(&to, &fro);
        Ring::join(&to, &fro);
        (1..5).for_each(|i| push(&to, i));
        push(&fro, 0);
        (0..5).for_each(|i| pop(&to, i));
        for i in 1..1000 {
            push(&fro, i);
            pop(&fro, i - 1);
            push(&to, 2 * i + 3);
            push(&to, 2 * i + 4);
            assert!(to.is_ready() && fro.is_ready());
            pop(&to, 2 * i + 3);
            pop(&to, 2 * i + 4);
            assert!(!to.is_ready());
        }
    }

    #[test]
    fn threads_of_a_rank_take_turns() {
        let ring = Ring::default();
        const EACH: i32 = 20_000;
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let ring = &ring;
                scope.spawn(move || {
                    for i in 0..EACH {
                        let header = Header { source: thread, ..header(i) };
                        // SAFETY: all producers take turns.
                        while !unsafe { ring.push_in_turn(header, (&raw const i).cast()) } {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            let mut next = [0; 3];
            while next.iter().sum::<i32>() < 3 * EACH {
                // SAFETY: this is the only consumer.
                let Some(message) = (unsafe { ring.peek() }) else {
                    std::thread::yield_now();
                    continue;
                };
                let Header { source, tag, .. } = message.header;
                assert_eq!(tag, next[source as usize]);
                next[source as usize] += 1;
                // SAFETY: the message is the one that this only consumer has just looked at.
                unsafe { ring.pop(&message) };
            }
        });
    }

    #[test]
    fn two_threads_see_every_message_in_order() {
        let ring = Ring::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..100_000i32 {
                    // SAFETY: the only producer.
                    while !unsafe { ring.push(header(i), (&raw const i).cast()) } {
                        std::thread::yield_now();
                    }
                }
            });
            for i in 0..100_000i32 {
                loop {
                    if let Some(got) = take(&ring) {
                        assert_eq!(got, (i, i));
                        break;
                    }
                    std::thread::yield_now();
                }
            }
        });
    }
}
