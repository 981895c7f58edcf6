//! What a service holds.

use crate::backlog::Backlog;
use crate::client::{Client, Limits};
use crate::credit::Window;
use crate::header::{Header, Offer};
use crate::names::Tables;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use weft_sync::{CachePadded, Growing, Lock};
use weft_transport::{Channel, Device, MAX_HEADER, MOST_ANSWER, Node, Nodes};

/// What a message costs its sender's lent memory besides its data.
const COST: u64 = 128;

/// How much is copied at once at most, of data that is sent or comes in pieces.
pub(crate) const PIECE: u64 = 64 << 10;

/// What the payload of a message is.
pub(crate) enum Payload<D> {
    None,
    Data(D),
    /// With what goes beside it.
    Offer(Offer, Box<[u8]>),
}

/// A message that waits for room.
pub(crate) struct Packet<C: Client> {
    pub header: Header,
    pub payload: Payload<C::Data>,
    pub then: Option<C::Then>,
    /// The peer waits for it, although nobody here does.
    pub is_awaited: bool,
}

/// Data that was asked for.
pub(crate) struct Stream {
    pub lent: u64,
    pub room: u64,
    pub bytes: u64,
    pub in_pieces: bool,
    /// How much has been handed to the device.
    pub offset: u64,
    /// The device has taken a copy of all of it.
    pub is_copied: bool,
    /// A part of it is in the device's hands.
    pub is_in_hands: bool,
}

impl Stream {
    pub fn new(lent: u64, room: u64, bytes: u64, in_pieces: bool) -> Self {
        Self { lent, room, bytes, in_pieces, offset: 0, is_copied: false, is_in_hands: false }
    }
}

pub(crate) enum Item<C: Client> {
    Packet(Packet<C>),
    Stream(Stream),
}

/// Data that a peer may have.
pub(crate) struct Lent<C: Client> {
    pub data: C::Data,
    pub to: Node,
    pub then: Option<C::Then>,
    /// It counts as lent to who need not be waited for.
    pub is_counted: bool,
    /// The peer has asked for it: a device may have it in its hands.
    pub is_asked: bool,
    /// How many parts the device has not reported as sent, but for one.
    pub parts: u32,
}

/// Memory for data that comes from a peer.
pub(crate) struct Awaited<C: Client> {
    pub room: C::Room,
    pub from: Node,
    pub bytes: u64,
    /// How much of it has a place.
    pub got: u64,
    /// How many parts are being placed.
    pub placing: u32,
}

/// Data to be read by whoever goes on with what was left for later.
pub(crate) struct Reading<C: Client> {
    pub from: Node,
    pub offer: Offer,
    pub room: C::Room,
}

/// A message of which parts are on their way, to memory from where it arrives when all of it is there. There is one at a time, for
/// what follows on a channel comes later.
pub(crate) struct Staged<C: Client> {
    pub header: [u8; MAX_HEADER],
    pub length: usize,
    pub aside: C::Aside,
    pub bytes: u64,
}

pub(crate) struct Peer<C: Client> {
    /// The longest data that is sent at once.
    pub short: u64,
    /// The longest payload that the device takes.
    pub takes: u64,
    /// Whether longer data may go as answers: not if less than the device takes was wished for.
    pub takes_answers: bool,
    /// The longest short message that one of ours sends.
    pub longest: u64,
    pub window: Window<C::Sections>,
    /// Bytes lent of which nobody here waits until they are back, and how many may be.
    lent: AtomicU64,
    most_lent: u64,
    pub is_lost: AtomicBool,
    pub backlog: Backlog<Item<C>>,
    pub staged: Lock<Option<Staged<C>>>,
}

/// The service of a client. Its functions with `client` are to be called by that one, with itself.
pub struct Post<C: Client> {
    pub(crate) nodes: &'static Nodes,
    pub(crate) channel: Channel,
    pub(crate) peers: Growing<CachePadded<Peer<C>>>,
    pub(crate) lent: Tables<Lent<C>>,
    pub(crate) awaited: Tables<Awaited<C>>,
    pub(crate) readings: Lock<VecDeque<Reading<C>>>,
    /// Items in all backlogs, and readings.
    pub(crate) left: AtomicUsize,
    /// Those of the items that peers may wait for, although nobody here does.
    pub(crate) debts: AtomicUsize,
}

impl<C: Client> Post<C> {
    /// Makes the service of a client on a channel, which the client serves, with so many tables of names. `limits` says what holds
    /// for each peer.
    pub fn new(
        nodes: &'static Nodes,
        channel: Channel,
        tables: u32,
        limits: impl Fn(Node) -> Limits,
    ) -> Self {
        let peer = |node| CachePadded(Peer::new(nodes, node, &limits(node)));
        Self {
            nodes,
            channel,
            peers: (0..nodes.device().nodes()).map(peer).collect(),
            lent: Tables::new(tables),
            awaited: Tables::new(tables),
            readings: Lock::default(),
            left: AtomicUsize::new(0),
            debts: AtomicUsize::new(0),
        }
    }

    /// Takes in node processes that have joined.
    pub fn join(&self, begin: Node, count: u32, limits: &Limits) {
        assert_eq!(self.peers.len(), begin as usize, "node processes join one after the other");
        for node in begin..begin + count {
            self.peers.push(CachePadded(Peer::new(self.nodes, node, limits)));
        }
    }

    /// Returns the way to the other node processes.
    #[inline]
    pub fn nodes(&self) -> &'static Nodes {
        self.nodes
    }

    /// Tells whether nothing waits to be sent or read.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    /// Tells whether nothing waits to be sent, fetched, or filled.
    pub fn is_empty(&self) -> bool {
        self.is_idle() && self.lent.is_empty() && self.awaited.is_empty()
    }

    /// Tells whether a peer may wait for something that the device has refused so far.
    pub fn has_debts(&self) -> bool {
        self.debts.load(Ordering::Relaxed) > 0
    }
}

impl<C: Client> Peer<C> {
    fn new(nodes: &Nodes, node: Node, limits: &Limits) -> Self {
        let takes = nodes.device().capabilities(node).eager as u64;
        let most = takes.saturating_sub(limits.note);
        Self {
            short: limits.short.min(most),
            takes,
            takes_answers: limits.short >= most,
            longest: limits.short.min(takes).max(MOST_ANSWER as u64) + C::MOST_NOTE,
            window: Window::new(limits.there, limits.here),
            lent: AtomicU64::new(0),
            most_lent: limits.lent,
            is_lost: AtomicBool::new(false),
            backlog: Backlog::default(),
            staged: Lock::default(),
        }
    }

    /// Counts data as lent, if that is not too much.
    pub fn lend(&self, bytes: u64) -> bool {
        let most = self.most_lent;
        let more = |lent: u64| lent.checked_add(bytes)?.checked_add(COST).filter(|&lent| lent <= most);
        most > 0 && self.lent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Notes that lent data is back.
    pub fn count_back(&self, bytes: u64) {
        self.lent.fetch_sub(bytes + COST, Ordering::Relaxed);
    }
}
