//! Numbers that are passed by address.
//!
//! Unsafe because it reads and writes what the program passes.
#![allow(unsafe_code)]

use core::ffi::c_int;

/// Converts a number before a call that changes it.
///
/// # Safety
/// `number` is null or a variable.
#[inline]
pub unsafe fn read_number(number: *mut c_int, ours: fn(c_int) -> c_int) {
    if !number.is_null() {
        // SAFETY: the caller's promise of the variable.
        unsafe { *number = ours(*number) }
    }
}

/// Converts a number that a call has stored.
///
/// # Safety
/// `number` is null or a variable that has a value.
#[inline]
pub unsafe fn store_number(number: *mut c_int, theirs: fn(c_int) -> c_int) {
    if !number.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *number = theirs(*number) }
    }
}

/// An array of numbers that a call reads.
pub struct Numbers(Option<Vec<c_int>>);

impl Numbers {
    /// Converts an array.
    ///
    /// # Safety
    /// `start` is null or an array of that length.
    pub unsafe fn read(start: *const c_int, length: c_int, ours: fn(c_int) -> c_int) -> Self {
        let length = usize::try_from(length).unwrap_or(0);
        // SAFETY: within the length that the caller says.
        Self((!start.is_null()).then(|| (0..length).map(|at| ours(unsafe { *start.add(at) })).collect()))
    }

    /// Returns what the call takes.
    pub fn address(&self) -> *mut c_int {
        self.0.as_ref().map_or(core::ptr::null_mut(), |all| all.as_ptr().cast_mut())
    }
}
