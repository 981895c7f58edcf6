//! A lock of a rank, for which its threads wait as they wait in the library: a rank that waits leaves its worker to others.

use core::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and somebody may wait for it.
const WANTED: u32 = 2;

/// How threads wait for a word to change.
pub trait Waits {
    /// Returns when the word may have another value than `value`.
    fn wait(&self, word: &AtomicU32, value: u32);
    /// Ends the waits for a word that has been changed.
    fn wake(&self, word: &AtomicU32);
}

/// A lock that any thread of the rank may release, whoever took it.
#[derive(Default)]
pub struct Lock(AtomicU32);

impl Lock {
    /// Creates a lock that nobody holds.
    pub const fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    /// Waits until the lock is free, and takes it.
    #[inline]
    pub fn acquire(&self, waits: &impl Waits) {
        if self.0.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // Whoever comes through here leaves the word at `WANTED`, since more may wait.
            while self.0.swap(WANTED, Ordering::SeqCst) != FREE {
                waits.wait(&self.0, WANTED);
            }
        }
    }

    /// Releases the lock.
    #[inline]
    pub fn release(&self, waits: &impl Waits) {
        if self.0.swap(FREE, Ordering::SeqCst) == WANTED {
            waits.wake(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;

    struct Yields;

    impl Waits for Yields {
        fn wait(&self, word: &AtomicU32, value: u32) {
            while word.load(Ordering::SeqCst) == value {
                std::thread::yield_now();
            }
        }
        fn wake(&self, _word: &AtomicU32) {}
    }

    struct Counter(UnsafeCell<u32>);
    // SAFETY: the test changes it under the lock only.
    #[allow(unsafe_code)]
    unsafe impl Sync for Counter {}

    #[test]
    #[allow(unsafe_code)]
    fn one_thread_at_a_time_holds_it() {
        let (lock, counter) = (Lock::new(), Counter(UnsafeCell::new(0)));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let counter = &counter;
                    for _ in 0..1000 {
                        lock.acquire(&Yields);
                        // SAFETY: the lock is held.
                        unsafe { *counter.0.get() += 1 };
                        lock.release(&Yields);
                    }
                });
            }
        });
        assert_eq!(counter.0.into_inner(), 3000);
    }
}
