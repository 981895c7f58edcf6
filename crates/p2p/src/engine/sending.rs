//! Sends: which way a message takes, and the ways that need no operation of the receiver's.
#![allow(unsafe_code)] // Passes on the promises for users' buffers.

use super::{Engine, finish};
use crate::endpoint::{Endpoint, Message, Payload, Reference};
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation};
use crate::reports::{checking, told};
use crate::way::{self, Call, Mode, Receiver, Way};
use std::sync::atomic::{Ordering, fence};
use weft_base::Result;
use weft_local::{Header, Ring};

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

impl Engine {
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
            match way::choose(&data.message(mode, call), &self.limits, Pair { engine: self, me, endpoint }) {
                way @ Way::Ring(ring) => {
                    let is_sent = self.push(me, endpoint, ring, envelope, data);
                    if is_sent {
                        told::sent(me.rank(), &envelope, &way, data.bytes);
                    }
                    is_sent
                }
                way @ Way::Offer(ring) => {
                    let is_sent = self.offer(me, endpoint, ring, envelope, *data);
                    if is_sent {
                        told::sent(me.rank(), &envelope, &way, data.bytes);
                    }
                    is_sent
                }
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
        let message = data.message(mode, call);
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
                told::met(target, &envelope, data.bytes);
                told::sent(me.rank(), &envelope, &way, data.bytes);
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
        told::sent(me.rank(), &envelope, &way, data.bytes);
        endpoint.announce_arrival();
        matches!(way, Way::Copy)
    }
}
