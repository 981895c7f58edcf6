//! The programs a user calls: `mpirun`, `weft`, and the compiler wrappers.

mod absence;
pub mod agent;
pub mod bell;
pub mod branch;
pub mod census;
pub mod check;
pub mod deadlock;
pub mod errand;
pub mod flags;
pub mod held;
pub mod hosts;
pub mod info;
pub mod inlets;
pub mod install;
mod limits;
pub mod link;
pub mod local;
pub mod names;
pub mod offspring;
pub mod option_files;
pub mod output;
pub mod plan;
pub mod report;
pub mod resolve;
pub mod rsh;
pub mod settings;
pub mod spawn;
pub mod supervise;
pub mod symbols;
pub mod tune;
mod undone;
pub mod watchers;
pub mod wire;
pub mod wrapper;

/// The exit code of a command that was called wrongly.
pub const USAGE: i32 = 2;
