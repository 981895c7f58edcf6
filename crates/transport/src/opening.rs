//! How a device comes to be: what it tells the other node processes first, and what it makes of what they tell.
//!
//! Each device's crate has an [`Opener`]. The crate `fabric` lists all openers, decides which device is the way to whom, and
//! carries the words of each device's [`Offer`] to the others. So nothing above `fabric` knows a device.

use crate::{Device, Node};
use std::os::fd::OwnedFd;
use weft_base::Result;

/// A node process that takes part in a meeting. Its number is its place in the list of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// What tells hosts apart: equal for node processes that can share memory.
    pub host: u64,
    /// How many ranks it holds.
    pub ranks: u32,
}

/// Node processes that meet, as one device sees them.
#[derive(Clone, Copy, Debug)]
pub struct Party<'a> {
    /// All node processes.
    pub members: &'a [Member],
    /// The number of this one.
    pub own: Node,
    /// Those to which this one needs a way that the device can be, ascending.
    pub partners: &'a [Node],
    /// This one, and all that the device can join with it and that need it for somebody, ascending. Where a device joins all
    /// who can be joined with the same one, all in the circle see the same circle.
    pub circle: &'a [Node],
    /// Whether the process has ways to others already, so that what it permits and counts once is done.
    pub is_further: bool,
}

/// How devices of a kind are opened.
pub trait Opener: Sync {
    /// Returns the name of the devices, which is [`Device::name`], and the name of their part of a card.
    fn name(&self) -> &'static str;

    /// Says in words which node processes it joins, and by what.
    fn purpose(&self) -> &'static str;

    /// Tells whether a device of the kind can be the way between two node processes.
    fn joins(&self, one: &Member, other: &Member) -> bool;

    /// Tells whether all who join need a secret that nobody else knows.
    fn needs_secret(&self) -> bool {
        false
    }

    /// Tells whether a peer's end is noticed only once something was sent between the two.
    fn connects_late(&self) -> bool {
        false
    }

    /// Makes what the others need of this node process; nothing if the device is not there on this machine. `inherited` is what the launcher has handed over, if it has; who has
    /// [prepared](Opener::prepare) it takes it.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN` with what the system refuses.
    fn offer(&self, party: &Party<'_>, inherited: &mut Option<OwnedFd>) -> Result<Option<Box<dyn Offer>>>;

    /// Makes what node processes of one host inherit from the launcher that starts them; nothing if there is no such thing.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN` with what the system refuses.
    fn prepare(&self, processes: u32) -> Result<Option<OwnedFd>> {
        let _ = processes;
        Ok(None)
    }

    /// Opens the device of a node process that has no other to talk to yet: where it sleeps, and where it can be woken.
    /// Nothing if a device of the kind needs others.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN` with what the system refuses.
    fn alone(&self) -> Result<Option<Box<dyn Device>>> {
        Ok(None)
    }
}

/// What a device has made of this node process for the others. It lasts until all have what they need: only then it is
/// dropped.
pub trait Offer: Send {
    /// Returns what the others must know, in words of printable characters of ASCII without blanks, commas and plus signs.
    /// The first ones matter most: the last ones are left out where a launcher has no room for them.
    fn words(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns whose words it needs.
    fn asks(&self) -> Vec<Node>;

    /// Becomes the device, given the words of those it needs by their numbers, and what all members know and nobody else.
    /// Returns, too, which member each process of the device is, by the device's numbers.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN` with what the system refuses, or whose words make no sense.
    fn open(
        &mut self,
        party: &Party<'_>,
        words: &[(Node, Vec<String>)],
        secret: Option<&[u8; 32]>,
    ) -> Result<(Box<dyn Device>, Vec<Node>)>;
}
