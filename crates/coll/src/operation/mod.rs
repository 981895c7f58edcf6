//! A collective operation as a value: what a rank contributes, what it receives and how.
//!
//! [`Operation`] borrows its datatypes and describes a call that is under way; [`Contribution`] owns them, for
//! operations that outlive the call.
//!
//! `buffer`: a buffer of the user. `call`: what a rank says about its call, so that ranks in different calls are noticed; `mismatch`: their error.

pub(crate) mod buffer;
pub(crate) mod call;
pub(crate) mod mismatch;

use crate::operation::buffer::{Data, Operator, OwnedData, OwnedOperator};
use crate::operation::call::{Call, Description};
use core::ops::Range;
use weft_datatype::Datatype;

/// The root of an operation, as the calling rank knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// The operation has none.
    None,
    /// A rank of the communicator; of the other group on an intercommunicator.
    Rank(u32),
    /// The caller (`MPI_ROOT` on an intercommunicator).
    Here,
    /// Another rank of the caller's group (`MPI_PROC_NULL` on an intercommunicator).
    Elsewhere,
}

/// A rank's data for, or from, its peers.
#[derive(Clone, Debug)]
pub enum Buffers<'a> {
    /// None: it is in place, or the rank has none.
    None,
    /// The same for every peer.
    Whole(Data<'a>),
    /// Divided evenly among so many peers.
    Even(Data<'a>, u32),
    /// A piece for each peer.
    Pieces(Vec<Data<'a>>),
}

impl<'a> Buffers<'a> {
    /// Returns the piece for, or from, a peer.
    ///
    /// # Panics
    /// If there are none.
    #[inline]
    pub fn piece(&self, peer: u32) -> Data<'a> {
        match self {
            Self::None => unreachable!("the operation has no such data"),
            Self::Whole(data) => *data,
            Self::Even(whole, parts) => even(whole, *parts, peer),
            Self::Pieces(pieces) => pieces[peer as usize],
        }
    }

    /// Returns the one buffer, or the one that is divided evenly.
    pub(crate) fn whole(&self) -> Option<Data<'a>> {
        match self {
            Self::Whole(data) | Self::Even(data, _) => Some(*data),
            _ => None,
        }
    }

    /// Returns the buffer that is divided evenly.
    pub(crate) fn piece_of_all(&self) -> Data<'a> {
        self.whole().expect("the operation divides a buffer evenly")
    }

    /// Tells whether there are none.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

fn even<'a>(whole: &Data<'a>, parts: u32, peer: u32) -> Data<'a> {
    let each = whole.count() / u64::from(parts);
    whole.part(u64::from(peer) * each, each)
}

/// The neighbor that does not exist, at the edge of a grid.
pub const NOBODY: u32 = u32::MAX;

/// The ranks a rank exchanges data with in a neighborhood operation, in the order of the buffers' pieces.
#[derive(Clone, Default, Debug)]
pub struct Neighbors {
    /// From whom it receives.
    pub sources: Vec<u32>,
    /// To whom it sends.
    pub destinations: Vec<u32>,
    /// Whether they are the two neighbors in each dimension of a grid: what one rank sends up comes from below.
    pub grid: bool,
}

/// Returns how many elements before `index` equal the one there.
fn earlier(list: &[u32], index: usize) -> usize {
    list[..index].iter().filter(|&&other| other == list[index]).count()
}

impl Neighbors {
    /// Returns the number that the edge to a destination has among those between the two ranks, as both ends count:
    /// on a grid what is sent up comes from below, whoever the neighbors are; else the first edge to a rank is the first one
    /// from its source there, and so on.
    pub fn edge_to(&self, destination: usize) -> usize {
        if self.grid { destination ^ 1 } else { earlier(&self.destinations, destination) }
    }

    /// Returns the number of the edge from a source, as [`Neighbors::edge_to`] at its other end.
    pub fn edge_from(&self, source: usize) -> usize {
        if self.grid { source } else { earlier(&self.sources, source) }
    }
}

/// One rank's part in a collective operation.
#[derive(Clone, Debug)]
pub struct Operation<'a> {
    /// Which operation.
    pub call: Call,
    /// The root.
    pub root: Root,
    /// What the rank contributes. None if it is in place: in `receive`, or in the same rank's piece of it.
    pub send: Buffers<'a>,
    /// What it receives. None if it receives nothing, or its own part stays in place.
    pub receive: Buffers<'a>,
    /// How contributions are reduced.
    pub operator: Option<Operator<'a>>,
    /// The elements of the result that the rank receives in a reduce-scatter.
    pub mine: Range<u64>,
    /// The neighbors, in a neighborhood operation.
    pub neighbors: Option<Neighbors>,
}

impl<'a> Operation<'a> {
    /// Returns what the rank sends, or else receives, as one piece of data, if it is one.
    pub(crate) fn one(&self) -> Option<Data<'a>> {
        [&self.send, &self.receive].into_iter().find_map(|buffers| buffers.whole())
    }

    /// Tells whether pieces are exchanged in place.
    pub(crate) fn is_swap(&self) -> bool {
        self.send.is_none() && matches!(self.call, Call::Alltoall | Call::Alltoallv | Call::Alltoallw)
    }

    /// Describes the operation to the other members, with the root as these count.
    pub(crate) fn describe(&self, root: Option<u32>) -> Description {
        // The length only where all must have the same: in reductions, of which one piece says it all.
        let compared = if self.operator.is_some() {
            self.one().map_or(0, |data| data.bytes())
        } else {
            u64::from(self.is_swap())
        };
        Description::new(self.call, root, compared)
    }

    /// Describes an operation without data.
    pub fn new(call: Call) -> Self {
        Self {
            call,
            root: Root::None,
            send: Buffers::None,
            receive: Buffers::None,
            operator: None,
            mine: 0..0,
            neighbors: None,
        }
    }
}

/// Pieces with few different datatypes.
#[derive(Debug)]
pub(crate) struct OwnedPieces {
    types: Vec<Datatype>,
    /// Each with its place in `types`.
    pieces: Vec<(OwnedData<()>, u32)>,
}

/// [`Buffers`] that keep their datatypes alive.
#[derive(Debug)]
pub(crate) enum OwnedBuffers {
    None,
    Whole(OwnedData<Datatype>),
    Even(OwnedData<Datatype>, u32),
    Pieces(OwnedPieces),
}

impl From<&Buffers<'_>> for OwnedBuffers {
    fn from(buffers: &Buffers<'_>) -> Self {
        match buffers {
            Buffers::None => Self::None,
            Buffers::Whole(data) => Self::Whole(data.kept()),
            Buffers::Even(data, parts) => Self::Even(data.kept(), *parts),
            Buffers::Pieces(list) => {
                let mut types: Vec<Datatype> = Vec::new();
                let mut pieces = Vec::with_capacity(list.len());
                for data in list {
                    if types.last().is_none_or(|last| !last.same(data.datatype())) {
                        types.push(data.datatype().clone());
                    }
                    pieces.push((data.place(), types.len() as u32 - 1));
                }
                Self::Pieces(OwnedPieces { types, pieces })
            }
        }
    }
}

impl OwnedBuffers {
    /// Returns the piece for, or from, a peer, if there are any.
    pub fn piece(&self, peer: u32) -> Option<Data<'_>> {
        match self {
            Self::None => None,
            Self::Whole(data) => Some(data.data()),
            Self::Even(whole, parts) => Some(even(&whole.data(), *parts, peer)),
            Self::Pieces(OwnedPieces { types, pieces }) => {
                let (place, datatype) = &pieces[peer as usize];
                Some(place.with(&types[*datatype as usize]))
            }
        }
    }

    /// Returns the buffer that is divided evenly, if it has so many bytes and there are any.
    pub fn evenly(&self, bytes: u64) -> Option<Data<'_>> {
        match self {
            Self::Even(whole, _) => Some(whole.data()).filter(|data| bytes > 0 && data.bytes() == bytes),
            _ => None,
        }
    }

    /// Returns the bytes of all pieces.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Whole(data) | Self::Even(data, _) => data.data().bytes(),
            Self::Pieces(all) => {
                (0..all.pieces.len()).filter_map(|i| self.piece(i as u32)).map(|d| d.bytes()).sum()
            }
        }
    }
}

/// A rank's part in an operation, with everything it needs kept alive.
#[derive(Debug)]
pub(crate) struct Contribution {
    pub send: OwnedBuffers,
    pub receive: OwnedBuffers,
    pub operator: Option<OwnedOperator>,
    pub mine: Range<u64>,
    pub neighbors: Option<Neighbors>,
    /// What all ranks' calls have in common.
    pub description: Description,
    /// Whether the rank takes the root's part.
    pub is_root: bool,
    /// Whether the rank has no part in the data.
    pub is_spectator: bool,
}

impl Contribution {
    /// Keeps an operation, described to others by `description`.
    pub fn new(operation: &Operation<'_>, description: Description, is_root: bool) -> Self {
        Self {
            send: (&operation.send).into(),
            receive: (&operation.receive).into(),
            operator: operation.operator.map(Into::into),
            mine: operation.mine.clone(),
            neighbors: operation.neighbors.clone(),
            description,
            is_root,
            is_spectator: operation.root == Root::Elsewhere,
        }
    }

    /// Tells whether the rank takes part with an operation that is the user's.
    pub fn has_users_operator(&self) -> bool {
        let is_users = |operator: &OwnedOperator| !operator.operator().op.is_predefined();
        !self.is_spectator && self.operator.as_ref().is_some_and(is_users)
    }
}
