//! Partitioned operations between ranks of different node processes: a message per part.
//!
//! The sender's initialising call sends an *opening*, which the receiver's call receives: calls are matched in order, as
//! the standard wants. It says how many parts there are and under which context they come: one that no communicator has.
//! A part that is ready is an ordinary message whose tag is its number. The receiver's start posts a receive for each of
//! the sender's parts, or leaves that to whoever finds the opening there later. Rounds follow each other since messages of
//! one part do not overtake.
#![allow(unsafe_code)] // Messages from and to the memory of requests.

use super::Remote;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation, Outcome};
use crate::partitioned::Parts;
use crate::waiting::signal::Signal;
use crate::way::Mode;
use core::cell::UnsafeCell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::Result;
use weft_base::settings::is_checking;
use weft_sched::Thread;
use weft_sync::Lock;

/// Added to the source of an opening, in the context of its communicator's collective operations.
const OPENING: i32 = 6 << 24;

/// The contexts of parts; communicators have none of these in a job of several node processes.
const PARTS: u32 = 1 << 31;

fn opening(envelope: &Envelope) -> Envelope {
    Envelope::new(envelope.context | 1, OPENING | envelope.source(), envelope.tag())
}

/// Returns the rank that has sent a message with an envelope.
pub(crate) fn sender(envelope: &Envelope) -> i32 {
    // Odd contexts are the library's own: this is an opening.
    if envelope.context.is_multiple_of(2) { envelope.source() } else { envelope.source() & !OPENING }
}

/// Returns an opening's memory as a buffer; in checking mode it says what all parts are.
///
/// # Safety
/// Both live until the operation is complete.
unsafe fn described(opened: &UnsafeCell<Opening>, parts: &Parts) -> Buffer {
    // SAFETY: the caller's promise.
    let buffer = unsafe { Buffer::dense(opened.get().cast(), OPENING_BYTES) };
    if is_checking() { buffer.copy_of(parts.elements(), &parts.datatype) } else { buffer }
}

/// The operations of a round, one for each of the sender's parts.
struct Operations {
    each: Box<[Operation]>,
    /// So many of the first are known to be complete. Who waits for all waits for the next one only: there may be thousands,
    /// and each look at all of them, or wake-up by each, would make the work grow with the square.
    complete: AtomicU32,
}

impl Operations {
    fn new(parts: u32) -> Self {
        let each = (0..parts).map(|_| Operation::new(nowhere())).collect();
        Self { each, complete: AtomicU32::new(0) }
    }

    /// Prepares for another round.
    fn restart(&self) {
        self.complete.store(0, Ordering::Relaxed);
    }

    /// Tells whether all are complete; if not, `waiter` will be unparked when it is worth to ask again.
    fn all_done(&self, waiter: Option<&'static Thread>) -> bool {
        let is_done = |operation: &Operation| {
            operation.is_done() || waiter.is_some_and(|waiter| !operation.register(waiter))
        };
        let before = self.complete.load(Ordering::Relaxed) as usize;
        let more = self.each[before..].iter().take_while(|operation| is_done(operation)).count();
        self.complete.store((before + more) as u32, Ordering::Relaxed);
        before + more == self.each.len()
    }

    /// Forgets a waiter: it is named in the first that was not complete, at most.
    fn leave(&self, waiter: &'static Thread) {
        if let Some(operation) = self.each.get(self.complete.load(Ordering::Relaxed) as usize) {
            operation.deregister(waiter);
        }
    }

    fn result(&self) -> Result {
        self.each.iter().try_for_each(|operation| operation.outcome().sent())
    }
}

/// What an opening says.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Opening {
    bytes: u64,
    partitions: u32,
    link: u32,
    /// Under which source the parts come.
    source: i32,
    unused: u32,
}

const OPENING_BYTES: u64 = size_of::<Opening>() as u64;

fn engine_of(remote: Option<&Remote>) -> &'static Engine {
    remote.and_then(|remote| remote.engine.get()).expect("an engine with other node processes")
}

/// In a source: drawn at random, since ranks of several jobs may have the same number.
const DRAWN: u32 = 1 << 30;

/// Tells whether a receive waits for a part, and if so whether for one that a rank of another job sends.
pub(super) fn part_of_other_job(pattern: &Envelope) -> Option<bool> {
    (pattern.context & PARTS != 0).then_some(pattern.source() & DRAWN as i32 != 0)
}

impl Remote {
    /// Returns the number of a new connection for parts, and the source of its messages.
    fn link(&self, me: &Endpoint, target: u32) -> (u32, i32) {
        let links = self.links.fetch_add(1, Ordering::Relaxed);
        if self.nodes().places().of(target).node < self.of_job {
            return (links & (PARTS - 1), me.rank() as i32);
        }
        let random = RandomState::new().build_hasher().finish();
        ((random as u32) & (PARTS - 1), (DRAWN | (random >> 34) as u32) as i32)
    }
}

/// A partitioned send to a rank of another node process.
pub(crate) struct FarSend {
    engine: &'static Engine,
    me: &'static Endpoint,
    target: u32,
    context: u32,
    source: i32,
    parts: Parts,
    operations: Operations,
    /// How many parts are ready in this round.
    ready: AtomicU32,
    all_ready: Signal,
    opening: Operation,
    opened: UnsafeCell<Opening>,
}

// SAFETY: what the opening says is written before anybody else knows of it; the rest is shared by its own rules.
unsafe impl Sync for FarSend {}
// SAFETY: nothing in it is bound to the thread that has made it.
unsafe impl Send for FarSend {}

fn nowhere() -> Buffer {
    // SAFETY: no bytes at no address.
    unsafe { Buffer::dense(core::ptr::null_mut(), 0) }
}

impl FarSend {
    pub fn new(engine: &Engine, me: &Endpoint, target: u32, envelope: Envelope, parts: Parts) -> Arc<Self> {
        let engine = engine_of(engine.remote());
        let me = engine.endpoint(me.rank());
        let (link, source) = engine.remote().map_or((0, 0), |remote| remote.link(me, target));
        let opened = Opening { bytes: parts.bytes, partitions: parts.partitions, link, source, unused: 0 };
        let far = Arc::new(Self {
            engine,
            me,
            target,
            context: PARTS | link,
            source,
            operations: Operations::new(parts.partitions),
            parts,
            ready: AtomicU32::new(0),
            all_ready: Signal::new(true),
            opening: Operation::new(nowhere()),
            opened: UnsafeCell::new(opened),
        });
        far.operations.each.iter().for_each(|operation| operation.complete_unshared(Outcome::SENT));
        // SAFETY: the opening stays in the value, which lives until the operation is complete.
        unsafe { far.opening.reset(described(&far.opened, &far.parts)) };
        far.send(opening(&envelope), &far.opening);
        far
    }

    fn send(&self, envelope: Envelope, operation: &Operation) {
        // SAFETY: the operation stays in place until it is complete, and so does its buffer.
        let sent =
            unsafe { self.engine.start_send(self.me, self.target, envelope, operation, Mode::Standard) };
        if sent {
            operation.complete_unshared(Outcome::SENT);
        }
    }

    pub fn start(&self) {
        self.all_ready.clear();
        self.operations.restart();
        self.ready.store(0, Ordering::Relaxed);
    }

    /// Sends a part. The caller knows that it was not ready before.
    pub fn ready(&self, partition: u32) {
        let Parts { count, datatype, .. } = &self.parts;
        let operation = &self.operations.each[partition as usize];
        // SAFETY: the part may be read from now on until the round is complete.
        operation.reset(unsafe { Buffer::new(self.parts.start(partition), *count, datatype) });
        self.send(Envelope::new(self.context, self.source, partition as i32), operation);
        if self.ready.fetch_add(1, Ordering::AcqRel) + 1 == self.parts.partitions {
            self.all_ready.set();
        }
    }

    pub fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        self.all_ready.watch(waiter) && self.operations.all_done(waiter)
    }

    pub fn leave(&self, waiter: &'static Thread) {
        self.all_ready.leave(waiter);
        self.operations.leave(waiter);
    }

    pub fn result(&self) -> Result {
        self.operations.result()
    }

    /// Lives on while messages are from its memory, though the request is freed.
    pub fn keep(self: &Arc<Self>) {
        if !self.opening.is_done() {
            core::mem::forget(self.clone());
        }
    }
}

/// What a receive knows once the opening is there.
struct Source {
    opening: Opening,
    /// For each of the sender's parts.
    operations: Operations,
    /// Where parts go first if the buffer has gaps, and which have not gone on from there.
    aside: Lock<Vec<Option<Box<[u8]>>>>,
}

/// A partitioned receive from a rank of another node process.
pub(crate) struct FarReceive {
    engine: &'static Engine,
    me: &'static Endpoint,
    envelope: Envelope,
    parts: Parts,
    opening: Operation,
    opened: UnsafeCell<Opening>,
    source: OnceLock<Source>,
    /// Whether the receives of this round are posted.
    round: AtomicU8,
    posted: Signal,
}

const IDLE: u8 = 0;
const STARTED: u8 = 1;
const POSTED: u8 = 2;

// SAFETY: the opening's memory is written by the one who completes its operation, and read afterwards.
unsafe impl Sync for FarReceive {}
// SAFETY: the opening's memory belongs to no thread.
unsafe impl Send for FarReceive {}

impl FarReceive {
    pub fn new(engine: &Engine, me: &Endpoint, envelope: Envelope, parts: Parts) -> Arc<Self> {
        let engine = engine_of(engine.remote());
        let far = Arc::new(Self {
            engine,
            me: engine.endpoint(me.rank()),
            envelope,
            parts,
            opening: Operation::new(nowhere()),
            opened: UnsafeCell::default(),
            source: OnceLock::new(),
            round: AtomicU8::new(IDLE),
            posted: Signal::new(false),
        });
        // SAFETY: the opening stays in the value, which lives until the operation is complete.
        unsafe {
            far.opening.reset(described(&far.opened, &far.parts));
            engine.start_receive(far.me, opening(&envelope), &far.opening);
        }
        far
    }

    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    pub fn start(&self) {
        self.posted.clear();
        self.round.store(STARTED, Ordering::Release);
        self.post();
    }

    /// Posts the receives of the round once, when the opening is there.
    fn post(&self) {
        if !self.opening.is_done() || self.opening.outcome().is_failed() {
            return;
        }
        if self.round.compare_exchange(STARTED, POSTED, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        let source = self.source.get_or_init(|| {
            // SAFETY: complete, so nobody writes it any more.
            let opening = unsafe { *self.opened.get() };
            Source { opening, operations: Operations::new(opening.partitions), aside: Lock::default() }
        });
        let Opening { bytes, partitions, link, source: sender, .. } = source.opening;
        let room = |part: u32| {
            let offset = (u64::from(part) * bytes).min(self.parts.total());
            (offset, bytes.min(self.parts.total() - offset))
        };
        let is_dense = self.parts.datatype.is_dense();
        let mut aside = source.aside.lock();
        aside.clear();
        for part in 0..partitions {
            let (offset, length) = room(part);
            let address = if is_dense {
                self.parts.address.wrapping_add(offset as usize)
            } else {
                aside.push(Some(vec![0; length as usize].into()));
                aside
                    .last_mut()
                    .and_then(Option::as_mut)
                    .map_or(core::ptr::null_mut(), |space| space.as_mut_ptr())
            };
            // SAFETY: the memory is the round's until it is complete.
            source.operations.each[part as usize].reset(unsafe { Buffer::dense(address, length) });
        }
        drop(aside);
        source.operations.restart();
        for (part, operation) in (0..).zip(&source.operations.each) {
            let pattern = Envelope::new(PARTS | link, sender, part);
            // SAFETY: the operation stays in place until it is complete.
            unsafe { self.engine.start_receive(self.me, pattern, operation) };
        }
        self.posted.set();
    }

    /// Moves a part that is there from aside into the buffer.
    fn settle(&self, source: &Source, part: usize) {
        let mut aside = source.aside.lock();
        if let Some(space) = aside.get_mut(part).and_then(Option::take) {
            let offset = part as u64 * source.opening.bytes;
            // SAFETY: the round is in progress, so the buffer is its own; there is room for the part.
            unsafe {
                let Parts { address, datatype, .. } = &self.parts;
                let (elements, length) = (self.parts.elements(), space.len() as u64);
                weft_datatype::unpack(*address, elements, datatype, offset, space.as_ptr(), length);
            }
        }
    }

    pub fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        loop {
            self.post();
            if self.posted.watch(waiter) {
                break;
            }
            if self.opening.is_done() {
                // Another thread is posting, and will wake this one; or the opening will never come.
                return self.opening.outcome().is_failed();
            }
            match waiter {
                Some(waiter) if !self.opening.register(waiter) => {}
                _ => return false,
            }
        }
        let source = self.source.get().expect("posted");
        let done = source.operations.all_done(waiter);
        if done {
            (0..source.operations.each.len()).for_each(|part| self.settle(source, part));
        }
        done
    }

    pub fn leave(&self, waiter: &'static Thread) {
        self.posted.leave(waiter);
        self.opening.deregister(waiter);
        if let Some(source) = self.source.get() {
            source.operations.leave(waiter);
        }
    }

    /// Tells whether a part of the receiver's is there.
    pub fn has_arrived(&self, partition: u32) -> bool {
        self.post();
        let Some(source) = self.source.get().filter(|_| self.posted.is_set()) else { return false };
        let (theirs, mine) = (u64::from(source.opening.partitions), u64::from(self.parts.partitions));
        let partition = u64::from(partition);
        let mut parts = partition * theirs / mine..((partition + 1) * theirs).div_ceil(mine);
        parts.all(|part| {
            let done = source.operations.each[part as usize].is_done();
            if done {
                self.settle(source, part as usize);
            }
            done
        })
    }

    /// Returns the length of the send's data and of the buffer, and what became of the messages.
    pub fn sizes(&self) -> (u64, u64, Result) {
        let space = self.parts.total();
        match self.source.get() {
            None => (space, space, self.opening.outcome().sent()),
            Some(source) => {
                let sent = source.opening.bytes * u64::from(source.opening.partitions);
                (sent, space, source.operations.result())
            }
        }
    }

    /// Lives on while a message may still come to its memory, though the request is freed.
    pub fn keep(self: &Arc<Self>) {
        if !self.opening.is_done() && !self.engine.cancel_receive(self.me, &self.opening) {
            core::mem::forget(self.clone());
        }
    }
}
