//! Locks for short sections: `lock` within a process, `process_lock` in memory that processes share.

pub mod lock;
#[cfg(not(loom))]
pub mod process_lock;
