//! Blocking operations among ranks that share memory: a file for each.
//!
//! - `reduction`: what reductions have in common. `pieces`: large data of ranks whose processes share memory.
//! - `bytes`: plain bytes from rank to rank, for the library's own use.
//! - `spread`: teams that are spread over several node processes. Their operations are started and waited for and never come to
//!   the files of this folder, but for barriers.

pub(crate) mod allgather;
pub(crate) mod allreduce;
pub(crate) mod alltoall;
pub(crate) mod barrier;
pub(crate) mod broadcast;
pub(crate) mod bytes;
pub(crate) mod gather;
pub(crate) mod pieces;
pub(crate) mod reduce;
pub(crate) mod reduce_scatter;
pub(crate) mod reduction;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod spread;
