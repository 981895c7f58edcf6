//! Where ranks are: on which node process, and the how-manieth there.

use crate::Node;
use weft_sync::Growing;

/// Where a rank is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The node process.
    pub node: Node,
    /// The rank's number among those of its node process, in rank order.
    pub index: u32,
}

/// Which node process holds which rank. Ranks of one node process need not be neighbours. Ranks may be added on node
/// processes that had none.
#[derive(Clone, Debug)]
pub struct Places {
    /// By rank.
    places: Growing<Place>,
    /// By node process: its ranks, ascending.
    ranks: Growing<Vec<u32>>,
}

/// Numbers ranks from `first` on by their node processes, counted from `begin`: the place of each, and the ranks of each
/// node process.
fn tables(node_of: &[Node], first: u32, begin: Node) -> (Vec<Place>, Vec<Vec<u32>>) {
    let nodes = node_of.iter().max().map_or(begin, |&last| last + 1) - begin;
    let mut ranks = vec![Vec::new(); nodes as usize];
    let place = |(rank, &node): (u32, &Node)| {
        let held: &mut Vec<u32> = &mut ranks[(node - begin) as usize];
        held.push(rank);
        Place { node, index: held.len() as u32 - 1 }
    };
    let places = (first..).zip(node_of).map(place).collect();
    (places, ranks)
}

impl Places {
    /// Creates the table from the node process of every rank. Node processes are numbered from 0; one that holds no rank is
    /// known if a later one holds some.
    pub fn new(node_of: &[Node]) -> Self {
        let (places, ranks) = tables(node_of, 0, 0);
        Self { places: places.into_iter().collect(), ranks: ranks.into_iter().collect() }
    }

    /// Adds ranks on node processes that had none: the next ranks of the job, each on the node process that `node_of` says.
    /// Returns the first one's number. One thread adds at a time.
    ///
    /// # Panics
    /// If one of the node processes holds ranks, or has a lower number than one that does.
    pub fn add(&self, node_of: &[Node]) -> u32 {
        let (first, known) = (self.size(), self.nodes());
        assert!(node_of.iter().all(|&node| node >= known), "ranks on a node process whose ranks are known");
        let (places, ranks) = tables(node_of, first, known);
        ranks.into_iter().for_each(|ranks| _ = self.ranks.push(ranks));
        places.into_iter().for_each(|place| _ = self.places.push(place));
        first
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
    fn ranks_are_added_on_new_nodes() {
        let places = Places::blocks(4, 2);
        assert_eq!(places.add(&[3, 2, 3]), 4);
        assert_eq!((places.size(), places.nodes()), (7, 4));
        assert_eq!((places.ranks(2), places.ranks(3)), ([5].as_slice(), [4, 6].as_slice()));
        assert_eq!(places.of(6), Place { node: 3, index: 1 });
        assert_eq!(places.add(&[6]), 7);
        assert_eq!((places.nodes(), places.ranks(5).len(), places.of(0).node), (7, 0, 0));
    }

    #[test]
    fn an_empty_node_is_known() {
        let places = Places::new(&[2, 0, 2]);
        assert_eq!(places.nodes(), 3);
        assert!(places.ranks(1).is_empty());
        assert_eq!(places.ranks(2), [0, 2]);
    }
}
