//! Memory of a window that several processes of a host have mapped. The locks of its elements lie there, too.
#![allow(unsafe_code)] // Finds the locks by their address in the mapping.

use crate::target::Stripes;
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

/// See above.
pub struct Mapped {
    /// Whose memory lies there, ascending.
    ranks: Box<[u32]>,
    /// The locks of each of them.
    stripes: NonNull<Stripes>,
    /// What keeps it mapped.
    _memory: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the address is that of locks, which any thread may use; what keeps them mapped is `Send` and `Sync`.
unsafe impl Send for Mapped {}
// SAFETY: sharing it hands out shared references to locks only.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Returns how many bytes the locks of so many ranks need. All zero is that nobody holds one.
    pub const fn bytes_of_locks(ranks: usize) -> usize {
        ranks * size_of::<Stripes>()
    }

    /// Says whose memory lies there (ascending), and where their locks do.
    ///
    /// # Safety
    /// As long as `memory` is there, the locks are [`Mapped::bytes_of_locks`] at a multiple of 8, zero at first, which all processes
    /// use by this type only.
    pub unsafe fn new(ranks: Box<[u32]>, locks: NonNull<u8>, memory: Arc<dyn Any + Send + Sync>) -> Self {
        Self { ranks, stripes: locks.cast(), _memory: memory }
    }

    /// Returns the place of a rank among those whose memory lies there.
    pub(crate) fn place(&self, rank: u32) -> Option<u32> {
        self.ranks.binary_search(&rank).ok().map(|place| place as u32)
    }

    /// Returns the locks of the rank at a place.
    #[inline]
    pub(crate) fn stripes(&self, place: u32) -> &Stripes {
        assert!((place as usize) < self.ranks.len());
        // SAFETY: the creator's promise, for as many ranks.
        unsafe { self.stripes.add(place as usize).as_ref() }
    }
}
