//! The programs a user calls: `mpirun`, `weft`, and the compiler wrappers.

pub mod census;
pub mod check;
pub mod flags;
pub mod info;
pub mod install;
pub mod option_files;
pub mod output;
pub mod plan;
pub mod report;
pub mod resolve;
pub mod settings;
pub mod spawn;
pub mod supervise;
pub mod symbols;
pub mod tune;
pub mod wrapper;

/// The exit code of a command that was called wrongly.
pub const USAGE: i32 = 2;
