//! What happens to words at a target, and the program's memory as bytes.
#![allow(unsafe_code)] // Makes slices of the program's memory.

use std::sync::atomic::{AtomicI64, Ordering};

/// `WEFT_AM_FETCH_AND_ADD` and its siblings.
const ADD: u32 = 1;
const OR: u32 = 2;
const SWAP: u32 = 3;
pub(super) const COMPARE_AND_SWAP: u32 = 4;

/// What happens to a word.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub operation: u32,
    pub words: [i64; 2],
}

impl Change {
    /// Returns the change of an operation, if it is one.
    pub fn of(operation: u32, words: [u64; 2]) -> Option<Self> {
        (ADD..=COMPARE_AND_SWAP)
            .contains(&operation)
            .then(|| Self { operation, words: words.map(|w| w as i64) })
    }

    /// Returns the operation and its words.
    pub fn words(self) -> (u32, [u64; 2]) {
        (self.operation, self.words.map(|word| word as u64))
    }

    /// Makes it. Returns what was there.
    pub fn make(self, word: &AtomicI64) -> i64 {
        let [first, second] = self.words;
        match self.operation {
            ADD => word.fetch_add(first, Ordering::SeqCst),
            OR => word.fetch_or(first, Ordering::SeqCst),
            SWAP => word.swap(first, Ordering::SeqCst),
            _ => {
                let changed = word.compare_exchange(first, second, Ordering::SeqCst, Ordering::SeqCst);
                changed.unwrap_or_else(|found| found)
            }
        }
    }
}

/// Returns bytes at an address of the program's.
pub(super) fn bytes_at<'a>(address: usize, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the program has said that so much memory is there to be read, and leaves it alone meanwhile.
    unsafe { core::slice::from_raw_parts(address as *const u8, length) }
}
