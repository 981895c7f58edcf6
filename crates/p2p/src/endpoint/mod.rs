//! The receiving side of one rank: its queues, its rings, its requests, and who sleeps.
//!
//! - `expected`: a blocking receive that finds its message itself. `pool`: memory for unexpected messages.
//! - `solo`: what the only rank of a process does without atomic operations.
#![allow(unsafe_code)]

pub(crate) mod expected;
pub(crate) mod pool;
pub(crate) mod solo;

use crate::endpoint::expected::Expectation;
use crate::endpoint::pool::{Block, Pool};
use crate::engine::{envelope_of, finish};
use crate::matching::{Envelope, Holds, Position, Queue};
use crate::operation::{Buffer, Operation};
use crate::remote::Far;
use crate::reports::checking::Described;
use crate::reports::told;
use crate::requests::Requests;
use crate::transfer::offer::Offer;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use weft_local::{Header, LONGEST, MEMORY, Message as Brought, PAYLOAD, Ring};
use weft_sched::{Life, Thread};
use weft_sync::{CachePadded, Lock, LockGuard, Section};
use weft_transport::Node;

/// The address of an operation in matching. Valid until the operation is complete; who takes it out of matching
/// owns it (see the page of `operation`).
#[derive(Clone, Copy)]
pub struct Reference(*const Operation);

// SAFETY: an operation may be touched by any thread that owns it; see `operation`.
unsafe impl Send for Reference {}

impl From<&Operation> for Reference {
    fn from(operation: &Operation) -> Self {
        Self(operation)
    }
}

impl Reference {
    /// Returns the operation.
    #[inline]
    pub(crate) fn get<'a>(self) -> &'a Operation {
        // SAFETY: references are taken out of matching by one party, which is the one that completes the operation,
        // and its owner keeps it in place until then.
        unsafe { &*self.0 }
    }
}

/// The data of an unexpected message; what has come from another node process names that.
pub(crate) enum Payload {
    /// A few bytes, beside the envelope.
    Inline(Option<Node>, [u8; PAYLOAD]),
    /// A copy in memory of the library.
    Pooled(Option<Node>, Block),
    /// Still with the sender, whose operation this is.
    Sender(Reference),
    /// Still with the sender, on another node process.
    Far(Far),
    /// One of those, and what checking mode knows of its send.
    Described(Box<Described>),
}

/// What the envelope of an unexpected message counts in memory.
pub(crate) const ENVELOPE: u64 = 128;

impl Payload {
    /// Returns how many bytes of the library's memory the message takes, with its envelope.
    pub(crate) fn cost(&self) -> u64 {
        match self {
            Self::Inline(None, _) => ENVELOPE,
            Self::Pooled(None, block) => block.cost(),
            Self::Described(described) => described.payload.cost(),
            // What comes from elsewhere is bounded by its sender's credit.
            Self::Sender(_) | Self::Far(..) | Self::Inline(Some(_), _) | Self::Pooled(Some(_), _) => 0,
        }
    }

    /// Returns the payload itself if checking mode has put it into another one.
    pub(crate) fn plain(&self) -> &Self {
        match self {
            Self::Described(described) => &described.payload,
            plain => plain,
        }
    }
}

/// An unexpected message.
pub(crate) struct Message {
    /// The length of the data.
    pub bytes: u64,
    pub payload: Payload,
}

/// What the lock of an endpoint guards.
pub(crate) struct State {
    pub posted: Queue<Reference>,
    pub unexpected: Queue<Message>,
    pub unexpected_bytes: u64,
    pub pool: Pool,
    /// Threads that wait in a probe, and for what.
    pub probers: Vec<(Envelope, &'static Thread)>,
}

/// The most rings that may lead to one rank, whatever the settings say.
const RINGS: usize = 16;

/// How many pairs a sender remembers; a power of two.
const PAIRS: usize = 64;

/// How many short messages to a rank that ran on another core make it worth a ring.
const TALKATIVE: u32 = 8;

/// A rank that leads to this one by a ring.
#[derive(Default)]
struct Incoming {
    source: AtomicU32,
    ring: AtomicPtr<Ring>,
}

/// What a sender remembers of a target. Only the rank's own thread writes it, and a place with a ring is never given
/// to another target.
#[derive(Default)]
struct Pair {
    /// The target's rank plus one; zero for none.
    target: AtomicU32,
    /// Short messages that found it running on another core.
    count: AtomicU32,
    ring: AtomicPtr<Ring>,
}

/// One rank, as its peers and its own threads see it.
pub struct Endpoint {
    /// Read at every send to this rank, written rarely.
    shared: CachePadded<Shared>,
    /// Written at every arrival by the lock; polled by the receiver.
    arrived: CachePadded<Arrived>,
    /// Of the rank's own thread.
    pairs: OnceLock<Box<[Pair; PAIRS]>>,
    /// What the rank's own thread expects. Others only look at it.
    expected: CachePadded<Expectation>,
    state: CachePadded<Lock<State>>,
    requests: Requests,
    /// Buffers for buffered sends.
    pub(crate) buffers: crate::buffered::Buffers,
    /// Partitioned operations to this rank that have only one side yet.
    pub(crate) partitioned: crate::partitioned::Unmatched,
}

struct Shared {
    rank: u32,
    owner: AtomicPtr<Thread>,
    owner_asleep: AtomicBool,
    others_asleep: AtomicU32,
    ring_count: AtomicUsize,
    incoming: OnceLock<Box<[Incoming; RINGS]>>,
}

struct Arrived {
    /// Counts unexpected messages that arrived by the lock.
    arrivals: AtomicU32,
    /// Whether there are unexpected messages.
    unexpected: AtomicBool,
    /// Whether there are posted receives.
    posted: AtomicBool,
}

impl Endpoint {
    pub(crate) fn new(rank: u32) -> Self {
        Self {
            shared: CachePadded(Shared {
                rank,
                owner: AtomicPtr::default(),
                owner_asleep: AtomicBool::new(false),
                others_asleep: AtomicU32::new(0),
                ring_count: AtomicUsize::new(0),
                incoming: OnceLock::new(),
            }),
            arrived: CachePadded(Arrived {
                arrivals: AtomicU32::new(0),
                unexpected: AtomicBool::new(false),
                posted: AtomicBool::new(false),
            }),
            pairs: OnceLock::new(),
            expected: CachePadded(Expectation::default()),
            state: CachePadded(Lock::new(State {
                posted: Queue::new(Holds::Patterns),
                unexpected: Queue::new(Holds::Messages),
                unexpected_bytes: 0,
                pool: Pool::default(),
                probers: Vec::new(),
            })),
            requests: Requests::new(rank),
            buffers: crate::buffered::Buffers::default(),
            partitioned: crate::partitioned::Unmatched::default(),
        }
    }

    /// Returns the rank in the job.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.shared.rank
    }

    /// Returns the rank's requests.
    #[inline]
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    pub(crate) fn set_owner(&self, thread: &'static Thread) {
        self.shared.owner.store(core::ptr::from_ref(thread).cast_mut(), Ordering::Release);
    }

    /// Tells whether the calling thread is the rank's own.
    #[inline]
    pub(crate) fn is_owner(&self, thread: &'static Thread) -> bool {
        core::ptr::eq(self.shared.owner.load(Ordering::Relaxed), thread)
    }

    /// Returns the place where the rank's own thread says what it expects.
    #[inline]
    pub(crate) fn expectation(&self) -> &Expectation {
        &self.expected
    }

    #[inline]
    pub(crate) fn lock(&self) -> LockGuard<'_, State> {
        self.lock_in(&Section::outside())
    }

    /// As [`Endpoint::lock`], without an atomic operation inside a section.
    #[inline]
    pub(crate) fn lock_in(&self, section: &Section<'_>) -> LockGuard<'_, State> {
        // SAFETY: nobody locks it in another way.
        unsafe { solo::lock(&self.state, section) }
    }

    // ---- sleep ----

    /// Tells whether a thread of the rank is parked, or about to park, for a message.
    #[inline]
    pub(crate) fn is_asleep(&self) -> bool {
        self.shared.owner_asleep.load(Ordering::Relaxed)
            || self.shared.others_asleep.load(Ordering::Relaxed) != 0
    }

    /// Parks the calling thread, unless a ring holds something; see "Parking" on the page of `engine`.
    pub(crate) fn park(&self, me: &'static Thread) {
        if self.is_owner(me) {
            // A swap rather than a store and a fence: the same order, one instruction.
            self.shared.owner_asleep.swap(true, Ordering::SeqCst);
        } else {
            self.shared.others_asleep.fetch_add(1, Ordering::SeqCst);
        }
        // Pairs with the fence of `Engine::push`.
        weft_sync::facade::fence_after_rmw();
        if !self.rings_ready() {
            weft_sched::park();
        }
        if self.is_owner(me) {
            self.shared.owner_asleep.store(false, Ordering::Relaxed);
        } else {
            self.shared.others_asleep.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Suspends the rank's own thread, which has posted `operation` under the lock it hands over, until that is
    /// complete. Returns at once if a ring held its message.
    #[inline]
    pub(crate) fn suspend(&self, state: LockGuard<'_, State>, operation: &Operation) {
        // Under the lock: who makes a ring to this rank takes the lock first, and so sees it, whatever follows.
        self.shared.owner_asleep.store(true, Ordering::Relaxed);
        drop(state);
        if self.has_rings() {
            // Pairs with the fence of `Engine::push`.
            std::sync::atomic::fence(Ordering::SeqCst);
            if self.rings_ready() {
                self.drain_and_deliver();
            }
        }
        // Complete by this thread's own drain, or else somebody owes the thread its resumption, even if the operation
        // looks complete by now.
        if !operation.is_settled() {
            weft_sched::suspend();
        }
        self.shared.owner_asleep.store(false, Ordering::Relaxed);
        debug_assert!(operation.is_done());
    }

    // ---- rings ----

    /// Tells whether any ring leads here.
    #[inline]
    pub(crate) fn has_rings(&self) -> bool {
        self.shared.ring_count.load(Ordering::Acquire) != 0
    }

    #[inline]
    fn incoming(&self) -> &[Incoming] {
        let count = self.shared.ring_count.load(Ordering::Acquire);
        match self.shared.incoming.get() {
            Some(all) => &all[..count.min(RINGS)],
            None => &[],
        }
    }

    #[inline]
    fn rings(&self) -> impl Iterator<Item = &Ring> {
        // SAFETY: entries below the count point to rings that live as long as the endpoint.
        self.incoming().iter().map(|i| unsafe { &*i.ring.load(Ordering::Relaxed) })
    }

    /// Returns the ring that leads from rank `source` to this one.
    #[inline]
    pub(crate) fn ring_from(&self, source: u32) -> Option<&Ring> {
        if !self.has_rings() {
            return None;
        }
        let found = self.incoming().iter().find(|i| i.source.load(Ordering::Relaxed) == source)?;
        // SAFETY: as in `rings`.
        Some(unsafe { &*found.ring.load(Ordering::Relaxed) })
    }

    /// Tells whether a ring holds a message.
    #[inline]
    pub(crate) fn rings_ready(&self) -> bool {
        self.has_rings() && self.rings().any(Ring::is_ready)
    }

    /// Hands everything in a ring to matching.
    pub(crate) fn drain_ring(&self, state: &mut LockGuard<'_, State>, ring: &Ring) {
        // SAFETY: the caller holds the lock, so the consumer's role is its own.
        unsafe {
            while let Some(message) = ring.peek() {
                self.add_from_ring(state, ring, &message);
                ring.pop(&message);
            }
        }
    }

    /// Takes the first message that matches `pattern` out of a ring, straight into `buffer`, and returns its envelope
    /// and length. What comes before it in the ring goes to matching, and receives that are posted already go first.
    /// No unexpected message matches.
    ///
    /// # Safety
    /// The buffer is as promised for receives.
    #[inline]
    pub(crate) unsafe fn take_from_ring(
        &self,
        state: &mut LockGuard<'_, State>,
        ring: &Ring,
        pattern: &Envelope,
        buffer: &Buffer,
    ) -> Option<(Envelope, u64)> {
        // SAFETY: the caller holds the lock, so the consumer's role is its own; the buffer is as promised.
        unsafe {
            loop {
                let message = ring.peek()?;
                let envelope = envelope_of(&message.header);
                if pattern.covers(&envelope) && (state.posted.is_empty() || !state.posted.matches(&envelope))
                {
                    if message.header.is_offer() {
                        let offer = Offer::read(message.payload);
                        ring.pop(&message);
                        told::met(self.rank(), &envelope, offer.bytes);
                        offer.settle(buffer, self.helped_by(ring));
                        return Some((envelope, offer.bytes));
                    }
                    unpack(ring, &message, buffer);
                    ring.pop(&message);
                    told::met(self.rank(), &envelope, message.header.length() as u64);
                    return Some((envelope, message.header.length() as u64));
                }
                self.add_from_ring(state, ring, &message);
                ring.pop(&message);
            }
        }
    }

    /// Takes the first message that matches `pattern` out of the rings; see [`Endpoint::take_from_ring`].
    ///
    /// # Safety
    /// The buffer is as promised for receives.
    pub(crate) unsafe fn take_from_rings(
        &self,
        state: &mut LockGuard<'_, State>,
        pattern: &Envelope,
        buffer: &Buffer,
    ) -> Option<(Envelope, u64)> {
        // SAFETY: the caller's promise.
        self.rings().find_map(|ring| unsafe { self.take_from_ring(state, ring, pattern, buffer) })
    }

    /// Hands everything in all rings to matching.
    #[inline]
    pub(crate) fn drain_rings(&self, state: &mut LockGuard<'_, State>) {
        if self.has_rings() {
            for ring in self.rings() {
                self.drain_ring(state, ring);
            }
        }
    }

    /// Matches a message from a ring: completes a posted receive or keeps it.
    ///
    /// # Safety
    /// The caller has the consumer's role, and has just seen the message.
    unsafe fn add_from_ring(&self, state: &mut State, ring: &Ring, message: &Brought) {
        let envelope = envelope_of(&message.header);
        if message.header.is_offer() {
            // SAFETY: the payload of an offer.
            return unsafe { self.add_offer(state, ring, envelope, Offer::read(message.payload)) };
        }
        let bytes = message.header.length() as u64;
        if let Some((_, receive)) = state.posted.take(&envelope) {
            let receive = receive.get();
            self.note_posted(state);
            told::met(self.rank(), &envelope, bytes);
            // SAFETY: the receive is ours since it left the queue; its buffer is as its owner promised.
            unsafe { unpack(ring, message, &receive.buffer()) };
            finish(receive, &envelope, bytes);
            return;
        }
        // SAFETY: the payload is so long, and all of it is written.
        let payload =
            unsafe { state.pool.store(None, bytes, |out| ring.copy_payload(message, out, bytes as usize)) };
        let message = Message { bytes, payload };
        state.unexpected_bytes += message.payload.cost();
        self.add_unexpected(state, envelope, message);
        self.announce_arrival();
    }

    /// Returns where the splits of offers from a ring are kept, if their sender can help: not if it is the one who empties
    /// the ring.
    fn helped_by<'a>(&self, ring: &'a Ring) -> Option<&'a [AtomicU32; MEMORY]> {
        self.is_owner(weft_sched::current()).then(|| ring.memory())
    }

    /// Matches an offer from a ring: completes a posted receive, or keeps the sender's operation. What is offered is
    /// short enough to be copied under the lock.
    ///
    /// # Safety
    /// The caller took the offer from a ring.
    #[inline(never)]
    unsafe fn add_offer(&self, state: &mut State, ring: &Ring, envelope: Envelope, offer: Offer) {
        let bytes = offer.bytes;
        if let Some((_, receive)) = state.posted.take(&envelope) {
            let receive = receive.get();
            self.note_posted(state);
            told::met(self.rank(), &envelope, bytes);
            // SAFETY: nobody else can find a receive that has left the queue; its buffer is as its owner promised.
            unsafe { offer.settle(&receive.buffer(), self.helped_by(ring)) };
            finish(receive, &envelope, bytes);
            return;
        }
        let send = offer.operation();
        send.get().withdraw_offer();
        let position =
            self.add_unexpected(state, envelope, Message { bytes, payload: Payload::Sender(send) });
        send.get().set_position(Some(position));
        self.announce_arrival();
    }

    /// Returns the ring to `target`, if there is one.
    #[inline]
    pub(crate) fn ring_to(&self, target: u32) -> Option<&'static Ring> {
        let pair = &self.pairs.get()?[target as usize % PAIRS];
        if pair.target.load(Ordering::Acquire) != target + 1 {
            return None;
        }
        // SAFETY: null, or a ring that lives as long as the engine, which nobody outlives in the library.
        unsafe { pair.ring.load(Ordering::Acquire).as_ref() }
    }

    /// Puts a message into a ring from this rank, if the calling thread may and there is room.
    ///
    /// The rank's own thread is the only producer until it creates a thread; from then on all take turns. A thread that
    /// was not announced by its creator cannot know whether the rank's own thread does already.
    ///
    /// # Safety
    /// The payload is as [`Ring::push`] wants it.
    #[inline]
    pub(crate) unsafe fn push_into(&self, ring: &Ring, header: Header, payload: *const u8) -> bool {
        let thread = weft_sched::current();
        let is_owner = self.is_owner(thread);
        // SAFETY: as argued above; the payload is as promised.
        unsafe {
            if !weft_sched::any_announced() {
                is_owner && ring.push(header, payload)
            } else {
                (is_owner || thread.life() == Life::Alive) && ring.push_in_turn(header, payload)
            }
        }
    }

    /// Counts a message that went by the lock though a ring could have carried it; makes a ring when the pair turns out to talk a lot.
    #[inline]
    pub(crate) fn note_traffic(&self, target: &Endpoint, limit: usize) {
        let owner = target.shared.owner.load(Ordering::Acquire);
        // SAFETY: null or a `&'static Thread`.
        let Some(owner) = (unsafe { owner.as_ref() }) else { return };
        if !owner.is_running() || owner.shares_worker() {
            return;
        }
        self.note_running_peer(target, limit);
    }

    fn note_running_peer(&self, target: &Endpoint, limit: usize) {
        if !self.is_owner(weft_sched::current()) {
            return;
        }
        let pairs = self.pairs.get_or_init(|| Box::new([const { Pair::new() }; PAIRS]));
        let pair = &pairs[target.rank() as usize % PAIRS];
        if pair.target.load(Ordering::Relaxed) != target.rank() + 1 {
            if !pair.ring.load(Ordering::Relaxed).is_null() {
                // The place belongs to a pair with a ring; this one goes by the lock.
                return;
            }
            pair.target.store(target.rank() + 1, Ordering::Relaxed);
            pair.count.store(0, Ordering::Relaxed);
        }
        let count = pair.count.load(Ordering::Relaxed) + 1;
        pair.count.store(count, Ordering::Relaxed);
        if count == TALKATIVE {
            let ring = target.add_ring(self, limit.min(RINGS));
            pair.ring.store(ring, Ordering::Release);
        }
    }

    /// Makes the ring from `source` to this rank, or finds it. Returns null if there are enough rings.
    #[cold]
    fn add_ring(&self, source: &Self, limit: usize) -> *mut Ring {
        // Both locks, so that only one of the two ranks joins their rings; by rank, so that they never wait for each
        // other.
        let (low, high) = if self.rank() < source.rank() { (self, source) } else { (source, self) };
        let _low = low.lock();
        let _high = if self.rank() == source.rank() { None } else { Some(high.lock()) };
        if let Some(found) = self.ring_from(source.rank()) {
            return core::ptr::from_ref(found).cast_mut();
        }
        let count = self.shared.ring_count.load(Ordering::Relaxed);
        if count >= limit {
            return core::ptr::null_mut();
        }
        let ring = Box::<Ring>::default();
        if let Some(back) = source.ring_from(self.rank()) {
            Ring::join(&ring, back);
        }
        let ring = Box::into_raw(ring);
        let incoming = self.shared.incoming.get_or_init(|| Box::new([const { Incoming::new() }; RINGS]));
        incoming[count].source.store(source.rank(), Ordering::Relaxed);
        incoming[count].ring.store(ring, Ordering::Relaxed);
        self.shared.ring_count.store(count + 1, Ordering::Release);
        ring
    }

    // ---- posted receives ----

    /// Takes the oldest posted receive that matches a message out of matching; if there is none, gives the lock, under
    /// which the message can be queued.
    #[inline(always)]
    pub(crate) fn take_posted(
        &self,
        envelope: &Envelope,
        section: &Section<'_>,
    ) -> Result<Reference, LockGuard<'_, State>> {
        let mut state = self.lock_in(section);
        let Some((_, receive)) = state.posted.take(envelope) else { return Err(state) };
        self.note_posted(&state);
        Ok(receive)
    }

    // ---- unexpected messages ----

    /// Queues a message nobody posted a receive for, and wakes who probes for it. The caller announces the arrival.
    pub(crate) fn add_unexpected(&self, state: &mut State, envelope: Envelope, message: Message) -> Position {
        let bytes = message.bytes;
        let position = state.unexpected.push(envelope, message);
        told::queued(self.rank(), &envelope, bytes, state.unexpected.len());
        // Only lock holders write it.
        self.arrived.unexpected.store(true, Ordering::Relaxed);
        if !state.probers.is_empty() {
            state.probers.iter().filter(|(p, _)| p.covers(&envelope)).for_each(|(_, t)| t.unpark());
        }
        position
    }

    /// Returns how many receives are posted, how many unexpected messages are queued, and how many bytes of memory they take.
    pub fn queues(&self) -> (usize, usize, u64) {
        let state = self.lock();
        (state.posted.len(), state.unexpected.len(), state.unexpected_bytes)
    }

    /// Updates the hint after a message left the queue.
    #[inline]
    pub(crate) fn note_unexpected(&self, state: &State) {
        if state.unexpected.is_empty() {
            self.arrived.unexpected.store(false, Ordering::Relaxed);
        }
    }

    /// Tells a receiver that spins that a message was queued. Best after the lock is free: the receiver goes for it
    /// at once. Nothing but spinning depends on it, who parks looks under the lock before.
    #[inline]
    pub(crate) fn announce_arrival(&self) {
        self.arrived.arrivals.fetch_add(1, Ordering::Release);
    }

    /// Counts unexpected messages that ever arrived; a receiver that waits looks again when it changes.
    #[inline]
    pub(crate) fn arrivals(&self) -> u32 {
        self.arrived.arrivals.load(Ordering::Acquire)
    }

    /// Updates what senders are told about posted receives, after a change. Lock holders call it.
    #[inline]
    pub(crate) fn note_posted(&self, state: &State) {
        let has = !state.posted.is_empty();
        if self.arrived.posted.load(Ordering::Relaxed) != has {
            self.arrived.posted.store(has, Ordering::Relaxed);
        }
    }

    /// Tells whether there may be posted receives.
    #[inline]
    pub(crate) fn posted_hint(&self) -> bool {
        self.arrived.posted.load(Ordering::Relaxed)
    }

    /// Tells whether there may be unexpected messages.
    #[inline]
    pub(crate) fn unexpected_hint(&self) -> bool {
        self.arrived.unexpected.load(Ordering::Relaxed)
    }
}

/// Copies a message of a ring into the buffer of a receive; what does not fit is dropped.
///
/// # Safety
/// The caller has the consumer's role, and has just seen the message; the buffer is as promised for receives.
#[inline(always)]
unsafe fn unpack(ring: &Ring, message: &Brought, buffer: &Buffer) {
    // SAFETY: the caller's promise; a payload of one slot lies where the message says.
    unsafe {
        match message.header.length() {
            0..=PAYLOAD => buffer.unpack_from(message.payload, message.header.length() as u64),
            _ => unpack_slots(ring, message, buffer),
        }
    }
}

/// As [`unpack`], of a message that takes several slots.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn unpack_slots(ring: &Ring, message: &Brought, buffer: &Buffer) {
    let bytes = message.header.length() as u64;
    // SAFETY: the caller's promise; there is room for what is copied.
    unsafe {
        if buffer.dense {
            ring.copy_payload(message, buffer.address, bytes.min(buffer.bytes) as usize);
        } else {
            let mut space = [0; LONGEST];
            ring.copy_payload(message, space.as_mut_ptr(), bytes as usize);
            buffer.unpack_from(space.as_ptr(), bytes);
        }
    }
}

impl Pair {
    const fn new() -> Self {
        Self {
            target: AtomicU32::new(0),
            count: AtomicU32::new(0),
            ring: AtomicPtr::new(core::ptr::null_mut()),
        }
    }
}

impl Incoming {
    const fn new() -> Self {
        Self { source: AtomicU32::new(u32::MAX), ring: AtomicPtr::new(core::ptr::null_mut()) }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        for incoming in self.incoming() {
            // SAFETY: made by `add_ring`, freed only here.
            drop(unsafe { Box::from_raw(incoming.ring.load(Ordering::Relaxed)) });
        }
    }
}
