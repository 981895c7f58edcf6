//! One request: its slot, what it is, and the tag that tells who may end it.
#![allow(unsafe_code)] // A slot's content belongs to whoever the tag says.

use super::{Requests, Work};
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation};
use crate::way::Mode;
use core::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::Error;
use weft_base::abi;
use weft_base::constants::*;
use weft_base::handle;
use weft_datatype::Datatype;
use weft_sched::Thread;

pub(super) const FREE: u64 = 0;
pub(super) const INACTIVE: u64 = 1;
pub(super) const ACTIVE: u64 = 2;
/// Freed by the program while active and not complete yet; of calls with a handle, only [`Requests::unfinished_work`] finds
/// it.
pub(super) const ABANDONED: u64 = 3;
/// As `ACTIVE`, of a send or receive that owns nothing: all there is to its end is in the operation.
pub(super) const BARE: u64 = 4;

pub(super) const FIRST: usize = handle::Kind::Request.first();
/// Where the rank starts in a generation, and how many bits it has: the top bit of a handle stays clear.
pub(super) const RANK_SHIFT: u32 = 20;
pub(super) const RANK_BITS: u32 = 11;
/// Generations of a slot; one less than the field holds, so that none is that of a request with nothing to remember.
pub(super) const GENERATIONS: u64 = (1 << RANK_SHIFT) - 1;

/// What a persistent operation does when it is started.
#[derive(Clone, Copy)]
pub(crate) enum Recipe {
    Send {
        target: u32,
        envelope: Envelope,
        mode: Mode,
    },
    Buffered {
        target: u32,
        envelope: Envelope,
        scopes: crate::buffered::Scopes,
    },
    Receive {
        pattern: Envelope,
    },
    /// From or to `MPI_PROC_NULL`.
    Nothing,
}

/// What a request is.
pub(crate) enum Kind {
    Send {
        target: u32,
        /// For reports, as is the mode.
        tag: i32,
        mode: Mode,
    },
    Receive,
    /// A receive, and the index of the slot of the send that belongs to it.
    Pair {
        send: u32,
    },
    Work(Arc<dyn Work>),
}

pub(crate) struct Content {
    pub kind: Kind,
    pub comm: abi::Comm,
    /// The buffer's datatype, if the program may free its handle before the operation ends.
    pub datatype: Option<Datatype>,
    /// Apart, so that the others have no room for it.
    pub rare: Option<Box<Rare>>,
}

/// What few requests have.
pub(crate) struct Rare {
    /// Memory of the library that is sent from.
    pub _packed: Option<Box<[u8]>>,
    /// What a persistent request does.
    pub recipe: Option<(Recipe, Buffer)>,
}

impl Content {
    /// The content of a free slot.
    pub(super) const NOTHING: Self = Self::new(Kind::Receive, MPI_COMM_NULL, None);

    /// The content of a request that has nothing rare.
    #[inline]
    pub const fn new(kind: Kind, comm: abi::Comm, datatype: Option<Datatype>) -> Self {
        Self { kind, comm, datatype, rare: None }
    }

    /// Tells whether it is that of a send or receive and owns nothing.
    #[inline]
    pub(super) fn is_bare(&self) -> bool {
        matches!(self.kind, Kind::Send { .. } | Kind::Receive)
            && self.datatype.is_none()
            && self.rare.is_none()
    }
}

/// One request. The operation comes first, so that its address is the slot's.
#[repr(C, align(64))]
pub(crate) struct Slot {
    pub operation: Operation,
    pub(super) tag: AtomicU64,
    /// Counts the rank's requests in the order in which they were begun.
    pub(super) order: AtomicU64,
    pub(super) index: u32,
    /// The handle of the communicator it belongs to, for those who look at all requests.
    pub(super) comm: AtomicUsize,
    pub(super) owner: *const Requests,
    /// Bare while the slot is free, so that it need not be dropped.
    pub(super) content: UnsafeCell<Content>,
}

// SAFETY: the content is written by the creator before the handle is known, and taken by whoever wins the
// compare-and-swap on the tag that ends the request; in between it is only read.
unsafe impl Sync for Slot {}
// SAFETY: nothing is bound to a thread.
unsafe impl Send for Slot {}

pub(super) fn tag(generation: u64, phase: u64) -> u64 {
    generation << 8 | phase
}

#[inline]
pub(super) fn phase(tag: u64) -> u64 {
    tag & 0xff
}

#[inline]
pub(super) fn is_active(tag: u64) -> bool {
    matches!(phase(tag), ACTIVE | BARE)
}

/// Returns the generation that comes after one.
#[inline]
pub(super) fn following(generation: u64) -> u64 {
    let (rank, number) = (generation >> RANK_SHIFT, generation & GENERATIONS);
    rank << RANK_SHIFT | if number + 1 == GENERATIONS { 0 } else { number + 1 }
}

impl Slot {
    /// Returns what the request is.
    #[inline]
    pub(crate) fn content(&self) -> &Content {
        // SAFETY: the caller looked the slot up by a valid handle, so the content stays until the request ends.
        unsafe { &*self.content.get() }
    }

    pub(super) fn generation(&self) -> u64 {
        self.tag.load(Ordering::Acquire) >> 8
    }

    pub(super) fn is_active(&self) -> bool {
        is_active(self.tag.load(Ordering::Acquire))
    }

    pub(super) fn is_persistent(&self) -> bool {
        let content = self.content();
        let has_recipe = content.rare.as_ref().is_some_and(|rare| rare.recipe.is_some());
        has_recipe || matches!(&content.kind, Kind::Work(work) if work.is_persistent())
    }

    pub(crate) fn handle(&self) -> abi::Request {
        abi::Request((self.generation() as usize) << 32 | (self.index as usize + FIRST))
    }

    /// Returns the slot's place among the rank's requests.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Empties the slot and gives it back. The caller won the right to do so.
    pub(super) fn release(&self) {
        // SAFETY: the caller ended the request, so nobody else looks.
        let content = unsafe { core::mem::replace(&mut *self.content.get(), Content::NOTHING) };
        self.tag.store(tag(following(self.generation()), FREE), Ordering::Release);
        // SAFETY: the table outlives its slots.
        unsafe { &*self.owner }.free_list().indices.push(self.index);
        drop(content);
    }
}

/// What to do about the error of an operation whose request the rank has freed, so that no call can return it.
static UNHEARD: OnceLock<fn(u32, Error)> = OnceLock::new();

/// Says what to do with a rank's error that no call can return. The first one to say so decides.
pub fn on_unheard_error(handler: fn(u32, Error)) {
    let _ = UNHEARD.set(handler);
}

/// Frees the request of an operation that was complete only after `MPI_Request_free`.
#[cold]
pub(crate) fn release_detached(operation: &Operation) {
    // SAFETY: only operations in slots are ever detached, and the operation is the slot's first field.
    let slot = unsafe { &*core::ptr::from_ref(operation).cast::<Slot>() };
    if matches!(slot.content().kind, Kind::Receive | Kind::Pair { .. })
        && let (_, Err(error)) = operation.received()
        && let Some(handler) = UNHEARD.get()
    {
        // SAFETY: the table outlives its slots.
        handler(unsafe { &*slot.owner }.rank, error);
    }
    // SAFETY: the table outlives its slots.
    let owner = unsafe { &*slot.owner };
    slot.release();
    let waiters = owner.waiters.lock().clone();
    waiters.into_iter().for_each(Thread::unpark);
}
