//! The collectives, the levels, the algorithms, and which of them go together.

macro_rules! words {
    ($(#[$outer:meta])* $kind:ident { $($(#[$meta:meta])* $variant:ident $name:literal,)* }) => {
        $(#[$outer])*
        #[repr(u8)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $kind { $($(#[$meta])* $variant,)* }

        impl $kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name by which tables, settings and info keys know it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Finds one by its name.
            pub fn find(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

words! {
    /// The collectives that have a choice.
    Collective {
        /// `MPI_Barrier`
        Barrier "barrier",
        /// `MPI_Bcast`
        Bcast "bcast",
        /// `MPI_Gather`
        Gather "gather",
        /// `MPI_Gatherv`
        Gatherv "gatherv",
        /// `MPI_Scatter`
        Scatter "scatter",
        /// `MPI_Scatterv`
        Scatterv "scatterv",
        /// `MPI_Allgather`
        Allgather "allgather",
        /// `MPI_Allgatherv`
        Allgatherv "allgatherv",
        /// `MPI_Alltoall`
        Alltoall "alltoall",
        /// `MPI_Alltoallv`
        Alltoallv "alltoallv",
        /// `MPI_Alltoallw`
        Alltoallw "alltoallw",
        /// `MPI_Reduce`
        Reduce "reduce",
        /// `MPI_Allreduce`
        Allreduce "allreduce",
        /// `MPI_Reduce_scatter`
        ReduceScatter "reduce_scatter",
        /// `MPI_Reduce_scatter_block`
        ReduceScatterBlock "reduce_scatter_block",
        /// `MPI_Scan`
        Scan "scan",
        /// `MPI_Exscan`
        Exscan "exscan",
    }
}

/// The number of collectives that have a choice.
pub(super) const COLLECTIVES: usize = Collective::ALL.len();

/// Between whom an algorithm runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Level {
    /// Between the ranks of one node process, in shared memory.
    Ranks,
    /// Between node processes, with messages.
    Nodes,
}

impl Level {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Ranks, Self::Nodes];

    /// Returns its name, which is also the name of a row's range of members.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ranks => "ranks",
            Self::Nodes => "nodes",
        }
    }

    /// Finds one by its name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

words! {
    /// How data moves. What each does is in `docs/book/src/collectives.md`.
    Algorithm {
        /// Counters per worker; nothing moves.
        Counters "counters",
        /// Through slots that all ranks can read: one round, nobody waits who needs nothing.
        Slots "slots",
        /// Ranks show each other their buffers and read them in place.
        InPlace "in-place",
        /// Steps done by whoever is in the library, as for the nonblocking form.
        Schedule "schedule",
        /// A message from the root to each, or from each to the root.
        Flat "flat",
        /// A tree with two below each node.
        Binary "binary",
        /// A binomial tree.
        Binomial "binomial",
        /// A chain through which segments move.
        Chain "chain",
        /// A scatter along a binomial tree, then an allgather around a ring.
        ScatterAllgather "scatter-allgather",
        /// Everything goes around a ring.
        Ring "ring",
        /// Partners at doubling distances.
        RecursiveDoubling "recursive-doubling",
        /// Recursive halving, then recursive doubling.
        Rabenseifner "rabenseifner",
        /// Blocks that double and rotate.
        Bruck "bruck",
        /// With each partner in turn.
        Pairwise "pairwise",
        /// A message at doubling distances in each round.
        Dissemination "dissemination",
    }
}

impl Algorithm {
    /// Returns the algorithms of a collective at a level.
    pub fn of(collective: Collective, level: Level) -> &'static [Self] {
        use Algorithm::*;
        match (level, collective) {
            (Level::Ranks, Collective::Barrier) => &[Counters, Schedule],
            (Level::Ranks, Collective::Alltoallv | Collective::Alltoallw) => &[InPlace, Schedule],
            (Level::Ranks, _) => &[Slots, InPlace, Schedule],
            (Level::Nodes, Collective::Barrier) => &[Dissemination, Flat, Binary, Binomial],
            (Level::Nodes, Collective::Bcast) => &[Flat, Binary, Binomial, Chain, ScatterAllgather],
            (
                Level::Nodes,
                Collective::Gather | Collective::Gatherv | Collective::Scatter | Collective::Scatterv,
            ) => &[Flat, Binomial],
            (Level::Nodes, Collective::Allgather | Collective::Allgatherv) => &[Ring, Bruck],
            (Level::Nodes, Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw) => {
                &[Pairwise, Bruck]
            }
            (Level::Nodes, Collective::Reduce) => &[Flat, Binary, Binomial, Chain, Rabenseifner],
            (Level::Nodes, Collective::Allreduce) => {
                &[Flat, Binary, Binomial, Chain, RecursiveDoubling, Rabenseifner, Ring, Pairwise]
            }
            (Level::Nodes, Collective::ReduceScatter) => {
                &[Flat, Binary, Binomial, Chain, RecursiveDoubling, Rabenseifner, Ring]
            }
            (Level::Nodes, Collective::ReduceScatterBlock) => &[Pairwise],
            (Level::Nodes, Collective::Scan | Collective::Exscan) => &[RecursiveDoubling],
        }
    }

    /// Tells whether all members must come to the same choice by themselves, so that it may depend only on what all of
    /// them know.
    pub(super) fn is_common(self) -> bool {
        // Slots and buffers in place are told by the ranks to each other as they go.
        !matches!(self, Self::Slots | Self::InPlace)
    }

    /// Returns the values of the parameters that a row does not give: segment and block, in bytes; 0 where the algorithm
    /// has no such parameter.
    pub fn parameters(self, collective: Collective, level: Level) -> (u32, u32) {
        use Collective::*;
        match (level, self, collective) {
            // Through slots, too: what does not fit there goes in place.
            (Level::Ranks, _, Reduce | Allreduce | Scan | Exscan) => (2 << 10, 16 << 10),
            (Level::Ranks, _, ReduceScatter | ReduceScatterBlock) => (0, 16 << 10),
            (Level::Nodes, Self::Chain, _) => (64 << 10, 0),
            _ => (0, 0),
        }
    }
}

impl Collective {
    /// Tells whether every rank knows how many bytes a call moves, so that the choice of an algorithm that all must come
    /// to may depend on them.
    pub fn has_common_size(self) -> bool {
        !matches!(self, Self::Gatherv | Self::Scatterv | Self::Alltoallv | Self::Alltoallw)
    }
}
