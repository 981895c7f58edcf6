//! What is known of a message, or of another operation that is over.

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS};
use core::ffi::c_int;

/// `MPI_Status`: 32 bytes, alignment 4.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// `MPI_SOURCE`
    pub source: c_int,
    /// `MPI_TAG`
    pub tag: c_int,
    /// `MPI_ERROR`
    pub error: c_int,
    /// Library-private words: the byte count's low and high halves, then the cancelled flag.
    pub internal: [c_int; 5],
}

impl Status {
    /// Returns the empty status of the standard: no source, no tag, zero elements.
    pub const fn empty() -> Self {
        Self { source: MPI_ANY_SOURCE, tag: MPI_ANY_TAG, error: MPI_SUCCESS, internal: [0; 5] }
    }

    /// Returns the status of an operation with so many bytes; no source, no tag.
    #[inline]
    pub const fn of(bytes: u64, cancelled: bool) -> Self {
        let (low, high) = (bytes as u32 as c_int, (bytes >> 32) as u32 as c_int);
        Self { internal: [low, high, cancelled as c_int, 0, 0], ..Self::empty() }
    }

    /// Returns the number of bytes received (or, for partitioned and generalized requests, set).
    pub fn bytes(&self) -> u64 {
        u64::from(self.internal[0] as u32) | u64::from(self.internal[1] as u32) << 32
    }

    /// Stores the number of bytes.
    pub fn set_bytes(&mut self, bytes: u64) {
        self.internal[0] = bytes as u32 as c_int;
        self.internal[1] = (bytes >> 32) as u32 as c_int;
    }

    /// Tells whether the operation was cancelled.
    pub fn cancelled(&self) -> bool {
        self.internal[2] != 0
    }

    /// Stores whether the operation was cancelled.
    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.internal[2] = c_int::from(cancelled);
    }
}
