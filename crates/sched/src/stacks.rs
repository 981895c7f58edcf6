//! Stacks of ranks.
//!
//! One mapping holds them all, so that ten thousand ranks do not use up `vm.max_map_count`. Below each stack is a guard;
//! the first bytes of neighbouring stacks differ in their offset in a page, so that a thousand of them do not compete
//! for the same sets of the caches.

use core::ops::Range;
use std::io;

use weft_sys::memory::{Region, page_size};

const GUARD: usize = 64 * 1024;
/// Shifts the boundaries between stacks away from multiples of two megabytes, so that the top of a stack and the guard
/// of the next share a page of the page table.
const SHIFT: usize = 512 * 1024;
const HUGE: usize = 2 * 1024 * 1024;

pub(crate) struct Stacks {
    region: Region,
    size: usize,
    count: usize,
}

impl Stacks {
    pub(crate) fn reserve(count: usize, size: usize) -> io::Result<Self> {
        let page = page_size();
        let size = size.max(256 * 1024).next_multiple_of(page);
        let region = Region::reserve(size * count + SHIFT)?;
        Ok(Self { region, size, count })
    }

    /// Lets code run from all stacks. To be called before the first is prepared.
    pub(crate) fn allow_execution(&self) -> io::Result<()> {
        self.region.allow_execution()
    }

    /// Sets the guard of stack `index` and returns the whole of it, guard included, and the part to be used.
    pub(crate) fn prepare(&self, index: usize) -> io::Result<(Range<usize>, Range<usize>)> {
        assert!(index < self.count, "stack {index} of {}", self.count);
        let past = self.region.address() % HUGE;
        let shift = if (SHIFT..HUGE - SHIFT).contains(&past) { 0 } else { SHIFT };
        let offset = shift + index * self.size;
        self.region.guard(offset, GUARD)?;
        let start = self.region.address() + offset;
        let colour = index % 32 * 128;
        Ok((start..start + self.size, start + GUARD..start + self.size - colour))
    }
}
