//! What is told of messages and operations: to programs in checking mode, and to people when ranks wait.
//!
//! - `checking`: what is compared when a message is matched, and which buffers are in use.
//! - `inspect`: what lies unmatched at a rank, and what its requests are for.
//! - `told`: what tools count, and are told.
//! - `blocked`: which threads wait for which messages.

pub(crate) mod blocked;
pub(crate) mod checking;
pub(crate) mod inspect;
pub(crate) mod told;
