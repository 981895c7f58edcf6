//! Programs of neighborhood operations: each member has one of its own, which knows its neighbors and nobody else.
//!
//! A message is for one member and names its sender and which of the edges between the two it is.

use super::layout::Layout;
use super::program::{Action, Piece, Program};
use crate::operation::{Contribution, NOBODY};

/// Returns the key of what `source` sends over an edge.
fn key(source: u32, edge: usize) -> u64 {
    u64::from(source) << 32 | edge as u64
}

/// Returns a member's program.
pub(crate) fn program(layout: &Layout, member: u32, contribution: &Contribution) -> Program {
    let mut program = Program::default();
    program.first_leads = true;
    let neighbors = contribution.neighbors.as_ref().expect("a neighborhood operation");
    for (index, &to) in neighbors.destinations.iter().enumerate().filter(|&(_, &to)| to != NOBODY) {
        let piece = Piece::Peer { place: index as u32, in_place: 0 };
        let cell = program.make(|output| Action::Take { member, piece, output });
        let key = key(member, neighbors.edge_to(index));
        program.add(Action::Send { to: layout.home(to), part: to, key, cells: vec![cell] });
    }
    for (index, &from) in neighbors.sources.iter().enumerate().filter(|&(_, &from)| from != NOBODY) {
        let key = key(from, neighbors.edge_from(index));
        let cells = program.receive(layout.home(from), key, 1);
        let piece = Piece::Peer { place: index as u32, in_place: 0 };
        program.add(Action::Give { member, piece, cells, after: Vec::new() });
    }
    program.finish()
}
