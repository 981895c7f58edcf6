//! A blocking receive that is not in matching: the rank's own thread waits for a message of another node process, and whatever
//! it finds itself while it polls goes straight into its buffer.
//!
//! Posting such a receive, matching it and completing it take three atomic operations and a queue; here there are none. It is
//! for a thread that is the only one to poll: the only rank of its node process. The thread says what it expects in its
//! [`Endpoint`], and takes that back before it does anything else but poll. So who finds itself to be the rank's own thread, and
//! something to be expected, runs below that receive, which is the only other party.
//!
//! # Order
//! A message is taken only if nothing is posted and nothing unexpected has arrived, so it comes after no other and the receive
//! is the first that could match it. A receive of another thread of the rank is posted before or after this one only if the
//! program says so, and then it is seen. Whoever else delivers meanwhile (a thread that tests a request) finds nothing posted; what
//! it leaves ends the look, and the receive goes the general way.
#![allow(unsafe_code)] // Follows an address that leads into a caller's stack frame.

use crate::endpoint::{Endpoint, Reference};
use crate::engine::Engine;
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation, Outcome};
use core::cell::Cell;
use std::sync::atomic::{AtomicPtr, Ordering};
use weft_transport::Nodes;

/// What a rank's own thread expects; see the module's page.
pub(crate) struct Expected {
    pattern: Envelope,
    operation: Operation,
    is_taken: Cell<bool>,
}

/// Where a rank says what it expects.
pub(crate) type Expectation = AtomicPtr<Expected>;

/// How a look for an expected message ended.
pub(crate) enum Look {
    /// The message is in the buffer; what became of the receive.
    Found(Outcome),
    /// The receive must be posted. Whether it is worthwhile to go on looking then.
    Post { looks: bool },
}

impl Endpoint {
    /// Takes the receive that the calling thread itself waits in, if a message of this envelope is for it. The caller delivers
    /// and completes it.
    #[inline(always)]
    pub(crate) fn take_expected(&self, envelope: &Envelope) -> Option<Reference> {
        self.take_expected_if(envelope, |_| true)
    }

    /// As [`Endpoint::take_expected`], if `takes` says so.
    #[inline(always)]
    pub(crate) fn take_expected_if(
        &self,
        envelope: &Envelope,
        takes: impl FnOnce(Reference) -> bool,
    ) -> Option<Reference> {
        let expected = self.expectation().load(Ordering::Relaxed);
        if expected.is_null()
            || !self.is_owner(weft_sched::current())
            || self.unexpected_hint()
            || self.posted_hint()
        {
            return None;
        }
        // SAFETY: only the rank's own thread stores it, and takes it back before the frame it leads to ends; this is that thread.
        let expected = unsafe { &*expected };
        let receive = Reference::from(&expected.operation);
        let is_it = !expected.is_taken.get() && expected.pattern.covers(envelope) && takes(receive);
        is_it.then(|| {
            expected.is_taken.set(true);
            receive
        })
    }
}

impl Engine {
    /// Looks for a message from another node process that is for nobody but the calling thread, as long as looking is sensible.
    ///
    /// # Safety
    /// As [`Engine::receive`].
    pub(crate) unsafe fn look_for(
        &self,
        me: &Endpoint,
        nodes: &Nodes,
        pattern: Envelope,
        buffer: Buffer,
    ) -> Look {
        if me.unexpected_hint() || me.posted_hint() || !me.is_owner(weft_sched::current()) {
            return Look::Post { looks: true };
        }
        let expected = Expected { pattern, operation: Operation::new(buffer), is_taken: Cell::new(false) };
        me.expectation().store((&raw const expected).cast_mut(), Ordering::Relaxed);
        let mut looks = 0;
        let goes_on = loop {
            let moved = nodes.poll();
            if expected.is_taken.get() || me.unexpected_hint() {
                break true;
            }
            if moved {
                looks = 0;
                continue;
            }
            if !weft_sched::look_again(looks, self.limits().spins) || self.is_in_vain(&pattern) {
                break false;
            }
            looks = nodes.linger(looks);
        };
        me.expectation().store(core::ptr::null_mut(), Ordering::Relaxed);
        if !expected.is_taken.get() {
            return Look::Post { looks: goes_on };
        }
        let operation = &expected.operation;
        if !operation.is_done() {
            self.look_and_wait(me, operation);
        }
        Look::Found(operation.outcome())
    }
}
