//! Saved contexts and the switch between them; one file per processor.
//!
//! A context is a stack, a thread pointer and the floating-point control words (on x86-64 mxcsr and the x87 control
//! word: a rank that sets a rounding mode or unmasks exceptions keeps that to itself; they are loaded only where they
//! differ). The signal mask is *not* part of it: a rank that changes its mask changes its worker's.
//!
//! `on_core` is 1 from before a context is resumed until it is wholly saved again. Whoever wants to resume one must
//! have read 0 there, and writes 1. So a context can be made runnable before it has left its core, and no other worker
//! runs on a stack that is still in use.
#![allow(unsafe_code)] // Switching stacks and thread pointers is assembly.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use weft_sync::prefetch;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "aarch64")]
use aarch64 as arch;
#[cfg(target_arch = "x86_64")]
use x86_64 as arch;

/// How many lines of a stack are fetched ahead: what a collective operation uses between its wait and the program.
const STACK_LINES: usize = 8;

/// A place for a saved context. The assembly knows this layout.
#[repr(C)]
pub(crate) struct Context {
    stack_pointer: AtomicUsize,
    thread_pointer: AtomicUsize,
    control: core::cell::UnsafeCell<[u32; 2]>,
    on_core: AtomicU32,
}

// SAFETY: the cells are touched only by `switch` and `detach`, by whoever runs the context or resumes it; `on_core`
// hands them over.
unsafe impl Sync for Context {}
// SAFETY: whoever resumes a context may be on another thread; `on_core` has handed its cells over.
unsafe impl Send for Context {}

unsafe extern "C" {
    fn weft_switch(from: *const Context, to: *const Context);
    fn weft_detach(from: *const Context);
    fn weft_rest(noted: *const AtomicUsize, function: extern "C" fn(*mut c_void), argument: *mut c_void);
    fn weft_walk(stack_pointer: usize, function: extern "C" fn(*mut c_void), argument: *mut c_void);
}

/// Calls the closure that `argument` points to.
extern "C" fn call(argument: *mut c_void) {
    // SAFETY: `rest` and `walk` pass such a pointer, and wait until this returns.
    unsafe { (*argument.cast::<&mut dyn FnMut()>())() }
}

impl Context {
    /// Creates the place for a context that is running now, or about to.
    pub(crate) const fn running() -> Self {
        Self {
            stack_pointer: AtomicUsize::new(0),
            thread_pointer: AtomicUsize::new(0),
            control: core::cell::UnsafeCell::new([0; 2]),
            on_core: AtomicU32::new(1),
        }
    }

    /// Notes the calling kernel thread's thread pointer as the context's own.
    ///
    /// # Safety
    /// The caller runs the context.
    pub(crate) unsafe fn adopt_thread_pointer(&self) {
        self.thread_pointer.store(arch::thread_pointer(), Ordering::Relaxed);
    }

    /// Runs `sleep`, during which the calling thread's stack can be [walked](Self::walk). For a context that is never switched
    /// from, because its thread has a kernel thread to itself.
    pub(crate) fn rest(&self, mut sleep: &mut dyn FnMut()) {
        // SAFETY: the assembly calls `call` with the closure, once, and restores what it has saved.
        unsafe { weft_rest(&self.stack_pointer, call, (&raw mut sleep).cast()) };
    }

    /// Shows the addresses to which the calls on the saved stack return, after some of the caller's own, innermost first, until
    /// `show` returns false.
    ///
    /// # Safety
    /// The context is off its core, or rests, and stays so until this returns.
    pub(crate) unsafe fn walk(&self, show: &mut dyn FnMut(usize) -> bool) {
        let stack_pointer = self.stack_pointer.load(Ordering::Acquire);
        if stack_pointer == 0 {
            return;
        }
        let mut walk = || weft_sys::caller::walk(show);
        let mut walk: &mut dyn FnMut() = &mut walk;
        // SAFETY: a saved context's registers are at its stack pointer, and its stack does not change.
        unsafe { weft_walk(stack_pointer, call, (&raw mut walk).cast()) };
    }

    /// Fetches what resuming the context will touch: the upper end of its stack, and its thread control block.
    #[inline]
    pub(crate) fn prefetch(&self) {
        let stack = self.stack_pointer.load(Ordering::Relaxed);
        for line in 0..STACK_LINES {
            prefetch::address(stack.wrapping_add(line * 64));
        }
        prefetch::address(self.thread_pointer.load(Ordering::Relaxed));
    }

    /// Tells whether the context is on a core, or on its way off one.
    #[inline]
    pub(crate) fn on_core(&self) -> bool {
        self.on_core.load(Ordering::Acquire) != 0
    }
}

/// Leaves the running context `from` and resumes `to`. Returns when somebody resumes `from`.
///
/// # Safety
/// The caller runs `from`; it alone may resume `to`, and has seen it off its core.
#[inline]
pub(crate) unsafe fn switch(from: &Context, to: &Context) {
    to.on_core.store(1, Ordering::Relaxed);
    // SAFETY: what the caller promises is what the assembly needs.
    unsafe { weft_switch(from, to) };
}

/// Saves the caller as `from` and puts the kernel thread to sleep for ever. Returns, on another kernel thread, when
/// somebody resumes `from`.
///
/// # Safety
/// All signals are blocked, and the caller runs `from` on its own kernel thread.
pub(crate) unsafe fn detach(from: &Context) {
    // SAFETY: what the caller promises is what the assembly needs.
    unsafe { weft_detach(from) };
}

/// Returns the thread-local word that names the current thread of control.
#[inline(always)]
pub(crate) fn current() -> *const () {
    arch::current()
}

/// Sets that word.
#[inline]
pub(crate) fn set_current(value: *const ()) {
    arch::set_current(value);
}
