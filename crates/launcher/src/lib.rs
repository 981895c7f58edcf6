//! The programs a user calls: `mpirun`, `weft`, and the compiler wrappers.
//!
//! A node process dies with its `mpirun` (parent-death signal), whatever kills that. On several hosts everything travels over
//! the standard input and output of the commands that start agents, the job's secret included: nothing is in arguments or the
//! environment. Beyond `launch-width` hosts agents start further agents and pass on what goes to and fro. Each side says that it
//! lives; one that falls silent is lost, its host's processes end by themselves, and the job everywhere.
//!
//! A job that a rank spawns has an `mpirun` of its own, which the `mpirun` of the job that wants it starts
//! ([`running::offspring`]). It is told the hosts, how to reach them and which slots are taken.

pub mod agents;
pub mod command_line;
pub mod hosts;
pub mod reports;
pub mod running;
pub mod tools;

/// The exit code of a command that was called wrongly.
pub const USAGE: i32 = 2;
