//! A service for messages between node processes, above the devices and below what the messages are about: each client has its own
//! on a channel of its own. A client gives headers and data; the service knows what a peer can take, which data waits for it, and
//! what of both is over when the peer is.
//!
//! # Ways of a message
//! - *Short*: header and data at once, while the sender has [credit] with the receiver, for data that the device takes so.
//!   The receiver keeps it for as long as it wants, and then says that it is used ([`Post::used`]).
//! - *Free*: short and without credit ([`Post::tell`]): for headers alone, and what the client bounds by itself.
//! - *Offered*: only the header travels. The data stays as it is at its sender, *lent* under a name; the receiver reads it from
//!   there where the device can ([`Post::read`]), or names *room* for it and asks ([`Post::ask`]): then the sender streams it there, in a
//!   part for each way that the device has. Or it declines ([`Post::decline`]).
//!
//! So a process holds a bounded number of bytes for what its clients do not want yet, nothing is copied but by devices, and
//! whatever waits for credit keeps nothing else from going on. Where the peer can read by itself and has not borrowed much, who has
//! lent may go on at once, else when the peer is done: an offer says so, because then nobody may leave before that is said.
//!
//! # Order
//! Short messages and offers to a peer arrive in the order in which they were sent. What a device has no room for goes to the
//! peer's *backlog*, and as long as there is one everything to that peer goes behind it.
//!
//! # Who works
//! Any thread sends by itself. What arrives is handed to the client in whichever thread polls. What was asked for, and backlogs, leave
//! after the poll ([`Post::advance`]).
//!
//! # Loss
//! When a device reports a peer as lost, or the peer sends what none of ours sends, whatever is under way with it is over: the
//! client gets back what it gave, once ([`Client::unsent`], [`Client::unfilled`]), and then hears of the loss. Memory that is in a
//! device's hands is given back only when the device has let go of it.
//!
//! # What this replaces
//! Collectives had a service of their own, point-to-point messages (`p2p::remote`) still have. What both share, and what is here: credit,
//! names, a backlog, read or ask, done, loss. Where they differed, and which way was taken:
//!
//! | | point-to-point | collectives, before | here |
//! | --- | --- | --- | --- |
//! | credit | in units, back with any header | in bytes, back by messages of its own | as point-to-point |
//! | an offer | costs none | costs credit, too | costs none; what the sender may lend and go on has a bound of its own |
//! | names | generations; a wrong one loses the peer | a counter; a wrong one is ignored | as point-to-point |
//! | backlog | per peer, in order | one, without order | as point-to-point |
//! | data that was asked for | after the poll, in parts over all ways | at once, in one piece | as point-to-point |
//! | who has lent | waits, always | may go on if it can be read | as collectives |
//!
//! What point-to-point needs beyond this before it becomes a client, too: data with gaps (in pieces that are packed), sections without
//! atomic operations where the process has one rank (`p2p::solo`), several short messages by one call of the device, short messages of which parts are
//! still on their way, offers that are taken back, and tables of names per rank.
#![allow(unsafe_code)] // Hands memory to devices: each time it says who keeps it alive.

mod backlog;
mod credit;
mod frame;
mod names;

pub use frame::{MOST_HEADER, Offer};

use backlog::Backlog;
use credit::{Window, units};
use frame::{Encoded, Frame};
use names::Names;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use weft_sync::{CachePadded, Growing, Lock};
use weft_transport::{Arriving, Channel, Device, Node, Nodes, Placement, Refusal};

/// What a message costs its sender's lent memory besides its data.
const COST: u64 = 128;
/// How long a part is at least that goes over a way of its own.
const PART: u64 = 256 << 10;

/// Data of a message.
///
/// # Safety
/// `bytes` bytes at `address` are readable and do not change until the value is dropped, wherever it is moved.
pub unsafe trait Data: Send {
    /// Returns where the data is.
    fn address(&self) -> *const u8;
    /// Returns how long it is.
    fn bytes(&self) -> u64;
}

/// Memory for data that comes.
///
/// # Safety
/// `bytes` bytes at `address` are writable, and nobody else uses them, until the value is dropped, wherever it is moved.
pub unsafe trait Room: Send {
    /// Returns where it is.
    fn address(&mut self) -> *mut u8;
    /// Returns how long it is.
    fn bytes(&self) -> u64;
}

/// What has arrived for a client.
#[derive(Clone, Copy, Debug)]
pub enum Arrival<'a> {
    /// All of it. The client says when it has used it: [`Post::used`].
    Short(&'a [u8], Credit),
    /// Its data can be had: [`Post::read`], [`Post::ask`], [`Post::decline`].
    Offer(Offer),
}

/// What a short message has cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use = "a sender without credit offers everything"]
pub struct Credit(u32);

/// Who uses the service. No function waits or polls; any may send.
pub trait Client: Sync {
    /// Data that is sent.
    type Data: Data;
    /// Memory for data that is asked for.
    type Room: Room;
    /// What the client does when data is not needed any more.
    type Then: Send;

    /// Takes a message.
    fn arrive(&self, from: Node, header: &[u8], arrival: Arrival<'_>);
    /// The data of a message which [`Post::send`] could not let go of is not needed any more.
    fn sent(&self, then: Self::Then);
    /// What was asked for is there.
    fn filled(&self, room: Self::Room);
    /// As [`Client::sent`], but the peer is lost.
    fn unsent(&self, then: Self::Then) {
        drop(then);
    }
    /// As [`Client::filled`], but the peer is lost, and what is there is not what was asked for.
    fn unfilled(&self, room: Self::Room) {
        drop(room);
    }
    /// A peer is lost. Called once, after all that was under way with it has been given back but for what is in a device's hands.
    fn lost(&self, peer: Node, reason: &str);
}

/// How much a service may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of short messages that each peer may have sent and the client has not used.
    pub credit: u64,
    /// Bytes of data that its sender has lent to each peer and does not wait for.
    pub lent: u64,
}

/// What the payload of a message is.
enum Payload<D> {
    None,
    Data(D),
    Offer(Offer),
}

/// A message that waits for room.
struct Packet<C: Client> {
    header: Encoded,
    payload: Payload<C::Data>,
    then: Option<C::Then>,
    /// The peer waits for it, although nobody here does.
    is_awaited: bool,
}

/// Data that was asked for.
struct Stream {
    lent: u64,
    room: u64,
    bytes: u64,
    /// How much has been handed to the device.
    offset: u64,
}

enum Item<C: Client> {
    Packet(Packet<C>),
    Stream(Stream),
}

/// Data that a peer may have.
struct Lent<C: Client> {
    data: C::Data,
    to: Node,
    then: Option<C::Then>,
    /// It counts as lent to who need not be waited for.
    is_counted: bool,
    /// The peer has asked for it: a device may have it in its hands.
    is_asked: bool,
    /// How many parts the device has not reported as sent, but for one.
    parts: u32,
}

/// Memory for data that a peer was asked for.
struct Awaited<C: Client> {
    room: C::Room,
    from: Node,
    bytes: u64,
    /// How much of it has a place.
    got: u64,
    /// How many parts a device has in its hands.
    placing: u32,
}

struct Peer<C: Client> {
    window: Window,
    /// Bytes lent of which nobody here waits until they are back.
    lent: AtomicU64,
    is_lost: AtomicBool,
    backlog: Backlog<Item<C>>,
}

/// What became of something that was to be sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Left,
    Waits,
    Lost,
}

/// What no peer of ours sends.
struct Nonsense(&'static str);

/// The service of a client. Its functions with `client` are to be called by that one, with itself.
pub struct Post<C: Client> {
    nodes: &'static Nodes,
    channel: Channel,
    limits: Limits,
    peers: Growing<CachePadded<Peer<C>>>,
    lent: Lock<Names<Lent<C>>>,
    awaited: Lock<Names<Awaited<C>>>,
    /// Items in all backlogs.
    left: AtomicUsize,
    /// Those of them that peers may wait for, although nobody here does.
    debts: AtomicUsize,
}

impl<C: Client> Post<C> {
    /// Makes the service of a client on a channel, which the client serves.
    pub fn new(nodes: &'static Nodes, channel: Channel, limits: Limits) -> Self {
        Self {
            nodes,
            channel,
            limits,
            peers: (0..nodes.device().nodes()).map(|_| CachePadded(Peer::new(&limits))).collect(),
            lent: Lock::default(),
            awaited: Lock::default(),
            left: AtomicUsize::new(0),
            debts: AtomicUsize::new(0),
        }
    }

    /// Takes in node processes that have joined.
    pub fn join(&self, begin: Node, count: u32) {
        assert_eq!(self.peers.len(), begin as usize, "node processes join one after the other");
        (0..count).for_each(|_| _ = self.peers.push(CachePadded(Peer::new(&self.limits))));
    }

    /// Returns the way to the other node processes.
    pub fn nodes(&self) -> &'static Nodes {
        self.nodes
    }

    /// Tells whether nothing waits to be sent.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    /// Tells whether nothing waits to be sent, fetched, or filled.
    pub fn is_empty(&self) -> bool {
        self.is_idle() && self.lent.lock().is_empty() && self.awaited.lock().is_empty()
    }

    /// Tells whether a peer may wait for something that the device has refused so far.
    pub fn has_debts(&self) -> bool {
        self.debts.load(Ordering::Relaxed) > 0
    }

    /// Sends data with a header of at most [`MOST_HEADER`] bytes. Returns whether who sends may go on with that: if not, the client
    /// hears of it, by [`Client::sent`] or [`Client::unsent`].
    pub fn send(&self, client: &C, to: Node, header: &[u8], data: C::Data, then: C::Then) -> bool {
        let (peer, bytes) = (&self.peers[to as usize], data.bytes());
        let capabilities = self.nodes.device().capabilities(to);
        if bytes <= capabilities.eager as u64 && peer.window.take(units(bytes)) {
            let header = Frame::Short { is_free: false, header }.encode();
            let packet = Packet { header, payload: Payload::Data(data), then: Some(then), is_awaited: false };
            // Nothing gets to a lost peer, and nothing is left of that.
            return self.post(client, to, packet) != Fate::Waits;
        }
        let is_free = capabilities.remote_read && peer.lend(bytes, self.limits.lent);
        let address = if capabilities.remote_read { data.address().expose_provenance() as u64 } else { 0 };
        // Who can be read without its help may go on; what it has lent counts until it is back.
        let (lender, sender) = if is_free { (None, Some(then)) } else { (Some(then), None) };
        let lent = Lent { data, to, then: lender, is_counted: is_free, is_asked: false, parts: 0 };
        let name = self.lent.lock().add(lent);
        // Whoever notes a loss looks through the names afterwards.
        if peer.is_lost.load(Ordering::SeqCst) {
            self.take_back(client, name);
            return is_free;
        }
        let offer = Offer { lent: name, bytes, address, is_held: !is_free };
        let header = Frame::Offer { is_held: !is_free, header }.encode();
        let packet = Packet { header, payload: Payload::Offer(offer), then: sender, is_awaited: false };
        match self.post(client, to, packet) {
            Fate::Left => is_free,
            Fate::Waits => false,
            Fate::Lost => {
                self.take_back(client, name);
                is_free
            }
        }
    }

    /// Sends a header, and data that costs no credit and is no longer than the device takes at once.
    pub fn tell(&self, client: &C, to: Node, header: &[u8], data: Option<C::Data>) {
        let payload = data.map_or(Payload::None, Payload::Data);
        let header = Frame::Short { is_free: true, header }.encode();
        self.post(client, to, Packet { header, payload, then: None, is_awaited: false });
    }

    /// Notes that the client has used a short message.
    pub fn used(&self, client: &C, from: Node, credit: Credit) {
        if self.peers[from as usize].window.owe(credit.0) {
            self.say(client, from, Frame::Credit, false);
        }
    }

    /// Reads what was offered from the peer's memory, and gives the offer back.
    ///
    /// # Errors
    /// The device's reason.
    pub fn read<R: Room>(&self, client: &C, from: Node, offer: &Offer, room: &mut R) -> Result<(), Refusal> {
        let bytes = offer.bytes.min(room.bytes());
        let mut result = Ok(());
        if bytes > 0 {
            // SAFETY: the room has as many bytes, which are the caller's.
            result = unsafe { self.nodes.device().read(from, offer.address, room.address(), bytes) };
        }
        self.decline(client, from, offer);
        result
    }

    /// Asks for as much of what was offered as there is room for. The client gets the room back when it is there.
    pub fn ask(&self, client: &C, from: Node, offer: &Offer, room: C::Room) {
        let bytes = offer.bytes.min(room.bytes());
        if bytes == 0 {
            self.decline(client, from, offer);
            return client.filled(room);
        }
        let name = self.awaited.lock().add(Awaited { room, from, bytes, got: 0, placing: 0 });
        // Whoever notes a loss looks through the names afterwards.
        if self.peers[from as usize].is_lost.load(Ordering::SeqCst) {
            let awaited = self.awaited.lock().remove(name);
            return awaited.into_iter().for_each(|awaited| client.unfilled(awaited.room));
        }
        self.say(client, from, Frame::Ask { lent: offer.lent, room: name, bytes }, false);
    }

    /// Lets go of an offer that is not needed any more, and has not been asked for.
    pub fn decline(&self, client: &C, from: Node, offer: &Offer) {
        self.say(client, from, Frame::Done { lent: offer.lent }, offer.is_held);
    }

    fn say(&self, client: &C, to: Node, frame: Frame<'_>, is_awaited: bool) {
        let header = frame.encode();
        self.post(client, to, Packet { header, payload: Payload::None, then: None, is_awaited });
    }

    /// Hands a message to the device, with the credit that is owed.
    #[inline]
    fn transmit(&self, peer: &Peer<C>, to: Node, packet: &mut Packet<C>) -> Result<(), Refusal> {
        let credit = peer.window.pay();
        packet.header.set_credit(credit);
        let (device, header) = (self.nodes.device(), packet.header.bytes());
        let sent = match &packet.payload {
            Payload::None => device.send(to, self.channel, header, &[]),
            Payload::Offer(offer) => device.send(to, self.channel, header, &offer.encode()),
            Payload::Data(data) => {
                let (address, bytes) = (data.address(), data.bytes() as usize);
                // No bytes may be nowhere.
                let address = if bytes == 0 { core::ptr::dangling() } else { address };
                // SAFETY: so many bytes are readable as long as the data is there, which the packet holds.
                let data = unsafe { core::slice::from_raw_parts(address, bytes) };
                device.send(to, self.channel, header, data)
            }
        };
        if sent.is_err() {
            peer.window.owe_again(credit);
        }
        sent
    }

    /// Sends a message now or later.
    #[inline]
    fn post(&self, client: &C, to: Node, mut packet: Packet<C>) -> Fate {
        let peer = &self.peers[to as usize];
        if peer.backlog.is_empty() {
            match self.transmit(peer, to, &mut packet) {
                Ok(()) => return Fate::Left,
                Err(Refusal::Lost { .. }) => return Fate::Lost,
                Err(Refusal::Full) => {}
            }
        }
        self.queue(client, to, Item::Packet(packet));
        Fate::Waits
    }

    #[cold]
    fn queue(&self, client: &C, to: Node, item: Item<C>) {
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
    fn leave(&self, item: Item<C>) -> Option<C::Then> {
        self.left.fetch_sub(1, Ordering::SeqCst);
        let Item::Packet(packet) = item else { return None };
        if packet.is_awaited {
            self.debts.fetch_sub(1, Ordering::Relaxed);
        }
        packet.then
    }

    /// Goes on with what waits. Returns whether anything could be done.
    #[inline]
    pub fn advance(&self, client: &C) -> bool {
        !self.is_idle() && self.pump_all(client)
    }

    #[inline(never)]
    fn pump_all(&self, client: &C) -> bool {
        let waiting = |node: &usize| !self.peers[*node].backlog.is_empty();
        (0..self.peers.len())
            .filter(waiting)
            .fold(false, |moved, node| self.pump(client, node as Node) | moved)
    }

    /// Goes on with a peer's backlog.
    fn pump(&self, client: &C, to: Node) -> bool {
        let peer = &self.peers[to as usize];
        let Some(turn) = peer.backlog.turn() else { return false };
        let (mut moved, mut ended) = (false, Vec::new());
        while !peer.is_lost.load(Ordering::SeqCst) {
            let Some(mut item) = turn.take() else { break };
            let is_full = match &mut item {
                Item::Packet(packet) => self.transmit(peer, to, packet) == Err(Refusal::Full),
                Item::Stream(stream) => {
                    let before = stream.offset;
                    let is_full = !self.stream(peer, to, stream);
                    moved |= stream.offset != before;
                    is_full
                }
            };
            if is_full {
                turn.put_back(item);
                break;
            }
            moved = true;
            turn.done();
            ended.extend(self.leave(item));
        }
        // They may send to the peer themselves.
        drop(turn);
        ended.into_iter().for_each(|then| client.sent(then));
        moved
    }

    /// Hands data that was asked for to the device, in as many parts as that has ways to the peer. Returns false if there is no room.
    fn stream(&self, peer: &Peer<C>, to: Node, stream: &mut Stream) -> bool {
        let device = self.nodes.device();
        let Stream { lent: name, room, bytes, .. } = *stream;
        let ways = u64::from(device.ways(to)).clamp(1, bytes.div_ceil(PART));
        // Whole pages but for the last one's end.
        let length = bytes.div_ceil(ways).next_multiple_of(4096);
        let address = {
            let mut names = self.lent.lock();
            let Some(lent) = names.get(name) else { return true };
            if stream.offset == 0 {
                lent.parts = bytes.div_ceil(length) as u32 - 1;
            }
            lent.data.address()
        };
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
                unsafe { device.start_part(part, to, self.channel, header.bytes(), start, length, name) };
            match started {
                Ok(()) => stream.offset += length,
                Err(refusal) => {
                    peer.window.owe_again(credit);
                    return refusal != Refusal::Full;
                }
            }
        }
        true
    }

    /// Takes what was lent back when nobody needs it any more.
    fn settle(&self, client: &C, lent: Lent<C>) {
        self.count_back(&lent);
        drop(lent.data);
        if let Some(then) = lent.then {
            client.sent(then);
        }
    }

    /// Takes back what a lost peer has not heard of.
    #[cold]
    fn take_back(&self, client: &C, name: u64) {
        let lent = self.lent.lock().remove(name);
        lent.into_iter().for_each(|lent| self.give_up(client, lent));
    }

    fn give_up(&self, client: &C, lent: Lent<C>) {
        self.count_back(&lent);
        if let Some(then) = lent.then {
            client.unsent(then);
        }
    }

    fn count_back(&self, lent: &Lent<C>) {
        if lent.is_counted {
            self.peers[lent.to as usize].lent.fetch_sub(lent.data.bytes() + COST, Ordering::Relaxed);
        }
    }

    /// Forgets what waits for a lost peer.
    #[cold]
    fn drop_backlog(&self, client: &C, to: Node) {
        let peer = &self.peers[to as usize];
        // Whoever has the turn ends it soon: it neither waits nor goes on after the loss.
        let turn = loop {
            match peer.backlog.turn() {
                Some(turn) => break turn,
                None => std::thread::yield_now(),
            }
        };
        let mut gone = Vec::new();
        while let Some(item) = turn.take() {
            turn.done();
            gone.extend(self.leave(item));
        }
        drop(turn);
        gone.into_iter().for_each(|then| client.unsent(then));
    }

    /// Ends everything that has to do with a peer. What a device has in its hands it has let go of only if it `reports` the loss.
    #[cold]
    fn lose(&self, client: &C, peer: Node, reason: &str, reports: bool) {
        let was_lost = self.peers[peer as usize].is_lost.swap(true, Ordering::SeqCst);
        if was_lost && !reports {
            return;
        }
        self.drop_backlog(client, peer);
        let gone = self.lent.lock().remove_all(|lent| lent.to == peer && (reports || !lent.is_asked));
        gone.into_iter().for_each(|lent| self.give_up(client, lent));
        let is_gone = |awaited: &Awaited<C>| awaited.from == peer && (reports || awaited.placing == 0);
        let gone = self.awaited.lock().remove_all(is_gone);
        gone.into_iter().for_each(|awaited| client.unfilled(awaited.room));
        if !was_lost {
            client.lost(peer, reason);
        }
    }

    /// What [`weft_transport::Handler::arrive`] is to do.
    #[inline]
    pub fn arrive(&self, client: &C, message: &Arriving<'_>) -> Placement {
        let peer = &self.peers[message.from as usize];
        if peer.is_lost.load(Ordering::Relaxed) {
            return Placement::Taken;
        }
        match self.hear(client, peer, message) {
            Ok(placement) => placement,
            Err(Nonsense(what)) => {
                let reason = format!("node process {} has sent {what}", message.from);
                self.lose(client, message.from, &reason, false);
                Placement::Taken
            }
        }
    }

    #[inline]
    fn hear(&self, client: &C, peer: &Peer<C>, message: &Arriving<'_>) -> Result<Placement, Nonsense> {
        let Arriving { from, bytes, present, .. } = *message;
        let (frame, credit) = Frame::decode(message.header).map_err(|_| Nonsense("a malformed header"))?;
        if !peer.window.refill(credit.into()) {
            return Err(Nonsense("more credit than there is"));
        }
        if let Frame::Data { room, offset } = frame {
            return self.place(from, bytes, room, offset);
        }
        if present.len() as u64 != bytes {
            return Err(Nonsense("a message without its end"));
        }
        match frame {
            Frame::Short { is_free, header } => {
                let credit = Credit(if is_free { 0 } else { units(bytes) });
                client.arrive(from, header, Arrival::Short(present, credit));
            }
            Frame::Offer { is_held, header } => {
                let offer = Offer::decode(present, is_held).map_err(|_| Nonsense("a malformed offer"))?;
                client.arrive(from, header, Arrival::Offer(offer));
            }
            _ if bytes != 0 => return Err(Nonsense("data with a message that has none")),
            Frame::Ask { lent: name, room, bytes } => {
                {
                    let mut names = self.lent.lock();
                    let lent = names.get(name).filter(|lent| lent.to == from && !lent.is_asked);
                    let lent = lent.filter(|lent| bytes > 0 && bytes <= lent.data.bytes());
                    lent.ok_or(Nonsense("a wish for data that is not to be had"))?.is_asked = true;
                }
                self.queue(client, from, Item::Stream(Stream { lent: name, room, bytes, offset: 0 }));
            }
            Frame::Done { lent: name } => {
                let lent = {
                    let mut names = self.lent.lock();
                    let is_its = names.get(name).is_some_and(|lent| lent.to == from && !lent.is_asked);
                    if is_its { names.remove(name) } else { None }
                };
                self.settle(client, lent.ok_or(Nonsense("the end of what was not lent"))?);
            }
            Frame::Credit | Frame::Data { .. } => {}
        }
        Ok(Placement::Taken)
    }

    /// Says where data goes that was asked for.
    fn place(&self, from: Node, bytes: u64, room: u64, offset: u64) -> Result<Placement, Nonsense> {
        let mut names = self.awaited.lock();
        let awaited = names.get(room).filter(|awaited| awaited.from == from);
        let awaited = awaited.ok_or(Nonsense("data that nobody waits for"))?;
        // Parts come over several ways, in any order.
        let is_missing = bytes > 0 && bytes <= awaited.bytes - awaited.got && offset <= awaited.bytes - bytes;
        if !is_missing {
            return Err(Nonsense("data that is not part of what is missing"));
        }
        (awaited.got, awaited.placing) = (awaited.got + bytes, awaited.placing + 1);
        let address = awaited.room.address().wrapping_add(offset as usize);
        Ok(Placement::Memory { address, capacity: bytes, token: room })
    }

    /// What [`weft_transport::Handler::placed`] is to do.
    pub fn placed(&self, client: &C, room: u64) {
        let awaited = {
            let mut names = self.awaited.lock();
            let Some(awaited) = names.get(room) else { return };
            awaited.placing -= 1;
            let is_whole = awaited.placing == 0 && awaited.got == awaited.bytes;
            if is_whole { names.remove(room) } else { None }
        };
        if let Some(awaited) = awaited {
            client.filled(awaited.room);
        }
    }

    /// What [`weft_transport::Handler::sent`] is to do.
    pub fn sent(&self, client: &C, lent: u64) {
        let lent = {
            let mut names = self.lent.lock();
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

    /// What [`weft_transport::Handler::lost`] is to do.
    pub fn lost(&self, client: &C, peer: Node, reason: &str) {
        self.lose(client, peer, reason, true);
    }
}

impl<C: Client> Peer<C> {
    fn new(limits: &Limits) -> Self {
        Self {
            window: Window::new(limits.credit),
            lent: AtomicU64::new(0),
            is_lost: AtomicBool::new(false),
            backlog: Backlog::default(),
        }
    }

    /// Counts data as lent, if that is not too much.
    fn lend(&self, bytes: u64, most: u64) -> bool {
        let more = |lent: u64| lent.checked_add(bytes)?.checked_add(COST).filter(|&lent| lent <= most);
        self.lent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}
