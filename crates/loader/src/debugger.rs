//! Lets a debugger that started this process see a copy under its program's name.
//!
//! A debugger looks at a new object while the linker loads it, when its name leads to a memory file, and not again until
//! something is unloaded. Breakpoints in programs would only work once that has happened.
#![allow(unsafe_code)] // Loads and unloads a library.

use std::sync::OnceLock;

/// A small library that the C library brings and no program uses.
const TRIFLE: &core::ffi::CStr = c"libBrokenLocale.so.1";

/// Tells whether a debugger watches the process. Asked once: one that attaches later reads all names anyway.
fn is_watched() -> bool {
    static IS_WATCHED: OnceLock<bool> = OnceLock::new();
    *IS_WATCHED.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        tracer.is_some_and(|number| number.trim() != "0")
    })
}

/// Makes a debugger, if there is one, read the names of all objects again.
pub(crate) fn notify() {
    if is_watched() {
        // SAFETY: a C string; the library does nothing when it is loaded, and is unloaded again.
        unsafe {
            let handle = libc::dlopen(TRIFLE.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
            if !handle.is_null() {
                libc::dlclose(handle);
            }
        }
    }
}
