//! What a rank says about the call it makes, so that ranks in different calls are noticed.

use std::fmt;
use weft_base::collectives::Collective;

macro_rules! calls {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// The collective operations, as they appear in reports.
        #[repr(u8)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Call {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl Call {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
        const NAMES: &[&str] = &[$($text),*];
    };
}

calls! {
    Nothing = "no collective operation",
    Internal = "a communicator or library operation",
    Barrier = "MPI_Barrier",
    Broadcast = "MPI_Bcast",
    Gather = "MPI_Gather",
    Gatherv = "MPI_Gatherv",
    Scatter = "MPI_Scatter",
    Scatterv = "MPI_Scatterv",
    Allgather = "MPI_Allgather",
    Allgatherv = "MPI_Allgatherv",
    Alltoall = "MPI_Alltoall",
    Alltoallv = "MPI_Alltoallv",
    Alltoallw = "MPI_Alltoallw",
    Reduce = "MPI_Reduce",
    Allreduce = "MPI_Allreduce",
    ReduceScatter = "MPI_Reduce_scatter",
    ReduceScatterBlock = "MPI_Reduce_scatter_block",
    Scan = "MPI_Scan",
    Exscan = "MPI_Exscan",
    NeighborAllgather = "MPI_Neighbor_allgather",
    NeighborAllgatherv = "MPI_Neighbor_allgatherv",
    NeighborAlltoall = "MPI_Neighbor_alltoall",
    NeighborAlltoallv = "MPI_Neighbor_alltoallv",
    NeighborAlltoallw = "MPI_Neighbor_alltoallw",
    Finalize = "MPI_Finalize",
    Disconnect = "MPI_Comm_disconnect",
}

impl Call {
    /// Returns the procedure's name.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// Tells whether it is one of the collective operations of the program.
    pub fn is_of_program(self) -> bool {
        !matches!(self, Self::Nothing | Self::Internal | Self::Finalize | Self::Disconnect)
    }

    /// Tells whether the ranks only wait for each other.
    pub(crate) fn is_barrier(self) -> bool {
        matches!(self, Self::Barrier | Self::Finalize | Self::Disconnect)
    }

    /// Tells whether the operation reduces what ranks contribute.
    pub(crate) fn is_reduction(self) -> bool {
        matches!(
            self,
            Self::Reduce
                | Self::Allreduce
                | Self::ReduceScatter
                | Self::ReduceScatterBlock
                | Self::Scan
                | Self::Exscan
        )
    }

    /// Returns the name under which the table of algorithms knows the operation, if it has a choice.
    #[inline]
    pub(crate) fn collective(self) -> Option<Collective> {
        Some(match self {
            Self::Barrier => Collective::Barrier,
            Self::Broadcast => Collective::Bcast,
            Self::Gather => Collective::Gather,
            Self::Gatherv => Collective::Gatherv,
            Self::Scatter => Collective::Scatter,
            Self::Scatterv => Collective::Scatterv,
            Self::Allgather => Collective::Allgather,
            Self::Allgatherv => Collective::Allgatherv,
            Self::Alltoall => Collective::Alltoall,
            Self::Alltoallv => Collective::Alltoallv,
            Self::Alltoallw => Collective::Alltoallw,
            Self::Reduce => Collective::Reduce,
            Self::Allreduce => Collective::Allreduce,
            Self::ReduceScatter => Collective::ReduceScatter,
            Self::ReduceScatterBlock => Collective::ReduceScatterBlock,
            Self::Scan => Collective::Scan,
            Self::Exscan => Collective::Exscan,
            Self::Nothing
            | Self::Internal
            | Self::NeighborAllgather
            | Self::NeighborAllgatherv
            | Self::NeighborAlltoall
            | Self::NeighborAlltoallv
            | Self::NeighborAlltoallw => return None,
            Self::Finalize | Self::Disconnect => Collective::Barrier,
        })
    }
}

/// A call in one word: the operation (7 bits), whether the ranks exchange addresses (1 bit), the root plus one (24
/// bits, 0 for none), a length in bytes (32 bits, cut off).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Description(pub u64);

impl Description {
    pub fn new(call: Call, root: Option<u32>, bytes: u64) -> Self {
        let root = root.map_or(0, |r| u64::from(r + 1) & 0xff_ffff);
        Self(call as u64 | root << 8 | (bytes & 0xffff_ffff) << 32)
    }

    /// Returns the description of a call whose ranks exchange addresses instead of placing data in slots.
    pub fn exchanging(self) -> Self {
        Self(self.0 | 0x80)
    }

    /// Returns the same call with a length.
    pub fn with_bytes(self, bytes: u64) -> Self {
        Self(self.without_bytes().0 | (bytes & 0xffff_ffff) << 32)
    }

    /// Returns the length.
    pub fn bytes(self) -> u64 {
        self.0 >> 32
    }

    /// Tells whether operation and root are the same, whatever the length and the way data moves.
    pub fn same_call(self, other: Self) -> bool {
        (self.0 ^ other.0) & 0xffff_ff7f == 0
    }

    /// Tells whether the operation is the same, whatever the rest.
    pub fn same_operation(self, other: Self) -> bool {
        (self.0 ^ other.0) & 0x7f == 0
    }

    /// Returns the description without its length, for operations whose ranks need not agree on one.
    pub fn without_bytes(self) -> Self {
        Self(self.0 & 0xffff_ffff)
    }

    /// Returns 40 well-mixed bits of the description: sums of equal descriptions are told from sums of unequal ones.
    #[inline]
    pub fn signature(self) -> u64 {
        let x = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ (x >> 32)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 24
    }
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.get((self.0 & 0x7f) as usize).copied().unwrap_or("an unknown operation"))?;
        if let root @ 1.. = self.0 >> 8 & 0xff_ffff {
            write!(f, " with root {}", root - 1)?;
        }
        if let bytes @ 1.. = self.bytes() {
            write!(f, " of {bytes} bytes")?;
        }
        Ok(())
    }
}
