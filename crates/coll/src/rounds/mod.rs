//! The protocol under all blocking operations: rounds in which every rank arrives; who may touch what when.
//!
//! - `counters`: rounds in which arrivals are counted. `lines`: the same rounds for few ranks, which look at each other instead.
//! - `offer`: a root lends its buffer and takes it back. `aside`: copies for those who come late.

pub(crate) mod aside;
pub mod counters;
pub mod lines;
pub mod offer;
