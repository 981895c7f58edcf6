//! The programs a user calls: `mpirun`, `weft`, and the compiler wrappers.

pub mod agents;
pub mod command_line;
pub mod hosts;
pub mod reports;
pub mod running;
pub mod tools;

/// The exit code of a command that was called wrongly.
pub const USAGE: i32 = 2;
