//! Start and end of a rank: `_start` of a copy arrives in [`__libc_start_main`], and `exit` ends the rank.

use super::{library, mappings, replace};
use core::cell::Cell;
use core::ffi::{c_char, c_int, c_void};
use weft_base::host::RankEnd;
use weft_node::exit::{Function, Handler, When, run};
use weft_node::{RankState, state};

thread_local!(static IS_MAIN_THREAD: Cell<bool> = const { Cell::new(false) });

/// Notes whether the calling thread is a rank's own, on which its destructors run.
pub fn set_main_thread(is_main: bool) {
    IS_MAIN_THREAD.set(is_main);
}

/// Tells whether the calling thread is a rank's own.
pub fn is_main_thread() -> bool {
    IS_MAIN_THREAD.get()
}

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Callback = Option<unsafe extern "C" fn()>;

/// Calls what the rank registered for its end. What a library that all ranks share registered stays: the library is
/// still in use.
fn run_handlers(rank: &'static RankState, when: When, code: c_int, object: Option<*mut c_void>) {
    let next = || {
        loop {
            let handler =
                rank.exit.lock().expect("no code of the program runs under this lock").pop(when, object)?;
            if handler.object.is_null() || (library().is_private)(handler.object) {
                return Some(handler);
            }
        }
    };
    // SAFETY: copies of a rank stay loaded as long as the process; this is a thread of the rank.
    unsafe { run(code, next) };
}

fn register(
    rank: &'static RankState,
    when: When,
    function: Function,
    argument: *mut c_void,
    object: *mut c_void,
) {
    let handler = Handler { function, argument, object };
    rank.exit.lock().expect("no code of the program runs under this lock").push(when, handler);
}

fn leave(rank: &'static RankState, code: c_int) -> ! {
    if IS_MAIN_THREAD.get() {
        run_handlers(rank, When::ThreadExit, code, None);
    }
    run_handlers(rank, When::Exit, code, None);
    (library().run_destructors)();
    rank.streams.end();
    mappings::end(rank);
    (library().end_rank)(code, RankEnd::Exit)
}

replace! {
    /// Runs a copy's `main` and ends the rank with its result. Constructors have run when the copy was loaded.
    fn __libc_start_main(
        main: Main, argc: c_int, argv: *mut *mut c_char, _init: Callback, _fini: Callback,
        _loader_fini: Callback, _stack_end: *mut c_void,
    ) -> c_int [rank] {
        // SAFETY: the copy's own `main`, as its `_start` passed it, with the vectors it was started with.
        let code = unsafe { main(argc, argv, *rank.environ()) };
        leave(rank, code)
    }
    /// Ends the rank.
    fn exit(code: c_int) -> c_int [rank] {
        leave(rank, code)
    }
    /// Ends the rank at once.
    fn _exit(code: c_int) -> c_int [rank] {
        rank.streams.discard();
        mappings::end(rank);
        (library().end_rank)(code, RankEnd::Immediate)
    }
    /// Ends the rank at once.
    fn _Exit(code: c_int) -> c_int [rank] {
        rank.streams.discard();
        mappings::end(rank);
        (library().end_rank)(code, RankEnd::Immediate)
    }
    /// Ends the rank after its `at_quick_exit` handlers.
    fn quick_exit(code: c_int) -> c_int [rank] {
        run_handlers(rank, When::QuickExit, code, None);
        rank.streams.discard();
        mappings::end(rank);
        (library().end_rank)(code, RankEnd::Immediate)
    }
    /// Registers a handler (`atexit`, destructors of static objects).
    fn __cxa_atexit(
        function: unsafe extern "C" fn(*mut c_void), argument: *mut c_void, object: *mut c_void,
    ) -> c_int [rank] {
        register(rank, When::Exit, Function::Plain(function), argument, object);
        0
    }
    /// Registers a handler for `quick_exit`.
    fn __cxa_at_quick_exit(function: unsafe extern "C" fn(*mut c_void), object: *mut c_void) -> c_int [rank] {
        register(rank, When::QuickExit, Function::Plain(function), core::ptr::null_mut(), object);
        0
    }
    /// Registers a handler that gets the exit code.
    fn on_exit(function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int [rank] {
        register(rank, When::Exit, Function::WithCode(function), argument, core::ptr::null_mut());
        0
    }
    /// Runs the handlers that an object registered: its destructors are running.
    fn __cxa_finalize(object: *mut c_void) [rank] {
        run_handlers(rank, When::Exit, 0, (!object.is_null()).then_some(object));
    }
}

/// Registers the destructor of a `thread_local` variable. Those of a rank's own thread run when the rank ends, because
/// its kernel thread does not; other threads' run when the thread ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cxa_thread_atexit_impl(
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    object: *mut c_void,
) -> c_int {
    if let Some(rank) = state::current().filter(|_| IS_MAIN_THREAD.get()) {
        register(rank, When::ThreadExit, Function::Plain(function), argument, object);
        // A library is not unloaded before they have run.
        (library().keep_loaded)(object);
        return 0;
    }
    type Impl = unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void, *mut c_void) -> c_int;
    static CACHE: core::sync::atomic::AtomicPtr<c_void> =
        core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());
    // SAFETY: libc's function of this name has this type, and gets the caller's own arguments.
    unsafe {
        core::mem::transmute::<*mut c_void, Impl>(super::next(&CACHE, c"__cxa_thread_atexit_impl"))(
            function, argument, object,
        )
    }
}

/// Returns libc's function for a thread that may end, and ends the rank if it is the rank's own thread.
extern "C" fn exit_of_thread() -> *mut c_void {
    if let Some(rank) = state::current().filter(|_| IS_MAIN_THREAD.get()) {
        leave(rank, 0);
    }
    static CACHE: core::sync::atomic::AtomicPtr<c_void> =
        core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());
    super::next(&CACHE, c"pthread_exit")
}

/// Ends the calling thread. A rank's own thread has a kernel thread that runs other ranks too, so the rank ends instead:
/// with code 0, as a process does whose last thread ends.
///
/// A jump, because libc's function unwinds the stack, which may not pass through functions of Rust.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn pthread_exit(result: *mut c_void) -> ! {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!("push rdi", "call {}", "pop rdi", "jmp rax", sym exit_of_thread);
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x0, x30, [sp, #-16]!", "bl {}", "mov x2, x0", "ldp x0, x30, [sp], #16", "br x2", sym exit_of_thread
    );
}
