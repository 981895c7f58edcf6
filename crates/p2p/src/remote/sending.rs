//! How sends to ranks of other node processes start, and how receives get the data of such sends.
#![allow(unsafe_code)] // Passes on what the owners of operations promised.

use super::header::Address;
use super::memory::{Receiving, Sending};
use super::{Far, Remote, end, failed};
use crate::endpoint::{Endpoint, Reference};
use crate::engine::Engine;
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation, note_loss};
use crate::reports::checking::Origin;
use crate::reports::told;
use crate::way::{self, Call, Mode, Receiver, Way};
use weft_base::settings::is_checking;
use weft_post::{Client, Header, Permit, Towards};
use weft_transport::{Node, Place, Refusal, Tuning};

/// The node process of a receiver, as a choice of ways sees it.
pub(super) struct Apart<'a> {
    pub towards: Towards<'a, Engine>,
    /// How many bytes go in front of the data.
    pub note: u64,
}

impl<'a> Apart<'a> {
    /// Returns the right to send a message for which the choice has taken credit.
    #[inline(always)]
    pub fn permit(&self, bytes: u64) -> Permit<'a, Engine> {
        self.towards.permit(bytes, self.note)
    }
}

impl way::State for &Apart<'_> {
    type Ring = ();
    type Receive = ();

    #[inline(always)]
    fn eager(&self) -> u64 {
        self.towards.short()
    }

    #[inline(always)]
    fn takes_answers(&self) -> bool {
        self.towards.takes_answers()
    }

    #[inline(always)]
    fn takes_credit(&self, bytes: u64) -> bool {
        self.towards.takes_credit(bytes, self.note)
    }

    #[inline(always)]
    fn receiver(&self) -> Receiver<()> {
        Receiver::Apart
    }
}

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
        let call = if operation.is_some() { Call::Starts } else { Call::Tries };
        // SAFETY: the caller's promise.
        unsafe { self.carry_far(me, target, envelope, data, mode, call, operation) }
    }

    /// Sends a message its way to another node process; see [`Engine::deliver`].
    ///
    /// # Safety
    /// As [`Engine::start_send`].
    #[inline(always)]
    pub(crate) unsafe fn carry_far(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        data: &Buffer,
        mode: Mode,
        call: Call,
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
        let apart = Apart { towards: remote.post.towards(place.node), note: 0 };
        let way = way::choose(&data.message(mode, call), self.limits(), &apart);
        match (way, operation) {
            (Way::Eager, _) => {
                let permit = apart.permit(data.bytes);
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
                if sent.is_ok() || operation.is_some() {
                    told::sent(me.rank(), &envelope, &way, data.bytes);
                }
                return self.after(permit, sent, &envelope, &header, operation, later);
            }
            (Way::Answer, _) => {
                // SAFETY: the caller's promise; what goes as an answer is one block.
                let is_sent = unsafe { self.answer_far(&apart, header, data) };
                if is_sent {
                    told::sent(me.rank(), &envelope, &way, data.bytes);
                }
                return is_sent;
            }
            (Way::Request, Some(operation)) => {
                told::sent(me.rank(), &envelope, &way, data.bytes);
                if mode == Mode::Standard && data.bytes <= apart.towards.short() {
                    told::lacked_credit(me.rank());
                }
                self.offer_far(me, place.node, header, operation, &[]);
            }
            _ => {}
        }
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

    /// Sends a message that is not short as an answer, for which credit was taken; see [`Tuning::answer`]. Returns whether it is sent.
    /// Only for who waits for its end: other sends may still be cancelled while nobody receives them.
    ///
    /// # Safety
    /// As [`Engine::start_send`], and the data is one block.
    #[inline(never)]
    unsafe fn answer_far(&self, apart: &Apart<'_>, header: Header, data: &Buffer) -> bool {
        // SAFETY: the caller's promise; the sender leaves its data alone.
        let is_sent = apart.permit(data.bytes).answer(header, unsafe { data.in_place() });
        if is_sent {
            self.far().see_to_arrivals();
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
