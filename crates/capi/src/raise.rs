//! Stands in for `weft_mpi::errors` until it exists: same names, no error handlers.

use core::ffi::c_int;
use weft_base::{Error, abi};

/// The object an error concerns.
#[allow(dead_code)]
pub enum Object {
    /// A communicator
    Communicator(abi::Comm),
    /// A session
    Session(abi::Session),
    /// A window
    Window(abi::Win),
    /// A file
    File(abi::File),
    /// No object of its own
    None,
}

/// Returns the error's class.
pub fn raise(_call: &'static str, _object: Object, error: Error) -> c_int {
    error.class
}
