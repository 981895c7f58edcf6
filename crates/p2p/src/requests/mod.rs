//! The requests of one rank: where nonblocking and persistent operations live, and what a handle means.
//!
//! The lower half of a handle is `index + FIRST`, where `FIRST` says that it is a request's ([`handle::Kind`]); the upper half
//! is the slot's generation, whose bits from 20 on are the rank's. Slots come in chunks that double in size and are never
//! freed, so a handle is checked without a lock: find the slot, compare the generation. A freed, foreign or invented
//! handle therefore never reaches memory that is something else.
//!
//! The tag of a slot holds generation and phase in one word. Ending a request is one compare-and-swap on it, so of
//! two threads that wrongly complete one request, one gets the result and the other an error.
//!
//! Most requests are *bare*: an active send or receive that owns nothing. Their tag says so, and all there is to their end is
//! one comparison and one exchange of the tag; a call that completes many takes the lock of the free list once.
//!
//! Other chapters put their own kind of request behind the same handle as [`Work`].
//!
//! [`nonblocking`] starts the operations behind requests, `ending` frees the slots of many at once, `parts` takes handles apart.
#![allow(unsafe_code)]

pub(crate) mod nonblocking;

mod ending;
mod parts;
mod slot;
mod work;

use crate::endpoint::solo;
use crate::operation::{Buffer, Operation, received};
use crate::reports::checking::Pending;
use core::cell::UnsafeCell;
pub(crate) use ending::Ending;
pub use ending::{Completion, Ended};
pub use parts::{request_before, request_parts};
pub use slot::on_unheard_error;
use slot::{
    ABANDONED, ACTIVE, BARE, FIRST, FREE, INACTIVE, RANK_BITS, RANK_SHIFT, following, is_active, phase, tag,
};
pub(crate) use slot::{Content, Kind, Rare, Recipe, Slot, release_detached};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use weft_base::abi::{self, Status};
use weft_base::constants::*;
use weft_base::handle;
use weft_base::settings::is_checking;
use weft_base::{Error, Result};
use weft_sched::Thread;
use weft_sync::{Lock, LockGuard, Section};
pub use work::{PartitionedMessage, Work, WorkDescription};

const CHUNKS: usize = 26;
const FIRST_CHUNK: usize = 32;

/// The handle of every send that was complete when its call returned: such requests have nothing to remember.
pub const COMPLETED_SEND: abi::Request = abi::Request(0x7fff_ffff << 32 | FIRST);
/// That of every collective operation that was over for the rank when its call returned.
pub const COMPLETED_COLLECTIVE: abi::Request = abi::Request(COMPLETED_SEND.0 | 1);
const _: () = assert!(FIRST.is_multiple_of(2));

/// Tells whether a handle is that of a request with nothing to remember.
#[inline]
pub fn is_memoryless(handle: abi::Request) -> bool {
    handle.0 & !1 == COMPLETED_SEND.0
}

struct FreeList {
    indices: Vec<u32>,
    /// Slots that exist.
    length: usize,
    /// Requests created, and persistent ones started, so far.
    created: u64,
}

/// The requests of one rank.
pub struct Requests {
    rank: u32,
    chunks: [AtomicPtr<Slot>; CHUNKS],
    free: Lock<FreeList>,
    /// Threads in [`Requests::wait_for_abandoned`].
    waiters: Lock<Vec<&'static Thread>>,
    /// What checking mode knows of them.
    pub(crate) pending: Pending,
}

/// Splits an index into chunk and place: chunk k holds `FIRST_CHUNK << k` slots.
#[inline]
fn place(index: usize) -> (usize, usize) {
    let shifted = index + FIRST_CHUNK;
    let top = shifted.ilog2();
    ((top - FIRST_CHUNK.ilog2()) as usize, shifted - (1 << top))
}

impl Requests {
    pub(crate) fn new(rank: u32) -> Self {
        Self {
            rank,
            chunks: [const { AtomicPtr::new(core::ptr::null_mut()) }; CHUNKS],
            free: Lock::new(FreeList { indices: Vec::new(), length: 0, created: 0 }),
            waiters: Lock::default(),
            pending: Pending::default(),
        }
    }

    fn free_list(&self) -> LockGuard<'_, FreeList> {
        self.free_list_in(&Section::outside())
    }

    #[inline]
    fn free_list_in(&self, section: &Section<'_>) -> LockGuard<'_, FreeList> {
        // SAFETY: nobody locks it in another way.
        unsafe { solo::lock(&self.free, section) }
    }

    #[inline]
    pub(crate) fn slot(&self, index: usize) -> Option<&Slot> {
        let (chunk, offset) = place(index);
        let chunk = self.chunks.get(chunk)?.load(Ordering::Acquire);
        // SAFETY: a chunk that is there has all its slots, and stays.
        (!chunk.is_null()).then(|| unsafe { &*chunk.add(offset) })
    }

    #[cold]
    fn bad_handle(&self, handle: abi::Request) -> Error {
        // What is not among the live requests is of another rank or was completed, freed or never there; a slot's
        // generations are too few to tell the latter apart for ever.
        let (low, upper) = (handle.0 & 0xffff_ffff, (handle.0 >> 32) as u64);
        let is_request = (FIRST..FIRST + (1 << 24)).contains(&low) && handle.0 >> 63 == 0;
        let mine = self.first_generation() >> RANK_SHIFT;
        match upper >> RANK_SHIFT {
            rank if is_request && rank != mine => Error::handle(
                handle::Kind::Request,
                handle.0,
                format!(
                    "is {:#x}, a request of rank {rank}; only the rank that made it can use it",
                    handle.0
                ),
            ),
            _ if is_request => Error::handle(
                handle::Kind::Request,
                handle.0,
                format!("is {:#x}, a request that was completed or freed already", handle.0),
            ),
            _ => handle::Kind::Request.refuse(handle.0, self.rank, false),
        }
    }

    fn first_generation(&self) -> u64 {
        u64::from(self.rank & ((1 << RANK_BITS) - 1)) << RANK_SHIFT
    }

    #[cold]
    fn grow(&self, free: &mut FreeList) {
        let (chunk, offset) = place(free.length);
        assert!(offset == 0 && chunk < CHUNKS, "more than two thousand million requests");
        let size = FIRST_CHUNK << chunk;
        let slots: Box<[Slot]> = (0..size)
            .map(|i| Slot {
                // SAFETY: no bytes at no address.
                operation: Operation::new(unsafe { Buffer::dense(core::ptr::null_mut(), 0) }),
                tag: AtomicU64::new(tag(self.first_generation(), FREE)),
                order: AtomicU64::new(0),
                index: (free.length + i) as u32,
                comm: AtomicUsize::new(0),
                owner: self,
                content: UnsafeCell::new(Content::NOTHING),
            })
            .collect();
        self.chunks[chunk].store(Box::into_raw(slots).cast(), Ordering::Release);
        free.indices.extend((free.length..free.length + size).rev().map(|i| i as u32));
        free.length += size;
    }

    /// Takes a slot that is free, and notes its communicator.
    #[inline(always)]
    fn take_free(&self, comm: abi::Comm) -> &Slot {
        let section = solo::enter();
        let mut free = self.free_list_in(&section);
        if free.indices.is_empty() {
            self.grow(&mut free);
        }
        free.created += 1;
        let (index, order) = (free.indices.pop().expect("just grown"), free.created);
        drop(free);
        drop(section);
        let slot = self.slot(index as usize).expect("an index of the free list");
        slot.order.store(order, Ordering::Relaxed);
        slot.comm.store(comm.0, Ordering::Relaxed);
        debug_assert!(slot.content().is_bare(), "a free slot that owns something");
        slot
    }

    /// As [`Requests::create`], for an active send or receive that owns nothing, in a program that is not checked. Inlined,
    /// and word by word: what is put together in memory and then copied waits for itself.
    #[inline(always)]
    pub(crate) fn create_bare(&self, kind: Kind, comm: abi::Comm, buffer: Buffer) -> &Slot {
        let slot = self.take_free(comm);
        // SAFETY: the slot is free and ours alone, and what it holds is bare, as what is put there.
        unsafe {
            let content = slot.content.get();
            (&raw mut (*content).kind).write(kind);
            (*content).comm = comm;
        }
        slot.operation.reset(buffer);
        slot.tag.store(tag(slot.generation(), BARE), Ordering::Release);
        slot
    }

    /// Makes a request; its operation is reset, and nobody knows its handle yet.
    ///
    /// The buffer's datatype is the content's if there is one.
    pub(crate) fn create(&self, content: Content, mut buffer: Buffer, active: bool) -> &Slot {
        let slot = self.take_free(content.comm);
        // SAFETY: the slot is free and ours alone; what is overwritten is bare.
        let content = unsafe {
            slot.content.get().write(content);
            &mut *slot.content.get()
        };
        if let Some(datatype) = &content.datatype {
            buffer.datatype = datatype;
        }
        if let Some(rare) = &mut content.rare
            && let Some((_, kept)) = &mut rare.recipe
        {
            *kept = buffer;
        }
        slot.operation.reset(buffer);
        if is_checking() {
            self.pending.add(slot.index);
            if active {
                self.note_begin(slot, buffer);
            }
        }
        let phase = match active {
            true if content.is_bare() && !is_checking() => BARE,
            true => ACTIVE,
            false => INACTIVE,
        };
        slot.tag.store(tag(slot.generation(), phase), Ordering::Release);
        slot
    }

    /// Tells checking mode that a request's operation begins.
    #[cold]
    pub(crate) fn note_begin(&self, slot: &Slot, buffer: Buffer) {
        let writes = !matches!(slot.content().kind, Kind::Send { .. });
        self.pending.begin(self.rank, slot.index, buffer, writes);
    }

    /// Tells checking mode that a request's operation has ended.
    #[cold]
    fn note_end(&self, slot: &Slot, forget: bool) {
        if let Kind::Pair { send } = slot.content().kind {
            self.pending.end(self.rank, send, forget);
        }
        self.pending.end(self.rank, slot.index, forget);
    }

    /// Puts other chapters' work behind a request handle; `active` is false for a persistent request.
    pub fn create_work(&self, work: Arc<dyn Work>, comm: abi::Comm, active: bool) -> abi::Request {
        // SAFETY: no bytes at no address.
        let buffer = unsafe { Buffer::dense(core::ptr::null_mut(), 0) };
        self.create(Content::new(Kind::Work(work), comm, None), buffer, active).handle()
    }

    /// Returns the slot at a handle's index, whatever its generation.
    #[inline]
    fn found(&self, handle: abi::Request) -> Option<&Slot> {
        let index = (handle.0 & 0xffff_ffff).checked_sub(FIRST)?;
        self.slot(index)
    }

    /// Returns the upper half of the handle at an index, whatever became of its request; nothing where there is no slot.
    pub fn upper(&self, index: usize) -> Option<u32> {
        self.slot(index).map(|slot| slot.generation() as u32)
    }

    /// Finds a request.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    #[inline]
    pub(crate) fn find(&self, handle: abi::Request) -> Result<&Slot> {
        if let Some(slot) = self.found(handle) {
            let now = slot.tag.load(Ordering::Acquire);
            if now >> 8 == (handle.0 >> 32) as u64 && (is_active(now) || phase(now) == INACTIVE) {
                return Ok(slot);
            }
        }
        Err(self.bad_handle(handle))
    }

    /// Finds an active send or receive that owns nothing.
    #[inline]
    pub(crate) fn find_bare(&self, handle: abi::Request) -> Option<&Slot> {
        let slot = self.found(handle)?;
        (slot.tag.load(Ordering::Acquire) == tag((handle.0 >> 32) as u64, BARE)).then_some(slot)
    }

    /// Finds a request that is active; nothing if it is null, inactive or has nothing to remember.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    #[inline]
    pub(crate) fn find_active(&self, handle: abi::Request) -> Result<Option<&Slot>> {
        if handle == MPI_REQUEST_NULL || is_memoryless(handle) {
            return Ok(None);
        }
        let slot = self.find(handle)?;
        Ok(slot.is_active().then_some(slot))
    }

    /// Returns the work behind the handle of a request that is active, or was when the program freed it: copies of
    /// such a handle stay valid until the work is complete.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    pub fn unfinished_work(&self, handle: abi::Request) -> Result<Option<Arc<dyn Work>>> {
        if let Some(slot) = self.found(handle)
            && slot.tag.load(Ordering::Acquire) == tag((handle.0 >> 32) as u64, ABANDONED)
        {
            return Ok(match &slot.content().kind {
                Kind::Work(work) => Some(work.clone()),
                _ => None,
            });
        }
        self.work(handle)
    }

    /// Gives back the request of work that is complete and was abandoned before.
    pub fn release_abandoned(&self, handle: abi::Request) {
        solo::meet();
        if let Some(slot) = self.found(handle) {
            let generation = (handle.0 >> 32) as u64;
            let (from, to) = (tag(generation, ABANDONED), tag(generation, FREE));
            if slot.tag.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                slot.release();
            }
        }
    }

    /// Returns the work behind a handle, if it is other chapters' work.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    pub fn work(&self, handle: abi::Request) -> Result<Option<Arc<dyn Work>>> {
        if is_memoryless(handle) {
            return Ok(None);
        }
        Ok(match &self.find(handle)?.content().kind {
            Kind::Work(work) => Some(work.clone()),
            _ => None,
        })
    }

    /// Returns the communicator a request belongs to.
    pub fn comm(&self, handle: abi::Request) -> Option<abi::Comm> {
        self.find(handle).ok().map(|slot| slot.content().comm)
    }

    /// Tells whether there is something to complete: false for null and for inactive persistent requests.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    pub fn is_active(&self, handle: abi::Request) -> Result<bool> {
        match handle {
            MPI_REQUEST_NULL => Ok(false),
            _ if is_memoryless(handle) => Ok(true),
            _ => Ok(self.find(handle)?.is_active()),
        }
    }

    /// Returns a number that is smaller for a request that was begun earlier.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    pub fn order(&self, handle: abi::Request) -> Result<u64> {
        if is_memoryless(handle) { Ok(0) } else { Ok(self.find(handle)?.order.load(Ordering::Relaxed)) }
    }

    /// Calls `f` for every operation a request waits for.
    pub(crate) fn operations<'a>(&'a self, slot: &'a Slot, mut f: impl FnMut(&'a Operation)) {
        match slot.content().kind {
            Kind::Work(_) => {}
            Kind::Pair { send } => {
                f(&slot.operation);
                f(&self.slot(send as usize).expect("the pair's send").operation);
            }
            Kind::Send { .. } | Kind::Receive => f(&slot.operation),
        }
    }

    /// Tells whether an active request is complete, after doing what can be done for it.
    pub(crate) fn is_complete(&self, slot: &Slot, waiter: Option<&'static Thread>) -> bool {
        if let Kind::Work(work) = &slot.content().kind {
            return work.advance(waiter);
        }
        let mut complete = true;
        self.operations(slot, |operation| complete &= operation.is_done());
        complete
    }

    /// Returns how a complete request ended, and leaves it. Errors of messages are for the call that ends the request.
    pub(crate) fn inquire(&self, slot: &Slot) -> Completion {
        let completion = Self::completion(slot, Self::outcome(slot), slot.handle());
        let asked = matches!(slot.content().kind, Kind::Work(_)) && !slot.is_persistent();
        Completion { error: completion.error.filter(|_| asked), ..completion }
    }

    #[inline(always)]
    fn outcome(slot: &Slot) -> (Status, Result) {
        match &slot.content().kind {
            Kind::Work(work) => work.status(),
            Kind::Send { .. } => {
                let mut status = Status::empty();
                let outcome = slot.operation.outcome();
                status.set_cancelled(outcome.is_cancelled());
                (status, outcome.sent())
            }
            Kind::Receive | Kind::Pair { .. } => {
                received(&slot.operation.outcome(), slot.operation.buffer().bytes)
            }
        }
    }

    #[inline(always)]
    fn completion(slot: &Slot, ended: (Status, Result), handle: abi::Request) -> Completion {
        let (mut status, result) = ended;
        let error = result.err();
        status.error = error.as_ref().map_or(MPI_SUCCESS, |e| e.class);
        Completion { status, error, comm: slot.content().comm, handle, is_empty: false }
    }

    /// Begins to end requests of a call that completes several.
    #[inline]
    pub(crate) fn ending(&self) -> Ending<'_> {
        Ending::new(self)
    }

    /// Ends a complete request: frees it, or makes it inactive if it is persistent.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` if another thread was faster.
    pub(crate) fn end(&self, slot: &Slot, handle: abi::Request) -> Result<Completion> {
        solo::meet();
        let generation = (handle.0 >> 32) as u64;
        let now = slot.tag.load(Ordering::Acquire);
        let from = if phase(now) == BARE { tag(generation, BARE) } else { tag(generation, ACTIVE) };
        if slot.is_persistent() {
            let completion = Self::completion(slot, Self::outcome(slot), handle);
            let to = tag(generation, INACTIVE);
            slot.tag
                .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
                .map_err(|_| self.bad_handle(handle))?;
            if is_checking() {
                self.note_end(slot, false);
            }
            return Ok(completion);
        }
        // The generation moves on at once; the phase becomes free, so no handle finds the slot.
        slot.tag
            .compare_exchange(from, tag(generation, FREE), Ordering::AcqRel, Ordering::Relaxed)
            .map_err(|_| self.bad_handle(handle))?;
        if is_checking() {
            self.note_end(slot, true);
        }
        let ended = match &slot.content().kind {
            Kind::Work(work) => work.finish(),
            _ => Self::outcome(slot),
        };
        let completion = Self::completion(slot, ended, MPI_REQUEST_NULL);
        self.release_partner(slot);
        slot.release();
        Ok(completion)
    }

    fn release_partner(&self, slot: &Slot) {
        if let Kind::Pair { send } = slot.content().kind {
            self.slot(send as usize).expect("the pair's send").release();
        }
    }

    /// Frees a request whose operation may go on (`MPI_Request_free`).
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    pub fn free(&self, handle: abi::Request) -> Result {
        solo::meet();
        match handle {
            COMPLETED_SEND => return Ok(()),
            COMPLETED_COLLECTIVE => return Err(still_active(handle)),
            _ => {}
        }
        if handle == MPI_REQUEST_NULL {
            return Err(Error::handle(
                handle::Kind::Request,
                handle.0,
                "is MPI_REQUEST_NULL; there is nothing to free",
            ));
        }
        let slot = self.find(handle)?;
        let generation = (handle.0 >> 32) as u64;
        let now = slot.tag.load(Ordering::Acquire);
        let in_progress = is_active(now);
        if let (Kind::Work(work), true) = (&slot.content().kind, in_progress)
            && !work.is_freed_active()
        {
            return Err(still_active(handle));
        }
        let phase = if in_progress { ABANDONED } else { FREE };
        slot.tag
            .compare_exchange(now, tag(generation, phase), Ordering::AcqRel, Ordering::Relaxed)
            .map_err(|_| self.bad_handle(handle))?;
        if is_checking() {
            if let Kind::Pair { send } = slot.content().kind {
                self.pending.free(send);
            }
            self.pending.free(slot.index);
        }
        match &slot.content().kind {
            Kind::Work(work) => {
                if in_progress && !work.abandon() {
                    return Ok(());
                }
                let result = work.discard();
                slot.release();
                return result;
            }
            Kind::Pair { send } => {
                let send = self.slot(*send as usize).expect("the pair's send");
                for part in [send, slot] {
                    if !part.operation.detach() {
                        part.release();
                    }
                }
            }
            Kind::Send { .. } | Kind::Receive => {
                if !in_progress || !slot.operation.detach() {
                    slot.release();
                }
            }
        }
        Ok(())
    }

    /// Makes an inactive persistent request active and returns what it does.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` if it is active already or not persistent.
    pub(crate) fn activate(&self, handle: abi::Request) -> Result<&Slot> {
        solo::meet();
        if handle == MPI_REQUEST_NULL || is_memoryless(handle) {
            return Err(not_startable(handle, "it is not a persistent request"));
        }
        let slot = self.find(handle)?;
        if !slot.is_persistent() {
            return Err(not_startable(handle, "it is not a persistent request"));
        }
        let generation = (handle.0 >> 32) as u64;
        slot.tag
            .compare_exchange(
                tag(generation, INACTIVE),
                tag(generation, ACTIVE),
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .map_err(|_| not_startable(handle, "it is active; complete it first"))?;
        // What is started now is posted now.
        let mut free = self.free_list();
        free.created += 1;
        slot.order.store(free.created, Ordering::Relaxed);
        Ok(slot)
    }

    /// Makes a request inactive again whose start failed.
    pub(crate) fn deactivate(&self, slot: &Slot) {
        if is_checking() {
            self.note_end(slot, false);
        }
        slot.tag.store(tag(slot.generation(), INACTIVE), Ordering::Release);
    }

    /// Returns the requests of a communicator, active or not.
    fn on(&self, comm: abi::Comm) -> impl Iterator<Item = &Slot> {
        let length = if self.live() == 0 { 0 } else { self.free_list().length };
        (0..length).filter_map(|index| self.slot(index)).filter(move |slot| {
            phase(slot.tag.load(Ordering::Acquire)) != FREE && slot.comm.load(Ordering::Relaxed) == comm.0
        })
    }

    /// Tells whether a request refers to a communicator.
    pub fn is_used(&self, comm: abi::Comm) -> bool {
        self.on(comm).next().is_some()
    }

    /// Returns the active requests of a communicator.
    pub fn active_on(&self, comm: abi::Comm) -> Vec<abi::Request> {
        self.on(comm).filter(|slot| slot.is_active()).map(Slot::handle).collect()
    }

    fn has_abandoned(&self, comm: abi::Comm) -> bool {
        self.on(comm).any(|slot| phase(slot.tag.load(Ordering::Acquire)) == ABANDONED)
    }

    /// Waits until what the program has begun on a communicator and freed the requests of is complete.
    pub fn wait_for_abandoned(&self, comm: abi::Comm) {
        if !self.has_abandoned(comm) {
            return;
        }
        let me = weft_sched::current();
        self.waiters.lock().push(me);
        weft_sched::wait_until(|| !self.has_abandoned(comm));
        let mut waiters = self.waiters.lock();
        let mine = waiters.iter().position(|thread| core::ptr::eq(*thread, me));
        waiters.swap_remove(mine.expect("pushed above"));
    }

    /// Returns the number of requests that are alive.
    pub fn live(&self) -> usize {
        let free = self.free_list();
        free.length - free.indices.len()
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        for (k, chunk) in self.chunks.iter().enumerate() {
            let chunk = chunk.load(Ordering::Relaxed);
            if !chunk.is_null() {
                let slots = core::ptr::slice_from_raw_parts_mut(chunk, FIRST_CHUNK << k);
                // SAFETY: made by `grow` from a box of that many slots.
                drop(unsafe { Box::from_raw(slots) });
            }
        }
    }
}

#[cold]
fn still_active(handle: abi::Request) -> Error {
    let text = format!(
        "is {:#x}, which is active; only point-to-point and generalized requests may be freed before they are complete",
        handle.0
    );
    Error::handle(handle::Kind::Request, handle.0, text)
}

#[cold]
fn not_startable(handle: abi::Request, why: &str) -> Error {
    let what = handle::name(handle.0).map_or_else(|| format!("{:#x}", handle.0), |(name, _)| name.into());
    Error::handle(handle::Kind::Request, handle.0, format!("is {what}, which cannot be started: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_each_other() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            assert_eq!(place(index), expected);
            expected.1 += 1;
            if expected.1 == FIRST_CHUNK << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }

    #[test]
    fn bad_handles_are_refused() {
        let requests = Requests::new(3);
        for bad in
            [0, 1, 0x180, FIRST, FIRST + 31, FIRST + 1_000_000, usize::MAX, 1 << 32 | FIRST, 3 << 52 | FIRST]
        {
            let error = requests.find(abi::Request(bad)).err().expect("no request was made");
            assert_eq!(error.class, MPI_ERR_REQUEST);
        }
    }
}
