//! Where ranks are: on which node process, and the how-manieth there.

use crate::Node;

/// Where a rank is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The node process.
    pub node: Node,
    /// The rank's number among those of its node process, in rank order.
    pub index: u32,
}

/// Which node process holds which rank. Ranks of one node process need not be neighbours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// By rank.
    places: Vec<Place>,
    /// By node process: its ranks, ascending.
    ranks: Vec<Vec<u32>>,
}

impl Places {
    /// Creates the table from the node process of every rank. Node processes are numbered from 0; one that holds no rank is
    /// known if a later one holds some.
    pub fn new(node_of: &[Node]) -> Self {
        let nodes = node_of.iter().max().map_or(0, |&last| last as usize + 1);
        let mut ranks = vec![Vec::new(); nodes];
        let place = |(rank, &node): (usize, &Node)| {
            let held: &mut Vec<u32> = &mut ranks[node as usize];
            held.push(rank as u32);
            Place { node, index: held.len() as u32 - 1 }
        };
        let places = node_of.iter().enumerate().map(place).collect();
        Self { places, ranks }
    }

    /// Creates the table of a job whose node processes hold `per_node` ranks each, the last one maybe fewer, in rank order.
    pub fn blocks(ranks: u32, per_node: u32) -> Self {
        Self::new(&(0..ranks).map(|rank| rank / per_node.max(1)).collect::<Vec<_>>())
    }

    /// Creates the table of a job whose ranks are dealt to `nodes` node processes one by one.
    pub fn round_robin(ranks: u32, nodes: u32) -> Self {
        Self::new(&(0..ranks).map(|rank| rank % nodes.max(1)).collect::<Vec<_>>())
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> u32 {
        self.places.len() as u32
    }

    /// Returns the number of node processes.
    pub fn nodes(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// Returns where a rank is.
    ///
    /// # Panics
    /// If there is no such rank.
    #[inline]
    pub fn of(&self, rank: u32) -> Place {
        self.places[rank as usize]
    }

    /// Returns the ranks of a node process, ascending.
    ///
    /// # Panics
    /// If there is no such node process.
    pub fn ranks(&self, node: Node) -> &[u32] {
        &self.ranks[node as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_where_the_table_of_its_node_says() {
        for (ranks, nodes) in [(1, 1), (7, 3), (8, 4), (33, 5)] {
            for places in [Places::blocks(ranks, ranks.div_ceil(nodes)), Places::round_robin(ranks, nodes)] {
                assert_eq!(places.size(), ranks);
                let mut seen = 0;
                for node in 0..places.nodes() {
                    for (index, &rank) in places.ranks(node).iter().enumerate() {
                        assert_eq!(places.of(rank), Place { node, index: index as u32 });
                        seen += 1;
                    }
                    assert!(places.ranks(node).is_sorted());
                }
                assert_eq!(seen, ranks);
            }
        }
    }

    #[test]
    fn an_empty_node_is_known() {
        let places = Places::new(&[2, 0, 2]);
        assert_eq!(places.nodes(), 3);
        assert!(places.ranks(1).is_empty());
        assert_eq!(places.ranks(2), [0, 2]);
    }
}
