//! The executable that holds ranks.
//!
//! It is first in the search order of everything loaded into the process, so the libc functions it exports
//! (`exports.list`) are the ones that programs call. Each asks whether the calling thread belongs to a rank; if not,
//! libc's own serves. All else is in the library, which is loaded from beside this file.
#![no_main]
#![allow(unsafe_code)] // Replaces C functions and calls through the tables of the library.

mod interpose;

use core::ffi::{CStr, c_char, c_int};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use weft_base::host::{HOOKS_SYMBOL, LibraryHooks, MAIN_SYMBOL, NodeMain, VERSION};
use weft_base::say;

/// Exit code when the installation is broken.
const BROKEN: c_int = 70;

/// Returns the library's file: beside this executable's directory when installed, in it when just built.
fn library() -> Result<PathBuf, String> {
    let this = std::fs::read_link("/proc/self/exe").map_err(|error| format!("/proc/self/exe: {error}"))?;
    let directory = this.parent().unwrap_or(&this);
    let places = [directory.join("../libmpi_abi.so.1"), directory.join("libmpi_abi.so")];
    let found = places.iter().find(|place| place.exists());
    found.cloned().ok_or_else(|| format!("no library at {}; install weft again", places[0].display()))
}

fn error_text() -> String {
    // SAFETY: `dlerror` returns null or a C string.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "unknown reason".into()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

/// Loads the library and lets it run the ranks.
fn run(argc: c_int, argv: *const *const c_char) -> Result<c_int, String> {
    let path = library()?;
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: symbols are looked up under the names and types `weft_base::host` declares for them.
    unsafe {
        let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if handle.is_null() {
            return Err(error_text());
        }
        let (hooks, main) =
            (libc::dlsym(handle, HOOKS_SYMBOL.as_ptr()), libc::dlsym(handle, MAIN_SYMBOL.as_ptr()));
        if hooks.is_null() || main.is_null() {
            return Err(format!("{} is not weft's library: {}", path.display(), error_text()));
        }
        let hooks =
            core::mem::transmute::<*mut libc::c_void, extern "C" fn() -> *const LibraryHooks>(hooks)();
        if (*hooks).version != VERSION {
            return Err(format!(
                "{} is of another build (hooks {}, not {VERSION}); install weft again",
                path.display(),
                (*hooks).version
            ));
        }
        interpose::install(&*hooks);
        let main = core::mem::transmute::<*mut libc::c_void, NodeMain>(main);
        Ok(main(argc, argv, &interpose::NODE_HOOKS))
    }
}

/// The entry point.
#[unsafe(no_mangle)]
pub extern "C" fn main(argc: c_int, argv: *const *const c_char) -> c_int {
    run(argc, argv).unwrap_or_else(|message| {
        say!("weft-node: {message}");
        BROKEN
    })
}
