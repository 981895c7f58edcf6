//! Texts that calls store, where the other interface may leave less room for them than the standard's.
//!
//! Unsafe because it writes what the program passes.
#![allow(unsafe_code)]

use crate::special::refuse_ours;
use core::ffi::{CStr, c_int};
use core::mem::MaybeUninit;
use weft_base::constants::{MPI_ERR_OTHER, MPI_MAX_LIBRARY_VERSION_STRING};

/// The longest text that any call stores.
const LONGEST: usize = MPI_MAX_LIBRARY_VERSION_STRING as usize;

/// A text for which the program has `LIMIT` bytes.
pub struct Text<const LIMIT: usize> {
    buffer: MaybeUninit<[u8; LONGEST]>,
    target: *mut u8,
}

impl<const LIMIT: usize> Text<LIMIT> {
    /// Makes room for a text of ours.
    pub fn new(target: *mut u8) -> Self {
        let mut text = Self { buffer: MaybeUninit::uninit(), target };
        // SAFETY: the first byte of the room.
        unsafe { text.buffer.as_mut_ptr().cast::<u8>().write(0) };
        text
    }

    /// Returns what the call takes.
    pub fn address(&mut self) -> *mut u8 {
        if self.target.is_null() { core::ptr::null_mut() } else { self.buffer.as_mut_ptr().cast() }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the call has stored a text with its zero, or there is the zero of an empty one.
        unsafe { CStr::from_ptr(self.buffer.as_ptr().cast()) }.to_bytes()
    }

    /// Stores the text as far as there is room, and how long it is then.
    ///
    /// # Safety
    /// Both are variables of the program.
    pub unsafe fn write_part(&self, length: *mut c_int) {
        let bytes = self.bytes();
        let fits = bytes.len().min(LIMIT - 1);
        // SAFETY: there are that many bytes on both sides, and one for the zero.
        unsafe {
            self.target.copy_from_nonoverlapping(bytes.as_ptr(), fits);
            self.target.add(fits).write(0);
            if !length.is_null() {
                *length = fits as c_int;
            }
        }
    }

    /// Stores the text if the call, which returned `code`, has succeeded; one that is too long is an error.
    ///
    /// # Safety
    /// The text is a variable of the program.
    pub unsafe fn write(&self, code: c_int, call: &'static CStr) -> c_int {
        if code != 0 || self.target.is_null() {
            return code;
        }
        let length = self.bytes().len();
        if length >= LIMIT {
            let text = format!(
                "the text has {length} characters; the MPI this program was built for has room for {} only",
                LIMIT - 1
            );
            return refuse_ours(MPI_ERR_OTHER, call, &text);
        }
        // SAFETY: the text is no longer than the program's variable.
        unsafe { self.write_part(core::ptr::null_mut()) }
        code
    }
}
