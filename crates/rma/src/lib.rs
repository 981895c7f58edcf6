//! One-sided communication: windows, epochs, locks, operations.
//!
//! Where an origin sees the target's memory it does everything itself, and the target takes no part: a put is a copy, a fetch and
//! add is an instruction, and what such a call has begun is complete when it returns.
//!
//! - [`Window`]: a rank's view of a window. `synchronisation` and `operations` are what it does; `place` says where an
//!   operation's data lies, and that it lies within what the target exposes.
//! - `plain`: the shortest way of the commonest operations.
//! - [`target`]: what an operation does at its target, whoever carries it out. Element by element and atomic.
//! - `waiting`: what reports say of a rank that waits for ever.
//! - [`Shared`]: what the ranks of a process share of a window.
//! - `epoch`: which calls fit each other: pure. `gate`: locks. `exposure`: posts and completions.
//!
//! - `elsewhere`: the same at ranks of other processes, by active messages. `pieces`: how an operation travels. `far`: what is under
//!   way. `service`: what other processes ask for. `way`: the words of that.
//!
//! - [`Mapped`]: memory of a window that several processes of a host see. Operations there are those among threads, and so are locks that
//!   need not wait; posts and completions are told.
//!
//! Where a target is looked up is one place: [`Window::target`]. A rank of another process is [`Target::Elsewhere`], or, if its memory
//! is seen here, [`Target::Mapped`].
//!
//! What this crate does not know: handles, communicators, error handlers.

#![cfg(not(loom))] // The model, tests/gate_model.rs, takes the protocols' files alone.

mod elsewhere;
mod epoch;
mod exposure;
mod far;
mod gate;
mod mapped;
mod operations;
mod pieces;
mod place;
mod plain;
mod service;
mod shared;
mod synchronisation;
pub mod target;
mod waiting;
mod way;
mod window;

pub use epoch::Held;
pub use mapped::Mapped;
pub use place::{Data, Place};
pub use plain::SHORT;
pub use service::OneSided;
pub use shared::{Segment, Shared};
pub use waiting::Holder;
pub use way::use_active;
pub use window::{Target, Window};
