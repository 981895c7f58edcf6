//! Node processes, those of this job and of others, and how groups of several jobs find each other (chapter 11).
//!
//! - `nodes`: the way to other node processes. `strangers`: processes of other jobs. `ways`: new ways to them.
//! - `host_memory`: memory that processes of a host map.
//! - `bridges`: intercommunicators between groups of several jobs. `ports`, `spawning`: the procedures that ask for them.

pub(crate) mod bridges;
pub(crate) mod host_memory;
pub mod nodes;
pub mod ports;
pub mod spawning;
pub(crate) mod strangers;
pub(crate) mod ways;
