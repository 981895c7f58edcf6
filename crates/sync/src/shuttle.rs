//! A cache line that goes to and fro between two sides and carries a message each way.
//!
//! Where one side writes a line and the other only reads it, a message moves two lines' worth: the writer takes the
//! line from the reader's cache, then the reader fetches it. A reply that is written into the line that brought the
//! message finds it in its writer's cache, so a conversation costs one move per message, the least there is. The line
//! serves only strict alternation; who has nothing to answer uses a [`Ring`](crate::Ring).
//!
//! What was measured (two cores, 8-byte messages of the whole library one way, against a flag handed to and fro in one
//! line): where the flag takes 200 ns, 230 ns with rings and 198 ns with the shuttle. Where the flag takes 22 ns, about
//! 64 ns with either: the waiting side looks again before the answer is written, and so takes the line back. There even
//! the bare flag takes 46 ns with 7 ns of work between its arrival and the answer, and 60 ns with 13 ns.
//!
//! # The word
//! The low half numbers the messages: odd ones go from [`Side::First`] to [`Side::Second`], even ones back. The high
//! half is for the sender's use; it tells the receiver which messages of a ring were sent before this one. Each side
//! keeps, away from the line, the number it awaits (`awaited`, always of the parity that comes to it).
//!
//! - The message that a side awaits is there when the word has its number.
//! - A side may write when the word still has the number before the one awaited of that parity: the last message came
//!   here and has been taken. Only that side may change the word then, and the other only waits.
//!
//! Races closed: a payload is read after its number was seen (acquire) and was written before (release); it is
//! overwritten only by the side that took it, after `awaited` has moved on (release, acquire), even if another thread
//! of that side took it.
#![allow(unsafe_code)] // The payload is a shared cell; the word says whose it is.

use crate::CachePadded;
use crate::facade::{
    UnsafeCell,
    atomic::{AtomicU32, AtomicU64, Ordering},
};
use crate::ring::Payload;

/// One of the two sides of a [`Shuttle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that may write first.
    First,
    /// The side that answers.
    Second,
}

impl Side {
    /// Returns the opposite side.
    #[inline]
    pub fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

#[repr(align(64))]
struct Line {
    word: AtomicU64,
    payload: UnsafeCell<Payload>,
}

/// A line for two sides; see the module's page.
pub struct Shuttle {
    line: CachePadded<Line>,
    /// For each side the number of the message it awaits; written by that side only.
    awaited: [CachePadded<AtomicU32>; 2],
}

// SAFETY: writing and taking are unsafe to call; their contracts and the word make the accesses exclusive.
unsafe impl Send for Shuttle {}
// SAFETY: the word says which side may touch the payload, and each side has one thread at a time.
unsafe impl Sync for Shuttle {}

impl Default for Shuttle {
    fn default() -> Self {
        Self::new()
    }
}

impl Shuttle {
    /// Creates a shuttle that lies at the first side.
    pub fn new() -> Self {
        let line = Line { word: AtomicU64::new(0), payload: UnsafeCell::new(Payload::default()) };
        Self {
            line: CachePadded(line),
            awaited: [CachePadded(AtomicU32::new(2)), CachePadded(AtomicU32::new(1))],
        }
    }

    #[inline]
    fn awaited(&self, side: Side) -> &AtomicU32 {
        &self.awaited[side as usize]
    }

    /// Sends from `side`, if the shuttle lies there: lets `fill` write the payload, and publishes it with `mark`.
    /// Returns false, without calling `fill`, if it does not. `fill` need not write all of the payload.
    ///
    /// # Safety
    /// One thread at a time sends from a side.
    #[inline]
    pub unsafe fn push_with(&self, side: Side, mark: u32, fill: impl FnOnce(&mut Payload)) -> bool {
        let awaited = self.awaited(side).load(Ordering::Acquire);
        if self.line.word.load(Ordering::Relaxed) as u32 != awaited.wrapping_sub(2) {
            return false;
        }
        // SAFETY: the word says that the last message came to this side and has been taken, so nobody reads the
        // payload, and nobody but this thread writes.
        self.line.payload.with_mut(|payload| fill(unsafe { &mut *payload }));
        let word = u64::from(mark) << 32 | u64::from(awaited.wrapping_sub(1));
        self.line.word.store(word, Ordering::Release);
        true
    }

    /// Tells whether a message to `side` is there. Open to all; a hint to those who are not its consumer.
    #[inline]
    pub fn is_ready(&self, side: Side) -> bool {
        self.line.word.load(Ordering::Acquire) as u32 == self.awaited(side).load(Ordering::Relaxed)
    }

    /// Returns the message to `side`, with its mark, if it is there. It stays until [`Shuttle::pop`].
    ///
    /// # Safety
    /// The caller is the one consumer of the side, and stays it until it has let go of the payload.
    #[inline]
    pub unsafe fn peek(&self, side: Side) -> Option<(u32, &Payload)> {
        let word = self.line.word.load(Ordering::Acquire);
        if word as u32 != self.awaited(side).load(Ordering::Relaxed) {
            return None;
        }
        // SAFETY: the word says that the payload is written, and that it is this side's until `awaited` moves on.
        Some(((word >> 32) as u32, self.line.payload.with(|payload| unsafe { &*payload })))
    }

    /// Takes the message that [`Shuttle::peek`] returned. From now on the side may send.
    ///
    /// # Safety
    /// The caller is the one consumer of the side and has seen a message since the last call.
    #[inline]
    pub unsafe fn pop(&self, side: Side) {
        let awaited = self.awaited(side);
        awaited.store(awaited.load(Ordering::Relaxed).wrapping_add(2), Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sides_alternate() {
        let shuttle = Shuttle::new();
        let (mut from, mut count) = (Side::First, 0u32);
        // SAFETY: one thread is both sides.
        unsafe {
            while count < 1000 {
                let to = from.other();
                assert!(!shuttle.push_with(to, 0, |_| unreachable!("the shuttle is not there")));
                assert!(shuttle.peek(to).is_none());
                assert!(shuttle.push_with(from, count, |payload| payload[0] = u64::from(count) * 3));
                assert!(!shuttle.push_with(from, 0, |_| unreachable!("sent already")));
                assert!(!shuttle.push_with(to, 0, |_| unreachable!("not taken yet")));
                assert!(shuttle.is_ready(to) && !shuttle.is_ready(from));
                let (mark, payload) = shuttle.peek(to).unwrap();
                assert_eq!((mark, payload[0]), (count, u64::from(count) * 3));
                shuttle.pop(to);
                assert!(shuttle.peek(to).is_none());
                (from, count) = (to, count + 1);
            }
        }
    }

    #[test]
    fn numbers_may_wrap() {
        let shuttle = Shuttle::new();
        // The state after 2^32 - 2 messages.
        shuttle.line.word.store(u64::from(u32::MAX - 1), Ordering::Relaxed);
        shuttle.awaited[0].store(0, Ordering::Relaxed);
        shuttle.awaited[1].store(u32::MAX, Ordering::Relaxed);
        // SAFETY: one thread is both sides.
        unsafe {
            for from in [Side::First, Side::Second, Side::First, Side::Second] {
                assert!(!shuttle.push_with(from.other(), 0, |_| ()));
                assert!(shuttle.push_with(from, 0, |_| ()));
                assert!(shuttle.peek(from.other()).is_some());
                shuttle.pop(from.other());
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn a_conversation_is_whole_and_in_order() {
        loom::model(|| {
            let shuttle = Arc::new(Shuttle::new());
            let other = shuttle.clone();
            let talk = |shuttle: &Shuttle, side: Side, mut value: u64, turns: u64| {
                for _ in 0..turns {
                    // SAFETY: the only thread of its side.
                    unsafe {
                        loop {
                            let seen = shuttle.peek(side).map(|(_, payload)| *payload);
                            if let Some(payload) = seen {
                                assert_eq!(payload, [value; 7]);
                                break;
                            }
                            loom::thread::yield_now();
                        }
                        shuttle.pop(side);
                        assert!(shuttle.push_with(side, 0, |payload| *payload = [value + 1; 7]));
                    }
                    value += 2;
                }
            };
            let second = loom::thread::spawn(move || talk(&other, Side::Second, 1, 2));
            // SAFETY: the only thread of its side.
            unsafe { assert!(shuttle.push_with(Side::First, 0, |payload| *payload = [1; 7])) };
            talk(&shuttle, Side::First, 2, 1);
            second.join().unwrap();
        });
    }

    #[test]
    fn another_thread_of_the_side_may_take() {
        loom::model(|| {
            let shuttle = Arc::new(Shuttle::new());
            // SAFETY: nobody else knows the shuttle.
            unsafe { assert!(shuttle.push_with(Side::First, 0, |payload| *payload = [1; 7])) };
            let other = shuttle.clone();
            let taker = loom::thread::spawn(move || {
                // SAFETY: the only consumer of this side.
                unsafe {
                    let (_, payload) = other.peek(Side::Second).unwrap();
                    assert_eq!(payload, &[1; 7]);
                    other.pop(Side::Second);
                }
            });
            // SAFETY: the only sender of this side. Loom's cells notice a write that does not come after the read.
            while !unsafe { shuttle.push_with(Side::Second, 0, |payload| *payload = [2; 7]) } {
                loom::thread::yield_now();
            }
            taker.join().unwrap();
        });
    }
}
