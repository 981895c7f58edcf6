//! Copies past the caches: for data that takes more room than they have, or whose lines another core's cache holds.
//!
//! A store to a line that is in no cache reads the line from memory first. A *streaming* store writes whole lines without
//! reading them and leaves nothing behind in the caches: a third less traffic, and what others keep there stays. Who reads
//! the copy soon after finds it in memory, so this pays only where so much is written that it would not have stayed in a
//! cache anyway, or where lines that another core has read would have to be taken away from its cache, and that is far.
#![allow(unsafe_code)] // Moves bytes by address.

/// Copies `length` bytes. What is written may not be in a cache afterwards; it is visible to others like any other store.
///
/// # Safety
/// Both sides are valid for `length` bytes and do not overlap.
pub unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: by this function's contract.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        x86_64::copy(from, to, length);
        #[cfg(not(target_arch = "x86_64"))]
        core::ptr::copy_nonoverlapping(from, to, length);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    /// The bytes of a cache line. Four stores of the baseline instruction set fill one in the write-combining buffer; wider
    /// ones are not faster.
    const LINE: usize = 64;

    /// See [`super::copy`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
        let head = to.align_offset(LINE).min(length);
        let lines = (length - head) / LINE;
        // SAFETY: head, lines and tail make up `length` bytes; the lines begin at a multiple of their size.
        unsafe {
            core::ptr::copy_nonoverlapping(from, to, head);
            for line in 0..lines {
                let from = from.add(head + line * LINE).cast::<__m128i>();
                let to = to.add(head + line * LINE).cast::<__m128i>();
                let parts = [0, 1, 2, 3].map(|part| _mm_loadu_si128(from.add(part)));
                for (part, value) in parts.into_iter().enumerate() {
                    _mm_stream_si128(to.add(part), value);
                }
            }
            let done = head + lines * LINE;
            core::ptr::copy_nonoverlapping(from.add(done), to.add(done), length - done);
            // Streaming stores are not ordered with those that will say that the data is there.
            _mm_sfence();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_copied_and_no_other() {
        let source: Vec<u8> = (0..1000u32).map(|i| (i * 7 % 251) as u8).collect();
        for (skip, at) in [(0, 0), (1, 0), (0, 1), (3, 60), (17, 63), (5, 64)] {
            for length in [0, 1, 15, 63, 64, 65, 127, 128, 200, 640, 701] {
                let mut target = vec![255u8; 1000];
                // SAFETY: at most 17 + 701 and 64 + 701 bytes of 1000.
                unsafe { copy(source.as_ptr().add(skip), target.as_mut_ptr().add(at), length) };
                assert_eq!(target[at..at + length], source[skip..skip + length], "{skip} {at} {length}");
                assert!(target[..at].iter().chain(&target[at + length..]).all(|&byte| byte == 255));
            }
        }
    }
}
