//! Packing, unpacking and copying: the kernels that run a layout.
//!
//! A walk visits the pieces of a layout in packing order, whole or from byte `skip` on for `len` bytes, and hands
//! them to a [`Kernel`] as runs or as regularly strided blocks. Copying between two different layouts zips two
//! cursors over such pieces, so no packed intermediate exists. The module works on addresses that the caller of the
//! MPI function vouches for; that is why it needs unsafe code.
#![allow(unsafe_code)]

use crate::datatype::Datatype;
use crate::layout::{Kind, Layout};
use std::ptr;

/// What is done with a piece of the user's buffer. Each call continues behind the previous one on the other side.
///
/// # Safety
/// Both sides must be valid for all bytes of the piece; see [`pack`].
trait Kernel {
    /// Moves one run.
    unsafe fn run(&mut self, at: *mut u8, length: usize);
    /// Moves `count` blocks of `block` bytes, `stride` bytes apart.
    unsafe fn strided(&mut self, at: *mut u8, stride: isize, count: usize, block: usize);
    /// Moves blocks of `block` bytes at `offsets` from `at`.
    unsafe fn blocks(&mut self, at: *mut u8, offsets: &[i64], block: usize);
}

#[inline(always)]
fn shift(at: *mut u8, by: i64) -> *mut u8 {
    at.wrapping_offset(by as isize)
}

/// Copies `count` blocks between two strided places; a constant block length lets the compiler keep it in registers.
///
/// # Safety
/// All blocks are valid for reads at the source and writes at the target, and do not overlap.
#[inline(always)]
unsafe fn copy_blocks_of<const N: usize>(
    mut from: *const u8,
    from_stride: isize,
    mut to: *mut u8,
    to_stride: isize,
    count: usize,
) {
    for _ in 0..count {
        // SAFETY: the caller vouches for every block.
        unsafe { ptr::copy_nonoverlapping(from, to, N) };
        from = from.wrapping_offset(from_stride);
        to = to.wrapping_offset(to_stride);
    }
}

/// Copies `length` bytes without calling a function for short blocks: two possibly overlapping moves per size class.
///
/// # Safety
/// `length` is 1 to 128; both sides are valid for it and do not overlap.
#[inline(always)]
unsafe fn copy_short(from: *const u8, to: *mut u8, length: usize) {
    /// # Safety: `length >= N` and `length <= 2 * N`, both sides valid.
    #[inline(always)]
    unsafe fn ends<const N: usize>(from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: both reads and writes lie within the `length >= N` bytes.
        unsafe {
            let first = from.cast::<[u8; N]>().read();
            let last = from.add(length - N).cast::<[u8; N]>().read();
            to.cast::<[u8; N]>().write(first);
            to.add(length - N).cast::<[u8; N]>().write(last);
        }
    }
    // SAFETY: each class covers the lengths N to 2 N.
    unsafe {
        match length {
            64.. => ends::<64>(from, to, length),
            32.. => ends::<32>(from, to, length),
            16.. => ends::<16>(from, to, length),
            8.. => ends::<8>(from, to, length),
            4.. => ends::<4>(from, to, length),
            2.. => ends::<2>(from, to, length),
            _ => to.write(from.read()),
        }
    }
}

/// Copies `count` blocks of `block` bytes between two strided places.
///
/// # Safety
/// As [`copy_blocks_of`].
unsafe fn copy_blocks(
    from: *const u8,
    from_stride: isize,
    to: *mut u8,
    to_stride: isize,
    count: usize,
    block: usize,
) {
    // SAFETY: the caller vouches for every block; the arms differ only in how a block is copied.
    unsafe {
        match block {
            1 => copy_blocks_of::<1>(from, from_stride, to, to_stride, count),
            2 => copy_blocks_of::<2>(from, from_stride, to, to_stride, count),
            4 => copy_blocks_of::<4>(from, from_stride, to, to_stride, count),
            8 => copy_blocks_of::<8>(from, from_stride, to, to_stride, count),
            12 => copy_blocks_of::<12>(from, from_stride, to, to_stride, count),
            16 => copy_blocks_of::<16>(from, from_stride, to, to_stride, count),
            24 => copy_blocks_of::<24>(from, from_stride, to, to_stride, count),
            32 => copy_blocks_of::<32>(from, from_stride, to, to_stride, count),
            64 => copy_blocks_of::<64>(from, from_stride, to, to_stride, count),
            _ if block <= 128 => {
                let (mut from, mut to) = (from, to);
                for _ in 0..count {
                    copy_short(from, to, block);
                    from = from.wrapping_offset(from_stride);
                    to = to.wrapping_offset(to_stride);
                }
            }
            _ => {
                let (mut from, mut to) = (from, to);
                for _ in 0..count {
                    ptr::copy_nonoverlapping(from, to, block);
                    from = from.wrapping_offset(from_stride);
                    to = to.wrapping_offset(to_stride);
                }
            }
        }
    }
}

/// Copies one run of any length.
///
/// # Safety
/// Both sides are valid for `length` bytes and do not overlap.
#[inline(always)]
unsafe fn copy_run(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: by this function's contract.
    unsafe {
        if length == 0 {
        } else if length <= 128 {
            copy_short(from, to, length);
        } else {
            ptr::copy_nonoverlapping(from, to, length);
        }
    }
}

struct Pack {
    out: *mut u8,
}

impl Kernel for Pack {
    #[inline(always)]
    unsafe fn run(&mut self, at: *mut u8, length: usize) {
        // SAFETY: by the trait's contract.
        unsafe { copy_run(at, self.out, length) };
        self.out = self.out.wrapping_add(length);
    }

    unsafe fn strided(&mut self, at: *mut u8, stride: isize, count: usize, block: usize) {
        // SAFETY: by the trait's contract.
        unsafe { copy_blocks(at, stride, self.out, block as isize, count, block) };
        self.out = self.out.wrapping_add(count * block);
    }

    unsafe fn blocks(&mut self, at: *mut u8, offsets: &[i64], block: usize) {
        let mut out = self.out;
        // SAFETY: by the trait's contract.
        each_block(block, offsets, |o, block| unsafe {
            copy_run(shift(at, o), out, block);
            out = out.wrapping_add(block);
        });
        self.out = out;
    }
}

struct Unpack {
    input: *const u8,
}

impl Kernel for Unpack {
    #[inline(always)]
    unsafe fn run(&mut self, at: *mut u8, length: usize) {
        // SAFETY: by the trait's contract.
        unsafe { copy_run(self.input, at, length) };
        self.input = self.input.wrapping_add(length);
    }

    unsafe fn strided(&mut self, at: *mut u8, stride: isize, count: usize, block: usize) {
        // SAFETY: by the trait's contract.
        unsafe { copy_blocks(self.input, block as isize, at, stride, count, block) };
        self.input = self.input.wrapping_add(count * block);
    }

    unsafe fn blocks(&mut self, at: *mut u8, offsets: &[i64], block: usize) {
        let mut input = self.input;
        // SAFETY: by the trait's contract.
        each_block(block, offsets, |o, block| unsafe {
            copy_run(input, shift(at, o), block);
            input = input.wrapping_add(block);
        });
        self.input = input;
    }
}

/// Copies between two buffers of the same layout: `distance` bytes from the target to the source.
struct Same {
    distance: isize,
}

impl Kernel for Same {
    #[inline(always)]
    unsafe fn run(&mut self, at: *mut u8, length: usize) {
        // SAFETY: by the trait's contract.
        unsafe { copy_run(at.wrapping_offset(self.distance), at, length) };
    }

    unsafe fn strided(&mut self, at: *mut u8, stride: isize, count: usize, block: usize) {
        // SAFETY: by the trait's contract.
        unsafe { copy_blocks(at.wrapping_offset(self.distance), stride, at, stride, count, block) };
    }

    unsafe fn blocks(&mut self, at: *mut u8, offsets: &[i64], block: usize) {
        // SAFETY: by the trait's contract.
        each_block(block, offsets, |o, block| unsafe {
            let to = shift(at, o);
            copy_run(to.wrapping_offset(self.distance), to, block);
        });
    }
}

/// Calls `visit` for each offset, with common block lengths as constants so that their copies are inlined.
#[inline(always)]
fn each_block(block: usize, offsets: &[i64], mut visit: impl FnMut(i64, usize)) {
    match block {
        4 => offsets.iter().for_each(|o| visit(*o, 4)),
        8 => offsets.iter().for_each(|o| visit(*o, 8)),
        16 => offsets.iter().for_each(|o| visit(*o, 16)),
        _ => offsets.iter().for_each(|o| visit(*o, block)),
    }
}

/// Visits all bytes of a layout.
///
/// # Safety
/// As [`pack`].
unsafe fn walk_all<K: Kernel>(layout: &Layout, at: *mut u8, kernel: &mut K) {
    // SAFETY: the layout's bytes around `at` are the caller's promise, its parts are within it.
    unsafe {
        match &layout.kind {
            Kind::Run => kernel.run(at, layout.size as usize),
            Kind::Strided { block, count, stride } => {
                kernel.strided(at, *stride as isize, *count as usize, *block as usize);
            }
            Kind::Blocks { block, offsets } => kernel.blocks(at, offsets, *block as usize),
            Kind::Runs { offsets, ends } => {
                let mut start = 0;
                for (offset, end) in offsets.iter().zip(ends) {
                    kernel.run(shift(at, *offset), (end - start) as usize);
                    start = *end;
                }
            }
            Kind::Loop { count, stride, body } => {
                walk_times(&body.layout, shift(at, body.offset), *count, *stride, kernel);
            }
            Kind::Sequence { parts, .. } => {
                for part in parts {
                    walk_all(&part.layout, shift(at, part.offset), kernel);
                }
            }
        }
    }
}

/// Visits all bytes of `count` layouts, `stride` bytes apart.
///
/// # Safety
/// As [`pack`].
unsafe fn walk_times<K: Kernel>(layout: &Layout, mut at: *mut u8, count: u64, stride: i64, kernel: &mut K) {
    // SAFETY: as in `walk_all`.
    unsafe {
        match &layout.kind {
            Kind::Run => kernel.strided(at, stride as isize, count as usize, layout.size as usize),
            Kind::Runs { offsets, ends } => {
                for _ in 0..count {
                    let mut start = 0;
                    for (offset, end) in offsets.iter().zip(ends) {
                        kernel.run(shift(at, *offset), (end - start) as usize);
                        start = *end;
                    }
                    at = shift(at, stride);
                }
            }
            Kind::Strided { block, count: inner, stride: step } => {
                for _ in 0..count {
                    kernel.strided(at, *step as isize, *inner as usize, *block as usize);
                    at = shift(at, stride);
                }
            }
            _ => {
                for _ in 0..count {
                    walk_all(layout, at, kernel);
                    at = shift(at, stride);
                }
            }
        }
    }
}

/// Visits `len` bytes of a layout from byte `skip` on; `skip + len` is at most its size.
///
/// # Safety
/// As [`pack`].
unsafe fn walk_part<K: Kernel>(layout: &Layout, at: *mut u8, skip: u64, len: u64, kernel: &mut K) {
    if len == 0 {
        return;
    }
    // SAFETY: as in `walk_all`; only bytes of the layout are visited.
    unsafe {
        if len == layout.size {
            return walk_all(layout, at, kernel);
        }
        match &layout.kind {
            Kind::Run => kernel.run(at.wrapping_add(skip as usize), len as usize),
            Kind::Strided { block, count, stride } => {
                let whole = |at: *mut u8, n: u64, kernel: &mut K| {
                    kernel.strided(at, *stride as isize, n as usize, *block as usize);
                };
                let part = |at: *mut u8, skip: u64, len: u64, kernel: &mut K| {
                    kernel.run(at.wrapping_add(skip as usize), len as usize);
                };
                debug_assert!(skip + len <= block * count);
                walk_repeated(at, *stride, *block, skip, len, kernel, whole, part);
            }
            Kind::Loop { stride, body, .. } => {
                let at = shift(at, body.offset);
                part_of_times(&body.layout, at, *stride, skip, len, kernel);
            }
            Kind::Blocks { block, offsets } => {
                let end = skip + len;
                let (mut index, mut position) = ((skip / block) as usize, skip);
                while position < end {
                    let within = position % block;
                    if within == 0 && end - position >= *block {
                        let n = ((end - position) / block) as usize;
                        kernel.blocks(at, &offsets[index..index + n], *block as usize);
                        position += n as u64 * block;
                        index += n;
                    } else {
                        let n = (block - within).min(end - position);
                        kernel.run(shift(at, offsets[index]).wrapping_add(within as usize), n as usize);
                        position += n;
                        index += 1;
                    }
                }
            }
            Kind::Runs { offsets, ends } => {
                walk_listed(ends, skip, len, |index, skip, len| {
                    kernel.run(shift(at, offsets[index]).wrapping_add(skip as usize), len as usize);
                });
            }
            Kind::Sequence { parts, ends } => {
                walk_listed(ends, skip, len, |index, skip, len| {
                    let part = &parts[index];
                    walk_part(&part.layout, shift(at, part.offset), skip, len, kernel);
                });
            }
        }
    }
}

/// Calls `visit(index, skip, len)` for the listed parts that bytes `skip..skip + len` fall into.
fn walk_listed(ends: &[u64], skip: u64, len: u64, mut visit: impl FnMut(usize, u64, u64)) {
    let end = skip + len;
    let mut position = skip;
    let mut index = ends.partition_point(|e| *e <= skip);
    while position < end {
        let start = if index == 0 { 0 } else { ends[index - 1] };
        let n = (ends[index] - position).min(end - position);
        visit(index, position - start, n);
        position += n;
        index += 1;
    }
}

/// Splits bytes `skip..skip + len` of repeated things of `size` bytes into a partial first, whole ones and a partial
/// last one.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn walk_repeated<K>(
    at: *mut u8,
    stride: i64,
    size: u64,
    skip: u64,
    len: u64,
    kernel: &mut K,
    whole: impl Fn(*mut u8, u64, &mut K),
    part: impl Fn(*mut u8, u64, u64, &mut K),
) {
    let place = |index: u64| shift(at, stride.wrapping_mul(index as i64));
    let (mut index, within, mut left) = (skip / size, skip % size, len);
    if within != 0 {
        let n = (size - within).min(left);
        part(place(index), within, n, kernel);
        left -= n;
        index += 1;
    }
    let n = left / size;
    if n > 0 {
        whole(place(index), n, kernel);
        index += n;
        left -= n * size;
    }
    if left > 0 {
        part(place(index), 0, left, kernel);
    }
}

/// Visits `len` bytes from byte `skip` on of layouts repeated every `stride` bytes.
///
/// # Safety
/// As [`pack`].
unsafe fn part_of_times<K: Kernel>(
    layout: &Layout,
    at: *mut u8,
    stride: i64,
    skip: u64,
    len: u64,
    kernel: &mut K,
) {
    // SAFETY: as in `walk_all`; only bytes of the repeated layouts are visited.
    walk_repeated(
        at,
        stride,
        layout.size,
        skip,
        len,
        kernel,
        |at, n, kernel| unsafe { walk_times(layout, at, n, stride, kernel) },
        |at, skip, len, kernel| unsafe { walk_part(layout, at, skip, len, kernel) },
    );
}

/// Returns the displacement of the data if `count` instances are one run.
#[inline(always)]
fn one_run(ty: &Datatype, count: u64) -> Option<i64> {
    if ty.is_dense() {
        return Some(0);
    }
    let layout = &ty.0.layout;
    match layout.layout.kind {
        Kind::Run if count == 1 || u64::try_from(ty.extent()) == Ok(ty.size()) => Some(layout.offset),
        _ => None,
    }
}

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
        if let Some(offset) = one_run(ty, count) {
            let from = shift(buf.cast_mut(), offset).wrapping_add(skip as usize);
            ptr::copy_nonoverlapping(from.cast_const(), out, len as usize);
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
        if let Some(offset) = one_run(ty, count) {
            ptr::copy_nonoverlapping(input, shift(buf, offset).wrapping_add(skip as usize), len as usize);
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
        if let Some(offset) = one_run(src_ty, src_count) {
            return unpack(dst, dst_count, dst_ty, 0, shift(src.cast_mut(), offset), len);
        }
        if let Some(offset) = one_run(dst_ty, dst_count) {
            return pack(src, src_count, src_ty, 0, shift(dst, offset), len);
        }
        let (from, to) = (&src_ty.0.layout, &dst_ty.0.layout);
        if src_ty.same(dst_ty) || (src_ty.extent() == dst_ty.extent() && from == to) {
            let distance = (src as isize).wrapping_sub(dst as isize);
            let at = shift(dst, to.offset);
            part_of_times(&to.layout, at, dst_ty.extent(), 0, len, &mut Same { distance });
            return len;
        }
        let mut source = Cursor::new(src_ty, src.cast_mut(), src_count);
        let mut target = Cursor::new(dst_ty, dst, dst_count);
        zip(&mut source, &mut target, len);
    }
    len
}

/// Blocks at equal distances: the unit two cursors exchange. `within` bytes of the first block are done.
#[derive(Clone, Copy)]
struct Blocks {
    at: *mut u8,
    stride: i64,
    block: u64,
    count: u64,
    within: u64,
}

impl Blocks {
    /// Steps over `bytes` of the first block.
    fn advance(&mut self, bytes: u64) {
        self.within += bytes;
        if self.within == self.block {
            self.skip_blocks(1);
            self.within = 0;
        }
    }

    fn skip_blocks(&mut self, count: u64) {
        self.at = shift(self.at, self.stride.wrapping_mul(count as i64));
        self.count -= count;
    }

    /// Returns how many whole blocks of `block` bytes follow, and how far they are apart.
    fn whole_blocks_of(&self, block: u64) -> (u64, i64) {
        if self.within == 0 && self.block == block {
            (self.count, self.stride)
        } else {
            ((self.block - self.within) / block, block as i64)
        }
    }

    fn address(&self) -> *mut u8 {
        self.at.wrapping_add(self.within as usize)
    }

    /// Steps over `count` pieces of `block` bytes as [`Blocks::whole_blocks_of`] counted them.
    fn step(&mut self, block: u64, count: u64) {
        if self.within == 0 && self.block == block {
            self.skip_blocks(count);
        } else {
            self.advance(block * count);
        }
    }
}

/// Copies `left` bytes from the pieces of one cursor to those of another.
///
/// # Safety
/// Both cursors have `left` bytes, valid as [`copy`] says.
unsafe fn zip(source: &mut Cursor<'_>, target: &mut Cursor<'_>, mut left: u64) {
    let (mut from, mut to) = (source.next(), target.next());
    while left > 0 {
        if from.count == 0 {
            from = source.next();
        }
        if to.count == 0 {
            to = target.next();
        }
        let block = (from.block - from.within).min(to.block - to.within);
        let (from_count, from_stride) = from.whole_blocks_of(block);
        let (to_count, to_stride) = to.whole_blocks_of(block);
        let count = from_count.min(to_count).min(left / block);
        // SAFETY: the pieces are parts of the layouts the caller vouches for.
        unsafe {
            if count == 0 {
                // Only the end of the data can be shorter than the shorter block.
                ptr::copy_nonoverlapping(from.address(), to.address(), left as usize);
                return;
            }
            let (strides, count_as) = ((from_stride as isize, to_stride as isize), count as usize);
            copy_blocks(from.address(), strides.0, to.address(), strides.1, count_as, block as usize);
        }
        from.step(block, count);
        to.step(block, count);
        left -= block * count;
    }
}

/// Walks the pieces of `count` instances one by one.
struct Cursor<'a> {
    layout: &'a Layout,
    at: *mut u8,
    extent: i64,
    left: u64,
    stack: Vec<Frame<'a>>,
}

struct Frame<'a> {
    layout: &'a Layout,
    at: *mut u8,
    index: u64,
}

impl<'a> Cursor<'a> {
    fn new(ty: &'a Datatype, buf: *mut u8, count: u64) -> Self {
        let placed = &ty.0.layout;
        let stack = Vec::with_capacity(placed.layout.depth as usize + 1);
        Self {
            layout: &placed.layout,
            at: shift(buf, placed.offset),
            extent: ty.extent(),
            left: count,
            stack,
        }
    }

    /// Returns the next piece.
    ///
    /// # Panics
    /// If there is none left: the caller counts bytes.
    fn next(&mut self) -> Blocks {
        loop {
            let Some(frame) = self.stack.last_mut() else {
                assert!(self.left > 0, "a copy ran past the end of its data");
                if let Kind::Run = self.layout.kind {
                    let all = Blocks {
                        at: self.at,
                        stride: self.extent,
                        block: self.layout.size,
                        count: self.left,
                        within: 0,
                    };
                    self.left = 0;
                    return all;
                }
                self.stack.push(Frame { layout: self.layout, at: self.at, index: 0 });
                self.at = shift(self.at, self.extent);
                self.left -= 1;
                continue;
            };
            let (layout, at, index) = (frame.layout, frame.at, frame.index);
            frame.index += 1;
            let one = |at: *mut u8, block: u64| Blocks { at, stride: 0, block, count: 1, within: 0 };
            match &layout.kind {
                Kind::Run => {
                    self.stack.pop();
                    return one(at, layout.size);
                }
                Kind::Strided { block, count, stride } => {
                    self.stack.pop();
                    return Blocks { at, stride: *stride, block: *block, count: *count, within: 0 };
                }
                Kind::Blocks { block, offsets } => match offsets.get(index as usize) {
                    Some(offset) => return one(shift(at, *offset), *block),
                    None => drop(self.stack.pop()),
                },
                Kind::Runs { offsets, ends } => match offsets.get(index as usize) {
                    Some(offset) => {
                        let start = if index == 0 { 0 } else { ends[index as usize - 1] };
                        return one(shift(at, *offset), ends[index as usize] - start);
                    }
                    None => drop(self.stack.pop()),
                },
                Kind::Loop { count, stride, body } => {
                    if index < *count {
                        let at = shift(at, body.offset.wrapping_add(stride.wrapping_mul(index as i64)));
                        self.stack.push(Frame { layout: &body.layout, at, index: 0 });
                    } else {
                        self.stack.pop();
                    }
                }
                Kind::Sequence { parts, .. } => match parts.get(index as usize) {
                    Some(part) => {
                        let at = shift(at, part.offset);
                        self.stack.push(Frame { layout: &part.layout, at, index: 0 });
                    }
                    None => drop(self.stack.pop()),
                },
            }
        }
    }
}

/// Calls `visit(displacement, length)` for the runs of `count` instances in packing order. Neighbouring elements may
/// come as one run.
pub fn for_each_run(ty: &Datatype, count: u64, mut visit: impl FnMut(i64, u64)) {
    let mut left = count.saturating_mul(ty.size());
    // The cursor only computes addresses; starting from null they are displacements.
    let mut cursor = Cursor::new(ty, ptr::null_mut(), count);
    while left > 0 {
        let piece = cursor.next();
        for i in 0..piece.count {
            visit((piece.at as i64).wrapping_add(piece.stride.wrapping_mul(i as i64)), piece.block);
        }
        left -= piece.block * piece.count;
    }
}
