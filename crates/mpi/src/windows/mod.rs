//! Windows and one-sided operations (chapter 12): arguments, handles, error classes. What they do is in [`weft_rma`].
//!
//! - `window`: a window as the library keeps it. `creation`: how one comes to be, and its end; `common`: what its ranks share;
//!   `memory`: where what it allocates lies.
//! - `hints`, `attachment`, `shared_query`: what a program says of it and asks.
//! - `synchronization`: epochs. `operations`: those that end with their epoch; `requests`: those with a request.
//!   `arguments`: what both have in common.

mod arguments;
pub mod attachment;
pub(crate) mod common;
pub mod creation;
pub mod hints;
mod memory;
pub mod operations;
pub mod requests;
pub mod shared_query;
pub mod synchronization;
pub mod window;
