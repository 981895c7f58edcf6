//! The device: what the connections of a node process do for the layers above.
#![allow(unsafe_code)] // Passes memory by address, as the interface does.

use crate::card::{self, Card, Machine};
use crate::config::{NetConfig, choose, common_prefix};
use crate::door::Door;
use crate::frame::{Frame, HEAD, Kind, take};
use crate::handshake::{Nonce, Pair, Secret};
use crate::link::{Incoming, Item, Link, Placing, STREAM, Stage, Then, send_short};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use rustix::net::{Shutdown, sockopt};
use rustix::time::Timespec;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;
use weft_sync::{CachePadded, Lock};
use weft_transport::{
    Arriving, Capabilities, Channel, Device, Handler, MAX_HEADER, Nobody, Node, Outbound, Placement, Refusal,
    Traffic,
};

/// How many connections are looked at without asking which have something.
const RECENT: usize = 2;
/// How often the others are asked after, in polls that found something.
const LOOK: u32 = 8;
/// How many polls in vain lie between two looks at the clock while something has a time limit.
const TEND: u32 = 64;
/// How many times a poll receives from one connection.
const ROUNDS: usize = 16;
/// The least size of the memory that is received into.
const SCRATCH: usize = 256 << 10;
/// A payload from this length on is long: who has received one receives no more than `AHEAD` past the next header, so that
/// the data goes straight to its place.
const LONG: u64 = 128 << 10;
const AHEAD: usize = 8 << 10;
/// A short message of a rank is gathered below this length, and goes to its place in parts from there on.
const WHOLE: u64 = 4 << 10;
/// How long a sleep lasts while something has a time limit.
const NAP: Duration = Duration::from_millis(20);
/// How long a process that leaves waits for its last messages to go, and how long for peers to have them.
const PATIENCE: Duration = Duration::from_secs(5);
const LINGER: Duration = Duration::from_secs(1);

/// What the kernel tells of.
const BELL: u64 = 1 << 32;
const LISTENER: u64 = 2 << 32;
const HALF: u64 = 3 << 32;

/// Waits for peers, before it is known who they are.
pub struct Listener {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    config: NetConfig,
}

impl Listener {
    /// Listens on the chosen interfaces.
    ///
    /// # Errors
    /// Says which interfaces there are if none is chosen, or what the kernel says.
    pub fn bind(config: &NetConfig) -> io::Result<Self> {
        let interfaces = if_addrs::get_if_addrs()?;
        let all: Vec<_> = interfaces.iter().map(|one| (one.name.clone(), one.ip())).collect();
        let chosen = choose(config, &all).map_err(io::Error::other)?;
        let mut listeners = Vec::new();
        let mut failure = None;
        for address in chosen {
            match TcpListener::bind((address, 0)) {
                Ok(listener) => listeners.push(listener),
                Err(error) => failure = Some(io::Error::new(error.kind(), format!("{address}: {error}"))),
            }
        }
        if let (true, Some(error)) = (listeners.is_empty(), failure) {
            return Err(error);
        }
        listeners.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
        let addresses = listeners.iter().map(TcpListener::local_addr).collect::<io::Result<_>>()?;
        Ok(Self { listeners, addresses, config: config.clone() })
    }

    /// Returns what peers must know.
    pub fn card(&self) -> Card {
        Card { addresses: self.addresses.clone(), machine: Some(Machine::here(self.config.workers)) }
    }

    /// Becomes the device of process `node`, given the cards of all by number, and what all of them know. The own card, and
    /// those of processes that are reached another way, may be empty.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn join(self, node: Node, book: Vec<Card>, secret: Secret) -> io::Result<TcpDevice> {
        let is_crowded = card::is_crowded(self.config.workers, &book);
        let own: Vec<IpAddr> = self.addresses.iter().map(SocketAddr::ip).collect();
        let distance = |address: &SocketAddr| {
            let common = |&own: &IpAddr| common_prefix(own, address.ip()).unwrap_or(0);
            u32::MAX - own.iter().map(common).max().unwrap_or(0)
        };
        let peer = |mut addresses: Vec<SocketAddr>| {
            // Those of a network that both are in first.
            addresses.sort_by_key(distance);
            CachePadded(Peer {
                addresses,
                links: Default::default(),
                lost: OnceLock::new(),
                ended: AtomicBool::new(false),
            })
        };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        for (index, listener) in self.listeners.iter().enumerate() {
            let data = epoll::EventData::new_u64(LISTENER | index as u64);
            epoll::add(&epoll, listener, data, epoll::EventFlags::IN)?;
        }
        Ok(TcpDevice {
            node,
            config: self.config,
            secret,
            peers: book.into_iter().map(|card| peer(card.addresses)).collect(),
            listeners: self.listeners,
            epoll,
            bell,
            door: Lock::default(),
            wanted: Lock::default(),
            done: Lock::default(),
            losses: Lock::default(),
            reports: Lock::default(),
            pending: AtomicU32::new(0),
            door_busy: AtomicBool::new(false),
            recent: core::array::from_fn(|_| AtomicU32::new(u32::MAX)),
            ticks: AtomicU32::new(0),
            streams: AtomicU32::new(0),
            is_crowded,
            scratches: Lock::default(),
            sleepers: Lock::new(0),
            sleeping: AtomicU32::new(0),
        })
    }
}

struct Peer {
    addresses: Vec<SocketAddr>,
    links: [CachePadded<Link>; Channel::ALL.len()],
    /// Why it is gone.
    lost: OnceLock<String>,
    /// It has said that it ends.
    ended: AtomicBool,
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
    wanted: Lock<Vec<(Node, Channel)>>,
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
    ticks: AtomicU32,
    /// In how many directions of connections a long message is under way.
    streams: AtomicU32,
    scratches: Lock<Vec<Box<[u8]>>>,
    sleepers: Lock<u32>,
    sleeping: AtomicU32,
}

fn index(node: Node, channel: Channel) -> u32 {
    node * Channel::ALL.len() as u32 + channel as u32
}

fn of_index(index: u32) -> (Node, Channel) {
    let count = Channel::ALL.len() as u32;
    (index / count, Channel::ALL[(index % count) as usize])
}

/// Why nothing is received.
enum Stop {
    /// There is nothing now.
    Empty,
    /// There will be nothing any more.
    Closed(String),
    /// What there was is none of the protocol.
    Fault(String),
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

    pub(crate) fn addresses_of(&self, node: Node) -> &[SocketAddr] {
        &self.peers[node as usize].addresses
    }

    pub(crate) fn link(&self, node: Node, channel: Channel) -> &Link {
        &self.peers[node as usize].links[channel as usize]
    }

    pub(crate) fn is_lost(&self, node: Node) -> bool {
        self.peers[node as usize].lost.get().is_some()
    }

    /// Returns how many connections of strangers were refused.
    pub fn refused(&self) -> u64 {
        self.door.lock().refused()
    }

    // --- losing ----------------------------------------------------------------------------------------------------

    /// Notes that a peer is gone; it is reported by the next poll.
    pub(crate) fn lose(&self, node: Node, why: String) {
        let peer = &self.peers[node as usize];
        let at = peer.addresses.first().map_or_else(String::new, |address| format!(" (at {address})"));
        if peer.lost.set(format!("node process {node}{at} is lost: {why}")).is_ok() {
            self.losses.lock().push(node);
            self.note();
        }
    }

    /// Notes that a peer which was to be reached has ended.
    pub(crate) fn end_of(&self, pair: Pair) {
        let link = self.link(pair.to, pair.channel);
        if link.out.lock().stage == Stage::Dialling {
            self.lose(pair.to, "it has ended".into());
        }
    }

    /// Notes that a poll has something to report.
    fn note(&self) {
        self.pending.fetch_add(1, Ordering::SeqCst);
        self.wake();
    }

    /// Reports what is sent and who is lost.
    #[cold]
    fn report(&self, handler: &dyn Handler) -> bool {
        let Some(_alone) = self.reports.try_lock() else { return false };
        let mut moved = false;
        let wanted = core::mem::take(&mut *self.wanted.lock());
        if !wanted.is_empty() {
            if let Some(mut door) = self.door.try_lock() {
                self.pending.fetch_sub(wanted.len() as u32, Ordering::SeqCst);
                wanted.iter().for_each(|&(to, channel)| door.dial(self, to, channel));
                self.door_busy.store(door.is_busy(), Ordering::Relaxed);
                moved = true;
            } else {
                self.wanted.lock().extend(wanted);
            }
        }
        let done = core::mem::take(&mut *self.done.lock());
        self.pending.fetch_sub(done.len() as u32, Ordering::SeqCst);
        for &(to, channel, token) in &done {
            // What belongs to a lost peer is over with the report of the loss, which may have been.
            if !self.is_lost(to) {
                handler.sent(to, channel, token);
            }
        }
        let losses = core::mem::take(&mut *self.losses.lock());
        for node in losses {
            if self.let_go(node) {
                self.pending.fetch_sub(1, Ordering::SeqCst);
                let reason = self.peers[node as usize].lost.get().map_or("", String::as_str);
                handler.lost(node, reason);
                moved = true;
            } else {
                self.losses.lock().push(node);
            }
        }
        moved || !done.is_empty()
    }

    /// Lets go of all memory that has to do with a lost peer. Returns false if somebody uses it now.
    fn let_go(&self, node: Node) -> bool {
        for link in &self.peers[node as usize].links {
            {
                let mut out = link.out.lock();
                if out.busy {
                    return false;
                }
                out.clear();
            }
            let Some(mut incoming) = link.incoming.try_lock() else { return false };
            *incoming = Incoming::closed();
            self.note_stream(&link.is_streaming, false);
            self.note_stream(&link.is_blocked, false);
            if let Some(socket) = link.socket.get() {
                let _ = epoll::delete(&self.epoll, socket);
                let _ = rustix::net::shutdown(socket, Shutdown::Both);
            }
        }
        true
    }

    // --- sending ---------------------------------------------------------------------------------------------------

    fn peer(&self, to: Node, header: &[u8]) -> Result<&Peer, Refusal> {
        assert!(header.len() <= MAX_HEADER, "a header of {} bytes", header.len());
        let Some(peer) = self.peers.get(to as usize).filter(|_| to != self.node) else {
            return Err(Refusal::Lost { reason: format!("there is no other node process {to}") });
        };
        match peer.lost.get() {
            None => Ok(peer),
            Some(reason) => Err(Refusal::Lost { reason: reason.clone() }),
        }
    }

    /// Puts a message into a peer's queue, and dials if nobody has.
    fn queue(
        &self,
        to: Node,
        channel: Channel,
        peer: &Peer,
        item: impl FnOnce() -> Item,
        (cost, bytes): (usize, u64),
    ) -> Result<(), Refusal> {
        let link = &peer.links[channel as usize];
        let mut out = link.out.lock();
        // Whoever notes a loss takes the queue afterwards.
        if let Some(reason) = peer.lost.get() {
            return Err(Refusal::Lost { reason: reason.clone() });
        }
        if out.stage == Stage::Ended {
            return Err(Refusal::Lost { reason: format!("node process {to} has ended") });
        }
        if !out.push(item, cost) {
            return Err(Refusal::Full);
        }
        out.accept(bytes);
        let dials = out.stage == Stage::Absent;
        if dials {
            out.stage = Stage::Dialling;
        }
        // It has become clear since the caller looked.
        let sends = out.stage == Stage::Open && !out.busy && !out.armed;
        out.busy |= sends;
        drop(out);
        if sends {
            self.send_waiting(to, channel, link);
        }
        if dials {
            self.wanted.lock().push((to, channel));
            self.note();
        }
        Ok(())
    }

    /// Sends what waits for a peer; the caller is the busy one.
    fn send_waiting(&self, to: Node, channel: Channel, link: &Link) {
        let Some(socket) = link.socket.get() else { return };
        let mut tokens = Vec::new();
        let blocked = link.send_waiting(socket.as_fd(), &mut tokens);
        if !tokens.is_empty() {
            self.done.lock().extend(tokens.iter().map(|&token| (to, channel, token)));
            self.pending.fetch_add(tokens.len() as u32, Ordering::SeqCst);
            self.wake();
        }
        let mut out = link.out.lock();
        if blocked != out.armed && !out.busy && out.stage == Stage::Open && blocked != out.is_empty() {
            out.armed = blocked;
            self.note_stream(&link.is_blocked, blocked);
            let flags = if blocked { QUIET | epoll::EventFlags::OUT } else { QUIET };
            let data = epoll::EventData::new_u64(index(to, channel).into());
            let _ = epoll::modify(&self.epoll, socket, data, flags);
        }
    }

    /// Goes on with what waits for a peer, where there is room again.
    fn go_on(&self, to: Node, channel: Channel) -> bool {
        let link = self.link(to, channel);
        {
            let mut out = link.out.lock();
            if out.busy || out.stage != Stage::Open {
                return false;
            }
            out.busy = true;
        }
        self.send_waiting(to, channel, link);
        true
    }

    // --- connections -----------------------------------------------------------------------------------------------

    /// Begins to use a connection.
    pub(crate) fn open(&self, pair: Pair, socket: OwnedFd) {
        let node = if pair.from == self.node { pair.to } else { pair.from };
        let link = self.link(node, pair.channel);
        if let Err(error) = self.prepare(&socket) {
            return self.lose(node, format!("its connection cannot be set up: {error}"));
        }
        let data = epoll::EventData::new_u64(index(node, pair.channel).into());
        if link.socket.get().is_some() || epoll::modify(&self.epoll, &socket, data, QUIET).is_err() {
            return;
        }
        let socket = link.socket.get_or_init(|| socket);
        {
            let mut out = link.out.lock();
            out.stage = Stage::Open;
            out.busy = true;
        }
        if self.is_lost(node) {
            let _ = rustix::net::shutdown(socket, Shutdown::Both);
        }
        self.send_waiting(node, pair.channel, link);
        self.note_recent(index(node, pair.channel));
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
            second.store(latest, Ordering::Relaxed);
            first.store(index, Ordering::Relaxed);
        }
    }

    // --- receiving -------------------------------------------------------------------------------------------------

    /// Receives from a peer as much as there is, up to a bound. Returns whether there was anything.
    fn receive(&self, node: Node, channel: Channel, handler: &dyn Handler) -> bool {
        let link = self.link(node, channel);
        let (Some(socket), Some(mut incoming)) = (link.socket.get(), link.incoming.try_lock()) else {
            return false;
        };
        if incoming.closed || link.is_quiet() {
            return false;
        }
        let mut scratch = self.scratches.lock().pop().unwrap_or_else(|| vec![0; SCRATCH].into_boxed_slice());
        let mut moved = false;
        for _ in 0..ROUNDS {
            match self.receive_once(node, channel, socket, &mut incoming, &mut scratch, handler) {
                Ok(more) => {
                    moved = true;
                    if !more {
                        break;
                    }
                }
                Err(Stop::Empty) => break,
                Err(Stop::Closed(why)) => {
                    moved = true;
                    self.hang_up(node, link, &mut incoming, why);
                    break;
                }
                Err(Stop::Fault(why)) => {
                    moved = true;
                    self.hang_up(node, link, &mut incoming, why.clone());
                    self.lose(node, why);
                    break;
                }
            }
        }
        self.scratches.lock().push(scratch);
        let left = incoming.placing.as_ref().map_or(0, |placing| placing.left);
        link.expect(socket.as_fd(), &mut incoming, left);
        self.note_stream(&link.is_streaming, left >= STREAM);
        moved
    }

    /// Receives once. Returns whether there may be more.
    fn receive_once(
        &self,
        node: Node,
        channel: Channel,
        socket: &OwnedFd,
        incoming: &mut Incoming,
        scratch: &mut [u8],
        handler: &dyn Handler,
    ) -> Result<bool, Stop> {
        let (direct, kept) = match &incoming.placing {
            // Bytes that there is no room for come into the scratch, and are dropped.
            Some(placing) => (placing.room.min(1 << 30) as usize, 0),
            None => (0, incoming.kept.len()),
        };
        scratch[..kept].copy_from_slice(&incoming.kept);
        // What comes after a long message is long, mostly: its header is to come, and not all its data.
        let end = if incoming.is_long { kept + AHEAD } else { scratch.len() };
        let more = &mut scratch[kept..end];
        let asked = direct + more.len();
        let received = if direct > 0 {
            let address = incoming.placing.as_ref().map_or(core::ptr::null_mut(), |placing| placing.address);
            // SAFETY: there is room for as much, and the memory is the device's until it tells the handler.
            let target = unsafe { core::slice::from_raw_parts_mut(address, direct) };
            rustix::io::readv(socket, &mut [IoSliceMut::new(target), IoSliceMut::new(more)])
        } else {
            rustix::io::read(socket, more)
        };
        let received = match received {
            Ok(0) => return Err(Stop::Closed("it has closed the connection: its process has ended".into())),
            Ok(received) => received,
            Err(Errno::AGAIN | Errno::INTR) => return Err(Stop::Empty),
            Err(error) => return Err(Stop::Closed(error.to_string())),
        };
        incoming.kept.clear();
        let placed = received.min(direct);
        if let Some(placing) = &mut incoming.placing {
            placing.note(placed as u64);
        }
        let input = &scratch[..kept + received - placed];
        self.deliver(node, channel, incoming, input, handler).map_err(Stop::Fault)?;
        Ok(received == asked)
    }

    /// Delivers what has arrived.
    fn deliver(
        &self,
        from: Node,
        channel: Channel,
        incoming: &mut Incoming,
        mut input: &[u8],
        handler: &dyn Handler,
    ) -> Result<(), String> {
        loop {
            while let Some(placing) = &mut incoming.placing {
                input = placing.take(input);
                if placing.left > 0 {
                    return Ok(());
                }
                let then = placing.then;
                incoming.placing = None;
                match then {
                    Then::Forget => incoming.messages += 1,
                    Then::Tell(token) => {
                        incoming.messages += 1;
                        handler.placed(from, channel, token);
                    }
                    Then::Deliver => {
                        let (header, present) = incoming.gathered.message();
                        let bytes = present.len() as u64;
                        let message = Arriving { from, channel, header, bytes, present };
                        let mut placing = place(handler, message);
                        placing.take(present);
                        incoming.placing = Some(placing);
                    }
                }
            }
            let eager = self.config.eager as u64;
            let frame = take(&mut input, eager)
                .map_err(|what| format!("it has sent a malformed frame ({what:?})"))?;
            let Some(Frame { kind, header, bytes, present }) = frame else {
                incoming.kept.extend_from_slice(input);
                return Ok(());
            };
            if incoming.ended {
                return Err("it has sent something after its end".into());
            }
            if kind == Kind::End {
                incoming.ended = true;
                self.peers[from as usize].ended.store(true, Ordering::Release);
                continue;
            }
            incoming.is_long = bytes >= LONG;
            let is_part = (present.len() as u64) < bytes;
            let wants_all = channel != Channel::PointToPoint || bytes < WHOLE;
            let mut placing = if is_part && kind == Kind::Short && wants_all {
                incoming.gathered.begin(header, bytes)
            } else {
                place(handler, Arriving { from, channel, header, bytes, present })
            };
            placing.take(present);
            incoming.placing = Some(placing);
        }
    }

    /// Ends the use of a connection that brings nothing any more.
    fn hang_up(&self, node: Node, link: &Link, incoming: &mut Incoming, why: String) {
        incoming.closed = true;
        self.note_stream(&link.is_streaming, false);
        self.note_stream(&link.is_blocked, false);
        if let Some(socket) = link.socket.get() {
            let _ = epoll::delete(&self.epoll, socket);
        }
        let ended = incoming.ended || self.peers[node as usize].ended.load(Ordering::Acquire);
        let (broken, waits) = {
            let mut out = link.out.lock();
            let left = out.stage == Stage::Ended;
            out.stage = Stage::Ended;
            (out.broken, !left && !out.is_empty())
        };
        if !ended || incoming.placing.is_some() || waits {
            self.lose(node, broken.map_or(why, |error| error.to_string()));
        }
    }

    /// Tells whether the kernel has something that nobody has looked at.
    fn is_ready(&self) -> bool {
        let mut space = [MaybeUninit::<epoll::Event>::uninit(); 1];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&self.epoll, &mut space[..], Some(&now)).is_ok_and(|(events, _)| !events.is_empty())
    }

    // --- polling ---------------------------------------------------------------------------------------------------

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
                    let (node, channel) = of_index(number);
                    if flags.contains(epoll::EventFlags::OUT) {
                        moved |= self.go_on(node, channel);
                    }
                    if flags != epoll::EventFlags::OUT && self.receive(node, channel, handler) {
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

    #[cold]
    fn tend(&self) -> bool {
        let Some(mut door) = self.door.try_lock() else { return false };
        let moved = door.tend(self);
        self.door_busy.store(door.is_busy(), Ordering::Relaxed);
        moved
    }

    /// Breaks the connections with a peer.
    #[cfg(test)]
    pub(crate) fn sever(&self, node: Node) {
        let sockets: Vec<_> =
            self.peers[node as usize].links.iter().filter_map(|link| link.socket.get()).collect();
        sockets.iter().for_each(|socket| _ = rustix::net::shutdown(socket, Shutdown::Both));
        if sockets.is_empty() {
            self.lose(node, "it was cut off before it was connected".into());
        }
    }
}

/// Asks the handler where a message goes.
fn place(handler: &dyn Handler, message: Arriving<'_>) -> Placing {
    let left = message.bytes;
    match handler.arrive(message) {
        Placement::Taken => Placing { address: core::ptr::null_mut(), room: 0, left, then: Then::Forget },
        Placement::Memory { address, capacity, token } => {
            Placing { address, room: capacity, left, then: Then::Tell(token) }
        }
    }
}

/// Returns how many bytes of a connection the peer has not acknowledged.
fn unacknowledged(socket: &OwnedFd) -> u32 {
    // SAFETY: this request writes one `c_int`.
    let asked = unsafe {
        let request = rustix::ioctl::Getter::<{ rustix::ioctl::opcode::none(0x54, 0x11) }, i32>::new();
        rustix::ioctl::ioctl(socket, request)
    };
    asked.map_or(0, |bytes| bytes.max(0) as u32)
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
        let peer = self.peer(to, header)?;
        assert!(payload.len() <= self.config.eager, "a payload of {} bytes", payload.len());
        let link = &peer.links[channel as usize];
        let clear = {
            let mut out = link.out.lock();
            let clear = out.is_clear() && peer.lost.get().is_none();
            if clear {
                out.busy = true;
                out.accept(payload.len() as u64);
            }
            clear
        };
        if clear && let Some(socket) = link.socket.get() {
            let (sent, all) = send_short(socket.as_fd(), header, payload);
            let mut out = link.out.lock();
            match sent {
                Ok(sent) if sent == all => {}
                Ok(sent) => out.put_first(Item::copy(Kind::Short, header, payload, sent)),
                Err(error) => {
                    out.stage = Stage::Broken;
                    out.broken = Some(error);
                }
            }
            let rest = !out.is_empty();
            out.busy = rest;
            drop(out);
            if rest {
                self.send_waiting(to, channel, link);
            }
        } else {
            let cost = (HEAD + header.len() + payload.len(), payload.len() as u64);
            self.queue(to, channel, peer, || Item::copy(Kind::Short, header, payload, 0), cost)?;
        }
        Ok(())
    }

    unsafe fn start(
        &self,
        to: Node,
        channel: Channel,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        token: u64,
    ) -> Result<(), Refusal> {
        let peer = self.peer(to, header)?;
        self.queue(to, channel, peer, || Item::memory(header, address, bytes, token), (0, bytes))
    }

    unsafe fn read(&self, _peer: Node, _address: u64, _target: *mut u8, _bytes: u64) -> Result<(), Refusal> {
        Err(Refusal::Lost { reason: "memory of other hosts cannot be read over TCP".into() })
    }

    fn poll(&self, handler: &dyn Handler) -> bool {
        let mut moved = false;
        for recent in &self.recent {
            let number = recent.load(Ordering::Relaxed);
            if number != u32::MAX {
                let (node, channel) = of_index(number);
                // Who has more to send than the socket takes waits for room, and leaves the socket to the kernel: the look
                // below sees what arrives.
                if !self.link(node, channel).is_blocked.load(Ordering::Relaxed) {
                    moved |= self.receive(node, channel, handler);
                }
            }
        }
        let tick = self.ticks.load(Ordering::Relaxed).wrapping_add(1);
        self.ticks.store(tick, Ordering::Relaxed);
        if !moved || tick.is_multiple_of(LOOK) {
            moved |= self.look(handler);
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
        if self.pending.load(Ordering::SeqCst) == 0 && is_idle() {
            let busy = self.door_busy.load(Ordering::Relaxed);
            let limit = if busy { limit.min(NAP) } else { limit };
            let limit = Timespec { tv_sec: limit.as_secs() as _, tv_nsec: limit.subsec_nanos().into() };
            let mut space = [MaybeUninit::<epoll::Event>::uninit(); 1];
            let _ = epoll::wait(&self.epoll, &mut space[..], Some(&limit));
            if busy {
                self.tend();
            }
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
        let mut sleepers = self.sleepers.lock();
        *sleepers -= 1;
        if *sleepers == 0 {
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        }
    }

    fn is_streaming(&self) -> bool {
        self.streams.load(Ordering::Relaxed) != 0
    }

    fn is_crowded(&self) -> bool {
        self.is_crowded
    }

    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }

    fn rest(&self) -> Option<Traffic> {
        let mut traffic = Traffic::default();
        let others = self.peers.iter().enumerate().filter(|&(node, _)| node as Node != self.node);
        for (_, peer) in others.filter(|(_, peer)| peer.lost.get().is_none()) {
            let ended = peer.ended.load(Ordering::Acquire);
            for link in &peer.links {
                let sent = {
                    let out = link.out.lock();
                    if out.busy || !out.is_empty() {
                        return None;
                    }
                    out.messages
                };
                // Nobody delivers while this is held. What the kernel still has is missing from what was received.
                let incoming = link.incoming.try_lock()?;
                if incoming.placing.is_some() {
                    return None;
                }
                if !ended {
                    traffic.sent += sent;
                    traffic.received += incoming.messages;
                }
            }
        }
        // What a peer sent before it left is in this host's kernel by now, and nobody else counts it.
        (self.pending.load(Ordering::SeqCst) == 0 && !self.is_ready()).then_some(traffic)
    }

    fn outbound(&self) -> Outbound {
        let mut outbound = Outbound::default();
        for peer in &self.peers {
            for (link, messages) in peer.links.iter().zip(&mut outbound.messages) {
                let out = link.out.lock();
                *messages += out.messages;
                outbound.bytes += out.bytes;
            }
        }
        outbound
    }

    fn leave(&self) {
        let links = || {
            (0..self.count())
                .flat_map(|node| Channel::ALL.map(|channel| (node, channel)))
                .filter(|&(node, _)| node != self.node && !self.is_lost(node))
                .map(|(node, channel)| (node, channel, self.link(node, channel)))
        };
        for (node, channel, link) in links() {
            let mut out = link.out.lock();
            let waits = out.stage == Stage::Dialling && !out.is_empty();
            if waits || matches!(out.stage, Stage::Settled | Stage::Open) {
                out.push_anyway(Item::copy(Kind::End, &[], &[], 0));
                let sends = out.stage == Stage::Open && !out.busy;
                out.busy |= sends;
                drop(out);
                if sends {
                    self.send_waiting(node, channel, link);
                }
            }
        }
        let mut drain = vec![0; SCRATCH];
        let begin = std::time::Instant::now();
        loop {
            let (mut unsent, mut unread) = (false, false);
            for (node, channel, link) in links() {
                self.go_on(node, channel);
                let waits = {
                    let out = link.out.lock();
                    let alive = matches!(out.stage, Stage::Dialling | Stage::Settled | Stage::Open);
                    alive && !out.is_empty()
                };
                unsent |= waits;
                let (false, Some(socket), Some(mut incoming)) =
                    (waits, link.socket.get(), link.incoming.try_lock())
                else {
                    continue;
                };
                if !core::mem::replace(&mut incoming.closed, true) {
                    let _ = epoll::delete(&self.epoll, socket);
                    let _ = rustix::net::shutdown(socket, Shutdown::Write);
                }
                // Unread data would make the kernel reset a connection that is closed, and drop what the peer has not got.
                while rustix::io::read(socket, &mut drain).is_ok_and(|count| count > 0) {}
                unread |= unacknowledged(socket) > 0;
            }
            let waited = begin.elapsed();
            if !(unsent && waited < PATIENCE || unread && waited < LINGER) {
                break;
            }
            if unsent {
                // Connections that are being made.
                self.poll(&Nobody);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        for (_, _, link) in links() {
            link.out.lock().stage = Stage::Ended;
        }
    }
}
