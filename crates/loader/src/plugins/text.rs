//! What `dlerror` says, in libc's words where libc has some.
#![allow(unsafe_code)] // Hands C strings to the program, and asks libc's own function.

use crate::error::{Error, ErrorKind};
use crate::image::Image;
use crate::link::is_pie;
use crate::linker::take_message;
use object::elf;
use std::cell::Cell;
use std::ffi::{CString, c_char};
use std::io;

/// A name that was found nowhere.
pub(crate) fn missing(name: &str) -> String {
    format!("{name}: cannot open shared object file: No such file or directory")
}

/// A file that the system refuses.
pub(crate) fn unreadable(name: &str, error: &io::Error) -> String {
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or_default();
    format!("{name}: cannot open shared object file: {words}")
}

/// What was found out about a file.
pub(crate) fn of_error(name: &str, error: &Error) -> String {
    match error.kind {
        ErrorKind::NotElf | ErrorKind::Script | ErrorKind::Malformed => format!("{name}: invalid ELF header"),
        ErrorKind::Truncated => format!("{name}: file too short"),
        ErrorKind::Not64Bit => format!("{name}: wrong ELF class: ELFCLASS32"),
        ErrorKind::Unreadable if error.message.contains("not a regular file") => {
            format!("{name}: cannot read file data: Is a directory")
        }
        _ => format!("{name}: {}", error.message),
    }
}

/// The program itself.
pub(crate) fn is_program(name: &str) -> String {
    format!("{name}: cannot dynamically load position-independent executable")
}

/// An object that wants to run code on stacks, where the program has none that permit it.
pub(crate) fn needs_stack(name: &str) -> String {
    format!(
        "{name}: needs an executable stack, which this rank, a thread, has not; link it with -z noexecstack, or the \
         program with -z execstack, or run with --ranks-as processes"
    )
}

/// Refuses what is no library.
pub(crate) fn check_kind(name: &str, image: &Image<'_>) -> Result<(), String> {
    match image.kind {
        elf::ET_DYN if is_pie(image) => Err(is_program(name)),
        elf::ET_DYN => Ok(()),
        elf::ET_EXEC => Err(format!("{name}: cannot dynamically load executable")),
        _ => Err(format!("{name}: only ET_DYN and ET_EXEC can be loaded")),
    }
}

thread_local! {
    /// The message that the thread's next `dlerror` returns, or null.
    static PENDING: Cell<*mut c_char> = const { Cell::new(std::ptr::null_mut()) };
    /// The message returned last, which stays valid until the next call.
    static RETURNED: Cell<*mut c_char> = const { Cell::new(std::ptr::null_mut()) };
}

fn release(message: *mut c_char) {
    if !message.is_null() {
        // SAFETY: made by `CString::into_raw`, and nobody is promised that it stays.
        drop(unsafe { CString::from_raw(message) });
    }
}

/// Notes how a call of the calling thread ended: what its next `dlerror` returns.
pub(crate) fn note(message: Option<String>) {
    // What libc noted in between was about our own questions.
    drop(take_message());
    let message =
        message.and_then(|text| CString::new(text).ok()).map_or(std::ptr::null_mut(), CString::into_raw);
    release(PENDING.replace(message));
}

/// Returns the calling thread's message and forgets it.
pub(crate) fn take() -> *mut c_char {
    let message = PENDING.replace(std::ptr::null_mut());
    if message.is_null() {
        // SAFETY: libc's own function, for what libc was asked directly.
        return unsafe { libc::dlerror() };
    }
    release(RETURNED.replace(message));
    message
}
