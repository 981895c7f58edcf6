//! A thread that a rank creates belongs to the rank.

use super::library;
use core::ffi::{c_int, c_void};
use weft_node::{RankState, state};

type Start = extern "C" fn(*mut c_void) -> *mut c_void;

struct NewThread {
    start: Start,
    argument: *mut c_void,
    rank: &'static RankState,
    creator: *const c_void,
}

extern "C" fn begin(new: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` below made the box for this thread only.
    let new = unsafe { Box::from_raw(new.cast::<NewThread>()) };
    state::attach(Some(new.rank));
    // SAFETY: threads of the library live for ever.
    unsafe { (library().inherit)(new.creator) };
    let (start, argument) = (new.start, new.argument);
    drop(new);
    start(argument)
}

type Create =
    unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Start, *mut c_void) -> c_int;

/// Creates a thread of the calling thread's rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    static CACHE: core::sync::atomic::AtomicPtr<c_void> =
        core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());
    // SAFETY: libc's function of this name has this type.
    let create =
        unsafe { core::mem::transmute::<*mut c_void, Create>(super::next(&CACHE, c"pthread_create")) };
    let Some(rank) = state::current() else {
        // SAFETY: the caller's own arguments.
        return unsafe { create(thread, attributes, start, argument) };
    };
    let creator = (library().current_thread)();
    let new = Box::into_raw(Box::new(NewThread { start, argument, rank, creator }));
    // SAFETY: the caller's own thread and attributes; `begin` takes the box.
    let result = unsafe { create(thread, attributes, begin, new.cast()) };
    if result != 0 {
        // SAFETY: no thread was made, so the box is still ours.
        drop(unsafe { Box::from_raw(new) });
    }
    result
}
