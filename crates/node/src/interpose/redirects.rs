//! The functions that ranks get instead of libc's (`redirects.list`).

use super::descriptors::real;
use core::ffi::{c_int, c_void};
use weft_base::host::Function;

include!(concat!(env!("OUT_DIR"), "/redirects.rs"));

/// Returns the table and its length.
pub extern "C" fn functions(count: *mut usize) -> *const Function {
    // SAFETY: the caller's own place for the number.
    unsafe { *count = FUNCTIONS.len() };
    FUNCTIONS.as_ptr()
}

/// Returns what a number of the calling rank stands for, to functions in C.
#[unsafe(no_mangle)]
extern "C" fn rank_number(number: c_int) -> c_int {
    real(number)
}
