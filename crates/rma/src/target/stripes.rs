//! Locks for elements that the processor has no atomic instruction for, chosen by the element's address.

use weft_sync::{Lock, LockGuard};

/// How many locks a rank's part of a window has.
const STRIPES: usize = 16;

/// The locks of one rank's part of a window.
#[derive(Default)]
pub struct Stripes([Lock<()>; STRIPES]);

impl Stripes {
    /// Locks the element at an address against others that do the same. Hold it for a few instructions only.
    pub(super) fn lock(&self, address: *const u8) -> LockGuard<'_, ()> {
        // Neighbouring elements of 16 bytes have different locks, and so have the same elements of neighbouring pages.
        let address = address as usize;
        self.0[(address >> 4 ^ address >> 12) % STRIPES].lock()
    }
}
