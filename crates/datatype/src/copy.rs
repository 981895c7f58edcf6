//! The public kernels: packing, unpacking, and copying from one layout to another without a packed copy in between.
//!
//! The module works on addresses that the caller of the MPI function vouches for; that is why it needs unsafe code.
#![allow(unsafe_code)]

use crate::cursor::{Cursor, zip};
use crate::datatype::Datatype;
use crate::kernels::shift;
use crate::walk::{Pack, Same, Unpack, part_of_times};
use std::ptr;

/// Returns how many bytes there are from `skip` on, at most `len`.
#[inline(always)]
fn clamp(count: u64, ty: &Datatype, skip: u64, len: u64) -> u64 {
    count.saturating_mul(ty.size()).saturating_sub(skip).min(len)
}

/// Packs bytes `skip..skip + len` of the packed form of `count` instances at `buf` to `out`; returns how many bytes
/// were written, which is less than `len` when the data ends before.
///
/// # Safety
/// The data bytes of `count` instances of `ty` relative to `buf` (which may be null for absolute addresses) are valid
/// for reads, `out` for writes of `len` bytes, and they do not overlap.
pub unsafe fn pack(buf: *const u8, count: u64, ty: &Datatype, skip: u64, out: *mut u8, len: u64) -> u64 {
    let len = clamp(count, ty, skip, len);
    if len == 0 {
        return 0;
    }
    // SAFETY: the caller's promise. `buf` is only read by `Pack`.
    unsafe {
        if let Some(offset) = ty.one_block(count) {
            let from = shift(buf.cast_mut(), offset).wrapping_add(skip as usize);
            weft_sys::copy::bytes(from.cast_const(), out, len as usize);
        } else {
            let placed = &ty.0.layout;
            let at = shift(buf.cast_mut(), placed.offset);
            part_of_times(&placed.layout, at, ty.extent(), skip, len, &mut Pack { out });
        }
    }
    len
}

/// Unpacks `len` bytes from `input` to bytes `skip..skip + len` of the packed form of `count` instances at `buf`;
/// returns how many were used, which is less than `len` when the instances end before.
///
/// # Safety
/// As [`pack`], with reads and writes exchanged.
pub unsafe fn unpack(buf: *mut u8, count: u64, ty: &Datatype, skip: u64, input: *const u8, len: u64) -> u64 {
    let len = clamp(count, ty, skip, len);
    if len == 0 {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(offset) = ty.one_block(count) {
            weft_sys::copy::bytes(input, shift(buf, offset).wrapping_add(skip as usize), len as usize);
        } else {
            let placed = &ty.0.layout;
            let at = shift(buf, placed.offset);
            part_of_times(&placed.layout, at, ty.extent(), skip, len, &mut Unpack { input });
        }
    }
    len
}

/// Copies the data of `src_count` instances of one type into `dst_count` instances of another, as packing and
/// unpacking would; returns the number of bytes copied, the smaller of both sizes.
///
/// # Safety
/// The data bytes of the source are valid for reads, those of the target for writes, and they do not overlap.
pub unsafe fn copy(
    src: *const u8,
    src_count: u64,
    src_ty: &Datatype,
    dst: *mut u8,
    dst_count: u64,
    dst_ty: &Datatype,
) -> u64 {
    let available = src_count.saturating_mul(src_ty.size());
    let len = available.min(dst_count.saturating_mul(dst_ty.size()));
    if len == 0 {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(offset) = src_ty.one_block(src_count) {
            return unpack(dst, dst_count, dst_ty, 0, shift(src.cast_mut(), offset), len);
        }
        if let Some(offset) = dst_ty.one_block(dst_count) {
            return pack(src, src_count, src_ty, 0, shift(dst, offset), len);
        }
        if alike(src_ty, dst_ty) {
            copy_part(src, dst, dst_ty, 0, len);
            return len;
        }
        let mut source = Cursor::new(src_ty, src.cast_mut(), src_count);
        let mut target = Cursor::new(dst_ty, dst, dst_count);
        zip(&mut source, &mut target, len);
    }
    len
}

/// Tells whether instances of two types have their data at the same displacements, so that [`copy_part`] serves them.
#[inline]
pub fn alike(first: &Datatype, second: &Datatype) -> bool {
    first.same(second) || (first.extent() == second.extent() && first.0.layout == second.0.layout)
}

/// Copies bytes `skip..skip + len` of the packed form of instances between two buffers, of type `ty` or of types
/// [`alike`] it. Both have so many bytes.
///
/// # Safety
/// As [`copy`].
pub unsafe fn copy_part(src: *const u8, dst: *mut u8, ty: &Datatype, skip: u64, len: u64) {
    let distance = (src as isize).wrapping_sub(dst as isize);
    let placed = &ty.0.layout;
    let at = shift(dst, placed.offset);
    // SAFETY: the caller's promise; the layouts are the same.
    unsafe { part_of_times(&placed.layout, at, ty.extent(), skip, len, &mut Same { distance }) };
}

/// Calls `visit(displacement, length)` for the runs of `count` instances in packing order. Neighbouring elements may
/// come as one run.
pub fn for_each_run(ty: &Datatype, count: u64, mut visit: impl FnMut(i64, u64)) {
    let mut left = count.saturating_mul(ty.size());
    // The cursor only computes addresses; starting from null they are displacements.
    let mut cursor = Cursor::new(ty, ptr::null_mut(), count);
    while left > 0 {
        let piece = cursor.next();
        for i in 0..piece.count() {
            visit(piece.place(i) as i64, piece.block);
        }
        left -= piece.block * piece.count();
    }
}
