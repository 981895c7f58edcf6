//! Memory for small data.
#![allow(unsafe_code)] // Memory that several ranks write and read, ordered by the rounds.

use crate::rounds::counters::{DEPTH, ring};
use crate::rounds::lines::FEW;
use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// Up to how many bytes data of ranks on several processes that share memory goes as one piece.
pub(crate) const WHOLE: u64 = 16 << 10;

/// Memory for small data, once per ring index: a slot per rank, then one per shard, then one for the result.
///
/// How the ranks' area is divided is the operation's business (all ranks choose the same stride, or only the root
/// writes). The rules of the rounds say who may touch what when.
pub(crate) struct Slots {
    memory: NonNull<u8>,
    /// Of the allocation, if the memory is the slots' own.
    layout: Option<Layout>,
    /// Bytes per slot.
    slot: usize,
    /// Slots per ring index.
    count: usize,
    size: usize,
    crowded: bool,
}

// SAFETY: plain memory without interior references; accesses go through raw pointers under the rules of the rounds.
unsafe impl Send for Slots {}

// SAFETY: what it gives out is an address; who reads or writes there, and when, is what the rounds decide.
unsafe impl Sync for Slots {}

/// From how many bytes on data is put elsewhere each time, and at multiples of what.
const TURNING: usize = 1 << 10;

const PAGE: usize = 4 << 10;

/// The alignment of slots: that of the most aligned predefined type.
const ALIGN: usize = 16;

impl Slots {
    pub fn new(size: usize, shards: usize) -> Self {
        let slot = Self::capacity_for(size);
        let count = size + shards + 1;
        let layout = Layout::from_size_align(DEPTH * count * slot, 128).expect("within the address space");
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(layout) };
        Self { memory, layout: Some(layout), slot, count, size, crowded: size >= 4 * shards }
    }

    /// Makes slots of `slot` bytes, a multiple of 128, for each of `size` ranks in memory that lies elsewhere.
    ///
    /// # Safety
    /// There are [`Slots::bytes`] bytes, aligned to 128, which live for ever and are used by such slots only.
    pub unsafe fn at(memory: NonNull<u8>, size: usize, slot: usize) -> Self {
        Self { memory, layout: None, slot, count: size + 2, size, crowded: false }
    }

    /// Returns the size of the memory that [`Slots::at`] needs.
    pub fn bytes(size: usize, slot: usize) -> usize {
        DEPTH * (size + 2) * slot
    }

    /// Returns how many bytes each of `size` ranks can place.
    pub fn capacity_for(size: usize) -> usize {
        ((32 << 10) / size).clamp(256, 2048) & !127
    }

    /// Returns how many bytes a rank can place.
    pub fn capacity(&self) -> usize {
        self.slot
    }

    /// Returns how many bytes a single rank can place when no other does.
    pub fn total(&self) -> usize {
        self.slot * self.size
    }

    /// Returns the distance between ranks' slots of `bytes` (at most [`Slots::capacity`]): packed where ranks take
    /// turns on a worker, a cache line pair each where they run at once.
    pub fn stride(&self, bytes: usize) -> usize {
        let unit = if self.crowded { ALIGN } else { 128 };
        bytes.max(1).next_multiple_of(unit).min(self.slot)
    }

    /// Returns where a rank puts `bytes` bytes (at most [`Slots::capacity`]) in a round, where there is room to put them
    /// elsewhere each time; see [`Slots::spot_for_all`].
    pub fn spot(&self, round: u64, rank: u32, bytes: usize) -> Option<*mut u8> {
        let shift = Self::shift(round, bytes, self.slot)?;
        // SAFETY: within the rank's slot.
        self.is_roomy().then(|| unsafe { self.area(ring(round)).add(rank as usize * self.slot + shift) })
    }

    /// Returns where a root puts `bytes` bytes (at most [`Slots::total`]) for all.
    ///
    /// Elsewhere each time where there is room: a line that the reader's cache holds since the last time, or that has just
    /// been written and is still in the writer's, costs several times as much as one that neither has.
    pub fn spot_for_all(&self, round: u64, bytes: usize) -> *mut u8 {
        let shift = Self::shift(round, bytes, self.total()).filter(|_| self.is_roomy()).unwrap_or(0);
        // SAFETY: within the ranks' slots.
        unsafe { self.area(ring(round)).add(shift) }
    }

    /// Tells whether there is room to put data elsewhere each time: among few ranks that are apart.
    fn is_roomy(&self) -> bool {
        self.layout.is_none() && self.size <= FEW as usize
    }

    fn shift(round: u64, bytes: usize, room: usize) -> Option<usize> {
        let unit = bytes.next_multiple_of(PAGE);
        (bytes >= TURNING && unit <= room).then(|| (round / DEPTH as u64) as usize % (room / unit) * unit)
    }

    /// Returns the ranks' area of a ring index.
    pub fn area(&self, ring: usize) -> *mut u8 {
        assert!(ring < DEPTH);
        // SAFETY: in bounds of the allocation, by its size.
        unsafe { self.memory.as_ptr().add(ring * self.count * self.slot) }
    }

    /// Returns the slot of a shard.
    pub fn shard(&self, ring: usize, shard: usize) -> *mut u8 {
        assert!(self.size + shard < self.count - 1);
        // SAFETY: in bounds, as asserted.
        unsafe { self.area(ring).add((self.size + shard) * self.slot) }
    }

    /// Returns the slot of the result.
    pub fn result(&self, ring: usize) -> *mut u8 {
        // SAFETY: the last slot of the ring index.
        unsafe { self.area(ring).add((self.count - 1) * self.slot) }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        if let Some(layout) = self.layout {
            // SAFETY: allocated in `new` with this layout.
            unsafe { dealloc(self.memory.as_ptr(), layout) }
        }
    }
}
