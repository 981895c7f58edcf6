//! Atomics and cells from `core`, or from loom when its model checker runs (`--cfg loom`).
//!
//! Protocols are written against these names. Code that needs `const` constructors or real threads is not modelled.

#[cfg(not(loom))]
pub mod atomic {
    //! Atomics, fences and a pause.
    pub use core::sync::atomic::*;
}
#[cfg(loom)]
pub mod atomic {
    //! Atomics and fences of the model.
    pub use loom::sync::atomic::*;
}

#[cfg(loom)]
pub use loom::cell::UnsafeCell;

/// A cell whose accesses a model can check. Same interface as loom's.
#[cfg(not(loom))]
#[derive(Debug, Default)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Passes a pointer for reading; whoever dereferences it sees to it that nobody writes.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Passes a pointer for writing; whoever dereferences it sees to it that nobody else reads or writes.
    #[inline(always)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// Waits a moment inside a spin loop (in a model: lets another thread run).
#[inline(always)]
pub fn pause() {
    #[cfg(not(loom))]
    core::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// Orders everything before against everything after, between a sequentially consistent read-modify-write and a
/// later load. On x86-64 the read-modify-write is a full barrier already, so this costs nothing there.
#[inline(always)]
pub fn fence_after_rmw() {
    #[cfg(any(loom, not(target_arch = "x86_64")))]
    atomic::fence(atomic::Ordering::SeqCst);
    #[cfg(not(any(loom, not(target_arch = "x86_64"))))]
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
}
