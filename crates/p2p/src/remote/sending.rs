//! How sends to ranks of other node processes start, and how receives get the data of such sends.
#![allow(unsafe_code)] // Passes on what the owners of operations promised.

use super::header::Address;
use super::memory::{Receiving, Sending};
use super::{Far, Remote, end, failed};
use crate::endpoint::{Endpoint, Reference};
use crate::engine::{Engine, Mode};
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation, note_loss};
use crate::reports::checking::Origin;
use weft_base::settings::is_checking;
use weft_post::{Client, Header, Permit};
use weft_transport::{Device, Node, Place, Refusal};

impl Remote {
    /// Receives what others leave to the calling thread, because it sends.
    #[inline]
    fn see_to_arrivals(&self) {
        if self.nodes().device().wants_poll() {
            self.nodes().poll();
        }
    }

    /// Returns the number of a rank that is here.
    fn number(&self, me: &Endpoint) -> u32 {
        self.nodes().places().of(me.rank()).index
    }
}

impl Engine {
    /// Sends to a rank of another node process; see [`Engine::deliver`].
    ///
    /// # Safety
    /// As [`Engine::start_send`].
    #[inline(never)]
    pub(crate) unsafe fn deliver_far(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        data: &Buffer,
        mode: Mode,
        operation: Option<&Operation>,
    ) -> bool {
        let remote = self.remote().expect("a rank that is not here is far");
        let place = remote.nodes().places().of(target);
        if is_checking()
            && let Some(origin) = Origin::written(data)
        {
            // SAFETY: the caller's promise.
            return unsafe { self.deliver_described(me, place, envelope, data, mode, operation, origin) };
        }
        let mut header = Address { target: place.index, envelope, is_described: false }.encode();
        if mode == Mode::Standard
            && let Some(permit) = remote.post.permit(place.node, data.bytes, 0)
        {
            let sent = if data.dense && data.bytes > 0 {
                // SAFETY: one block of so many bytes, by the caller's promise.
                permit.send(&mut header, unsafe {
                    core::slice::from_raw_parts(data.address, data.bytes as usize)
                })
            } else {
                // SAFETY: the caller's promise.
                unsafe { data.with_packed(|data| permit.send(&mut header, data)) }
            };
            let later = |operation| Sending::Whole(operation, 0);
            return self.after(permit, sent, &envelope, &header, operation, later);
        }
        let Some(operation) = operation else { return false };
        self.offer_far(me, place.node, header, operation, &[]);
        false
    }

    /// Goes on when the device has taken a short message or not; what it has no room for is sent `later`, or
    /// given back to a caller without operation. Returns whether it is sent.
    #[inline]
    pub(super) fn after(
        &self,
        permit: Permit<'_, Self>,
        sent: Result<(), Refusal>,
        envelope: &Envelope,
        header: &Header,
        operation: Option<&Operation>,
        later: impl FnOnce(Reference) -> Sending,
    ) -> bool {
        match (sent, operation) {
            (Ok(()), _) => {
                permit.go_on(self);
                self.far().see_to_arrivals();
                return true;
            }
            (Err(Refusal::Full), Some(operation)) => {
                let (to, operation) = (permit.to(), Reference::from(operation));
                permit.later(self, header, later(operation), operation);
                self.far().post.go_on_with(self, to);
                self.far().see_to_arrivals();
            }
            (Err(Refusal::Lost { reason }), Some(operation)) => {
                note_loss(&reason);
                end(operation, failed(envelope));
            }
            (Err(_), None) => permit.give_up(),
        }
        false
    }

    /// Offers the data of a send.
    pub(super) fn offer_far(
        &self,
        me: &Endpoint,
        to: Node,
        header: Header,
        operation: &Operation,
        note: &[u8],
    ) {
        let remote = self.far();
        let operation = Reference::from(operation);
        let data = Sending::Whole(operation, remote.number(me));
        remote.post.offer(self, to, header, data, note, operation);
    }

    /// Sends a message that is not short as an answer; see [`Device::answer`]. Returns whether it is sent. Only for who waits for its
    /// end: other sends may still be cancelled while nobody receives them.
    ///
    /// # Safety
    /// As [`Engine::start_send`].
    pub(crate) unsafe fn answer_far(&self, target: u32, envelope: Envelope, data: &Buffer) -> bool {
        if is_checking() || !data.dense {
            return false;
        }
        let remote = self.remote().expect("a rank that is not here is far");
        let place = remote.nodes().places().of(target);
        let header = Address { target: place.index, envelope, is_described: false }.encode();
        // SAFETY: a dense buffer's data is one block, which the sender leaves alone, by the caller's promise.
        let is_sent = remote.post.answer(place.node, header, unsafe { data.in_place() });
        if is_sent {
            remote.see_to_arrivals();
        }
        is_sent
    }

    /// Gets the data of a message that left matching into the buffer of `operation`, which completes now or later.
    ///
    /// # Safety
    /// The operation is in no queue, stays in place until it is complete, and its buffer is as promised for receives.
    #[cold]
    pub(crate) unsafe fn fetch(
        &self,
        me: &Endpoint,
        envelope: Envelope,
        bytes: u64,
        far: Far,
        operation: &Operation,
    ) {
        let remote = self.far();
        let wanted = bytes.min(operation.buffer().bytes);
        let mut room = Receiving { operation: operation.into(), rank: remote.number(me), envelope, bytes };
        if !far.offer.is_readable() || wanted == 0 {
            return remote.post.ask(self, far.node, &far.offer, room);
        }
        match remote.post.read(self, far.node, &far.offer, &mut room) {
            Ok(()) => self.filled(room),
            Err(refusal) => self.unfilled(room, Some(&refusal.to_string())),
        }
    }

    /// Asks for a send back, if its data has not been asked for. The peer's answer may complete it.
    pub(crate) fn cancel_far(&self, me: &Endpoint, target: u32, operation: &Operation) {
        let Some(remote) = self.remote() else { return };
        let Place { node, index } = remote.nodes().places().of(target);
        let is_it = |found: &Reference| core::ptr::eq(found.get(), operation);
        remote.post.withdraw(self, node, index, remote.number(me), is_it);
    }
}
