//! The sending side towards one peer.
//!
//! A message goes by the pair if there is one, else by the peer's mailbox, its long payload in a block of ours. The pair is
//! announced in the mailbox, so what was sent before it comes before it, and what comes later comes by the pair: order needs
//! no further thought. The bytes of an answer lie in the shuttle if that is here; its lines are sent as those of others.
//!
//! A started message whose bytes are not all out yet holds back what follows on its channel.
#![allow(unsafe_code)] // Fills memory of the segment by address.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use weft_sync::{Lock, Passing};
use weft_transport::{Channel, MAX_HEADER, Node};

use super::layout::Shape;
use super::map::Map;
use super::shared::Pair;
use super::wire;
use crate::words::copy_short;

/// How many started messages may wait for room, by channel.
const QUEUE: usize = 64;
/// How many messages go by mailbox before a pair is asked for, where there are not enough for all.
const TALKATIVE: u32 = 8;

/// After messages of up to how many bytes the places of the next one are fetched: to be written while this process waits for the
/// answer, so that it need not wait for them afterwards. Two processes of an AMD EPYC: 512 bytes take 255 and 235 ns so, 1 KiB 296 and
/// 255, 2 KiB 324 and 313; for longer ones nothing was gained.
const FETCHED: u64 = 2 << 10;

/// A started message.
struct Stream {
    header: ([u8; MAX_HEADER], usize),
    address: *const u8,
    bytes: u64,
    /// Bytes that are out; whether its begin is, too.
    done: u64,
    begun: bool,
    /// Whether it goes in the shuttle.
    aboard: bool,
    token: u64,
}

// SAFETY: the memory is the caller's until it is told otherwise, and may be read by any thread.
unsafe impl Send for Stream {}

/// Blocks of this process that the lists below do not know to be in use.
pub(crate) struct Blocks(Lock<Vec<u32>>);

impl Blocks {
    pub fn new(count: u32) -> Self {
        Self(Lock::new((0..count).collect()))
    }

    /// Takes a free block, if there is one.
    fn take(&self, map: &Map) -> Option<u32> {
        let mut free = self.0.lock();
        if free.is_empty() {
            // Receivers say in the block itself that they have let go.
            let all = 0..map.shape.blocks;
            free.extend(all.filter(|&index| map.block(map.node, index).used.load(Ordering::Acquire) == 0));
        }
        while let Some(index) = free.pop() {
            let used = &map.block(map.node, index).used;
            if used.load(Ordering::Acquire) == 0 {
                used.store(1, Ordering::Relaxed);
                return Some(index);
            }
        }
        None
    }

    fn give_back(&self, map: &Map, index: u32) {
        map.block(map.node, index).used.store(0, Ordering::Relaxed);
        self.0.lock().push(index);
    }
}

/// Room for header and bytes of a message.
struct Place {
    /// What the receiver gets to know.
    value: u64,
    address: *mut u8,
}

/// Returns what the receiver has let go of.
fn released(pair: &Pair) -> (u64, u64) {
    (pair.lines.taken(), pair.freed.load(Ordering::Acquire))
}

/// See the module's page.
pub(crate) struct Outgoing {
    to: Node,
    pair: Option<&'static Pair>,
    pair_bytes: *mut u8,
    /// A pair that is ours and not announced yet.
    claimed: Option<u32>,
    /// No pair was left.
    none_left: bool,
    mails: u32,
    /// How much had been heard when something was sent last.
    heard: u32,
    /// Positions in the pair's bytes: of the next one, and up to where the receiver is known to have let go.
    next: u64,
    known: u64,
    pub passing: Passing,
    /// Started messages, by channel, of channels that have had some.
    streams: Vec<(Channel, VecDeque<Stream>)>,
    /// How many of them there are.
    started: usize,
    /// Tokens whose bytes are all out.
    done: Vec<(Channel, u64)>,
    /// In the list of those that [`Outgoing::go_on`] is called for.
    pub listed: bool,
    /// Somebody was told that there is no room.
    refused: bool,
    /// What the receiver had let go of when room was last missed: messages of the ring, bytes.
    missed_at: (u64, u64),
    pub lost: bool,
}

// SAFETY: the pointer leads into the segment, which any thread may use that has this.
unsafe impl Send for Outgoing {}

impl Outgoing {
    pub fn new(to: Node) -> Self {
        Self {
            to,
            pair: None,
            pair_bytes: core::ptr::null_mut(),
            claimed: None,
            none_left: false,
            mails: 0,
            heard: 0,
            next: 0,
            known: 0,
            passing: Passing::default(),
            streams: Vec::new(),
            started: 0,
            done: Vec::new(),
            listed: false,
            refused: false,
            missed_at: (0, 0),
            lost: false,
        }
    }

    /// Tells whether no started message holds back what follows on a channel.
    #[inline]
    fn is_clear(&self, channel: Channel) -> bool {
        self.started == 0 || self.streams.iter().all(|(other, queue)| *other != channel || queue.is_empty())
    }

    /// Sends a message. Returns false if there is no room. `heard` counts what has been delivered to this process.
    #[inline]
    pub fn send(
        &mut self,
        map: &Map,
        blocks: &Blocks,
        heard: u32,
        channel: Channel,
        header: &[u8],
        payload: &[u8],
    ) -> bool {
        let answers = core::mem::replace(&mut self.heard, heard) != heard;
        if let Some(pair) = self.pair
            && wire::fits(header.len(), payload.len())
            && self.is_clear(channel)
        {
            let mark = wire::short(channel, header.len(), payload.len());
            // SAFETY: the lock around this makes the caller the only producer.
            if unsafe { pair.lines.push_marked(mark, |line| wire::fill_short(line, header, payload)) } {
                return true;
            }
        }
        if let Some(pair) = self.pair
            && let Some(lines) = wire::lines_for(header.len(), payload.len())
            && self.is_clear(channel)
        {
            let mark = wire::in_lines(channel, header.len(), lines);
            // SAFETY: `self` holds the lock of the pair's producers.
            if unsafe {
                pair.lines.push_slots(mark, lines, |line, to| wire::fill_line(line, to, header, payload))
            } {
                return true;
            }
        }
        self.send_slow(map, blocks, channel, header, payload, answers)
    }

    /// Takes the shuttle for a message of so many bytes in places of whole lines, if it is here and long enough.
    fn board(&self, map: &Map, bytes: u64) -> bool {
        self.pair.is_some() && bytes <= map.shape.shuttle && map.shuttles.leave(self.to)
    }

    /// Sends a message in the shuttle, if that is here and the message fits.
    pub fn answer(
        &mut self,
        map: &Map,
        blocks: &Blocks,
        channel: Channel,
        header: &[u8],
        payload: &[u8],
    ) -> bool {
        self.ask_for_pair(map);
        // Nothing at all has no parts, and would leave with none.
        let is_next =
            !payload.is_empty() && self.is_clear(channel) && wire::header_fits(wire::BEGIN, header.len());
        is_next && self.send_parts(map, blocks, channel, header, payload, false)
    }

    /// Sends a message in parts, so that the receiver copies one while the next is on its way: in the shuttle, or, if it may go
    /// `otherwise`, through the pair's bytes. Returns false, and does nothing, if there is not room for all.
    fn send_parts(
        &mut self,
        map: &Map,
        blocks: &Blocks,
        channel: Channel,
        header: &[u8],
        payload: &[u8],
        otherwise: bool,
    ) -> bool {
        let Some(pair) = self.pair else { return false };
        let bytes = payload.len() as u64;
        let part = map.shape.chunk(true, bytes);
        let parts = bytes.div_ceil(part);
        // SAFETY: the lock around this makes the caller the only producer.
        if !unsafe { pair.lines.has_room_for(parts as u32) } {
            return false;
        }
        let mut aboard = self.board(map, bytes.next_multiple_of(64)).then_some(0);
        if aboard.is_none() && !otherwise {
            return false;
        }
        // Each part is in one piece: what is left at the end of the pair's bytes may be lost.
        let needed = bytes + parts * 64 + 2 * part;
        if aboard.is_none() && (self.next + needed).wrapping_sub(self.known) > map.shape.pair_bytes {
            self.known = pair.freed.load(Ordering::Acquire);
            if (self.next + needed).wrapping_sub(self.known) > map.shape.pair_bytes {
                return false;
            }
        }
        for part in payload.chunks(part as usize) {
            let (kind, header) =
                if part.as_ptr() == payload.as_ptr() { (wire::BEGIN, header) } else { (wire::MORE, &[][..]) };
            // SAFETY: the part is a slice; there is room, and the header fits beside the words of the line.
            let pushed = unsafe {
                let length = part.len() as u64;
                self.push_bytes(map, blocks, kind, channel, header, part.as_ptr(), length, bytes, aboard)
            };
            debug_assert!(pushed, "room was found before");
            aboard = aboard.map(|offset| offset + part.len() as u64);
        }
        true
    }

    /// Sends what does not fit into lines, or has no room there. `answers` tells that the peer may wait for this message, and
    /// this process for the next.
    #[inline(never)]
    fn send_slow(
        &mut self,
        map: &Map,
        blocks: &Blocks,
        channel: Channel,
        header: &[u8],
        payload: &[u8],
        answers: bool,
    ) -> bool {
        if self.is_clear(channel) {
            self.ask_for_pair(map);
            if channel.comes_in_parts()
                && payload.len() as u64 > Shape::PART
                && wire::header_fits(wire::BEGIN, header.len())
                && self.send_parts(map, blocks, channel, header, payload, true)
            {
                return true;
            }
            // Once more after saying that room is wanted: what is let go of later is noticed.
            for first in [true, false] {
                let sent = if wire::fits(header.len(), payload.len()) {
                    let mark = wire::short(channel, header.len(), payload.len());
                    self.push(map, mark, |line| wire::fill_short(line, header, payload))
                } else {
                    let (address, bytes) = (payload.as_ptr(), payload.len() as u64);
                    let aboard =
                        (self.has_line() && self.board(map, bytes + 2 * 64 + MAX_HEADER as u64)).then_some(0);
                    // SAFETY: the payload is a slice.
                    unsafe {
                        self.push_bytes(
                            map,
                            blocks,
                            wire::WHOLE,
                            channel,
                            header,
                            address,
                            bytes,
                            bytes,
                            aboard,
                        )
                    }
                };
                if sent {
                    if answers {
                        self.prefetch(map, payload.len() as u64);
                    }
                    return true;
                }
                if first {
                    self.want_room();
                }
            }
        }
        self.refused = true;
        false
    }

    /// Starts a message, and sends as much of it as there is room for. Returns false if too many wait.
    ///
    /// # Safety
    /// The bytes are readable until the token has come back or the peer is lost.
    pub unsafe fn start(
        &mut self,
        map: &Map,
        blocks: &Blocks,
        channel: Channel,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        token: u64,
    ) -> bool {
        let place = self.streams.iter().position(|(other, _)| *other == channel).unwrap_or_else(|| {
            self.streams.push((channel, VecDeque::new()));
            self.streams.len() - 1
        });
        let queue = &mut self.streams[place].1;
        if queue.len() == QUEUE {
            self.refused = true;
            return false;
        }
        let mut kept = ([0; MAX_HEADER], header.len());
        kept.0[..header.len()].copy_from_slice(header);
        queue.push_back(Stream { header: kept, address, bytes, done: 0, begun: false, aboard: false, token });
        self.started += 1;
        self.ask_for_pair(map);
        self.pump(map, blocks, place);
        true
    }

    /// Sends what waits for room, and takes the tokens of what is out.
    pub fn go_on(&mut self, map: &Map, blocks: &Blocks, tokens: &mut Vec<(Node, Channel, u64)>) -> bool {
        let mut moved = false;
        for place in 0..self.streams.len() {
            moved |= self.pump(map, blocks, place);
        }
        tokens.extend(self.done.drain(..).map(|(channel, token)| (self.to, channel, token)));
        if self.refused && self.has_room_again() {
            self.refused = false;
            moved = true;
        }
        moved
    }

    /// Tells whether there is something left that only [`Outgoing::go_on`] does.
    pub fn is_waiting(&self) -> bool {
        self.refused || !self.done.is_empty() || self.started > 0
    }

    /// Tells whether [`Outgoing::go_on`] would do something now.
    pub fn can_go_on(&self) -> bool {
        !self.done.is_empty() || (self.is_waiting() && self.has_room_again())
    }

    /// Tells whether only time shows if there is room again, because nobody says so.
    pub fn must_ask(&self) -> bool {
        self.pair.is_none() && self.is_waiting()
    }

    /// Forgets everything; the peer is dead.
    pub fn lose(&mut self) {
        self.lost = true;
        self.refused = false;
        self.done.clear();
        self.streams.clear();
        self.started = 0;
    }

    fn has_room_again(&self) -> bool {
        self.pair.is_none_or(|pair| released(pair) != self.missed_at)
    }

    /// Asks the receiver to say when there is room.
    fn want_room(&mut self) {
        if let Some(pair) = self.pair {
            // Before the last look of who goes to sleep, with a barrier between; or after, then there was room.
            self.missed_at = released(pair);
            pair.wanted.store(1, Ordering::SeqCst);
        }
    }

    fn ask_for_pair(&mut self, map: &Map) {
        if self.pair.is_some() || self.none_left {
            return;
        }
        if self.claimed.is_none() {
            if !map.shape.has_pairs_for_all() && self.mails < TALKATIVE {
                return;
            }
            let taken = &map.area(self.to).pairs_taken;
            self.claimed = (taken.load(Ordering::Relaxed) < map.shape.pairs)
                .then(|| taken.fetch_add(1, Ordering::Relaxed))
                .filter(|&index| index < map.shape.pairs);
            self.none_left = self.claimed.is_none();
        }
        self.announce(map);
    }

    fn announce(&mut self, map: &Map) {
        let Some(index) = self.claimed else { return };
        let mark = wire::long(wire::MORE, Channel::POINT_TO_POINT, 0);
        let mailbox = &map.area(self.to).mailbox;
        if mailbox.push(map.node as u16, mark, |line| (line[0], line[1]) = (u64::from(index), 0)) {
            self.claimed = None;
            self.pair = Some(map.pair(self.to, index));
            self.pair_bytes = map.pair_bytes(self.to, index);
        }
    }

    /// Puts a message into the pair's ring or the peer's mailbox.
    fn push(&mut self, map: &Map, mark: u32, fill: impl FnOnce(&mut weft_sync::ring::Payload)) -> bool {
        match self.pair {
            // SAFETY: the lock around this makes the caller the only producer.
            Some(pair) => unsafe { pair.lines.push_marked(mark, fill) },
            None => {
                self.mails += 1;
                map.area(self.to).mailbox.push(map.node as u16, mark, fill)
            }
        }
    }

    /// Fetches the places for a message that is as long as the one just sent.
    fn prefetch(&self, map: &Map, bytes: u64) {
        if self.pair.is_none() || bytes > FETCHED {
            return;
        }
        for place in (self.next..self.next + bytes).step_by(64) {
            // SAFETY: within the pair's bytes.
            let line = unsafe { &*self.pair_bytes.add((place & (map.shape.pair_bytes - 1)) as usize) };
            weft_sync::prefetch::for_writing(line);
        }
    }

    /// Tells whether there is room for a line in the pair.
    fn has_line(&self) -> bool {
        // SAFETY: the lock around this makes the caller the only producer.
        self.pair.is_some_and(|pair| unsafe { pair.lines.has_room() })
    }

    /// Finds room for so many bytes of a message of `all`. Nothing is taken from a pair before [`Outgoing::next`] moves.
    fn find_room(&mut self, map: &Map, blocks: &Blocks, bytes: u64, all: u64) -> Option<Place> {
        let Some(pair) = self.pair else {
            let index = blocks.take(map)?;
            return Some(Place { value: u64::from(index), address: map.block_bytes(map.node, index) });
        };
        // SAFETY: the lock around this makes the caller the only producer.
        if !unsafe { pair.lines.has_room() } {
            return None;
        }
        let (size, room) = (map.shape.pair_bytes, map.shape.room(all));
        let offset = self.next & (size - 1);
        let begin = if offset + bytes > size { self.next + size - offset } else { self.next };
        if (begin + bytes).wrapping_sub(self.known) > room {
            self.known = pair.freed.load(Ordering::Acquire);
            if (begin + bytes).wrapping_sub(self.known) > room {
                return None;
            }
        }
        // SAFETY: the offset is within the pair's bytes.
        Some(Place { value: begin, address: unsafe { self.pair_bytes.add((begin & (size - 1)) as usize) } })
    }

    /// Sends a message of any kind but `SHORT`, with `bytes` of its `all` bytes, which lie in the shuttle if they are `aboard`, from there on.
    /// Returns false if there is no room.
    ///
    /// # Safety
    /// The bytes are readable; with the header they fit into a block, or well into a pair. The shuttle has been taken for the message that is
    /// aboard, and is long enough.
    unsafe fn push_bytes(
        &mut self,
        map: &Map,
        blocks: &Blocks,
        kind: u32,
        channel: Channel,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        all: u64,
        aboard: Option<u64>,
    ) -> bool {
        let outside =
            if wire::header_fits(kind, header.len()) { 0 } else { header.len().next_multiple_of(8) };
        // Whole lines, so that no two messages share one.
        let needed = (outside as u64 + bytes).next_multiple_of(64);
        let place = match aboard {
            Some(_) if !self.has_line() => None,
            Some(offset) => {
                let address = map.shuttle(self.to).wrapping_add(offset as usize);
                Some(Place { value: wire::ABOARD | offset, address })
            }
            None => self.find_room(map, blocks, needed, all),
        };
        let Some(place) = place else { return false };
        // SAFETY: there is room for both.
        unsafe {
            if outside > 0 {
                core::ptr::copy_nonoverlapping(header.as_ptr(), place.address, header.len());
            }
            let to = place.address.add(outside);
            if aboard.is_some() {
                weft_sys::copy::bytes(address, to, bytes as usize);
            } else {
                self.passing.copy(address, to, bytes);
            }
        }
        let fill = |line: &mut weft_sync::ring::Payload| {
            (line[0], line[1]) = (place.value, bytes);
            if kind == wire::BEGIN {
                line[2] = all;
            }
            if outside == 0 {
                let to = line[wire::words_before_header(kind)..].as_mut_ptr().cast();
                // SAFETY: the header fits.
                unsafe { copy_short(header.as_ptr(), to, header.len()) };
            }
        };
        let pushed = self.push(map, wire::long(kind, channel, header.len()), fill);
        match (self.pair, pushed) {
            (Some(_), true) if aboard.is_none() => self.next = place.value + needed,
            (None, false) => blocks.give_back(map, place.value as u32),
            _ => {}
        }
        pushed
    }

    /// Sends of what was started on the channel with that place as much as there is room for. Returns whether it was anything.
    fn pump(&mut self, map: &Map, blocks: &Blocks, place: usize) -> bool {
        let mut moved = false;
        let channel = self.streams[place].0;
        while let Some(mut stream) = self.streams[place].1.pop_front() {
            let chunk = map.shape.chunk(self.pair.is_some(), stream.bytes);
            if !stream.begun
                && !stream.aboard
                && wire::header_fits(wire::BEGIN, stream.header.1)
                && self.board(map, stream.bytes.next_multiple_of(64))
            {
                stream.aboard = true;
            }
            let mut wanted = false;
            let finished = loop {
                let bytes = (stream.bytes - stream.done).min(chunk);
                let (kind, header) = match stream.begun {
                    false => (wire::BEGIN, &stream.header.0[..stream.header.1]),
                    true => (wire::MORE, &[][..]),
                };
                // SAFETY: the memory is readable until the token comes back; `done` is within it.
                let pushed = unsafe {
                    let from = stream.address.wrapping_add(stream.done as usize);
                    let aboard = stream.aboard.then_some(stream.done);
                    self.push_bytes(map, blocks, kind, channel, header, from, bytes, stream.bytes, aboard)
                };
                if !pushed {
                    if wanted {
                        break false;
                    }
                    // Once more after saying so: what is let go of later is noticed.
                    wanted = true;
                    self.want_room();
                    continue;
                }
                moved = true;
                stream.begun = true;
                stream.done += bytes;
                if stream.done == stream.bytes {
                    break true;
                }
            };
            if finished {
                self.started -= 1;
                self.done.push((channel, stream.token));
            } else {
                self.streams[place].1.push_front(stream);
                break;
            }
        }
        moved
    }
}
