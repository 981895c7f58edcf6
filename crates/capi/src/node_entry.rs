//! The two symbols that `weft-node` looks up in the library, and what runs when any other program loads it.
#![allow(unsafe_code)] // Exported C functions with pointers.

use core::ffi::{CStr, c_char, c_int};
use weft_base::host::{LibraryHooks, NodeHooks};

/// Returns the library's table of functions for the executable.
#[unsafe(no_mangle)]
pub extern "C" fn weft_host_hooks() -> *const LibraryHooks {
    &weft_runtime::hooks::LIBRARY_HOOKS
}

/// Runs the ranks of a node process; returns the exit code.
///
/// # Safety
/// `argv` has `argc` C strings; `hooks` points to a table that lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_node_main(
    argc: c_int,
    argv: *const *const c_char,
    hooks: *const NodeHooks,
) -> c_int {
    // SAFETY: the caller's promise.
    let (arguments, hooks) = unsafe {
        let argument = |at: usize| CStr::from_ptr(*argv.add(at)).to_string_lossy().into_owned();
        ((0..argc.max(0) as usize).map(argument).collect::<Vec<_>>(), &*hooks)
    };
    weft_runtime::node::main(&arguments, hooks)
}

/// Runs when the library is loaded, before the program's own constructors.
extern "C" fn loaded() {
    weft_runtime::attach::prepare();
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;
