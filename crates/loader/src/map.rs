//! Maps a file read-only, so that reading a few tables of a large program does not read all of it.
#![allow(unsafe_code)]

use crate::error::{Error, ErrorKind, Result};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Holds a file open and its bytes visible.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    address: *mut libc::c_void,
    length: usize,
}

// SAFETY: the mapping is read-only and owned; nothing in it depends on the thread.
unsafe impl Send for MappedFile {}
// SAFETY: `bytes` only hands out shared references to memory that never changes.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Opens and maps a regular file.
    ///
    /// # Errors
    /// Says why the file cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        let unreadable =
            |e: std::io::Error| Error::new(path, ErrorKind::Unreadable, format!("cannot be read: {e}"));
        let file = File::open(path).map_err(unreadable)?;
        let data = file.metadata().map_err(unreadable)?;
        if !data.is_file() {
            return Err(Error::new(path, ErrorKind::Unreadable, "is not a regular file"));
        }
        let length = data.len() as usize;
        if length == 0 {
            return Ok(MappedFile { file, address: std::ptr::null_mut(), length });
        }
        // SAFETY: a new private read-only mapping of an open file at an address of the kernel's choice.
        let address = unsafe {
            libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
        };
        if address == libc::MAP_FAILED {
            return Err(Error::system(path, "cannot be mapped", &std::io::Error::last_os_error()));
        }
        Ok(MappedFile { file, address, length })
    }

    /// Returns the file's bytes.
    pub fn bytes(&self) -> &[u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: the mapping covers `length` bytes and lives as long as `self`. Whoever truncates a program's
        // file while it is started gets SIGBUS, as with every other way to start it.
        unsafe { std::slice::from_raw_parts(self.address.cast(), self.length) }
    }

    /// Returns the open file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if self.length != 0 {
            // SAFETY: the mapping is ours and no reference into it outlives `self`.
            unsafe { libc::munmap(self.address, self.length) };
        }
    }
}
