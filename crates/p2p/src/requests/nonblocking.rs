//! Starting operations that outlive the call: nonblocking, persistent, and pairs of a send and a receive.
#![allow(unsafe_code)]

use crate::buffered::Scopes;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation, Outcome};
use crate::probe::Matched;
use crate::reports::checking;
use crate::requests::{
    COMPLETED_COLLECTIVE, COMPLETED_SEND, Content, Kind, Rare, Recipe, Slot, release_detached,
};
use crate::way::{Call, Mode};
use weft_base::constants::*;
use weft_base::settings::is_checking;
use weft_base::{Error, Result, abi};
use weft_datatype::Datatype;

/// What a receive from `MPI_PROC_NULL` gives.
pub(crate) const NOTHING: Outcome = Outcome::received(MPI_PROC_NULL, MPI_ANY_TAG, 0);

/// What a cancelled send gives.
pub(crate) const SEND_CANCELLED: Outcome = Outcome::cancelled(MPI_PROC_NULL, MPI_ANY_TAG);

/// The other side of a persistent operation.
#[derive(Clone, Copy)]
pub enum Persistent {
    /// `MPI_Send_init`, `MPI_Ssend_init`, `MPI_Rsend_init`.
    Send {
        /// The target's rank in the job.
        target: u32,
        /// The envelope.
        envelope: Envelope,
        /// The mode.
        mode: Mode,
    },
    /// `MPI_Bsend_init`.
    Buffered {
        /// The target's rank in the job.
        target: u32,
        /// The envelope.
        envelope: Envelope,
        /// Where buffer space may come from.
        scopes: Scopes,
    },
    /// `MPI_Recv_init`.
    Receive {
        /// Which messages it takes.
        pattern: Envelope,
    },
    /// A send to `MPI_PROC_NULL`.
    NothingSent,
    /// A receive from `MPI_PROC_NULL`.
    NothingReceived,
}

/// Returns the error of cancelling a collective operation.
#[cold]
pub fn collective_cancelled() -> Error {
    let text = "request is a collective operation, which cannot be cancelled; complete it instead";
    Error::new(MPI_ERR_REQUEST, text)
}

impl Engine {
    /// Starts a send. `datatype` keeps the buffer's type alive if the program may free it.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`], for reading, except that `datatype`, if given, need not outlive the call.
    pub unsafe fn isend(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        data: Buffer,
        datatype: Option<Datatype>,
        mode: Mode,
        comm: abi::Comm,
    ) -> abi::Request {
        let message = data.message(mode, Call::Tries);
        if !is_checking() && message.may_end_at_once(self.limits(), || self.is_local(target)) {
            // The usual case is complete at once and needs no request: look before making one.
            // SAFETY: the caller's promise.
            if unsafe { self.send_if_eager(me, target, envelope, &data) } {
                return COMPLETED_SEND;
            }
        }
        let kind = Kind::Send { target, tag: envelope.tag(), mode };
        let slot = me.requests().create(Content::new(kind, comm, datatype), data, true);
        let handle = slot.handle();
        // SAFETY: slots stay in place.
        unsafe { self.start_send_slot(me, target, envelope, slot, mode) };
        handle
    }

    unsafe fn start_send_slot(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        slot: &Slot,
        mode: Mode,
    ) {
        let mode = checking::mode(mode, &envelope);
        // SAFETY: slots stay in place; the buffer is as promised.
        if unsafe { self.start_send(me, target, envelope, &slot.operation, mode) } {
            slot.operation.complete_unshared(Outcome::SENT);
        }
    }

    /// Starts a receive. `datatype` as in [`Engine::isend`].
    ///
    /// # Safety
    /// The promise of [`Buffer::new`], for writing, except that `datatype`, if given, need not outlive the call.
    #[inline(always)]
    pub unsafe fn irecv(
        &self,
        me: &Endpoint,
        pattern: Envelope,
        buffer: Buffer,
        datatype: Option<Datatype>,
        comm: abi::Comm,
    ) -> abi::Request {
        let slot = match datatype {
            None if !is_checking() => me.requests().create_bare(Kind::Receive, comm, buffer),
            kept => me.requests().create(Content::new(Kind::Receive, comm, kept), buffer, true),
        };
        let handle = slot.handle();
        // SAFETY: slots stay in place.
        unsafe { self.start_receive(me, pattern, &slot.operation) };
        handle
    }

    /// Returns a request that is complete: a send to `MPI_PROC_NULL`, or one whose data has been copied.
    pub fn nothing_sent() -> abi::Request {
        COMPLETED_SEND
    }

    /// Makes a request that is complete: a receive from `MPI_PROC_NULL`.
    pub fn nothing_received(&self, me: &Endpoint, comm: abi::Comm) -> abi::Request {
        // SAFETY: no bytes at no address.
        let buffer = unsafe { Buffer::dense(core::ptr::null_mut(), 0) };
        let slot = me.requests().create(Content::new(Kind::Receive, comm, None), buffer, true);
        slot.operation.complete_unshared(NOTHING);
        slot.handle()
    }

    /// Receives a message taken out of matching, behind a request that is complete.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`], for writing.
    pub unsafe fn imrecv(&self, me: &Endpoint, mut matched: Matched, buffer: Buffer) -> abi::Request {
        let (comm, outcome) = (matched.comm, matched.outcome());
        let slot = me.requests().create(Content::new(Kind::Receive, comm, None), buffer, true);
        matched.undescribe(me, &buffer);
        if let Some((envelope, bytes, far)) = matched.far() {
            let handle = slot.handle();
            // SAFETY: the caller's promise; slots stay in place.
            unsafe { self.fetch(me, envelope, bytes, far, &slot.operation) };
            return handle;
        }
        // SAFETY: the caller's promise. The error, if any, is found again in the outcome.
        let _ = unsafe { self.mrecv(me, matched, &buffer) };
        slot.operation.complete_unshared(outcome);
        slot.handle()
    }

    /// Starts a send and a receive behind one request. The send is from `packed` if that is given, which then holds
    /// the data of the send buffer. Either side may be absent (`MPI_PROC_NULL`).
    ///
    /// # Safety
    /// As [`Engine::isend`] and [`Engine::irecv`].
    pub unsafe fn isendrecv(
        &self,
        me: &Endpoint,
        send: Option<(u32, Envelope, Buffer, Option<Datatype>)>,
        packed: Option<Box<[u8]>>,
        receive: Option<(Envelope, Buffer, Option<Datatype>)>,
        comm: abi::Comm,
    ) -> abi::Request {
        // SAFETY: no bytes at no address.
        let empty = unsafe { Buffer::dense(core::ptr::null_mut(), 0) };
        let (target, envelope, mut data, datatype) =
            send.unwrap_or((u32::MAX, Envelope::new(0, 0, 0), empty, None));
        if let Some(packed) = &packed {
            // SAFETY: the box moves into the slot, its memory stays.
            data = unsafe { Buffer::dense(packed.as_ptr().cast_mut(), packed.len() as u64) };
        }
        let rare = packed.map(|packed| Box::new(Rare { _packed: Some(packed), recipe: None }));
        let kind = Kind::Send { target, tag: envelope.tag(), mode: Mode::Standard };
        let sender = Content { rare, ..Content::new(kind, comm, datatype) };
        let sender = me.requests().create(sender, data, true);
        let kind = Kind::Pair { send: sender.index() };
        let (pattern, buffer, datatype) = match receive {
            Some((pattern, buffer, datatype)) => (Some(pattern), buffer, datatype),
            None => (None, empty, None),
        };
        let slot = me.requests().create(Content::new(kind, comm, datatype), buffer, true);
        let handle = slot.handle();
        match pattern {
            // SAFETY: slots stay in place.
            Some(pattern) => unsafe { self.start_receive(me, pattern, &slot.operation) },
            None => slot.operation.complete_unshared(NOTHING),
        }
        if target == u32::MAX {
            sender.operation.complete_unshared(NOTHING);
        } else {
            // SAFETY: slots stay in place.
            unsafe { self.start_send_slot(me, target, envelope, sender, Mode::Standard) };
        }
        handle
    }

    /// Sends and receives, and returns the status of the receive.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE`, beside the status.
    ///
    /// # Safety
    /// As [`Engine::send`] and [`Engine::receive`].
    pub unsafe fn sendrecv(
        &self,
        me: &Endpoint,
        send: Option<(u32, Envelope, Buffer)>,
        receive: Option<(Option<u32>, Envelope, Buffer)>,
    ) -> (abi::Status, Result) {
        let mut waiting = None;
        let operation;
        if let Some((target, envelope, data)) = send {
            checking::before_send(me, &data);
            // SAFETY: the caller's promise; `operation` stays here until it is complete.
            unsafe {
                if data.bytes() > self.limits().eager || !self.send_if_eager(me, target, envelope, &data) {
                    operation = Operation::new(data);
                    if !self.start_send(me, target, envelope, &operation, Mode::Standard) {
                        waiting = Some(&operation);
                    }
                }
            }
        }
        let result = match receive {
            // SAFETY: the caller's promise.
            Some((source, pattern, buffer)) => unsafe { self.receive(me, source, pattern, buffer) },
            None => (crate::operation::received(&NOTHING, 0).0, Ok(())),
        };
        if let Some(operation) = waiting {
            self.wait(me, operation);
            if let Err(error) = operation.outcome().sent() {
                return (result.0, result.1.and(Err(error)));
            }
        }
        result
    }

    /// Prepares a persistent operation and returns its inactive request.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`] for every time it is active; `datatype` as in [`Engine::isend`].
    pub unsafe fn persistent(
        &self,
        me: &Endpoint,
        operation: Persistent,
        buffer: Buffer,
        datatype: Option<Datatype>,
        comm: abi::Comm,
    ) -> abi::Request {
        let (kind, recipe) = match operation {
            Persistent::Send { target, envelope, mode } => {
                (Kind::Send { target, tag: envelope.tag(), mode }, Recipe::Send { target, envelope, mode })
            }
            Persistent::Buffered { target, envelope, scopes } => {
                let kind = Kind::Send { target, tag: envelope.tag(), mode: Mode::Standard };
                (kind, Recipe::Buffered { target, envelope, scopes })
            }
            Persistent::Receive { pattern } => (Kind::Receive, Recipe::Receive { pattern }),
            Persistent::NothingSent => {
                (Kind::Send { target: u32::MAX, tag: 0, mode: Mode::Standard }, Recipe::Nothing)
            }
            Persistent::NothingReceived => (Kind::Receive, Recipe::Nothing),
        };
        let rare = Some(Box::new(Rare { _packed: None, recipe: Some((recipe, buffer)) }));
        let content = Content { rare, ..Content::new(kind, comm, datatype) };
        me.requests().create(content, buffer, false).handle()
    }

    /// Starts a persistent request.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` if it cannot be started now, `MPI_ERR_BUFFER` if a buffered send finds no space.
    pub fn start(&self, me: &Endpoint, handle: abi::Request) -> Result {
        let slot = me.requests().activate(handle)?;
        if let Kind::Work(work) = &slot.content().kind {
            return work.start().inspect_err(|_| me.requests().deactivate(slot));
        }
        let Some((recipe, buffer)) = slot.content().rare.as_ref().and_then(|rare| rare.recipe) else {
            return Err(Error::new(MPI_ERR_REQUEST, "request is not persistent"));
        };
        slot.operation.reset(buffer);
        if is_checking() {
            me.requests().note_begin(slot, buffer);
        }
        // SAFETY: the promise of `persistent`; slots stay in place.
        unsafe {
            match recipe {
                Recipe::Send { target, envelope, mode } => {
                    self.start_send_slot(me, target, envelope, slot, mode);
                }
                Recipe::Receive { pattern } => self.start_receive(me, pattern, &slot.operation),
                Recipe::Nothing => slot.operation.complete_unshared(NOTHING),
                Recipe::Buffered { target, envelope, scopes } => {
                    let sent = self.send_buffered(me, target, envelope, buffer, scopes);
                    slot.operation.complete_unshared(NOTHING);
                    return sent.inspect_err(|_| me.requests().deactivate(slot));
                }
            }
        }
        Ok(())
    }

    /// Marks a request for cancellation: a receive that is not matched, and a send whose data nobody has taken, end
    /// as cancelled; others end as if nothing had been said.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    pub fn cancel(&self, me: &Endpoint, handle: abi::Request) -> Result {
        match handle {
            COMPLETED_SEND => return Ok(()),
            COMPLETED_COLLECTIVE => return Err(collective_cancelled()),
            _ => {}
        }
        let slot = me.requests().find(handle)?;
        if !me.requests().is_active(handle)? {
            let text = format!("is {:#x}, which is inactive; there is nothing to cancel", handle.0);
            return Err(Error::handle(weft_base::handle::Kind::Request, handle.0, text));
        }
        match &slot.content().kind {
            Kind::Work(work) => return work.cancel(),
            Kind::Receive => _ = self.cancel_receive(me, &slot.operation),
            Kind::Send { target, .. } if *target != u32::MAX => {
                self.cancel_send(me, *target, &slot.operation)
            }
            Kind::Send { .. } => {}
            // Whatever was not matched yet, so that the completing call need not wait for others.
            Kind::Pair { send } => {
                let send = me.requests().slot(*send as usize).expect("the pair's send");
                self.cancel_receive(me, &slot.operation);
                if let Kind::Send { target, .. } = send.content().kind
                    && target != u32::MAX
                {
                    self.cancel_send(me, target, &send.operation);
                }
            }
        }
        Ok(())
    }

    fn cancel_send(&self, me: &Endpoint, target: u32, operation: &Operation) {
        let Some(endpoint) = self.local(target) else { return self.cancel_far(me, target, operation) };
        let mut state = endpoint.lock();
        if operation.is_done() {
            return;
        }
        let Some(position) = operation.position() else { return };
        if state.unexpected.remove(position).is_none() {
            return;
        }
        endpoint.note_unexpected(&state);
        drop(state);
        if operation.complete(SEND_CANCELLED) {
            release_detached(operation);
        }
    }
}
