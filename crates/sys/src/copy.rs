//! Copies of bytes that are quick at every address.
//!
//! From 2112 bytes on, the C library's `memcpy` uses `rep movsb` on many processors. On AMD's Zen 3 and 4 that takes fifteen to
//! twenty times as long where the target lies 1 to 31 bytes behind the source, counted in the low 12 bits of their addresses:
//! the processor takes each load for one of what has just been stored. It is the usual case between memory that begins on a page, as
//! what processes share does, and a long block of `malloc`, which begins 16 bytes behind one. AMD EPYC (Zen 3), glibc 2.36, in
//! caches of the core, us by `memcpy` and by [`bytes`] (`cargo run --release -p weft-sys --example copy`):
//!
//! |         | target 16 behind | elsewhere    |
//! |---------|------------------|--------------|
//! | 2 KiB   | 0.96, 0.05       | 0.05, 0.05   |
//! | 4 KiB   | 1.35, 0.06       | 0.07, 0.07   |
//! | 64 KiB  | 21, 1.4          | 1.3, 1.3     |
//! | 256 KiB | 89, 6.2          | 6.3, 6.3     |
#![allow(unsafe_code)] // Moves bytes by address.

/// The shortest copies for which it matters: where processors have registers of 32 bytes, `rep movsb` is used from here on.
const LONG: usize = 2112;
/// What the processor compares of addresses at first.
const PAGE: usize = 4096;
/// How far behind the source the target is, in that part, where `memcpy` is slow.
const BEHIND: core::ops::Range<usize> = 1..32;

/// Copies `length` bytes.
///
/// # Safety
/// Both sides are valid for `length` bytes and do not overlap.
#[inline]
pub unsafe fn bytes(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: by this function's contract.
    unsafe {
        if length >= LONG && is_slow(from.addr(), to.addr()) {
            by_lines(from, to, length);
        } else {
            core::ptr::copy_nonoverlapping(from, to, length);
        }
    }
}

/// Copies a slice.
///
/// # Panics
/// If the slices differ in length.
#[inline]
pub fn slice(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len(), "a copy of what is not as long as its target");
    // SAFETY: slices of one length; what is borrowed to be changed overlaps nothing else.
    unsafe { bytes(from.as_ptr(), to.as_mut_ptr(), from.len()) };
}

/// Tells whether `memcpy` may be slow from one address to the other.
#[inline]
fn is_slow(from: usize, to: usize) -> bool {
    cfg!(target_arch = "x86_64") && BEHIND.contains(&(to.wrapping_sub(from) % PAGE))
}

#[cfg(not(target_arch = "x86_64"))]
use core::ptr::copy_nonoverlapping as by_lines;
#[cfg(target_arch = "x86_64")]
use x86_64::by_lines;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_store_si128};

    const LINE: usize = 64;

    /// Copies at least a line, by loads and stores of the baseline instruction set: wider ones are not faster from 16 KiB on.
    ///
    /// # Safety
    /// As for [`super::bytes`].
    #[inline(never)]
    pub unsafe fn by_lines(from: *const u8, to: *mut u8, length: usize) {
        debug_assert!(length >= LINE);
        // SAFETY: the first and the last line lie within `length` bytes, and so do those between, which begin at multiples of a
        // line in the target. Bytes that are copied twice stay the same.
        unsafe {
            line(from, to);
            let head = LINE - to.addr() % LINE;
            let lines = (length - head) / LINE;
            for index in 0..lines {
                let from = from.add(head + index * LINE).cast::<__m128i>();
                let to = to.add(head + index * LINE).cast::<__m128i>();
                let parts = [0, 1, 2, 3].map(|part| _mm_loadu_si128(from.add(part)));
                for (part, value) in parts.into_iter().enumerate() {
                    _mm_store_si128(to.add(part), value);
                }
            }
            line(from.add(length - LINE), to.add(length - LINE));
        }
    }

    /// Copies a line that may begin anywhere.
    ///
    /// # Safety
    /// As for [`super::bytes`], of a line.
    unsafe fn line(from: *const u8, to: *mut u8) {
        // SAFETY: by this function's contract; arrays of bytes need no alignment.
        unsafe { to.cast::<[u8; LINE]>().write(from.cast::<[u8; LINE]>().read()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source and target of 16 KiB with a known distance in the low bits of their addresses.
    fn copied(skip: usize, behind: usize, length: usize) {
        let source: Vec<u8> = (0..16384u32).map(|i| (i * 7 % 251) as u8).collect();
        let mut target = vec![255u8; 16384];
        let page = |address: usize| address.next_multiple_of(PAGE) - address;
        let (from, to) = (page(source.as_ptr().addr()) + skip, page(target.as_ptr().addr()) + skip + behind);
        assert_eq!(
            is_slow(source[from..].as_ptr().addr(), target[to..].as_ptr().addr()),
            (1..32).contains(&behind) && cfg!(target_arch = "x86_64")
        );
        slice(&source[from..from + length], &mut target[to..to + length]);
        assert_eq!(target[to..to + length], source[from..from + length], "{skip} {behind} {length}");
        assert!(target[..to].iter().chain(&target[to + length..]).all(|&byte| byte == 255));
    }

    #[test]
    fn every_byte_is_copied_and_no_other() {
        for (skip, behind) in
            [(0, 0), (0, 1), (0, 16), (1, 31), (3, 8), (40, 24), (63, 1), (5, 64), (0, 2048)]
        {
            for length in [0, 1, 2111, 2112, 2113, 2176, 2177, 4095, 4096, 5000, 8191] {
                copied(skip, behind, length);
            }
        }
    }

    #[test]
    #[should_panic(expected = "not as long as its target")]
    fn slices_of_different_length_are_refused() {
        slice(&[1, 2, 3], &mut [0; 2]);
    }
}
