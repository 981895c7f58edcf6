//! A word to sleep on for those who wait for messages, so that senders make no system call while nobody sleeps.
//!
//! ```text
//! sender:    publish;              barrier;   is the bell awaited? then take that back, count, wake
//! sleeper:   await the bell;       barrier;   is something there?  then stay awake; else sleep unless the count moved
//! ```
//!
//! Of two such sequences at least one sees the other's write. One that takes `awaited` back counts afterwards, and the
//! sleeper has read the count before it said that it awaits, so the kernel's comparison of the count closes the gap
//! until it sleeps. The barrier is the callers' business: a fence on both sides, or none at the sender and one of all
//! processors at the sleeper.
//!
//! All zero is a bell that nobody awaits; it may lie in memory that processes share.

use crate::facade::atomic::{AtomicU32, Ordering};

/// See the module's page.
#[repr(C, align(128))]
pub struct Bell {
    awaited: AtomicU32,
    count: AtomicU32,
    /// 1 if sleepers make a barrier of all processors.
    barrier: AtomicU32,
}

impl Default for Bell {
    fn default() -> Self {
        Self::new()
    }
}

impl Bell {
    /// Creates a bell that nobody awaits.
    pub fn new() -> Self {
        Self { awaited: AtomicU32::new(0), count: AtomicU32::new(0), barrier: AtomicU32::new(0) }
    }

    /// Says that the caller is about to sleep, and returns the count to sleep on. A barrier and a last look follow.
    #[inline]
    pub fn expect(&self) -> u32 {
        let count = self.count.load(Ordering::Acquire);
        self.awaited.store(1, Ordering::SeqCst);
        count
    }

    /// Says that nobody sleeps any more. Those who share a side of a bell exclude each other in this and in
    /// [`Bell::expect`].
    #[inline]
    pub fn settle(&self) {
        self.awaited.store(0, Ordering::Relaxed);
    }

    /// Rings, if somebody may sleep. Returns whether the caller must wake all who sleep on [`Bell::word`]. Follows a
    /// barrier.
    #[inline]
    pub fn ring(&self) -> bool {
        self.awaited.load(Ordering::Relaxed) != 0 && self.ring_slow()
    }

    #[cold]
    fn ring_slow(&self) -> bool {
        let rings = self.awaited.swap(0, Ordering::SeqCst) != 0;
        if rings {
            self.count.fetch_add(1, Ordering::SeqCst);
        }
        rings
    }

    /// Says that from now on sleepers make a barrier of all processors, so that those who ring need none if they are part
    /// of it.
    pub fn promise_barrier(&self) {
        self.barrier.store(1, Ordering::Release);
    }

    /// Tells whether sleepers make a barrier of all processors.
    #[inline]
    pub fn has_barrier(&self) -> bool {
        self.barrier.load(Ordering::Relaxed) != 0
    }

    /// Returns the word to sleep on while it has the count that [`Bell::expect`] returned.
    #[inline]
    pub fn word(&self) -> &AtomicU32 {
        &self.count
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn rings_once_for_each_expectation() {
        let bell = Bell::new();
        assert!(!bell.ring());
        let count = bell.expect();
        assert!(bell.ring() && !bell.ring());
        assert_ne!(bell.word().load(Ordering::Relaxed), count);
        bell.expect();
        bell.settle();
        assert!(!bell.ring());
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::Lock;
    use crate::facade::atomic::fence;
    use loom::sync::Arc;

    /// Two senders publish and ring; a thread goes to sleep, in every interleaving. It must have seen what was
    /// published, or the count must have moved on from the one it sleeps on.
    #[test]
    fn nobody_sleeps_on_a_message() {
        loom::model(|| {
            let shared = Arc::new((Bell::new(), [AtomicU32::new(0), AtomicU32::new(0)]));
            let senders: Vec<_> = (0..2)
                .map(|i| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        shared.1[i].store(1, Ordering::Release);
                        fence(Ordering::SeqCst);
                        shared.0.ring();
                    })
                })
                .collect();
            let (bell, published) = &*shared;
            let count = bell.expect();
            fence(Ordering::SeqCst);
            let seen = published.iter().all(|word| word.load(Ordering::Acquire) == 1);
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            assert!(seen || bell.word().load(Ordering::SeqCst) != count, "asleep beside a message");
        });
    }

    /// Two threads share a side; one goes to sleep while the other leaves again.
    #[test]
    fn who_leaves_does_not_silence_the_bell_for_others() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let shared = Arc::new((Bell::new(), AtomicU32::new(0), Lock::new(0u32)));
            let sender = {
                let shared = shared.clone();
                loom::thread::spawn(move || {
                    shared.1.store(1, Ordering::Release);
                    fence(Ordering::SeqCst);
                    shared.0.ring();
                })
            };
            let enter = |shared: &(Bell, AtomicU32, Lock<u32>)| {
                let mut sleepers = shared.2.lock();
                *sleepers += 1;
                shared.0.expect()
            };
            let leaver = {
                let shared = shared.clone();
                loom::thread::spawn(move || {
                    enter(&shared);
                    let mut sleepers = shared.2.lock();
                    *sleepers -= 1;
                    if *sleepers == 0 {
                        shared.0.settle();
                    }
                })
            };
            let count = enter(&shared);
            fence(Ordering::SeqCst);
            let seen = shared.1.load(Ordering::Acquire) == 1;
            sender.join().unwrap();
            leaver.join().unwrap();
            assert!(seen || shared.0.word().load(Ordering::SeqCst) != count, "asleep beside a message");
        });
    }
}
