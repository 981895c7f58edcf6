//! Virtual topologies (chapter 8).
//!
//! - `topology`: grids and graphs. `distributed_graphs`: each rank knows its own edges.

pub mod distributed_graphs;
pub mod topology;
