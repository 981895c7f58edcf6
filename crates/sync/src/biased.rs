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

use crate::facade::{
    atomic::{AtomicU32, Ordering, fence},
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

#[cfg(not(loom))]
mod barrier {
    use core::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

    /// False: owners fence themselves.
    static GLOBAL: AtomicBool = AtomicBool::new(false);

    pub(super) fn enable() {
        if weft_sys::cpu::register_global_barrier() {
            GLOBAL.store(true, Ordering::SeqCst);
        }
    }

    pub(super) fn is_enabled() -> bool {
        GLOBAL.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn owner() {
        if GLOBAL.load(Ordering::Relaxed) {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    pub(super) fn visitor() {
        if GLOBAL.load(Ordering::Relaxed) {
            weft_sys::cpu::global_barrier();
        } else {
            fence(Ordering::SeqCst);
        }
    }
}

/// Lets owners rely on the kernel's global barrier if it has one. To be called before any other thread uses a
/// [`Biased`]; until then owners use a fence.
pub fn enable_global_barrier() {
    #[cfg(not(loom))]
    barrier::enable();
}

/// Tells whether owners need no fence.
pub(crate) fn has_global_barrier() -> bool {
    #[cfg(not(loom))]
    return barrier::is_enabled();
    #[cfg(loom)]
    true
}

#[inline]
pub(crate) fn owner_barrier() {
    #[cfg(not(loom))]
    barrier::owner();
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

pub(crate) fn visitor_barrier() {
    #[cfg(not(loom))]
    barrier::visitor();
    fence(Ordering::SeqCst);
}
