//! One member's part in an operation.

use super::work::Zeal;
use super::{Crossing, Part};
use crate::hier::wire::EVERYBODY;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;
use weft_base::Result;
use weft_sched::Thread;

/// How many operations a member that waits for each may be ahead of others here.
const AHEAD: u32 = 64;

/// One member's part in an operation.
///
/// A member that needs nothing of the others, as the root of a broadcast, would be any number of operations ahead of them, each of
/// which keeps its data for those who are still to come. So in each [`AHEAD`]-th that it waits for it waits for them, too.
pub(crate) struct Pending {
    crossing: Arc<Crossing>,
    member: u32,
    over: AtomicBool,
    /// The changes up to which the member has looked for something to do.
    seen: AtomicU32,
    /// Whether it has been registered as waiter since.
    waits: AtomicBool,
}

impl Pending {
    /// Starts a member's part.
    pub fn start(crossing: Arc<Crossing>, member: u32, part: &Part) -> Self {
        let over = crossing.arrive(member, part);
        Self {
            crossing,
            member,
            over: AtomicBool::new(over),
            seen: AtomicU32::new(u32::MAX),
            waits: AtomicBool::new(false),
        }
    }

    /// See [`crate::Pending::advance`].
    pub fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        let exchange = self.crossing.spread.exchange;
        let over = self.look(waiter);
        if over && exchange.has_debts() && !weft_sched::has_source() {
            // Nobody else would pay them.
            exchange.nodes().poll();
            return !exchange.has_debts();
        }
        over
    }

    fn look(&self, waiter: Option<&'static Thread>) -> bool {
        if self.over.load(Ordering::Relaxed) {
            return true;
        }
        self.crossing.spread.exchange.nodes().poll();
        let changes = self.crossing.changes.load(Ordering::Acquire);
        let registered = waiter.is_none() || self.waits.load(Ordering::Relaxed);
        if registered && self.seen.load(Ordering::Relaxed) == changes {
            return false;
        }
        let over = self.crossing.work(self.member, waiter, Zeal::Own);
        if over {
            self.over.store(true, Ordering::Relaxed);
        } else {
            self.waits.store(waiter.is_some(), Ordering::Relaxed);
            self.seen.store(changes, Ordering::Relaxed);
        }
        over
    }

    /// See [`crate::Pending::is_over`].
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// See [`crate::Pending::leave`].
    pub fn leave(&self) {
        // Registered or not: a look without a waiter says that it is to be registered again, and leaves it there.
        self.waits.store(false, Ordering::Relaxed);
        if !self.over.load(Ordering::Relaxed) {
            let place = self.crossing.place(self.member);
            self.crossing.state.lock().waiters[place] = None;
        }
    }

    /// See [`crate::Pending::wait`].
    pub fn wait(&self) -> Result {
        self.wait_until(|waiter| self.advance(waiter));
        if self.crossing.key.member == EVERYBODY {
            let ahead = &self.crossing.spread.ahead[self.crossing.place(self.member)];
            if ahead.fetch_add(1, Ordering::Relaxed) + 1 >= AHEAD {
                ahead.store(0, Ordering::Relaxed);
                self.wait_until(|waiter| {
                    self.crossing.spread.exchange.nodes().poll();
                    self.crossing.awaits_nobody(waiter)
                });
            }
        }
        self.result()
    }

    fn wait_until(&self, done: impl Fn(Option<&'static Thread>) -> bool) {
        if weft_sched::has_source() {
            let thread = weft_sched::current();
            weft_sched::wait_until(|| done(Some(thread)));
        } else {
            self.crossing.spread.exchange.wait(|| done(None));
        }
    }

    /// See [`crate::Pending::result`].
    pub fn result(&self) -> Result {
        self.crossing.result(self.member)
    }
}
