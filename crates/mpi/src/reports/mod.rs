//! What is said of a rank: whether it waits for ever, and what it leaves behind.
//!
//! - `waiting`: what a rank waits for, and what lies unmatched at it. `stuck`: which ranks can never go on.
//! - `checking`: checking mode, at the end of a rank. `claims`: checking mode, what calls say of their buffers.
//!   `told`: what tools count, and are told.
//!   `thread_levels`: checking mode, whether the threads that call MPI may.

pub mod checking;
pub(crate) mod claims;
pub mod stuck;
pub mod thread_levels;
pub(crate) mod told;
pub mod waiting;
