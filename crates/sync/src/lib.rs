//! Atomics and cells behind one facade, locks, rings and queues.

mod lock;
mod padded;

pub use lock::{Lock, LockGuard};
pub use padded::CachePadded;
