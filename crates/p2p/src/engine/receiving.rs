//! Receives: looking for a message, posting, and taking delivery of what has arrived.
#![allow(unsafe_code)] // Passes on the promises for users' buffers.

use super::{Engine, finish, outcome};
use crate::endpoint::expected::Look;
use crate::endpoint::solo;
use crate::endpoint::{ENVELOPE, Endpoint, Message, Payload, State};
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation, Outcome, received};
use crate::reports::checking;
use crate::reports::told::{self, Waited};
use weft_base::abi::Status;
use weft_base::{Result, constants::*};
use weft_sync::LockGuard;
use weft_sync::facade::pause;
use weft_transport::Nodes;

/// What a receive does when it is posted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// It looks for a while.
    Looks,
    /// It has looked in vain for a message of another node process.
    HasLooked,
    /// It has looked in vain for a message of a rank of its own.
    Parks,
}

impl Engine {
    /// Receives a message and returns its status. `source` is the sender's rank in the job, if only one may send.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE`: the message was longer than the buffer, and what did not fit is lost. `MPI_ERR_PROC_ABORTED`: a
    /// process is lost, and the message may not come any more.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`], for writing; `me` is the calling thread's rank's endpoint.
    #[inline]
    pub unsafe fn receive(
        &self,
        me: &Endpoint,
        source: Option<u32>,
        pattern: Envelope,
        buffer: Buffer,
    ) -> (Status, Result) {
        // SAFETY: the caller's promise.
        let outcome = unsafe { self.take_next(me, source, pattern, buffer) };
        received(&outcome, buffer.bytes)
    }

    /// Receives a message and returns what became of that.
    ///
    /// # Safety
    /// As [`Engine::receive`].
    #[inline]
    unsafe fn take_next(
        &self,
        me: &Endpoint,
        source: Option<u32>,
        pattern: Envelope,
        buffer: Buffer,
    ) -> Outcome {
        checking::before_receive(me, &buffer);
        let _waited = Waited::begin(me.rank());
        if let Some(remote) = self.remote()
            && source.is_none_or(|rank| !self.is_local(rank))
        {
            // SAFETY: the caller's promise.
            return unsafe { self.receive_far(me, remote.nodes(), pattern, buffer) };
        }
        let ring = match source {
            Some(rank) => me.ring_from(rank),
            None => None,
        };
        // A wildcard looks at all rings, by the general way.
        let any_ring = source.is_none() && me.has_rings();
        // The first look goes for what is there; afterwards only something new can help.
        let mut look = me.unexpected_hint() || any_ring;
        let mut seen = me.arrivals();
        let mut spins = 0;
        loop {
            if let Some(ring) = ring
                && ring.is_ready()
            {
                let mut state = me.lock();
                if state.unexpected.is_empty() {
                    // SAFETY: the buffer is as the caller promised.
                    let found = unsafe { me.take_from_ring(&mut state, ring, &pattern, &buffer) };
                    drop(state);
                    if let Some((envelope, bytes)) = found {
                        return outcome(&envelope, bytes);
                    }
                    continue;
                }
                drop(state);
                look = true;
            }
            if look {
                seen = me.arrivals();
                // SAFETY: the buffer is as the caller promised.
                if let Some(found) = unsafe { me.receive_arrived(self, me.lock(), &pattern, &buffer).ok() } {
                    return found;
                }
            }
            if !weft_sched::look_again(spins, self.limits.spins) {
                // SAFETY: the caller's promise.
                return unsafe { self.receive_posted(me, pattern, buffer, When::Parks) };
            }
            spins += 1;
            look = me.arrivals() != seen || (any_ring && me.rings_ready());
            if !look {
                // From the first look on: each look takes the line away from the core that is about to write it.
                pause();
            }
        }
    }

    /// Receives a message that may come from another node process.
    ///
    /// # Safety
    /// As [`Engine::receive`].
    #[inline(never)]
    unsafe fn receive_far(&self, me: &Endpoint, nodes: &Nodes, pattern: Envelope, buffer: Buffer) -> Outcome {
        // Where others poll, too, they copy straight into the buffer of what is posted.
        let mut when = When::Looks;
        if self.endpoints.len() == 1 {
            // SAFETY: the caller's promise.
            match unsafe { self.look_for(me, nodes, pattern, buffer) } {
                Look::Found(found) => return found,
                Look::Post { looks: true } => {}
                Look::Post { looks: false } => when = When::HasLooked,
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.receive_posted(me, pattern, buffer, when) }
    }

    /// Posts a receive on the stack and waits for it.
    #[inline(never)]
    unsafe fn receive_posted(&self, me: &Endpoint, pattern: Envelope, buffer: Buffer, when: When) -> Outcome {
        let thread = weft_sched::current();
        let suspends = when == When::Parks && thread.can_suspend() && me.is_owner(thread);
        let operation = if suspends { Operation::owed_to(buffer, thread) } else { Operation::new(buffer) };
        // SAFETY: the buffer is as the caller promised.
        let mut state = match unsafe { me.receive_arrived(self, me.lock(), &pattern, &buffer) } {
            Ok(found) => return found,
            Err(state) => state,
        };
        let position = state.posted.push(pattern, (&operation).into());
        me.note_posted(&state);
        operation.set_position(Some(position));
        if suspends {
            me.suspend(state, &operation);
        } else {
            drop(state);
            if when != When::Parks {
                self.check_posted(me, &pattern);
            }
            if when == When::HasLooked {
                self.wait_asleep(me, &operation);
            } else {
                self.look_and_wait(me, &operation);
            }
        }
        operation.outcome()
    }

    /// Fails what was just posted if it waits for a node process that is lost. Whoever notes a loss fails what was posted
    /// before.
    #[inline]
    fn check_posted(&self, me: &Endpoint, pattern: &Envelope) {
        if self.is_in_vain(pattern) {
            self.fail_posted(me);
        }
    }

    /// Starts a receive: completes it at once if a message is there, else posts it.
    ///
    /// # Safety
    /// As [`Engine::receive`], and the operation stays where it is until it is complete.
    #[inline]
    pub(crate) unsafe fn start_receive(&self, me: &Endpoint, pattern: Envelope, operation: &Operation) {
        let section = solo::enter();
        let mut state = me.lock_in(&section);
        if !state.unexpected.is_empty() || me.has_rings() {
            drop(section);
            // SAFETY: the caller's promise.
            match unsafe { self.start_with_arrived(me, state, &pattern, operation) } {
                Some(still) => state = still,
                None => return,
            }
        }
        let position = state.posted.push(pattern, operation.into());
        me.note_posted(&state);
        operation.set_position(Some(position));
        drop(state);
        self.check_posted(me, &pattern);
    }

    /// Gives a receive that starts a message that is there; gives the lock back if there is none.
    ///
    /// # Safety
    /// As [`Engine::start_receive`].
    #[inline(never)]
    unsafe fn start_with_arrived<'a>(
        &self,
        me: &'a Endpoint,
        mut state: LockGuard<'a, State>,
        pattern: &Envelope,
        operation: &Operation,
    ) -> Option<LockGuard<'a, State>> {
        let buffer = operation.buffer();
        if let Some((envelope, mut message)) = state.unexpected.take(pattern) {
            let bytes = message.bytes;
            state = me.undescribe(state, &envelope, &mut message, &buffer);
            if let Payload::Far(far) = message.payload {
                me.note_unexpected(&state);
                told::met(me.rank(), &envelope, bytes);
                drop(state);
                // SAFETY: the caller's promise; the operation is in no queue.
                unsafe { self.fetch(me, envelope, bytes, far, operation) };
                return None;
            }
            // SAFETY: the buffer is as the caller promised.
            let _ = unsafe { me.take_message(self, state, envelope, message, &buffer) };
            operation.complete_unshared(outcome(&envelope, bytes));
            return None;
        }
        // SAFETY: the caller's promise for its buffer, and the lock of the endpoint is held.
        let Some((envelope, bytes)) = (unsafe { me.take_from_rings(&mut state, pattern, &buffer) }) else {
            return Some(state);
        };
        drop(state);
        operation.complete_unshared(outcome(&envelope, bytes));
        None
    }

    /// Cancels a receive that no message has matched yet. Returns whether it did.
    pub(crate) fn cancel_receive(&self, me: &Endpoint, operation: &Operation) -> bool {
        // What has come before is received.
        self.poll_nodes();
        let mut state = me.lock();
        me.drain_rings(&mut state);
        if operation.is_done() {
            return false;
        }
        let Some(position) = operation.position() else { return false };
        if state.posted.remove(position).is_none() {
            return false;
        }
        me.note_posted(&state);
        drop(state);
        let outcome = Outcome::cancelled(MPI_ANY_SOURCE, MPI_ANY_TAG);
        if operation.complete(outcome) {
            crate::requests::release_detached(operation);
        }
        true
    }
}

impl Endpoint {
    /// Receives a message that has arrived, if one matches; else gives the lock back.
    ///
    /// # Safety
    /// The buffer is as promised for receives.
    #[inline(never)]
    unsafe fn receive_arrived<'a>(
        &self,
        engine: &Engine,
        mut state: LockGuard<'a, State>,
        pattern: &Envelope,
        buffer: &Buffer,
    ) -> core::result::Result<Outcome, LockGuard<'a, State>> {
        if let Some((envelope, message)) = state.unexpected.take(pattern) {
            // SAFETY: the caller's promise.
            return Ok(unsafe { self.take_message(engine, state, envelope, message, buffer) });
        }
        // SAFETY: the caller's promise.
        match unsafe { self.take_from_rings(&mut state, pattern, buffer) } {
            Some((envelope, bytes)) => Ok(outcome(&envelope, bytes)),
            None => Err(state),
        }
    }

    /// Takes delivery of an unexpected message that left the queue, and lets go of the lock on the way.
    ///
    /// # Safety
    /// The buffer is as promised for receives.
    pub(crate) unsafe fn take_message(
        &self,
        engine: &Engine,
        state: LockGuard<'_, State>,
        envelope: Envelope,
        mut message: Message,
        buffer: &Buffer,
    ) -> Outcome {
        let bytes = message.bytes;
        let mut state = self.undescribe(state, &envelope, &mut message, buffer);
        self.note_unexpected(&state);
        told::met(self.rank(), &envelope, bytes);
        match message.payload {
            Payload::Sender(send) => {
                drop(state);
                let send = send.get();
                // SAFETY: both buffers are as their owners promised; the send is ours since it left the queue.
                unsafe { send.copy(&send.buffer(), buffer) };
                finish(send, &envelope, bytes);
            }
            Payload::Far(far) => {
                drop(state);
                let operation = Operation::new(*buffer);
                // SAFETY: the caller's promise; the operation stays here until it is complete.
                unsafe { engine.fetch(self, envelope, bytes, far, &operation) };
                engine.look_and_wait(self, &operation);
                return operation.outcome();
            }
            Payload::Inline(from, ref data) => {
                if from.is_none() {
                    state.unexpected_bytes -= ENVELOPE;
                }
                drop(state);
                // SAFETY: the payload holds `bytes` bytes.
                unsafe { buffer.unpack_from(data.as_ptr(), bytes) };
                engine.give_back(from, bytes);
            }
            Payload::Pooled(from, block) => {
                if from.is_none() {
                    state.unexpected_bytes -= block.cost();
                }
                if block.is_large() {
                    drop(state);
                    // SAFETY: the payload holds `bytes` bytes.
                    unsafe { buffer.unpack_from(block.address(), bytes) };
                    block.release();
                } else {
                    // A block is short enough to be copied under the lock; that saves taking it again.
                    // SAFETY: the payload holds `bytes` bytes.
                    unsafe { buffer.unpack_from(block.address(), bytes) };
                    state.pool.give_back(block);
                    drop(state);
                }
                engine.give_back(from, bytes);
            }
            Payload::Described(_) => unreachable!("the description was taken off above"),
        }
        outcome(&envelope, bytes)
    }

    /// Drains all rings on behalf of a receiver that sleeps.
    #[cold]
    pub(crate) fn drain_and_deliver(&self) {
        let mut state = self.lock();
        self.drain_rings(&mut state);
    }
}
