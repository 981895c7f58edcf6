//! Jobs on several hosts: `mpirun` starts an agent on each, which starts the node processes there.
//!
//! - `agent`: what runs on another host. `branch`: such a host, as the one that has asked for it sees it. `rsh`: the commands
//!   that start something there.
//! - `errand`: what a host has to do. `wire`, `link`: frames between hosts, as values and over descriptors.
//! - `absence`: time in which this process itself did not run.

pub(crate) mod absence;
pub mod agent;
pub mod branch;
pub mod errand;
pub mod link;
pub mod rsh;
pub mod wire;
