//! Collective operations.
//!
//! A [`Team`] is one rank's view of a communicator. Where all of a communicator's ranks share one address space, no
//! operation sends a message: small data goes through slots that all ranks can read, large data is read in place
//! from the peers' buffers, and a rank that must wait is woken together with all others.
//!
//! - [`rounds`]: the one protocol underneath, rounds in which every rank arrives; who may touch what when.
//! - `team`: rounds as the operations use them: slots, exchanges of addresses, detection of mismatched calls; what ranks share,
//!   and which algorithm runs, by size.
//! - `blocking`: one file per operation. `stores`: when copies go past the caches.
//! - [`pattern`]: pure arithmetic (segments, order of peers; trees, rings, doubling for ranks that send messages).
//!
//! Operations that outlive their calls (nonblocking, persistent, and whatever has no faster blocking form) are values:
//!
//! - `operation`: what a rank contributes and receives.
//! - `started`: their schedules, and who carries out which step of one.
//!
//! [`hier`]: communicators whose ranks live on several node processes; there, all forms of an operation go this way.
//!
//! What this crate does not know: handles, communicators, error handlers, which device carries a message.

#![cfg(not(loom))] // The model, tests/counters_model.rs, takes the protocol's file alone.

mod blocking;
pub mod hier;
mod operation;
pub mod pattern;
pub mod rounds;
mod started;
mod stores;
mod team;

pub use hier::Exchange;
pub use operation::buffer::{Data, Operator};
pub use operation::call::Call;
pub use operation::{Buffers, NOBODY, Neighbors, Operation, Root};
pub use started::forms::Prepared;
pub use started::pending::Pending;
pub use team::Team;
pub use team::checking::Shown;
