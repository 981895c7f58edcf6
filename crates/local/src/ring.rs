//! The private ring of a pair of ranks: one cache line per message, payload beside the sequence word.
//!
//! # Protocol
//! Position `p` (a counter that wraps) lives in slot `p % SLOTS`. The slot holds a message for position `p` exactly
//! if its sequence word is `p + 1`. The producer writes header and payload, then the sequence word with release
//! order; the consumer that sees the word with acquire order may read the rest. The consumer then publishes how far
//! it got in `consumed`, on a line of its own that the producer reads only when its own copy says the ring is full;
//! so in the steady state a message moves one line between two cores, and nothing else.
//!
//! There is one producer: the caller of [`Ring::push`] must be the sending rank's own thread. The consumer's role
//! belongs to whoever holds the lock of the receiving endpoint. Looking whether something is there
//! ([`Ring::is_ready`]) is open to all.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use weft_sync::CachePadded;

/// Messages a ring holds.
pub const SLOTS: u32 = 64;

/// Bytes of payload a slot holds.
pub const PAYLOAD: usize = 40;

/// What travels beside the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The context number.
    pub context: u32,
    /// The sender's rank in the communicator.
    pub source: i32,
    /// The tag.
    pub tag: i32,
    /// The length of the payload.
    pub length: u32,
}

#[repr(C, align(64))]
struct Slot {
    sequence: AtomicU32,
    content: UnsafeCell<Content>,
}

#[repr(C)]
struct Content {
    header: Header,
    // Twenty bytes lie before it, and the slot's alignment leaves four more.
    payload: [u8; PAYLOAD],
}

const _: () = assert!(size_of::<Slot>() == 64);

/// A ring with one producer and one consumer; see the module's page.
pub struct Ring {
    slots: Box<[Slot]>,
    /// The consumer's position.
    consumed: CachePadded<AtomicU32>,
    producer: CachePadded<Producer>,
}

struct Producer {
    position: AtomicU32,
    /// How far the consumer was when the producer last looked.
    consumed: AtomicU32,
}

// SAFETY: a slot's content is written by the one producer before it stores the sequence word, and read by the one
// consumer after it saw the word and before it publishes `consumed`, which the producer reads before it writes again.
unsafe impl Sync for Ring {}
// SAFETY: nothing is bound to a thread.
unsafe impl Send for Ring {}

impl Default for Ring {
    fn default() -> Self {
        Self::starting_at(0)
    }
}

impl Ring {
    fn starting_at(position: u32) -> Self {
        let slot = |_| Slot {
            // Any value that does not announce a message of the first round.
            sequence: AtomicU32::new(position),
            content: UnsafeCell::new(Content {
                header: Header { context: 0, source: 0, tag: 0, length: 0 },
                payload: [0; PAYLOAD],
            }),
        };
        Self {
            slots: (0..SLOTS).map(slot).collect(),
            consumed: CachePadded(AtomicU32::new(position)),
            producer: CachePadded(Producer {
                position: AtomicU32::new(position),
                consumed: AtomicU32::new(position),
            }),
        }
    }

    #[inline]
    fn slot(&self, position: u32) -> &Slot {
        // SAFETY: there are `SLOTS` slots.
        unsafe { self.slots.get_unchecked((position % SLOTS) as usize) }
    }

    /// Puts a message in. Returns false, and does nothing, if the ring is full.
    ///
    /// # Safety
    /// Only one thread ever calls this on a ring. `payload` is readable for `header.length` bytes, which are at most
    /// [`PAYLOAD`].
    #[inline]
    pub unsafe fn push(&self, header: Header, payload: *const u8) -> bool {
        let position = self.producer.position.load(Ordering::Relaxed);
        if position.wrapping_sub(self.producer.consumed.load(Ordering::Relaxed)) >= SLOTS {
            let consumed = self.consumed.load(Ordering::Acquire);
            self.producer.consumed.store(consumed, Ordering::Relaxed);
            if position.wrapping_sub(consumed) >= SLOTS {
                return false;
            }
        }
        let slot = self.slot(position);
        let content = slot.content.get();
        let length = header.length as usize;
        debug_assert!(length <= PAYLOAD);
        // SAFETY: the consumer is past this slot's former message and waits for the word stored below.
        unsafe {
            (*content).header = header;
            let target = (&raw mut (*content).payload).cast::<u8>();
            // The most frequent length, without a call to memcpy.
            if length == 8 {
                target.cast::<u64>().write_unaligned(payload.cast::<u64>().read_unaligned());
            } else {
                core::ptr::copy_nonoverlapping(payload, target, length);
            }
        }
        slot.sequence.store(position.wrapping_add(1), Ordering::Release);
        self.producer.position.store(position.wrapping_add(1), Ordering::Relaxed);
        true
    }

    /// Tells whether a message is there.
    #[inline]
    pub fn is_ready(&self) -> bool {
        let position = self.consumed.load(Ordering::Relaxed);
        self.slot(position).sequence.load(Ordering::Acquire) == position.wrapping_add(1)
    }

    /// Takes the next message: calls `f` with its header and its payload, which is `header.length` bytes long.
    ///
    /// # Safety
    /// The caller has the consumer's role.
    #[inline]
    pub unsafe fn pop<R>(&self, f: impl FnOnce(Header, *const u8) -> R) -> Option<R> {
        let position = self.consumed.load(Ordering::Relaxed);
        let slot = self.slot(position);
        if slot.sequence.load(Ordering::Acquire) != position.wrapping_add(1) {
            return None;
        }
        let content = slot.content.get();
        // SAFETY: the word says the content is written and ours until `consumed` moves.
        let result = unsafe { f((*content).header, (&raw const (*content).payload).cast()) };
        self.consumed.store(position.wrapping_add(1), Ordering::Release);
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(tag: i32) -> Header {
        Header { context: 1, source: 2, tag, length: 4 }
    }

    #[test]
    fn a_full_ring_refuses_and_positions_may_wrap() {
        let ring = Ring::starting_at(u32::MAX - 100);
        for round in 0..10 {
            for i in 0..SLOTS as i32 {
                // SAFETY: this thread is producer and consumer.
                assert!(unsafe { ring.push(header(i), (&raw const i).cast()) });
            }
            // SAFETY: as above.
            assert!(!unsafe { ring.push(header(0), (&raw const round).cast()) });
            for i in 0..SLOTS as i32 {
                assert!(ring.is_ready());
                // SAFETY: as above; the payload is four bytes.
                let got = unsafe { ring.pop(|h, p| (h.tag, p.cast::<i32>().read_unaligned())) };
                assert_eq!(got, Some((i, i)));
            }
            assert!(!ring.is_ready());
        }
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
                    // SAFETY: the only consumer.
                    let got = unsafe { ring.pop(|h, p| (h.tag, p.cast::<i32>().read_unaligned())) };
                    if let Some(got) = got {
                        assert_eq!(got, (i, i));
                        break;
                    }
                    std::thread::yield_now();
                }
            }
        });
    }
}
