//! A connection to a peer: what waits to be sent, and what has half arrived.
//!
//! # Who may touch what
//! - `out` is locked for moments only, never during a system call that sends. Whoever finds the connection open, nothing
//!   waiting and nobody *busy* becomes busy, sends without the lock straight from the caller's memory, and then sends what
//!   others have put into the queue meanwhile. So messages leave in the order in which the lock was taken, and nobody
//!   waits for a system call of somebody else.
//! - Where the socket takes no more, what is left stays in the queue, and the poll sends it when there is room.
//! - `incoming` is held while something is received and delivered, and only ever tried: who finds it taken goes on.
//! - Who hands much to the socket has *taken it up*, and keeps it a moment longer. Others leave what has arrived there to that
//!   thread, which is told so when it has sent ([`Tuning::wants_poll`](weft_transport::Tuning::wants_poll)).
//! - The socket is set once and closed with the device, so that a number that is in use is never another file's.
#![allow(unsafe_code)] // Sends from and receives into memory given by address.

use crate::frame::{HEAD, Head, Kind};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use weft_sync::Lock;
use weft_sys::clock;
use weft_sys::socket::set_receive_low_water;
use weft_transport::{Channel, Leaving, MAX_HEADER};

/// How much of copied messages waits on a connection at most.
pub const QUEUE: usize = 256 << 10;
/// How many messages from their senders' memory wait at most.
const STARTED: usize = 256;
/// How many pieces a system call sends at once.
const PIECES: usize = 32;
/// How many messages are sent at once, each in two pieces.
pub const TOGETHER: usize = PIECES / 2;
/// A payload from this length on is not copied to wait for others: its sender keeps it until there is room.
pub const BULK: usize = 8 << 10;
/// A message up to this size is put together before it is sent.
const JOINED: usize = 1024;

/// A payload of which more than this is missing is a stream, and who waits sleeps until as much is there: see
/// [`Link::expect`].
pub const STREAM: u64 = 256 << 10;
/// A payload from this length on is long: who has received one receives no more than a little past the next header, so that
/// the data goes straight to its place.
const LONG: u64 = 128 << 10;
/// How much of a payload that is a stream is to be there before a sleeper is woken for it.
const WORTHWHILE: u64 = 64 << 10;
/// How many bytes a fast connection brings in a microsecond, and how many microseconds are waited for more at most.
const PACE: u64 = 8 << 10;
const PATIENCE_US: u64 = 16;
/// So much of a payload is not waited for if it may be one that will be answered: one comes soon enough too late.
const HURRY: u64 = 128 << 10;
/// A long payload that begins so many microseconds after the end of another is one of a row, and not an answer.
const ROW_US: u64 = 10;
/// For how many microseconds a socket to which much was handed is left to who did that.
const TAKEN_US: u64 = 5;
/// Longer than any call of the kernel takes, in ticks of the clock.
const AGES: u64 = 1 << 60;

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// There is none.
    Absent,
    /// Somebody has dialled.
    Dialling,
    /// A connection has been agreed on.
    Settled,
    /// It carries messages.
    Open,
    /// Sending has failed; what has arrived tells whether the peer had ended.
    Broken,
    /// One of the two has ended in order.
    Ended,
}

/// Something to be sent.
pub enum Item {
    /// A copy of a frame, and how much of it is sent.
    Copy { data: Box<[u8]>, done: usize },
    /// A frame whose payload is its sender's.
    Memory {
        front: [u8; HEAD + MAX_HEADER],
        length: usize,
        address: *const u8,
        bytes: u64,
        done: u64,
        /// What the sender is told when it is sent.
        report: (Channel, u64),
    },
}

// SAFETY: the sender leaves the memory alone until it is told that it is sent.
unsafe impl Send for Item {}

/// Writes what precedes a payload; returns its length.
fn front(kind: Kind, channel: Channel, header: &[u8], bytes: u64, out: &mut [u8]) -> usize {
    let head = Head { kind, channel, header: header.len(), bytes };
    out[..HEAD].copy_from_slice(&head.encode());
    out[HEAD..HEAD + header.len()].copy_from_slice(header);
    HEAD + header.len()
}

impl Item {
    /// Copies a frame, but for its first `done` bytes, which are sent.
    pub fn copy(kind: Kind, channel: Channel, header: &[u8], payload: &[u8], done: usize) -> Self {
        let mut space = [0; HEAD + MAX_HEADER];
        let length = front(kind, channel, header, payload.len() as u64, &mut space);
        let (front, payload) = (&space[done.min(length)..length], &payload[done.saturating_sub(length)..]);
        Self::Copy { data: [front, payload].concat().into(), done: 0 }
    }

    /// Describes a frame with its payload in its sender's memory.
    pub fn memory(channel: Channel, header: &[u8], address: *const u8, bytes: u64, token: u64) -> Self {
        let mut space = [0; HEAD + MAX_HEADER];
        let length = front(Kind::Long, channel, header, bytes, &mut space);
        Self::Memory { front: space, length, address, bytes, done: 0, report: (channel, token) }
    }

    /// Returns how many bytes of copies it holds.
    fn cost(&self) -> usize {
        if let Self::Copy { data, .. } = self { data.len() } else { 0 }
    }

    fn pieces<'a>(&'a self, out: &mut Vec<IoSlice<'a>>) {
        match self {
            Self::Copy { data, done } => out.push(IoSlice::new(&data[*done..])),
            Self::Memory { front, length, address, bytes, done, .. } => {
                let sent = (*done).min(*length as u64) as usize;
                if sent < *length {
                    out.push(IoSlice::new(&front[sent..*length]));
                }
                let offset = *done - sent as u64;
                if offset < *bytes {
                    // SAFETY: readable until the sender is told, which comes after the last byte is sent.
                    let rest = unsafe {
                        let start = address.add(offset as usize);
                        core::slice::from_raw_parts(start, (bytes - offset) as usize)
                    };
                    out.push(IoSlice::new(rest));
                }
            }
        }
    }

    /// Notes that bytes are sent; returns how many of them were others'.
    fn advance(&mut self, sent: usize) -> usize {
        match self {
            Self::Copy { data, done } => {
                let own = sent.min(data.len() - *done);
                *done += own;
                sent - own
            }
            Self::Memory { length, bytes, done, .. } => {
                let own = (sent as u64).min(*length as u64 + *bytes - *done);
                *done += own;
                sent - own as usize
            }
        }
    }

    fn is_sent(&self) -> bool {
        match self {
            Self::Copy { data, done } => *done == data.len(),
            Self::Memory { length, bytes, done, .. } => *done == *length as u64 + bytes,
        }
    }
}

/// What waits to be sent.
pub struct Out {
    pub stage: Stage,
    queue: VecDeque<Item>,
    copied: usize,
    started: usize,
    /// How many messages were accepted, by channel, and how many bytes of payload. There are few channels on a connection.
    messages: Vec<(Channel, u64)>,
    pub bytes: u64,
    /// Somebody sends.
    pub busy: bool,
    /// The poll is told when there is room.
    pub armed: bool,
    /// A message was refused because somebody sent.
    pub is_awaited: bool,
    /// The peer is told that this process ends.
    pub says_end: bool,
    /// Why sending has failed.
    pub broken: Option<Errno>,
}

impl Out {
    /// Tells whether a message may go straight to the socket.
    pub fn is_clear(&self) -> bool {
        self.stage == Stage::Open && !self.busy && self.queue.is_empty() && !self.says_end
    }

    /// Tells whether a message would wait for others that are being sent.
    pub fn is_occupied(&self) -> bool {
        self.stage == Stage::Open && (self.busy || !self.queue.is_empty())
    }

    /// Lets the peer be told that this process ends, once, if there is a connection or will be one.
    pub fn say_end(&mut self) {
        let is_dialled = self.stage == Stage::Dialling && !self.is_empty();
        if !self.says_end && (is_dialled || matches!(self.stage, Stage::Settled | Stage::Open)) {
            self.says_end = true;
            self.push_anyway(Item::copy(Kind::End, Channel::new(0), &[], &[], 0));
        }
    }

    /// Notes why sending has failed. A peer that is known to have ended has not broken anything.
    pub fn break_off(&mut self, error: Errno) {
        self.broken = Some(error);
        if self.stage != Stage::Ended {
            self.stage = Stage::Broken;
        }
    }

    /// Counts messages of a channel that were accepted.
    pub fn accept(&mut self, channel: Channel, messages: u64, bytes: u64) {
        self.bytes += bytes;
        match self.messages.iter_mut().find(|(other, _)| *other == channel) {
            Some((_, count)) => *count += messages,
            None => self.messages.push((channel, messages)),
        }
    }

    /// Returns how many messages were accepted, by channel.
    pub fn messages(&self) -> &[(Channel, u64)] {
        &self.messages
    }

    /// Tells whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Tells whether messages from their senders' memory wait.
    pub fn has_started(&self) -> bool {
        self.started > 0
    }

    /// Adds something if there is room; a queue that holds nothing takes anything.
    pub fn push(&mut self, item: impl FnOnce() -> Item, cost: usize) -> bool {
        let full = self.copied + cost > QUEUE || self.started >= STARTED;
        if full && !self.queue.is_empty() {
            return false;
        }
        self.push_anyway(item());
        true
    }

    /// Adds something.
    pub fn push_anyway(&mut self, item: Item) {
        self.count(&item, true);
        self.queue.push_back(item);
    }

    /// Puts back what is not sent yet.
    pub fn put_back(&mut self, items: impl DoubleEndedIterator<Item = Item>) {
        for item in items.rev() {
            self.count(&item, true);
            self.queue.push_front(item);
        }
    }

    /// Puts what is left of the message that has just been sent before all others.
    pub fn put_first(&mut self, item: Item) {
        self.put_back([item].into_iter());
    }

    fn count(&mut self, item: &Item, more: bool) {
        let started = usize::from(matches!(item, Item::Memory { .. }));
        if more {
            (self.copied, self.started) = (self.copied + item.cost(), self.started + started);
        } else {
            (self.copied, self.started) = (self.copied - item.cost(), self.started - started);
        }
    }

    /// Takes what comes next.
    pub fn batch(&mut self) -> Vec<Item> {
        let count = self.queue.len().min(PIECES / 2);
        let items: Vec<Item> = self.queue.drain(..count).collect();
        items.iter().for_each(|item| self.count(item, false));
        items
    }

    /// Forgets all that waits.
    pub fn clear(&mut self) {
        (self.copied, self.started) = (0, 0);
        self.queue.clear();
    }
}

/// What follows when a payload is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Then {
    /// Nothing: nobody wants it.
    Forget,
    /// The handler is told, with its token.
    Tell(u64),
    /// It has been gathered, and is delivered now.
    Deliver,
}

/// Where the payload that is under way goes.
pub struct Placing {
    /// Of which channel it is.
    pub channel: Channel,
    /// Where the next byte goes.
    pub address: *mut u8,
    /// How many more bytes there is room for.
    pub room: u64,
    /// How many more come.
    pub left: u64,
    /// What to do when all are there.
    pub then: Then,
}

impl Placing {
    /// Takes bytes that have arrived; returns the rest, which is not this message's.
    pub fn take<'a>(&mut self, input: &'a [u8]) -> &'a [u8] {
        let (own, rest) = input.split_at(self.left.min(input.len() as u64) as usize);
        let kept = self.room.min(own.len() as u64);
        // SAFETY: there is room for that in the memory that the handler has given, which is its own until it is told.
        unsafe { weft_sys::copy::bytes(own.as_ptr(), self.address, kept as usize) };
        self.note(own.len() as u64);
        rest
    }

    /// Notes that so many bytes of the message have arrived.
    pub fn note(&mut self, bytes: u64) {
        let kept = self.room.min(bytes);
        self.address = self.address.wrapping_add(kept as usize);
        self.room -= kept;
        self.left -= bytes;
    }
}

/// A message that is delivered when all of it is there.
#[derive(Default)]
pub struct Gathered {
    header: Vec<u8>,
    data: Vec<u8>,
}

impl Gathered {
    /// Makes room for a message, in the memory of earlier ones. It is not to be used again before the message is there.
    pub fn begin(&mut self, channel: Channel, header: &[u8], bytes: u64) -> Placing {
        self.header.clear();
        self.header.extend_from_slice(header);
        self.data.resize(bytes as usize, 0);
        Placing { channel, address: self.data.as_mut_ptr(), room: bytes, left: bytes, then: Then::Deliver }
    }

    /// Returns the header, and the payload that has been placed.
    pub fn message(&self) -> (&[u8], &[u8]) {
        (&self.header, &self.data)
    }
}

/// What has half arrived.
#[derive(Default)]
pub struct Incoming {
    /// The beginning of a frame.
    pub kept: Vec<u8>,
    pub placing: Option<Placing>,
    /// How many messages have arrived whole.
    pub messages: u64,
    pub gathered: Gathered,
    /// The latest payload was long, so that it pays to receive the next one straight into its place.
    pub is_long: bool,
    /// When the latest long payload was whole, in ticks of the clock, and whether the one that is under way began soon after one.
    ended_at: u64,
    is_in_row: bool,
    /// It is so long that it pays to wait for more of it.
    is_worth_patience: bool,
    /// From how many bytes on a sleeper is woken, if the kernel was told.
    low_water: u32,
    /// The peer has said that it ends.
    pub ended: bool,
    /// Nothing is to be delivered any more.
    pub closed: bool,
}

// SAFETY: the memory being placed into is the device's until it tells the handler.
unsafe impl Send for Incoming {}

impl Incoming {
    /// Notes that a payload of so many bytes begins.
    pub fn begin(&mut self, bytes: u64) {
        self.is_long = bytes >= LONG;
        self.is_worth_patience = bytes >= STREAM;
        if self.is_long {
            let since = clock::ticks().wrapping_sub(self.ended_at);
            self.is_in_row = since < ROW_US * clock::ticks_per_us();
        }
    }

    /// Notes that a payload is whole.
    pub fn end(&mut self) {
        if self.is_long {
            self.ended_at = clock::ticks();
        }
    }

    /// Returns how much of the missing bytes of a payload is to be there before a sleeper is woken, and for how many microseconds the
    /// socket is not asked: see [`Link::expect`].
    fn patience(&self, left: u64) -> (u64, u64) {
        let much = if self.is_worth_patience { WORTHWHILE } else { LONG };
        if left < much {
            return (if self.low_water > 1 { left.max(1) } else { 1 }, 0);
        }
        if !self.is_worth_patience {
            return (much, 0);
        }
        let sooner = if self.is_in_row { 0 } else { HURRY };
        (much, (left.saturating_sub(sooner) / PACE).min(PATIENCE_US))
    }

    /// Makes that of a connection from which nothing is delivered any more.
    pub fn closed() -> Self {
        Self { closed: true, ..Self::default() }
    }
}

/// A connection.
pub struct Link {
    pub out: Lock<Out>,
    pub incoming: Lock<Incoming>,
    pub socket: OnceLock<OwnedFd>,
    /// Until when nothing is received, in ticks of the clock: more is to come first.
    quiet_until: AtomicU64,
    /// Until when the socket is left to who hands much to it, in ticks of the clock, and who that is: see [`Link::take_up`].
    taken_until: AtomicU64,
    taken_by: AtomicUsize,
    /// As [`Out::armed`], for those who do not hold the lock.
    pub is_blocked: AtomicBool,
    /// Much of a payload is missing.
    pub is_streaming: AtomicBool,
}

impl Default for Link {
    fn default() -> Self {
        let out = Out {
            stage: Stage::Absent,
            queue: VecDeque::new(),
            copied: 0,
            started: 0,
            messages: Vec::new(),
            bytes: 0,
            busy: false,
            armed: false,
            is_awaited: false,
            says_end: false,
            broken: None,
        };
        Self {
            out: Lock::new(out),
            incoming: Lock::default(),
            socket: OnceLock::new(),
            quiet_until: AtomicU64::new(0),
            taken_until: AtomicU64::new(0),
            taken_by: AtomicUsize::new(0),
            is_blocked: AtomicBool::new(false),
            is_streaming: AtomicBool::new(false),
        }
    }
}

fn send_pieces(socket: BorrowedFd<'_>, pieces: &[IoSlice<'_>]) -> Result<usize, Errno> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    loop {
        match sendmsg(socket, pieces, &mut SendAncillaryBuffer::default(), flags) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(0),
            result => return result,
        }
    }
}

/// Sends a short message as far as the socket takes it; returns how many bytes of the frame that is, and of how many.
pub fn send_short(
    socket: BorrowedFd<'_>,
    channel: Channel,
    header: &[u8],
    payload: &[u8],
) -> (Result<usize, Errno>, usize) {
    let mut space = [0; HEAD + MAX_HEADER + JOINED];
    let length = front(Kind::Short, channel, header, payload.len() as u64, &mut space);
    let all = length + payload.len();
    if payload.len() <= JOINED {
        weft_sys::copy::slice(payload, &mut space[length..all]);
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let sent = loop {
            match rustix::net::send(socket, &space[..all], flags) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break Ok(0),
                result => break result,
            }
        };
        return (sent, all);
    }
    (send_pieces(socket, &[IoSlice::new(&space[..length]), IoSlice::new(payload)]), all)
}

/// Sends some short messages, at most [`TOGETHER`], as far as the socket takes them; returns how many bytes of their frames that
/// is.
pub fn send_together(
    socket: BorrowedFd<'_>,
    channel: Channel,
    messages: &[Leaving<'_>],
) -> Result<usize, Errno> {
    let mut fronts = [[0; HEAD + MAX_HEADER]; TOGETHER];
    let mut pieces = Vec::with_capacity(PIECES);
    for (space, &Leaving { header, payload }) in fronts.iter_mut().zip(messages) {
        let length = front(Kind::Short, channel, header, payload.len() as u64, space);
        pieces.push(IoSlice::new(&space[..length]));
        pieces.push(IoSlice::new(payload));
    }
    send_pieces(socket, &pieces)
}

/// See [`Link::take_up`].
pub struct Taking<'a>(Option<&'a Link>);

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.0 {
            let until = clock::ticks().wrapping_add(TAKEN_US * clock::ticks_per_us());
            link.taken_until.store(until, Ordering::Relaxed);
        }
    }
}

/// Returns a number of the calling thread, or rank, alone.
fn me() -> usize {
    thread_local!(static ME: u8 = const { 0 });
    ME.with(|me| core::ptr::from_ref(me) as usize)
}

/// Tells whether a time has not come yet; zero is none.
fn is_before(until: &AtomicU64) -> bool {
    let until = until.load(Ordering::Relaxed);
    until != 0 && until.wrapping_sub(clock::ticks()) as i64 > 0
}

impl Link {
    /// Notes that `left` bytes of a payload are missing. Of a long one so much is to come before the socket is asked again,
    /// or a sleeper is woken by it.
    ///
    /// Who asks again and again keeps the socket locked and, where two hardware threads share a core, takes time from the
    /// one that sends. Measured over a virtual link with raw sockets: a stream of 1 MiB takes 150 to 160 us a message with a
    /// receiver that sleeps in `recv`; with one that asks without end 140 us in most runs, and 420 to 540 us in some. With a
    /// way to avoid congestion that paces (`congestion`) it was 230 to 250 us and 400 to 430 us.
    ///
    /// Two hosts on one machine, in one run each: windows of 16 messages of 256 KiB, 1 and 4 MiB take 66, 218 and 907 us a message if
    /// the socket is asked again when what exceeds 128 KiB may be there at 16 KiB a microsecond, and 50, 208 and 730 as it is; in
    /// another run 60, 215 and 797, and 47, 165 and 658. Messages of 256 KiB that go to and fro take 59 and 72 us if those are waited
    /// for as much.
    pub fn expect(&self, socket: BorrowedFd<'_>, incoming: &mut Incoming, left: u64) {
        let (wanted, time_us) = incoming.patience(left);
        if time_us > 0 {
            let until = clock::ticks().wrapping_add(time_us * clock::ticks_per_us());
            self.quiet_until.store(until, Ordering::Relaxed);
        }
        if wanted as u32 != incoming.low_water.max(1) && set_receive_low_water(socket, wanted as u32).is_ok()
        {
            incoming.low_water = wanted as u32;
        }
    }

    /// Notes that the calling thread hands so many bytes to the socket until the result is dropped.
    ///
    /// If that is much the kernel locks the socket for as long, and more follows mostly. Who asked the socket for something
    /// meanwhile would sleep in the kernel, and be woken at the end of each call that sends, mostly too late: the next one has
    /// the lock again. Measured with two ranks of each of two hosts that stream 64 KiB: such wake-ups were as many as a quarter of
    /// the messages, and a message took 20 us instead of 12.
    pub fn take_up(&self, bytes: usize) -> Taking<'_> {
        let is_much = bytes >= BULK;
        if is_much {
            self.taken_by.store(me(), Ordering::Relaxed);
            self.taken_until.store(clock::ticks().wrapping_add(AGES), Ordering::Relaxed);
        }
        Taking(is_much.then_some(self))
    }

    /// Tells whether another thread hands much to the socket, or did a moment ago.
    pub fn is_taken(&self) -> bool {
        is_before(&self.taken_until) && self.taken_by.load(Ordering::Relaxed) != me()
    }

    /// Tells whether it is too early to receive more.
    pub fn is_quiet(&self) -> bool {
        is_before(&self.quiet_until)
    }

    /// Sends what waits, as far as the socket takes it; the caller is the busy one, and is not afterwards. Adds the channels and
    /// tokens of what is sent, and returns whether something is left for which there is no room.
    pub fn send_waiting(&self, socket: BorrowedFd<'_>, reports: &mut Vec<(Channel, u64)>) -> bool {
        loop {
            let mut items = {
                let mut out = self.out.lock();
                if out.queue.is_empty() || matches!(out.stage, Stage::Broken | Stage::Ended) {
                    out.busy = false;
                    return false;
                }
                out.batch()
            };
            let mut pieces = Vec::with_capacity(PIECES);
            items.iter().for_each(|item| item.pieces(&mut pieces));
            let bytes = pieces.iter().map(|piece| piece.len()).sum();
            let taking = self.take_up(bytes);
            let result = send_pieces(socket, &pieces);
            drop(taking);
            drop(pieces);
            let mut sent = *result.as_ref().unwrap_or(&0);
            let none = sent == 0;
            for item in &mut items {
                sent = item.advance(sent);
            }
            let rest = items.iter().position(|item| !item.is_sent()).unwrap_or(items.len());
            for item in items.drain(..rest) {
                if let Item::Memory { report, .. } = item {
                    reports.push(report);
                }
            }
            let mut out = self.out.lock();
            let blocked = !items.is_empty();
            out.put_back(items.into_iter());
            if let Err(error) = result {
                out.break_off(error);
                out.busy = false;
                return false;
            }
            if blocked && none {
                out.busy = false;
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_have_to_answer_waits_for_less() {
        let mut incoming = Incoming::default();
        incoming.begin(1 << 20);
        assert_eq!(incoming.patience(1 << 20), (WORTHWHILE, PATIENCE_US));
        assert_eq!(incoming.patience(HURRY + 2 * PACE), (WORTHWHILE, 2));
        assert_eq!(incoming.patience(HURRY), (WORTHWHILE, 0));
        // Another one right behind it, unless the test is held up there.
        let mut follow = || {
            incoming.end();
            incoming.begin(1 << 20);
            incoming.is_in_row
        };
        assert!((0..1000).any(|_| follow()));
        assert_eq!(incoming.patience(HURRY), (WORTHWHILE, HURRY / PACE));
        assert_eq!(incoming.patience(WORTHWHILE), (WORTHWHILE, WORTHWHILE / PACE));
        // And one that comes much later.
        incoming.end();
        incoming.ended_at = incoming.ended_at.wrapping_sub(ROW_US * clock::ticks_per_us());
        incoming.begin(1 << 20);
        assert_eq!(incoming.patience(HURRY), (WORTHWHILE, 0));
    }

    #[test]
    fn the_rest_of_a_payload_and_a_shorter_one_are_not_waited_for() {
        let mut incoming = Incoming::default();
        for bytes in [STREAM - 1, LONG] {
            incoming.begin(bytes);
            assert_eq!(incoming.patience(LONG), (LONG, 0));
            assert_eq!(incoming.patience(LONG - 1), (1, 0));
            incoming.end();
        }
        incoming.begin(STREAM);
        assert_eq!(incoming.patience(WORTHWHILE - 1), (1, 0));
        // Who has told the kernel to wait for more tells it to wait for no more than comes.
        incoming.low_water = WORTHWHILE as u32;
        assert_eq!(incoming.patience(WORTHWHILE - 1), (WORTHWHILE - 1, 0));
        assert_eq!(incoming.patience(0), (1, 0));
    }
}
