//! `errno` of the calling thread.
#![allow(unsafe_code)] // The C library gives its address, which is the thread's own for as long as it lives.

/// What `errno` is when this is made, put back when it goes.
///
/// A rank that moves to another worker meanwhile takes its `errno` along.
#[must_use = "errno is put back when this goes"]
#[derive(Debug)]
pub struct Kept {
    address: *mut libc::c_int,
    value: libc::c_int,
}

/// Returns where the calling thread's `errno` is.
pub fn address() -> *mut libc::c_int {
    // SAFETY: asks nothing of its caller.
    unsafe { libc::__errno_location() }
}

/// Keeps what `errno` is.
#[inline]
pub fn keep() -> Kept {
    // SAFETY: the calling thread's own.
    unsafe { keep_at(address()) }
}

/// Keeps what `errno` is, without a call.
///
/// # Safety
/// `address` is what [`address`] returns in the calling thread.
#[inline(always)]
pub unsafe fn keep_at(address: *mut libc::c_int) -> Kept {
    // SAFETY: the calling thread's own.
    Kept { address, value: unsafe { *address } }
}

impl Drop for Kept {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this is not sent to other threads, so the one whose own it is still lives.
        unsafe { *self.address = self.value }
    }
}
