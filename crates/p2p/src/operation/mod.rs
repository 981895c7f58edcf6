//! One send or receive in progress, as both sides see it.
//!
//! # Who may touch what
//! An [`Operation`] lives in its owner's stack frame (blocking calls) or in a request slot. Its owner fills it in,
//! then hands its address to matching, under the lock of the endpoint that matches. Whoever takes the address out
//! of matching (the peer, a thread of the owner's rank that drains a ring, or the owner that cancels) owns all of
//! it but the word, until [`Operation::complete`]. So there are never two parties writing one field.
//!
//! The word ([`word`]) says whether it is complete and who waits. An operation that is owed to a thread may be
//! completed by that thread itself (it drains a ring); then nothing is owed, and [`Operation::is_settled`] tells.
#![allow(unsafe_code)]

pub(crate) mod word;

use crate::endpoint::solo;
use crate::matching::Position;
use crate::operation::word::{Completed, Registered, Word};
use crate::transfer::Transfer;
use core::cell::UnsafeCell;
use weft_base::abi::Status;
use weft_base::constants::MPI_ERR_TRUNCATE;
use weft_base::settings::{SHARE_FROM, is_checking};
use weft_base::site::{self, Site};
use weft_base::{Error, Result};
use weft_datatype::Datatype;
use weft_sched::Thread;
use weft_sync::Section;
use weft_sync::invitation::End;

/// A user's buffer: an address, a number of elements, and their type.
#[derive(Clone, Copy)]
pub struct Buffer {
    /// The address; reading or writing there is what the creator of the value promised to be sound.
    pub(crate) address: *mut u8,
    pub(crate) count: u64,
    /// Null only if the buffer is dense, which never looks at it.
    pub(crate) datatype: *const Datatype,
    /// The number of data bytes: count × size.
    pub(crate) bytes: u64,
    /// Whether the data bytes are one block that starts at the address.
    pub(crate) dense: bool,
}

impl Buffer {
    /// Describes a buffer.
    ///
    /// # Safety
    /// Until the operation it is used for is complete, `datatype` lives, and the memory of `count` elements at
    /// `address` may be read (for sends) or written (for receives).
    #[inline]
    pub unsafe fn new(address: *mut u8, count: u64, datatype: &Datatype) -> Self {
        let bytes = count.wrapping_mul(datatype.size());
        if !datatype.is_dense()
            && let Some(offset) = datatype.one_block(count)
        {
            let address = address.wrapping_offset(offset as isize);
            return Self { address, count, bytes, dense: true, datatype: core::ptr::from_ref(datatype) };
        }
        Self { address, count, bytes, dense: datatype.is_dense(), datatype: core::ptr::from_ref(datatype) }
    }

    /// Describes bytes that lie together.
    ///
    /// # Safety
    /// As [`Buffer::new`].
    #[inline]
    pub unsafe fn dense(address: *mut u8, bytes: u64) -> Self {
        Self { address, count: bytes, datatype: core::ptr::null(), bytes, dense: true }
    }

    /// Says which data the bytes were packed from, for checking mode. `datatype` must live as long as the operation.
    #[must_use]
    pub fn copy_of(self, count: u64, datatype: &Datatype) -> Self {
        Self { count, datatype: core::ptr::from_ref(datatype), ..self }
    }

    /// Returns the datatype, kept alive.
    pub(crate) fn kept_datatype(&self) -> Option<Box<Datatype>> {
        // SAFETY: null, or a datatype that lives as long as the operation of the buffer is in progress.
        unsafe { self.datatype.as_ref() }.map(|datatype| Box::new(datatype.clone()))
    }

    /// Returns the number of data bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Copies the data into `out`, without gaps.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`] for sends; `out` has room for [`Buffer::bytes`] bytes.
    #[inline]
    pub(crate) unsafe fn pack_into(&self, out: *mut u8) {
        if self.dense {
            // SAFETY: one block of `bytes` bytes, by the caller's promise.
            unsafe { weft_sys::copy::bytes(self.address, out, self.bytes as usize) }
        } else {
            // SAFETY: as promised; the datatype lives.
            unsafe { weft_datatype::pack(self.address, self.count, &*self.datatype, 0, out, self.bytes) };
        }
    }

    /// Stores data that lies without gaps; what does not fit is dropped.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`] for receives; `input` holds `bytes` bytes.
    #[inline(always)]
    pub(crate) unsafe fn unpack_from(&self, input: *const u8, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        if self.dense {
            // The most frequent length, without a call to memcpy.
            if bytes == 8 {
                // SAFETY: the caller promises `bytes` bytes on both sides; the accesses need no alignment.
                unsafe { self.address.cast::<u64>().write_unaligned(input.cast::<u64>().read_unaligned()) };
                return;
            }
            // SAFETY: one block with room for `bytes` bytes, by the caller's promise.
            unsafe { weft_sys::copy::bytes(input, self.address, bytes as usize) }
        } else {
            // SAFETY: as promised; the datatype lives.
            unsafe { weft_datatype::unpack(self.address, self.count, &*self.datatype, 0, input, bytes) };
        }
    }

    /// Passes the data, without gaps, to `use_it`.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`] for sends.
    pub(crate) unsafe fn with_packed<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> R {
        const SHORT: usize = 1024;
        let length = self.bytes as usize;
        // SAFETY: a dense buffer's data is one block; the space has room for the others'.
        unsafe {
            if length == 0 || self.dense {
                use_it(self.in_place())
            } else if length <= SHORT {
                let mut space = [0; SHORT];
                self.pack_into(space.as_mut_ptr());
                use_it(&space[..length])
            } else {
                let mut space = vec![0; length];
                self.pack_into(space.as_mut_ptr());
                use_it(&space)
            }
        }
    }

    /// Returns the data of a dense buffer.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`] for sends, for as long as it is used.
    pub(crate) unsafe fn in_place<'a>(&self) -> &'a [u8] {
        match self.bytes {
            0 => &[],
            // SAFETY: one block of so many bytes, by the caller's promise.
            bytes => unsafe { core::slice::from_raw_parts(self.address, bytes as usize) },
        }
    }

    /// Copies bytes `skip..skip + length` of the data into `out`, without gaps.
    ///
    /// # Safety
    /// As [`Buffer::pack_into`]; so much data is there, and room for it.
    pub(crate) unsafe fn pack_part(&self, skip: u64, out: *mut u8, length: u64) {
        // SAFETY: the caller's promise; a type that is not dense is not null.
        unsafe {
            if self.dense {
                weft_sys::copy::bytes(self.address.add(skip as usize), out, length as usize);
            } else {
                weft_datatype::pack(self.address, self.count, &*self.datatype, skip, out, length);
            }
        }
    }

    /// Stores bytes `skip..skip + length` of the data, which lie at `input` without gaps.
    ///
    /// # Safety
    /// As [`Buffer::unpack_from`]; there is room for so much data.
    pub(crate) unsafe fn unpack_part(&self, skip: u64, input: *const u8, length: u64) {
        // SAFETY: the caller's promise; a type that is not dense is not null.
        unsafe {
            if self.dense {
                weft_sys::copy::bytes(input, self.address.add(skip as usize), length as usize);
            } else {
                weft_datatype::unpack(self.address, self.count, &*self.datatype, skip, input, length);
            }
        }
    }

    /// Tells whether parts of the data can be copied to a target by themselves: one side is a block, or both have the
    /// same layout.
    pub(crate) fn is_divisible(&self, target: &Buffer) -> bool {
        // SAFETY: as promised; both datatypes live, and one that is not dense is not null.
        self.dense || target.dense || unsafe { weft_datatype::alike(&*self.datatype, &*target.datatype) }
    }

    /// Copies bytes `skip..skip + length` of the data to a target for which [`Buffer::is_divisible`] holds and which has
    /// room for them.
    ///
    /// # Safety
    /// The promises of [`Buffer::new`] for both.
    pub(crate) unsafe fn copy_part_to(&self, target: &Buffer, skip: u64, length: u64) {
        let (source, place) =
            (self.address.wrapping_add(skip as usize), target.address.wrapping_add(skip as usize));
        // SAFETY: as promised; the datatypes live, and one that is not dense is not null.
        unsafe {
            match (self.dense, target.dense) {
                (true, true) => weft_sys::copy::bytes(source, place, length as usize),
                (true, false) => {
                    let (address, count) = (target.address, target.count);
                    weft_datatype::unpack(address, count, &*target.datatype, skip, source, length);
                }
                (false, true) => {
                    weft_datatype::pack(self.address, self.count, &*self.datatype, skip, place, length);
                }
                (false, false) => {
                    weft_datatype::copy_part(self.address, target.address, &*target.datatype, skip, length);
                }
            }
        }
    }

    /// Copies from one user's buffer to another's; what does not fit is dropped.
    ///
    /// # Safety
    /// The promises of [`Buffer::new`] for both.
    pub(crate) unsafe fn copy_to(&self, target: &Buffer) {
        if self.dense {
            // SAFETY: the data is one block.
            unsafe { target.unpack_from(self.address, self.bytes) }
        } else if target.dense {
            let bytes = self.bytes.min(target.bytes);
            // SAFETY: the target is one block with room for so much; a type that is not dense is not null.
            unsafe {
                weft_datatype::pack(self.address, self.count, &*self.datatype, 0, target.address, bytes)
            };
        } else {
            // SAFETY: as promised; both datatypes live.
            unsafe {
                weft_datatype::copy(
                    self.address,
                    self.count,
                    &*self.datatype,
                    target.address,
                    target.count,
                    &*target.datatype,
                )
            };
        }
    }
}

/// What became of an operation: two words, so that it is written, read and handed on as such. One core that writes it in pieces
/// and reads it as a whole soon after waits for the pieces to reach its cache.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Source and tag.
    from: u64,
    /// The length of the message, which may be more than the buffer holds; with `CANCELLED` or `FAILED`.
    length: u64,
}

/// The operation was cancelled.
const CANCELLED: u64 = 1 << 63;
/// It ended because a node process was lost.
const FAILED: u64 = 1 << 62;

impl Outcome {
    /// That of a send.
    pub const SENT: Self = Self { from: 0, length: 0 };

    /// That of a receive.
    #[inline]
    pub const fn received(source: i32, tag: i32, bytes: u64) -> Self {
        debug_assert!(bytes < FAILED);
        Self { from: source as u32 as u64 | (tag as u32 as u64) << 32, length: bytes }
    }

    /// That of a cancelled operation.
    pub const fn cancelled(source: i32, tag: i32) -> Self {
        Self { length: CANCELLED, ..Self::received(source, tag, 0) }
    }

    /// That of an operation whose node process is lost.
    pub const fn failed(source: i32, tag: i32) -> Self {
        Self { length: FAILED, ..Self::received(source, tag, 0) }
    }

    /// Returns the sender's rank in the communicator.
    #[inline]
    pub fn source(&self) -> i32 {
        self.from as u32 as i32
    }

    /// Returns the message's tag.
    #[inline]
    pub fn tag(&self) -> i32 {
        (self.from >> 32) as u32 as i32
    }

    /// Returns the length of the message.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.length & !(CANCELLED | FAILED)
    }

    /// Tells whether the operation was cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.length & CANCELLED != 0
    }

    /// Tells whether it ended because a node process was lost.
    #[inline]
    pub fn is_failed(&self) -> bool {
        self.length & FAILED != 0
    }

    /// Returns the length of a message that went whole into a buffer of `capacity` bytes.
    #[inline]
    pub(crate) fn fits(&self, capacity: u64) -> Option<u64> {
        // What ended otherwise has a length that no buffer has.
        (self.length <= capacity.min(FAILED - 1)).then_some(self.length)
    }

    /// Returns the result of a send.
    pub fn sent(&self) -> Result {
        if self.is_failed() { Err(crate::remote::lost()) } else { Ok(()) }
    }
}

/// A send or receive in progress; see the module's page.
#[repr(C, align(64))]
pub struct Operation {
    /// The word, the transfer's, and the buffer share a cache line: who waits for one word sees the other, and who
    /// copies gets all it needs at once.
    word: Word,
    buffer: UnsafeCell<Buffer>,
    transfer: Transfer,
    fields: UnsafeCell<Fields>,
}

struct Fields {
    /// Where a receive is posted, or a send's descriptor waits; written under the lock of that endpoint.
    position: Option<Position>,
    outcome: Outcome,
    /// Whether the thread the word named completed the operation itself.
    settled: bool,
    /// The call that put it into matching; only in checking mode.
    site: Option<&'static Site>,
}

// SAFETY: the word is atomic, and the protocol of the module's page gives every other field one owner at a time.
unsafe impl Sync for Operation {}
// SAFETY: no field is bound to the thread that has made the operation.
unsafe impl Send for Operation {}

impl Operation {
    /// Creates an operation that nobody else knows yet.
    #[inline]
    pub fn new(buffer: Buffer) -> Self {
        Self::with_word(buffer, Word::pending())
    }

    #[inline]
    fn with_word(buffer: Buffer, word: Word) -> Self {
        let outcome = Outcome::SENT;
        Self {
            word,
            buffer: UnsafeCell::new(buffer),
            transfer: Transfer::new(),
            fields: UnsafeCell::new(Fields { position: None, outcome, settled: false, site: None }),
        }
    }

    /// Creates an operation whose completer owes `waiter` a [`Thread::resume`]; see the page of `word`.
    #[inline]
    pub fn owed_to(buffer: Buffer, waiter: &'static Thread) -> Self {
        Self::with_word(buffer, Word::owed_to(core::ptr::from_ref(waiter) as usize))
    }

    /// Creates the operation of a send that is offered in a ring; see the page of `offer`.
    #[inline]
    pub(crate) fn offered(buffer: Buffer) -> Self {
        Self::with_word(buffer, Word::offered())
    }

    /// Tells whether the operation is still offered in a ring, or whoever took it from there is at work.
    pub(crate) fn is_offered(&self) -> bool {
        self.word.is_offered()
    }

    /// Makes an offer an operation that may be in matching. For whoever took it from the ring, under the endpoint's lock.
    pub(crate) fn withdraw_offer(&self) {
        self.word.withdraw_offer();
    }

    /// Completes an offer whose data is copied. Its memory may be gone when this returns. A plain store, which the
    /// receiver does not wait for: nobody else changes the word, and its sender, who looks at it, is not to be woken.
    #[inline]
    pub(crate) fn complete_offer(&self) {
        debug_assert!(self.word.is_with_taker());
        self.word.set_done();
    }

    /// Invites the sender of an offer to copy `part` of it to the buffer at `target`. Returns false if that cannot be.
    #[inline]
    pub(crate) fn invite(&self, target: *mut u8, part: u32) -> bool {
        debug_assert!(self.is_offered());
        self.word.invite(target, part)
    }

    /// Accepts the receiver's invitation, if there is one: its buffer and the part to copy. The sender then copies the
    /// tail and calls [`Operation::note_help`].
    #[inline]
    pub(crate) fn accept(&self) -> Option<(*mut u8, u32)> {
        self.word.accept()
    }

    /// Tells the receiver that the tail is copied.
    #[inline]
    pub(crate) fn note_help(&self) {
        self.word.note_help();
    }

    /// Fetches the word early. For the receiver, before it asks for the tail.
    #[inline]
    pub(crate) fn prefetch(&self) {
        weft_sync::prefetch::for_reading(&self.word);
    }

    /// Tells the receiver what became of the tail: if the sender has not begun, it is the receiver's; if it has, this
    /// waits for the end.
    #[inline]
    pub(crate) fn end_invitation(&self) -> End {
        self.word.end_invitation()
    }

    /// Tells the thread the operation was made for whether it completed the operation itself, so that nobody owes it
    /// anything.
    pub(crate) fn is_settled(&self) -> bool {
        // SAFETY: written only by the asking thread.
        unsafe { (*self.fields.get()).settled }
    }

    /// Prepares an operation that nobody else knows for another use.
    #[inline(always)]
    pub(crate) fn reset(&self, buffer: Buffer) {
        // SAFETY: the caller owns all of it: it is not in progress.
        let (fields, place) = unsafe { (&mut *self.fields.get(), &mut *self.buffer.get()) };
        *place = buffer;
        // The outcome is written when there is one.
        fields.position = None;
        self.word.reset();
    }

    /// Tells whether it is complete; if so, its results may be read.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.word.is_done()
    }

    /// Returns the buffer. For the owner, and for whoever took the operation out of matching.
    #[inline]
    pub(crate) fn buffer(&self) -> Buffer {
        // SAFETY: the buffer is not written while the operation is in progress.
        unsafe { *self.buffer.get() }
    }

    /// Returns the length of the buffer; as [`Operation::buffer`].
    #[inline]
    pub(crate) fn capacity(&self) -> u64 {
        // SAFETY: only the owner sets the buffer, before anybody else knows of the operation.
        unsafe { (*self.buffer.get()).bytes }
    }

    /// Copies between this operation, taken out of matching, and a buffer of the caller: all of `source` that fits
    /// `target`, one of which is this operation's buffer. Its own side may help.
    ///
    /// # Safety
    /// The promises of [`Buffer::new`] for both.
    #[inline]
    pub(crate) unsafe fn copy(&self, source: &Buffer, target: &Buffer) {
        let bytes = source.bytes.min(target.bytes);
        // SAFETY: the caller's promise.
        unsafe {
            if bytes >= SHARE_FROM.get() && source.dense && target.dense {
                self.transfer.copy(source.address, target.address, bytes);
            } else if bytes >= SHARE_FROM.get() && source.is_divisible(target) {
                self.transfer.copy_derived(source, target, bytes);
            } else {
                source.copy_to(target);
            }
        }
    }

    /// As [`Operation::copy`], for who holds a lock.
    ///
    /// # Safety
    /// As [`Operation::copy`].
    pub(crate) unsafe fn copy_locked(&self, source: &Buffer, target: &Buffer) {
        let bytes = source.bytes.min(target.bytes);
        // SAFETY: the caller's promise.
        unsafe {
            if bytes >= SHARE_FROM.get() && source.is_divisible(target) {
                self.transfer.copy_locked(source, target, bytes);
            } else {
                source.copy_to(target);
            }
        }
    }

    /// Helps the other side to copy, if it is doing that. Returns whether it did. For threads that wait for this.
    #[inline]
    pub(crate) fn help(&self) -> bool {
        self.transfer.help()
    }

    /// Notes where the operation waits to be matched. Under the lock of that endpoint.
    pub(crate) fn set_position(&self, position: Option<Position>) {
        // SAFETY: written and read only under the endpoint's lock while the operation is in matching.
        unsafe { (*self.fields.get()).position = position }
        if is_checking() {
            self.note_site();
        }
    }

    #[cold]
    #[inline(never)]
    fn note_site(&self) {
        // SAFETY: as in `set_position`.
        unsafe { (*self.fields.get()).site = site::current() }
    }

    /// Returns the call that put it into matching, in checking mode. For whoever took it out.
    pub(crate) fn site(&self) -> Option<&'static Site> {
        // SAFETY: whoever took the operation out of matching owns its fields, and this one is not changed later.
        unsafe { (*self.fields.get()).site }
    }

    /// Returns where the operation waits to be matched. Under the lock of that endpoint.
    pub(crate) fn position(&self) -> Option<Position> {
        // SAFETY: the position changes under the lock of the endpoint only, which the caller holds.
        unsafe { (*self.fields.get()).position }
    }

    /// Completes the operation, whose memory may be gone when this returns. Returns true if the caller must free the
    /// request it is part of.
    ///
    /// The caller took it out of matching, or is its owner and never put it there.
    #[inline]
    #[must_use]
    pub(crate) fn complete(&self, outcome: Outcome) -> bool {
        self.complete_in(outcome, &Section::outside())
    }

    /// As [`Operation::complete`], without an atomic operation inside a section.
    #[inline]
    #[must_use]
    pub(crate) fn complete_in(&self, outcome: Outcome, section: &Section<'_>) -> bool {
        // SAFETY: the completer owns the fields (module page).
        unsafe { (*self.fields.get()).outcome = outcome };
        if let Some(thread) = self.word.owed() {
            self.pay(thread);
            return false;
        }
        // Others change the word after they met.
        match self.word.complete(section.is_inside()) {
            Completed::Alone => false,
            Completed::Detached => true,
            Completed::Awaited(thread) => {
                wake(thread);
                false
            }
        }
    }

    /// Completes an operation that is owed to a thread.
    #[inline]
    fn pay(&self, thread: usize) {
        // SAFETY: `owed_to` took it from a `&'static Thread`.
        let thread = unsafe { &*(thread as *const Thread) };
        if core::ptr::eq(thread, weft_sched::current()) {
            // SAFETY: the thread that asks for it is this one.
            unsafe { (*self.fields.get()).settled = true };
            self.word.set_done();
        } else {
            self.word.set_done();
            thread.resume();
        }
    }

    /// Completes an operation nobody else knows of, at its creation.
    pub(crate) fn complete_unshared(&self, outcome: Outcome) {
        // SAFETY: the caller is the only one who knows the operation.
        unsafe { (*self.fields.get()).outcome = outcome };
        self.word.set_done();
    }

    /// Names the calling thread as the one to wake. Returns false if the operation is complete already.
    ///
    /// Two threads that wait for one request are an error of the program; the one displaced here is woken, so that it
    /// registers again and neither sleeps for ever.
    pub(crate) fn register(&self, waiter: &'static Thread) -> bool {
        solo::meet();
        match self.word.register(core::ptr::from_ref(waiter) as usize) {
            Registered::Alone => true,
            Registered::Displaced(other) => {
                wake(other);
                true
            }
            Registered::TooLate => false,
        }
    }

    /// Takes the calling thread's name back.
    pub(crate) fn deregister(&self, waiter: &'static Thread) {
        solo::meet();
        self.word.deregister(core::ptr::from_ref(waiter) as usize);
    }

    /// Returns the address of the thread that waits for an operation that is in matching.
    pub(crate) fn waiter(&self) -> Option<usize> {
        self.word.waiter()
    }

    /// Leaves the operation to its completer. Returns false if it is complete already.
    pub(crate) fn detach(&self) -> bool {
        solo::meet();
        self.word.detach()
    }

    /// Returns the outcome of a complete operation.
    pub(crate) fn outcome(&self) -> Outcome {
        debug_assert!(self.is_done());
        // SAFETY: complete, so the results are only read from now on, by the owner.
        unsafe { (*self.fields.get()).outcome }
    }

    /// Returns the status of a complete receive and stores nothing else.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE`, in the second part, when the message was longer than the buffer.
    pub(crate) fn received(&self) -> (Status, Result) {
        received(&self.outcome(), self.buffer().bytes)
    }
}

/// Makes a status of the outcome of a receive into a buffer of `capacity` bytes. Its error field says nothing; the result does.
#[inline(always)]
pub(crate) fn received(outcome: &Outcome, capacity: u64) -> (Status, Result) {
    let bytes = outcome.bytes().min(capacity);
    // At once, not by changes: whoever copies what was just changed in parts waits for them.
    let status =
        Status { source: outcome.source(), tag: outcome.tag(), ..Status::of(bytes, outcome.is_cancelled()) };
    let result = match outcome.fits(capacity) {
        Some(_) => Ok(()),
        None => received_otherwise(outcome, capacity),
    };
    (status, result)
}

#[cold]
fn received_otherwise(outcome: &Outcome, capacity: u64) -> Result {
    if outcome.is_cancelled() {
        return Ok(());
    }
    Err(if outcome.is_failed() { crate::remote::lost() } else { truncated(outcome, capacity) })
}

fn truncated(outcome: &Outcome, capacity: u64) -> Error {
    let (source, tag, bytes) = (outcome.source(), outcome.tag(), outcome.bytes());
    Error::new(
        MPI_ERR_TRUNCATE,
        format!(
            "message of {bytes} bytes from rank {source} with tag {tag} does not fit the receive buffer of \
             {capacity} bytes; the rest was dropped"
        ),
    )
}

fn wake(thread: usize) {
    // SAFETY: only `register` stores other values than the three constants, from a `&'static Thread`.
    let thread: &'static Thread = unsafe { &*(thread as *const Thread) };
    thread.unpark();
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_base::constants::MPI_ERR_PROC_ABORTED;

    #[test]
    fn an_outcome_tells_what_it_was_made_of() {
        for (source, tag) in [(0, 0), (-1, -2), (i32::MIN, i32::MAX), (i32::MAX, i32::MIN), (7, -1)] {
            for bytes in [0, 1, u64::from(u32::MAX) + 1, FAILED - 1] {
                let outcome = Outcome::received(source, tag, bytes);
                assert_eq!((outcome.source(), outcome.tag(), outcome.bytes()), (source, tag, bytes));
                assert!(!outcome.is_cancelled() && !outcome.is_failed());
                for capacity in [bytes, bytes + 1, u64::MAX] {
                    let (status, result) = received(&outcome, capacity);
                    assert_eq!((status.source, status.tag, status.bytes()), (source, tag, bytes));
                    assert!(result.is_ok() && !status.cancelled());
                }
            }
            let (status, result) = received(&Outcome::received(source, tag, 10), 9);
            assert_eq!(status.bytes(), 9);
            assert_eq!(result.unwrap_err().class, MPI_ERR_TRUNCATE);
        }
    }

    #[test]
    fn what_ended_otherwise_is_no_message_however_much_fits() {
        for capacity in [0, 100, FAILED, CANCELLED, u64::MAX] {
            let (status, result) = received(&Outcome::cancelled(3, 4), capacity);
            assert!(status.cancelled() && result.is_ok());
            assert_eq!((status.source, status.tag, status.bytes()), (3, 4, 0));
            let (status, result) = received(&Outcome::failed(3, 4), capacity);
            assert!(!status.cancelled() && status.bytes() == 0);
            assert_eq!(result.unwrap_err().class, MPI_ERR_PROC_ABORTED);
        }
    }
}
