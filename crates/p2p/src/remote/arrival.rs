//! What arrives from other node processes, and the end of what was started.
#![allow(unsafe_code)] // Copies into the buffers of receives.

use super::header::Address;
use super::memory::{Collected, Receiving, Sending};
use super::{Far, described, end, failed};
use crate::endpoint::solo;
use crate::endpoint::{Endpoint, Message, Payload, Reference, State};
use crate::engine::{Engine, finish, finish_in, outcome};
use crate::matching::Envelope;
use crate::operation::{Outcome, note_loss};
use crate::reports::checking::{self, Origin, WRITTEN};
use crate::reports::told;
use crate::requests::nonblocking::SEND_CANCELLED;
use std::sync::atomic::Ordering;
use weft_post::{Client, Costs, Credit, Nonsense, Offer, Post, Reception, Sections, Words};
use weft_sync::{LockGuard, Section};
use weft_transport::{Arriving, Channel, Handler, Node, Placement};

type Heard<T = ()> = Result<T, Nonsense>;

/// A short message that is all there.
enum Whole<'a> {
    /// In memory of the device's.
    Present(&'a [u8]),
    /// In memory of our own, with so many bytes.
    Aside(Collected, usize),
}

impl Whole<'_> {
    fn data(&self) -> &[u8] {
        match self {
            Self::Present(data) => data,
            // SAFETY: the block was made for as many bytes, and the device has written all of them.
            Self::Aside(collected, bytes) => unsafe {
                core::slice::from_raw_parts(collected.block().address(), *bytes)
            },
        }
    }
}

/// The sections of a process with one rank: see [`solo`].
pub enum Solo {}

impl Sections for Solo {
    #[inline(always)]
    fn enter() -> Section<'static> {
        solo::enter()
    }

    #[inline(always)]
    fn meet() {
        solo::meet();
    }
}

impl Client for Engine {
    type Data = Sending;
    type Room = Receiving;
    type Then = Reference;
    type Aside = Collected;
    type Sections = Solo;

    const TELLS: bool = false;
    const EMPTY_COSTS: bool = true;
    const MOST_NOTE: u64 = WRITTEN as u64;

    #[inline(always)]
    fn arrive(&self, from: Node, header: Words<'_>, data: &[u8], costs: Costs<'_, Self>) -> Heard<Reception> {
        let Address { target, envelope, is_described } = Address::decode(header)?;
        let endpoint = self.rank_here(target)?;
        if is_described {
            self.arrive_described(endpoint, from, envelope, data, costs.credit())?;
            return Ok(Reception::Taken);
        }
        // What most messages are: awaited by this thread.
        let expected = endpoint.take_expected(&envelope);
        let section = solo::enter();
        let receive = match expected.map_or_else(|| endpoint.take_posted(&envelope, &section), Ok) {
            Ok(receive) => receive.get(),
            Err(state) => {
                drop(section);
                self.keep(endpoint, state, from, envelope, Whole::Present(data), None);
                return Ok(Reception::Taken);
            }
        };
        let bytes = data.len() as u64;
        told::met(endpoint.rank(), &envelope, bytes);
        // SAFETY: the receive is ours, since it left matching or is that of this thread; its buffer is as promised.
        unsafe { receive.buffer().unpack_from(data.as_ptr(), bytes) };
        let reception = if expected.is_some() {
            receive.complete_unshared(outcome(&envelope, bytes));
            Reception::Served
        } else {
            finish_in(receive, &envelope, bytes, &section);
            Reception::Taken
        };
        let owes_much = costs.used(&section);
        drop(section);
        if owes_much {
            self.far().post.give_back(self, from);
        }
        Ok(reception)
    }

    fn offered(&self, from: Node, header: Words<'_>, offer: Offer, note: &[u8]) -> Heard {
        let Address { target, envelope, is_described } = Address::decode(header)?;
        let endpoint = self.rank_here(target)?;
        let (origin, rest) = if is_described { described::split(note)? } else { (None, note) };
        if !rest.is_empty() {
            return Err(Nonsense("data with a message that has none"));
        }
        self.arrive_offer(endpoint, envelope, Far { node: from, offer }, origin);
        Ok(())
    }

    fn room_for(&self, from: Node, header: Words<'_>, bytes: u64) -> Heard<Option<Receiving>> {
        _ = from;
        let Address { target, envelope, is_described } = Address::decode(header)?;
        let endpoint = self.rank_here(target)?;
        if is_described {
            return Ok(None);
        }
        let takes = |receive: Reference| receive.get().buffer().dense;
        let taken = endpoint.take_expected_if(&envelope, takes).or_else(|| {
            let mut state = endpoint.lock();
            let is_dense = state.posted.peek(&envelope).is_some_and(|(_, receive)| takes(*receive));
            let (_, receive) = is_dense.then(|| state.posted.take(&envelope)).flatten()?;
            endpoint.note_posted(&state);
            Some(receive)
        });
        if taken.is_some() {
            told::met(endpoint.rank(), &envelope, bytes);
        }
        Ok(taken.map(|operation| Receiving { operation, rank: target, envelope, bytes }))
    }

    fn arrive_aside(
        &self,
        from: Node,
        header: Words<'_>,
        aside: Collected,
        bytes: u64,
        credit: Credit,
    ) -> Heard {
        let Address { target, envelope, is_described } = Address::decode(header)?;
        let endpoint = self.rank_here(target)?;
        let whole = Whole::Aside(aside, bytes as usize);
        if is_described {
            return self.arrive_described(endpoint, from, envelope, whole.data(), credit);
        }
        self.arrive_eager(endpoint, from, envelope, whole, None);
        Ok(())
    }

    fn give_up_offer(&self, from: Node, target: u32, name: u64) -> Heard<bool> {
        let endpoint = self.rank_here(target)?;
        let mut state = endpoint.lock();
        let is_it = |_: &Envelope, message: &Message| matches!(message.payload.plain(), Payload::Far(far) if far.node == from && far.offer.name() == name);
        let is_found = state.unexpected.take_where(is_it).is_some();
        if is_found {
            endpoint.note_unexpected(&state);
        }
        Ok(is_found)
    }

    fn sent(&self, operation: Reference) {
        end(operation.get(), Outcome::SENT);
    }

    fn withdrawn(&self, operation: Reference) {
        end(operation.get(), SEND_CANCELLED);
    }

    fn filled(&self, room: Receiving) {
        finish(room.operation.get(), &room.envelope, room.bytes);
    }

    fn unsent(&self, operation: Reference) {
        end(operation.get(), failed(&Envelope::new(0, 0, 0)));
    }

    fn unfilled(&self, room: Receiving, why: Option<&str>) {
        if let Some(why) = why {
            note_loss(why);
        }
        end(room.operation.get(), failed(&room.envelope));
    }

    fn lost(&self, peer: Node, reason: &str) {
        let remote = self.far();
        note_loss(reason);
        remote.lost.lock().push(peer);
        remote.any_lost.store(true, Ordering::SeqCst);
        self.endpoints().iter().for_each(|endpoint| self.fail_posted(endpoint));
    }
}

impl Engine {
    #[inline(always)]
    fn rank_here(&self, index: u32) -> Heard<&Endpoint> {
        self.endpoints().get(index as usize).ok_or(Nonsense("a rank that is not here"))
    }

    /// Takes a short message that says what it is, and has cost `credit`.
    #[cold]
    #[inline(never)]
    fn arrive_described(
        &self,
        endpoint: &Endpoint,
        from: Node,
        envelope: Envelope,
        payload: &[u8],
        credit: Credit,
    ) -> Heard {
        let (origin, data) = described::split(payload)?;
        // What it says is used; what its data has cost is given back like that of other messages.
        let post = &self.far().post;
        post.used(self, from, credit.beyond(Post::<Self>::cost(data.len() as u64)));
        self.arrive_eager(endpoint, from, envelope, Whole::Present(data), origin);
        Ok(())
    }

    /// Takes a short message; of one that says what it is `origin` is that.
    fn arrive_eager(
        &self,
        endpoint: &Endpoint,
        from: Node,
        envelope: Envelope,
        whole: Whole<'_>,
        origin: Option<Origin>,
    ) {
        let expected = endpoint.take_expected(&envelope);
        let receive = match expected.map_or_else(|| endpoint.take_posted(&envelope, &Section::outside()), Ok)
        {
            Ok(receive) => receive.get(),
            Err(state) => return self.keep(endpoint, state, from, envelope, whole, origin),
        };
        let bytes = whole.data().len() as u64;
        checking::on_arrival(endpoint.rank(), &envelope, origin.as_ref(), receive);
        told::met(endpoint.rank(), &envelope, bytes);
        // SAFETY: matching has given the receive to this thread, or the thread posted none; its buffer is as promised.
        unsafe { receive.buffer().unpack_from(whole.data().as_ptr(), bytes) };
        drop(whole);
        if expected.is_some() {
            receive.complete_unshared(outcome(&envelope, bytes));
        } else {
            finish(receive, &envelope, bytes);
        }
        self.give_back_to(from, bytes);
    }

    /// Keeps a short message that nobody has posted a receive for, as has been seen under the lock.
    #[inline(never)]
    fn keep(
        &self,
        endpoint: &Endpoint,
        mut state: LockGuard<'_, State>,
        from: Node,
        envelope: Envelope,
        whole: Whole<'_>,
        origin: Option<Origin>,
    ) {
        let bytes = whole.data().len() as u64;
        let payload = match whole {
            Whole::Aside(collected, _) if collected.block().is_large() => {
                Payload::Pooled(Some(from), collected.into_block())
            }
            whole => {
                let data = whole.data();
                let fill = |out| {
                    // SAFETY: the payload has room for the data.
                    unsafe { weft_sys::copy::bytes(data.as_ptr(), out, data.len()) }
                };
                // SAFETY: all of the data is written.
                unsafe { state.pool.store(Some(from), bytes, fill) }
            }
        };
        let mut message = Message { bytes, payload };
        message.describe_as(origin);
        endpoint.add_unexpected(&mut state, envelope, message);
        drop(state);
        endpoint.announce_arrival();
    }

    /// Takes an offer; `origin` as in [`Engine::arrive_eager`].
    fn arrive_offer(&self, endpoint: &Endpoint, envelope: Envelope, far: Far, origin: Option<Origin>) {
        let bytes = far.offer.bytes();
        let receive = match endpoint.take_expected(&envelope) {
            Some(receive) => receive,
            None => match endpoint.take_posted(&envelope, &Section::outside()) {
                Ok(receive) => receive,
                Err(mut state) => {
                    let mut message = Message { bytes, payload: Payload::Far(far) };
                    message.describe_as(origin);
                    endpoint.add_unexpected(&mut state, envelope, message);
                    drop(state);
                    return endpoint.announce_arrival();
                }
            },
        };
        checking::on_arrival(endpoint.rank(), &envelope, origin.as_ref(), receive.get());
        told::met(endpoint.rank(), &envelope, bytes);
        let remote = self.far();
        let rank = remote.nodes().places().of(endpoint.rank()).index;
        let room = Receiving { operation: receive, rank, envelope, bytes };
        if far.offer.is_readable() && bytes.min(receive.get().buffer().bytes) > 0 {
            remote.post.read_later(far.node, far.offer, room);
        } else {
            remote.post.ask(self, far.node, &far.offer, room);
        }
    }
}

impl Handler for Engine {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        let _visit = solo::visit();
        self.far().post.arrive(self, &message)
    }

    fn placed(&self, from: Node, _channel: Channel, token: u64) {
        let _visit = solo::visit();
        self.far().post.placed(self, from, token);
    }

    fn sent(&self, _to: Node, _channel: Channel, token: u64) {
        let _visit = solo::visit();
        self.far().post.sent(self, token);
    }

    fn lost(&self, peer: Node, reason: &str) {
        let _visit = solo::visit();
        self.far().post.lost(self, peer, reason);
    }

    fn joined(&self, begin: Node, hosts: &[u32]) {
        self.far().join(begin, hosts.len() as u32);
    }

    fn advance(&self) -> bool {
        let post = &self.far().post;
        if post.is_idle() {
            return false;
        }
        let _visit = solo::visit();
        post.advance(self)
    }

    fn is_idle(&self) -> bool {
        self.far().post.is_idle()
    }
}
