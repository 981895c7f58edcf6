//! Trees over node processes: one over the hosts, and one over the node processes of each host below its first.
//!
//! A tree over `n` node processes on `h` hosts has `n - 1` edges, of which `h - 1` go from host to host, whatever the root.

use super::layout::Layout;
use crate::pattern::tree::Shape;
use core::ops::Range;

/// The shapes of the two levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shapes {
    pub cluster: Shape,
    pub process: Shape,
}

/// A tree over some node processes, by their indices.
pub(crate) struct Tree<'a> {
    /// By host: its node processes, the one that speaks for the host first.
    hosts: Vec<Vec<u32>>,
    /// The place of the root's host.
    root: u32,
    shapes: Shapes,
    layout: &'a Layout,
}

impl<'a> Tree<'a> {
    /// Lays a tree over `nodes` (ascending). The root is among them.
    pub fn new(layout: &'a Layout, nodes: &[u32], root: u32, shapes: Shapes) -> Self {
        let mut hosts: Vec<Vec<u32>> = Vec::new();
        for &node in nodes {
            match hosts.last_mut() {
                Some(last) if layout.host(last[0]) == layout.host(node) => last.push(node),
                _ => hosts.push(vec![node]),
            }
        }
        let mut at = 0;
        for (place, host) in hosts.iter_mut().enumerate() {
            if let Some(index) = host.iter().position(|&node| node == root) {
                host[..=index].rotate_right(1);
                at = place as u32;
            }
        }
        Self { hosts, root: at, shapes, layout }
    }

    fn place(&self, node: u32) -> (usize, usize) {
        let same = |host: &&Vec<u32>| self.layout.host(host[0]) == self.layout.host(node);
        let host = self.hosts.iter().position(|host| same(&host)).expect("a node process of the tree");
        let place = self.hosts[host].iter().position(|&n| n == node).expect("a node process of the tree");
        (host, place)
    }

    /// Returns the node processes that speak for their hosts, in the order of the hosts.
    pub fn leaders(&self) -> Vec<u32> {
        self.hosts.iter().map(|host| host[0]).collect()
    }

    /// Returns the node process above another.
    pub fn parent(&self, node: u32) -> Option<u32> {
        let (host, place) = self.place(node);
        if place > 0 {
            return self.parent_in_host(node);
        }
        let above = self.shapes.cluster.parent(host as u32, self.root, self.hosts.len() as u32)?;
        Some(self.hosts[above as usize][0])
    }

    /// Returns the node process above another in its host.
    pub fn parent_in_host(&self, node: u32) -> Option<u32> {
        let (host, place) = self.place(node);
        let nodes = &self.hosts[host];
        let above = self.shapes.process.parent(place as u32, 0, nodes.len() as u32)?;
        Some(nodes[above as usize])
    }

    /// Returns the node processes below another on other hosts, those with most below them first.
    fn children_elsewhere(&self, node: u32) -> Vec<u32> {
        let (host, place) = self.place(node);
        if place > 0 {
            return Vec::new();
        }
        let below = self.shapes.cluster.children(host as u32, self.root, self.hosts.len() as u32);
        below.into_iter().map(|host| self.hosts[host as usize][0]).collect()
    }

    /// Returns the node processes below another in its host.
    pub fn children_in_host(&self, node: u32) -> Vec<u32> {
        let (host, place) = self.place(node);
        let nodes = &self.hosts[host];
        let below = self.shapes.process.children(place as u32, 0, nodes.len() as u32);
        below.into_iter().map(|place| nodes[place as usize]).collect()
    }

    /// Returns the node processes below another, in the order in which to send to them: the way to other hosts is longer.
    pub fn children(&self, node: u32) -> Vec<u32> {
        let mut all = self.children_elsewhere(node);
        all.extend(self.children_in_host(node));
        all
    }

    /// Returns a node process and all below it, ascending.
    pub fn subtree(&self, node: u32) -> Vec<u32> {
        let mut all = vec![node];
        let mut next = 0;
        while next < all.len() {
            all.extend(self.children(all[next]));
            next += 1;
        }
        all.sort_unstable();
        all
    }
}

/// Cuts `bytes` into segments of at most `segment` bytes; there is one at least.
pub(crate) fn segments(total: u64, segment: u64) -> impl Iterator<Item = Range<u64>> + Clone {
    let segment = segment.max(1);
    (0..total.div_ceil(segment).max(1)).map(move |i| i * segment..total.min((i + 1) * segment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::tree::{BINOMIAL, shape_for};

    #[test]
    fn a_tree_has_one_edge_less_than_node_processes_and_than_hosts() {
        for nodes in 1..34 {
            for hosts in [1, 2, 3, nodes] {
                let layout = Layout::new(nodes, |member| member, |node| node % hosts);
                let hosts = hosts.min(nodes);
                let all: Vec<u32> = (0..nodes).collect();
                for root in 0..nodes {
                    for shape in [shape_for(hosts), Shape::Chain, Shape::Flat, Shape::Binary, BINOMIAL] {
                        let shapes = Shapes { cluster: shape, process: Shape::Flat };
                        let tree = Tree::new(&layout, &all, root, shapes);
                        let (mut edges, mut between) = (0, 0);
                        for node in 0..nodes {
                            assert_eq!(tree.parent(node).is_none(), node == root);
                            for child in tree.children(node) {
                                assert_eq!(tree.parent(child), Some(node));
                                edges += 1;
                                between += u32::from(layout.host(child) != layout.host(node));
                            }
                        }
                        assert_eq!((edges, between), (nodes - 1, hosts - 1));
                        assert_eq!(tree.subtree(root), all);
                    }
                }
            }
        }
    }

    #[test]
    fn segments_cover_everything_once() {
        assert_eq!(segments(0, 10).next(), Some(0..0));
        assert_eq!(segments(25, 10).collect::<Vec<_>>(), [0..10, 10..20, 20..25]);
    }
}
