//! libc's functions as programs see them: the rank's own if the thread belongs to a rank, libc's otherwise.

mod children;
mod descriptors;
mod environment;
mod identity;
mod keys;
mod mappings;
mod openings;
mod openmp;
mod options;
mod proc_files;
mod process;
mod random;
mod redirects;
mod signals;
mod text;
mod threads;
mod zone;

use core::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use weft_base::host::{Beginning, LibraryHooks, NodeHooks, VERSION, Variable};
use weft_node::identity::Program;
use weft_node::{RankState, state};

static LIBRARY: AtomicPtr<LibraryHooks> = AtomicPtr::new(core::ptr::null_mut());

/// Makes the library's table known.
pub fn install(hooks: &'static LibraryHooks) {
    LIBRARY.store(core::ptr::from_ref(hooks).cast_mut(), Ordering::Release);
}

/// Returns the library's table. Only threads of ranks ask, so it is installed.
fn library() -> &'static LibraryHooks {
    // SAFETY: null or a `&'static` stored by `install`.
    unsafe { LIBRARY.load(Ordering::Acquire).as_ref() }.expect("ranks start after the library is loaded")
}

/// The executable's table.
pub static NODE_HOOKS: NodeHooks = NodeHooks {
    version: VERSION,
    create_rank,
    attach,
    variable,
    move_variable,
    functions: redirects::functions,
    flush,
};

extern "C" fn flush() {
    weft_node::streams::flush_all();
}

unsafe extern "C" fn create_rank(environment: *const *const c_char, beginning: Beginning) -> *const c_void {
    let Beginning { is_first, output: [output, error], program, .. } = beginning;
    let input = if is_first { libc::STDIN_FILENO } else { weft_node::descriptors::null() };
    let streams = weft_node::streams::Streams::new([input, output, error], is_first);
    // SAFETY: the caller passes strings that live for ever, and null or an array as `create` demands; entries are not written
    // through.
    unsafe {
        let program =
            Program::new(program, (beginning.command_line, beginning.command_line_length), beginning.name);
        core::ptr::from_ref(RankState::create(environment.cast(), streams, program)).cast()
    }
}

unsafe extern "C" fn attach(rank: *const c_void) {
    // SAFETY: null or a state from `create_rank`, which lives for ever.
    state::attach(unsafe { rank.cast::<RankState>().as_ref() });
    process::set_main_thread(!rank.is_null());
    identity::begin();
}

unsafe extern "C" fn variable(rank: *const c_void, variable: Variable) -> *mut c_void {
    // SAFETY: a state from `create_rank`.
    unsafe { (*rank.cast::<RankState>()).variable(variable) }
}

unsafe extern "C" fn move_variable(rank: *const c_void, variable: Variable, address: *mut c_void) {
    // SAFETY: a state from `create_rank`, and the address of the copy's variable; the copy does not run yet.
    unsafe { (*rank.cast::<RankState>()).move_variable(variable, address) };
}

/// Returns the next definition of a function after this executable's: libc's.
fn next(cache: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let found = cache.load(Ordering::Relaxed);
    if !found.is_null() {
        return found;
    }
    // The start function has an older version with other duties, which an unversioned search might find.
    let version = if name == c"__libc_start_main" { c"GLIBC_2.34" } else { c"" };
    // SAFETY: C strings.
    let found = unsafe {
        let versioned = if version.is_empty() {
            core::ptr::null_mut()
        } else {
            libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr())
        };
        if versioned.is_null() { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } else { versioned }
    };
    if found.is_null() {
        // SAFETY: ends the process; nothing can go on without libc.
        unsafe { libc::abort() }
    }
    cache.store(found, Ordering::Relaxed);
    found
}

/// Defines C functions: `fn name(arguments) -> result [rank state] { body for ranks }`, which pass through to libc on
/// threads of no rank.
macro_rules! replace {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? [$state:ident] $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            let Some($state) = weft_node::state::current() else {
                static CACHE: core::sync::atomic::AtomicPtr<core::ffi::c_void> =
                    core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());
                const NAME: &core::ffi::CStr =
                    match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name has no zero byte"),
                    };
                type Function = unsafe extern "C" fn($($type),*) $(-> $result)?;
                // SAFETY: libc's function of this name has this type, and gets the caller's own arguments.
                return unsafe {
                    let function = core::mem::transmute::<*mut core::ffi::c_void, Function>(
                        $crate::interpose::next(&CACHE, NAME));
                    function($($argument),*)
                };
            };
            $body
        }
    )*};
}
pub(crate) use replace;

/// Defines a function that calls the one of this name behind this executable's: libc's.
macro_rules! original {
    ($vis:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?) => {
        $vis unsafe fn $name($($argument: $type),*) $(-> $result)? {
            static CACHE: core::sync::atomic::AtomicPtr<core::ffi::c_void> =
                core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());
            const NAME: &core::ffi::CStr =
                match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name has no zero byte"),
                };
            type Function = unsafe extern "C" fn($($type),*) $(-> $result)?;
            // SAFETY: libc's function of this name has this type, and gets the caller's own arguments.
            unsafe {
                let function =
                    core::mem::transmute::<*mut core::ffi::c_void, Function>($crate::interpose::next(&CACHE, NAME));
                function($($argument),*)
            }
        }
    };
}
pub(crate) use original;
