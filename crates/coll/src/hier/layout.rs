//! Which members of a communicator are on which node process, and which of those share a host.

use core::ops::Range;
use std::collections::HashMap;
use weft_transport::Node;

/// The members of a communicator by node process. Node processes have an *index* here, in the order of their first
/// members, those of one host together, so that a ring over the indices leaves each host once.
#[derive(Debug)]
pub(crate) struct Layout {
    /// By index: the node process.
    nodes: Vec<Node>,
    /// By index: a number that the node processes of one host have in common.
    hosts: Vec<u32>,
    /// By member: the index of its node process.
    home: Vec<u32>,
    /// By index: its members, ascending.
    on: Vec<Vec<u32>>,
}

/// Returns a number that tells communicators with one context number apart. Node processes are numbered in the order of
/// their first members, because processes of different jobs have different numbers for them.
pub(crate) fn signature(size: u32, node_of: impl Fn(u32) -> Node) -> u32 {
    let mut known: HashMap<Node, u32> = HashMap::new();
    let mut sum = size.wrapping_mul(0x9e37_79b9);
    for member in 0..size {
        let next = known.len() as u32;
        let index = *known.entry(node_of(member)).or_insert(next);
        sum = (sum ^ index).wrapping_mul(0x0100_0193).rotate_left(5);
    }
    sum
}

impl Layout {
    /// Notes where `size` members are.
    pub fn new(size: u32, node_of: impl Fn(u32) -> Node, host_of: impl Fn(Node) -> u32) -> Self {
        // By node process: host, first member, its number.
        let mut found: Vec<(u32, u32, Node)> = Vec::new();
        let mut places = Vec::with_capacity(size as usize);
        for member in 0..size {
            let node = node_of(member);
            let place = found.iter().position(|&(_, _, known)| known == node).unwrap_or_else(|| {
                found.push((host_of(node), member, node));
                found.len() - 1
            });
            places.push(place);
        }
        let first_on = |host| found.iter().filter(|f| f.0 == host).map(|f| f.1).min();
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by_key(|&place| (first_on(found[place].0), found[place].1));
        let mut index_of = vec![0; found.len()];
        order.iter().enumerate().for_each(|(index, &place)| index_of[place] = index as u32);
        let home: Vec<u32> = places.into_iter().map(|place| index_of[place]).collect();
        let mut on = vec![Vec::new(); found.len()];
        home.iter().enumerate().for_each(|(member, &index)| on[index as usize].push(member as u32));
        Self {
            nodes: order.iter().map(|&place| found[place].2).collect(),
            hosts: order.iter().map(|&place| found[place].0).collect(),
            home,
            on,
        }
    }

    /// Returns the number of node processes.
    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Returns the node process with an index.
    pub fn node(&self, index: u32) -> Node {
        self.nodes[index as usize]
    }

    /// Returns the index of a node process that holds members.
    pub fn index(&self, node: Node) -> Option<u32> {
        self.nodes.iter().position(|&n| n == node).map(|index| index as u32)
    }

    /// Returns the host of a node process.
    pub fn host(&self, index: u32) -> u32 {
        self.hosts[index as usize]
    }

    /// Returns the number of members.
    pub fn members(&self) -> u32 {
        self.home.len() as u32
    }

    /// Returns the index of a member's node process.
    pub fn home(&self, member: u32) -> u32 {
        self.home[member as usize]
    }

    /// Returns the members of a node process that are in a range, ascending.
    pub fn on(&self, index: u32, range: &Range<u32>) -> &[u32] {
        let all = &self.on[index as usize];
        let first = all.partition_point(|&member| member < range.start);
        let end = all.partition_point(|&member| member < range.end);
        &all[first..end.max(first)]
    }

    /// Returns all members of a node process.
    pub fn all_on(&self, index: u32) -> &[u32] {
        &self.on[index as usize]
    }

    /// Returns the node processes that hold members of a range, and those of `with`, ascending.
    pub fn holding(&self, range: &Range<u32>, with: Option<u32>) -> Vec<u32> {
        (0..self.len()).filter(|&index| !self.on(index, range).is_empty() || with == Some(index)).collect()
    }

    /// Tells whether the members of a range follow each other node process by node process.
    pub fn is_contiguous(&self, range: &Range<u32>) -> bool {
        self.home[range.start as usize..range.end as usize].is_sorted()
    }

    /// Returns the longest runs of consecutive members in a range that are on some node processes.
    pub fn runs(&self, nodes: &[u32], range: &Range<u32>) -> Vec<Range<u32>> {
        let mut members: Vec<u32> = nodes.iter().flat_map(|&index| self.on(index, range)).copied().collect();
        members.sort_unstable();
        let mut runs: Vec<Range<u32>> = Vec::new();
        for member in members {
            match runs.last_mut() {
                Some(last) if last.end == member => last.end += 1,
                _ => runs.push(member..member + 1),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_does_not_depend_on_the_numbers_of_node_processes() {
        let of = |nodes: &[Node]| signature(nodes.len() as u32, |member| nodes[member as usize]);
        assert_eq!(of(&[0, 0, 7, 3]), of(&[5, 5, 0, 1]));
        assert_ne!(of(&[0, 0, 7, 3]), of(&[0, 7, 7, 3]));
        assert_ne!(of(&[0, 1]), of(&[0, 1, 1]));
    }

    #[test]
    fn node_processes_of_a_host_follow_each_other() {
        let layout = Layout::new(8, |member| member % 4, |node| node % 2);
        let order: Vec<_> = (0..4).map(|index| layout.node(index)).collect();
        assert_eq!(order, [0, 2, 1, 3]);
        for member in 0..8 {
            assert_eq!(layout.node(layout.home(member)), member % 4);
            assert!(layout.on(layout.home(member), &(0..8)).contains(&member));
        }
        assert!(!layout.is_contiguous(&(0..8)));
        assert_eq!(layout.runs(&[0, 2], &(0..8)), [0..2, 4..6]);
        assert_eq!(layout.on(0, &(1..8)), [4]);
        assert_eq!(layout.holding(&(1..3), Some(3)), [1, 2, 3]);
    }
}
