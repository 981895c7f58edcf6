//! Collectives of communicators whose ranks live on several node processes.
//!
//! # Levels
//! An operation is composed of one step per level. *Ranks of a node process* meet in shared memory: they publish their
//! buffers, and whoever is in the library does what can be done. *Node processes of a host* and *hosts* exchange messages
//! over the transport's collective channel; a tree lies first over the hosts and then, below the first node process of
//! each, over those of the host, so that over `n` hosts it has `n - 1` edges from host to host and over `m` node processes
//! `m - 1` edges in all, for any root and any order of ranks. A level that is trivial has no steps.
//!
//! Messages go from node process to node process: one carries what all ranks of the one have for all of the other.
//!
//! # Who leads
//! The first rank of a node process that arrives in an operation begins its program and drives the steps between node
//! processes; those that come later find the results in shared memory. A late rank delays itself and whoever needs what
//! it contributes. What ranks contribute is taken as it comes: a reduction waits for no operand that is not the next.
//! (Competitive and pipelined: the broadcast of MPIActor's MAHCAF.)
//!
//! # Parts
//! - `layout`: which members are where. `tree`: trees over node processes and hosts.
//! - `program`: the steps of one node process in an operation, stepped by events; pure. `plan`, `reductions`, `ordered`, `neighbors`
//!   make them, with a `planner`, from [`pattern`](crate::pattern). `select`: which algorithm, and how long segments are.
//! - `crossing`: one operation under way. `perform`: what its steps do. `spread`: the communicator. `loss`: errors of lost processes.
//! - `apart`: waiting and waking where processes share memory. `commons`: where all ranks are on one host, memory in which they meet for blocking operations without messages.
//! - `shown`: what ranks show each other in checking mode.
//! - `exchange`: messages, credit, large data. `wire`: headers. `bytes`: packed data.
//!
//! # Segments
//! Broadcasts, reductions and scans of large data are cut into segments, each with steps of its own, so that one is packed
//! while another is on its way and a third is copied to the ranks.
//!
//! # Order of reductions
//! See `reductions`: the order of operands follows from the placement alone; operations that do not commute keep rank order
//! under any placement. Where all are on one host it is that of the memory in which blocking forms meet: `ordered`.

mod apart;
mod bytes;
mod commons;
mod crossing;
mod exchange;
mod layout;
mod loss;
mod neighbors;
mod ordered;
mod perform;
mod plan;
mod planner;
mod program;
mod reductions;
mod select;
mod shown;
mod spread;
mod tree;
mod wire;

pub(crate) use apart::Apart;
pub(crate) use crossing::Pending;
pub use exchange::Exchange;
pub(crate) use layout::{Layout, signature};
pub(crate) use spread::{Prepared, Spread, join, leave};
