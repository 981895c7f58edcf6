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

mod buffer;
mod outcome;
pub(crate) mod word;

pub use buffer::Buffer;
pub(crate) use outcome::{Outcome, lost, note_loss, received};

use crate::endpoint::solo;
use crate::matching::Position;
use crate::operation::word::{Completed, Registered, Word};
use crate::transfer::Transfer;
use crate::way::{Hands, hands};
use core::cell::UnsafeCell;
use weft_base::Result;
use weft_base::abi::Status;
use weft_base::settings::{SHARE_FROM, is_checking};
use weft_base::site::{self, Site};
use weft_sched::Thread;
use weft_sync::Section;
use weft_sync::invitation::End;

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
            match hands(bytes, SHARE_FROM.get(), || source.is_divisible(target)) {
                Hands::One => source.copy_to(target),
                _ if source.dense && target.dense => {
                    self.transfer.copy(source.address, target.address, bytes);
                }
                _ => self.transfer.copy_derived(source, target, bytes),
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
            match hands(bytes, SHARE_FROM.get(), || source.is_divisible(target)) {
                Hands::One => source.copy_to(target),
                _ => self.transfer.copy_locked(source, target, bytes),
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

fn wake(thread: usize) {
    // SAFETY: only `register` stores other values than the three constants, from a `&'static Thread`.
    let thread: &'static Thread = unsafe { &*(thread as *const Thread) };
    thread.unpark();
}
