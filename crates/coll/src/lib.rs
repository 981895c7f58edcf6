//! Collective operations.
//!
//! A [`Team`] is one rank's view of a communicator. Where all of a communicator's ranks share one address space, no
//! operation sends a message: small data goes through slots that all ranks can read, large data is read in place
//! from the peers' buffers, and a rank that must wait is woken together with all others.
//!
//! - [`rendezvous`]: the one protocol underneath, rounds in which every rank arrives; who may touch what when.
//! - [`lines`]: the same rounds for few ranks, which look at each other instead of being counted.
//! - [`offer`]: a root lends its buffer and takes it back. `aside`: copies for those who come late.
//! - `shared`: what the ranks of a communicator share, and the registry where they find it.
//! - `team`: rounds as the operations use them: slots, exchanges of addresses, detection of mismatched calls.
//! - `stores`: when copies go past the caches.
//! - `pattern`: pure arithmetic (segments, order of peers; trees, rings, doubling for ranks that send messages). `selection`: which algorithm runs, by size.
//! - one file per operation: its blocking form. `pieces`: large data of ranks whose processes share memory.
//!
//! Operations that outlive their calls (nonblocking, persistent, and whatever has no faster blocking form) are values:
//!
//! - `operation`: what a rank contributes and receives. `plan`: the schedule of an operation.
//! - `schedule`: steps and what they wait for, pure. `meeting`: one execution, shared by all members; who does which step.
//! - `light`: nonblocking operations with little data, without schedule. `pending`: a rank's part in either.
//! - `forms`: starting them whether all ranks are on one node process or not.
//! - `perform`: what the steps do. `nonblocking`: starting them.
//!
//! [`hier`]: communicators whose ranks live on several node processes; there, all forms of an operation go this way.
//! `spread`: its blocking forms.
//!
//! What this crate does not know: handles, communicators, error handlers, which device carries a message.

#![cfg(not(loom))] // The model, tests/rendezvous_model.rs, takes the protocol's file alone.

mod allgather;
mod allreduce;
mod alltoall;
mod aside;
mod barrier;
mod broadcast;
mod buffer;
mod bytes;
mod call;
mod checking;
mod forms;
mod gather;
pub mod hier;
mod light;
pub mod lines;
mod meeting;
mod nonblocking;
pub mod offer;
mod operation;
pub mod pattern;
mod pending;
mod perform;
mod pieces;
mod plan;
mod reduce;
mod reduce_scatter;
mod reduction;
pub mod rendezvous;
mod scan;
mod scatter;
mod schedule;
mod selection;
mod shared;
mod spread;
mod stores;
mod team;

pub use buffer::{Data, Operator};
pub use call::Call;
pub use checking::Shown;
pub use forms::Prepared;
pub use hier::Exchange;
pub use meeting::NOBODY;
pub use operation::{Buffers, Neighbors, Operation, Root};
pub use pending::Pending;
pub use team::Team;
