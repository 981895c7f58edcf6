//! Graphs.

/// A graph that every rank knows whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// For each rank, where its neighbors end in `edges`.
    pub index: Vec<u32>,
    /// The neighbors of rank 0, then those of rank 1, and so on.
    pub edges: Vec<u32>,
}

impl Graph {
    /// Returns the neighbors of a rank of the graph.
    pub fn neighbors(&self, rank: u32) -> &[u32] {
        let rank = rank as usize;
        let begin = if rank == 0 { 0 } else { self.index[rank - 1] };
        &self.edges[begin as usize..self.index[rank] as usize]
    }
}

/// One rank's edges in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// Whom they connect to. A rank may appear several times.
    pub ranks: Vec<u32>,
    /// Their weights, as many as ranks; empty in an unweighted graph.
    pub weights: Vec<u32>,
}

/// A graph of which a rank knows its own edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistributedGraph {
    /// The edges towards the rank.
    pub incoming: Edges,
    /// The edges from the rank.
    pub outgoing: Edges,
    /// Whether the edges have weights.
    pub is_weighted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_are_where_the_index_says() {
        let graph = Graph { index: vec![2, 3, 3, 6], edges: vec![1, 3, 0, 3, 0, 2] };
        let all: Vec<_> = (0..4).map(|rank| graph.neighbors(rank).to_vec()).collect();
        assert_eq!(all, [vec![1, 3], vec![0], vec![], vec![3, 0, 2]]);
    }
}
