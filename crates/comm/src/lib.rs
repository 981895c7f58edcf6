//! Groups and communicators as plain values: who is in them, under which context number.
//!
//! Nothing here talks to anybody. Creating a communicator is a collective step and belongs to the layers above,
//! which agree on the context number first.

mod group;

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
