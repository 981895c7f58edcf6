//! What passes between a node process and `mpirun`.
//!
//! - `control`: the socket. `requests`: answers what `mpirun` asks.
//! - `wishes`: what ranks want of `mpirun`, such as to start a further job.

pub mod control;
pub mod requests;
pub mod wishes;
