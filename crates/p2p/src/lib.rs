//! Point-to-point messages: matching, protocols, requests, probes, partitioned operations.
//!
//! Start at `engine` for the ways of a message, `operation` for who may touch what, `transfer` for
//! large messages that both sides copy, `matching` for the pure core, `partitioned` for messages in parts, [`remote`] for
//! messages between node processes.

#![cfg(not(loom))] // The model, tests/offer_model.rs, takes the operation's word alone.

mod blocked;
mod buffered;
mod checking;
mod endpoint;
mod engine;
mod expected;
mod inspect;
pub mod matching;
mod nonblocking;
mod offer;
mod operation;
mod partitioned;
mod pool;
mod probe;
pub mod remote;
mod requests;
mod signal;
mod solo;
mod split;
mod transfer;
mod wait;
mod word;

pub use blocked::{Blocked, For};
pub use buffered::{Buffers, Scope, Scopes};
pub use endpoint::Endpoint;
pub use engine::{Engine, Limits, Mode};
pub use inspect::{Lying, Started, What};
pub use matching::Envelope;
pub use nonblocking::{Persistent, collective_cancelled};
pub use operation::Buffer;
pub use partitioned::Parts;
pub use probe::Matched;
pub use requests::{
    COMPLETED_COLLECTIVE, Completion, Ended, PartitionedMessage, Requests, Work, WorkDescription,
    is_memoryless, on_unheard_error,
};
pub use signal::Signal;
pub use solo::reserve;
pub use wait::{note_failure, note_success};
