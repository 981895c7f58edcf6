//! Point-to-point messages: matching, protocols, requests, probes, partitioned operations.
//!
//! - [`way`]: which way a message takes. `engine`: what each way does.
//! - `operation`: one send or receive, and who may touch what of it.
//! - `endpoint`: the receiving side of a rank. [`matching`]: who receives what, as pure code.
//! - `transfer`: data that both sides copy. [`remote`]: messages between node processes.
//! - `requests`: what a request is, and operations that outlive their calls. `waiting`: spinning and sleeping for them.
//! - `buffered`, `probe`, `partitioned`: the further kinds of sending and receiving.
//! - `reports`: checking mode, and what reports on ranks that wait say of messages.

#![cfg(not(loom))] // The model, tests/offer_model.rs, takes the operation's word alone.

mod buffered;
mod endpoint;
mod engine;
pub mod matching;
mod operation;
mod partitioned;
mod probe;
pub mod remote;
mod reports;
mod requests;
mod transfer;
mod waiting;
pub mod way;

pub use buffered::{Buffers, Scope, Scopes};
pub use endpoint::Endpoint;
pub use endpoint::solo::reserve;
pub use engine::Engine;
pub use matching::Envelope;
pub use operation::Buffer;
pub use partitioned::Parts;
pub use probe::Matched;
pub use reports::blocked::{Blocked, For};
pub use reports::inspect::{Lying, Started, What};
pub use requests::nonblocking::{Persistent, collective_cancelled};
pub use requests::{
    COMPLETED_COLLECTIVE, COMPLETED_SEND, Completion, Ended, PartitionedMessage, Requests, Work,
    WorkDescription, is_memoryless, on_unheard_error, request_before, request_parts,
};
pub use waiting::signal::Signal;
pub use waiting::{note_failure, note_success};
pub use way::{Limits, Mode};
