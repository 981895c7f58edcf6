//! The device: what the connections of a node process do for the layers above.
#![allow(unsafe_code)] // Takes memory by address, as the interface does.

mod door;
mod leaving;
mod listening;
mod loss;
mod receiving;
mod sending;
mod tuning;
mod watching;

pub use listening::Listener;

use crate::config::NetConfig;
use crate::frame::{HEAD, Kind};
use crate::lane::{Connection, Lane};
use crate::link::{BULK, Item, Link, Stage, send_short};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use door::Door;
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::io::Errno;
use rustix::net::{Shutdown, sockopt};
use rustix::time::Timespec;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;
use weft_handshake::{Nonce, Secret};
use weft_sync::{CachePadded, Lock};
use weft_sys::clock;
use weft_transport::{Capabilities, Channel, Device, Handler, Node, Refusal, Tuning};

/// How many connections are looked at without asking which have something.
const RECENT: usize = 2;
/// After how many microseconds the others are asked after when each poll finds something.
const BUSY_US: u64 = 20;
/// So many arrivals in a row on one connection make it likely that the next one comes there, too.
const STREAK: u32 = 4;
/// How many microseconds then lie between two looks at the others; in tests more than a poll takes on any machine.
pub(crate) const APART_US: u64 = if cfg!(test) { 1000 } else { 2 };
/// How many times as many at most: the more, the longer the row is, so that a change of the connection costs less than what went
/// before has saved.
const LONG_ROW: u32 = 5;
/// After so many arrivals in a row a connection is set apart (`watching`): that costs as much as a poll or two.
pub(crate) const ROW: u32 = 64;
/// How many polls in vain lie between two looks at the clock while something has a time limit.
const TEND: u32 = 64;
/// The least size of the memory that is received into.
const SCRATCH: usize = 256 << 10;
/// How long a sleep lasts while something has a time limit.
const NAP: Duration = Duration::from_millis(20);

/// How long a sleep lasts while something waits to be received by who sends.
const MOMENT: Duration = Duration::from_micros(50);

/// What the kernel tells of.
const BELL: u64 = 1 << 32;
const LISTENER: u64 = 2 << 32;
const HALF: u64 = 3 << 32;

struct Peer {
    addresses: Vec<SocketAddr>,
    /// Those that every job uses, and the others, if there are any.
    links: [CachePadded<Link>; Channel::FIRST],
    further: OnceLock<Box<[CachePadded<Link>; Lane::COUNT - Channel::FIRST]>>,
    /// Places of the addresses that are reached through interfaces of their own. Lanes take them in turn.
    roads: Box<[usize]>,
    /// Over how many connections a long message goes.
    stripes: u32,
    /// Why it is gone.
    lost: OnceLock<String>,
    /// It has said that it ends.
    ended: AtomicBool,
}

impl Peer {
    #[inline]
    fn link(&self, lane: Lane) -> &Link {
        match self.links.get(lane.number()) {
            Some(link) => link,
            None => &self.further.get_or_init(Box::default)[lane.number() - self.links.len()],
        }
    }
}

/// The device over TCP.
pub struct TcpDevice {
    node: Node,
    config: NetConfig,
    secret: Secret,
    peers: Box<[CachePadded<Peer>]>,
    listeners: Vec<TcpListener>,
    epoll: OwnedFd,
    bell: OwnedFd,
    door: Lock<Door>,
    /// Connections to make.
    wanted: Lock<Vec<(Node, Lane)>>,
    /// Node processes here outnumber the cores.
    is_crowded: bool,
    /// What is sent and not reported.
    done: Lock<Vec<(Node, Channel, u64)>>,
    /// Peers whose loss is not reported.
    losses: Lock<Vec<Node>>,
    /// Held by who reports.
    reports: Lock<()>,
    /// How much of these three there is.
    pending: AtomicU32,
    door_busy: AtomicBool,
    /// Connections that have had something.
    recent: [AtomicU32; RECENT],
    /// How many whole messages, or several at once, have come in a row on the latest of them.
    streak: AtomicU32,
    /// When the kernel was asked about all, in ticks of the clock.
    looked: AtomicU64,
    ticks: AtomicU32,
    /// The connection that is set apart, and the turn of who changes which ones the kernel tells of: see `watching`.
    apart: AtomicU32,
    turn: Lock<()>,
    /// In how many directions of connections a long message is under way.
    streams: AtomicU32,
    scratches: Lock<Vec<Box<[u8]>>>,
    sleepers: Lock<u32>,
    /// This process ends; whoever connects now is told so.
    is_leaving: AtomicBool,
    has_rung: AtomicBool,
    /// Something has arrived on a connection that a thread which sends has taken up.
    has_unread: AtomicBool,
    sleeping: AtomicU32,
}

fn index(node: Node, lane: Lane) -> u32 {
    node * Lane::COUNT as u32 + lane.number() as u32
}

fn of_index(index: u32) -> (Node, Lane) {
    let count = Lane::COUNT as u32;
    (index / count, Lane::new((index % count) as usize).expect("less than there are"))
}

const QUIET: epoll::EventFlags = epoll::EventFlags::IN.union(epoll::EventFlags::RDHUP);

impl TcpDevice {
    pub(crate) fn number(&self) -> Node {
        self.node
    }

    pub(crate) fn count(&self) -> u32 {
        self.peers.len() as u32
    }

    pub(crate) fn secret(&self) -> &Secret {
        &self.secret
    }

    pub(crate) fn congestion(&self) -> Option<&str> {
        self.config.congestion.as_deref()
    }

    pub(crate) fn epoll(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    pub(crate) fn nonce(&self) -> Nonce {
        let mut nonce = [0; 32];
        let filled = rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty());
        assert_eq!(filled, Ok(nonce.len()), "the kernel gives random bytes, up to 256 of them at once");
        nonce
    }

    pub(crate) fn half_data(&self, number: u32) -> epoll::EventData {
        epoll::EventData::new_u64(HALF | u64::from(number))
    }

    /// Returns all connections with a peer, also those that are not made yet.
    pub(crate) fn links(&self, node: Node) -> impl Iterator<Item = (Lane, &Link)> {
        let peer = &self.peers[node as usize];
        let further = peer.further.get().into_iter().flat_map(|links| links.iter());
        let lanes = (0..Lane::COUNT).filter_map(Lane::new);
        lanes.zip(peer.links.iter().chain(further).map(|link| &**link))
    }

    /// Returns the address for an attempt to make a connection: all of them in turn, from the one on that is the lane's.
    pub(crate) fn address_of(&self, node: Node, lane: Lane, attempt: u32) -> Option<SocketAddr> {
        let Peer { addresses, roads, .. } = &*self.peers[node as usize];
        let first = roads[lane.part() % roads.len()];
        addresses.get((first + attempt as usize) % addresses.len().max(1)).copied()
    }

    pub(crate) fn addresses_of(&self, node: Node) -> &[SocketAddr] {
        &self.peers[node as usize].addresses
    }

    pub(crate) fn link(&self, node: Node, lane: impl Into<Lane>) -> &Link {
        self.peers[node as usize].link(lane.into())
    }

    pub(crate) fn is_lost(&self, node: Node) -> bool {
        self.peers[node as usize].lost.get().is_some()
    }

    /// Returns how many connections of strangers were refused.
    pub fn refused(&self) -> u64 {
        self.door.lock().refused()
    }

    // --- connections -----------------------------------------------------------------------------------------------

    /// Begins to use a connection.
    pub(crate) fn open(&self, connection: Connection, socket: OwnedFd) {
        let node = if connection.from == self.node { connection.to } else { connection.from };
        let link = self.link(node, connection.lane);
        if let Err(error) = self.prepare(&socket) {
            return self.lose(node, format!("its connection cannot be set up: {error}"));
        }
        let data = epoll::EventData::new_u64(index(node, connection.lane).into());
        if link.socket.get().is_some() || epoll::modify(&self.epoll, &socket, data, QUIET).is_err() {
            return;
        }
        let socket = link.socket.get_or_init(|| socket);
        {
            let mut out = link.out.lock();
            out.stage = Stage::Open;
            out.busy = true;
            if self.is_leaving.load(Ordering::SeqCst) {
                out.say_end();
            }
        }
        if self.is_lost(node) {
            let _ = rustix::net::shutdown(socket, Shutdown::Both);
        }
        self.send_waiting(node, connection.lane, link);
        self.note_recent(index(node, connection.lane));
    }

    fn prepare(&self, socket: &OwnedFd) -> Result<(), Errno> {
        let patience = self.config.keep_alive.max(Duration::from_secs(1));
        sockopt::set_tcp_nodelay(socket, true)?;
        sockopt::set_socket_keepalive(socket, true)?;
        sockopt::set_tcp_keepidle(socket, (patience / 2).max(Duration::from_secs(1)))?;
        sockopt::set_tcp_keepintvl(socket, (patience / 6).max(Duration::from_secs(1)))?;
        sockopt::set_tcp_keepcnt(socket, 3)?;
        sockopt::set_tcp_user_timeout(socket, patience.as_millis() as u32)
    }

    /// Notes that a connection has, or has no longer, so much to do that who waits for it should sleep.
    fn note_stream(&self, flag: &AtomicBool, is_one: bool) {
        if flag.load(Ordering::Relaxed) != is_one && flag.swap(is_one, Ordering::Relaxed) != is_one {
            let change = if is_one { 1 } else { u32::MAX };
            self.streams.fetch_add(change, Ordering::Relaxed);
        }
    }

    fn note_recent(&self, index: u32) {
        let [first, second] = &self.recent;
        let latest = first.load(Ordering::Relaxed);
        if latest != index {
            self.watch_all();
            second.store(latest, Ordering::Relaxed);
            first.store(index, Ordering::Relaxed);
        }
    }

    // --- polling ---------------------------------------------------------------------------------------------------

    /// Receives from a connection that has had something.
    fn receive_recent(&self, recent: &AtomicU32, handler: &dyn Handler) -> bool {
        let number = recent.load(Ordering::Relaxed);
        if number == u32::MAX {
            return false;
        }
        let (node, lane) = of_index(number);
        // Who has more to send than the socket takes waits for room, and leaves the socket to the kernel or to who sends: a
        // look sees what arrives.
        let link = self.link(node, lane);
        if link.is_blocked.load(Ordering::Relaxed) || link.is_taken() {
            self.watch_all();
            return false;
        }
        self.receive(node, lane, handler)
    }

    /// Asks the kernel which connections have something, and deals with those.
    fn look(&self, handler: &dyn Handler) -> bool {
        let mut space = [MaybeUninit::<epoll::Event>::uninit(); 32];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let Ok((events, _)) = epoll::wait(&self.epoll, &mut space[..], Some(&now)) else { return false };
        let mut moved = false;
        for event in events {
            let (flags, data) = (event.flags, event.data.u64());
            let number = data as u32;
            match data >> 32 {
                0 => {
                    let (node, lane) = of_index(number);
                    if flags.contains(epoll::EventFlags::OUT) {
                        moved |= self.go_on(node, lane);
                    }
                    if flags == epoll::EventFlags::OUT {
                        continue;
                    }
                    if self.link(node, lane).is_taken() {
                        self.has_unread.store(true, Ordering::Relaxed);
                    } else if self.receive(node, lane, handler) {
                        self.note_recent(number);
                        moved = true;
                    }
                }
                2 | 3 => {
                    let Some(mut door) = self.door.try_lock() else { continue };
                    moved |= if data >> 32 == 2 {
                        door.accept(self, &self.listeners[number as usize])
                    } else {
                        door.go_on(self, number)
                    };
                    self.door_busy.store(door.is_busy(), Ordering::Relaxed);
                }
                _ => {}
            }
        }
        moved
    }

    /// Waits until the kernel has something to tell. What has arrived where another thread sends is that one's business, and
    /// would end each wait at once, so then it waits for a moment, and for the bell only.
    fn wait(&self, limit: Duration) {
        let time =
            |limit: Duration| Timespec { tv_sec: limit.as_secs() as _, tv_nsec: limit.subsec_nanos().into() };
        if self.has_unread.load(Ordering::Relaxed) {
            let bell = PollFd::new(&self.bell, PollFlags::IN);
            let _ = poll(&mut [bell], Some(&time(limit.min(MOMENT))));
            self.has_unread.store(false, Ordering::Relaxed);
        } else {
            let mut space = [MaybeUninit::<epoll::Event>::uninit(); 1];
            let _ = epoll::wait(&self.epoll, &mut space[..], Some(&time(limit)));
        }
    }

    #[cold]
    fn tend(&self) -> bool {
        let Some(mut door) = self.door.try_lock() else { return false };
        let moved = door.tend(self);
        self.door_busy.store(door.is_busy(), Ordering::Relaxed);
        moved
    }

    /// Tells whether the next message is expected where the latest ones came.
    #[cfg(test)]
    pub(crate) fn has_streak(&self) -> bool {
        self.streak.load(Ordering::Relaxed) >= STREAK
    }

    /// Tells whether a connection is set apart.
    #[cfg(test)]
    pub(crate) fn has_apart(&self) -> bool {
        self.apart.load(Ordering::Relaxed) != watching::NONE
    }

    /// Tells when the kernel was asked about all connections.
    #[cfg(test)]
    pub(crate) fn last_look(&self) -> u64 {
        self.looked.load(Ordering::Relaxed)
    }

    /// Breaks the connections with a peer.
    #[cfg(test)]
    pub(crate) fn sever(&self, node: Node) {
        let sockets: Vec<_> = self.links(node).filter_map(|(_, link)| link.socket.get()).collect();
        sockets.iter().for_each(|socket| _ = rustix::net::shutdown(socket, Shutdown::Both));
        if sockets.is_empty() {
            self.lose(node, "it was cut off before it was connected".into());
        }
    }
}

impl Device for TcpDevice {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn node(&self) -> Node {
        self.node
    }

    fn nodes(&self) -> u32 {
        self.count()
    }

    fn capabilities(&self, _peer: Node) -> Capabilities {
        Capabilities { eager: self.config.eager, remote_read: false }
    }

    fn send(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> Result<(), Refusal> {
        self.check(header, payload);
        let peer = self.peer(to)?;
        let link = peer.link(channel.into());
        if let Some(socket) = self.claim(peer, link, payload.len() >= BULK)? {
            let taking = link.take_up(payload.len());
            let (sent, all) = send_short(socket, channel, header, payload);
            drop(taking);
            let rest = |sent| (sent < all).then(|| Item::copy(Kind::Short, channel, header, payload, sent));
            self.settle(to, channel, link, (1, payload.len() as u64), sent.map(rest));
        } else {
            let cost = (HEAD + header.len() + payload.len(), payload.len() as u64);
            let item = || Item::copy(Kind::Short, channel, header, payload, 0);
            self.queue(to, channel.into(), peer, channel, item, cost)?;
        }
        Ok(())
    }

    unsafe fn start(
        &self,
        to: Node,
        channel: Channel,
        part: u32,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        token: u64,
    ) -> Result<(), Refusal> {
        let lane = Lane::of_part(channel, part % self.parts(to));
        // SAFETY: the caller's promise.
        unsafe { self.start_on(lane, to, channel, header, address, bytes, token) }
    }

    unsafe fn read(&self, _peer: Node, _address: u64, _target: *mut u8, _bytes: u64) -> Result<(), Refusal> {
        Err(Refusal::Lost { reason: "memory of other hosts cannot be read over TCP".into() })
    }

    fn poll(&self, handler: &dyn Handler) -> bool {
        let tick = self.ticks.load(Ordering::Relaxed).wrapping_add(1);
        self.ticks.store(tick, Ordering::Relaxed);
        let [latest, earlier] = &self.recent;
        let mut moved = self.receive_recent(latest, handler);
        if moved {
            self.note_row(latest.load(Ordering::Relaxed));
        }
        // Each call of the kernel in vain delays what comes meanwhile. By the clock, because some poll seldom.
        let apart = match self.streak.load(Ordering::Relaxed) {
            _ if moved => BUSY_US,
            0..STREAK => 0,
            streak => APART_US * u64::from((streak / (2 * STREAK)).clamp(1, LONG_ROW)),
        };
        let waited = clock::ticks().wrapping_sub(self.looked.load(Ordering::Relaxed));
        if waited >= apart * clock::ticks_per_us() {
            let before = latest.load(Ordering::Relaxed);
            let is_other = self.receive_recent(earlier, handler);
            moved |= is_other || self.look(handler);
            if is_other || latest.load(Ordering::Relaxed) != before {
                self.streak.store(0, Ordering::Relaxed);
            }
            self.looked.store(clock::ticks(), Ordering::Relaxed);
        }
        if self.pending.load(Ordering::Relaxed) != 0 {
            moved |= self.report(handler);
        }
        if self.door_busy.load(Ordering::Relaxed) && tick.is_multiple_of(TEND) {
            moved |= self.tend();
        }
        moved
    }

    fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool) {
        *self.sleepers.lock() += 1;
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        self.watch_all();
        if self.pending.load(Ordering::SeqCst) == 0 && is_idle() {
            let busy = self.door_busy.load(Ordering::Relaxed);
            let limit = if busy { limit.min(NAP) } else { limit };
            self.wait(limit);
            if busy {
                self.tend();
            }
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
        let mut sleepers = self.sleepers.lock();
        *sleepers -= 1;
        if *sleepers == 0 && self.has_rung.swap(false, Ordering::Relaxed) {
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        }
    }

    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
            // Afterwards: who finds it silent too early finds it again in its next sleep.
            self.has_rung.store(true, Ordering::Relaxed);
        }
    }

    fn leave(&self) {
        self.part();
    }
}
