//! The barrier between one thread that passes often and others that come rarely: theirs reaches all processors, where the kernel
//! has such a one, so that the first needs none.

use crate::facade::atomic::{Ordering, fence};

/// Lets owners rely on the kernel's global barrier if it has one. To be called before any other thread uses a
/// [`Biased`](crate::Biased); until then owners use a fence.
pub fn enable_global_barrier() {
    #[cfg(not(loom))]
    kernel::enable();
}

/// Tells whether owners need no fence.
pub(crate) fn has_global_barrier() -> bool {
    #[cfg(not(loom))]
    return kernel::is_enabled();
    #[cfg(loom)]
    true
}

#[inline]
pub(crate) fn owner_barrier() {
    #[cfg(not(loom))]
    kernel::owner();
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

pub(crate) fn visitor_barrier() {
    #[cfg(not(loom))]
    kernel::visitor();
    fence(Ordering::SeqCst);
}

#[cfg(not(loom))]
mod kernel {
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
