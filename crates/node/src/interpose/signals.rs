//! What a language's runtime does about signals: it stands in the copies' tables (`redirects.list`).
//!
//! libgfortran catches fatal signals to print where its program was. Handlers belong to the process, so the one of the rank that
//! started last would run for a crash of any rank, on the stack that may have overflowed, see none but its own rank's objects, and
//! hide which rank it was. The process has a report of its own, which says all that; it stays.

use core::ffi::{CStr, c_int};
use core::mem::MaybeUninit;

/// Sets what a signal does, unless a Fortran runtime asks to report crashes: then nothing changes.
#[unsafe(no_mangle)]
unsafe extern "C" fn rank_signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    if weft_node::state::current().is_some() && reports_crashes(handler) {
        return libc::SIG_DFL;
    }
    // SAFETY: the caller's own arguments.
    unsafe { libc::signal(signal, handler) }
}

/// Tells whether a handler is libgfortran's, by the file that its code comes from.
fn reports_crashes(handler: libc::sighandler_t) -> bool {
    if [libc::SIG_DFL, libc::SIG_IGN, libc::SIG_ERR].contains(&handler) {
        return false;
    }
    let mut found = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the linker looks any address up; it fills the structure and returns a name that lives as long as the object, or
    // returns zero. The name of a copy is its file's.
    let path = unsafe {
        if libc::dladdr(handler as *const _, found.as_mut_ptr()) == 0 {
            return false;
        }
        let path = (*found.as_ptr()).dli_fname;
        if path.is_null() {
            return false;
        }
        CStr::from_ptr(path).to_bytes()
    };
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    name.starts_with(b"libgfortran.so")
}
