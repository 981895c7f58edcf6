//! Copying between two different layouts: two cursors over their pieces, zipped.
//!
//! The module works on addresses that the caller of the MPI function vouches for; that is why it needs unsafe code.
#![allow(unsafe_code)]

use crate::datatype::Datatype;
use crate::kernels::{Even, copy_even, copy_listed, copy_run, gather, scatter, shift};
use crate::layout::{Kind, Layout};
use crate::offsets::OffsetsPart;

/// Blocks of one length: the unit two cursors exchange. `within` bytes of the first block are done.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    at: *mut u8,
    spread: Spread<'a>,
    pub(crate) block: u64,
    within: u64,
}

/// Where the blocks of a piece lie.
#[derive(Clone, Copy)]
enum Spread<'a> {
    /// So many, so far apart.
    Even(u64, i64),
    Listed(OffsetsPart<'a>),
}

impl<'a> Piece<'a> {
    fn even(at: *mut u8, block: u64, count: u64, stride: i64) -> Self {
        Self { at, spread: Spread::Even(count, stride), block, within: 0 }
    }

    /// Returns the number of blocks.
    pub(crate) fn count(&self) -> u64 {
        match self.spread {
            Spread::Even(count, _) => count,
            Spread::Listed(offsets) => offsets.len() as u64,
        }
    }

    /// Returns the address of block `index`.
    pub(crate) fn place(&self, index: u64) -> *mut u8 {
        match self.spread {
            Spread::Even(_, stride) => shift(self.at, stride.wrapping_mul(index as i64)),
            Spread::Listed(offsets) => shift(self.at, offsets.get(index as usize)),
        }
    }

    /// Returns the address of the first byte left.
    fn address(&self) -> *mut u8 {
        self.place(0).wrapping_add(self.within as usize)
    }

    /// Takes the first `count` blocks of `block` bytes out: blocks of the piece, or parts of the one begun.
    fn take(&mut self, block: u64, count: u64) -> Piece<'a> {
        if self.within > 0 || self.block != block {
            let part = Self::even(self.address(), block, count, block as i64);
            self.within += block * count;
            if self.within == self.block {
                self.within = 0;
                self.drop_blocks(1);
            }
            return part;
        }
        let mut taken = *self;
        match &mut taken.spread {
            Spread::Even(n, _) => *n = count,
            Spread::Listed(offsets) => *offsets = offsets.split(count as usize).0,
        }
        self.drop_blocks(count);
        taken
    }

    fn drop_blocks(&mut self, count: u64) {
        match &mut self.spread {
            Spread::Even(n, stride) => {
                self.at = shift(self.at, stride.wrapping_mul(count as i64));
                *n -= count;
            }
            Spread::Listed(offsets) => *offsets = offsets.split(count as usize).1,
        }
    }

    /// Returns how many blocks of `block` bytes can be taken.
    fn blocks_of(&self, block: u64) -> u64 {
        if self.within == 0 && self.block == block {
            self.count()
        } else {
            (self.block - self.within) / block
        }
    }
}

/// Walks the pieces of `count` instances one by one.
pub(crate) struct Cursor<'a> {
    layout: &'a Layout,
    at: *mut u8,
    extent: i64,
    left: u64,
    stack: Vec<Level<'a>>,
}

struct Level<'a> {
    layout: &'a Layout,
    at: *mut u8,
    index: u64,
}

impl<'a> Cursor<'a> {
    /// Starts at the first of `count` instances at `buf`.
    pub(crate) fn new(ty: &'a Datatype, buf: *mut u8, count: u64) -> Self {
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
    pub(crate) fn next(&mut self) -> Piece<'a> {
        loop {
            let Some(frame) = self.stack.last_mut() else {
                assert!(self.left > 0, "a copy ran past the end of its data");
                if let Kind::Run = self.layout.kind {
                    let all = Piece::even(self.at, self.layout.size, self.left, self.extent);
                    self.left = 0;
                    return all;
                }
                self.stack.push(Level { layout: self.layout, at: self.at, index: 0 });
                self.at = shift(self.at, self.extent);
                self.left -= 1;
                continue;
            };
            let (layout, at, index) = (frame.layout, frame.at, frame.index);
            frame.index += 1;
            match &layout.kind {
                Kind::Run => {
                    self.stack.pop();
                    return Piece::even(at, layout.size, 1, 0);
                }
                Kind::Strided { block, count, stride } => {
                    self.stack.pop();
                    return Piece::even(at, *block, *count, *stride);
                }
                Kind::Blocks { block, offsets } => {
                    self.stack.pop();
                    let spread = Spread::Listed(offsets.part(0, offsets.len()));
                    return Piece { at, spread, block: *block, within: 0 };
                }
                Kind::Runs { offsets, ends, .. } => {
                    if (index as usize) < offsets.len() {
                        let at = shift(at, offsets.get(index as usize));
                        return Piece::even(at, ends.length(index as usize), 1, 0);
                    }
                    self.stack.pop();
                }
                Kind::Loop { count, stride, body } => {
                    if index < *count {
                        let at = shift(at, body.offset.wrapping_add(stride.wrapping_mul(index as i64)));
                        self.stack.push(Level { layout: &body.layout, at, index: 0 });
                    } else {
                        self.stack.pop();
                    }
                }
                Kind::Sequence { parts, .. } => match parts.get(index as usize) {
                    Some(part) => {
                        let at = shift(at, part.offset);
                        self.stack.push(Level { layout: &part.layout, at, index: 0 });
                    }
                    None => drop(self.stack.pop()),
                },
            }
        }
    }
}

/// Copies the same number of blocks of the same length from one piece to another.
///
/// # Safety
/// As [`zip`].
unsafe fn copy_piece(from: Piece<'_>, to: Piece<'_>) {
    let (block, count) = (from.block as usize, from.count() as usize);
    let even = |at, stride: i64| Even { at, stride: stride as isize };
    // SAFETY: the caller's promise.
    unsafe {
        match (from.spread, to.spread) {
            (Spread::Even(_, _), Spread::Even(_, _)) if count == 1 => copy_run(from.at, to.at, block),
            (Spread::Even(_, f), Spread::Even(_, t)) => {
                copy_even(even(from.at, f), even(to.at, t), count, block);
            }
            (Spread::Listed(f), Spread::Even(_, t)) => gather(from.at, f, even(to.at, t), block),
            (Spread::Even(_, f), Spread::Listed(t)) => scatter(even(from.at, f), to.at, t, block),
            (Spread::Listed(f), Spread::Listed(t)) => copy_listed((from.at, f), (to.at, t), block),
        }
    }
}

/// Copies `left` bytes from the pieces of one cursor to those of another.
///
/// # Safety
/// Both cursors have `left` bytes, valid as [`copy`](crate::copy) says.
pub(crate) unsafe fn zip(source: &mut Cursor<'_>, target: &mut Cursor<'_>, mut left: u64) {
    let (mut from, mut to) = (source.next(), target.next());
    while left > 0 {
        if from.count() == 0 {
            from = source.next();
        }
        if to.count() == 0 {
            to = target.next();
        }
        let block = (from.block - from.within).min(to.block - to.within);
        let count = from.blocks_of(block).min(to.blocks_of(block)).min(left / block);
        // SAFETY: the pieces are parts of the layouts the caller vouches for.
        unsafe {
            if count == 0 {
                // Only the end of the data can be shorter than the shorter block.
                return copy_run(from.address(), to.address(), left as usize);
            }
            copy_piece(from.take(block, count), to.take(block, count));
        }
        left -= block * count;
    }
}
