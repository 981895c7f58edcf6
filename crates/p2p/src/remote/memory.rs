//! The memory of messages between node processes, as the service below sees it: buffers of operations, and what is kept aside.
#![allow(unsafe_code)] // Promises what the owners of operations promised.

use crate::endpoint::Reference;
use crate::endpoint::pool::Block;
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation};
use std::sync::Arc;
use weft_post::{Aside, Data, Gaps, Place, Room};

/// The data of a send.
pub enum Sending {
    /// In the buffer of an operation that is complete when the data is not needed any more, of a rank with this number here.
    Whole(Reference, u32),
    /// What checking mode says, and the data.
    Described(Arc<[u8]>),
}

fn object(operation: Reference) -> *const () {
    core::ptr::from_ref(operation.get()).cast()
}

/// Packs a part of a send.
///
/// # Safety
/// As [`Gaps::copy`], for an operation.
unsafe fn pack(object: *const (), offset: u64, bytes: *mut u8, length: u64) {
    // SAFETY: the caller's promise: the operation is in progress, so its buffer is as its owner promised.
    unsafe { (*object.cast::<Operation>()).buffer().pack_part(offset, bytes, length) };
}

/// Unpacks a part of a receive.
///
/// # Safety
/// As [`Gaps::copy`], for an operation.
unsafe fn unpack(object: *const (), offset: u64, bytes: *mut u8, length: u64) {
    // SAFETY: the caller's promise: the receive is in progress, and nobody else writes this part of its buffer.
    unsafe { (*object.cast::<Operation>()).buffer().unpack_part(offset, bytes, length) };
}

fn place(buffer: &Buffer, operation: Reference, copy: unsafe fn(*const (), u64, *mut u8, u64)) -> Place {
    if buffer.dense {
        Place::Block(buffer.address)
    } else {
        Place::Gaps(Gaps { object: object(operation), copy })
    }
}

// SAFETY: who sends leaves its buffer as it is until the operation is complete, which comes after this is dropped; what is described
// is on the heap.
unsafe impl Data for Sending {
    fn place(&self) -> Place {
        match self {
            Self::Whole(operation, _) => place(&operation.get().buffer(), *operation, pack),
            Self::Described(payload) => Place::Block(payload.as_ptr().cast_mut()),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Whole(operation, _) => operation.get().buffer().bytes,
            Self::Described(payload) => payload.len() as u64,
        }
    }

    fn table(&self) -> u32 {
        match *self {
            Self::Whole(_, rank) => rank,
            Self::Described(_) => 0,
        }
    }
}

/// A receive that has left matching, and the message it gets.
pub struct Receiving {
    pub(super) operation: Reference,
    /// Its rank's number here.
    pub(super) rank: u32,
    pub(super) envelope: Envelope,
    /// The length of the message.
    pub(super) bytes: u64,
}

// SAFETY: the buffer of a receive is its owner's promise until it is complete, which comes after this is dropped; since it left matching
// nobody else writes it.
unsafe impl Room for Receiving {
    fn place(&mut self) -> Place {
        place(&self.operation.get().buffer(), self.operation, unpack)
    }

    fn bytes(&self) -> u64 {
        self.operation.get().buffer().bytes
    }

    fn table(&self) -> u32 {
        self.rank
    }
}

/// A short message that nobody waits for while parts of it are on their way.
pub struct Collected(Option<Block>);

impl Collected {
    /// Returns its memory.
    pub(super) fn into_block(mut self) -> Block {
        self.0.take().expect("it has one until it ends")
    }

    /// Returns the memory, to look at it.
    pub(super) fn block(&self) -> &Block {
        self.0.as_ref().expect("it has one until it ends")
    }
}

impl Drop for Collected {
    fn drop(&mut self) {
        if let Some(block) = self.0.take() {
            block.release();
        }
    }
}

// SAFETY: the block is on the heap, and has as many bytes as it was made for.
unsafe impl Aside for Collected {
    fn make(bytes: u64) -> Option<Self> {
        Some(Self(Some(Block::new(bytes as usize))))
    }

    fn address(&mut self) -> *mut u8 {
        self.0.as_mut().expect("it has one until it ends").place()
    }
}
