//! The word of an operation: who waits for it, and who may change it. In a file of its own for the model checker.
//!
//! | value | meaning | goes to |
//! | --- | --- | --- |
//! | `PENDING` | in progress, nobody waits | `DONE` by the completer, a thread by a waiter, `DETACHED` by `MPI_Request_free` |
//! | a thread's address | in progress, that thread is parked or about to | `DONE` by the completer, `PENDING` by the waiter that gives up |
//! | a thread's address + `OWED` | in progress, that thread is suspended or about to | `DONE` by the completer |
//! | `OFFERED` | a send whose description is in a ring, its sender spins | `DONE` or invited by who takes it from the ring and copies, `PENDING` by who moves it to matching |
//! | [`invitation`]'s | an offer that is copied; the sender may copy the tail | `DONE` by the receiver |
//! | `DETACHED` | in progress, nobody will ever ask | `DONE`; the completer frees the request |
//! | `DONE` | results are written | |
//!
//! The completer writes the results and then *swaps* the word to `DONE`: the swap is its last access (a stack frame
//! may be gone right after) and returns whom to wake, in one step, so a waiter that registered by compare-and-swap
//! is either seen by the swap or sees `DONE` itself. Threads live for ever, so waking one late is harmless. Inside a section
//! of the rank's only thread (the page of `solo`) nobody can register meanwhile, and it reads and stores instead.
//!
//! A blocking receive that parks at once (the usual case where ranks share a core) says so before it is in matching:
//! `OWED`. Nobody but the completer changes such a word, so the completer reads and stores it without a swap, and
//! owes the thread exactly one resumption, which needs no parking state.

use weft_sync::atomic::{AtomicUsize, Ordering};
use weft_sync::invitation::{self, End};

const PENDING: usize = 0;
const DONE: usize = 1;
const DETACHED: usize = 2;
const OFFERED: usize = 3;
/// Added to a thread's address, which is aligned to more than this.
const OWED: usize = 4;

/// See the module's page. Threads are named by their addresses.
pub(crate) struct Word(AtomicUsize);

/// What the completer has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Completed {
    /// Nothing.
    Alone,
    /// Free the request.
    Detached,
    /// Wake this thread.
    Awaited(usize),
}

/// What became of a waiter's entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Registered {
    /// It will be woken.
    Alone,
    /// It will be woken, and has displaced another thread, which must be woken now.
    Displaced(usize),
    /// The operation is complete.
    TooLate,
}

impl Word {
    /// Creates the word of an operation that nobody waits for.
    #[inline]
    pub(crate) fn pending() -> Self {
        Self(AtomicUsize::new(PENDING))
    }

    /// Creates the word of an operation whose completer owes a resumption to a thread.
    #[inline]
    pub(crate) fn owed_to(thread: usize) -> Self {
        Self(AtomicUsize::new(thread | OWED))
    }

    /// Creates the word of a send that is offered in a ring.
    #[inline]
    pub(crate) fn offered() -> Self {
        Self(AtomicUsize::new(OFFERED))
    }

    /// Prepares it for another operation that nobody else knows.
    pub(crate) fn reset(&self) {
        self.0.store(PENDING, Ordering::Relaxed);
    }

    /// Tells whether the operation is complete; if so, its results may be read.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.0.load(Ordering::Acquire) == DONE
    }

    /// Tells whether the operation is still offered in a ring, or whoever took it from there is at work.
    pub(crate) fn is_offered(&self) -> bool {
        self.0.load(Ordering::Acquire) == OFFERED
    }

    /// Makes an offer an operation that may be in matching.
    pub(crate) fn withdraw_offer(&self) {
        self.0.store(PENDING, Ordering::Release);
    }

    /// Tells whether an offer is with whoever took it from the ring, and no invitation is open.
    pub(crate) fn is_with_taker(&self) -> bool {
        matches!(self.0.load(Ordering::Relaxed), OFFERED | invitation::HELPED | invitation::REFUSED)
    }

    /// Invites the sender of an offer to copy `part` of it to the buffer at `target`. Returns false if that cannot be.
    #[inline]
    pub(crate) fn invite(&self, target: *mut u8, part: u32) -> bool {
        invitation::invite(&self.0, target, part)
    }

    /// Accepts an invitation, if there is one.
    #[inline]
    pub(crate) fn accept(&self) -> Option<(*mut u8, u32)> {
        invitation::accept(&self.0)
    }

    /// Ends the part of a sender that accepted.
    #[inline]
    pub(crate) fn note_help(&self) {
        invitation::finish(&self.0);
    }

    /// Ends an invitation; see [`invitation::end`].
    #[inline]
    pub(crate) fn end_invitation(&self) -> End {
        invitation::end(&self.0)
    }

    /// Returns the thread that is owed a resumption. For the completer.
    #[inline]
    pub(crate) fn owed(&self) -> Option<usize> {
        let word = self.0.load(Ordering::Relaxed);
        (word & OWED != 0).then(|| word - OWED)
    }

    /// Returns the thread that waits for an operation that is in matching.
    pub(crate) fn waiter(&self) -> Option<usize> {
        match self.0.load(Ordering::Acquire) {
            PENDING | DONE | DETACHED | OFFERED => None,
            word => Some(word & !OWED),
        }
    }

    /// Completes an operation whose word nobody else changes: an offer, one that is owed, or one that nobody knows.
    #[inline]
    pub(crate) fn set_done(&self) {
        self.0.store(DONE, Ordering::Release);
    }

    /// Completes an operation that is not owed. `is_alone` says that nobody else can change the word meanwhile.
    #[inline]
    pub(crate) fn complete(&self, is_alone: bool) -> Completed {
        let before = if is_alone {
            let before = self.0.load(Ordering::Acquire);
            self.0.store(DONE, Ordering::Release);
            before
        } else {
            self.0.swap(DONE, Ordering::AcqRel)
        };
        match before {
            PENDING => Completed::Alone,
            DETACHED => Completed::Detached,
            DONE => unreachable!("completed twice"),
            thread => Completed::Awaited(thread),
        }
    }

    /// Names a thread as the one to wake.
    pub(crate) fn register(&self, mine: usize) -> Registered {
        let mut seen = PENDING;
        loop {
            match self.0.compare_exchange(seen, mine, Ordering::AcqRel, Ordering::Acquire) {
                Ok(PENDING | DETACHED) => return Registered::Alone,
                Ok(other) if other == mine => return Registered::Alone,
                Ok(other) => return Registered::Displaced(other),
                Err(DONE) => return Registered::TooLate,
                Err(now) => seen = now,
            }
        }
    }

    /// Takes a thread's name back.
    pub(crate) fn deregister(&self, mine: usize) {
        let _ = self.0.compare_exchange(mine, PENDING, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Leaves the operation to its completer. Returns false if it is complete already.
    pub(crate) fn detach(&self) -> bool {
        let mut seen = PENDING;
        loop {
            match self.0.compare_exchange(seen, DETACHED, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(DONE) => return false,
                Err(now) => seen = now,
            }
        }
    }
}
