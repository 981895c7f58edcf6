//! How much of short messages may be kept at a peer: credit, as a pair of counters.
//!
//! A sender begins with what the receiver can keep for it. Each short message takes some of that, and the receiver gives it back
//! when the client has used the message: with what is sent next once some of it is owed, or, when a good part is, by itself. So a
//! receiver never has to refuse a message or to drop one, and its memory is bounded whatever its peers do. A sender without credit
//! offers its data instead.

use std::sync::atomic::{AtomicU32, Ordering};

/// What credit counts, in bytes of the receiver's memory.
const UNIT: u64 = 128;

/// Returns the credit that a short message of a length takes: a unit for itself, and room for the data. One without data takes
/// none: its client bounds how many there are.
#[inline]
pub(crate) fn units(bytes: u64) -> u32 {
    // What travels at once is short.
    if bytes == 0 { 0 } else { 1 + bytes.div_ceil(UNIT) as u32 }
}

/// The credit between this process and a peer, in both directions.
#[derive(Debug)]
pub(crate) struct Window {
    /// What this process may still send.
    room: AtomicU32,
    /// What has been used here and not given back.
    owed: AtomicU32,
    /// From where on it is given back by itself.
    much: u32,
    /// From where on it is given back with what is sent.
    some: u32,
    limit: u32,
}

impl Window {
    /// Begins with so many bytes of memory at either side for what the other one sends.
    pub fn new(bytes: u64) -> Self {
        let limit = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX / 2);
        let much = (limit / 4).clamp(1, u16::MAX.into());
        Self { room: AtomicU32::new(limit), owed: AtomicU32::new(0), much, some: much.div_ceil(4), limit }
    }

    /// Takes credit for a message, if there is enough.
    #[inline]
    pub fn take(&self, units: u32) -> bool {
        let less = |room: u32| room.checked_sub(units);
        units == 0 || self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Puts credit back that came from the peer. Returns false if that is more than there can be.
    #[inline]
    #[must_use]
    pub fn refill(&self, units: u32) -> bool {
        let fits = |room: u32| room.checked_add(units).filter(|&room| room <= self.limit);
        units == 0 || self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// Notes that a message was used. Returns true if what is owed is much, and should be sent by itself.
    #[inline]
    pub fn owe(&self, units: u32) -> bool {
        let before = self.owed.fetch_add(units, Ordering::Relaxed);
        before < self.much && before + units >= self.much
    }

    /// Takes what is owed, to be sent with a header, if it is worth that.
    #[inline]
    pub fn pay(&self) -> u16 {
        if self.owed.load(Ordering::Relaxed) < self.some {
            return 0;
        }
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
            self.owed.fetch_add(paid.into(), Ordering::Relaxed);
        }
    }

    /// Returns what a peer's `other` side of the window and this one know of what this process may send: nothing is lost if that
    /// is what there was at first.
    #[cfg(test)]
    fn whole(&self, other: &Self) -> u32 {
        self.room.load(Ordering::Relaxed) + other.owed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Messages, their use and credit in any order: what is kept never exceeds the limit, and no credit is lost.
        #[test]
        fn memory_is_bounded_and_credit_comes_back(
            limit in 0..40_000u64,
            steps in proptest::collection::vec((0..3u8, 0..5000u64), 0..300),
        ) {
            let (sender, receiver) = (Window::new(limit), Window::new(limit));
            let (mut kept, mut credit) = (Vec::new(), Vec::new());
            for (step, bytes) in steps {
                match step {
                    0 if sender.take(units(bytes)) => kept.push(units(bytes)),
                    1 if !kept.is_empty() => {
                        let place = bytes as usize % kept.len();
                        if receiver.owe(kept.swap_remove(place)) {
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
                if receiver.owe(units) {
                    credit.push(receiver.pay());
                }
            }
            for back in credit.drain(..).chain([receiver.pay()]) {
                prop_assert!(sender.refill(back.into()));
            }
            prop_assert_eq!(u64::from(sender.whole(&receiver)), limit / UNIT);
            let owed = receiver.owed.load(Ordering::Relaxed);
            prop_assert!(owed < receiver.some, "what is not back is little");
        }
    }

    #[test]
    fn credit_nobody_gave_is_refused() {
        let window = Window::new(1000);
        assert!(window.take(3));
        assert!(!window.refill(4));
        assert!(window.refill(3));
    }

    #[test]
    fn a_sender_that_has_used_up_everything_is_told() {
        for limit in [128, 256, 1000, 1 << 20, 1 << 30] {
            let window = Window::new(limit);
            let told = (0..limit / UNIT).filter(|_| window.owe(1)).count();
            assert!(told >= 1, "a sender that has used up {limit} bytes waits for ever");
        }
    }
}
