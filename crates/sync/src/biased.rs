//! A lock that costs its owner no atomic operation and a visitor a global barrier.
//!
//! A worker takes its own run queue for every switch; others look into it only to steal, when they have nothing else
//! to do. Two words:
//! - `busy`: written by the owner only. 1 while it is inside.
//! - `revoked`: written by visitors only, one at a time (`visitors` is held). 1 while a visitor wants in or is inside.
//!
//! The owner writes `busy`, then reads `revoked`; a visitor writes `revoked`, then reads `busy`. At least one of them
//! must see the other, which needs a full barrier between write and read on both sides. The owner has only a compiler
//! barrier: the visitor's system call puts a full barrier into every running thread in its stead (membarrier; where
//! the kernel lacks it the owner uses a real fence).
//!
//! If both see each other, the owner steps back and the visitor goes in. A visitor that finds the owner inside waits
//! a little, and gives up if the owner does not come out (its kernel thread lost its core).

use crate::barrier::{owner_barrier, visitor_barrier};
use crate::facade::{
    atomic::{AtomicU32, Ordering},
    pause,
};
use crate::{Backoff, CachePadded, Lock};

/// Guards a `T` that has an owner who uses it all the time. `T` is shared, so it must be safe to look at while another
/// thread changes it; the lock only makes sequences of operations on it exclusive.
pub struct Biased<T> {
    busy: AtomicU32,
    value: T,
    visit: CachePadded<Visit>,
}

struct Visit {
    revoked: AtomicU32,
    visitors: Lock<()>,
}

const WAITS: u32 = if cfg!(loom) { 2 } else { 2000 };

impl<T> Biased<T> {
    /// Creates one that nobody is in.
    pub fn new(value: T) -> Self {
        Self {
            busy: AtomicU32::new(0),
            value,
            visit: CachePadded(Visit { revoked: AtomicU32::new(0), visitors: Lock::new(()) }),
        }
    }

    /// Returns the content without exclusion.
    #[inline]
    pub fn look(&self) -> &T {
        &self.value
    }

    /// Runs `f` with the content to itself. Only one thread of control may be the owner at a time, and `f` must not
    /// call [`Biased::owner`] again.
    #[inline]
    pub fn owner<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        self.busy.store(1, Ordering::Relaxed);
        owner_barrier();
        if self.visit.revoked.load(Ordering::Acquire) != 0 {
            self.step_back();
        }
        let result = f(&self.value);
        self.busy.store(0, Ordering::Release);
        result
    }

    #[cold]
    fn step_back(&self) {
        let mut backoff = Backoff::new();
        loop {
            self.busy.store(0, Ordering::Release);
            while self.visit.revoked.load(Ordering::Acquire) != 0 {
                backoff.wait();
            }
            self.busy.store(1, Ordering::Relaxed);
            owner_barrier();
            if self.visit.revoked.load(Ordering::Acquire) == 0 {
                return;
            }
        }
    }

    /// Runs `f` with the content to itself, on behalf of another than the owner. Returns none if another visitor is
    /// there or the owner does not come out.
    pub fn visit<R>(&self, f: impl FnOnce(&T) -> R) -> Option<R> {
        let _only_one = self.visit.visitors.try_lock()?;
        self.visit.revoked.store(1, Ordering::SeqCst);
        visitor_barrier();
        let mut inside = true;
        for _ in 0..WAITS {
            if self.busy.load(Ordering::Acquire) == 0 {
                inside = false;
                break;
            }
            pause();
        }
        let result = (!inside).then(|| f(&self.value));
        self.visit.revoked.store(0, Ordering::Release);
        result
    }
}
