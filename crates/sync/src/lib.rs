//! Atomics and cells behind one facade, locks, rings and queues; hints to the caches, and copies past them.
//!
//! - `facade`: atomics and cells, of std or of loom. `locks`: the short lock, and one between processes.
//! - `padded`: values with a cache line of their own.
//! - `ring`: slots of 64 bytes from one rank to another. `shuttle`: a line that goes to and fro between two ranks.
//! - `invitation`: the word by which one side of a long message asks the other to help with the copy.
//! - `solo`: sections of one thread that need no atomic operation. `barrier`: what makes them cheap.
//! - `alarm`, `bell`: sleepers of several processes, and who wakes them. `queue`, `mailbox`, `lane`: queues.
//! - `passing`, `stream`: whether copies go past the caches, and such copies.
//!
//! Built with `--cfg loom` the protocols here run under loom's model checker.

mod barrier;
mod biased;
pub mod facade;
mod growing;
pub mod invitation;
mod lane;
mod locks;
pub mod mailbox;
mod padded;
mod passing;
mod place;
pub mod prefetch;
pub mod queue;
pub mod ring;
pub mod shuttle;
mod solo;
mod stock;
pub mod stream;
mod waking;

pub use barrier::enable_global_barrier;
pub use biased::Biased;
pub use facade::atomic;
pub use growing::Growing;
pub use lane::{Carrier, Lane};
pub use locks::lock::{Lock, LockGuard};
#[cfg(not(loom))]
pub use locks::process_lock::{ProcessGuard, ProcessLock};
pub use mailbox::Mailbox;
pub use padded::CachePadded;
pub use passing::Passing;
pub use place::Place;
pub use ring::Ring;
pub use shuttle::{Shuttle, Side};
pub use solo::{Section, Solo, Visit};
pub use stock::Stock;
pub use waking::alarm::Alarm;
pub use waking::backoff::Backoff;
pub use waking::bell::Bell;
