//! A lock that many may hold in one of two ways, in the order in which they came.
//!
//! A window has a gate for each rank's memory: many hold it *shared*, or one alone. And it has one for all ranks' memory
//! together: all who hold everything shared (`MPI_Win_lock_all`), or all who hold some rank's memory alone. So what locks
//! everything changes one word, not one for each rank.
//!
//! # The word
//! A gate is a word, the [`Latch`], and a queue. The latch of a window's memory that several processes map lies in that memory, and
//! each of them changes it; the queue is in one process, that of the rank whose memory the gate is about. Others ask that process when
//! they have to wait, and tell it when they leave and find that some wait ([`Gate::let_in`]).
//!
//! `COUNT` is how many hold the gate; `ALONE` is which way they hold it, and means nothing when nobody does. `QUEUED` says that
//! some wait.
//! - Who comes and finds no `QUEUED`, and that the word admits, counts itself with one compare-exchange. With `QUEUED` nobody
//!   passes those who wait, so nobody waits for ever.
//! - All else happens under the lock of the queue. Who has to wait sets `QUEUED` first and then looks whether the front of the
//!   queue may enter. Who leaves counts itself off and looks at what the word was: with `QUEUED` in it, it admits from the front.
//!   Both change the same word, so one of them sees the other: no waiter is overlooked.
//! - Waiters are admitted strictly from the front, so one number tells who is in: how many have been admitted.
//!
//! # Several gates
//! A lock on all memory of a window is held in parts: a gate in each process, taken one after the other. Who holds some of them and
//! waits behind somebody who waits for another such holder might wait for ever. So it *joins* ([`Gate::join`]): it passes all who
//! wait, and waits for nobody but those who are in and hold the gate alone. Only they must end by themselves. Who waits to be alone at a
//! process where ranks of others join all the time may wait long.
//!
//! Nobody waits here: who is not admitted gets a ticket and waits as it likes until it [`Gate::has_admitted`] it; it is told by
//! [`Waiter::wake`].

use std::collections::VecDeque;
use weft_sync::Lock;
use weft_sync::facade::atomic::{AtomicU64, Ordering};

const QUEUED: u64 = 1 << 63;
const ALONE: u64 = 1 << 62;
const COUNT: u64 = (1 << 32) - 1;

/// How one holds a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// With others that do so.
    Shared,
    /// Against those who share; at a rank's own gate, against everybody.
    Alone,
}

/// Who waits, and is told when it is admitted.
pub trait Waiter: Sized {
    /// Tells it.
    fn wake(self);

    /// Has it look whether it may still wait.
    fn disturb(&self) {}
}

/// The word of a gate. All zero is that nobody holds it.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Latch(AtomicU64);

/// Returns the word after one more has entered, if it may, whoever waits. At most `most` may hold it alone.
#[inline(always)]
fn entered(word: u64, way: Way, most: u64) -> Option<u64> {
    let (count, bit) = (word & COUNT, if way == Way::Alone { ALONE } else { 0 });
    let most = if way == Way::Alone { most } else { COUNT };
    let may = count == 0 || (word & ALONE == bit && count < most);
    may.then_some(word & QUEUED | bit | (count + 1))
}

impl Latch {
    /// Enters, if nobody waits and the word admits; at most `most` hold it alone.
    #[inline(always)]
    pub fn enter(&self, way: Way, most: u32) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        while word & QUEUED == 0
            && let Some(next) = entered(word, way, most.into())
        {
            match self.0.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => word = other,
            }
        }
        false
    }

    /// Leaves; returns whether others wait, who are then to be let in.
    #[inline(always)]
    #[must_use]
    pub fn leave(&self) -> bool {
        let word = self.0.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(word & COUNT > 0, "somebody left who was not in");
        word & QUEUED != 0
    }

    /// Tells how it is held, if it is.
    pub fn held(&self) -> Option<Way> {
        let word = self.0.load(Ordering::Relaxed);
        (word & COUNT > 0).then_some(if word & ALONE != 0 { Way::Alone } else { Way::Shared })
    }
}

struct Queue<W> {
    /// How many tickets were given out.
    tickets: u64,
    waiting: VecDeque<(Way, W)>,
    /// Those who go before all others, and have no tickets.
    joining: VecDeque<W>,
}

/// The queue of a gate. All its functions get the latch, always the same one.
pub struct Gate<W> {
    /// How many of those who had to wait were admitted.
    admitted: AtomicU64,
    /// How many may hold it alone at a time.
    alone: u32,
    queue: Lock<Queue<W>>,
}

impl<W: Waiter> Gate<W> {
    /// Creates that of a gate that at most `alone` hold [`Way::Alone`] at a time.
    pub fn new(alone: u32) -> Self {
        let queue = Lock::new(Queue { tickets: 0, waiting: VecDeque::new(), joining: VecDeque::new() });
        Self { admitted: AtomicU64::new(0), alone, queue }
    }

    /// Enters, or gets a ticket. `waiter` says who waits.
    #[inline(always)]
    pub fn enter(&self, latch: &Latch, way: Way, waiter: impl FnOnce() -> W) -> Option<u64> {
        if latch.enter(way, self.alone) { None } else { Some(self.queue_up(latch, way, waiter())) }
    }

    #[cold]
    fn queue_up(&self, latch: &Latch, way: Way, waiter: W) -> u64 {
        let mut queue = self.queue.lock();
        latch.0.fetch_or(QUEUED, Ordering::AcqRel);
        let ticket = queue.tickets;
        queue.tickets += 1;
        queue.waiting.push_back((way, waiter));
        let woken = self.admit(latch, &mut queue);
        drop(queue);
        woken.into_iter().for_each(W::wake);
        ticket
    }

    /// Enters [`Way::Shared`] before all who wait. `waiter` is told when it is in, perhaps at once.
    pub fn join(&self, latch: &Latch, waiter: W) {
        let mut queue = self.queue.lock();
        latch.0.fetch_or(QUEUED, Ordering::AcqRel);
        queue.joining.push_back(waiter);
        let woken = self.admit(latch, &mut queue);
        drop(queue);
        woken.into_iter().for_each(W::wake);
    }

    /// Tells whether the one with a ticket has entered.
    #[inline]
    pub fn has_admitted(&self, ticket: u64) -> bool {
        self.admitted.load(Ordering::Acquire) > ticket
    }

    /// Leaves.
    #[inline(always)]
    pub fn leave(&self, latch: &Latch) {
        if latch.leave() {
            self.let_in(latch);
        }
    }

    /// Lets in who waits, as far as the latch admits.
    #[cold]
    pub fn let_in(&self, latch: &Latch) {
        let mut queue = self.queue.lock();
        let woken = self.admit(latch, &mut queue);
        drop(queue);
        woken.into_iter().for_each(W::wake);
    }

    /// Has all who wait look whether they may still wait.
    pub fn disturb(&self) {
        self.queue.lock().waiting.iter().for_each(|(_, waiter)| waiter.disturb());
    }

    /// Admits from the front as many as the word allows. Those who are admitted are to be told after the lock of the queue is
    /// released: they may run at once.
    fn admit(&self, latch: &Latch, queue: &mut Queue<W>) -> Vec<W> {
        let mut woken = Vec::new();
        loop {
            let joins = !queue.joining.is_empty();
            let way = match queue.waiting.front() {
                _ if joins => Way::Shared,
                Some(&(way, _)) => way,
                None => break,
            };
            let word = latch.0.load(Ordering::Acquire);
            let Some(next) = entered(word, way, self.alone.into()) else { return woken };
            if latch.0.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                // Somebody left: nobody else changes the word while some wait.
                continue;
            }
            if joins {
                woken.extend(queue.joining.pop_front());
            } else {
                woken.extend(queue.waiting.pop_front().map(|(_, waiter)| waiter));
                self.admitted.fetch_add(1, Ordering::Release);
            }
        }
        latch.0.fetch_and(!QUEUED, Ordering::AcqRel);
        woken
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Nobody;

    impl Waiter for Nobody {
        fn wake(self) {}
    }

    /// A gate with its latch.
    struct Whole<W>(Latch, Gate<W>);

    impl<W: Waiter> Whole<W> {
        fn enter(&self, way: Way, waiter: impl FnOnce() -> W) -> Option<u64> {
            self.1.enter(&self.0, way, waiter)
        }

        fn join(&self, waiter: W) {
            self.1.join(&self.0, waiter);
        }

        fn leave(&self) {
            self.1.leave(&self.0);
        }

        fn has_admitted(&self, ticket: u64) -> bool {
            self.1.has_admitted(ticket)
        }

        fn held(&self) -> Option<Way> {
            self.0.held()
        }
    }

    fn gate<W: Waiter>(alone: u32) -> Whole<W> {
        Whole(Latch::default(), Gate::new(alone))
    }

    #[test]
    fn many_share_and_one_is_alone() {
        let gate = gate::<Nobody>(1);
        assert_eq!(gate.enter(Way::Shared, || Nobody), None);
        assert_eq!(gate.enter(Way::Shared, || Nobody), None);
        let ticket = gate.enter(Way::Alone, || Nobody).expect("two share");
        assert!(!gate.has_admitted(ticket));
        gate.leave();
        assert!(!gate.has_admitted(ticket));
        gate.leave();
        assert!(gate.has_admitted(ticket));
        assert_eq!(gate.held(), Some(Way::Alone));
        gate.leave();
        assert_eq!(gate.held(), None);
    }

    #[test]
    fn nobody_passes_those_who_wait() {
        let gate = gate::<Nobody>(1);
        assert_eq!(gate.enter(Way::Shared, || Nobody), None);
        let alone = gate.enter(Way::Alone, || Nobody).expect("one shares");
        let late = gate.enter(Way::Shared, || Nobody).expect("one waits to be alone");
        let later = gate.enter(Way::Shared, || Nobody).expect("two wait");
        gate.leave();
        assert!(gate.has_admitted(alone) && !gate.has_admitted(late));
        gate.leave();
        assert!(gate.has_admitted(late) && gate.has_admitted(later));
        gate.leave();
        gate.leave();
        assert_eq!(gate.enter(Way::Alone, || Nobody), None);
    }

    #[test]
    fn who_joins_passes_those_who_wait_but_not_those_who_are_in() {
        struct Told(std::sync::Arc<std::sync::atomic::AtomicBool>);
        impl Waiter for Told {
            fn wake(self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let word = std::sync::Arc::<std::sync::atomic::AtomicBool>::default;
        let [first, alone, late, joined, again] = core::array::from_fn(|_| word());
        let gate = gate(1);
        assert_eq!(gate.enter(Way::Shared, || Told(first.clone())), None);
        let ticket = gate.enter(Way::Alone, || Told(alone.clone())).expect("one shares");
        let later = gate.enter(Way::Shared, || Told(late.clone())).expect("one waits");
        gate.join(Told(joined.clone()));
        assert!(joined.load(Ordering::Relaxed) && !gate.has_admitted(ticket));
        gate.leave();
        gate.leave();
        assert!(gate.has_admitted(ticket) && alone.load(Ordering::Relaxed) && !gate.has_admitted(later));
        gate.join(Told(again.clone()));
        assert!(!again.load(Ordering::Relaxed));
        gate.leave();
        assert!(again.load(Ordering::Relaxed) && gate.has_admitted(later));
        gate.leave();
        gate.leave();
        assert_eq!(gate.held(), None);
    }

    #[test]
    fn where_many_may_be_alone_they_exclude_those_who_share() {
        let gate = gate::<Nobody>(u32::MAX);
        assert_eq!(gate.enter(Way::Alone, || Nobody), None);
        assert_eq!(gate.enter(Way::Alone, || Nobody), None);
        let all = gate.enter(Way::Shared, || Nobody).expect("two are alone");
        gate.leave();
        assert!(!gate.has_admitted(all));
        gate.leave();
        assert!(gate.has_admitted(all));
    }

    #[test]
    fn who_sees_the_latch_alone_passes_nobody_and_says_when_to_let_in() {
        let Whole(latch, gate) = gate::<Nobody>(1);
        assert!(latch.enter(Way::Shared, 1) && latch.enter(Way::Shared, 1));
        assert!(!latch.enter(Way::Alone, 1));
        assert!(!latch.leave());
        let ticket = gate.enter(&latch, Way::Alone, || Nobody).expect("one shares");
        assert!(!latch.enter(Way::Shared, 1), "one waits");
        assert!(latch.leave() && !gate.has_admitted(ticket));
        gate.let_in(&latch);
        assert!(gate.has_admitted(ticket) && latch.held() == Some(Way::Alone));
        assert!(!latch.leave() && latch.enter(Way::Alone, 1));
    }
}
