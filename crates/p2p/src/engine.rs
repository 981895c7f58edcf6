//! Sending and receiving between the ranks of a node process.
//!
//! # Ways of a message
//! [`way`] says which one a message takes; this is what each of them does.
//!
//! A sender that takes the lock of the target's [`Endpoint`] first drains its own ring to that target, so nothing it
//! sent earlier is behind. Then, if a posted receive matches, it takes that receive out of matching, lets go of the
//! lock, copies from user buffer to user buffer and completes the receive. Else the message is unexpected: a short
//! one is copied into memory of the library; a long or synchronous one leaves the address of its [`Operation`], and
//! whoever receives it copies from the sender's buffer and completes it (rendezvous: one copy).
//!
//! A rank that talks a lot with a rank on another core has a private ring to it for messages of up to
//! [`SLOTS`](way::SLOTS) bytes, which complete at once. Its threads take turns there, and who takes the target's lock drains the
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

use crate::endpoint::expected::Look;
use crate::endpoint::solo;
use crate::endpoint::{ENVELOPE, Endpoint, Message, Payload, Reference, State};
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation, Outcome, received};
use crate::remote::Remote;
use crate::reports::checking;
use crate::way::{self, Call, Limits, Mode, Receiver, Way};
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, fence};
use weft_base::abi::Status;
use weft_base::{Result, constants::*};
use weft_local::{Header, Ring};
use weft_sched::Thread;
use weft_sync::facade::pause;
use weft_sync::{LockGuard, Section};
use weft_transport::{Channel, Node, Nodes};

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

/// Describes what is sent, for the choice of its way.
#[inline(always)]
pub(crate) fn message(data: &Buffer, mode: Mode, call: Call) -> way::Message {
    way::Message { bytes: data.bytes, dense: data.dense, mode, call }
}

/// A rank and one that it sends to, in the same node process; nothing is known that the lock of the receiver guards.
struct Pair<'a> {
    engine: &'a Engine,
    me: &'a Endpoint,
    endpoint: &'a Endpoint,
}

impl way::State for Pair<'_> {
    type Ring = &'static Ring;
    type Receive = ();

    #[inline(always)]
    fn ring(&self) -> Option<&'static Ring> {
        self.me.ring_to(self.endpoint.rank()).filter(|_| !self.endpoint.is_asleep())
    }

    // Apart from the short messages' way.
    #[inline(never)]
    fn invites_offers(&self) -> bool {
        !self.endpoint.posted_hint() && weft_sched::look_again(0, self.engine.limits.spins)
    }

    #[inline(always)]
    fn receiver(&self) -> Receiver<()> {
        Receiver::Here
    }
}

/// What the lock of a receiver in the same node process has told.
struct Locked {
    receive: Option<Reference>,
    has_room: bool,
}

impl way::State for Locked {
    type Ring = ();
    type Receive = Reference;

    #[inline(always)]
    fn has_room(&self) -> bool {
        self.has_room
    }

    #[inline(always)]
    fn receiver(&self) -> Receiver<Reference> {
        self.receive.map_or(Receiver::Missing, Receiver::Posted)
    }
}

/// In place of the first rank when the ranks of a node process do not follow each other.
const SCATTERED: u32 = u32::MAX / 2;

/// All ranks of the job that live in this process.
pub struct Engine {
    /// Of the ranks here, in rank order.
    endpoints: Box<[Endpoint]>,
    /// The first rank if all ranks here follow each other, else more than there can be.
    first: u32,
    limits: Limits,
    remote: OnceLock<Remote>,
}

impl Engine {
    /// Creates the engine of a job of `ranks` ranks.
    pub fn new(ranks: u32, limits: Limits) -> Self {
        Self { endpoints: (0..ranks).map(Endpoint::new).collect(), first: 0, limits, remote: OnceLock::new() }
    }

    /// Creates the engine of the ranks that a node process holds of a job that has several, and serves the device's channel
    /// for messages of ranks.
    pub fn spread(nodes: &'static Nodes, limits: Limits) -> &'static Self {
        let ranks = nodes.places().ranks(nodes.node());
        let follow = ranks.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let first = if follow { ranks.first().copied().unwrap_or(0) } else { SCATTERED };
        let endpoints = ranks.iter().map(|&rank| Endpoint::new(rank)).collect();
        let remote = OnceLock::new();
        let engine: &'static Self = Box::leak(Box::new(Self { endpoints, first, limits, remote }));
        engine.spread_out(nodes);
        engine
    }

    /// Gives an engine that has none a way to other node processes, and serves the device's channel for messages of ranks.
    ///
    /// # Panics
    /// If it has one.
    pub fn spread_out(&'static self, nodes: &'static Nodes) {
        let remote = Remote::new(nodes, &self.limits);
        remote.belong(self);
        assert!(self.remote.set(remote).is_ok(), "the engine has a way to other node processes already");
        nodes.serve(Channel::POINT_TO_POINT, self);
    }

    /// Returns the way to other node processes, if there are any.
    #[inline]
    pub(crate) fn remote(&self) -> Option<&Remote> {
        self.remote.get()
    }

    /// Returns the endpoints of the ranks here.
    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Lets messages of other node processes in, and others out.
    #[inline]
    pub(crate) fn poll_nodes(&self) -> bool {
        self.remote().is_some_and(|remote| remote.nodes().poll())
    }

    /// Returns the endpoint of a rank of the job if it is here.
    #[inline]
    pub(crate) fn local(&self, rank: u32) -> Option<&Endpoint> {
        // One comparison tells both where it is and whether.
        match self.endpoints.get(rank.wrapping_sub(self.first) as usize) {
            Some(endpoint) => Some(endpoint),
            None if self.first == SCATTERED => self.local_of_scattered(rank),
            None => None,
        }
    }

    /// Tells whether a receive may wait for a message of a node process that is lost.
    #[inline]
    pub(crate) fn is_in_vain(&self, pattern: &Envelope) -> bool {
        self.remote().is_some_and(|remote| remote.is_in_vain(pattern))
    }

    /// Tells whether a node process of this job is lost, which ends the job.
    pub fn has_lost_others(&self) -> bool {
        self.remote().is_some_and(Remote::has_lost_own)
    }

    /// Gives credit back for a message from another node process, if it is from there.
    #[inline(always)]
    fn give_back(&self, from: Option<Node>, bytes: u64) {
        if let Some(from) = from {
            self.give_back_to(from, bytes);
        }
    }

    #[inline(never)]
    fn local_of_scattered(&self, rank: u32) -> Option<&Endpoint> {
        let nodes = self.remote()?.nodes();
        let place = nodes.places().of(rank);
        (place.node == nodes.node()).then(|| &self.endpoints[place.index as usize])
    }

    /// Makes a thread the rank's own thread.
    pub fn attach(&'static self, rank: u32, thread: &'static Thread) -> &'static Endpoint {
        let endpoint = self.endpoint(rank);
        endpoint.set_owner(thread);
        endpoint
    }

    /// Returns the endpoint of a rank of this node process.
    ///
    /// # Panics
    /// If there is no such rank here.
    #[inline]
    pub fn endpoint(&self, rank: u32) -> &Endpoint {
        self.local(rank).expect("the rank of another node process has no endpoint here")
    }

    /// Tells whether a rank of the job is on this node process.
    #[inline]
    pub fn is_local(&self, rank: u32) -> bool {
        self.local(rank).is_some()
    }

    /// Returns the bounds of the protocols.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Sends, and returns when the buffer may be used again (and, in synchronous mode, the receive has started).
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED`: the node process of the target is lost.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`], for reading; `me` is an endpoint of this engine.
    #[inline]
    pub unsafe fn send(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        data: Buffer,
        mode: Mode,
    ) -> Result {
        // SAFETY: the caller's promise.
        unsafe {
            let Some(endpoint) = self.local(target) else {
                return self.send_far(me, target, envelope, data, mode);
            };
            if self.is_sent_by_ring(me, endpoint, envelope, &data, mode, Call::Waits) {
                return Ok(());
            }
            self.send_by_lock(me, target, envelope, data, mode)
        }
    }

    /// Sends by the private ring of the pair, if that is the way of the message. Returns whether it is sent; if not, nothing has
    /// been done.
    ///
    /// # Safety
    /// As [`Engine::send`].
    #[inline]
    unsafe fn is_sent_by_ring(
        &self,
        me: &Endpoint,
        endpoint: &Endpoint,
        envelope: Envelope,
        data: &Buffer,
        mode: Mode,
        call: Call,
    ) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            match way::choose(&message(data, mode, call), &self.limits, Pair { engine: self, me, endpoint }) {
                Way::Ring(ring) => self.push(me, endpoint, ring, envelope, data),
                Way::Offer(ring) => self.offer(me, endpoint, ring, envelope, *data),
                _ => false,
            }
        }
    }

    /// Sends to a rank of another node process.
    #[inline(never)]
    unsafe fn send_far(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        data: Buffer,
        mode: Mode,
    ) -> Result {
        checking::before_send(me, &data);
        let mode = checking::mode(mode, &envelope);
        // SAFETY: the caller's promise.
        unsafe {
            if self.carry_far(me, target, envelope, &data, mode, Call::Waits, None) {
                return Ok(());
            }
            self.send_far_and_wait(me, target, envelope, data, mode)
        }
    }

    #[inline(never)]
    unsafe fn send_far_and_wait(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        data: Buffer,
        mode: Mode,
    ) -> Result {
        let operation = Operation::new(data);
        // SAFETY: the caller's promise; the operation stays here until it is complete.
        if unsafe { self.deliver_far(me, target, envelope, &data, mode, Some(&operation)) } {
            return Ok(());
        }
        self.wait(me, &operation);
        operation.outcome().sent()
    }

    #[inline(never)]
    unsafe fn send_by_lock(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        data: Buffer,
        mode: Mode,
    ) -> Result {
        checking::before_send(me, &data);
        let mode = checking::mode(mode, &envelope);
        // SAFETY: the caller's promise; the operation stays here until it is complete.
        unsafe {
            if data.bytes > self.limits.eager || !self.deliver(me, target, envelope, &data, mode, None) {
                let operation = Operation::new(data);
                if !self.deliver(me, target, envelope, &data, mode, Some(&operation)) {
                    self.wait(me, &operation);
                    return operation.outcome().sent();
                }
            }
        }
        Ok(())
    }

    /// Puts a short message into the ring of the pair, if there is room.
    ///
    /// # Safety
    /// As [`Engine::send`]; the data fits the ring.
    #[inline]
    unsafe fn push(
        &self,
        me: &Endpoint,
        endpoint: &Endpoint,
        ring: &Ring,
        envelope: Envelope,
        data: &Buffer,
    ) -> bool {
        let header = Header::new(envelope.context, envelope.source(), envelope.tag(), data.bytes as u32);
        // SAFETY: the payload is as promised.
        if !unsafe { me.push_into(ring, header, data.address) } {
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
            match self.local(target) {
                Some(endpoint) => {
                    self.is_sent_by_ring(me, endpoint, envelope, data, Mode::Standard, Call::Tries)
                        || self.deliver(me, target, envelope, data, Mode::Standard, None)
                }
                None => self.deliver_far(me, target, envelope, data, Mode::Standard, None),
            }
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
        let Some(endpoint) = self.local(target) else {
            // SAFETY: the caller's promise.
            return unsafe { self.deliver_far(me, target, envelope, data, mode, operation) };
        };
        let call = if operation.is_some() { Call::Starts } else { Call::Tries };
        let message = message(data, mode, call);
        if message.is_worth_ring(&self.limits) {
            me.note_traffic(endpoint, self.limits.rings);
        }
        let mut state = endpoint.lock();
        if let Some(ring) = endpoint.ring_from(me.rank()) {
            endpoint.drain_ring(&mut state, ring);
        }
        let receive = state.posted.take(&envelope).map(|(_, receive)| receive);
        let has_room = state.unexpected_bytes < self.limits.unexpected;
        let way = way::choose(&message, &self.limits, Locked { receive, has_room });
        match (way, operation) {
            (Way::Direct(receive), _) => {
                endpoint.note_posted(&state);
                drop(state);
                let receive = receive.get();
                checking::on_delivery(target, &envelope, data, receive);
                // SAFETY: both buffers are as their owners promised; the receive is ours since it left the queue.
                unsafe { receive.copy(data, &receive.buffer()) };
                finish(receive, &envelope, data.bytes);
                return true;
            }
            (Way::Copy, _) => {
                // SAFETY: the data is as promised; the payload has room for it.
                let payload = unsafe { state.pool.store(None, data.bytes, |out| data.pack_into(out)) };
                let mut message = Message { bytes: data.bytes, payload };
                message.describe(data);
                state.unexpected_bytes += message.payload.cost();
                endpoint.add_unexpected(&mut state, envelope, message);
            }
            (Way::Reference, Some(operation)) => {
                let mut message = Message { bytes: data.bytes, payload: Payload::Sender(operation.into()) };
                message.describe(data);
                let position = endpoint.add_unexpected(&mut state, envelope, message);
                operation.set_position(Some(position));
            }
            _ => return false,
        }
        drop(state);
        endpoint.announce_arrival();
        matches!(way, Way::Copy)
    }

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
                self.wait(me, &operation);
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
                engine.wait(self, &operation);
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

pub(crate) fn outcome(envelope: &Envelope, bytes: u64) -> Outcome {
    Outcome::received(envelope.source(), envelope.tag(), bytes)
}

pub(crate) fn envelope_of(header: &Header) -> Envelope {
    Envelope::new(header.context(), header.source(), header.tag())
}

/// Completes an operation that left matching, and frees its request if nobody will.
#[inline]
pub(crate) fn finish(operation: &Operation, envelope: &Envelope, bytes: u64) {
    finish_in(operation, envelope, bytes, &Section::outside());
}

/// As [`finish`], without an atomic operation inside a section.
#[inline]
pub(crate) fn finish_in(operation: &Operation, envelope: &Envelope, bytes: u64, section: &Section<'_>) {
    if operation.complete_in(outcome(envelope, bytes), section) {
        crate::requests::release_detached(operation);
    }
}
