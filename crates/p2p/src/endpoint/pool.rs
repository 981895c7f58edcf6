//! Memory for unexpected messages.
#![allow(unsafe_code)]

use crate::endpoint::{ENVELOPE, Payload};
use core::mem::MaybeUninit;
use weft_local::PAYLOAD;
use weft_sync::{Lock, Stock};
use weft_transport::Node;

/// Memory of one message.
pub(crate) struct Block(Box<[MaybeUninit<u8>]>);

/// Blocks that are longer than those of a rank's own pool; of all ranks together.
static LARGE: Lock<Stock<MaybeUninit<u8>>> = Lock::new(Stock::new(4 << 20));

impl Block {
    /// Returns a block for so many bytes, which may be a quarter longer.
    pub(crate) fn new(length: usize) -> Self {
        let used = if length > CLASSES[2] { LARGE.lock().take(length, length + length / 4) } else { None };
        Self(used.unwrap_or_else(|| Box::new_uninit_slice(length)))
    }

    /// Tells whether it is of no rank's pool.
    pub(crate) fn is_large(&self) -> bool {
        self.0.len() > CLASSES[2]
    }

    /// Lets go of it; a large one may be used again.
    pub(crate) fn release(self) {
        if self.is_large() {
            let rest = LARGE.lock().put(self.0);
            drop(rest);
        }
    }

    /// Returns the address of the data, to write it.
    pub(crate) fn place(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    /// Returns how many bytes a message in this block takes.
    pub(crate) fn cost(&self) -> u64 {
        self.0.len() as u64 + ENVELOPE
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
    /// Makes a payload of `bytes` bytes, which `fill` writes, `from` another node process or this one.
    ///
    /// # Safety
    /// `fill` writes all of the `bytes` bytes at the address it is given, and no more.
    pub(crate) unsafe fn store(
        &mut self,
        from: Option<Node>,
        bytes: u64,
        fill: impl FnOnce(*mut u8),
    ) -> Payload {
        let length = bytes as usize;
        if length <= PAYLOAD {
            let mut data = [0; PAYLOAD];
            fill(data.as_mut_ptr());
            return Payload::Inline(from, data);
        }
        let mut block = match CLASSES.iter().position(|&size| length <= size) {
            Some(class) => {
                let kept = self.free[class].pop();
                kept.unwrap_or_else(|| Block(Box::new_uninit_slice(CLASSES[class])))
            }
            None => Block::new(length),
        };
        fill(block.0.as_mut_ptr().cast());
        Payload::Pooled(from, block)
    }

    /// Takes a block back.
    pub(crate) fn give_back(&mut self, block: Block) {
        if block.is_large() {
            block.release();
        } else if let Some(class) = CLASSES.iter().position(|&size| block.0.len() == size)
            && self.free[class].len() < KEPT
        {
            self.free[class].push(block);
        }
    }
}
