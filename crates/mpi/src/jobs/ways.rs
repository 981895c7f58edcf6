//! New ways between node processes of two sides that do not know each other: which are missing, and who makes them.
//!
//! Node processes have a number among those of both sides, the left ones first. Each that needs a way offers what its devices
//! need, and all learn of it by its card. The secret is drawn for this meeting, and no process uses it for anything else.
//!
//! Where a device connects late all greet each other before they go on. So a process that cannot be reached is an error of the
//! call that connects; and there is a connection whose end tells of a process's end, also to who only waits for it.

use crate::jobs::nodes;
use crate::jobs::strangers::{self, NodeIdentity, NodeProcess, Tie};
use crate::process::host::host;
use weft_base::constants::MPI_ERR_INTERN;
use weft_base::{Error, Result};
use weft_fabric::{Card, Meeting, Member, Offer};
use weft_handshake::Secret;
use weft_sync::Lock;
use weft_transport::Node;

/// Which node processes of one side need a new way to which of the other.
pub(crate) struct Needs {
    /// Of both sides, the left one first.
    nodes: Vec<NodeProcess>,
    /// How many are of the left one.
    left: usize,
    /// By node process of the left side and of the right one.
    missing: Vec<Vec<bool>>,
}

/// What a node process has made for those that need a way to it.
pub(crate) struct Made {
    /// To be kept until all have what they need.
    offer: Lock<Offer>,
    pub card: Card,
}

impl Needs {
    /// Takes the node processes of both sides, and which of the other side's each knows; nothing if that makes no sense.
    pub fn new(
        sides: [Vec<NodeProcess>; 2],
        left_knows: &[Vec<bool>],
        right_knows: &[Vec<bool>],
    ) -> Option<Self> {
        let [left, right] = &sides;
        let fits = |known: &[Vec<bool>], own: &[NodeProcess], other: &[NodeProcess]| {
            known.len() == own.len() && known.iter().all(|row| row.len() == other.len())
        };
        if !fits(left_knows, left, right) || !fits(right_knows, right, left) {
            return None;
        }
        let is_missing = |l: usize, r: usize| {
            left[l].identity() != right[r].identity() && !(left_knows[l][r] && right_knows[r][l])
        };
        let missing = (0..left.len()).map(|l| (0..right.len()).map(|r| is_missing(l, r)).collect()).collect();
        Some(Self { left: left.len(), missing, nodes: sides.concat() })
    }

    pub fn any(&self) -> bool {
        self.missing.iter().flatten().any(|&missing| missing)
    }

    /// Returns the number of this node process, which may be on both sides.
    fn own(&self, is_left: bool) -> Node {
        let me: NodeIdentity = (host().job(), nodes::own_place().map_or(0, |(node, _)| node));
        let first = if is_left { 0 } else { self.left };
        let place = self.nodes[first..].iter().position(|node| node.identity() == me);
        (first + place.unwrap_or(0)) as Node
    }

    /// Returns the meeting of both sides as the node process with a number sees it.
    fn meeting_of(&self, own: Node) -> Meeting {
        let member = |node: &NodeProcess| Member { host: node.host, ranks: node.ranks.len() as u32 };
        let members: Vec<Member> = self.nodes.iter().map(member).collect();
        let (left, right) = members.split_at(self.left);
        Meeting::of_sides(own, [left.to_vec(), right.to_vec()], self.missing.clone())
    }

    /// Tells whether the new ways need a secret of both sides.
    pub fn needs_secret(&self) -> bool {
        self.meeting_of(0).needs_secret()
    }

    /// Makes what others need of this node process.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN` with what the system refuses.
    pub fn make(&self, is_left: bool) -> Result<Made> {
        let offer = self.meeting_of(self.own(is_left)).offer(None)?;
        let card = offer.card();
        Ok(Made { offer: Lock::new(offer), card })
    }

    /// Makes the ways that this node process needs, given the cards of all by number.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN` with what the system refuses, or what another could not make; `MPI_ERR_PORT` if somebody cannot be
    /// reached.
    pub fn link(&self, made: &Made, cards: &[Card], secret: Option<Secret>) -> Result<Tie> {
        let mut card_of = |node: Node| {
            let card = cards.get(node as usize).filter(|card| !card.is_empty()).cloned();
            card.ok_or_else(|| {
                let text = "another process has not made what a way to it needs; it says why";
                Error::new(MPI_ERR_INTERN, text)
            })
        };
        let joined = made.offer.lock().join(&mut card_of, secret.as_ref())?;
        joined.greet()?;
        let mut tie = Tie::default();
        for (device, others) in joined.into_ways() {
            let with_process = |(number, member): (Node, Node)| (number, self.nodes[member as usize].clone());
            let met: Vec<_> = others.into_iter().map(with_process).collect();
            tie.add(strangers::meet(device, &met)?);
        }
        Ok(tie)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(job: u64, node: u32, host: u64) -> NodeProcess {
        NodeProcess { job, node, ranks: vec![node], host, place: host }
    }

    #[test]
    fn a_way_is_missing_where_one_of_two_does_not_know_the_other() {
        let sides = [vec![node(1, 0, 7), node(1, 1, 7)], vec![node(2, 0, 7), node(1, 1, 7)]];
        // The second left one is the second right one.
        let left_knows = [vec![true, true], vec![true, true]];
        let right_knows = [vec![true, false], vec![true, true]];
        let needs = Needs::new(sides.clone(), &left_knows, &right_knows).unwrap();
        assert!(needs.any() && !needs.needs_secret());
        assert_eq!(needs.missing, [[false, false], [true, false]]);
        assert!(Needs::new(sides, &left_knows[..1], &right_knows).is_none());
    }

    #[test]
    fn a_secret_is_needed_between_hosts() {
        let sides = [vec![node(1, 0, 7), node(1, 1, 8)], vec![node(2, 0, 8), node(2, 1, 9)]];
        let needs = |left_knows: [Vec<bool>; 2]| {
            Needs::new(sides.clone(), &left_knows, &[vec![true; 2], vec![true; 2]]).unwrap().needs_secret()
        };
        assert!(!needs([vec![true, true], vec![false, true]]));
        assert!(needs([vec![true, true], vec![false, false]]));
    }
}
