//! Point-to-point communication (chapters 3, 4 and 13): the calls; `weft_p2p` carries messages.
//!
//! - `sending`: sends and receives, blocking, nonblocking and persistent. `messages`: what all calls share.
//! - `requests`, `statuses`: completion. `probes`, `partitioned`, `buffers`, `generalized`: further kinds of calls.

pub mod buffers;
pub mod generalized;
pub mod messages;
pub mod partitioned;
pub mod probes;
pub mod requests;
pub mod sending;
pub mod statuses;
