//! Groups and communicators as plain values: who is in them, under which context number.
//!
//! Nothing here talks to anybody. Creating a communicator is a collective step and belongs to the layers above,
//! which agree on the context number first.

mod group;
pub mod topology;

pub use group::{Comparison, Group};

/// The context number of `MPI_COMM_WORLD`.
pub const WORLD_CONTEXT: u32 = 0;
/// The context number of `MPI_COMM_SELF` on every rank; it never leaves the rank, so all ranks share it.
pub const SELF_CONTEXT: u32 = 1;
/// The first context number for communicators created later.
pub const FIRST_FREE_CONTEXT: u32 = 2;

/// A communicator as one of its ranks sees it.
#[derive(Clone, Debug)]
pub struct Communicator {
    /// The number that all its ranks agree on, unique in the job while the communicator lives.
    pub context: u32,
    /// The caller's rank in [`Communicator::group`].
    pub rank: u32,
    /// The ranks of the caller's side.
    pub group: Group,
    /// The other side's ranks, for an intercommunicator.
    pub remote: Option<Group>,
    /// Which side of an intercommunicator the caller is on: all its ranks agree on which is the left one. True for an
    /// intracommunicator.
    pub is_left: bool,
}

impl Communicator {
    /// Returns the number of ranks on the caller's side.
    #[inline]
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// Returns the group that destination and source arguments refer to: the other side of an
    /// intercommunicator, the only side of an intracommunicator.
    #[inline]
    pub fn peers(&self) -> &Group {
        self.remote.as_ref().unwrap_or(&self.group)
    }

    /// Tells whether this is an intercommunicator.
    #[inline]
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// Returns an intracommunicator.
    pub fn intra(context: u32, rank: u32, group: Group) -> Self {
        Self { context, rank, group, remote: None, is_left: true }
    }

    /// Returns an intercommunicator of ranks of one job: the left side is the one whose first member has the smaller rank
    /// in the job.
    pub fn inter(context: u32, rank: u32, group: Group, remote: Group) -> Self {
        let is_left = group.world_rank(0) < remote.world_rank(0);
        Self { context, rank, group, remote: Some(remote), is_left }
    }

    /// Returns all ranks, and the caller's place among them: the group, or for an intercommunicator the left side's
    /// ranks and then those of the right side.
    pub fn everyone(&self) -> (Group, u32) {
        match &self.remote {
            None => (self.group.clone(), self.rank),
            Some(remote) if self.is_left => (self.group.union(remote), self.rank),
            Some(remote) => (remote.union(&self.group), remote.size() + self.rank),
        }
    }

    /// Returns how many ranks there are on all sides.
    pub fn population(&self) -> u32 {
        self.size() + self.remote.as_ref().map_or(0, Group::size)
    }

    /// Returns the context of point-to-point messages.
    #[inline]
    pub fn point_to_point_context(&self) -> u32 {
        self.context * 2
    }

    /// Returns the context of messages that collective operations send.
    #[inline]
    pub fn collective_context(&self) -> u32 {
        self.context * 2 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_an_intercommunicator_see_everyone_in_one_order() {
        let (evens, odds) = (Group::from_ranks(&[4, 0, 2]), Group::from_ranks(&[3, 1]));
        let side =
            |group: &Group, remote: &Group, rank| Communicator::inter(9, rank, group.clone(), remote.clone());
        for (communicator, world) in [
            (side(&evens, &odds, 0), 4),
            (side(&evens, &odds, 2), 2),
            (side(&odds, &evens, 0), 3),
            (side(&odds, &evens, 1), 1),
        ] {
            let (everyone, place) = communicator.everyone();
            assert_eq!(everyone.iter().collect::<Vec<_>>(), [3, 1, 4, 0, 2]);
            assert_eq!(everyone.world_rank(place), world);
            assert_eq!(communicator.population(), 5);
        }
        assert!(side(&odds, &evens, 0).is_left && !side(&evens, &odds, 0).is_left);
    }
}
