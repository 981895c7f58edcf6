//! What plans are made with: the choices that they depend on, and the parts that operations have in common.

use super::layout::Layout;
use super::program::{Action, Cell, Piece, Program};
use super::tree::{Shapes, Tree};
use crate::operation::call::Call;
use crate::pattern::tree;
use crate::started::plan::Members;
use core::ops::Range;

/// How node processes exchange data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Algorithm {
    /// Along a tree of this shape between hosts.
    Tree(tree::Shape),
    /// A scatter along a binomial tree, then an allgather around a ring.
    ScatterAllgather,
    /// Around a ring.
    Ring,
    /// With partners at doubling distances.
    Doubling,
    /// Recursive halving, then recursive doubling.
    Rabenseifner,
    /// With blocks that double and rotate.
    Bruck,
    /// With each partner in turn.
    Pairwise,
    /// At doubling distances in each round.
    Dissemination,
    /// Reductions in the order of the memory of a host, by the ways of `ordered`.
    Ordered,
}

/// What a program depends on. All members come to the same, but for `is_light`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub call: Call,
    pub members: Members,
    pub root: Option<u32>,
    /// The bytes of the buffer that all have in common: of a broadcast or reduction.
    pub bytes: u64,
    /// The bytes of an element, in a reduction.
    pub element: u64,
    pub is_commutative: bool,
    pub in_place: bool,
    /// Whether data is copied aside so that its owner need not wait for others of its node process.
    pub is_light: bool,
    pub algorithm: Algorithm,
    /// The bytes of a segment.
    pub segment: u64,
}

/// The view of one node process.
pub(crate) struct Planner<'a> {
    pub layout: &'a Layout,
    pub me: u32,
    pub choice: &'a Choice,
    pub program: Program,
}

/// Returns the key of a message: which part of the operation, and which of its messages.
pub(crate) fn key(phase: u32, index: u64) -> u64 {
    u64::from(phase) << 40 | index
}

/// Returns the members of a node process that take part: all but the others of a root's group, between two groups.
pub(crate) fn participants(layout: &Layout, index: u32, choice: &Choice) -> Vec<u32> {
    let members = layout.all_on(index).iter().copied();
    match choice.root {
        Some(root) if choice.members.are_two_groups() => {
            let far = choice.members.peers(root);
            members.filter(|member| *member == root || far.contains(member)).collect()
        }
        _ => members.collect(),
    }
}

impl<'a> Planner<'a> {
    /// Returns 13 bits of the number of elements of a reduction, to which all contribute as many.
    pub fn shape_of_length(&self) -> u32 {
        let count = if self.choice.call.is_reduction() { self.choice.bytes / self.choice.element } else { 0 };
        (count ^ count >> 13 ^ count >> 26) as u32 & 0x1fff
    }

    pub fn shape_of_algorithm(&self) -> u32 {
        match self.choice.algorithm {
            Algorithm::Tree(tree::Shape::Flat) => 0,
            Algorithm::Tree(tree::Shape::Chain) => 1,
            Algorithm::Tree(tree::Shape::Binary) => 2,
            Algorithm::Tree(tree::Shape::KNomial(radix)) => 32 + radix % 128,
            Algorithm::ScatterAllgather => 3,
            Algorithm::Ring => 4,
            Algorithm::Doubling => 5,
            Algorithm::Rabenseifner => 6,
            Algorithm::Bruck => 7,
            Algorithm::Pairwise => 8,
            Algorithm::Dissemination => 9,
            Algorithm::Ordered => 10,
        }
    }

    /// Returns the members here that take part.
    pub fn participants(&self) -> Vec<u32> {
        participants(self.layout, self.me, self.choice)
    }

    pub fn all(&self) -> Range<u32> {
        0..self.choice.members.size
    }

    /// Returns the members of a range that are here.
    pub fn here(&self, range: &Range<u32>) -> &'a [u32] {
        self.layout.on(self.me, range)
    }

    pub fn root(&self) -> u32 {
        self.choice.root.expect("the operation has a root, and who takes part knows it")
    }

    /// Returns the members that the root exchanges data with.
    pub fn far(&self) -> Range<u32> {
        self.choice.members.peers(self.root())
    }

    /// Returns the shapes of trees.
    pub fn shapes(&self, hosts: u32) -> Shapes {
        let cluster = match self.choice.algorithm {
            Algorithm::Tree(shape) => shape,
            _ => tree::shape_for(hosts),
        };
        // The ranks below one follow each other in these two.
        let process = if self.layout.len() > 8 { tree::BINOMIAL } else { tree::Shape::Flat };
        Shapes { cluster, process }
    }

    /// Lays a tree over some node processes.
    pub fn tree(&self, nodes: &[u32], root: u32) -> Tree<'a> {
        let mut hosts: Vec<u32> = nodes.iter().map(|&node| self.layout.host(node)).collect();
        hosts.dedup();
        Tree::new(self.layout, nodes, root, self.shapes(hosts.len() as u32))
    }

    /// Returns what a member has for another.
    pub fn piece_between(&self, from: u32, to: u32) -> Piece {
        let members = &self.choice.members;
        Piece::Peer { place: members.rank(to), in_place: members.rank(from) }
    }

    pub fn take(&mut self, member: u32, piece: Piece) -> Cell {
        self.program.make(|output| Action::Take { member, piece, output })
    }

    pub fn give(&mut self, member: u32, piece: Piece, cells: Vec<Cell>) {
        self.program.add(Action::Give { member, piece, cells, after: Vec::new() });
    }

    /// Hands cells that node process `root` has to all of `nodes`, each along a tree; returns them as this one has them.
    pub fn hand_down(
        &mut self,
        cells: Option<Vec<Cell>>,
        count: usize,
        nodes: &[u32],
        root: u32,
        phase: u32,
    ) -> Vec<Cell> {
        let tree = self.tree(nodes, root);
        let (parent, children) = (tree.parent(self.me), tree.children(self.me));
        let mut all = Vec::with_capacity(count);
        for index in 0..count {
            let cell = match parent {
                Some(parent) => self.program.receive(parent, key(phase, index as u64), 1)[0],
                None => cells.as_ref().expect("the root has what it hands down")[index],
            };
            for &child in &children {
                self.program.send(child, key(phase, index as u64), vec![cell]);
            }
            all.push(cell);
        }
        all
    }
}
