//! How much of short messages may be kept at a peer: credit, as a pair of counters.
//!
//! A sender begins with what the receiver can keep for it. Each short message takes some of that, and the receiver gives it back
//! when the client has used the message: with what is sent next once some of it is owed, or, when a good part is, by itself
//! (each message that carries credit costs both sides an atomic operation). So a
//! receiver never has to refuse a message or to drop one, its memory is bounded whatever its peers do, and a sender needs no copy of what
//! it has sent. A sender without credit offers its data instead.

use core::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};
use weft_sync::Section;

/// How a client does without atomic operations while one thread does nearly everything: see [`weft_sync::Solo`]. `()` is for
/// clients that do not.
pub trait Sections {
    /// Begins a section of the calling thread, which is in none.
    #[inline(always)]
    fn enter() -> Section<'static> {
        Section::outside()
    }

    /// Is called before an atomic operation outside of sections on what is also changed inside.
    #[inline(always)]
    fn meet() {}
}

impl Sections for () {}

/// What credit counts, in bytes of the receiver's memory.
const UNIT: u64 = 128;

/// What a short message has cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use = "a sender without credit offers everything"]
pub struct Credit(pub(crate) u32);

impl Credit {
    /// Returns that of a message of a length: a unit for itself, and room for the data. One without data takes none unless
    /// `empty_costs`.
    #[inline(always)]
    pub(crate) fn of(bytes: u64, empty_costs: bool) -> Self {
        // What travels at once is short.
        Self(if bytes == 0 && !empty_costs { 0 } else { 1 + bytes.div_ceil(UNIT) as u32 })
    }
}

impl Credit {
    /// Returns how much more this is than another, which is a part of it.
    pub fn beyond(self, part: Self) -> Self {
        Self(self.0 - part.0.min(self.0))
    }
}

/// The credit between this process and a peer, in both directions.
#[derive(Debug)]
pub(crate) struct Window<S> {
    /// What this process may still send.
    room: AtomicU32,
    /// What has been used here and not given back.
    owed: AtomicU32,
    /// From where on it is given back by itself.
    much: u32,
    /// From where on it is given back with what is sent.
    some: u32,
    limit: u32,
    sections: PhantomData<fn() -> S>,
}

impl<S: Sections> Window<S> {
    /// Begins with `there` bytes of memory at the peer for this process, and `here` bytes here for the peer.
    pub fn new(there: u64, here: u64) -> Self {
        let limit = u32::try_from(there / UNIT).unwrap_or(u32::MAX / 2);
        let much = u32::try_from(here / UNIT / 4).unwrap_or(u32::MAX / 8).clamp(1, u16::MAX.into());
        Self {
            room: AtomicU32::new(limit),
            owed: AtomicU32::new(0),
            much,
            some: much.div_ceil(4),
            limit,
            sections: PhantomData,
        }
    }

    /// Takes credit for a message, if there is enough.
    #[inline]
    pub fn take(&self, credit: Credit) -> bool {
        let Credit(units) = credit;
        if units == 0 {
            return true;
        }
        let section = S::enter();
        if section.is_inside() {
            let left = self.room.load(Ordering::Relaxed).checked_sub(units);
            return left.map(|left| self.room.store(left, Ordering::Relaxed)).is_some();
        }
        S::meet();
        let less = |room: u32| room.checked_sub(units);
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Puts credit back that came from the peer, or was taken for nothing. Returns false if that is more than there can be.
    #[inline]
    #[must_use]
    pub fn refill(&self, units: u32) -> bool {
        if units == 0 {
            return true;
        }
        S::meet();
        let fits = |room: u32| room.checked_add(units).filter(|&room| room <= self.limit);
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// Notes that a message was used. Returns true if what is owed is much, and should be sent by itself.
    #[inline]
    pub fn owe(&self, credit: Credit, section: &Section<'_>) -> bool {
        let Credit(units) = credit;
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
        S::meet();
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
            S::meet();
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

    /// A client whose only thread is always in a section of its own, so that nobody else may change anything.
    struct Alone;

    static SOLO: weft_sync::Solo = weft_sync::Solo::new();

    fn me() -> usize {
        thread_local!(static NAME: u64 = const { 0 });
        NAME.with(|name| core::ptr::from_ref(name) as usize)
    }

    impl Sections for Alone {
        fn enter() -> Section<'static> {
            SOLO.enter(me())
        }

        fn meet() {
            SOLO.meet(me);
        }
    }

    /// Messages, their use and credit in any order: what is kept never exceeds the limit, no credit is lost, and the sender can go on
    /// after everything is used.
    fn credit_circulates<S: Sections>(limit: u64, empty_costs: bool, steps: &[(u8, u64)]) {
        let (sender, receiver) = (Window::<S>::new(limit, limit), Window::<S>::new(limit, limit));
        let (mut kept, mut credit) = (Vec::new(), Vec::new());
        let owe = |units: Credit| {
            let section = S::enter();
            receiver.owe(units, &section)
        };
        for &(step, bytes) in steps {
            let cost = Credit::of(bytes, empty_costs);
            match step {
                0 if sender.take(cost) => kept.push(cost),
                1 if !kept.is_empty() => {
                    let place = bytes as usize % kept.len();
                    if owe(kept.swap_remove(place)) {
                        credit.push(receiver.pay());
                    }
                }
                2 => {
                    if let Some(back) = credit.pop() {
                        assert!(sender.refill(back.into()));
                    }
                }
                _ => {}
            }
            let units = kept.iter().map(|credit| credit.0).sum::<u32>();
            assert!(u64::from(units) * UNIT <= limit);
        }
        for units in kept.drain(..) {
            if owe(units) {
                credit.push(receiver.pay());
            }
        }
        for back in credit.drain(..).chain([receiver.pay()]) {
            assert!(sender.refill(back.into()));
        }
        assert_eq!(u64::from(sender.whole(&receiver)), limit / UNIT);
        let owed = receiver.owed.load(Ordering::Relaxed);
        assert!(owed < receiver.some, "what is not back is little");
        assert!(sender.take(Credit((limit / UNIT) as u32 - owed)), "the rest is back");
        assert!(!sender.take(Credit(1)), "and no more");
    }

    proptest! {
        #[test]
        fn memory_is_bounded_and_credit_comes_back(
            limit in 0..40_000u64,
            empty_costs in any::<bool>(),
            steps in proptest::collection::vec((0..3u8, 0..5000u64), 0..300),
        ) {
            credit_circulates::<()>(limit, empty_costs, &steps);
        }
    }

    #[test]
    fn credit_comes_back_without_atomic_operations_too() {
        weft_sync::enable_global_barrier();
        SOLO.reserve(me());
        let mut runner = proptest::test_runner::TestRunner::default();
        let steps = proptest::collection::vec((0..3u8, 0..5000u64), 0..300);
        runner
            .run(&(0..40_000u64, any::<bool>(), steps), |(limit, empty_costs, steps)| {
                credit_circulates::<Alone>(limit, empty_costs, &steps);
                Ok(())
            })
            .expect("all of them");
    }

    #[test]
    fn credit_nobody_gave_is_refused() {
        let window = Window::<()>::new(1000, 1000);
        assert!(window.take(Credit(3)));
        assert!(!window.refill(4));
        assert!(window.refill(3));
    }

    #[test]
    fn a_sender_that_has_used_up_everything_is_told() {
        for limit in [128, 256, 1000, 1 << 20] {
            let window = Window::<()>::new(limit, limit);
            let all = (limit / UNIT) as u32;
            let told = (0..all).filter(|_| window.owe(Credit(1), &Section::outside())).count();
            assert!(told >= 1, "a sender that has used up {limit} bytes waits for ever");
            assert_eq!(u32::from(window.pay()), all);
        }
    }

    #[test]
    fn a_message_without_data_costs_what_its_client_says() {
        assert_eq!([Credit::of(0, false), Credit::of(0, true)], [Credit(0), Credit(1)]);
        assert_eq!([Credit::of(1, false), Credit::of(129, true)], [Credit(2), Credit(3)]);
    }
}
