//! How the process ends.
#![allow(unsafe_code)] // Leaves without running exit handlers.

use std::sync::OnceLock;
use weft_base::host::NodeHooks;

/// The executable's table, in a process whose ranks are threads.
static HOOKS: OnceLock<&'static NodeHooks> = OnceLock::new();

/// Makes the executable's table known.
pub fn install(hooks: &'static NodeHooks) {
    let _ = HOOKS.set(hooks);
}

/// Ends the process without exit handlers, destructors or unloading: thousands of copies would take long.
pub fn leave_at_once(code: i32) -> ! {
    // SAFETY: ends the process; the raw call, because `_exit` ends a rank only.
    unsafe {
        libc::syscall(libc::SYS_exit_group, code);
        libc::abort()
    }
}

/// Writes out what ranks left in stdio's buffers.
pub fn flush() {
    if let Some(hooks) = HOOKS.get() {
        (hooks.flush)();
    }
    // SAFETY: a null stream means all output streams.
    unsafe { libc::fflush(core::ptr::null_mut()) };
}
