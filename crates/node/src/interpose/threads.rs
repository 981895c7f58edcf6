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

/// What a new thread goes on with.
#[repr(C)]
struct Onward {
    start: Start,
    argument: *mut c_void,
}

extern "C" fn prepare(new: *mut c_void, onward: *mut Onward) {
    // SAFETY: `pthread_create` below made the box for this thread only.
    let new = unsafe { Box::from_raw(new.cast::<NewThread>()) };
    state::attach(Some(new.rank));
    // SAFETY: threads of the library live for ever; `begin` passes a place on its stack.
    unsafe {
        (library().inherit)(new.creator);
        onward.write(Onward { start: new.start, argument: new.argument });
    }
}

/// Where a thread of a rank begins: makes it one of the rank, then jumps to where the program wants it.
///
/// A jump and not a call: `pthread_exit` and cancellation unwind the stack of a thread to its beginning, which may not
/// pass through functions of Rust.
#[unsafe(naked)]
extern "C" fn begin(new: *mut c_void) -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "sub rsp, 24", "mov rsi, rsp", "call {}",
        "mov rax, [rsp]", "mov rdi, [rsp + 8]", "add rsp, 24", "jmp rax", sym prepare
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-32]!", "add x1, sp, #16", "bl {}",
        "ldp x2, x0, [sp, #16]", "ldp x29, x30, [sp], #32", "br x2", sym prepare
    );
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
    let creator = (library().announce_thread)();
    let new = Box::into_raw(Box::new(NewThread { start, argument, rank, creator }));
    // SAFETY: the caller's own thread and attributes; `begin` takes the box.
    let result = unsafe { create(thread, attributes, begin, new.cast()) };
    if result != 0 {
        // SAFETY: no thread was made, so the box is still ours.
        drop(unsafe { Box::from_raw(new) });
    }
    result
}
