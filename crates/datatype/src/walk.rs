//! Visiting the pieces of a layout in packing order, whole or from byte `skip` on for `len` bytes.
//!
//! A [`Kernel`] says what is done with them. Instances made of a few short runs are visited run by run, a tile of
//! instances at a time, so that the innermost loop moves blocks of one length; a tile stays in the nearest cache.
//! The module works on addresses that the caller of the MPI function vouches for; that is why it needs unsafe code.
#![allow(unsafe_code)]

use crate::kernels::{Even, copy_alike, copy_even, copy_run, gather, scatter, shift};
use crate::layout::{Kind, Layout};
use crate::offsets::{Ends, Offsets, OffsetsPart};

/// Instances with at most so many runs of at most so many bytes are visited run by run.
const FEW: usize = 16;
const SHORT: u64 = 64;
/// Bytes of a tile.
const TILE: u64 = 12 << 10;

/// What is done with a piece of the user's buffer. Each call continues behind the previous one on the other side.
///
/// # Safety
/// Both sides must be valid for all bytes of the piece; see [`pack`](crate::pack).
pub(crate) trait Kernel {
    /// Moves one run of at least one byte.
    unsafe fn run(&mut self, at: *mut u8, length: usize);
    /// Moves `count` blocks of `block` bytes, `stride` bytes apart.
    unsafe fn strided(&mut self, at: *mut u8, stride: isize, count: usize, block: usize) {
        // SAFETY: the same blocks, packed one behind the other.
        unsafe { self.lattice(at, stride, count, block, (0, block)) };
        self.advance(count * block);
    }
    /// Moves blocks of `block` bytes at `offsets` from `at`.
    unsafe fn listed(&mut self, at: *mut u8, offsets: OffsetsPart<'_>, block: usize);
    /// Moves `count` blocks of `block` bytes, `stride` bytes apart, that are `period` bytes apart in the packed data,
    /// from `position` on; does not continue behind them.
    unsafe fn lattice(
        &mut self,
        at: *mut u8,
        stride: isize,
        count: usize,
        block: usize,
        packed: (usize, usize),
    );
    /// Continues `bytes` further on.
    fn advance(&mut self, bytes: usize);
}

/// Copies to packed data.
pub(crate) struct Pack {
    pub(crate) out: *mut u8,
}

impl Kernel for Pack {
    #[inline(always)]
    unsafe fn run(&mut self, at: *mut u8, length: usize) {
        // SAFETY: by the trait's contract.
        unsafe { copy_run(at, self.out, length) };
        self.advance(length);
    }

    unsafe fn listed(&mut self, at: *mut u8, offsets: OffsetsPart<'_>, block: usize) {
        let to = Even { at: self.out, stride: block as isize };
        // SAFETY: by the trait's contract.
        unsafe { gather(at, offsets, to, block) };
        self.advance(offsets.len() * block);
    }

    #[inline(always)]
    unsafe fn lattice(
        &mut self,
        at: *mut u8,
        stride: isize,
        count: usize,
        block: usize,
        (position, period): (usize, usize),
    ) {
        let to = Even { at: self.out.wrapping_add(position), stride: period as isize };
        // SAFETY: by the trait's contract.
        unsafe { copy_even(Even { at, stride }, to, count, block) };
    }

    #[inline(always)]
    fn advance(&mut self, bytes: usize) {
        self.out = self.out.wrapping_add(bytes);
    }
}

/// Copies from packed data.
pub(crate) struct Unpack {
    pub(crate) input: *const u8,
}

impl Kernel for Unpack {
    #[inline(always)]
    unsafe fn run(&mut self, at: *mut u8, length: usize) {
        // SAFETY: by the trait's contract.
        unsafe { copy_run(self.input, at, length) };
        self.advance(length);
    }

    unsafe fn listed(&mut self, at: *mut u8, offsets: OffsetsPart<'_>, block: usize) {
        let from = Even { at: self.input.cast_mut(), stride: block as isize };
        // SAFETY: by the trait's contract.
        unsafe { scatter(from, at, offsets, block) };
        self.advance(offsets.len() * block);
    }

    #[inline(always)]
    unsafe fn lattice(
        &mut self,
        at: *mut u8,
        stride: isize,
        count: usize,
        block: usize,
        (position, period): (usize, usize),
    ) {
        let from = Even { at: self.input.wrapping_add(position).cast_mut(), stride: period as isize };
        // SAFETY: by the trait's contract; the source is only read.
        unsafe { copy_even(from, Even { at, stride }, count, block) };
    }

    #[inline(always)]
    fn advance(&mut self, bytes: usize) {
        self.input = self.input.wrapping_add(bytes);
    }
}

/// Copies between two buffers of the same layout: `distance` bytes from the target to the source.
pub(crate) struct Same {
    pub(crate) distance: isize,
}

impl Kernel for Same {
    #[inline(always)]
    unsafe fn run(&mut self, at: *mut u8, length: usize) {
        // SAFETY: by the trait's contract.
        unsafe { copy_run(at.wrapping_offset(self.distance), at, length) };
    }

    unsafe fn listed(&mut self, at: *mut u8, offsets: OffsetsPart<'_>, block: usize) {
        // SAFETY: by the trait's contract.
        unsafe { copy_alike(self.distance, at, offsets, block) };
    }

    #[inline(always)]
    unsafe fn lattice(&mut self, at: *mut u8, stride: isize, count: usize, block: usize, _: (usize, usize)) {
        let from = Even { at: at.wrapping_offset(self.distance), stride };
        // SAFETY: by the trait's contract.
        unsafe { copy_even(from, Even { at, stride }, count, block) };
    }

    fn advance(&mut self, _: usize) {}
}

/// Visits all bytes of a layout.
///
/// # Safety
/// As [`pack`](crate::pack).
pub(crate) unsafe fn walk_all<K: Kernel>(layout: &Layout, at: *mut u8, kernel: &mut K) {
    // SAFETY: the layout's bytes around `at` are the caller's promise, its parts are within it.
    unsafe {
        match &layout.kind {
            Kind::Run => kernel.run(at, layout.size as usize),
            Kind::Strided { block, count, stride } => {
                kernel.strided(at, *stride as isize, *count as usize, *block as usize);
            }
            Kind::Blocks { block, offsets } => {
                kernel.listed(at, offsets.part(0, offsets.len()), *block as usize);
            }
            Kind::Runs { offsets, ends, .. } => walk_runs(at, offsets, ends, kernel),
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

/// Visits runs of different lengths.
///
/// # Safety
/// As [`walk_all`].
#[inline(always)]
unsafe fn walk_runs<K: Kernel>(at: *mut u8, offsets: &Offsets, ends: &Ends, kernel: &mut K) {
    // SAFETY: as in `walk_all`.
    unsafe {
        match (offsets, ends) {
            (Offsets::Short(offsets), Ends::Short(ends)) => {
                let mut start = 0;
                for (offset, end) in offsets.iter().zip(ends) {
                    kernel.run(shift(at, i64::from(*offset)), (end - start) as usize);
                    start = *end;
                }
            }
            _ => {
                for (index, offset) in offsets.iter().enumerate() {
                    kernel.run(shift(at, offset), ends.length(index) as usize);
                }
            }
        }
    }
}

/// Visits all bytes of `count` layouts, `stride` bytes apart.
///
/// # Safety
/// As [`walk_all`].
unsafe fn walk_times<K: Kernel>(layout: &Layout, mut at: *mut u8, count: u64, stride: i64, kernel: &mut K) {
    // SAFETY: as in `walk_all`.
    unsafe {
        if let Kind::Run = layout.kind {
            return kernel.strided(at, stride as isize, count as usize, layout.size as usize);
        }
        let tile = TILE / stride.unsigned_abs().max(layout.size);
        if tile >= 8 && count >= 8 && few_short_runs(&layout.kind) {
            let mut left = count;
            while left > 0 {
                let n = left.min(tile);
                walk_tile(layout, at, n as usize, stride as isize, kernel);
                kernel.advance(n as usize * layout.size as usize);
                at = shift(at, stride.wrapping_mul(n as i64));
                left -= n;
            }
            return;
        }
        match &layout.kind {
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

fn few_short_runs(kind: &Kind) -> bool {
    match kind {
        Kind::Strided { block, count, .. } => *count <= FEW as u64 && *block <= SHORT,
        Kind::Blocks { block, offsets } => offsets.len() <= FEW && *block <= SHORT,
        Kind::Runs { offsets, longest, .. } => offsets.len() <= FEW && *longest <= SHORT,
        _ => false,
    }
}

/// Visits the first run of all instances, then the second, and so on.
///
/// # Safety
/// As [`walk_all`].
unsafe fn walk_tile<K: Kernel>(layout: &Layout, at: *mut u8, count: usize, stride: isize, kernel: &mut K) {
    let mut position = 0;
    let period = layout.size as usize;
    let mut run = |offset: i64, length: u64| {
        let length = length as usize;
        // SAFETY: as in `walk_all`.
        unsafe { kernel.lattice(shift(at, offset), stride, count, length, (position, period)) };
        position += length;
    };
    match &layout.kind {
        Kind::Strided { block, count, stride } => {
            (0..*count as i64).for_each(|i| run(stride.wrapping_mul(i), *block));
        }
        Kind::Blocks { block, offsets } => offsets.iter().for_each(|offset| run(offset, *block)),
        Kind::Runs { offsets, ends, .. } => {
            offsets.iter().enumerate().for_each(|(index, offset)| run(offset, ends.length(index)));
        }
        _ => unreachable!("`few_short_runs` lets no other kind pass"),
    }
}

/// Visits `len` bytes of a layout from byte `skip` on; `skip + len` is at most its size.
///
/// # Safety
/// As [`pack`](crate::pack).
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
                        kernel.listed(at, offsets.part(index, n), *block as usize);
                        position += n as u64 * block;
                        index += n;
                    } else {
                        let n = (block - within).min(end - position);
                        kernel.run(shift(at, offsets.get(index)).wrapping_add(within as usize), n as usize);
                        position += n;
                        index += 1;
                    }
                }
            }
            Kind::Runs { offsets, ends, .. } => {
                walk_listed(ends, skip, len, |index, skip, len| {
                    kernel.run(shift(at, offsets.get(index)).wrapping_add(skip as usize), len as usize);
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
fn walk_listed(ends: &Ends, skip: u64, len: u64, mut visit: impl FnMut(usize, u64, u64)) {
    let end = skip + len;
    let mut position = skip;
    let mut index = ends.find(skip);
    while position < end {
        let n = (ends.get(index) - position).min(end - position);
        visit(index, position - ends.start(index), n);
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
/// As [`pack`](crate::pack).
pub(crate) unsafe fn part_of_times<K: Kernel>(
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
