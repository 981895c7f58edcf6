//! Texts: padded with blanks for Fortran, ended by zero for C.
//!
//! Unsafe because it reads and writes what Fortran passes.
#![allow(unsafe_code)]

pub(crate) use weft_base::constants::{
    MPI_MAX_DATAREP_STRING, MPI_MAX_ERROR_STRING, MPI_MAX_INFO_KEY, MPI_MAX_LIBRARY_VERSION_STRING,
    MPI_MAX_OBJECT_NAME, MPI_MAX_PORT_NAME, MPI_MAX_PROCESSOR_NAME,
};

/// A text for C.
pub(crate) struct Text(Vec<u8>);

impl Text {
    /// Makes a text of what Fortran passes, without the blanks at its end.
    ///
    /// # Safety
    /// `address` is Fortran's text of that length.
    pub(crate) unsafe fn trimmed(address: *const u8, length: usize) -> Self {
        // SAFETY: the caller's promise.
        let text = unsafe { bytes(address, length) };
        Self::of(text)
    }

    /// As [`Text::trimmed`], without the blanks at its beginning, too: keys and values of info objects, and commands.
    ///
    /// # Safety
    /// `address` is Fortran's text of that length.
    pub(crate) unsafe fn stripped(address: *const u8, length: usize) -> Self {
        // SAFETY: as of the function without the beginning.
        let text = unsafe { bytes(address, length) };
        let start = text.iter().position(|&byte| byte != b' ').unwrap_or(text.len());
        Self::of(&text[start..])
    }

    fn of(text: &[u8]) -> Self {
        let end = text.iter().rposition(|&byte| byte != b' ').map_or(0, |at| at + 1);
        // A text that has an end of its own, as C_NULL_CHAR, ends there.
        let end = text[..end].iter().position(|&byte| byte == 0).unwrap_or(end);
        let mut bytes = Vec::with_capacity(end + 1);
        bytes.extend_from_slice(&text[..end]);
        bytes.push(0);
        Self(bytes)
    }

    /// Tells whether nothing but blanks was passed.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 1
    }

    /// Returns what C takes; C does not change it.
    pub(crate) fn address(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut()
    }
}

unsafe fn bytes<'a>(address: *const u8, length: usize) -> &'a [u8] {
    if length == 0 || address.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise; not null and not empty.
    unsafe { core::slice::from_raw_parts(address, length) }
}

/// Stores a text of C, up to its end, padded with blanks; what is too long is cut.
///
/// # Safety
/// `address` is Fortran's text of that length.
pub(crate) unsafe fn pad(text: &[u8], address: *mut u8, length: usize) {
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len()).min(length);
    // SAFETY: the caller's promise; no more than `length` bytes are stored.
    unsafe {
        core::ptr::copy_nonoverlapping(text.as_ptr(), address, end);
        core::ptr::write_bytes(address.add(end), b' ', length - end);
    }
}
