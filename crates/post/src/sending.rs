//! What leaves: short messages, offers, data that was asked for, and what waited for room.
#![allow(unsafe_code)] // Hands memory to devices: each time it says who keeps it alive.

use crate::client::{Client, Data, Place};
use crate::credit::Credit;
use crate::header::{Frame, Header, OFFER, OFFER_BYTES, Offer, SHORT};
use crate::service::{Item, Lent, PIECE, Packet, Payload, Peer, Post, Stream};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use weft_transport::{Channel, Device, Leaving, MOST_ANSWER, Node, Refusal, Routes, Tuning};

/// How long a part is at least that goes over a way of its own.
const PART: u64 = 256 << 10;

/// What became of something that was to be sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Left,
    Waits,
    Lost,
}

/// A peer, for a client that chooses the ways of its messages by itself.
pub struct Towards<'a, C: Client> {
    post: &'a Post<C>,
    peer: &'a Peer<C>,
    to: Node,
}

impl<'a, C: Client> Towards<'a, C> {
    /// Returns the longest data that is sent at once.
    #[inline(always)]
    pub fn short(&self) -> u64 {
        self.peer.short
    }

    /// Tells whether longer data may go as an answer: see [`Permit::answer`].
    #[inline(always)]
    pub fn takes_answers(&self) -> bool {
        self.peer.takes_answers && self.peer.backlog.is_empty()
    }

    /// Takes credit for a short message, of which `note` bytes go in front of the data, if there is enough.
    #[inline(always)]
    pub fn takes_credit(&self, bytes: u64, note: u64) -> bool {
        self.peer.window.take(Credit::of(bytes + note, C::EMPTY_COSTS))
    }

    /// Returns the right to send the message for which [credit was taken](Towards::takes_credit).
    #[inline(always)]
    pub fn permit(&self, bytes: u64, note: u64) -> Permit<'a, C> {
        let credit = Credit::of(bytes + note, C::EMPTY_COSTS);
        Permit { post: self.post, peer: self.peer, to: self.to, credit }
    }
}

/// The right to send a short message, for which credit was taken.
#[must_use = "the credit is taken"]
pub struct Permit<'a, C: Client> {
    post: &'a Post<C>,
    peer: &'a Peer<C>,
    to: Node,
    credit: Credit,
}

impl<C: Client> Permit<'_, C> {
    /// Sends the message, unless something waits before it.
    ///
    /// # Errors
    /// [`Refusal::Full`]: it may be sent [later](Permit::later), or [not at all](Permit::give_up). [`Refusal::Lost`].
    #[inline(always)]
    pub fn send(&self, header: &mut Header, data: &[u8]) -> Result<(), Refusal> {
        if !self.peer.backlog.is_empty() {
            return Err(Refusal::Full);
        }
        header.set_kind(SHORT, false);
        self.post.transmit(self.peer, self.to, header, data)
    }

    /// Sends a message that is not short, but may go at once because the device takes it as an answer: see [`Tuning::answer`].
    /// Returns whether it is sent; if not, the credit is given back. The header has at most two words beside its first one.
    #[inline(always)]
    pub fn answer(self, header: Header, data: &[u8]) -> bool {
        if data.len() > MOST_ANSWER {
            self.give_up();
            return false;
        }
        let mut header = header.of_kind(SHORT, false);
        let paid = self.peer.window.pay();
        header.set_credit(paid);
        let is_sent = self.post.nodes.device().answer(self.to, self.post.channel, header.bytes(), data);
        if !is_sent {
            self.peer.window.owe_again(paid);
            self.give_up();
        }
        is_sent
    }

    /// Leaves the message for when there is room. The client hears of it, by [`Client::sent`] or [`Client::unsent`].
    #[cold]
    pub fn later(self, client: &C, header: &Header, data: C::Data, then: C::Then) {
        let (header, payload) = (header.of_kind(SHORT, false), Payload::Data(data));
        let packet = Packet { header, payload, then: Some(then), is_awaited: false };
        self.post.queue(client, self.to, Item::Packet(packet));
    }

    /// Returns to whom it is.
    pub fn to(&self) -> Node {
        self.to
    }

    /// Goes on with what waits for the peer, if anything: others may have been refused because this thread has sent.
    #[inline]
    pub fn go_on(&self, client: &C) {
        if !self.peer.backlog.is_empty() {
            self.post.pump(client, self.to);
        }
    }

    /// Gives the credit back.
    #[cold]
    pub fn give_up(self) {
        _ = self.peer.window.refill(self.credit.0);
    }
}

/// Passes data, without gaps, to `use_it`.
fn with_bytes<D: Data, R>(data: &D, use_it: impl FnOnce(&[u8]) -> R) -> R {
    let bytes = data.bytes() as usize;
    match data.place() {
        // No bytes may be nowhere.
        _ if bytes == 0 => use_it(&[]),
        // SAFETY: so many bytes are readable as long as the data is there.
        Place::Block(address) => use_it(unsafe { core::slice::from_raw_parts(address, bytes) }),
        Place::Gaps(gaps) => {
            let mut space = vec![0; bytes];
            // SAFETY: the data is there, and the space has room for all of it.
            unsafe { (gaps.copy)(gaps.object, 0, space.as_mut_ptr(), bytes as u64) };
            use_it(&space)
        }
    }
}

/// Returns the payload of a message that may be sent beside others by one call of the device.
fn in_place<C: Client>(item: &Item<C>) -> Option<&[u8]> {
    let Item::Packet(packet) = item else { return None };
    match &packet.payload {
        Payload::None => Some(&[]),
        Payload::Offer(..) => None,
        Payload::Data(data) => match (data.bytes() as usize, data.place()) {
            (0, _) => Some(&[]),
            // SAFETY: so many bytes are readable as long as the data is there, which the packet holds.
            (bytes, Place::Block(address)) => Some(unsafe { core::slice::from_raw_parts(address, bytes) }),
            _ => None,
        },
    }
}

/// Does for a device without it what [`Tuning::send_all`] does.
fn send_each(
    device: &Routes,
    to: Node,
    channel: Channel,
    messages: &[Leaving<'_>],
) -> Result<usize, Refusal> {
    for (taken, message) in messages.iter().enumerate() {
        match device.send(to, channel, message.header, message.payload) {
            Ok(()) => {}
            Err(refusal) if taken == 0 => return Err(refusal),
            Err(_) => return Ok(taken),
        }
    }
    Ok(messages.len())
}

impl<C: Client> Post<C> {
    /// Returns what a peer takes, for a client that chooses the ways of its messages.
    #[inline(always)]
    pub fn towards(&self, to: Node) -> Towards<'_, C> {
        Towards { post: self, peer: &self.peers[to as usize], to }
    }

    /// Takes credit for a short message. Returns nothing if the data is too long for that, or there is no credit.
    #[inline(always)]
    fn permit(&self, to: Node, bytes: u64) -> Option<Permit<'_, C>> {
        let towards = self.towards(to);
        let is_short = bytes <= towards.short() && towards.takes_credit(bytes, 0);
        is_short.then(|| towards.permit(bytes, 0))
    }

    /// Sends data with a header. Returns whether who sends may go on with that: if not, the client hears of it, by [`Client::sent`] or
    /// [`Client::unsent`].
    pub fn send(&self, client: &C, to: Node, mut header: Header, data: C::Data, then: C::Then) -> bool {
        let Some(permit) = self.permit(to, data.bytes()) else {
            return self.offer(client, to, header, data, &[], then);
        };
        if with_bytes(&data, |bytes| permit.send(&mut header, bytes)) == Err(Refusal::Full) {
            permit.later(client, &header, data, then);
            return false;
        }
        // Nothing gets to a lost peer, and nothing is left of that.
        true
    }

    /// Tells whether a note of so many bytes may go with an offer to a peer.
    pub fn takes_note(&self, to: Node, bytes: usize) -> bool {
        (OFFER_BYTES + bytes) as u64 <= self.peers[to as usize].takes
    }

    /// Sends a header with an offer of data, and what goes with that. Returns what [`Post::send`] does.
    pub fn offer(
        &self,
        client: &C,
        to: Node,
        header: Header,
        data: C::Data,
        note: &[u8],
        then: C::Then,
    ) -> bool {
        let (peer, bytes) = (&self.peers[to as usize], data.bytes());
        // Asked each time: that a peer's memory can be read is known when the peer is there.
        let can_read = self.nodes.device().capabilities(to).remote_read;
        let address = match data.place() {
            Place::Block(address) if can_read => address.expose_provenance() as u64,
            _ => 0,
        };
        // Who can be read without its help may go on; what it has lent counts until it is back.
        let is_free = address != 0 && peer.lend(bytes);
        let (lender, sender) = if is_free { (None, Some(then)) } else { (Some(then), None) };
        let table = data.table();
        let lent = Lent { data, to, then: lender, is_counted: is_free, is_asked: false, parts: 0 };
        let name = self.lent.add(table, lent);
        // Whoever notes a loss looks through the names afterwards.
        if peer.is_lost.load(Ordering::SeqCst) {
            self.take_back(client, name);
            return is_free;
        }
        let offer = Offer { lent: name, bytes, address, is_held: !is_free };
        let header = header.of_kind(OFFER, !is_free);
        let payload = Payload::Offer(offer, note.into());
        match self.post(client, to, Packet { header, payload, then: sender, is_awaited: false }) {
            Fate::Left => is_free,
            Fate::Waits => false,
            Fate::Lost => {
                self.take_back(client, name);
                is_free
            }
        }
    }

    /// Asks for an offer back that the peer has not used, of a table, whose end `which` knows; `word` says where it went. If the peer gives
    /// it back, the client hears of it by [`Client::withdrawn`].
    pub fn withdraw(&self, client: &C, to: Node, word: u32, table: u32, which: impl Fn(&C::Then) -> bool) {
        let is_it =
            |lent: &Lent<C>| lent.to == to && !lent.is_asked && lent.then.as_ref().is_some_and(&which);
        let name = self.lent.table(table).find(is_it);
        if let Some(lent) = name {
            self.say(client, to, Frame::Withdraw { word, lent }, false);
        }
    }

    /// Sends a header, and data that costs no credit and is no longer than the device takes at once.
    pub fn tell(&self, client: &C, to: Node, header: Header, data: Option<C::Data>) {
        debug_assert!(C::TELLS, "a client that says it does not");
        let payload = data.map_or(Payload::None, Payload::Data);
        let header = header.of_kind(SHORT, true);
        self.post(client, to, Packet { header, payload, then: None, is_awaited: false });
    }

    /// Returns what a short message of a length has cost.
    pub fn cost(bytes: u64) -> Credit {
        Credit::of(bytes, C::EMPTY_COSTS)
    }

    /// Notes that the client has used a short message.
    #[inline]
    pub fn used(&self, client: &C, from: Node, credit: Credit) {
        if self.peers[from as usize].window.owe(credit, &weft_sync::Section::outside()) {
            self.give_back(client, from);
        }
    }

    /// Sends what is owed to a peer by itself.
    #[cold]
    pub fn give_back(&self, client: &C, from: Node) {
        self.say(client, from, Frame::Credit, false);
    }

    pub(crate) fn say(&self, client: &C, to: Node, frame: Frame<'_>, is_awaited: bool) {
        let header = frame.encode();
        self.post(client, to, Packet { header, payload: Payload::None, then: None, is_awaited });
    }

    /// Hands a message to the device, with the credit that is owed.
    #[inline(always)]
    fn transmit(&self, peer: &Peer<C>, to: Node, header: &mut Header, data: &[u8]) -> Result<(), Refusal> {
        let credit = peer.window.pay();
        header.set_credit(credit);
        let sent = self.nodes.device().send(to, self.channel, header.bytes(), data);
        if sent.is_err() {
            peer.window.owe_again(credit);
        }
        sent
    }

    fn transmit_packet(&self, peer: &Peer<C>, to: Node, packet: &mut Packet<C>) -> Result<(), Refusal> {
        let header = &mut packet.header;
        match &packet.payload {
            Payload::None => self.transmit(peer, to, header, &[]),
            Payload::Data(data) => with_bytes(data, |data| self.transmit(peer, to, header, data)),
            Payload::Offer(offer, note) if note.is_empty() => {
                self.transmit(peer, to, header, &offer.encode())
            }
            Payload::Offer(offer, note) => {
                self.transmit(peer, to, header, &[&offer.encode()[..], note].concat())
            }
        }
    }

    /// Sends a message now or later.
    fn post(&self, client: &C, to: Node, mut packet: Packet<C>) -> Fate {
        let peer = &self.peers[to as usize];
        if peer.backlog.is_empty() {
            match self.transmit_packet(peer, to, &mut packet) {
                Ok(()) => return Fate::Left,
                Err(Refusal::Lost { .. }) => return Fate::Lost,
                Err(Refusal::Full) => {}
            }
        }
        self.queue(client, to, Item::Packet(packet));
        Fate::Waits
    }

    #[cold]
    pub(crate) fn queue(&self, client: &C, to: Node, item: Item<C>) {
        let peer = &self.peers[to as usize];
        self.left.fetch_add(1, Ordering::SeqCst);
        if matches!(&item, Item::Packet(packet) if packet.is_awaited) {
            self.debts.fetch_add(1, Ordering::Relaxed);
        }
        peer.backlog.push(item);
        // Whoever notes a loss empties the backlog afterwards.
        if peer.is_lost.load(Ordering::SeqCst) {
            self.drop_backlog(client, to);
        }
    }

    /// Notes that something has left a backlog. Returns what its sender does then.
    pub(crate) fn leave(&self, item: Item<C>) -> Option<C::Then> {
        self.left.fetch_sub(1, Ordering::SeqCst);
        match item {
            Item::Packet(packet) => {
                if packet.is_awaited {
                    self.debts.fetch_sub(1, Ordering::Relaxed);
                }
                packet.then
            }
            Item::Stream(stream) if stream.is_copied => {
                let lent = self.lent.remove(stream.lent)?;
                self.count_back(&lent);
                lent.then
            }
            Item::Stream(_) => None,
        }
    }

    /// Goes on with everybody's backlog. Returns whether anything could be done.
    pub(crate) fn pump_all(&self, client: &C) -> bool {
        let waiting = |node: &usize| !self.peers[*node].backlog.is_empty();
        (0..self.peers.len())
            .filter(waiting)
            .fold(false, |moved, node| self.pump(client, node as Node) | moved)
    }

    /// Tells whether something waits for room in the device, to a peer.
    #[inline]
    pub fn is_behind(&self, to: Node) -> bool {
        !self.peers[to as usize].backlog.is_empty()
    }

    /// Goes on with what waits for a peer: who was in the way may have gone before it saw that something waits.
    pub fn go_on_with(&self, client: &C, to: Node) {
        self.pump(client, to);
    }

    /// Goes on with a peer's backlog.
    #[inline(never)]
    fn pump(&self, client: &C, to: Node) -> bool {
        let peer = &self.peers[to as usize];
        let Some(turn) = peer.backlog.turn() else { return false };
        let (mut moved, mut taken, mut ended) = (false, VecDeque::new(), Vec::new());
        while !peer.is_lost.load(Ordering::SeqCst) {
            turn.take(&mut taken, |item| in_place(item).map(|payload| payload.len() as u64));
            let sent = match taken.make_contiguous() {
                [] => break,
                [Item::Packet(packet)] => {
                    usize::from(self.transmit_packet(peer, to, packet) != Err(Refusal::Full))
                }
                [Item::Stream(stream)] => {
                    let before = stream.offset;
                    let is_over = self.stream(peer, to, stream);
                    moved |= stream.offset != before;
                    usize::from(is_over)
                }
                several => self.transmit_all(peer, to, several),
            };
            if sent == 0 {
                break;
            }
            moved = true;
            for item in taken.drain(..sent) {
                turn.done();
                ended.extend(self.leave(item));
            }
            turn.put_back(&mut taken);
        }
        turn.put_back(&mut taken);
        // They may send to the peer themselves.
        drop(turn);
        ended.into_iter().for_each(|then| client.sent(then));
        moved
    }

    /// Hands short messages to the device by one call. Returns how many of them are over.
    fn transmit_all(&self, peer: &Peer<C>, to: Node, items: &mut [Item<C>]) -> usize {
        let credit = peer.window.pay();
        for (number, item) in items.iter_mut().enumerate() {
            if let Item::Packet(packet) = item {
                packet.header.set_credit(if number == 0 { credit } else { 0 });
            }
        }
        let leaving = items.iter().filter_map(|item| {
            let payload = in_place(item)?;
            let Item::Packet(packet) = item else { return None };
            Some(Leaving { header: packet.header.bytes(), payload })
        });
        let messages: Vec<_> = leaving.collect();
        debug_assert_eq!(messages.len(), items.len(), "only what is in place goes together");
        let device = self.nodes.device();
        let sent = device.send_all(to, self.channel, &messages);
        match sent.unwrap_or_else(|| send_each(device, to, self.channel, &messages)) {
            Ok(sent) => sent,
            // Nothing gets to a lost peer; all of it is over.
            Err(Refusal::Lost { .. }) => messages.len(),
            Err(Refusal::Full) => {
                peer.window.owe_again(credit);
                0
            }
        }
    }

    /// Sends data that was asked for, as far as that gets. Returns whether that is all of it.
    fn stream(&self, peer: &Peer<C>, to: Node, stream: &mut Stream) -> bool {
        // What is lent stays, under its name, until all of it has left, or a device reports the peer as lost and this turn is over: a peer
        // that has asked for it cannot say that it is done with it.
        let place = {
            let Some(mut names) = self.lent.of(stream.lent) else { return true };
            let Some(lent) = names.get(stream.lent) else { return true };
            lent.data.place()
        };
        let most = peer.takes.min(PIECE);
        match place {
            Place::Block(address) if !stream.in_pieces && stream.bytes > most => {
                self.stream_parts(peer, to, stream, address)
            }
            _ => self.stream_pieces(peer, to, stream, place, most),
        }
    }

    /// Sends data that is short, or has gaps at one side, in pieces that the device copies.
    fn stream_pieces(&self, peer: &Peer<C>, to: Node, stream: &mut Stream, place: Place, most: u64) -> bool {
        let room = if matches!(place, Place::Gaps(_)) { most.min(stream.bytes) } else { 0 };
        let mut space = vec![0u8; room as usize];
        while stream.offset < stream.bytes {
            let (offset, length) = (stream.offset, (stream.bytes - stream.offset).min(most));
            let piece = match place {
                Place::Block(address) => {
                    // SAFETY: the data has at least as many bytes as are wanted, and stays: see `stream`.
                    unsafe {
                        core::slice::from_raw_parts(address.wrapping_add(offset as usize), length as usize)
                    }
                }
                Place::Gaps(gaps) => {
                    // SAFETY: the data stays, and has so much; the space has room for a piece.
                    unsafe { (gaps.copy)(gaps.object, offset, space.as_mut_ptr(), length) };
                    &space[..length as usize]
                }
            };
            let mut header = Frame::Data { room: stream.room, offset }.encode();
            match self.transmit(peer, to, &mut header, piece) {
                Ok(()) => stream.offset += length,
                Err(refusal) => return refusal != Refusal::Full,
            }
        }
        stream.is_copied = true;
        true
    }

    /// Hands data that is one block to the device, in as many parts as get to the peer best.
    fn stream_parts(&self, peer: &Peer<C>, to: Node, stream: &mut Stream, address: *mut u8) -> bool {
        let device = self.nodes.device();
        let Stream { lent: name, room, bytes, .. } = *stream;
        let parts = u64::from(device.parts(to)).clamp(1, bytes.div_ceil(PART));
        // Whole pages but for the last one's end.
        let length = bytes.div_ceil(parts).next_multiple_of(4096);
        if parts > 1
            && stream.offset == 0
            && let Some(mut names) = self.lent.of(name)
            && let Some(lent) = names.get(name)
        {
            lent.parts = bytes.div_ceil(length) as u32 - 1;
        }
        while stream.offset < bytes {
            let offset = stream.offset;
            let mut header = Frame::Data { room, offset }.encode();
            let credit = peer.window.pay();
            header.set_credit(credit);
            let (part, length) = ((offset / length) as u32, length.min(bytes - offset));
            let start = address.wrapping_add(offset as usize);
            // SAFETY: what is lent stays as it is, under its name, until the device has reported the last part as sent, or the peer
            // as lost: a peer that has asked for it cannot say that it is done with it.
            let started =
                unsafe { device.start(to, self.channel, part, header.bytes(), start, length, name) };
            match started {
                Ok(()) => (stream.offset, stream.is_in_hands) = (offset + length, true),
                Err(refusal) => {
                    peer.window.owe_again(credit);
                    return refusal != Refusal::Full;
                }
            }
        }
        true
    }

    /// What [`weft_transport::Handler::sent`] is to do.
    pub fn sent(&self, client: &C, lent: u64) {
        let lent = {
            let Some(mut names) = self.lent.of(lent) else { return };
            match names.get(lent) {
                Some(Lent { parts, .. }) if *parts > 0 => {
                    *parts -= 1;
                    None
                }
                _ => names.remove(lent),
            }
        };
        lent.into_iter().for_each(|lent| self.settle(client, lent));
    }

    /// Takes what was lent back when nobody needs it any more.
    pub(crate) fn settle(&self, client: &C, lent: Lent<C>) {
        self.count_back(&lent);
        drop(lent.data);
        if let Some(then) = lent.then {
            client.sent(then);
        }
    }

    pub(crate) fn count_back(&self, lent: &Lent<C>) {
        if lent.is_counted {
            self.peers[lent.to as usize].count_back(lent.data.bytes());
        }
    }
}
