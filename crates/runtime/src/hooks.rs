//! The library's side of the tables in [`weft_base::host`].
#![allow(unsafe_code)] // Receives pointers through C function tables.

use crate::{job, words};
use core::ffi::{c_int, c_void};
use weft_base::host::{LibraryHooks, RankEnd, VERSION};

/// The library's table.
pub static LIBRARY_HOOKS: LibraryHooks = LibraryHooks {
    version: VERSION,
    announce_thread,
    inherit,
    is_private,
    keep_loaded,
    run_destructors,
    end_rank,
    wait: words::wait,
    wake: words::wake,
};

extern "C" fn announce_thread() -> *const c_void {
    let creator = weft_sched::current();
    weft_sched::announce(creator);
    core::ptr::from_ref(creator).cast()
}

unsafe extern "C" fn inherit(creator: *const c_void) {
    // SAFETY: a pointer from `announce_thread`; threads live for ever.
    let creator = unsafe { &*creator.cast::<weft_sched::Thread>() };
    job::adopt_thread(creator);
}

extern "C" fn is_private(address: *const c_void) -> bool {
    job::current().is_some_and(|job| job.is_private(address as usize))
}

extern "C" fn keep_loaded(address: *const c_void) {
    weft_loader::plugins::keep(address as usize);
}

extern "C" fn run_destructors() {
    if let Some(job) = job::current() {
        job.run_destructors();
    }
}

extern "C" fn end_rank(code: c_int, how: RankEnd) -> ! {
    match job::current() {
        Some(job) => job.end_rank(code, how),
        None => crate::leaving::leave_at_once(code),
    }
}
