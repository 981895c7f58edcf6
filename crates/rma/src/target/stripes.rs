//! Locks for elements that the processor has no atomic instruction for, chosen by the element's address.

use weft_sync::{ProcessGuard, ProcessLock};

/// How many locks a rank's part of a window has.
const STRIPES: usize = 16;

/// The locks of one rank's part of a window. They may lie in memory that processes share.
#[derive(Default)]
#[repr(C)]
pub struct Stripes {
    elements: [ProcessLock; STRIPES],
    several: ProcessLock,
}

impl Stripes {
    /// Locks the element at an address against others that do the same. Hold it for a few instructions only.
    pub(super) fn lock(&self, address: *const u8) -> ProcessGuard<'_> {
        // Neighbouring elements of 16 bytes have different locks, and so have the same elements of neighbouring lines of a page.
        // Where a page lies differs between processes, and where an element lies in its page does not.
        let address = address as usize;
        self.elements[(address >> 4 ^ address >> 8) % STRIPES].lock()
    }

    /// Locks against others that change or read several elements. Who holds this lock may lock an element, not the other way round.
    pub(super) fn lock_several(&self) -> ProcessGuard<'_> {
        self.several.lock()
    }
}
