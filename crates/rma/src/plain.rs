//! The shortest way of the commonest operations: a short block of bytes on both sides, or one element, at a rank whose memory this
//! process sees, in an epoch that plainly allows it. What is not so plain is left to [`Window::put`] and its like, which also find
//! what is wrong.
#![allow(unsafe_code)] // Copies between the origin's buffers, for which callers vouch, and windows.

use crate::epoch::Summary;
use crate::target::one_word;
use crate::window::Window;
use std::sync::atomic::Ordering;
use weft_datatype::Basic;
use weft_op::{Element, Op};

/// How long a block is at most; longer ones are copied in ways of their own.
pub const SHORT: u64 = 2048;

impl Window {
    /// Returns where so many bytes of a rank lie, if nothing more has to be looked at.
    #[inline(always)]
    fn plain(&self, rank: u32, displacement: i64, bytes: u64) -> Option<*mut u8> {
        let summary = self.summary.load(Ordering::Relaxed);
        let allows = summary == Summary::LockAll.word()
            || summary == Summary::Lock(rank).word()
            || summary == Summary::Fence.word();
        if !allows || self.is_dynamic {
            return None;
        }
        let shared = self.shared();
        let segment = shared.segment(rank);
        let is_seen = shared.control(segment).is_some()
            || (self.reached.load(Ordering::Relaxed) & segment.bit() != 0
                && shared.mapped_station(segment).is_some());
        let offset = u64::try_from(displacement.checked_mul(segment.unit)?).ok()?;
        let fits = offset.checked_add(bytes)? <= segment.size as u64;
        (is_seen && fits).then(|| (segment.base as *mut u8).wrapping_add(offset as usize))
    }

    /// Copies a block to a rank. Returns whether it did.
    ///
    /// # Safety
    /// The origin's bytes are valid for reads.
    #[inline(always)]
    pub unsafe fn put_plain(&self, rank: u32, displacement: i64, from: *const u8, bytes: u64) -> bool {
        let Some(at) = self.plain(rank, displacement, bytes) else { return false };
        self.note_write();
        // SAFETY: the caller's promise; the target's bytes are in memory that its rank exposes.
        unsafe { copy(from, at, bytes) };
        true
    }

    /// Copies a block from a rank. Returns whether it did.
    ///
    /// # Safety
    /// The origin's bytes are valid for writes.
    #[inline(always)]
    pub unsafe fn get_plain(&self, rank: u32, displacement: i64, to: *mut u8, bytes: u64) -> bool {
        let Some(at) = self.plain(rank, displacement, bytes) else { return false };
        // SAFETY: the caller's promise; the target's bytes are in memory that its rank exposes.
        unsafe { copy(at, to, bytes) };
        true
    }

    /// Combines one element with that at a rank, and returns the former one at `result` unless that is null. Returns whether it did.
    ///
    /// # Safety
    /// The origin's element is valid for reads unless the operation is `MPI_NO_OP`; `result` is null or valid for its write.
    #[inline(always)]
    pub unsafe fn accumulate_plain(
        &self,
        (rank, displacement): (u32, i64),
        from: *const u8,
        result: *mut u8,
        basic: Basic,
        op: &Op,
    ) -> bool {
        let size = basic.size();
        let Some(element) = op.element(basic) else { return false };
        let Some(at) = self.plain(rank, displacement, size) else { return false };
        // SAFETY: the caller's promise; the target's element is in memory that its rank exposes.
        if !unsafe { one_word(element, size, at, from, result) } {
            return false;
        }
        // Without a result a store is enough to replace, which is no barrier.
        self.note_element(!(matches!(element, Element::Replace) && result.is_null()));
        true
    }
}

/// # Safety
/// So many bytes are valid for reads here, for writes there.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, bytes: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => core::ptr::copy(from, to, bytes as usize),
        }
    }
}
