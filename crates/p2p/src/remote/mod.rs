//! Messages between ranks of different node processes.
//!
//! # Ways of a message
//! A short message (up to [`APART`] times what is short between ranks of one node process) goes *eagerly*: header and data at
//! once, if the sender has credit for it (`window`). At the other side the header handler copies the data into the posted
//! buffer, or into that of the receive that polls (`expected`), or keeps it in the memory of the receiving rank. Everything
//! else, and what is sent synchronously, goes in three steps: a *request* with envelope and length takes the message's
//! place in matching; when it is matched the receiver reads the data where that can be done, or asks for it, and the
//! sender streams it into the posted buffer: if both sides are dense in one piece, or in a part for each way that the device has to
//! the peer, which arrive in any order; else cut into pieces that are packed
//! and unpacked one by one. So no packed copy of a long message exists anywhere.
//!
//! # Order
//! Eager messages and requests of a rank go through one channel in the order of their sends, and matching is that of local
//! messages, by the receiving rank's [`Endpoint`], so messages do not overtake, wherever they come from.
//!
//! # Room
//! A device may have no room. What cannot wait with its caller goes to the peer's *backlog*, and as long as there is one
//! everything to that peer goes behind it. Backlogs are bounded by the operations that the ranks have in progress.
//!
//! # Who works
//! Any rank's thread sends by itself. Handlers run in whatever thread polls; they copy what is short. Reading a long message
//! from a peer and streaming it to one is done after the poll ([`Handler::advance`]), by any number of threads.
//!
//! # Checking
//! In checking mode, a message whose datatype is known says what it is and which call sent it in front of its data, a request as
//! its only payload (`described`). The frame says so, so it does not matter whether the receiver checks, too: of two jobs one
//! may. Without checking nothing of it travels.
//!
//! # Loss
//! When a peer is lost, the operations that are in progress with it fail, and so do receives that are posted or will be
//! posted and find no message, and probes likewise, if nobody can tell whether theirs would have come: all of them when the
//! peer is of the job, which ends then, and those that wait for a rank of the peer when it is of another job
//! ([`ask_about_losses`]).
//!
//! [`Handler::advance`]: weft_transport::Handler::advance
#![allow(unsafe_code)] // Copies from and to the memory of operations.

mod arrival;
mod backlog;
mod described;
pub mod frame;
mod partitioned;
pub(crate) mod pending;
pub mod window;

use crate::endpoint::{Endpoint, Reference};
use crate::engine::{Engine, Limits, Mode, finish};
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation, Outcome};
use crate::reports::checking::{self, Origin};
pub(crate) use partitioned::{FarReceive, FarSend, sender};

use crate::endpoint::pool::Block;
use backlog::{Backlog, Post};
use frame::{Encoded, Frame};
use pending::{Entry, Pending, table_of};
use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use weft_base::Error;
use weft_base::constants::MPI_ERR_PROC_ABORTED;
use weft_base::settings::is_checking;
use weft_sync::{CachePadded, Growing, Lock, Section};
use weft_transport::{Channel, Device, Leaving, MOST_ANSWER, Node, Nodes, Place, Refusal, Routes};
use window::{Window, units};

/// How much is packed or unpacked at once at most.
const PIECE: usize = 64 << 10;

/// How long a part of a message is at least that goes over several connections.
const PART: u64 = 256 << 10;

/// How many times longer than between ranks of a node process a message may be that goes eagerly, if its device takes it. To
/// ask first costs two messages: between hosts each of them costs both sides what copying 20 KiB does. Through the segment of a
/// host 64 KiB take 2.0 us eagerly and 2.7 us when asked for, a stream of them 1.6 and 3.0 us a message; if nobody waits for
/// them, which costs a copy more, 2.7 and 2.9. With 256 KiB that copy would be too dear: 7.5 and 6.5 us.
const APART: u64 = 16;

/// Which part of a rank's memory for messages nobody receives yet belongs to each node process that joins later.
const SHARES: u64 = 16;

/// Why operations fail, once a peer is lost.
static REASON: OnceLock<String> = OnceLock::new();

/// Tells whether a receive may wait for a message of a node process of another job.
pub type MayWaitFor = fn(&Envelope, Node) -> bool;

static MAY_WAIT_FOR: OnceLock<MayWaitFor> = OnceLock::new();

/// Says whom to ask which receives the loss of a node process of another job concerns; unless somebody does, it concerns all.
pub fn ask_about_losses(may_wait_for: MayWaitFor) {
    let _ = MAY_WAIT_FOR.set(may_wait_for);
}

/// Makes the error of an operation whose peer is lost.
#[cold]
pub(crate) fn lost() -> Error {
    let reason = REASON.get().map_or("a node process is gone", String::as_str);
    Error::new(MPI_ERR_PROC_ABORTED, format!("the message cannot get through: {reason}"))
}

/// What is left of an operation whose peer is lost.
pub(crate) fn failed(envelope: &Envelope) -> Outcome {
    Outcome::failed(envelope.source(), envelope.tag())
}

/// A send with its data at its sender.
#[derive(Clone, Copy)]
pub(crate) struct Far {
    /// Where the sender is.
    pub node: Node,
    /// What the sender calls it.
    pub send: u64,
    /// Where the data is if it may be read from there, else 0.
    pub address: u64,
}

/// A read that was left for later.
struct Job {
    operation: Reference,
    envelope: Envelope,
    bytes: u64,
    far: Far,
}

/// A short message that has no place yet, while parts of it are on their way.
struct Staged {
    what: Aside,
    block: Block,
    bytes: usize,
}

/// What such a message is.
#[derive(Clone, Copy)]
enum Aside {
    /// A message to a rank here, for which no receive waits.
    Eager { target: u32, envelope: Envelope },
    /// A message or request that is described.
    Described(Frame),
    /// A piece of a message, for a buffer with gaps.
    Piece { receive: u64, offset: u64 },
}

/// In place of the name of a receive: the message is staged.
const STAGED: u64 = u64::MAX;

/// What is known of a peer.
struct Peer {
    /// The longest message that goes eagerly.
    eager: u64,
    /// Whether longer ones may as answers: not if less than the device takes was wished for.
    takes_answers: bool,
    window: Window,
    is_lost: AtomicBool,
    backlog: Backlog,
    /// The message whose parts are arriving, if nobody waits for it: there is one at a time on the channel.
    staged: Lock<Option<Staged>>,
}

impl Peer {
    fn new(nodes: &Nodes, limits: &Limits, node: Node, window: Window) -> Self {
        let capabilities = nodes.device().capabilities(node);
        let most = capabilities.eager.saturating_sub(if is_checking() { checking::WRITTEN } else { 0 });
        Self {
            eager: limits.eager.saturating_mul(APART).min(most as u64),
            takes_answers: limits.eager.saturating_mul(APART) >= most as u64,
            window,
            is_lost: AtomicBool::new(false),
            backlog: Backlog::default(),
            staged: Lock::default(),
        }
    }
}

/// The way to ranks of other node processes.
pub(crate) struct Remote {
    nodes: &'static Nodes,
    device: &'static Routes,
    peers: Growing<CachePadded<Peer>>,
    limits: Limits,
    /// Of each rank here: what peers may name.
    pending: Box<[CachePadded<Lock<Pending>>]>,
    jobs: Lock<VecDeque<Job>>,
    /// Jobs, and posts in all backlogs.
    left: AtomicUsize,
    any_lost: AtomicBool,
    /// Those who are.
    lost: Lock<Vec<Node>>,
    /// The engine this belongs to.
    engine: OnceLock<&'static Engine>,
    /// Node processes from this one on are of other jobs.
    of_job: Node,
    /// How many partitioned sends to other node processes were made.
    links: AtomicU32,
}

impl Remote {
    pub(crate) fn new(nodes: &'static Nodes, limits: &Limits) -> Self {
        let (places, me) = (nodes.places(), nodes.node());
        let others = u64::from(nodes.device().nodes()).max(2) - 1;
        let memory = |node: Node| {
            let ranks = if node < places.nodes() { places.ranks(node).len() } else { 0 };
            limits.unexpected.saturating_mul(ranks as u64) / others
        };
        let peer = |node| CachePadded(Peer::new(nodes, limits, node, Window::new(memory(node), memory(me))));
        let ranks = places.ranks(me).len() as u32;
        Self {
            nodes,
            device: nodes.device(),
            peers: (0..nodes.device().nodes()).map(peer).collect(),
            pending: (0..ranks).map(|rank| CachePadded(Lock::new(Pending::new(rank)))).collect(),
            jobs: Lock::default(),
            left: AtomicUsize::new(0),
            any_lost: AtomicBool::new(false),
            lost: Lock::default(),
            engine: OnceLock::new(),
            of_job: nodes.device().nodes(),
            links: AtomicU32::new(0),
            limits: *limits,
        }
    }

    /// Takes in node processes that have been added.
    fn join(&self, begin: Node, count: u32) {
        assert_eq!(self.peers.len(), begin as usize, "node processes join one after the other");
        for node in begin..begin + count {
            // Both sides think of the same memory: neither knows how many node processes the other has.
            let memory = self.limits.unexpected / SHARES;
            let peer = Peer::new(self.nodes, &self.limits, node, Window::new(memory, memory));
            self.peers.push(CachePadded(peer));
        }
    }

    pub(crate) fn nodes(&self) -> &'static Nodes {
        self.nodes
    }

    /// Says which engine this belongs to.
    pub(crate) fn belong(&self, engine: &'static Engine) {
        let _ = self.engine.set(engine);
    }

    /// Tells whether a receive may wait for a message that does not come because a peer is lost.
    #[inline]
    pub(crate) fn is_in_vain(&self, pattern: &Envelope) -> bool {
        self.any_lost.load(Ordering::SeqCst) && self.waits_for_lost(pattern, &self.lost.lock().clone())
    }

    /// Tells whether a node process of this job is lost.
    pub(crate) fn has_lost_own(&self) -> bool {
        self.any_lost.load(Ordering::SeqCst) && self.lost.lock().iter().any(|&node| node < self.of_job)
    }

    #[cold]
    fn waits_for_lost(&self, pattern: &Envelope, lost: &[Node]) -> bool {
        let may_wait = |node: Node| {
            // Of which job the sender of a part is, is not known here.
            partitioned::part_of_other_job(pattern)
                .unwrap_or_else(|| MAY_WAIT_FOR.get().is_none_or(|may_wait_for| may_wait_for(pattern, node)))
        };
        lost.iter().any(|&node| node < self.of_job || may_wait(node))
    }

    fn pending(&self, name: u64) -> Option<&Lock<Pending>> {
        self.pending.get(table_of(name)).map(|table| &**table)
    }

    /// Adds an operation that the peer may name. Fails it, and returns nothing, if the peer is lost.
    fn name(&self, me: u32, entry: Entry) -> Option<u64> {
        let table = &self.pending[me as usize];
        let name = table.lock().add(entry);
        // Whoever notes a loss looks through the table afterwards.
        if !self.peers[entry.peer() as usize].is_lost.load(Ordering::SeqCst) {
            return Some(name);
        }
        if table.lock().remove(name).is_some() {
            fail(&entry);
        }
        None
    }

    /// Hands a message to the device, with the credit that is owed.
    fn transmit(&self, to: Node, header: &mut Encoded, data: &[u8]) -> Result<(), Refusal> {
        self.transmit_to(&self.peers[to as usize], to, header, data)
    }

    /// As [`Remote::transmit`], for who has looked the peer up.
    #[inline(always)]
    fn transmit_to(&self, peer: &Peer, to: Node, header: &mut Encoded, data: &[u8]) -> Result<(), Refusal> {
        let window = &peer.window;
        let credit = window.pay();
        header.set_credit(credit);
        let sent = self.device.send(to, Channel::POINT_TO_POINT, header.bytes(), data);
        if sent.is_err() {
            window.owe_again(credit);
        }
        sent
    }

    /// Sends a header now or later.
    fn post(&self, to: Node, frame: Frame) {
        let peer = &self.peers[to as usize];
        let mut header = frame.encode();
        if peer.backlog.is_empty() && !matches!(self.transmit(to, &mut header, &[]), Err(Refusal::Full)) {
            // A lost peer needs nothing.
            return;
        }
        self.queue(to, Post::Header(header));
    }

    fn queue(&self, to: Node, post: Post) {
        let peer = &self.peers[to as usize];
        self.left.fetch_add(1, Ordering::SeqCst);
        peer.backlog.push(post);
        if peer.is_lost.load(Ordering::SeqCst) {
            self.drop_backlog(to);
        }
    }

    /// Notes that a message was delivered, and gives credit back if there is much of it.
    #[inline]
    pub(crate) fn give_back(&self, to: Node, bytes: u64) {
        if self.peers[to as usize].window.owe(units(bytes), &Section::outside()) {
            self.post(to, Frame::Credit);
        }
    }

    /// Goes on with a peer's backlog. Returns whether anything could be done.
    fn pump(&self, to: Node) -> bool {
        let peer = &self.peers[to as usize];
        let Some(turn) = peer.backlog.turn() else { return false };
        let (mut moved, mut posts) = (false, Vec::new());
        while !peer.is_lost.load(Ordering::SeqCst) {
            turn.next(&mut posts);
            // SAFETY: operations in a backlog stay until they are complete, and what is lost is not completed before this
            // turn is over.
            let sent = unsafe { self.attempt(to, &mut posts) };
            if sent == 0 {
                moved |= posts.pop().is_some_and(|first| turn.put_back(first));
                break;
            }
            moved = true;
            for post in posts.drain(..sent) {
                turn.pop();
                self.left.fetch_sub(1, Ordering::SeqCst);
                if let Some((operation, envelope)) = post.operation() {
                    finish(operation.get(), &envelope, 0);
                }
            }
        }
        moved
    }

    /// Tries to send posts. Returns how many are sent; if none is, notes in the first how far that got, and leaves only that.
    ///
    /// # Safety
    /// The operations are in progress.
    unsafe fn attempt(&self, to: Node, posts: &mut Vec<Post>) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            match &mut posts[..] {
                [] => 0,
                [post] => usize::from(self.attempt_one(to, post)),
                several => {
                    let sent = self.attempt_all(to, several);
                    if sent == 0 {
                        posts.truncate(1);
                    }
                    sent
                }
            }
        }
    }

    /// Tries to send short messages that are in place. Returns how many are sent.
    ///
    /// # Safety
    /// The operations are in progress.
    unsafe fn attempt_all(&self, to: Node, posts: &mut [Post]) -> usize {
        let window = &self.peers[to as usize].window;
        let credit = window.pay();
        for (number, post) in posts.iter_mut().enumerate() {
            if let Post::Eager { header, .. } = post {
                header.set_credit(if number == 0 { credit } else { 0 });
            }
        }
        let leaving = posts.iter().filter_map(|post| {
            let Post::Eager { header, operation, .. } = post else { return None };
            let data = operation.get().buffer();
            // SAFETY: one block of so many bytes, which the sender leaves alone until the operation is complete.
            let payload = unsafe { data.in_place() };
            Some(Leaving { header: header.bytes(), payload })
        });
        let messages: Vec<_> = leaving.collect();
        match self.device.send_all(to, Channel::POINT_TO_POINT, &messages) {
            Ok(sent) => sent,
            // Nothing gets to a lost peer; all of it is over.
            Err(Refusal::Lost { .. }) => messages.len(),
            Err(Refusal::Full) => {
                window.owe_again(credit);
                0
            }
        }
    }

    /// Tries to send a post. Returns whether all of it is sent; if not, notes in it how far that got.
    ///
    /// # Safety
    /// The operation is in progress.
    unsafe fn attempt_one(&self, to: Node, post: &mut Post) -> bool {
        match post {
            Post::Header(header) => !matches!(self.transmit(to, header, &[]), Err(Refusal::Full)),
            Post::Eager { header, operation, .. } => {
                // SAFETY: the caller's promise.
                let sent =
                    unsafe { operation.get().buffer().with_packed(|data| self.transmit(to, header, data)) };
                !matches!(sent, Err(Refusal::Full))
            }
            Post::Described { header, payload, .. } => {
                !matches!(self.transmit(to, header, payload), Err(Refusal::Full))
            }
            // SAFETY: the caller's promise.
            Post::Stream(stream) => unsafe { self.stream(to, stream) },
        }
    }

    /// Sends data that was asked for, as far as that gets. Returns whether that is all of it.
    ///
    /// # Safety
    /// The operation is in progress.
    unsafe fn stream(&self, to: Node, stream: &mut backlog::Stream) -> bool {
        let backlog::Stream { send, receive, bytes, pieces, .. } = *stream;
        let Some(table) = self.pending(send) else { return true };
        let Some(Entry::Send { operation, .. }) = table.lock().get(send).copied() else { return true };
        let data = operation.get().buffer();
        let most = self.device.capabilities(to).eager.min(PIECE);
        if data.dense && !pieces && bytes > most as u64 {
            // SAFETY: the caller's promise.
            return unsafe { self.stream_dense(to, stream, data.address) };
        }
        let mut space = if data.dense { Vec::new() } else { vec![0u8; most.min(bytes as usize)] };
        while stream.offset < bytes {
            let length = (bytes - stream.offset).min(most as u64);
            // SAFETY: the data is in the sender's buffer, which has at least `bytes` bytes.
            let piece = unsafe {
                if data.dense {
                    let start = data.address.wrapping_add(stream.offset as usize);
                    core::slice::from_raw_parts(start, length as usize)
                } else {
                    data.pack_part(stream.offset, space.as_mut_ptr(), length);
                    &space[..length as usize]
                }
            };
            let mut header = Frame::Data { receive, offset: stream.offset }.encode();
            match self.transmit(to, &mut header, piece) {
                Ok(()) => stream.offset += length,
                Err(Refusal::Full) => return false,
                Err(Refusal::Lost { .. }) => return true,
            }
        }
        self.complete_send(send);
        true
    }

    /// Sends data that is one block, in as many parts as the device has ways to the peer, as [`Remote::stream`] does.
    ///
    /// # Safety
    /// The operation is in progress, and its data at `address`.
    unsafe fn stream_dense(&self, to: Node, stream: &mut backlog::Stream, address: *mut u8) -> bool {
        let backlog::Stream { send, receive, bytes, .. } = *stream;
        let ways = u64::from(self.device.ways(to)).clamp(1, bytes.div_ceil(PART));
        // Whole pages but for the last one's end.
        let length = bytes.div_ceil(ways).next_multiple_of(4096);
        if ways > 1
            && stream.offset == 0
            && let Some(table) = self.pending(send)
            && let Some(Entry::Send { parts, .. }) = table.lock().get(send)
        {
            *parts = bytes.div_ceil(length) as u32 - 1;
        }
        while stream.offset < bytes {
            let offset = stream.offset;
            let mut header = Frame::Data { receive, offset }.encode();
            let credit = self.peers[to as usize].window.pay();
            header.set_credit(credit);
            let part = (offset / length) as u32;
            // SAFETY: the data is the sender's until the last of the parts is sent, or `lost` completes the operation.
            let started = unsafe {
                let (header, start) = (header.bytes(), address.wrapping_add(offset as usize));
                let length = length.min(bytes - offset);
                self.device.start_part(part, to, Channel::POINT_TO_POINT, header, start, length, send)
            };
            match started {
                Ok(()) => stream.offset += length,
                Err(refusal) => {
                    self.peers[to as usize].window.owe_again(credit);
                    return !matches!(refusal, Refusal::Full);
                }
            }
        }
        true
    }

    /// Goes on when the device has taken a short message of `bytes` bytes or not; what it has no room for is posted `later`, or
    /// given back to a caller without operation. Returns whether it is sent.
    #[inline]
    fn after(
        &self,
        to: Node,
        sent: Result<(), Refusal>,
        envelope: &Envelope,
        bytes: u64,
        operation: Option<&Operation>,
        later: impl FnOnce(Reference) -> Post,
    ) -> bool {
        match (sent, operation) {
            (Ok(()), _) => {
                // Others may have been refused because this thread sent.
                if !self.peers[to as usize].backlog.is_empty() {
                    self.pump(to);
                }
                self.see_to_arrivals();
                return true;
            }
            (Err(Refusal::Full), Some(operation)) => {
                self.queue(to, later(operation.into()));
                // Who was in the way may have gone before it saw that something waits.
                self.pump(to);
                self.see_to_arrivals();
            }
            (Err(Refusal::Lost { reason }), Some(operation)) => {
                let _ = REASON.set(reason);
                end(operation, failed(envelope));
            }
            (Err(_), None) => _ = self.peers[to as usize].window.refill(units(bytes)),
        }
        false
    }

    /// Sends a message that is not short, but may go at once because the device takes it as an answer. Returns whether it is sent.
    ///
    /// # Safety
    /// The data is as promised for sends.
    #[inline(never)]
    unsafe fn answer(&self, peer: &Peer, place: Place, envelope: Envelope, data: &Buffer) -> bool {
        let units = units(data.bytes);
        if !data.dense
            || data.bytes > MOST_ANSWER as u64
            || !peer.takes_answers
            || !peer.backlog.is_empty()
            || !peer.window.take(units)
        {
            return false;
        }
        let mut header = Frame::Eager { target: place.index, envelope, described: false }.encode();
        let credit = peer.window.pay();
        header.set_credit(credit);
        // SAFETY: a dense buffer's data is one block, which the sender leaves alone, by the caller's promise.
        let payload = unsafe { data.in_place() };
        if !self.device.answer(place.node, Channel::POINT_TO_POINT, header.bytes(), payload) {
            peer.window.owe_again(credit);
            _ = peer.window.refill(units);
            return false;
        }
        self.see_to_arrivals();
        true
    }

    /// Receives what others leave to the calling thread, because it sends.
    fn see_to_arrivals(&self) {
        if self.device.wants_poll() {
            self.nodes.poll();
        }
    }

    /// Gives a send a name and makes its request, unless the peer is lost.
    fn request(
        &self,
        me: &Endpoint,
        place: Place,
        envelope: Envelope,
        data: &Buffer,
        operation: &Operation,
        described: bool,
    ) -> Option<Frame> {
        let entry = Entry::Send { operation: operation.into(), to: place.node, cleared: false, parts: 0 };
        let here = self.nodes.places().of(me.rank()).index;
        // Asked each time: that a peer's memory can be read is known when the peer is there.
        let is_readable = data.dense && self.device.capabilities(place.node).remote_read;
        let address = if is_readable { data.address as u64 } else { 0 };
        let bytes = data.bytes;
        let send = self.name(here, entry)?;
        Some(Frame::Request { target: place.index, envelope, send, bytes, address, described })
    }

    /// Notes that the data of a send, or a part of it, has left, and completes it with the last one.
    fn note_sent(&self, name: u64) {
        if let Some(table) = self.pending(name)
            && let Some(Entry::Send { parts, .. }) = table.lock().get(name)
            && *parts > 0
        {
            *parts -= 1;
            return;
        }
        self.complete_send(name);
    }

    /// Completes a send whose data nobody needs any more.
    fn complete_send(&self, name: u64) {
        let entry = self.pending(name).and_then(|table| table.lock().remove(name));
        if let Some(Entry::Send { operation, .. }) = entry {
            finish(operation.get(), &Envelope::new(0, 0, 0), 0);
        }
    }

    /// Reads the data of a message, and completes the receive.
    ///
    /// # Safety
    /// The operation left matching, and is the caller's.
    unsafe fn read(&self, job: &Job) {
        let Job { operation, envelope, bytes, far } = *job;
        let operation = operation.get();
        let buffer = operation.buffer();
        let wanted = bytes.min(buffer.bytes);
        // SAFETY: the receive's buffer is its owner's promise; the sender keeps its data until it is told.
        let read = unsafe {
            if buffer.dense {
                self.device.read(far.node, far.address, buffer.address, wanted)
            } else {
                let mut space = vec![0u8; (wanted as usize).min(PIECE)];
                let mut pieces = (0..wanted).step_by(PIECE);
                pieces.try_for_each(|offset| {
                    let length = (wanted - offset).min(PIECE as u64);
                    let piece = space.as_mut_ptr();
                    self.device.read(far.node, far.address.wrapping_add(offset), piece, length)?;
                    buffer.unpack_part(offset, piece, length);
                    Ok(())
                })
            }
        };
        match read {
            Ok(()) => {
                self.post(far.node, Frame::Done { send: far.send });
                finish(operation, &envelope, bytes);
            }
            Err(refusal) => {
                let _ = REASON.set(refusal.to_string());
                end(operation, failed(&envelope));
            }
        }
    }

    /// Forgets what waits for a lost peer.
    fn drop_backlog(&self, to: Node) {
        let peer = &self.peers[to as usize];
        // Whoever has the turn ends it soon: it neither waits nor goes on after the loss.
        let turn = loop {
            match peer.backlog.turn() {
                Some(turn) => break turn,
                None => std::thread::yield_now(),
            }
        };
        while let Some(post) = turn.pop() {
            self.left.fetch_sub(1, Ordering::SeqCst);
            if let Some((operation, envelope)) = post.operation() {
                end(operation.get(), failed(&envelope));
            }
        }
    }
}

/// Completes an operation.
fn end(operation: &Operation, outcome: Outcome) {
    if operation.complete(outcome) {
        crate::requests::release_detached(operation);
    }
}

/// Completes an operation that will not come to its end.
fn fail(entry: &Entry) {
    let envelope = match entry {
        Entry::Receive { envelope, .. } => *envelope,
        Entry::Send { .. } => Envelope::new(0, 0, 0),
    };
    end(entry.operation().get(), failed(&envelope));
}

impl Engine {
    /// Sends to a rank of another node process; see [`Engine::deliver`].
    ///
    /// # Safety
    /// As [`Engine::start_send`].
    #[inline(never)]
    pub(crate) unsafe fn deliver_far(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        data: &Buffer,
        mode: Mode,
        operation: Option<&Operation>,
    ) -> bool {
        let remote = self.remote().expect("a rank that is not here is far");
        let place = remote.nodes.places().of(target);
        if is_checking()
            && let Some(origin) = Origin::written(data)
        {
            // SAFETY: the caller's promise.
            return unsafe { remote.deliver_described(me, place, envelope, data, mode, operation, origin) };
        }
        let peer = &remote.peers[place.node as usize];
        if mode == Mode::Standard && data.bytes <= peer.eager && peer.window.take(units(data.bytes)) {
            let mut header = Frame::Eager { target: place.index, envelope, described: false }.encode();
            let sent = if !peer.backlog.is_empty() {
                Err(Refusal::Full)
            } else if data.dense && data.bytes > 0 {
                // SAFETY: one block of so many bytes, by the caller's promise.
                let data = unsafe { core::slice::from_raw_parts(data.address, data.bytes as usize) };
                remote.transmit_to(peer, place.node, &mut header, data)
            } else {
                // SAFETY: the caller's promise.
                unsafe { data.with_packed(|data| remote.transmit(place.node, &mut header, data)) }
            };
            let later = |operation| Post::Eager { header, operation, envelope };
            return remote.after(place.node, sent, &envelope, data.bytes, operation, later);
        }
        let Some(operation) = operation else { return false };
        if let Some(request) = remote.request(me, place, envelope, data, operation, false) {
            remote.post(place.node, request);
        }
        false
    }

    /// Sends a message that is not short as an answer; see [`Device::answer`]. Returns whether it is sent. Only for who waits for its
    /// end: other sends may still be cancelled while nobody receives them.
    ///
    /// # Safety
    /// As [`Engine::start_send`].
    pub(crate) unsafe fn answer_far(&self, target: u32, envelope: Envelope, data: &Buffer) -> bool {
        let remote = self.remote().expect("a rank that is not here is far");
        let place = remote.nodes.places().of(target);
        // SAFETY: the caller's promise.
        !is_checking() && unsafe { remote.answer(&remote.peers[place.node as usize], place, envelope, data) }
    }

    /// Gets the data of a message that left matching into the buffer of `operation`, which completes now or later.
    ///
    /// # Safety
    /// The operation is in no queue, stays in place until it is complete, and its buffer is as promised for receives.
    #[cold]
    pub(crate) unsafe fn fetch(
        &self,
        me: &Endpoint,
        envelope: Envelope,
        bytes: u64,
        far: Far,
        operation: &Operation,
    ) {
        let job = Job { operation: operation.into(), envelope, bytes, far };
        let remote = self.remote().expect("a far message");
        // SAFETY: the caller's promise.
        unsafe {
            if far.address != 0 && bytes.min(operation.buffer().bytes) > 0 {
                remote.read(&job);
            } else {
                self.ask(me, &job);
            }
        }
    }

    /// Asks for the data of a message, if any is needed.
    ///
    /// # Safety
    /// As [`Engine::fetch`].
    unsafe fn ask(&self, me: &Endpoint, job: &Job) {
        let Job { operation, envelope, bytes, far } = *job;
        let remote = self.remote().expect("a far message");
        let buffer = operation.get().buffer();
        let expected = bytes.min(buffer.bytes);
        if expected == 0 {
            remote.post(far.node, Frame::Done { send: far.send });
            return finish(operation.get(), &envelope, bytes);
        }
        let entry =
            Entry::Receive { operation, from: far.node, envelope, bytes, expected, got: 0, placing: 0 };
        let here = remote.nodes.places().of(me.rank()).index;
        // The operation may be complete, and gone, as soon as it has a name.
        let pieces = !buffer.dense;
        if let Some(receive) = remote.name(here, entry) {
            remote.post(far.node, Frame::Clear { send: far.send, receive, bytes: expected, pieces });
        }
    }

    /// Asks for a send back, if its data has not been asked for. The peer's answer may complete it.
    pub(crate) fn cancel_far(&self, me: &Endpoint, target: u32, operation: &Operation) {
        let Some(remote) = self.remote() else { return };
        let places = remote.nodes.places();
        let here = places.of(me.rank()).index;
        let is_it = |entry: &Entry| matches!(entry, Entry::Send { operation: found, cleared: false, .. } if core::ptr::eq(found.get(), operation));
        let name = remote.pending[here as usize].lock().names(is_it).next();
        if let Some(send) = name {
            let place = places.of(target);
            remote.post(place.node, Frame::Cancel { target: place.index, send });
        }
    }

    /// Fails the receives that are posted by a rank and may wait for a lost peer.
    #[cold]
    pub(crate) fn fail_posted(&self, me: &Endpoint) {
        let Some(remote) = self.remote() else { return };
        let lost = remote.lost.lock().clone();
        loop {
            let mut state = me.lock();
            let is_in_vain = |pattern: &Envelope, _: &Reference| remote.waits_for_lost(pattern, &lost);
            let Some((pattern, receive)) = state.posted.take_where(is_in_vain) else {
                // Those who wait in a probe look for the loss themselves.
                return state.probers.iter().for_each(|(_, thread)| thread.unpark());
            };
            me.note_posted(&state);
            drop(state);
            end(receive.get(), failed(&pattern));
        }
    }
}
