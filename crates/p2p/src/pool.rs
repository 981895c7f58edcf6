//! Memory for unexpected messages.
#![allow(unsafe_code)]

use crate::endpoint::Payload;
use core::mem::MaybeUninit;
use weft_local::PAYLOAD;

/// Memory of one message.
pub(crate) struct Block(Box<[MaybeUninit<u8>]>);

impl Block {
    /// Returns how many bytes a message in this block takes.
    pub(crate) fn cost(&self) -> u64 {
        self.0.len() as u64 + 128
    }

    /// Returns the address of the data.
    pub(crate) fn address(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }
}

const CLASSES: [usize; 3] = [256, 1024, 4096];

/// How many blocks of each size are kept for the next message.
const KEPT: usize = 16;

/// Blocks of a few sizes, kept for reuse. Guarded by the lock of its endpoint.
#[derive(Default)]
pub(crate) struct Pool {
    free: [Vec<Block>; CLASSES.len()],
}

impl Pool {
    /// Makes a payload of `bytes` bytes, which `fill` writes.
    ///
    /// # Safety
    /// `fill` writes all of the `bytes` bytes at the address it is given, and no more.
    pub(crate) unsafe fn store(&mut self, bytes: u64, fill: impl FnOnce(*mut u8)) -> Payload {
        let length = bytes as usize;
        if length <= PAYLOAD {
            let mut data = [0; PAYLOAD];
            fill(data.as_mut_ptr());
            return Payload::Inline(data);
        }
        let class = CLASSES.iter().position(|&size| length <= size);
        let kept = class.and_then(|class| self.free[class].pop());
        let mut block = kept.unwrap_or_else(|| {
            let size = class.map_or(length, |class| CLASSES[class]);
            Block(Box::new_uninit_slice(size))
        });
        fill(block.0.as_mut_ptr().cast());
        Payload::Pooled(block)
    }

    /// Takes a block back.
    pub(crate) fn give_back(&mut self, block: Block) {
        if let Some(class) = CLASSES.iter().position(|&size| block.0.len() == size)
            && self.free[class].len() < KEPT
        {
            self.free[class].push(block);
        }
    }
}
