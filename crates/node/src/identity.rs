//! A rank's process number: that of its own kernel thread, which no other process, thread or rank of the host has.
//!
//! The kernel takes a thread's number where it wants a process's (`kill`, `getpgid`, `/proc/NUMBER`), and gives it to
//! nobody else while the thread is there: as long as the rank.
#![allow(unsafe_code)] // Asks the C library for a number, and keeps strings that live for ever.

use crate::proc_files::short_name;
use crate::shared::Shared;
use core::ffi::{CStr, c_char};

/// The program that a rank runs.
pub struct Program {
    path: &'static CStr,
    command_line: &'static [u8],
    /// `program_invocation_name` and `program_invocation_short_name`, which the program may set.
    pub names: Shared<[*mut c_char; 2]>,
}

impl Program {
    /// Notes a program.
    ///
    /// # Safety
    /// The strings live for ever: the path, the arguments with a zero byte after each, and the name the program was started
    /// under, which may be null.
    pub unsafe fn new(path: *const c_char, command_line: (*const u8, usize), name: *mut c_char) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let name = if name.is_null() { c"".as_ptr().cast_mut() } else { name };
            let text = CStr::from_ptr(name).to_bytes();
            let short = name.add(text.len() - short_name(text).len());
            Self {
                path: CStr::from_ptr(path),
                command_line: core::slice::from_raw_parts(command_line.0, command_line.1),
                names: Shared::new([name, short]),
            }
        }
    }

    /// Returns the program's file.
    pub fn path(&self) -> &'static CStr {
        self.path
    }

    /// Returns the arguments, with a zero byte after each.
    pub fn command_line(&self) -> &'static [u8] {
        self.command_line
    }
}

/// Returns the kernel's number of the thread that belongs to the calling thread of control. In a rank that workers run,
/// the kernel would name the worker.
pub fn own_number() -> Option<i32> {
    let mut clock = 0;
    // SAFETY: a place on this stack, and the calling thread itself.
    let error = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
    // The clock of a thread is its number, inverted, above three bits that say what is measured.
    (error == 0).then_some(!(clock >> 3)).filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_the_kernels() {
        let kernels = || i32::try_from(weft_sys::process::kernel_thread_id()).unwrap();
        assert_eq!(own_number(), Some(kernels()));
        assert!(std::thread::spawn(move || own_number() == Some(kernels())).join().unwrap());
    }
}
