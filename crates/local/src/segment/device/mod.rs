//! The device: what the processes of a segment do for the layers above.
//!
//! `tuning`: what it does beyond what every device does.
#![allow(unsafe_code)] // Passes memory by address, as the interface does.

mod tuning;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

use weft_sync::{CachePadded, Lock};
use weft_sys::clock;
use weft_sys::shared::{self, Identity, Mapping};
use weft_transport::{Capabilities, Channel, Device, Handler, MAX_HEADER, Node, Refusal};

use super::creation::{check, wrong};
use super::cross_memory::{CrossMemory, PROBE, is_reading_cheaper, reads_probe};
use super::incoming::{Announced, Incoming};
use super::map::Map;
use super::outgoing::{Blocks, Outgoing};
use super::shared::{Area, Pair, state};
use super::wire;

/// How often a process looks whether the one it watches lives.
const WATCH: Duration = Duration::from_millis(100);
/// How many polls come between two looks at the clock, if the last of them was in vain.
const CALM: u32 = 4096;
/// How long a sleep lasts at most where nobody says that there is room again.
const NAP: Duration = Duration::from_millis(1);

/// Up to which size, commons apart, a segment asks for huge pages: it takes them whole, whatever is used of them.
const HUGE: u64 = 64 << 20;

/// Whether this process can read a peer's memory: not tried yet, yes, no.
const UNTRIED: u8 = 0;
const READABLE: u8 = 1;
const UNREADABLE: u8 = 2;

/// How a process attaches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// When peers' memory is read directly.
    pub cross_memory: CrossMemory,
    /// Whether the process takes part in a segment already, whose processes it has permitted to read its memory.
    pub is_further: bool,
}

struct Peer {
    outgoing: Lock<Outgoing>,
    readable: AtomicU8,
    lost: AtomicBool,
}

/// The device between the processes of a host.
pub struct SegmentDevice {
    map: Map,
    own: &'static Area,
    peers: Box<[CachePadded<Peer>]>,
    blocks: Blocks,
    announced: Announced,
    incoming: CachePadded<Lock<Incoming>>,
    /// Peers for which there is something to go on with; how many.
    waiting: Lock<Vec<Node>>,
    waiting_count: AtomicU32,
    /// Deaths that have been dealt with.
    deaths: AtomicU32,
    /// Counts polls.
    polls: AtomicU32,
    /// Counts how often something was delivered.
    heard: AtomicU32,
    watched: AtomicU64,
    /// Threads in [`Device::sleep`].
    sleepers: Lock<u32>,
    /// Whether this process takes part in barriers of all processors.
    has_barrier: bool,
    /// Whether it makes them itself.
    makes_barrier: bool,
    crowded: bool,
}

impl SegmentDevice {
    /// Takes part in a segment as process `node`: maps it and closes the descriptor.
    ///
    /// # Errors
    /// MPI_ERR_INTERN if the descriptor is not that of a segment of this version, or somebody else is process `node`.
    pub fn attach(fd: OwnedFd, node: Node) -> weft_base::Result<Self> {
        Self::attach_with(fd, node, Options::default())
    }

    /// As [`SegmentDevice::attach`], with options.
    ///
    /// # Errors
    /// As there.
    pub fn attach_with(fd: OwnedFd, node: Node, options: Options) -> weft_base::Result<Self> {
        let memory =
            Mapping::of(fd.as_fd()).map_err(|e| wrong(format!("cannot map the job's shared memory: {e}")))?;
        drop(fd);
        let shape = check(&memory)?;
        let nodes = shape.nodes;
        if node >= nodes {
            return Err(wrong(format!("there is no process {node} in shared memory of {nodes} processes")));
        }
        if shape.commons(0) <= HUGE {
            memory.prefer_huge_pages();
        }
        let map = Map::new(memory, shape, node);
        let own = map.area(node);
        // This process may be bound to one of many.
        let crowded = nodes > map.header().cores.load(Ordering::Relaxed);
        let has_barrier = shared::register_barrier_of_all();
        let device = Self {
            own,
            peers: (0..nodes)
                .map(|to| {
                    CachePadded(Peer {
                        outgoing: Lock::new(Outgoing::new(to)),
                        readable: AtomicU8::new(UNTRIED),
                        lost: AtomicBool::new(false),
                    })
                })
                .collect(),
            blocks: Blocks::new(shape.blocks),
            announced: Announced::new(shape.pairs),
            incoming: CachePadded(Lock::new(Incoming::new(nodes))),
            waiting: Lock::default(),
            waiting_count: AtomicU32::new(0),
            deaths: AtomicU32::new(0),
            polls: AtomicU32::new(0),
            heard: AtomicU32::new(0),
            watched: AtomicU64::new(clock::now_ns()),
            sleepers: Lock::new(0),
            has_barrier,
            // Where processes outnumber cores, they sleep often and send rarely: there a fence at each message is cheaper.
            makes_barrier: has_barrier && !crowded,
            crowded,
            map,
        };
        device.enter(options)?;
        Ok(device)
    }

    /// Says who this process is, and that it is there.
    fn enter(&self, options: Options) -> weft_base::Result {
        let (map, own) = (&self.map, self.own);
        if !options.is_further {
            shared::permit_descendants_of(map.header().ancestor.load(Ordering::Relaxed));
        }
        let identity = Identity::own();
        let claimed = own.process.compare_exchange(0, identity.process, Ordering::AcqRel, Ordering::Acquire);
        if let Err(other) = claimed {
            return Err(wrong(format!(
                "process {} of the job is process {other} of the system already",
                map.node
            )));
        }
        let value = PROBE.load(Ordering::Relaxed);
        let value = if value == 0 { clock::ticks() ^ u64::from(identity.process) << 40 | 1 } else { value };
        PROBE.store(value, Ordering::Relaxed);
        own.started.store(identity.started, Ordering::Relaxed);
        own.probe.store((&raw const PROBE) as u64, Ordering::Relaxed);
        own.probe_value.store(value, Ordering::Relaxed);
        // What does not even work with oneself is forbidden.
        let sees = options.cross_memory != CrossMemory::Never
            && reads_probe(identity.process, own)
            && (options.cross_memory == CrossMemory::Always || is_reading_cheaper(identity.process));
        own.blind.store(u32::from(!sees), Ordering::Relaxed);
        if self.makes_barrier {
            own.bell.promise_barrier();
        }
        own.state.store(state::PRESENT, Ordering::Release);
        Ok(())
    }

    /// Returns how many processes have attached so far.
    pub fn attached(&self) -> u32 {
        let is_there = |&node: &Node| self.map.area(node).state.load(Ordering::Acquire) != state::ABSENT;
        (0..self.map.shape.nodes).filter(is_there).count() as u32
    }

    /// Tells in words how data travels, for reports.
    pub fn describe(&self) -> String {
        let shape = &self.map.shape;
        let bulk = if self.own.blind.load(Ordering::Relaxed) == 0 {
            "long messages are read from the sender's memory"
        } else {
            "long messages go through shared memory"
        };
        let wakes = if self.makes_barrier { "without fences" } else { "with fences" };
        format!(
            "shared memory of {} processes, {} KiB per pair of them, {bulk}, {wakes}",
            shape.nodes,
            shape.pair_bytes >> 10
        )
    }

    /// Leaves no pair to this process for anybody.
    #[cfg(test)]
    pub(crate) fn give_away_pairs(&self) {
        self.own.pairs_taken.store(self.map.shape.pairs, Ordering::Relaxed);
    }

    /// Tells whether the shuttle to a peer is here.
    #[cfg(test)]
    pub(crate) fn has_shuttle_to(&self, peer: Node) -> bool {
        self.map.shuttles.is_here(peer)
    }

    /// Does as a thread does that sends to a peer, as long as the result lives.
    #[cfg(test)]
    pub(crate) fn hold_sending_to(&self, peer: Node) -> weft_sync::LockGuard<'_, Outgoing> {
        self.peers[peer as usize].outgoing.lock()
    }

    // --- bells -----------------------------------------------------------------------------------------------------

    /// Wakes a peer that sleeps beside what was just published.
    #[inline]
    fn call(&self, peer: Node) {
        let bell = &self.map.area(peer).bell;
        if !(self.has_barrier && bell.has_barrier()) {
            fence(Ordering::SeqCst);
        }
        if bell.ring() {
            shared::wake(bell.word(), u32::MAX);
        }
    }

    /// Tells whether there is something to poll for.
    #[inline]
    fn is_ready(&self) -> bool {
        self.announced.iter().any(has_message)
            || self.own.mailbox.is_ready()
            || self.deaths.load(Ordering::Relaxed) != self.map.header().deaths.load(Ordering::Relaxed)
    }

    // --- sending ---------------------------------------------------------------------------------------------------

    fn checked(&self, to: Node, header: &[u8]) -> Result<&Peer, Refusal> {
        assert!(header.len() <= MAX_HEADER, "a header of {} bytes", header.len());
        match self.peers.get(to as usize).filter(|_| to != self.map.node) {
            Some(peer) => Ok(peer),
            None => Err(Refusal::Lost { reason: format!("there is no other process {to}") }),
        }
    }

    #[cold]
    fn lost(&self, peer: Node) -> Refusal {
        let process = self.map.area(peer).process.load(Ordering::Relaxed);
        Refusal::Lost { reason: format!("node process {peer} (process {process} of this host) has ended") }
    }

    /// Enters a peer into the list of those to go on with, if there is something.
    #[inline]
    fn note(&self, peer: Node, outgoing: &mut Outgoing) {
        if outgoing.is_waiting() && !outgoing.listed {
            self.enlist(peer, outgoing);
        }
    }

    #[cold]
    fn enlist(&self, peer: Node, outgoing: &mut Outgoing) {
        outgoing.listed = true;
        self.waiting.lock().push(peer);
        self.waiting_count.fetch_add(1, Ordering::SeqCst);
    }

    /// Goes on with what was started, and reports what is out. A peer to whom another thread sends is left to a later call: the
    /// caller receives for the whole process, and a long message takes time. (A thread that waited here and lost its core kept
    /// everybody from receiving for a tick of the kernel.)
    #[cold]
    fn go_on(&self, handler: &dyn Handler) -> bool {
        let list = core::mem::take(&mut *self.waiting.lock());
        let mut moved = false;
        let mut tokens = Vec::new();
        for &peer in &list {
            let Some(mut outgoing) = self.peers[peer as usize].outgoing.try_lock() else {
                self.waiting.lock().push(peer);
                continue;
            };
            let went = outgoing.go_on(&self.map, &self.blocks, &mut tokens);
            let stays = outgoing.is_waiting();
            outgoing.listed = stays;
            if stays {
                // Under the peer's lock, so that it is entered once.
                self.waiting.lock().push(peer);
            } else {
                self.waiting_count.fetch_sub(1, Ordering::SeqCst);
            }
            drop(outgoing);
            if went {
                self.call(peer);
            }
            moved |= went;
        }
        for &(to, channel, token) in &tokens {
            handler.sent(to, channel, token);
        }
        moved || !tokens.is_empty()
    }

    /// Returns whether somebody waits for room, and whether some of it can go on now; and whether only time tells.
    fn prospects(&self) -> (bool, bool) {
        let list = self.waiting.lock().clone();
        let (mut now, mut nap) = (false, false);
        for peer in list {
            let outgoing = self.peers[peer as usize].outgoing.lock();
            now |= outgoing.can_go_on();
            nap |= outgoing.must_ask() || (outgoing.is_waiting() && !self.makes_barrier);
        }
        (now, nap)
    }

    // --- losing ----------------------------------------------------------------------------------------------------

    /// Loses those that are dead or not to be trusted. Returns whether there were any.
    #[cold]
    fn note_losses(&self, incoming: &mut Incoming, handler: &dyn Handler) -> bool {
        let dead = incoming.take_dead(&self.map, &self.announced, handler);
        let lost = incoming.take_lost();
        for &(peer, why) in &lost {
            self.lose(incoming, peer, Some(why), handler);
        }
        for &peer in &dead {
            self.lose(incoming, peer, None, handler);
        }
        self.deaths.store(incoming.deaths(), Ordering::Relaxed);
        !lost.is_empty() || !dead.is_empty()
    }

    #[cold]
    fn lose(&self, incoming: &mut Incoming, peer: Node, why: Option<&str>, handler: &dyn Handler) {
        if incoming.lose(peer) {
            return;
        }
        self.peers[peer as usize].lost.store(true, Ordering::Release);
        self.peers[peer as usize].outgoing.lock().lose();
        let reason = match why {
            Some(why) => format!("node process {peer} is not to be trusted: {why}"),
            None => self.lost(peer).to_string(),
        };
        handler.lost(peer, &reason);
    }

    /// Looks whether the process after this one lives, at most every so often. If it does not, everybody is told.
    #[cold]
    fn watch(&self) {
        let (now, last) = (clock::now_ns(), self.watched.load(Ordering::Relaxed));
        if now.saturating_sub(last) < WATCH.as_nanos() as u64
            || self.watched.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        let (nodes, node) = (self.map.shape.nodes, self.map.node);
        for step in 1..nodes {
            let area = self.map.area((node + step) % nodes);
            if area.state.load(Ordering::Acquire) != state::PRESENT {
                continue;
            }
            let identity = Identity {
                process: area.process.load(Ordering::Relaxed),
                started: area.started.load(Ordering::Relaxed),
            };
            // The state may have changed to gone before the process ended.
            if identity.lives()
                || area
                    .state
                    .compare_exchange(state::PRESENT, state::DEAD, Ordering::AcqRel, Ordering::Relaxed)
                    .is_err()
            {
                return;
            }
            self.map.header().deaths.fetch_add(1, Ordering::AcqRel);
            (0..nodes).for_each(|peer| self.call(peer));
        }
    }
}

/// Tells whether a pair holds a message. The other lines of one that lies in several come while this process gets to them.
#[inline]
fn has_message(pair: &Pair) -> bool {
    let Some(mark) = pair.lines.next_mark() else { return false };
    pair.lines.prefetch_message(1..wire::lines_hint(mark));
    true
}

impl Drop for SegmentDevice {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Device for SegmentDevice {
    fn name(&self) -> &'static str {
        "segment"
    }

    fn node(&self) -> Node {
        self.map.node
    }

    fn nodes(&self) -> u32 {
        self.map.shape.nodes
    }

    fn capabilities(&self, peer: Node) -> Capabilities {
        let eager = self.map.shape.eager as usize;
        let unread = Capabilities { eager, remote_read: false };
        let Ok(known) = self.checked(peer, &[]) else { return unread };
        let mut readable = known.readable.load(Ordering::Relaxed);
        let area = self.map.area(peer);
        if readable == UNTRIED && area.state.load(Ordering::Acquire) != state::ABSENT {
            let both = self.own.blind.load(Ordering::Relaxed) == 0 && area.blind.load(Ordering::Relaxed) == 0;
            let reads = both && reads_probe(area.process.load(Ordering::Relaxed), area);
            readable = if reads { READABLE } else { UNREADABLE };
            known.readable.store(readable, Ordering::Relaxed);
        }
        Capabilities { remote_read: readable == READABLE, ..unread }
    }

    #[inline]
    fn send(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> Result<(), Refusal> {
        let peer = self.checked(to, header)?;
        assert!(payload.len() as u64 <= self.map.shape.eager, "a payload of {} bytes", payload.len());
        let mut outgoing = peer.outgoing.lock();
        if outgoing.lost {
            return Err(self.lost(to));
        }
        let heard = self.heard.load(Ordering::Relaxed);
        let sent = outgoing.send(&self.map, &self.blocks, heard, channel, header, payload);
        if !sent {
            self.note(to, &mut outgoing);
            drop(outgoing);
            self.watch();
            return Err(Refusal::Full);
        }
        drop(outgoing);
        self.call(to);
        Ok(())
    }

    unsafe fn start(
        &self,
        to: Node,
        channel: Channel,
        _part: u32,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        token: u64,
    ) -> Result<(), Refusal> {
        let peer = self.checked(to, header)?;
        let mut outgoing = peer.outgoing.lock();
        if outgoing.lost {
            return Err(self.lost(to));
        }
        // SAFETY: the caller's promise.
        let started =
            unsafe { outgoing.start(&self.map, &self.blocks, channel, header, address, bytes, token) };
        self.note(to, &mut outgoing);
        drop(outgoing);
        self.call(to);
        if started { Ok(()) } else { Err(Refusal::Full) }
    }

    unsafe fn read(&self, peer: Node, address: u64, target: *mut u8, bytes: u64) -> Result<(), Refusal> {
        self.checked(peer, &[])?;
        let process = self.map.area(peer).process.load(Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { shared::read_process(process, address, target, bytes as usize) }.map_err(|error| {
            let what =
                format!("cannot read {bytes} bytes of node process {peer} (process {process} of this host)");
            Refusal::Lost { reason: format!("{what}: {error}") }
        })
    }

    #[inline]
    fn poll(&self, handler: &dyn Handler) -> bool {
        let polls = self.polls.load(Ordering::Relaxed).wrapping_add(1);
        self.polls.store(polls, Ordering::Relaxed);
        let ready = self.is_ready();
        if !ready && self.waiting_count.load(Ordering::Relaxed) == 0 {
            if polls.is_multiple_of(CALM) {
                self.watch();
            }
            return false;
        }
        let Some(mut incoming) = self.incoming.try_lock() else { return false };
        let mut moved = false;
        if ready {
            let room_made = |node| self.call(node);
            moved |= incoming.poll(&self.map, &self.announced, handler, &room_made);
            self.heard.store(incoming.delivered() as u32, Ordering::Relaxed);
            if incoming.has_losses(&self.map) {
                moved |= self.note_losses(&mut incoming, handler);
            }
        }
        if self.waiting_count.load(Ordering::Relaxed) != 0 {
            moved |= self.go_on(handler);
        }
        moved
    }

    fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool) {
        let bell = &self.own.bell;
        let count = {
            let mut sleepers = self.sleepers.lock();
            *sleepers += 1;
            bell.expect()
        };
        if self.makes_barrier {
            shared::barrier_of_all();
        }
        fence(Ordering::SeqCst);
        let (now, nap) =
            if self.waiting_count.load(Ordering::SeqCst) == 0 { (false, false) } else { self.prospects() };
        if !now && !self.is_ready() && is_idle() {
            let limit = limit.min(if nap { NAP } else { WATCH });
            if !shared::wait_for(bell.word(), count, Some(limit)) {
                self.watch();
            }
        }
        let mut sleepers = self.sleepers.lock();
        *sleepers -= 1;
        if *sleepers == 0 {
            bell.settle();
        }
    }

    fn wake(&self) {
        self.call(self.map.node);
    }

    fn leave(&self) {
        let (from, to) = (state::PRESENT, state::GONE);
        let _ = self.own.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }
}
