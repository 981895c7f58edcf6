//! The private ring of a pair of ranks: a message's envelope and a short payload in one slot of [`weft_sync::Ring`], so
//! that one cache line carries all of it. Once both ranks have a ring to each other, the two share a
//! [`Shuttle`]: an answer goes back in the line that brought the question. A payload of up to [`LONGEST`] bytes goes on in the
//! slots that follow: lines that lie together travel together.
//!
//! There is one producer at a time: the sending rank's own thread ([`Ring::push`]), or, if the rank has several threads,
//! the one whose turn it is ([`Ring::push_in_turn`]). The consumer's role
//! belongs to whoever holds the lock of the receiving endpoint. Looking whether something is there
//! ([`Ring::is_ready`]) is open to all.
#![allow(unsafe_code)] // Passes on the contracts of the ring below; payloads come by address.

use crate::words::copy_short;
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

/// The longest payload of a message of several slots.
pub const LONGEST: usize = 1024;

/// Bytes of payload that each slot holds but the first.
const NEXT: usize = weft_sync::ring::PAYLOAD;

/// Returns how many slots a payload takes.
#[inline]
fn slots(length: usize) -> u32 {
    1 + length.saturating_sub(PAYLOAD).div_ceil(NEXT) as u32
}

/// What travels beside the payload: two words, which go from registers into the slot. Narrower fields, written to memory one by
/// one and read together, would be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The context number below, the length of the payload and the mark [`OFFER`] above.
    context: u64,
    /// The sender's rank in the communicator below, the tag above.
    from: u64,
}

/// Marks, in a header's length, a payload that is not the data, but says where the data is.
pub const OFFER: u32 = 1 << 31;

impl Header {
    /// Makes the header of a message of the rank `source` of a communicator; `length` is that of the payload, with the mark.
    #[inline(always)]
    pub const fn new(context: u32, source: i32, tag: i32, length: u32) -> Self {
        Self {
            context: context as u64 | (length as u64) << 32,
            from: source as u32 as u64 | (tag as u32 as u64) << 32,
        }
    }

    /// Returns the context number.
    #[inline(always)]
    pub const fn context(&self) -> u32 {
        self.context as u32
    }

    /// Returns the sender's rank in the communicator.
    #[inline(always)]
    pub const fn source(&self) -> i32 {
        self.from as u32 as i32
    }

    /// Returns the tag.
    #[inline(always)]
    pub const fn tag(&self) -> i32 {
        (self.from >> 32) as u32 as i32
    }

    /// Returns the length of the payload.
    #[inline(always)]
    pub const fn length(&self) -> usize {
        ((self.context >> 32) as u32 & !OFFER) as usize
    }

    /// Tells whether the payload says where the data is.
    #[inline(always)]
    pub const fn is_offer(&self) -> bool {
        (self.context >> 32) as u32 & OFFER != 0
    }
}

/// A message in a ring.
pub struct Message {
    /// The header.
    pub header: Header,
    /// The payload, as much of it as a slot holds; see [`Ring::copy_payload`].
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
    /// Only one thread ever calls this on a ring. `payload` is readable for so many bytes as the header says,
    /// which are at most [`LONGEST`].
    #[inline]
    pub unsafe fn push(&self, header: Header, payload: *const u8) -> bool {
        let length = header.length();
        if length > PAYLOAD {
            // SAFETY: the caller's promise.
            return unsafe { self.push_slots(header, payload) };
        }
        let fill = |slot: &mut Payload| {
            (slot[0], slot[1]) = (header.context, header.from);
            // SAFETY: the payload is as long as promised, and the slot has room for it.
            unsafe { copy_short(payload, slot[HEADER_WORDS..].as_mut_ptr().cast(), length) };
        };
        // SAFETY: the caller is the only producer.
        unsafe { self.lane().push_with(fill) }
    }

    /// As [`Ring::push`], for a payload that takes several slots.
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    unsafe fn push_slots(&self, header: Header, payload: *const u8) -> bool {
        let length = header.length();
        debug_assert!((PAYLOAD + 1..=LONGEST).contains(&length));
        let fill = |place: u32, slot: &mut Payload| {
            // SAFETY: each slot takes what is left of the payload, and no more than it has room for.
            unsafe {
                if place == 0 {
                    (slot[0], slot[1]) = (header.context, header.from);
                    let to = slot[HEADER_WORDS..].as_mut_ptr().cast::<u8>();
                    core::ptr::copy_nonoverlapping(payload, to, PAYLOAD);
                    return;
                }
                let at = PAYLOAD + (place as usize - 1) * NEXT;
                let from = payload.add(at);
                match length - at {
                    NEXT.. => *slot = from.cast::<Payload>().read_unaligned(),
                    rest => copy_short(from, slot.as_mut_ptr().cast(), rest),
                }
            }
        };
        // SAFETY: the caller is the only producer.
        unsafe { self.lane().push_slots(slots(length), fill) }
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
        let header = Header { context: slot[0], from: slot[1] };
        Some(Message { header, payload: slot[HEADER_WORDS..].as_ptr().cast(), carrier })
    }

    /// Copies the first `bytes` bytes of the payload of a message that takes several slots.
    ///
    /// # Safety
    /// As [`Ring::pop`]; the payload has so many bytes, and there is room for them.
    pub unsafe fn copy_payload(&self, message: &Message, to: *mut u8, bytes: usize) {
        self.ring.prefetch_message(1..slots(bytes));
        // SAFETY: the message's slots are all there with the first, and the consumer's until they are taken.
        unsafe {
            core::ptr::copy_nonoverlapping(message.payload, to, bytes.min(PAYLOAD));
            for place in 1..slots(bytes) {
                let at = PAYLOAD + (place as usize - 1) * NEXT;
                let Some(slot) = self.ring.peek_slot(place) else {
                    unreachable!("a slot of a message is missing")
                };
                match bytes - at {
                    NEXT.. => to.add(at).cast::<Payload>().write_unaligned(*slot),
                    rest => copy_short(slot.as_ptr().cast(), to.add(at), rest),
                }
            }
        }
    }

    /// Takes a message.
    ///
    /// # Safety
    /// The caller has the consumer's role, and `message` is what the last [`Ring::peek`] returned.
    #[inline]
    pub unsafe fn pop(&self, message: &Message) {
        // SAFETY: the caller's promise.
        unsafe {
            match message.header.length() {
                0..=PAYLOAD => self.lane().pop(message.carrier),
                length => self.lane().pop_slots(slots(length)),
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn header(tag: i32) -> Header {
        Header::new(1, 2, tag, 4)
    }

    /// Takes the next message: its tag and its payload of four bytes.
    fn take(ring: &Ring) -> Option<(i32, i32)> {
        // SAFETY: each test has one consumer, the caller; the payload is four bytes.
        unsafe {
            let message = ring.peek()?;
            let value = message.payload.cast::<i32>().read_unaligned();
            ring.pop(&message);
            Some((message.header.tag(), value))
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
    fn payloads_of_several_slots_come_whole_and_in_order() {
        let source: Vec<u8> = (0..LONGEST).map(|i| (i * 7 % 251) as u8).collect();
        let (ring, back) = (Ring::default(), Ring::default());
        Ring::join(&ring, &back);
        for length in 0..=LONGEST {
            let mut sent = 0;
            // SAFETY: this thread is producer and consumer, and all buffers have room.
            unsafe {
                while sent < 3 && ring.push(Header::new(1, 2, sent, length as u32), source.as_ptr()) {
                    sent += 1;
                }
                assert!(sent >= 1);
                for tag in 0..sent {
                    let message = ring.peek().unwrap();
                    assert_eq!((message.header.tag(), message.header.length()), (tag, length));
                    for bytes in [length, length / 2] {
                        let mut got = vec![0xff; length + 1];
                        ring.copy_payload(&message, got.as_mut_ptr(), bytes);
                        assert_eq!(got[..bytes], source[..bytes]);
                        assert!(got[bytes..].iter().all(|&byte| byte == 0xff), "{length} {bytes}");
                    }
                    ring.pop(&message);
                }
                assert!(ring.peek().is_none());
            }
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
                        let header = Header::new(1, thread, i, 4);
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
                let source = message.header.source();
                assert_eq!(message.header.tag(), next[source as usize]);
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
