//! Virtual topologies as plain values (chapter 8): who is whose neighbor.
//!
//! A topology speaks of ranks in the communicator it is attached to.

mod cartesian;
mod dimensions;
mod graph;
mod placement;

pub use cartesian::Cartesian;
pub use dimensions::balanced_dimensions;
pub use graph::{DistributedGraph, Edges, Graph};
pub use placement::{place_graph, place_grid};

/// A virtual topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A grid (`MPI_CART`); the same on every rank.
    Cartesian(Cartesian),
    /// A graph that every rank knows whole (`MPI_GRAPH`).
    Graph(Graph),
    /// A graph of which a rank knows its own edges (`MPI_DIST_GRAPH`).
    Distributed(DistributedGraph),
}

/// The neighbors of a rank in the order of the buffers of neighborhood collectives; `None` is `MPI_PROC_NULL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbors {
    /// Whom the rank receives from.
    pub sources: Vec<Option<u32>>,
    /// Whom it sends to.
    pub destinations: Vec<Option<u32>>,
}

impl Topology {
    /// Returns the neighbors of `rank`, the caller's own.
    pub fn neighbors(&self, rank: u32) -> Neighbors {
        match self {
            Self::Cartesian(grid) => {
                let both = grid.neighbors(rank);
                Neighbors { sources: both.clone(), destinations: both }
            }
            Self::Graph(graph) => {
                let both: Vec<_> = graph.neighbors(rank).iter().copied().map(Some).collect();
                Neighbors { sources: both.clone(), destinations: both }
            }
            Self::Distributed(graph) => Neighbors {
                sources: graph.incoming.ranks.iter().copied().map(Some).collect(),
                destinations: graph.outgoing.ranks.iter().copied().map(Some).collect(),
            },
        }
    }
}
