//! Communicators and groups (chapter 7), and how ranks agree on new ones.
//!
//! - `communicator`: the object, what can be asked of it, and its end. `groups`, `hints`: what belongs to it.
//! - `duplication`, `splitting`, `split_type`, `from_groups`, `intercommunicators`: the ways by which communicators come to be.
//! - `contexts`: context numbers. `agreement`, `meetings`, `distant`: how ranks agree on one.

pub(crate) mod agreement;
pub mod communicator;
pub(crate) mod contexts;
pub(crate) mod distant;
pub mod duplication;
pub mod from_groups;
pub mod groups;
pub mod hints;
pub mod intercommunicators;
pub(crate) mod meetings;
pub mod split_type;
pub mod splitting;
