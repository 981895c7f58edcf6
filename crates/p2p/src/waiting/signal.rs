//! An event threads wait for that is not a message: the end of a partitioned or generalized operation.

use std::sync::atomic::{AtomicBool, Ordering};
use weft_sched::Thread;
use weft_sync::Lock;

/// Something that is set once per round, and the threads to wake then.
pub struct Signal {
    done: AtomicBool,
    /// Under this lock `done` becomes true, so a thread that registers is woken or sees it.
    waiters: Lock<Vec<&'static Thread>>,
}

impl Signal {
    /// Creates a signal that is set or not.
    pub fn new(done: bool) -> Self {
        Self { done: AtomicBool::new(done), waiters: Lock::default() }
    }

    /// Tells whether it is set; if so, what was written before it was set may be read.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// As [`Signal::is_set`]; if not, `waiter` will be unparked when it is set, unless it leaves before.
    pub fn watch(&self, waiter: Option<&'static Thread>) -> bool {
        if self.is_set() {
            return true;
        }
        let Some(waiter) = waiter else { return false };
        let mut waiters = self.waiters.lock();
        if self.is_set() {
            return true;
        }
        if !waiters.iter().any(|thread| core::ptr::eq(*thread, waiter)) {
            waiters.push(waiter);
        }
        false
    }

    /// Forgets a waiter.
    pub fn leave(&self, waiter: &'static Thread) {
        self.waiters.lock().retain(|thread| !core::ptr::eq(*thread, waiter));
    }

    /// Sets it and wakes everybody. Returns whether it was not set before.
    pub fn set(&self) -> bool {
        let (was, waiters) = {
            let mut waiters = self.waiters.lock();
            (self.done.swap(true, Ordering::AcqRel), core::mem::take(&mut *waiters))
        };
        waiters.into_iter().for_each(Thread::unpark);
        !was
    }

    /// Prepares it for another round. For the one party that may wait for it.
    pub fn clear(&self) {
        self.done.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_waiter_is_woken_or_sees_it() {
        for _ in 0..200 {
            let signal = Arc::new(Signal::new(false));
            let setter = std::thread::spawn({
                let signal = signal.clone();
                move || assert!(signal.set())
            });
            while !signal.watch(Some(weft_sched::current())) {
                weft_sched::park();
            }
            setter.join().expect("the setter ends");
            assert!(!signal.set(), "set twice");
            signal.clear();
            assert!(!signal.is_set());
        }
    }

    #[test]
    fn a_waiter_that_left_is_not_kept() {
        let signal = Signal::new(false);
        assert!(!signal.watch(Some(weft_sched::current())));
        assert!(!signal.watch(Some(weft_sched::current())));
        assert_eq!(signal.waiters.lock().len(), 1);
        signal.leave(weft_sched::current());
        assert!(signal.waiters.lock().is_empty());
    }
}
