//! Files: what reading and writing through a view is, and who does it.
//!
//! A rank's data is a stream of bytes, in the order of its datatype; its view cuts that stream into pieces of the file.
//!
//! - [`View`]: the data of a file that a rank sees, as pieces of the file. `in_file`: what a datatype becomes in a file of another
//!   [`Representation`].
//! - [`Memory`]: the program's data. `transfer`: moves it between memory and pieces of a file. [`Access`]: one operation, whole;
//!   `together`: those of all ranks of a process; `parcels`: those of ranks that share no memory, with their pieces as `strides`.
//!   [`Domains`]: who carries out which part of the file then.
//! - [`Opened`]: a file as the ranks of a process share it, by one descriptor. `ranges`: who has which bytes of it in atomic mode.
//! - `pool`: the threads that wait for the file system, so that no rank's core does.
//! - [`Pointer`]: a shared file pointer, a word in one process, which others ask by active messages ([`SharedPointers`]).
//! - [`failed`]: what a refusal of the system means.
//!
//! What this crate does not know: handles, communicators, error handlers.

mod access;
mod domains;
mod failure;
mod in_file;
mod memory;
mod opened;
mod parcels;
mod pointer;
mod pool;
mod ranges;
mod representation;
mod strides;
mod together;
mod transfer;
mod view;

pub use access::{Access, Direction};
pub use domains::{Domains, workers};
pub use failure::failed;
pub use memory::Memory;
pub use opened::{Modes, Opened};
pub use parcels::{Share, Window};
pub use pointer::{Pointer, SharedPointers, use_active};
pub use pool::start;
pub use representation::{Conversion, Representation};
pub use view::View;
