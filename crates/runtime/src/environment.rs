//! The C vectors that a rank's `main` gets.
#![allow(unsafe_code)] // Reads the process's `environ`.

use core::ffi::{CStr, c_char};
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A null-terminated array of C strings that lives as long as the process. Ranks may write into the strings, so each
/// has its own.
pub struct Vector {
    strings: Vec<CString>,
}

impl Vector {
    /// Takes arguments over. Bytes after a zero are lost; a command line has none.
    pub fn of_arguments(arguments: &[OsString]) -> Self {
        let strings = arguments.iter().map(|argument| CString::new(argument.as_bytes()).unwrap_or_default());
        Self { strings: strings.collect() }
    }

    /// Makes the process's environment with some variables changed.
    pub fn of_environment(changes: &[(OsString, OsString)]) -> Self {
        let is_changed = |name: &[u8]| changes.iter().any(|(changed, _)| changed.as_bytes() == name);
        let inherited = std::env::vars_os().filter(|(name, _)| !is_changed(name.as_bytes()));
        let entries = inherited.chain(changes.iter().cloned());
        let strings = entries.filter_map(|(name, value)| {
            CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok()
        });
        Self { strings: strings.collect() }
    }

    /// Returns the number of strings.
    pub fn length(&self) -> usize {
        self.strings.len()
    }

    /// Returns a fresh array of fresh strings, never freed.
    pub fn leak(&self) -> *mut *mut c_char {
        let copies = self.strings.iter().map(|text| CStr::to_owned(text).into_raw());
        let array: Vec<*mut c_char> = copies.chain([core::ptr::null_mut()]).collect();
        Box::leak(array.into_boxed_slice()).as_mut_ptr()
    }
}

/// What tells a rank of its program. Lives as long as the process.
pub struct ProgramNames {
    /// The program's file.
    pub path: &'static CStr,
    /// The arguments, with a zero byte after each.
    pub command_line: &'static [u8],
}

impl ProgramNames {
    /// Keeps the names of a program.
    pub fn of(path: &Path, arguments: &[OsString]) -> Self {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        let line = arguments.iter().flat_map(|argument| argument.as_bytes().iter().copied().chain([0]));
        Self { path: Box::leak(path.into_boxed_c_str()), command_line: line.collect::<Vec<u8>>().leak() }
    }
}
