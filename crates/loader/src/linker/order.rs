//! Makes the linker search in an order, and lets debuggers look at its list again.
#![allow(unsafe_code)] // Calls the dynamic linker and writes into its records.

use super::{LinkMap, memory_file, take_message, unique_path, wrapper};
use std::ffi::{CStr, c_char, c_int};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::PoisonError;

pub(crate) fn open(name: &CStr, flags: c_int) -> Result<usize, String> {
    // SAFETY: a C string; the constructors of what it names are hidden from the linker.
    let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
    if handle.is_null() {
        return Err(take_message().unwrap_or_else(|| "the dynamic linker gives no reason".into()));
    }
    Ok(handle as usize)
}

pub(crate) fn close(handle: usize) {
    // SAFETY: a handle from `open` that is closed once.
    unsafe { libc::dlclose(handle as *mut _) };
}

/// Opens an object that makes the linker search in an order.
pub(crate) fn open_wrapper(needed: &[&CStr], flags: c_int) -> Result<usize, String> {
    let bytes = wrapper::build(needed);
    let path = Path::new("plugin");
    let file = memory_file(path, bytes.len() as u64).map_err(|error| error.message)?;
    file.write_all_at(&bytes, 0).map_err(|error| format!("no memory for a plugin: {error}"))?;
    let name = unique_path(&file);
    let handle = open(&name, flags).map_err(|message| message.replace(&*name.to_string_lossy(), "plugin"))?;
    let map = handle as *mut LinkMap;
    // SAFETY: the linker's record of an object that only we know. Debuggers skip objects without a name; the empty text
    // lies at the end of the name, so what the linker frees must be put back before it unloads: see `close_wrapper`.
    unsafe {
        NAMES.lock().unwrap_or_else(PoisonError::into_inner).push((handle, (*map).name as usize));
        (*map).name = c"".as_ptr();
    }
    Ok(handle)
}

/// Keeps the linker's names of wrappers.
static NAMES: std::sync::Mutex<Vec<(usize, usize)>> = std::sync::Mutex::new(Vec::new());

pub(crate) fn close_wrapper(handle: usize) {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = names.iter().position(|(known, _)| *known == handle) {
        let (_, name) = names.swap_remove(at);
        // SAFETY: the linker's record, which is still there, gets its own name back.
        unsafe { (*(handle as *mut LinkMap)).name = name as *const c_char };
    }
    drop(names);
    close(handle);
}

/// Lets a debugger that is there look at the linker's list again, when names have changed. It looks at an object while the
/// linker loads it, when its name leads to a memory file, and not again until something is loaded or unloaded: breakpoints in
/// programs would only work once that has happened.
pub(crate) fn show_debugger() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).map(str::trim);
    if tracer.is_some_and(|tracer| tracer != "0")
        && let Ok(handle) = open_wrapper(&[], libc::RTLD_LAZY)
    {
        close_wrapper(handle);
    }
}
