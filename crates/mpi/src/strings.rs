//! Strings to and from C callers.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_int};
use weft_base::constants::MPI_ERR_ARG;
use weft_base::{Error, In, Out, Result};

/// Reads a NUL-terminated string argument called `name`.
///
/// # Errors
/// `MPI_ERR_ARG` for a null pointer or text that is not UTF-8.
pub fn read(string: In<c_char>, name: &str) -> Result<String> {
    if string.is_null() {
        return Err(Error::new(MPI_ERR_ARG, format!("{name} is a null pointer; pass a string")));
    }
    // SAFETY: `In`'s contract: a non-null string argument is NUL-terminated, as the standard demands.
    let bytes = unsafe { CStr::from_ptr(string.address()) };
    let text = bytes.to_str().map_err(|_| Error::new(MPI_ERR_ARG, format!("{name} is not valid UTF-8")))?;
    Ok(text.to_owned())
}

/// Writes `text` and a NUL into an output string that holds `limit` characters in all, cutting what is too long, and
/// stores the length without the NUL.
pub fn write(text: &str, output: Out<c_char>, limit: usize, length: Out<c_int>) {
    let bytes = &text.as_bytes()[..text.len().min(limit - 1)];
    for (i, &byte) in bytes.iter().enumerate() {
        output.set_at(i, byte as c_char);
    }
    output.set_at(bytes.len(), 0);
    length.set(bytes.len() as c_int);
}
