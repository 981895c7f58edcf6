//! Memory of a window that several processes of a host have mapped. Before it lie the words of the ranks whose memory it is.
#![allow(unsafe_code)] // Finds the words by their address in the mapping.

use crate::gate::Latch;
use crate::target::Stripes;
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use weft_sync::CachePadded;
use weft_transport::Node;

/// The words of a rank that origins change besides its memory. All zero is that nobody holds anything.
#[derive(Default)]
#[repr(C)]
pub struct Station {
    /// Who has locked its memory.
    pub(crate) latch: Latch,
    /// The rank that holds its memory alone, for reports; without meaning when none does.
    pub(crate) holder: AtomicU32,
    /// Locks of elements.
    pub(crate) stripes: Stripes,
    /// At the first rank of each process: who holds everything there.
    pub(crate) everything: Latch,
}

/// A rank whose memory lies there.
struct Member {
    rank: u32,
    /// The place of the first one of its process.
    first: u32,
}

/// See above.
pub struct Mapped {
    /// Whose memory lies there, by rank.
    members: Box<[Member]>,
    /// The words of each of them.
    stations: NonNull<CachePadded<Station>>,
    /// What keeps it mapped.
    _memory: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the address is that of words, which any thread may use; what keeps them mapped is `Send` and `Sync`.
unsafe impl Send for Mapped {}
// SAFETY: sharing it hands out shared references to words only.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Returns how many bytes the words of so many ranks need, at a multiple of 128. All zero is that nobody holds anything.
    pub const fn bytes_of_words(ranks: usize) -> usize {
        ranks * size_of::<CachePadded<Station>>()
    }

    /// Says whose memory lies there (ascending), with the process of each, and where their words do.
    ///
    /// # Safety
    /// As long as `memory` is there, the words are [`Mapped::bytes_of_words`] at a multiple of 128, zero at first, which all
    /// processes use by this type only.
    pub unsafe fn new(ranks: &[(u32, Node)], words: NonNull<u8>, memory: Arc<dyn Any + Send + Sync>) -> Self {
        let mut firsts = std::collections::HashMap::new();
        let member = |(place, &(rank, node)): (usize, &(u32, Node))| Member {
            rank,
            first: *firsts.entry(node).or_insert(place as u32),
        };
        let members = ranks.iter().enumerate().map(member).collect();
        Self { members, stations: words.cast(), _memory: memory }
    }

    /// Returns the place of a rank among those whose memory lies there.
    pub(crate) fn place(&self, rank: u32) -> Option<u32> {
        self.members.binary_search_by_key(&rank, |member| member.rank).ok().map(|place| place as u32)
    }

    /// Returns the words of the rank at a place.
    #[inline]
    pub(crate) fn station(&self, place: u32) -> &Station {
        assert!((place as usize) < self.members.len());
        // SAFETY: the creator's promise, for as many ranks.
        unsafe { self.stations.add(place as usize).as_ref() }
    }

    /// Returns the word of who holds everything in the process of the rank at a place.
    #[inline]
    pub(crate) fn everything(&self, place: u32) -> &Latch {
        &self.station(self.members[place as usize].first).everything
    }
}
