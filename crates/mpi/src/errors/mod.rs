//! Errors (chapter 9): what they are, and their way out of the library.
//!
//! - `handling`: error handlers, and `raise`, by which every error leaves the library. `handlers`: those of sessions, windows and
//!   files, and which handler an error goes to.
//! - `classes`: the predefined classes. `codes`: what a rank has added. `failures`: a rank's latest errors, for
//!   `MPI_Error_string`.

pub mod classes;
pub mod codes;
pub(crate) mod failures;
pub mod handlers;
pub mod handling;
