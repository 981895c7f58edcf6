//! Ending requests: what calls that end many do with those that own nothing.

use super::{BARE, FREE, FreeList, Kind, Requests, Slot, following, tag};
use crate::endpoint::solo;
use crate::operation::Outcome;
use std::sync::atomic::Ordering;
use weft_base::Error;
use weft_base::abi::{self, Status};
use weft_base::constants::*;
use weft_sync::{LockGuard, Section};

/// How a request ended.
pub struct Completion {
    /// The status, whose error field is valid.
    pub status: Status,
    /// The error of the operation.
    pub error: Option<Error>,
    /// The communicator whose error handler an error goes to.
    pub comm: abi::Comm,
    /// What the handle is from now on: `MPI_REQUEST_NULL`, or the same for a persistent request.
    pub handle: abi::Request,
    /// Whether the request was null or inactive, so that the status is the empty one.
    pub is_empty: bool,
}

impl Completion {
    /// Returns the completion of a null or inactive request.
    pub fn empty(handle: abi::Request) -> Self {
        Self { status: Status::empty(), error: None, comm: MPI_COMM_NULL, handle, is_empty: true }
    }

    /// Returns the completion of a request with nothing to remember.
    pub(crate) fn at_once(handle: abi::Request) -> Self {
        Self { is_empty: false, ..Self::empty(handle) }
    }
}

/// How a request ended, for calls that end many.
pub enum Ended {
    /// A send or receive that went well; its handle is null from now on.
    Well {
        /// The sender of what was received, or none.
        source: i32,
        /// Its tag, or none.
        tag: i32,
        /// The length of what was received.
        bytes: u64,
    },
    /// Any other.
    Otherwise(Completion),
}

/// Ends requests, one after the other, and takes the lock of the free list once for many.
pub(crate) struct Ending<'a> {
    requests: &'a Requests,
    /// The free list, and the section in which its lock was taken.
    held: Option<(LockGuard<'a, FreeList>, Section<'a>)>,
}

impl<'a> Ending<'a> {
    pub(super) fn new(requests: &'a Requests) -> Self {
        Self { requests, held: None }
    }

    /// Ends a request, if it is a send or receive that owns nothing and is complete; else nothing has happened.
    #[inline(always)]
    pub(crate) fn end_bare(&mut self, handle: abi::Request) -> Option<Ended> {
        let slot = self.requests.find_bare(handle).filter(|slot| slot.operation.is_done())?;
        let generation = (handle.0 >> 32) as u64;
        let (from, to) = (tag(generation, BARE), tag(following(generation), FREE));
        let requests = self.requests;
        let (free, section) = self.held.get_or_insert_with(|| {
            let section = solo::enter();
            (requests.free_list_in(&section), section)
        });
        if !section.is_inside() {
            slot.tag.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        } else if slot.tag.load(Ordering::Acquire) == from {
            // Others end requests after they met.
            slot.tag.store(to, Ordering::Release);
        } else {
            return None;
        }
        // Nobody takes the slot before this is over.
        free.indices.push(slot.index);
        // In registers: what is put together in memory and then copied waits for itself.
        let outcome = slot.operation.outcome();
        match slot.content().kind {
            Kind::Receive if let Some(bytes) = outcome.fits(slot.operation.capacity()) => {
                Some(Ended::Well { source: outcome.source(), tag: outcome.tag(), bytes })
            }
            Kind::Send { .. } if outcome == Outcome::SENT => {
                Some(Ended::Well { source: MPI_ANY_SOURCE, tag: MPI_ANY_TAG, bytes: 0 })
            }
            _ => Some(Self::ended_otherwise(slot)),
        }
    }

    #[cold]
    fn ended_otherwise(slot: &Slot) -> Ended {
        Ended::Otherwise(Requests::completion(slot, Requests::outcome(slot), MPI_REQUEST_NULL))
    }

    /// Lets go of the free list, before anything is done that may need it.
    #[inline]
    pub(crate) fn pause(&mut self) {
        self.held = None;
    }
}
