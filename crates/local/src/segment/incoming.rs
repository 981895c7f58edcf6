//! The receiving side of a process: its mailbox and the pairs that lead to it. One thread at a time.
//!
//! What a peer writes is not trusted further than memory safety needs: numbers that make no sense lose the peer.
#![allow(unsafe_code)] // Reads memory of the segment by address, and copies to where handlers say.

use core::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use weft_sync::mailbox::Next;
use weft_sync::ring::Payload;
use weft_transport::{Arriving, Channel, Handler, MAX_HEADER, Node, Placement};

use super::map::Map;
use super::shared::{Pair, state};
use super::wire;

/// How many lines of a message's bytes are fetched on sight. The processor notices longer runs itself. Two processes of an AMD
/// EPYC: 256 bytes take 241 and 229 ns so, 2 KiB 314 and 304, 8 KiB 643 and 613.
const FETCHED: usize = 16;
/// How many messages of one source are taken before the next source is looked at.
const TURN: usize = 64;

/// The pairs that were announced to this process, for a look by any thread.
pub(crate) struct Announced {
    pairs: Box<[AtomicPtr<Pair>]>,
    count: AtomicUsize,
}

impl Announced {
    pub fn new(most: u32) -> Self {
        Self { pairs: (0..most).map(|_| AtomicPtr::default()).collect(), count: AtomicUsize::new(0) }
    }

    fn add(&self, pair: &'static Pair) -> bool {
        let count = self.count.load(Ordering::Relaxed);
        let Some(place) = self.pairs.get(count) else { return false };
        place.store(core::ptr::from_ref(pair).cast_mut(), Ordering::Relaxed);
        self.count.store(count + 1, Ordering::Release);
        true
    }

    /// Returns the pairs in the order of their announcement.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &'static Pair> {
        let all = &self.pairs[..self.count.load(Ordering::Acquire)];
        // SAFETY: what the count covers was stored before it, and leads into the mapping.
        all.iter().map(|pair| unsafe { &*pair.load(Ordering::Relaxed) })
    }
}

/// A payload on its way.
struct Placing {
    channel: Channel,
    address: *mut u8,
    capacity: u64,
    /// None if the payload is dropped.
    token: Option<u64>,
    all: u64,
    done: u64,
}

/// One peer.
#[derive(Default)]
struct Peer {
    pair: Option<(&'static Pair, *mut u8)>,
    /// One of a channel.
    placing: Vec<Placing>,
    lost: bool,
}

impl Peer {
    /// Tells whether a payload of a channel is on its way.
    #[inline]
    fn is_placing(&self, channel: Channel) -> bool {
        !self.placing.is_empty() && self.placing.iter().any(|placing| placing.channel == channel)
    }
}

/// Where the bytes of a message lie, and who is told when they are let go of.
enum Source<'a> {
    Pair(&'a Pair, *mut u8),
    Mailbox,
}

/// How far a look at a source went.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Something,
    /// The one message that the polling thread waits for: what follows is left to the next poll. The next line, which its sender
    /// may not have written yet, would come from the sender's cache and hold up the answer.
    Awaited,
}

/// See the module's page.
pub(crate) struct Incoming {
    peers: Box<[Peer]>,
    /// Whose pairs were announced, in that order.
    sources: Vec<Node>,
    /// With which of them the next poll begins.
    next: usize,
    /// Peers that are not to be trusted, and why.
    lost: Vec<(Node, &'static str)>,
    deaths: u32,
    /// How often something was delivered.
    delivered: u64,
}

// SAFETY: the pointers lead into the segment, or to memory that handlers gave for use by any thread.
unsafe impl Send for Incoming {}

impl Incoming {
    pub fn new(nodes: u32) -> Self {
        Self {
            peers: (0..nodes).map(|_| Peer::default()).collect(),
            sources: Vec::new(),
            next: 0,
            lost: Vec::new(),
            deaths: 0,
            delivered: 0,
        }
    }

    /// Delivers what has arrived, a bounded number of messages of each source, but not what follows a message that the calling
    /// thread waits for: with that the next poll begins. Calls `room_made` for senders that wait for room after some was made.
    #[inline]
    pub fn poll(
        &mut self,
        map: &Map,
        announced: &Announced,
        handler: &dyn Handler,
        room_made: &dyn Fn(Node),
    ) -> bool {
        let mut moved = false;
        for _ in 0..=self.sources.len() {
            let index = self.next;
            let found = match self.sources.get(index) {
                Some(&source) => self.poll_pair(map, source, handler, room_made),
                None if map.area(map.node).mailbox.is_ready() => self.poll_mailbox(map, announced, handler),
                None => Found::Nothing,
            };
            // Behind the pairs comes the mailbox, and then the first pair again.
            self.next = if index >= self.sources.len() { 0 } else { index + 1 };
            moved |= found != Found::Nothing;
            if found == Found::Awaited {
                break;
            }
        }
        self.delivered += u64::from(moved);
        moved
    }

    /// Tells whether there are peers to take by [`Incoming::take_lost`] or [`Incoming::take_dead`].
    #[inline]
    pub fn has_losses(&self, map: &Map) -> bool {
        !self.lost.is_empty() || map.header().deaths.load(Ordering::Relaxed) != self.deaths
    }

    /// Returns those that have been found not to be trusted since the last call.
    pub fn take_lost(&mut self) -> Vec<(Node, &'static str)> {
        core::mem::take(&mut self.lost)
    }

    /// Returns a number that grows when something is delivered.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Tells whether no payload is being placed.
    pub fn rests(&self) -> bool {
        let rests = |peer: &Peer| peer.lost || peer.placing.is_empty();
        self.peers.iter().all(rests)
    }

    /// Returns those that have been found dead since the last call, after delivering everything they sent.
    pub fn take_dead(&mut self, map: &Map, announced: &Announced, handler: &dyn Handler) -> Vec<Node> {
        let deaths = map.header().deaths.load(Ordering::Acquire);
        if deaths == self.deaths {
            return Vec::new();
        }
        self.deaths = deaths;
        let is_dead = |&node: &Node| {
            map.area(node).state.load(Ordering::Acquire) == state::DEAD && !self.peers[node as usize].lost
        };
        let dead: Vec<Node> = (0..map.shape.nodes).filter(is_dead).collect();
        while self.poll_mailbox(map, announced, handler) != Found::Nothing {}
        for &node in &dead {
            while self.poll_pair(map, node, handler, &|_| {}) != Found::Nothing {}
        }
        dead
    }

    /// Returns the count of deaths that have been dealt with.
    pub fn deaths(&self) -> u32 {
        self.deaths
    }

    /// Makes a peer lost. Returns whether it was before.
    pub fn lose(&mut self, peer: Node) -> bool {
        let peer = &mut self.peers[peer as usize];
        peer.placing.clear();
        core::mem::replace(&mut peer.lost, true)
    }

    #[inline]
    fn poll_pair(&mut self, map: &Map, from: Node, handler: &dyn Handler, room_made: &dyn Fn(Node)) -> Found {
        let peer = &mut self.peers[from as usize];
        let Some((pair, bytes)) = peer.pair.filter(|_| !peer.lost) else { return Found::Nothing };
        let mut found = Found::Nothing;
        for _ in 0..TURN {
            // SAFETY: whoever has `self` is the consumer of everything that leads to this process.
            let Some((mark, line)) = (unsafe { pair.lines.peek_marked() }) else { break };
            let delivered = if wire::kind(mark) == wire::WHOLE && line[0] == wire::INLINE {
                deliver_lines(pair, peer, from, mark, line, handler)
            } else {
                let source = Source::Pair(pair, bytes);
                deliver(map, peer, from, mark, line, &source, handler).map(|found| (found, 1))
            };
            match delivered {
                Ok((this, lines)) => {
                    found = this;
                    // SAFETY: this is still the consumer, and has seen all lines of the message.
                    unsafe { pair.lines.pop_slots(lines) };
                }
                Err(why) => {
                    // The message stays; nobody looks at it again once the peer is lost.
                    self.lost.push((from, why));
                    return Found::Nothing;
                }
            }
            if found == Found::Awaited {
                break;
            }
        }
        if found != Found::Nothing && pair.wanted.load(Ordering::Relaxed) != 0 {
            pair.wanted.store(0, Ordering::Relaxed);
            room_made(from);
        }
        found
    }

    #[cold]
    fn poll_mailbox(&mut self, map: &Map, announced: &Announced, handler: &dyn Handler) -> Found {
        let mailbox = &map.area(map.node).mailbox;
        let mut found = Found::Nothing;
        for _ in 0..TURN {
            // SAFETY: whoever has `self` is the consumer of everything that leads to this process.
            match unsafe { mailbox.peek() } {
                Next::Nothing => break,
                Next::Unfinished { producer } => {
                    let producer = u32::from(producer);
                    let is_dead = producer >= map.shape.nodes
                        || map.area(producer).state.load(Ordering::Acquire) == state::DEAD;
                    if !is_dead {
                        break;
                    }
                }
                Next::Message { producer, mark, payload } => {
                    let from = u32::from(producer);
                    let known = from < map.shape.nodes && from != map.node && !self.peers[from as usize].lost;
                    if known && let Err(why) = self.take_mail(map, announced, from, mark, payload, handler) {
                        self.lost.push((from, why));
                    }
                }
            }
            // SAFETY: this is still the consumer, and has seen a message or an abandoned slot.
            unsafe { mailbox.pop() };
            found = Found::Something;
        }
        found
    }

    fn take_mail(
        &mut self,
        map: &Map,
        announced: &Announced,
        from: Node,
        mark: u32,
        line: &Payload,
        handler: &dyn Handler,
    ) -> Result<(), &'static str> {
        let peer = &mut self.peers[from as usize];
        if wire::kind(mark) != wire::MORE || line[1] != 0 {
            return deliver(map, peer, from, mark, line, &Source::Mailbox, handler).map(drop);
        }
        let index = u32::try_from(line[0]).ok().filter(|&index| index < map.shape.pairs);
        let index = index.ok_or("it announced a pair that does not exist")?;
        let pair = map.pair(map.node, index);
        if peer.pair.is_some()
            || announced.iter().any(|other| core::ptr::eq(other, pair))
            || !announced.add(pair)
        {
            return Err("it announced a pair that is in use");
        }
        peer.pair = Some((pair, map.pair_bytes(map.node, index)));
        self.sources.push(from);
        Ok(())
    }
}

/// Hands a message to the handler, or its bytes to where the handler said.
#[inline]
fn deliver(
    map: &Map,
    peer: &mut Peer,
    from: Node,
    mark: u32,
    line: &Payload,
    source: &Source<'_>,
    handler: &dyn Handler,
) -> Result<Found, &'static str> {
    let channel = wire::channel(mark);
    if wire::kind(mark) == wire::SHORT {
        let (header, payload) = wire::short_lengths(mark).ok_or("it sent lengths that make no sense")?;
        let bytes = wire::bytes_of(line, 0);
        let present = &bytes[header.next_multiple_of(8)..][..payload];
        return Ok(hand_over(from, channel, &bytes[..header], present, handler));
    }
    deliver_bytes(map, peer, from, mark, line, source, handler)
}

/// Hands a message to the handler, all of which is there.
#[inline]
fn hand_over(from: Node, channel: Channel, header: &[u8], present: &[u8], handler: &dyn Handler) -> Found {
    let message = Arriving { from, channel, header, bytes: present.len() as u64, present };
    match handler.arrive(message) {
        Placement::Served => return Found::Awaited,
        Placement::Taken => {}
        Placement::Memory { address, capacity, token } => {
            let length = capacity.min(present.len() as u64) as usize;
            // SAFETY: the handler gave the memory.
            unsafe { weft_sys::copy::bytes(present.as_ptr(), address, length) };
            handler.placed(from, channel, token);
        }
    }
    Found::Something
}

/// Hands a message that lies in lines to the handler. Returns what was found, and how many lines it takes.
fn deliver_lines(
    pair: &Pair,
    peer: &Peer,
    from: Node,
    mark: u32,
    first: &Payload,
    handler: &dyn Handler,
) -> Result<(Found, u32), &'static str> {
    let (channel, header) = (wire::channel(mark), wire::header_length(mark));
    let payload = usize::try_from(first[1]).unwrap_or(usize::MAX);
    let lines = (header <= MAX_HEADER).then(|| wire::lines_for(header, payload)).flatten();
    let lines = lines.ok_or("it sent lengths that make no sense")?;
    if peer.is_placing(channel) {
        return Err("it began a message before the last one was over");
    }
    // Written as far as it is read.
    let mut gathered = [const { MaybeUninit::<u64>::uninit() }; wire::INLINE_BYTES / 8];
    let start: *mut u64 = gathered.as_mut_ptr().cast();
    let mut filled = first.len() - 2;
    // SAFETY: the first line's words but for two.
    unsafe { start.copy_from_nonoverlapping(first[2..].as_ptr(), filled) };
    for line in 1..lines {
        // SAFETY: the caller has the consumer's role; a message was seen.
        let line = unsafe { pair.lines.peek_slot(line) }.ok_or("it sent a message without its end")?;
        // SAFETY: there is room for so many lines, as `lines_for` has found.
        unsafe { start.add(filled).cast::<Payload>().write(*line) };
        filled += line.len();
    }
    let start = start.cast::<u8>().cast_const();
    // SAFETY: words are bytes; both lie within what was filled, as `lines_for` has found.
    let (header, present) = unsafe {
        let present = core::slice::from_raw_parts(start.add(header.next_multiple_of(8)), payload);
        (core::slice::from_raw_parts(start, header), present)
    };
    Ok((hand_over(from, channel, header, present, handler), lines))
}

fn deliver_bytes(
    map: &Map,
    peer: &mut Peer,
    from: Node,
    mark: u32,
    line: &Payload,
    source: &Source<'_>,
    handler: &dyn Handler,
) -> Result<Found, &'static str> {
    let (kind, channel) = (wire::kind(mark), wire::channel(mark));
    let (place, bytes) = (line[0], line[1]);
    let header = if kind == wire::MORE { 0 } else { wire::header_length(mark) };
    if header > MAX_HEADER {
        return Err("it sent a header that is too long");
    }
    let outside = if wire::header_fits(kind, header) { 0 } else { header.next_multiple_of(8) };
    let used = bytes.checked_add(outside as u64).ok_or("it sent a length that makes no sense")?;
    let is_aboard = place & wire::ABOARD != 0;
    let address = match *source {
        Source::Pair(..) if is_aboard => {
            let offset = place & !wire::ABOARD;
            if offset.checked_add(used).is_none_or(|end| end > map.shape.shuttle) {
                return Err("it sent a place behind the end of the shuttle");
            }
            if map.shuttles.is_here(from) {
                return Err("it sent a shuttle that is here");
            }
            // SAFETY: the offset is within the shuttle.
            unsafe { map.shuttle(from).add(offset as usize) }
        }
        Source::Pair(_, start) => {
            let offset = place & (map.shape.pair_bytes - 1);
            if offset.checked_add(used).is_none_or(|end| end > map.shape.pair_bytes) {
                return Err("it sent a place behind the end of the pair's bytes");
            }
            // SAFETY: the offset is within the pair's bytes.
            unsafe { start.add(offset as usize) }
        }
        Source::Mailbox => {
            let index = u32::try_from(place).ok().filter(|&index| index < map.shape.blocks);
            let index = index.filter(|_| used <= map.shape.block_bytes);
            map.block_bytes(from, index.ok_or("it sent a block that does not exist")?)
        }
    };
    let first_word = if outside == 0 { wire::words_before_header(kind) } else { 0 };
    // SAFETY: the range was checked above; the sender leaves it alone until it is let go of below.
    let (outer, present) = unsafe {
        let outer = core::slice::from_raw_parts(address.cast_const(), outside);
        (outer, core::slice::from_raw_parts(address.add(outside).cast_const(), bytes as usize))
    };
    if kind != wire::MORE {
        // They come while the handler finds out where they go.
        present.chunks(64).take(FETCHED).for_each(|line| weft_sync::prefetch::for_reading(&line[0]));
        let all = if kind == wire::BEGIN { line[2] } else { bytes };
        if peer.is_placing(channel) || bytes > all {
            return Err("it began a message before the last one was over");
        }
        let header =
            if outside == 0 { &wire::bytes_of(line, first_word)[..header] } else { &outer[..header] };
        let message = Arriving { from, channel, header, bytes: all, present };
        let (address, capacity, token) = match handler.arrive(message) {
            Placement::Taken | Placement::Served => (core::ptr::null_mut(), 0, None),
            Placement::Memory { address, capacity, token } => (address, capacity, Some(token)),
        };
        peer.placing.push(Placing { channel, address, capacity, token, all, done: 0 });
    }
    // What has just begun is the last one.
    let slot = peer.placing.iter().rposition(|placing| placing.channel == channel);
    let slot = slot.ok_or("it went on with a message that has not begun")?;
    let placing = &mut peer.placing[slot];
    if bytes > placing.all - placing.done {
        return Err("it sent more than it had said");
    }
    let wanted = placing.capacity.saturating_sub(placing.done).min(bytes) as usize;
    if wanted > 0 {
        // SAFETY: the handler gave the memory, `capacity` bytes of it.
        unsafe {
            let target = placing.address.add(placing.done as usize);
            weft_sys::copy::bytes(present.as_ptr(), target, wanted);
        }
    }
    placing.done += bytes;
    let (is_whole, token) = (placing.done == placing.all, placing.token);
    match *source {
        Source::Pair(..) if is_aboard => {
            if is_whole {
                map.shuttles.arrive(from);
            }
        }
        Source::Pair(pair, _) => {
            pair.freed.store(place.wrapping_add(used.next_multiple_of(64)), Ordering::Release)
        }
        Source::Mailbox => map.block(from, place as u32).used.store(0, Ordering::Release),
    }
    if is_whole {
        peer.placing.swap_remove(slot);
        if let Some(token) = token {
            handler.placed(from, channel, token);
        }
    }
    Ok(Found::Something)
}
