//! Blocking operations among ranks that share memory: a file for each.
//!
//! - `reduction`: what reductions have in common. `pieces`: large data of ranks whose processes share memory.
//! - `bytes`: plain bytes from rank to rank, for the library's own use.
//! - `spread`: the same operations of teams that are spread over several node processes.

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
