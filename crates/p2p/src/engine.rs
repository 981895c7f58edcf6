//! Sending and receiving between the ranks of a node process.
//!
//! # Ways of a message
//! A sender that takes the lock of the target's [`Endpoint`] first drains its own ring to that target, so nothing it
//! sent earlier is behind. Then, if a posted receive matches, it takes that receive out of matching, lets go of the
//! lock, copies from user buffer to user buffer and completes the receive. Else the message is unexpected: a short
//! one is copied into memory of the library; a long or synchronous one leaves the address of its [`Operation`], and
//! whoever receives it copies from the sender's buffer and completes it (rendezvous: one copy).
//!
//! A rank that talks a lot with a rank on another core has a private ring to it for messages of up to
//! [`PAYLOAD`] bytes, which complete at once. Its threads take turns there, and who takes the target's lock drains the
//! ring first, so the order of threads that synchronise is kept. Whoever holds the lock of the receiving endpoint is
//! the consumer. A blocking send of medium length is offered in the ring where no receive is posted (`offer`); other
//! long messages go by the lock, so they find a posted receive even if the receiver computes.
//!
//! # Parking
//! A sender that only pushes takes no lock and wakes nobody, so a receiver must not park and overlook it:
//!
//! ```text
//! sender:    push into the ring;      fence;   is a thread of the target asleep? then lock and drain
//! receiver:  post; announce sleep;    fence;   is one of my rings not empty?     then stay awake, lock and drain
//! ```
//!
//! Of two such sequences at least one sees the other's write. What is drained completes the posted receive, and that
//! wakes the sleeper through the word of its operation. A rank that waits for something that is not a message (a
//! barrier, a file) does not announce sleep; messages wait in its rings until it next looks, which hurts nobody,
//! since their senders are done.
//!
//! No thread switches while it holds a lock of this module: all waiting is outside, and copies that may be
//! long, too.
#![allow(unsafe_code)]

use crate::checking::{self, Origin};
use crate::endpoint::{Endpoint, Message, Payload, State};
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation, Outcome, received};
use std::sync::atomic::{Ordering, fence};
use weft_base::abi::Status;
use weft_base::settings::{self, is_checking};
use weft_base::{Result, constants::*};
use weft_local::{Header, PAYLOAD};
use weft_sched::Thread;
use weft_sync::LockGuard;
use weft_sync::facade::pause;

/// Bounds of the protocols, the same for all ranks of a job.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest message, in bytes, that is copied when no receive is posted for it.
    pub eager: u64,
    /// How many bytes of unexpected messages a rank keeps before senders must wait.
    pub unexpected: u64,
    /// How many rings may lead to one rank.
    pub rings: usize,
    /// How many times a waiting thread looks before it parks, where spinning is sensible.
    pub spins: u32,
}

/// The settings.
impl Default for Limits {
    fn default() -> Self {
        // What goes through a ring is not checked.
        let rings = if is_checking() { 0 } else { settings::RINGS.get() as usize };
        let spins = settings::SPINS.get() as u32;
        Self { eager: settings::EAGER.get(), unexpected: settings::UNEXPECTED.get(), rings, spins }
    }
}

/// The mode of a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// `MPI_Send`; also `MPI_Rsend`, whose promise needs no use to be kept.
    Standard,
    /// `MPI_Ssend`: complete only when the receive has started.
    Synchronous,
}

/// All ranks of the job that live in this process.
pub struct Engine {
    endpoints: Box<[Endpoint]>,
    limits: Limits,
}

impl Engine {
    /// Creates the engine of a job of `ranks` ranks.
    pub fn new(ranks: u32, limits: Limits) -> Self {
        Self { endpoints: (0..ranks).map(Endpoint::new).collect(), limits }
    }

    /// Makes a thread the rank's own thread.
    pub fn attach(&'static self, rank: u32, thread: &'static Thread) -> &'static Endpoint {
        let endpoint = self.endpoint(rank);
        endpoint.set_owner(thread);
        endpoint
    }

    /// Returns the endpoint of a rank of the job.
    ///
    /// # Panics
    /// If there is no such rank.
    #[inline]
    pub fn endpoint(&self, rank: u32) -> &Endpoint {
        &self.endpoints[rank as usize]
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.endpoints.len() as u32
    }

    /// Returns the bounds of the protocols.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sends, and returns when the buffer may be used again (and, in synchronous mode, the receive has started).
    ///
    /// # Safety
    /// The promise of [`Buffer::new`], for reading; `me` is an endpoint of this engine.
    #[inline]
    pub unsafe fn send(&self, me: &Endpoint, target: u32, envelope: Envelope, data: Buffer, mode: Mode) {
        // SAFETY: the caller's promise.
        unsafe {
            if mode != Mode::Standard || !self.push(me, target, envelope, &data) {
                self.send_locked(me, target, envelope, data, mode);
            }
        }
    }

    #[inline(never)]
    unsafe fn send_locked(&self, me: &Endpoint, target: u32, envelope: Envelope, data: Buffer, mode: Mode) {
        // SAFETY: the caller's promise; the operation stays here until it is complete.
        unsafe {
            if self.is_offered(&data) && self.offer(me, target, envelope, data) {
                return;
            }
            if data.bytes > self.limits.eager || !self.deliver(me, target, envelope, &data, mode, None) {
                if is_checking() {
                    checking::look(me, &data, false);
                }
                let operation = Operation::new(data);
                if !self.deliver(me, target, envelope, &data, mode, Some(&operation)) {
                    self.wait(me, &operation);
                }
            }
        }
    }

    /// Puts a short message into the ring of the pair, if there is one with room and nobody sleeps at its end.
    ///
    /// # Safety
    /// As [`Engine::send`].
    #[inline]
    pub(crate) unsafe fn push(&self, me: &Endpoint, target: u32, envelope: Envelope, data: &Buffer) -> bool {
        if data.bytes > PAYLOAD as u64 || !data.dense {
            return false;
        }
        let Some(ring) = me.ring_to(target) else { return false };
        let endpoint = self.endpoint(target);
        let Envelope { context, source, tag } = envelope;
        let header = Header { context, source, tag, length: data.bytes as u32 };
        // A target that sleeps is better served by the lock, which hands over the data and wakes it.
        // SAFETY: the payload is as promised.
        if endpoint.is_asleep() || !unsafe { me.push_into(ring, header, data.address) } {
            return false;
        }
        // Pairs with the fence of `Endpoint::park`.
        fence(Ordering::SeqCst);
        if endpoint.is_asleep() {
            endpoint.drain_and_deliver();
        }
        true
    }

    /// Sends if that can be done at once: to a posted receive, or by a copy. Returns whether it did.
    ///
    /// # Safety
    /// As [`Engine::send`].
    pub(crate) unsafe fn send_if_eager(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        data: &Buffer,
    ) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            self.push(me, target, envelope, data)
                || self.deliver(me, target, envelope, data, Mode::Standard, None)
        }
    }

    /// Starts a send. Returns true if it is complete, its operation untouched; else the operation completes later.
    ///
    /// # Safety
    /// As [`Engine::send`], and the operation stays where it is until it is complete.
    pub(crate) unsafe fn start_send(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        operation: &Operation,
        mode: Mode,
    ) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.deliver(me, target, envelope, &operation.buffer(), mode, Some(operation)) }
    }

    /// Delivers a message under the target's lock: to a posted receive, as a copy, or as a reference to `operation`.
    /// Returns false if the data is still in the sender's buffer: `operation` completes later, or, if there is
    /// none, nothing has been done.
    ///
    /// # Safety
    /// As [`Engine::start_send`].
    unsafe fn deliver(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        data: &Buffer,
        mode: Mode,
        operation: Option<&Operation>,
    ) -> bool {
        let is_checking = is_checking();
        if is_checking && operation.is_none() {
            checking::look(me, data, false);
        }
        let endpoint = self.endpoint(target);
        if data.bytes <= PAYLOAD as u64 || self.is_offered(data) {
            me.note_traffic(endpoint, self.limits.rings);
        }
        let mut state = endpoint.lock();
        if let Some(ring) = endpoint.ring_from(me.rank()) {
            endpoint.drain_ring(&mut state, ring);
        }
        if let Some((_, receive)) = state.posted.take(&envelope) {
            endpoint.note_posted(&state);
            drop(state);
            let receive = receive.get();
            if is_checking {
                checking::delivered(target, &envelope, data, receive);
            }
            // SAFETY: both buffers are as their owners promised; the receive is ours since it left the queue.
            unsafe { receive.copy(data, &receive.buffer()) };
            finish(receive, &envelope, data.bytes);
            return true;
        }
        let eager = mode == Mode::Standard
            && data.bytes <= self.limits.eager
            && state.unexpected_bytes < self.limits.unexpected;
        if eager {
            // SAFETY: the data is as promised; the payload has room for it.
            let payload = unsafe {
                if is_checking {
                    checking::kept(data)
                } else {
                    state.pool.store(data.bytes, |out| data.pack_into(out))
                }
            };
            state.unexpected_bytes += payload.cost();
            endpoint.add_unexpected(&mut state, envelope, Message { bytes: data.bytes, payload });
        } else if let Some(operation) = operation {
            let message = Message { bytes: data.bytes, payload: Payload::Remote(operation.into()) };
            let position = endpoint.add_unexpected(&mut state, envelope, message);
            operation.set_position(Some(position));
        } else {
            return false;
        }
        drop(state);
        endpoint.announce_arrival();
        eager
    }

    /// Receives a message and returns its status. `source` is the sender's rank in the job, if only one may send.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE`: the message was longer than the buffer, and what did not fit is lost.
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
        if is_checking() {
            checking::look(me, &buffer, true);
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
                        return received(&outcome(&envelope, bytes), buffer.bytes);
                    }
                    continue;
                }
                drop(state);
                look = true;
            }
            if look {
                seen = me.arrivals();
                // SAFETY: the buffer is as the caller promised.
                if let Some(found) = unsafe { me.receive_arrived(me.lock(), &pattern, &buffer).ok() } {
                    return found;
                }
            }
            if !weft_sched::look_again(spins, self.limits.spins) {
                // SAFETY: the caller's promise.
                return unsafe { self.receive_posted(me, pattern, buffer) };
            }
            spins += 1;
            look = me.arrivals() != seen || (any_ring && me.rings_ready());
            if !look {
                // From the first look on: each look takes the line away from the core that is about to write it.
                pause();
            }
        }
    }

    /// Posts a receive on the stack and waits for it.
    #[inline(never)]
    unsafe fn receive_posted(&self, me: &Endpoint, pattern: Envelope, buffer: Buffer) -> (Status, Result) {
        let thread = weft_sched::current();
        let suspends = thread.can_suspend() && me.is_owner(thread);
        let operation = if suspends { Operation::owed_to(buffer, thread) } else { Operation::new(buffer) };
        // SAFETY: the buffer is as the caller promised.
        let mut state = match unsafe { me.receive_arrived(me.lock(), &pattern, &buffer) } {
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
            self.wait(me, &operation);
        }
        operation.received()
    }

    /// Starts a receive: completes it at once if a message is there, else posts it.
    ///
    /// # Safety
    /// As [`Engine::receive`], and the operation stays where it is until it is complete.
    pub(crate) unsafe fn start_receive(&self, me: &Endpoint, pattern: Envelope, operation: &Operation) {
        let mut state = me.lock();
        let buffer = operation.buffer();
        if !state.unexpected.is_empty()
            && let Some((envelope, message)) = state.unexpected.take(&pattern)
        {
            let bytes = message.bytes;
            // SAFETY: the buffer is as the caller promised.
            let _ = unsafe { me.take_message(state, envelope, message, &buffer) };
            operation.complete_unshared(outcome(&envelope, bytes));
            return;
        }
        // SAFETY: as above.
        if let Some((envelope, bytes)) = unsafe { me.take_from_rings(&mut state, &pattern, &buffer) } {
            drop(state);
            operation.complete_unshared(outcome(&envelope, bytes));
            return;
        }
        let position = state.posted.push(pattern, operation.into());
        me.note_posted(&state);
        operation.set_position(Some(position));
    }

    /// Cancels a receive that no message has matched yet. Returns whether it did.
    pub(crate) fn cancel_receive(&self, me: &Endpoint, operation: &Operation) -> bool {
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
        let outcome = Outcome { source: MPI_ANY_SOURCE, tag: MPI_ANY_TAG, bytes: 0, cancelled: true };
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
        mut state: LockGuard<'a, State>,
        pattern: &Envelope,
        buffer: &Buffer,
    ) -> core::result::Result<(Status, Result), LockGuard<'a, State>> {
        if let Some((envelope, message)) = state.unexpected.take(pattern) {
            // SAFETY: the caller's promise.
            return Ok(unsafe { self.take_message(state, envelope, message, buffer) });
        }
        // SAFETY: the caller's promise.
        match unsafe { self.take_from_rings(&mut state, pattern, buffer) } {
            Some((envelope, bytes)) => Ok(received(&outcome(&envelope, bytes), buffer.bytes)),
            None => Err(state),
        }
    }

    /// Takes delivery of an unexpected message that left the queue, and lets go of the lock on the way.
    ///
    /// # Safety
    /// The buffer is as promised for receives.
    pub(crate) unsafe fn take_message(
        &self,
        mut state: LockGuard<'_, State>,
        envelope: Envelope,
        message: Message,
        buffer: &Buffer,
    ) -> (Status, Result) {
        let bytes = message.bytes;
        self.note_unexpected(&state);
        match message.payload {
            Payload::Remote(send) => {
                drop(state);
                let send = send.get();
                if is_checking() {
                    checking::taken(self.rank(), &envelope, send, buffer);
                }
                // SAFETY: both buffers are as their owners promised; the send is ours since it left the queue.
                unsafe { send.copy(&send.buffer(), buffer) };
                finish(send, &envelope, bytes);
            }
            Payload::Checked(ref kept) => {
                state.unexpected_bytes -= message.payload.cost();
                drop(state);
                checking::matched(self.rank(), &envelope, &kept.origin, &Origin::of(buffer, None));
                // SAFETY: the payload holds `bytes` bytes.
                unsafe { buffer.unpack_from(kept.data.as_ptr(), bytes) };
            }
            Payload::Inline(ref data) => {
                state.unexpected_bytes -= message.payload.cost();
                drop(state);
                // SAFETY: the payload holds `bytes` bytes.
                unsafe { buffer.unpack_from(data.as_ptr(), bytes) };
            }
            Payload::Pooled(block) => {
                state.unexpected_bytes -= block.cost();
                // A block is short enough to be copied under the lock; that saves taking it again.
                // SAFETY: the payload holds `bytes` bytes.
                unsafe { buffer.unpack_from(block.address(), bytes) };
                state.pool.give_back(block);
            }
        }
        received(&outcome(&envelope, bytes), buffer.bytes)
    }

    /// Drains all rings on behalf of a receiver that sleeps.
    #[cold]
    pub(crate) fn drain_and_deliver(&self) {
        let mut state = self.lock();
        self.drain_rings(&mut state);
    }
}

pub(crate) fn outcome(envelope: &Envelope, bytes: u64) -> Outcome {
    Outcome { source: envelope.source, tag: envelope.tag, bytes, cancelled: false }
}

pub(crate) fn envelope_of(header: &Header) -> Envelope {
    Envelope { context: header.context, source: header.source, tag: header.tag }
}

/// Completes an operation that left matching, and frees its request if nobody will.
#[inline]
pub(crate) fn finish(operation: &Operation, envelope: &Envelope, bytes: u64) {
    if operation.complete(outcome(envelope, bytes)) {
        crate::requests::release_detached(operation);
    }
}
