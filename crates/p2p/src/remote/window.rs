//! How much of eager messages may be under way to a node process, or be kept there: credit, as a pair of counters.
//!
//! A sender begins with what the receiver can keep for it. Each eager message takes some of that, and the receiver gives it
//! back when it has delivered the message: with what it sends next once some of it is owed, or, when a good part is, by itself
//! (each message that carries credit costs both sides an atomic operation). So a
//! receiver never has to refuse a message or to drop one, its memory is bounded whatever its peers do, and a sender needs
//! no copy of what it has sent. A sender without credit asks before it sends data.

use crate::endpoint::solo;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use weft_sync::Section;

/// What credit counts, in bytes of the receiver's memory.
const UNIT: u64 = 128;

/// Returns the credit that a message of a length takes: its envelope's unit, and room for the data.
#[inline]
pub fn units(bytes: u64) -> u32 {
    // An eager message is short.
    1 + bytes.div_ceil(UNIT) as u32
}

/// The credit between this process and a peer, in both directions.
#[derive(Debug)]
pub struct Window {
    /// What this process may still send.
    room: AtomicU32,
    /// What it has delivered and not given back.
    owed: AtomicU32,
    /// From where on it gives back by itself.
    much: u32,
    /// From where on it gives back with what it sends.
    some: u32,
    limit: u32,
    refused: AtomicU64,
}

impl Window {
    /// Begins with `there` bytes of memory at the peer for this process, and `here` bytes here for the peer.
    pub fn new(there: u64, here: u64) -> Self {
        let room = u32::try_from(there / UNIT).unwrap_or(u32::MAX / 2);
        let much = u32::try_from(here / UNIT / 4).unwrap_or(u32::MAX / 8).clamp(1, u16::MAX.into());
        Self {
            room: AtomicU32::new(room),
            owed: AtomicU32::new(0),
            much,
            some: much.div_ceil(4),
            limit: room,
            refused: AtomicU64::new(0),
        }
    }

    /// Takes credit for a message, if there is enough.
    #[inline]
    pub fn take(&self, units: u32) -> bool {
        let section = solo::enter();
        let taken = if section.is_inside() {
            let left = self.room.load(Ordering::Relaxed).checked_sub(units);
            left.map(|left| self.room.store(left, Ordering::Relaxed)).is_some()
        } else {
            solo::meet();
            let less = |room: u32| room.checked_sub(units);
            self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
        };
        if !taken {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    /// Puts credit back that came from the peer, or was taken for nothing. Returns false if it is more than there can be.
    #[inline]
    #[must_use]
    pub fn refill(&self, units: u32) -> bool {
        if units == 0 {
            return true;
        }
        solo::meet();
        let fits = |room: u32| room.checked_add(units).filter(|&room| room <= self.limit);
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// Notes that a message was delivered. Returns true if what is owed is much, and should be sent by itself.
    #[inline]
    pub fn owe(&self, units: u32, section: &Section<'_>) -> bool {
        let before = if section.is_inside() {
            // Others change it after they met.
            let before = self.owed.load(Ordering::Relaxed);
            self.owed.store(before.wrapping_add(units), Ordering::Relaxed);
            before
        } else {
            self.owed.fetch_add(units, Ordering::Relaxed)
        };
        before < self.much && before + units >= self.much
    }

    /// Takes what is owed, to be sent with a header, if it is worth that.
    #[inline]
    pub fn pay(&self) -> u16 {
        if self.owed.load(Ordering::Relaxed) < self.some {
            return 0;
        }
        solo::meet();
        let mut paid = 0;
        let pay = |owed: u32| {
            paid = owed.min(u16::MAX.into());
            Some(owed - paid)
        };
        let _ = self.owed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay);
        paid as u16
    }

    /// Notes that credit could not be sent.
    #[inline]
    pub fn owe_again(&self, paid: u16) {
        if paid != 0 {
            solo::meet();
            self.owed.fetch_add(paid.into(), Ordering::Relaxed);
        }
    }

    /// Returns how often there was no credit.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Sender and receiver with messages, deliveries and credit in any order: what is kept never exceeds the limit, no
        /// credit is lost, and the sender can always go on after everything is delivered.
        #[test]
        fn memory_is_bounded_and_credit_comes_back(
            limit in 0..40_000u64,
            steps in proptest::collection::vec((0..3u8, 0..5000u64), 0..300),
        ) {
            let (sender, receiver) = (Window::new(limit, limit), Window::new(limit, limit));
            let mut kept = Vec::new();
            let mut credit = Vec::new();
            for (step, bytes) in steps {
                match step {
                    0 if sender.take(units(bytes)) => kept.push(units(bytes)),
                    1 if !kept.is_empty() => {
                        let place = bytes as usize % kept.len();
                        if receiver.owe(kept.swap_remove(place), &Section::outside()) {
                            credit.push(receiver.pay());
                        }
                    }
                    2 => if let Some(back) = credit.pop() {
                        prop_assert!(sender.refill(back.into()));
                    },
                    _ => {}
                }
                prop_assert!(u64::from(kept.iter().sum::<u32>()) * UNIT <= limit);
            }
            for units in kept.drain(..) {
                if receiver.owe(units, &Section::outside()) {
                    credit.push(receiver.pay());
                }
            }
            for back in credit.drain(..).chain([receiver.pay()]) {
                prop_assert!(sender.refill(back.into()));
            }
            let owed = receiver.owed.load(Ordering::Relaxed);
            prop_assert!(owed < receiver.some, "what is not back is little");
            prop_assert!(sender.take((limit / UNIT) as u32 - owed), "the rest is back");
            prop_assert!(!sender.take(1), "and no more");
        }
    }

    #[test]
    fn credit_nobody_gave_is_refused() {
        let window = Window::new(1000, 1000);
        assert!(window.take(3));
        assert!(!window.refill(4));
        assert!(window.refill(3));
    }

    #[test]
    fn without_much_owed_nothing_is_sent_and_a_full_window_is_always_much() {
        for limit in [128, 256, 1000, 1 << 20] {
            let window = Window::new(limit, limit);
            let all = (limit / UNIT) as u32;
            let told = (0..all).filter(|_| window.owe(1, &Section::outside())).count();
            assert!(told >= 1, "a sender that has used up {limit} bytes waits for ever");
            assert_eq!(u32::from(window.pay()), all);
        }
    }
}
