//! A short-section lock.
//!
//! Two words: `word` is 1 while the lock is held, `sleepers` counts who sleeps or is about to. Locking is one atomic
//! operation. Unlocking is none: a store, then a look at `sleepers`; only if there are some it makes a system call. A
//! waiter first spins, since sections are tens of nanoseconds; then it counts itself and sleeps while the word is 1.
//!
//! The race of an unlock with a waiter that falls asleep: the unlock's look may come before its store is visible, so it
//! may overlook a waiter who has counted itself and still saw the lock held. The kernel compares the word again when
//! that waiter sleeps, a system call later; by then the store has left the processor's store buffer. No architecture
//! promises by when, so sleeping has a limit, after which the waiter looks again: the promise costs at most that much,
//! and an exchange at each unlock would cost every message (4 to 9 of 90 ns).
//!
//! There is no poisoning: a panic in the library ends the process.
#![allow(unsafe_code)] // The guard hands out references to the cell's content while the word is held.

use crate::facade::{
    UnsafeCell,
    atomic::{AtomicU32, Ordering},
    pause,
};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// How long a waiter sleeps before it looks again.
#[cfg(not(loom))]
const NAP: core::time::Duration = core::time::Duration::from_millis(1);

/// Guards `T` for short sections. Never hold one across anything that can switch ranks: the rank that comes next on
/// the same worker could wait for it, and the holder would never run.
#[derive(Debug)]
pub struct Lock<T> {
    word: AtomicU32,
    sleepers: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands its content to one thread at a time.
unsafe impl<T: Send> Send for Lock<T> {}
// SAFETY: sharing the lock shares no reference to the content, which only the holder of the lock makes.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T: Default> Default for Lock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// Unlocks on drop.
pub struct LockGuard<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Lock<T> {
    /// Creates an unlocked lock.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        Self { word: AtomicU32::new(FREE), sleepers: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Creates an unlocked lock.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        Self { word: AtomicU32::new(FREE), sleepers: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Locks, waiting as long as it takes.
    #[inline]
    pub fn lock(&self) -> LockGuard<'_, T> {
        if self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_slow();
        }
        LockGuard { lock: self }
    }

    /// Locks without an atomic operation, if nobody holds the lock.
    ///
    /// # Safety
    /// No other thread can take the lock meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn try_lock_alone(&self) -> Option<LockGuard<'_, T>> {
        if self.word.load(Ordering::Acquire) != FREE {
            return None;
        }
        self.word.store(HELD, Ordering::Relaxed);
        Some(LockGuard { lock: self })
    }

    /// Locks if nobody holds the lock.
    #[inline]
    pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        self.word
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            .then(|| LockGuard { lock: self })
    }

    #[cold]
    fn lock_slow(&self) {
        for look in 0..SPINS {
            if self.word.load(Ordering::Relaxed) == FREE
                && self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return;
            }
            // A section may be shorter than a pause; a long one is that of a thread that lost its core, maybe to this.
            if cfg!(loom) || look >= 16 {
                pause();
            }
            #[cfg(not(loom))]
            if look >= 64 && look.is_multiple_of(16) {
                weft_sys::cpu::yield_core();
            }
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            sleep(&self.word);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

const SPINS: u32 = if cfg!(loom) { 1 } else { 200 };

#[cfg(not(loom))]
fn sleep(word: &AtomicU32) {
    weft_sys::futex::wait_for(word, HELD, Some(NAP));
}
#[cfg(loom)]
fn sleep(_: &AtomicU32) {
    pause(); // A futex may return at any time; the model takes the earliest.
}

impl<T> Drop for LockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.word.store(FREE, Ordering::Release);
        // The guard borrows the lock, so it is still there.
        if self.lock.sleepers.load(Ordering::Relaxed) != 0 {
            #[cfg(not(loom))]
            weft_sys::futex::wake(&self.lock.word, 1);
        }
    }
}

impl<T> core::ops::Deref for LockGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this guard exists, so its thread holds the lock, and nobody else makes a reference.
        self.lock.value.with(|p| unsafe { &*p })
    }
}

impl<T> core::ops::DerefMut for LockGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and the guard is borrowed exclusively, so there is no other reference.
        self.lock.value.with_mut(|p| unsafe { &mut *p })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn excludes() {
        let lock = Arc::new(Lock::new((0u64, 0u64)));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let lock = lock.clone();
                std::thread::spawn(move || {
                    for _ in 0..20_000 {
                        let mut pair = lock.lock();
                        pair.0 += 1;
                        let copy = pair.0;
                        std::hint::black_box(&pair);
                        pair.1 += 1;
                        assert_eq!(copy, pair.1);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(*lock.lock(), (80_000, 80_000));
    }

    #[test]
    fn try_lock_fails_while_held() {
        let lock = Lock::new(());
        let guard = lock.lock();
        assert!(lock.try_lock().is_none());
        drop(guard);
        assert!(lock.try_lock().is_some());
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn excludes() {
        loom::model(|| {
            let lock = Arc::new(Lock::new(0));
            let other = lock.clone();
            let thread = loom::thread::spawn(move || *other.lock() += 1);
            *lock.lock() += 1;
            thread.join().unwrap();
            assert_eq!(*lock.lock(), 2);
        });
    }
}
