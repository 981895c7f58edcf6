//! What a rank shows the others of its collective calls in checking mode, also those of other processes.

use core::ffi::c_int;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use weft_base::site::{self, Site};
use weft_datatype::Signature;

/// What one side of an operation is, for each rank that the caller exchanges data with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Side {
    Nobody,
    /// The same for every rank.
    Everybody(Signature),
    /// For one rank only.
    One(u32, Signature),
    /// For each rank its own; none where an argument makes no sense.
    Each(Vec<Option<Signature>>),
    /// For each edge to or from a neighbor, which both ends know by the same number among the edges of the two.
    Edges(HashMap<(u32, usize), Signature>),
}

impl Side {
    /// Returns what it is for a rank, on an edge if the operation is one among neighbors.
    pub fn of(&self, rank: u32, edge: usize) -> Option<&Signature> {
        match self {
            Self::Nobody => None,
            Self::Everybody(signature) => Some(signature),
            Self::One(only, signature) => (*only == rank).then_some(signature),
            Self::Each(all) => all.get(rank as usize)?.as_ref(),
            Self::Edges(all) => all.get(&(rank, edge)),
        }
    }

    /// Returns the numbers of the edges that there are, to whichever ranks.
    pub fn edges(&self) -> impl Iterator<Item = usize> + use<> {
        let mut all: Vec<usize> = match self {
            Self::Edges(all) => all.keys().map(|(_, edge)| *edge).collect(),
            _ => vec![0],
        };
        all.sort_unstable();
        all.dedup();
        all.into_iter()
    }
}

/// A rank of a communicator, by its number among those of its side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    pub is_left: bool,
    pub rank: u32,
}

/// What a rank shows to the others.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Shown {
    pub call: Cow<'static, str>,
    #[serde(with = "site")]
    pub site: Option<&'static Site>,
    /// Its rank in its job.
    pub world_rank: u32,
    pub place: Place,
    /// What the rank calls the communicator.
    pub communicator: String,
    /// Whether the communicator is one of two groups.
    pub is_inter: bool,
    pub root: Option<c_int>,
    /// The operation of a reduction: its handle if it is predefined; whether it commutes.
    pub operation: Option<(usize, bool)>,
    /// What must be the same at all ranks.
    pub common: Option<Signature>,
    pub sends: Side,
    pub receives: Side,
}

impl Shown {
    pub fn new(
        call: &'static str,
        world_rank: u32,
        place: Place,
        communicator: String,
        is_inter: bool,
    ) -> Self {
        Self {
            call: call.strip_suffix("_c").unwrap_or(call).into(),
            site: site::current(),
            world_rank,
            place,
            communicator,
            is_inter,
            root: None,
            operation: None,
            common: None,
            sends: Side::Nobody,
            receives: Side::Nobody,
        }
    }

    /// Writes it for another process.
    pub fn written(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a vector has room for all")
    }

    /// Reads what another process has written. Returns nothing if it is not that.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (shown, rest) = postcard::take_from_bytes(bytes).ok()?;
        rest.is_empty().then_some(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use weft_base::constants::{MPI_DOUBLE, MPI_INT};
    use weft_base::site::Place as Spot;
    use weft_datatype::Datatype;

    fn signature(count: u64) -> Signature {
        let handle = if count.is_multiple_of(2) { MPI_INT } else { MPI_DOUBLE };
        Signature::new(Datatype::predefined(handle).expect("predefined"), count)
    }

    fn sides() -> impl Strategy<Value = Side> {
        prop_oneof![
            Just(Side::Nobody),
            any::<u64>().prop_map(|count| Side::Everybody(signature(count))),
            any::<(u32, u64)>().prop_map(|(rank, count)| Side::One(rank, signature(count))),
            proptest::collection::vec(any::<Option<u64>>(), 0..9)
                .prop_map(|all| Side::Each(all.into_iter().map(|one| one.map(signature)).collect())),
            proptest::collection::vec((0..9u32, 0..3usize, any::<u64>()), 0..9).prop_map(|all| {
                let all = all.into_iter();
                Side::Edges(all.map(|(rank, edge, count)| ((rank, edge), signature(count))).collect())
            }),
        ]
    }

    fn shown() -> impl Strategy<Value = Shown> {
        let optional = any::<(Option<i32>, Option<(u32, bool)>, Option<u64>, Option<u64>)>();
        (any::<(u32, u32, bool, bool)>(), optional, sides(), sides()).prop_map(
            |(whose, optional, sends, receives)| {
                let (world_rank, rank, is_left, is_inter) = whose;
                let (root, operation, common, offset) = optional;
                let spot =
                    |offset| Spot { call: "MPI_Bcast".into(), offset: offset % 8, file: "a.out".into() };
                Shown {
                    site: offset.and_then(|offset| site::elsewhere(spot(offset))),
                    root,
                    operation: operation.map(|(handle, commutes)| (handle as usize, commutes)),
                    common: common.map(signature),
                    sends,
                    receives,
                    ..Shown::new("MPI_Bcast_c", world_rank, Place { is_left, rank }, "halo".into(), is_inter)
                }
            },
        )
    }

    fn agree(one: Option<&Signature>, other: Option<&Signature>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) => one.differs(other).is_none(),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(shown in shown(), cut in any::<usize>()) {
            let written = shown.written();
            let read = Shown::read(&written).expect("written so");
            prop_assert_eq!((&read.call, read.world_rank, read.place), (&shown.call, shown.world_rank, shown.place));
            prop_assert_eq!(&read.communicator, &shown.communicator);
            prop_assert_eq!((read.is_inter, read.root, read.operation), (shown.is_inter, shown.root, shown.operation));
            prop_assert_eq!(read.site.map(|site| site.place()), shown.site.map(|site| site.place()));
            prop_assert!(agree(read.common.as_ref(), shown.common.as_ref()));
            for (one, other) in [(&read.sends, &shown.sends), (&read.receives, &shown.receives)] {
                prop_assert_eq!(one.edges().collect::<Vec<_>>(), other.edges().collect::<Vec<_>>());
                for edge in other.edges() {
                    let ranks = (0..9).chain(if let Side::One(rank, _) = other { Some(*rank) } else { None });
                    for rank in ranks {
                        prop_assert!(agree(one.of(rank, edge), other.of(rank, edge)), "rank {}", rank);
                    }
                }
            }
            prop_assert!(Shown::read(&written[..cut % written.len()]).is_none());
        }

        #[test]
        fn whatever_comes_is_read_or_refused(shown in shown(), place in any::<usize>(), byte in any::<u8>()) {
            let mut bytes = shown.written();
            let place = place % bytes.len();
            bytes[place] = byte;
            if let Some(read) = Shown::read(&bytes) {
                let _ = (read.written(), read.sends.edges().count(), format!("{read:?}"));
            }
        }
    }
}
