//! The functions that are more than conversions.
//!
//! - `attributes`: keys and values. `buffers`: those of buffered sends. `callbacks`: functions of the user. `statuses`: those of Fortran.
//! - `tools`: objects of variables. `others`: spawning, contents of datatypes, ranks of groups. `leftovers`: functions that the standard has removed.
//!
//! Unsafe because it calls C.
#![allow(unsafe_code)]

pub mod attributes;
pub mod buffers;
pub mod callbacks;
pub mod leftovers;
pub mod others;
pub mod statuses;
pub mod tools;

use crate::Abi;
use core::ffi::{CStr, c_char, c_int};
use std::ffi::CString;
use weft_base::constants::MPI_ERR_UNSUPPORTED_OPERATION;

unsafe extern "C" {
    fn weft_fortran_error(class: c_int, call: *const c_char, text: *const c_char) -> c_int;
}

/// Raises an error of a call, and returns our code.
pub(crate) fn refuse_ours(class: c_int, call: &'static CStr, text: &str) -> c_int {
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: both end with zero, and the call's name stays.
    unsafe { weft_fortran_error(class, call.as_ptr(), text.as_ptr()) }
}

/// Raises an error of a call, and returns the other interface's code.
pub fn refuse<A: Abi>(class: c_int, call: &'static CStr, text: &str) -> c_int {
    A::error_theirs(refuse_ours(class, call, text))
}

/// Refuses a call that is not done; its name ends with zero.
pub fn unsupported<A: Abi>(call: &'static str) -> c_int {
    let call = CStr::from_bytes_with_nul(call.as_bytes()).unwrap_or(c"MPI");
    let text = "this function is the other MPI's own, and is not done; use one of the standard's";
    refuse::<A>(MPI_ERR_UNSUPPORTED_OPERATION, call, text)
}
