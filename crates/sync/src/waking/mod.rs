//! How long to wait, and how to wake who sleeps.
//!
//! - `backoff`: spinning that gets longer. `alarm`: sleepers of several processes. `bell`: wakes a thread that polls descriptors.

pub(crate) mod alarm;
pub(crate) mod backoff;
pub(crate) mod bell;
