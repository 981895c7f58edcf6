//! The dynamic linker of this process: what it is asked for, and what it needs to hear.
//!
//! - `order`: makes it search in an order, and lets debuggers see its list again. `wrapper`: the object for that.
#![allow(unsafe_code)] // Calls the dynamic linker and describes its records.

pub(crate) mod order;
mod wrapper;

use crate::edit::NAME_SLOT;
use crate::error::{Error, ErrorKind, Result};
use std::ffi::{CStr, CString, c_char, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lists the functions that copies get from the loader.
pub const REPLACED: [&str; 8] =
    ["dlopen", "dlmopen", "dlsym", "dlvsym", "dlclose", "dlinfo", "dlerror", "dl_iterate_phdr"];

/// Describes the public head of the linker's record of a loaded object (`<link.h>`).
#[repr(C)]
pub(crate) struct LinkMap {
    pub base: usize,
    pub name: *const c_char,
    dynamic: *mut c_void,
    pub next: *mut LinkMap,
    previous: *mut LinkMap,
}

/// Taken by whoever loads: two threads doing it at the same time would read the linker's list while it grows.
pub(crate) static LOADING: Mutex<()> = Mutex::new(());

/// Returns the size of a page of memory.
pub(crate) fn page_size() -> u64 {
    // SAFETY: asks for a constant of the system.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

/// Loads libraries that all copies share; copies then find them by name whatever their own search lists say.
pub(crate) fn load_shared(paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| Error::new(path, ErrorKind::Unreadable, "has a zero byte in its path"))?;
        // SAFETY: a valid path; the libraries on the shared list run no user code while they are loaded.
        if unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }.is_null() {
            return Err(Error::new(path, ErrorKind::Refused, linker_error()));
        }
    }
    Ok(())
}

/// Tells whether the host or a library it was linked with defines a symbol: the linker finds those first.
pub(crate) fn host_defines(symbol: &str) -> bool {
    let Ok(name) = CString::new(symbol) else { return false };
    // SAFETY: the handle of the host itself, which stays valid; looking up a name has no effect.
    unsafe { !libc::dlsym(libc::dlopen(std::ptr::null(), libc::RTLD_NOW), name.as_ptr()).is_null() }
}

pub(crate) fn memory_file(path: &Path, length: u64) -> Result<File> {
    // Newer kernels want to hear whether the file will be started as a program, which it will not; a system may
    // insist (vm.memfd_noexec=2). Older kernels do not know the flag.
    // SAFETY: a constant name; the result is checked.
    let create = |flags| unsafe { libc::memfd_create(c"program".as_ptr(), libc::MFD_CLOEXEC | flags) };
    let mut fd = create(libc::MFD_NOEXEC_SEAL);
    if fd < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
        fd = create(0);
    }
    if fd < 0 {
        let hint = "no memory file for its copy (each copy needs a few open files while it is loaded, see ulimit -n)";
        return Err(Error::system(path, hint, &io::Error::last_os_error()));
    }
    // SAFETY: a descriptor just created that nobody else owns.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(length).map_err(|e| Error::system(path, "no memory file for its copy", &e))?;
    Ok(file)
}

/// Spells the path of an open file so that no two calls give the same text.
///
/// The number is written in empty and `.` path components at the front, where a comparison of two names ends soon.
/// The process is named by its number because debuggers open the path too: `self` would be the debugger, which waits
/// for ever if its descriptor happens to be a terminal or a pipe.
pub(crate) fn unique_path(file: &File) -> CString {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut path = String::from("/");
    while number != 0 {
        path.push_str(if number & 1 == 1 { "./" } else { "/" });
        number >>= 1;
    }
    path.push_str(&format!("proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
    debug_assert!(path.len() < NAME_SLOT as usize);
    CString::new(path).unwrap_or_default()
}

pub(crate) fn linker_error() -> String {
    // SAFETY: reads the calling thread's message, which stays valid until its next call to the linker.
    unsafe {
        let message = libc::dlerror();
        if message.is_null() {
            return "was refused by the dynamic linker without a reason".into();
        }
        format!("was refused by the dynamic linker: {}", CStr::from_ptr(message).to_string_lossy())
    }
}

/// Adds the limit that is most likely behind a refusal.
pub(crate) fn explain(message: String) -> String {
    let number = |path| std::fs::read_to_string(path).ok().and_then(|s| s.trim().parse::<usize>().ok());
    let maps = std::fs::read("/proc/self/maps").map_or(0, |m| m.iter().filter(|b| **b == b'\n').count());
    match number("/proc/sys/vm/max_map_count") {
        Some(limit) if maps + 16 > limit => format!(
            "{message}; the process has {maps} memory mappings and the system allows {limit}: raise it with sysctl \
             vm.max_map_count={}",
            4 * limit
        ),
        _ => message,
    }
}

/// Takes the linker's message of the calling thread.
pub(crate) fn take_message() -> Option<String> {
    // SAFETY: null or a C string that is valid until the thread's next call.
    unsafe {
        let message = libc::dlerror();
        (!message.is_null()).then(|| CStr::from_ptr(message).to_string_lossy().into_owned())
    }
}
