//! Copying a few bytes.
#![allow(unsafe_code)] // Copies by address.

/// Copies at most a line.
///
/// # Safety
/// As for [`core::ptr::copy_nonoverlapping`].
#[inline(always)]
pub(crate) unsafe fn copy_short(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: every access is within `length` bytes; a call to memcpy would cost more than these moves.
    unsafe {
        if length >= 8 {
            let mut at = 0;
            while at + 8 < length {
                to.add(at).cast::<u64>().write_unaligned(from.add(at).cast::<u64>().read_unaligned());
                at += 8;
            }
            let last = length - 8;
            to.add(last).cast::<u64>().write_unaligned(from.add(last).cast::<u64>().read_unaligned());
        } else {
            for at in 0..length {
                to.add(at).write(from.add(at).read());
            }
        }
    }
}
