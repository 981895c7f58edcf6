//! The innermost loops: blocks of one length from some places to others.
//!
//! Each loop exists once for every common block length, so that a block is a few moves between registers. Four blocks
//! are read before they are written: the compiler then joins small blocks that lie together on one side into one move.
//! The module works on addresses that the caller of the MPI function vouches for; that is why it needs unsafe code.
#![allow(unsafe_code)]

use crate::offsets::{Offset, OffsetsPart};
use std::ptr;

/// Moves an address by any number of bytes.
#[inline(always)]
pub(crate) fn shift(at: *mut u8, by: i64) -> *mut u8 {
    at.wrapping_offset(by as isize)
}

/// Where the blocks of one side lie.
pub(crate) trait Places: Copy {
    /// Returns the address of block `index`.
    ///
    /// # Safety
    /// There is such a block.
    unsafe fn place(self, index: usize) -> *mut u8;
}

/// Blocks at equal distances.
#[derive(Clone, Copy)]
pub(crate) struct Even {
    pub(crate) at: *mut u8,
    pub(crate) stride: isize,
}

impl Places for Even {
    #[inline(always)]
    unsafe fn place(self, index: usize) -> *mut u8 {
        self.at.wrapping_offset(self.stride.wrapping_mul(index as isize))
    }
}

/// Blocks of `N` bytes, one behind the other.
#[derive(Clone, Copy)]
struct Dense<const N: usize>(*mut u8);

impl<const N: usize> Places for Dense<N> {
    #[inline(always)]
    unsafe fn place(self, index: usize) -> *mut u8 {
        self.0.wrapping_add(N * index)
    }
}

/// Blocks at listed displacements.
#[derive(Clone, Copy)]
pub(crate) struct Listed<O> {
    at: *mut u8,
    offsets: *const O,
}

impl<O: Offset> Listed<O> {
    pub(crate) fn new(at: *mut u8, offsets: &[O]) -> Self {
        Self { at, offsets: offsets.as_ptr() }
    }
}

impl<O: Offset> Places for Listed<O> {
    #[inline(always)]
    unsafe fn place(self, index: usize) -> *mut u8 {
        // SAFETY: the list is as long as there are blocks.
        self.at.wrapping_offset(unsafe { self.offsets.add(index).read() }.bytes())
    }
}

/// From where to where blocks go.
pub(crate) trait Route: Copy {
    /// Returns source and target of block `index`.
    ///
    /// # Safety
    /// There is such a block.
    unsafe fn ends(self, index: usize) -> (*const u8, *mut u8);
}

/// Between places of different sorts.
#[derive(Clone, Copy)]
pub(crate) struct Between<A, B>(pub(crate) A, pub(crate) B);

impl<A: Places, B: Places> Route for Between<A, B> {
    #[inline(always)]
    unsafe fn ends(self, index: usize) -> (*const u8, *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { (self.0.place(index).cast_const(), self.1.place(index)) }
    }
}

/// To places from others `distance` bytes away.
#[derive(Clone, Copy)]
pub(crate) struct Alike<A> {
    pub(crate) distance: isize,
    pub(crate) to: A,
}

impl<A: Places> Route for Alike<A> {
    #[inline(always)]
    unsafe fn ends(self, index: usize) -> (*const u8, *mut u8) {
        // SAFETY: the caller's promise.
        let to = unsafe { self.to.place(index) };
        (to.wrapping_offset(self.distance).cast_const(), to)
    }
}

/// Copies `count` blocks of `N` bytes.
///
/// # Safety
/// All blocks of the route are valid, and no target overlaps a source.
#[inline(always)]
unsafe fn fixed<const N: usize, R: Route>(route: R, count: usize) {
    // SAFETY: the caller vouches for every block.
    unsafe {
        match N {
            1 => words::<u8, R>(route, count),
            2 => words::<u16, R>(route, count),
            4 => words::<u32, R>(route, count),
            8 => words::<u64, R>(route, count),
            _ => {
                for index in 0..count {
                    let (from, to) = route.ends(index);
                    ptr::copy_nonoverlapping(from, to, N);
                }
            }
        }
    }
}

/// Copies `count` blocks of the size of a register, four at a time.
///
/// # Safety
/// As [`fixed`].
#[inline(always)]
unsafe fn words<W: Copy, R: Route>(route: R, count: usize) {
    let mut index = 0;
    // SAFETY: the caller vouches for every block.
    unsafe {
        while index + 4 <= count {
            let [a, b, c, d]: [_; 4] = std::array::from_fn(|i| route.ends(index + i));
            let read = |from: *const u8| from.cast::<W>().read_unaligned();
            let words = (read(a.0), read(b.0), read(c.0), read(d.0));
            let write = |to: *mut u8, word: W| to.cast::<W>().write_unaligned(word);
            write(a.1, words.0);
            write(b.1, words.1);
            write(c.1, words.2);
            write(d.1, words.3);
            index += 4;
        }
        while index < count {
            let (from, to) = route.ends(index);
            to.cast::<W>().write_unaligned(from.cast::<W>().read_unaligned());
            index += 1;
        }
    }
}

/// Copies `count` blocks of `block` bytes.
///
/// # Safety
/// As [`fixed`].
#[inline(always)]
unsafe fn any_length<R: Route>(route: R, count: usize, block: usize) {
    // SAFETY: the caller vouches for every block; the arms differ only in how a block is copied.
    unsafe {
        if block <= 128 {
            for index in 0..count {
                let (from, to) = route.ends(index);
                copy_short(from, to, block);
            }
        } else {
            for index in 0..count {
                let (from, to) = route.ends(index);
                weft_sys::copy::bytes(from, to, block);
            }
        }
    }
}

/// Copies `count` blocks of `block` bytes between places of any sort.
///
/// # Safety
/// As [`fixed`].
pub(crate) unsafe fn copy_blocks<R: Route>(route: R, count: usize, block: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match block {
            1 => fixed::<1, R>(route, count),
            2 => fixed::<2, R>(route, count),
            4 => fixed::<4, R>(route, count),
            8 => fixed::<8, R>(route, count),
            12 => fixed::<12, R>(route, count),
            16 => fixed::<16, R>(route, count),
            24 => fixed::<24, R>(route, count),
            32 => fixed::<32, R>(route, count),
            64 => fixed::<64, R>(route, count),
            _ => any_length(route, count, block),
        }
    }
}

/// Copies `count` blocks of `N` bytes at equal distances, those of a dense side as such.
///
/// # Safety
/// As [`fixed`].
#[inline(always)]
unsafe fn even_of<const N: usize>(from: Even, to: Even, count: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if to.stride == N as isize {
            fixed::<N, _>(Between(from, Dense::<N>(to.at)), count);
        } else if from.stride == N as isize {
            fixed::<N, _>(Between(Dense::<N>(from.at), to), count);
        } else {
            fixed::<N, _>(Between(from, to), count);
        }
    }
}

/// Copies `count` blocks of `block` bytes at equal distances.
///
/// # Safety
/// As [`fixed`].
pub(crate) unsafe fn copy_even(from: Even, to: Even, count: usize, block: usize) {
    macro_rules! lengths {
        ($($n:literal)*) => {
            match block {
                $($n => even_of::<$n>(from, to, count),)*
                _ => any_length(Between(from, to), count, block),
            }
        };
    }
    // SAFETY: the caller's promise.
    unsafe {
        lengths!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
                 36 40 44 48 52 56 60 64)
    }
}

/// Copies one run of at least one byte.
///
/// # Safety
/// Both sides are valid for `length` bytes and do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy_run(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: by this function's contract.
    unsafe {
        if length <= 128 {
            copy_short(from, to, length);
        } else {
            weft_sys::copy::bytes(from, to, length);
        }
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

/// Calls a kernel with the displacements in the width they are listed in.
macro_rules! with_offsets {
    ($part:expr, $offsets:ident => $body:expr) => {
        match $part {
            OffsetsPart::Short($offsets) => $body,
            OffsetsPart::Long($offsets) => $body,
        }
    };
}

/// Copies listed blocks to places one behind the other, or at equal distances.
///
/// # Safety
/// As [`fixed`].
pub(crate) unsafe fn gather(at: *mut u8, offsets: OffsetsPart<'_>, to: Even, block: usize) {
    // SAFETY: the caller's promise; the lists are as long as there are blocks.
    with_offsets!(offsets, o => unsafe { copy_blocks(Between(Listed::new(at, o), to), o.len(), block) });
}

/// Copies blocks at equal distances to listed places.
///
/// # Safety
/// As [`fixed`].
pub(crate) unsafe fn scatter(from: Even, at: *mut u8, offsets: OffsetsPart<'_>, block: usize) {
    // SAFETY: each listed place takes one block, and `from` has as many, which the caller promises.
    with_offsets!(offsets, o => unsafe { copy_blocks(Between(from, Listed::new(at, o)), o.len(), block) });
}

/// Copies listed blocks from equally listed places `distance` bytes away.
///
/// # Safety
/// As [`fixed`].
pub(crate) unsafe fn copy_alike(distance: isize, at: *mut u8, offsets: OffsetsPart<'_>, block: usize) {
    // SAFETY: the caller promises both sides of each listed block.
    with_offsets!(offsets, o => unsafe {
        copy_blocks(Alike { distance, to: Listed::new(at, o) }, o.len(), block);
    });
}

/// Copies between two lists of places, which are equally long.
///
/// # Safety
/// As [`fixed`].
pub(crate) unsafe fn copy_listed(
    (from_at, from): (*mut u8, OffsetsPart<'_>),
    (to_at, to): (*mut u8, OffsetsPart<'_>),
    block: usize,
) {
    with_offsets!(from, f => with_offsets!(to, t => {
        let count = f.len().min(t.len());
        // SAFETY: `count` is within both lists, and the caller promises the blocks at their places.
        unsafe { copy_blocks(Between(Listed::new(from_at, f), Listed::new(to_at, t)), count, block) };
    }));
}
