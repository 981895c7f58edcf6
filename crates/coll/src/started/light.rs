//! Nonblocking operations with little data: a rank leaves what it contributes, and takes what it receives when it asks.
//!
//! Where a [`Meeting`](crate::started::meeting::Meeting) lets anybody move anybody's data, here each rank copies its own, in and
//! out, through memory of the operation; so a start needs no lock but that of the board, and an end none at all. Nobody
//! delays anybody: what a rank contributes is there from its start on, even if it computes until the end of the program.
//!
//! Who may touch what
//!
//! - a rank's part: the rank before it arrives; then, unchanging, everybody to whom the operation is ready.
//! - the result (of a reduction or allgather): the last rank to arrive, until it stores `phase`; then, unchanging,
//!   everybody.
//! - everything again: whoever takes the operation out of the pool, where the last rank to leave puts it. A rank leaves
//!   once, and touches nothing afterwards.
//!
//! When an operation is ready: to those who need everybody's part, when `phase` says that all have arrived; to those who
//! receive a broadcast, when its root has arrived; to others at once.
//!
//! Nobody sleeps through it: whoever makes it ready looks for sleepers afterwards, in the wait set and among the threads
//! registered, and who goes to sleep looks again after it has registered. Both have a full barrier between.
#![allow(unsafe_code)] // Parts and result: memory that one rank writes and others read, by the rules above.

use crate::operation::buffer::{Data, Operator, Scratch};
use crate::operation::call::{Call, Description};
use crate::operation::mismatch::mismatch_of_started;
use crate::operation::{Buffers, Operation, OwnedBuffers, Root};
use crate::team::grouping::Shards;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::{Error, Result};
use weft_datatype::Datatype;
use weft_sched::{Thread, WaitSet};
use weft_sync::{CachePadded, Lock};

/// The most bytes that a rank contributes or receives; copies in and out are cheap up to there.
const MOST: u64 = 2 << 10;
/// How many ranks' parts a communicator keeps for reuse: where some need not wait, many operations are under way at once.
const KEPT: usize = 1 << 11;

const COUNT_BITS: u32 = 24;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

const OPEN: u32 = 0;
const COMPLETE: u32 = 1;
const MISMATCHED: u32 = 2;

/// Memory for some bytes, aligned for every type; a few are in it, more are beside it.
#[derive(Default)]
struct Room {
    few: [u128; 2],
    many: Vec<u128>,
    bytes: u64,
}

impl Room {
    /// Makes room for `bytes` bytes and returns where.
    fn of(&mut self, bytes: u64) -> *mut u8 {
        self.bytes = bytes;
        let units = bytes.div_ceil(16) as usize;
        if units <= self.few.len() {
            return self.few.as_mut_ptr().cast();
        }
        if self.many.len() < units {
            self.many.resize(units, 0);
        }
        self.many.as_mut_ptr().cast()
    }

    /// Returns where the bytes are, for reading.
    fn place(&self) -> *const u8 {
        let few = self.bytes as usize <= size_of_val(&self.few);
        if few { self.few.as_ptr().cast() } else { self.many.as_ptr().cast() }
    }
}

/// What a rank contributes.
#[derive(Default)]
struct Part {
    /// The call, as a `Description`.
    call: AtomicU64,
    room: UnsafeCell<Room>,
}

/// Operations that wait for their next use.
#[derive(Default)]
pub(crate) struct Pool(Lock<Vec<Arc<Light>>>);

/// An operation that all ranks of a communicator start and complete, each at its own time.
pub(crate) struct Light {
    /// Low 24 bits: how many have arrived; above: the sum of their signatures.
    arrivals: CachePadded<AtomicU64>,
    phase: CachePadded<AtomicU32>,
    /// The root that has arrived with its data, plus one.
    root: AtomicU32,
    /// How many have not left.
    staying: CachePadded<AtomicU32>,
    parts: Box<[CachePadded<Part>]>,
    result: UnsafeCell<Room>,
    waiting: WaitSet,
    /// Threads to unpark, by rank; and whether there are any.
    registered: Lock<Vec<(u32, &'static Thread)>>,
    has_registered: AtomicBool,
    pool: Arc<Pool>,
}

// SAFETY: parts and result are accessed by the rules on the module's page.
unsafe impl Sync for Light {}
// SAFETY: plain memory and threads that live for ever.
unsafe impl Send for Light {}

impl Pool {
    /// Takes an operation among so many ranks, or makes one.
    pub fn take(self: &Arc<Self>, size: u32) -> Arc<Light> {
        self.0.lock().pop().unwrap_or_else(|| {
            Arc::new(Light {
                arrivals: CachePadded::default(),
                phase: CachePadded(AtomicU32::new(OPEN)),
                root: AtomicU32::new(0),
                staying: CachePadded(AtomicU32::new(size)),
                parts: (0..size).map(|_| CachePadded::default()).collect(),
                result: UnsafeCell::default(),
                waiting: WaitSet::default(),
                registered: Lock::default(),
                has_registered: AtomicBool::new(false),
                pool: self.clone(),
            })
        })
    }

    /// Puts back an operation that nobody has started.
    pub fn put(&self, light: Arc<Light>) {
        let mut kept = self.0.lock();
        if kept.len() * light.parts.len() < KEPT {
            kept.push(light);
        }
    }
}

/// Tells whether an operation is of a kind that can be done this way.
fn is_possible(operation: &Operation<'_>) -> bool {
    match operation.call {
        Call::Barrier | Call::Broadcast | Call::Allgather => true,
        Call::Alltoall => !operation.send.is_none(),
        Call::Reduce | Call::Allreduce => {
            let is_dense = value(operation).datatype().is_dense();
            is_dense && operation.operator.is_some_and(|operator| operator.op.is_predefined())
        }
        _ => false,
    }
}

/// Tells whether an operation is to be done this way if the caller is the first to start it.
pub(crate) fn is_light(operation: &Operation<'_>) -> bool {
    let bytes = |buffers: &Buffers<'_>| buffers.whole().map_or(0, |data| data.bytes());
    is_possible(operation) && bytes(&operation.send).max(bytes(&operation.receive)) <= MOST
}

/// Returns what a rank contributes to a reduction.
fn value<'a>(operation: &Operation<'a>) -> Data<'a> {
    let from = if operation.send.is_none() { &operation.receive } else { &operation.send };
    from.piece(0)
}

impl Light {
    fn size(&self) -> u32 {
        self.parts.len() as u32
    }

    fn part(&self, rank: u32) -> &Room {
        // SAFETY: by the rules nobody changes it when this is called.
        unsafe { &*self.parts[rank as usize].room.get() }
    }

    /// Arrives with what `rank` contributes. `call` is the rank's description. Returns its part, and whether it was the
    /// last to arrive.
    pub fn arrive(
        self: &Arc<Self>,
        shards: &Shards,
        rank: u32,
        operation: &Operation<'_>,
        call: Description,
        is_root: bool,
    ) -> (Stay, bool) {
        let part = &self.parts[rank as usize];
        part.call.store(call.0, Ordering::Relaxed);
        let contribution = match operation.call {
            _ if !is_possible(operation) => None,
            Call::Barrier => None,
            Call::Broadcast => is_root.then(|| operation.send.piece(0)),
            Call::Allgather if operation.send.is_none() => Some(operation.receive.piece(rank)),
            Call::Allgather => operation.send.whole(),
            Call::Alltoall => Some(operation.send.piece_of_all()),
            _ => Some(value(operation)),
        };
        if let Some(data) = contribution {
            // SAFETY: the rank's own part until it arrives, with room for all its bytes.
            unsafe { data.pack((*part.room.get()).of(data.bytes())) };
        }
        if is_root && operation.call == Call::Broadcast {
            self.root.store(rank + 1, Ordering::SeqCst);
            self.wake();
        }
        // One that cannot take part makes the sum of signatures wrong.
        let signature = call.signature() ^ u64::from(!is_possible(operation));
        let add = 1 | signature << COUNT_BITS;
        let now = self.arrivals.fetch_add(add, Ordering::AcqRel).wrapping_add(add);
        let is_last = now & COUNT == u64::from(self.size());
        if is_last {
            let all = signature.wrapping_mul(u64::from(self.size())) & (u64::MAX >> COUNT_BITS);
            let agree = now >> COUNT_BITS == all;
            if agree && let Some(operator) = operation.operator {
                self.combine(shards, operator, value(operation).datatype(), value(operation).count());
            }
            if agree && operation.call == Call::Allgather {
                self.collect();
            }
            self.phase.swap(if agree { COMPLETE } else { MISMATCHED }, Ordering::SeqCst);
            self.wake();
        }
        let needs = match operation.call {
            Call::Broadcast if is_root => Needs::Nothing,
            Call::Broadcast => Needs::Root,
            Call::Reduce if !is_root => Needs::Nothing,
            _ => Needs::All,
        };
        let receive = if needs != Needs::Nothing { (&operation.receive).into() } else { OwnedBuffers::None };
        let part = Stay {
            light: self.clone(),
            rank,
            call: operation.call,
            root: if let Root::Rank(root) = operation.root { root } else { rank },
            needs,
            receive,
            error: OnceLock::new(),
            over: AtomicBool::new(false),
            claimed: AtomicBool::new(false),
            registered: AtomicBool::new(false),
        };
        (part, is_last)
    }

    /// Combines all parts in the order of the blocking form.
    fn combine(&self, shards: &Shards, operator: Operator<'_>, datatype: &Datatype, count: u64) {
        // SAFETY: all parts are there and of this count and datatype, by the signatures; they stay as they are.
        let data = |rank: u32| unsafe { Data::new(self.part(rank).place().cast(), count, datatype) };
        let fold = |ranks: &mut dyn Iterator<Item = u32>, result: &Data<'_>| {
            if let Some(last) = ranks.next() {
                // The same count and datatype on both sides: this cannot be cut off.
                let _ = data(last).copy_to(result);
                ranks.for_each(|rank| operator.apply(&data(rank), result));
            }
        };
        // SAFETY: the last to arrive has the result to itself.
        let room = unsafe { (*self.result.get()).of(count * datatype.size()) };
        // SAFETY: there is room for that many elements of a dense datatype.
        let result = unsafe { Data::new(room.cast(), count, datatype) };
        if count == 0 {
            return;
        }
        if !shards.combine(operator.op.is_commutative()) {
            return fold(&mut (0..self.size()).rev(), &result);
        }
        let between = Scratch::new(count, datatype);
        for (index, shard) in shards.members.iter().rev().enumerate() {
            let ranks = &mut shard.iter().rev().copied();
            if index == 0 {
                fold(ranks, &result);
            } else {
                fold(ranks, &between.data(count));
                operator.apply(&between.data(count), &result);
            }
        }
    }

    /// Puts all parts one after the other, if they are equally long: then nobody need go to all of them.
    fn collect(&self) {
        let each = self.part(0).bytes;
        let is_even = (0..self.size()).all(|rank| self.part(rank).bytes == each);
        let bytes = if is_even { each * u64::from(self.size()) } else { 0 };
        // SAFETY: the last to arrive has the result to itself.
        let room = unsafe { (*self.result.get()).of(bytes) };
        for rank in 0..if is_even { self.size() } else { 0 } {
            let (part, offset) = (self.part(rank).place().cast(), u64::from(rank) * each);
            // SAFETY: the part has `each` bytes and the room as many for every rank.
            unsafe { weft_sys::copy::bytes(part, room.add(offset as usize), each as usize) };
        }
    }

    fn wake(&self) {
        self.waiting.wake_all();
        if self.has_registered.load(Ordering::SeqCst) {
            for (_, thread) in core::mem::take(&mut *self.registered.lock()) {
                thread.unpark();
            }
        }
    }

    /// Leaves; the last makes it ready for its next use.
    fn leave(self: &Arc<Self>) {
        if self.staying.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.arrivals.store(0, Ordering::Relaxed);
            self.phase.store(OPEN, Ordering::Relaxed);
            self.root.store(0, Ordering::Relaxed);
            self.staying.store(self.size(), Ordering::Relaxed);
            self.has_registered.store(false, Ordering::Relaxed);
            self.registered.lock().clear();
            self.pool.put(self.clone());
        }
    }

    /// Describes the difference of calls to a rank.
    #[cold]
    fn difference(&self, rank: u32) -> Error {
        let call = |r: u32| Description(self.parts[r as usize].call.load(Ordering::Relaxed));
        let mine = call(rank);
        let other = (0..self.size()).find(|&r| call(r) != mine).unwrap_or((rank + 1) % self.size());
        mismatch_of_started((rank, mine), (other, call(other)))
    }
}

/// What a rank waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Needs {
    Nothing,
    Root,
    All,
}

/// A rank's part in an operation.
pub(crate) struct Stay {
    light: Arc<Light>,
    rank: u32,
    call: Call,
    root: u32,
    needs: Needs,
    receive: OwnedBuffers,
    error: OnceLock<Error>,
    /// The rank has taken what it receives, and left.
    over: AtomicBool,
    /// Somebody is about to.
    claimed: AtomicBool,
    /// A thread is registered.
    registered: AtomicBool,
}

impl Stay {
    fn is_ready(&self) -> bool {
        let phase = || self.light.phase.load(Ordering::Acquire);
        match self.needs {
            Needs::Nothing => true,
            Needs::Root => self.light.root.load(Ordering::Acquire) == self.root + 1 || phase() != OPEN,
            Needs::All => phase() != OPEN,
        }
    }

    /// Takes what the rank receives and leaves, if it is ready. Returns whether the rank's part is over.
    pub fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        if self.over.load(Ordering::Acquire) {
            return true;
        }
        if !self.is_ready() {
            let Some(thread) = waiter else { return false };
            if !self.registered.swap(true, Ordering::Relaxed) {
                self.light.registered.lock().push((self.rank, thread));
                self.light.has_registered.store(true, Ordering::SeqCst);
            }
            core::sync::atomic::fence(Ordering::SeqCst);
            if !self.is_ready() {
                return false;
            }
        }
        if !self.claimed.swap(true, Ordering::Acquire) {
            self.finish();
        }
        self.over.load(Ordering::Acquire)
    }

    /// See [`crate::Pending::is_over`].
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire) || self.is_ready()
    }

    fn finish(&self) {
        if let Err(error) = self.take() {
            let _ = self.error.set(error);
        }
        self.forget();
        self.light.leave();
        self.over.store(true, Ordering::Release);
    }

    /// Takes back the registration of a thread.
    fn forget(&self) {
        if self.registered.swap(false, Ordering::Relaxed) {
            self.light.registered.lock().retain(|(rank, _)| *rank != self.rank);
        }
    }

    /// Forgets the waiter.
    pub fn leave(&self) {
        if !self.over.load(Ordering::Acquire) {
            self.forget();
        }
    }

    /// Waits until the rank's part is over.
    pub fn wait(&self) {
        if !self.advance(None) {
            self.light.waiting.wait(|| self.is_ready());
            self.advance(None);
        }
    }

    /// Returns how the rank's part ended.
    pub fn result(&self) -> Result {
        self.error.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Takes what the rank receives; it is ready.
    fn take(&self) -> Result {
        let light = &self.light;
        if self.needs == Needs::Nothing {
            return Ok(());
        }
        if light.phase.load(Ordering::Acquire) == MISMATCHED {
            return Err(light.difference(self.rank));
        }
        let whole = |room: &Room, data: Data<'_>| {
            // SAFETY: ready, so the room holds that many bytes and nobody changes them.
            unsafe { data.unpack(room.place(), room.bytes) }
        };
        let Some(receive) = self.receive.piece(0) else { return Ok(()) };
        match self.call {
            Call::Broadcast => whole(light.part(self.root), receive),
            // SAFETY: complete, so nobody changes the result.
            Call::Reduce | Call::Allreduce => whole(unsafe { &*light.result.get() }, receive),
            Call::Allgather => {
                // SAFETY: everybody has arrived, so the result is only read from here on.
                let result = unsafe { &*light.result.get() };
                if let Some(all) = self.receive.evenly(result.bytes) {
                    return whole(result, all);
                }
                (0..light.size()).try_for_each(|rank| {
                    let place = self.receive.piece(rank).expect("a piece for each");
                    whole(light.part(rank), place)
                })
            }
            Call::Alltoall => (0..light.size()).try_for_each(|rank| {
                let (room, place) = (light.part(rank), self.receive.piece(rank).expect("a piece for each"));
                let each = room.bytes / u64::from(light.size());
                // SAFETY: ready, so the room holds a piece for each rank, and nobody changes them.
                unsafe { place.unpack(room.place().add((each * u64::from(self.rank)) as usize), each) }
            }),
            _ => Ok(()),
        }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        if !self.claimed.swap(true, Ordering::Relaxed) {
            self.forget();
            self.light.leave();
        }
    }
}
