//! What the ranks of a communicator share, and the registry where they find it.
#![allow(unsafe_code)] // Slots and loans: memory that several ranks write and read, ordered by the rounds or an offer.

use crate::hier::Apart;
use crate::rounds::aside::Aside;
use crate::rounds::counters::{Counters, DEPTH, Words, ring};
use crate::rounds::lines::{FEW, Line, Lines};
use crate::rounds::offer::Offer;
use crate::started::light::{Light, Pool};
use crate::started::meeting::Meeting;
use crate::started::plan::{self, Choice};
use crate::started::schedule::Schedule;
use crate::team::selection::{Change, Selection};
use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use weft_sched::WaitSet;
use weft_sync::{CachePadded, Lock, Passing, Place};

/// What a rank tells the others about its part in the rounds under way.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct Post {
    /// The call, as a `Description`.
    pub call: [AtomicU64; DEPTH],
    /// The address of the rank's `Frame`, or null when its data is in its slot.
    pub frame: [AtomicPtr<()>; DEPTH],
}

/// What a rank of few tells the others about its part in a round: one line, with whatever small data fits.
#[derive(Default)]
#[repr(C)]
pub(crate) struct LinePost {
    /// The call, as a `Description`.
    pub call: AtomicU64,
    /// The address of the rank's `Frame`, or null.
    pub frame: AtomicPtr<()>,
    /// What all ranks' calls have in common.
    pub signature: AtomicU64,
    data: UnsafeCell<[u64; LINE_DATA / 8]>,
}

/// The bytes of data that fit in a line.
pub(crate) const LINE_DATA: usize = 32;

// SAFETY: the data is plain memory; accesses go through raw pointers under the rules of the lines.
unsafe impl Sync for LinePost {}

impl LinePost {
    /// Returns the place of small data, aligned to 16 bytes.
    #[inline]
    pub fn data(&self) -> *mut u8 {
        self.data.get().cast()
    }
}

// With the word before it, a post takes a cache line, and its data is aligned as slots are.
const _: () = assert!(size_of::<LinePost>() == 56 && core::mem::offset_of!(LinePost, data) == 24);

/// What the root of a large broadcast lends to its readers.
#[derive(Default)]
pub(crate) struct Lent {
    pub offer: Offer,
    /// The copy for late readers, if there is one.
    aside: AtomicPtr<Aside>,
}

impl Lent {
    /// Begins a loan. Only for the root, before it publishes.
    pub fn open(&self) {
        // A copy is left over if some rank was in another call.
        self.free();
        self.offer.open();
    }

    /// Puts a copy in place. Only for the root, before it says so.
    pub fn put(&self, aside: Option<Aside>) {
        let aside = aside.map_or(core::ptr::null_mut(), |aside| Box::into_raw(Box::new(aside)));
        self.aside.store(aside, Ordering::Release);
    }

    /// Returns the copy. Only for readers that were sent to it and have not ended their reading.
    pub fn aside(&self) -> Option<&Aside> {
        // SAFETY: the offer says when the copy is freed: when no reader is left.
        unsafe { self.aside.load(Ordering::Acquire).as_ref() }
    }

    /// Frees the copy. Only for whom the offer tells to, or who has the loan to itself.
    pub fn free(&self) {
        let aside = self.aside.swap(core::ptr::null_mut(), Ordering::AcqRel);
        if !aside.is_null() {
            // SAFETY: it came from a box, and the swap hands it out once.
            drop(unsafe { Box::from_raw(aside) });
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.free();
    }
}

/// A communicator's shared state. The parts that hold data are allocated when first used; untouched pages of them cost
/// nothing.
pub(crate) struct Shared {
    pub context: u32,
    pub size: u32,
    /// The shard of each rank.
    pub shard_of: Box<[u32]>,
    /// The ranks of each shard in rank order; shards are ordered by their first rank.
    pub members: Box<[Box<[u32]>]>,
    /// Whether each shard is a range of ranks, so that combining shard by shard keeps rank order.
    pub contiguous: bool,
    /// The order of combination where ranks are on several processes.
    pub groups: Groups,
    pub counters: Counters,
    /// Instead of the counters, if there are few ranks.
    pub lines: Option<Lines<LinePost>>,
    /// By ring index: the last round in which the root said that its data may be read (or that it has read).
    pub published: Place<CachePadded<[AtomicU64; DEPTH]>>,
    /// By ring index: what the root of a large broadcast lends.
    pub lent: [CachePadded<Lent>; DEPTH],
    pub waiting: WaitSet,
    /// Those who wait for the root's data, where ranks are many: a complete round is nothing to them.
    pub readers: WaitSet,
    /// Nonblocking and persistent operations that not all members have started, by the number of the call and of the
    /// start.
    pub board: Lock<Board>,
    /// Operations with little data, for reuse.
    pub lights: Arc<Pool>,
    /// The schedules used last.
    schedules: Lock<Vec<(Choice, Arc<Schedule>)>>,
    /// Which algorithms operations take before anybody changes it.
    pub selection: &'static Selection,
    /// How the ranks here write what those of other processes read.
    pub passing: Lock<Passing>,
    /// Changes of that which not all ranks have come to.
    pub changes: Lock<Vec<Change>>,
    /// What ranks show each other in checking mode.
    pub shown: crate::team::checking::Board,
    posts: OnceLock<Place<[Post]>>,
    slots: OnceLock<Slots>,
    /// What there is to do where ranks of several processes share the state, which then lies in memory that these share.
    pub apart: Option<Arc<Apart>>,
}

/// In which order ranks of several processes are combined: those of each group, then the groups, each from the last to the first.
/// So what a process can reduce by itself, where data goes in messages, is reduced first here, too (`hier::ordered`).
#[derive(Default)]
pub(crate) struct Groups {
    /// The ranks of each process; processes are ordered by their first rank.
    by_process: Vec<Vec<u32>>,
    /// Runs of consecutive ranks of one process.
    by_run: Vec<Vec<u32>>,
}

impl Groups {
    /// Groups ranks, of which `home` gives the process.
    pub fn new(size: u32, home: impl Fn(u32) -> u32) -> Self {
        let mut found: Vec<(u32, Vec<u32>)> = Vec::new();
        let mut by_run: Vec<Vec<u32>> = Vec::new();
        for rank in 0..size {
            match by_run.last_mut() {
                Some(run) if home(run[0]) == home(rank) => run.push(rank),
                _ => by_run.push(vec![rank]),
            }
            match found.iter_mut().find(|(process, _)| *process == home(rank)) {
                Some((_, ranks)) => ranks.push(rank),
                None => found.push((home(rank), vec![rank])),
            }
        }
        Self { by_process: found.into_iter().map(|(_, ranks)| ranks).collect(), by_run }
    }

    /// Returns the groups, unless all are combined in rank order.
    pub fn of(&self, is_commutative: bool) -> Option<&[Vec<u32>]> {
        let groups = if is_commutative { &self.by_process } else { &self.by_run };
        groups.iter().any(|group| group.len() > 1).then_some(&groups[..])
    }
}

/// The parts of a state that all ranks see, in memory that several processes share.
pub(crate) struct Common {
    pub words: &'static Words,
    pub sleepers: &'static CachePadded<AtomicU32>,
    pub lines: Option<&'static [CachePadded<Line<LinePost>>]>,
    pub published: &'static CachePadded<[AtomicU64; DEPTH]>,
    pub posts: &'static [Post],
    pub slots: Slots,
}

impl Shared {
    /// Creates the state for ranks with the given home workers.
    pub fn new(context: u32, homes: &[usize]) -> Self {
        let size = homes.len();
        let mut order: Vec<usize> = Vec::new();
        let mut shard_of: Vec<u32> = Vec::with_capacity(size);
        for home in homes {
            let shard = order.iter().position(|h| h == home).unwrap_or_else(|| {
                order.push(*home);
                order.len() - 1
            });
            shard_of.push(shard as u32);
        }
        // Few ranks per worker: one counter for all is less work than two levels.
        if order.len() * 4 > size {
            shard_of.fill(0);
            order.truncate(1);
        }
        let mut members = vec![Vec::new(); order.len()];
        for (rank, &shard) in shard_of.iter().enumerate() {
            members[shard as usize].push(rank as u32);
        }
        let populations: Vec<u32> = members.iter().map(|m| m.len() as u32).collect();
        Self {
            context,
            size: size as u32,
            contiguous: shard_of.is_sorted(),
            groups: Groups::default(),
            shard_of: shard_of.into(),
            members: members.into_iter().map(Vec::into_boxed_slice).collect(),
            counters: Counters::new(&populations),
            lines: (size as u32 <= FEW).then(|| Lines::new(size as u32, LinePost::default)),
            published: Place::from(Box::default()),
            lent: core::array::from_fn(|_| CachePadded::default()),
            waiting: WaitSet::default(),
            readers: WaitSet::default(),
            board: Lock::default(),
            lights: Arc::default(),
            schedules: Lock::default(),
            selection: Selection::of(size as u32),
            passing: Lock::default(),
            changes: Lock::default(),
            shown: crate::team::checking::Board::default(),
            posts: OnceLock::new(),
            slots: OnceLock::new(),
            apart: None,
        }
    }

    /// Creates the state of `size` ranks on several processes: each of these has its own, with the same `common` parts.
    pub fn common(size: u32, common: Common, groups: Groups, apart: Arc<Apart>) -> Self {
        Self {
            groups,
            counters: Counters::at(common.words, size),
            lines: common.lines.map(|lines| Lines::at(lines, common.sleepers)),
            published: Place::from(common.published),
            posts: OnceLock::from(Place::from(common.posts)),
            slots: OnceLock::from(common.slots),
            apart: Some(apart),
            selection: Selection::of_commons(),
            ..Self::new(u32::MAX, &vec![0; size as usize])
        }
    }

    /// Wakes all who wait, wherever they are. What they wait for has been made true.
    #[inline]
    pub fn wake_all(&self) {
        match &self.apart {
            None => self.waiting.wake_all(),
            Some(apart) => apart.wake_all(),
        }
    }

    /// Returns the schedule of a choice.
    pub fn schedule(&self, choice: &Choice) -> Arc<Schedule> {
        let mut known = self.schedules.lock();
        if let Some((_, schedule)) = known.iter().find(|(c, _)| c == choice) {
            return schedule.clone();
        }
        let schedule = plan::schedule(choice);
        if known.len() == SCHEDULES {
            known.remove(0);
        }
        known.push((*choice, schedule.clone()));
        schedule
    }

    /// Tells whether a rank has left something that others will look for: it has entered a round, or begun an operation, of
    /// which it may know nothing any more.
    fn is_used(&self) -> bool {
        let has_rounds = self.posts.get().is_some() || self.lines.as_ref().is_some_and(Lines::are_used);
        has_rounds || self.board.lock().len() > 0
    }

    /// Returns what a rank has posted.
    #[inline]
    pub fn post(&self, rank: u32) -> &Post {
        &self.posts.get_or_init(|| Place::from((0..self.size).map(|_| Post::default()).collect::<Box<[_]>>()))
            [rank as usize]
    }

    /// Returns the slots.
    #[inline]
    pub fn slots(&self) -> &Slots {
        self.slots.get_or_init(|| Slots::new(self.size as usize, self.members.len()))
    }
}

/// Operations that not all members have started. Mostly few; many where some members need not wait for the others.
#[derive(Default)]
pub(crate) struct Board(BTreeMap<(u64, u64), Started>);

/// An operation that not all members have started.
#[derive(Clone)]
pub(crate) enum Started {
    Meeting(Arc<Meeting>),
    Light(Arc<Light>),
}

impl Board {
    /// Returns the operation with a key.
    pub fn find(&self, key: (u64, u64)) -> Option<Started> {
        self.0.get(&key).cloned()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the operation with a key; adds `started` if there is none.
    pub fn find_or_add(&mut self, key: (u64, u64), started: Started) -> Started {
        self.0.entry(key).or_insert(started).clone()
    }

    /// Removes the operation with a key.
    pub fn remove(&mut self, key: (u64, u64)) {
        self.0.remove(&key);
    }
}

/// How many schedules a communicator remembers.
const SCHEDULES: usize = 8;

/// Memory for small data, once per ring index: a slot per rank, then one per shard, then one for the result.
///
/// How the ranks' area is divided is the operation's business (all ranks choose the same stride, or only the root
/// writes). The rules of the rounds say who may touch what when.
pub(crate) struct Slots {
    memory: NonNull<u8>,
    /// Of the allocation, if the memory is the slots' own.
    layout: Option<Layout>,
    /// Bytes per slot.
    slot: usize,
    /// Slots per ring index.
    count: usize,
    size: usize,
    crowded: bool,
}

// SAFETY: plain memory without interior references; accesses go through raw pointers under the rules of the rounds.
unsafe impl Send for Slots {}
// SAFETY: what it gives out is an address; who reads or writes there, and when, is what the rounds decide.
unsafe impl Sync for Slots {}

/// From how many bytes on data is put elsewhere each time, and at multiples of what.
const TURNING: usize = 1 << 10;
const PAGE: usize = 4 << 10;

/// The alignment of slots: that of the most aligned predefined type.
const ALIGN: usize = 16;

impl Slots {
    fn new(size: usize, shards: usize) -> Self {
        let slot = Self::capacity_for(size);
        let count = size + shards + 1;
        let layout = Layout::from_size_align(DEPTH * count * slot, 128).expect("within the address space");
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(layout) };
        Self { memory, layout: Some(layout), slot, count, size, crowded: size >= 4 * shards }
    }

    /// Makes slots of `slot` bytes, a multiple of 128, for each of `size` ranks in memory that lies elsewhere.
    ///
    /// # Safety
    /// There are [`Slots::bytes`] bytes, aligned to 128, which live for ever and are used by such slots only.
    pub unsafe fn at(memory: NonNull<u8>, size: usize, slot: usize) -> Self {
        Self { memory, layout: None, slot, count: size + 2, size, crowded: false }
    }

    /// Returns the size of the memory that [`Slots::at`] needs.
    pub fn bytes(size: usize, slot: usize) -> usize {
        DEPTH * (size + 2) * slot
    }

    /// Returns how many bytes each of `size` ranks can place.
    pub fn capacity_for(size: usize) -> usize {
        ((32 << 10) / size).clamp(256, 2048) & !127
    }

    /// Returns how many bytes a rank can place.
    pub fn capacity(&self) -> usize {
        self.slot
    }

    /// Returns how many bytes a single rank can place when no other does.
    pub fn total(&self) -> usize {
        self.slot * self.size
    }

    /// Returns the distance between ranks' slots of `bytes` (at most [`Slots::capacity`]): packed where ranks take
    /// turns on a worker, a cache line pair each where they run at once.
    pub fn stride(&self, bytes: usize) -> usize {
        let unit = if self.crowded { ALIGN } else { 128 };
        bytes.max(1).next_multiple_of(unit).min(self.slot)
    }

    /// Returns where a rank puts `bytes` bytes (at most [`Slots::capacity`]) in a round, where there is room to put them
    /// elsewhere each time; see [`Slots::spot_for_all`].
    pub fn spot(&self, round: u64, rank: u32, bytes: usize) -> Option<*mut u8> {
        let shift = Self::shift(round, bytes, self.slot)?;
        // SAFETY: within the rank's slot.
        self.is_roomy().then(|| unsafe { self.area(ring(round)).add(rank as usize * self.slot + shift) })
    }

    /// Returns where a root puts `bytes` bytes (at most [`Slots::total`]) for all.
    ///
    /// Elsewhere each time where there is room: a line that the reader's cache holds since the last time, or that has just
    /// been written and is still in the writer's, costs several times as much as one that neither has.
    pub fn spot_for_all(&self, round: u64, bytes: usize) -> *mut u8 {
        let shift = Self::shift(round, bytes, self.total()).filter(|_| self.is_roomy()).unwrap_or(0);
        // SAFETY: within the ranks' slots.
        unsafe { self.area(ring(round)).add(shift) }
    }

    /// Tells whether there is room to put data elsewhere each time: among few ranks that are apart.
    fn is_roomy(&self) -> bool {
        self.layout.is_none() && self.size <= FEW as usize
    }

    fn shift(round: u64, bytes: usize, room: usize) -> Option<usize> {
        let unit = bytes.next_multiple_of(PAGE);
        (bytes >= TURNING && unit <= room).then(|| (round / DEPTH as u64) as usize % (room / unit) * unit)
    }

    /// Returns the ranks' area of a ring index.
    pub fn area(&self, ring: usize) -> *mut u8 {
        assert!(ring < DEPTH);
        // SAFETY: in bounds of the allocation, by its size.
        unsafe { self.memory.as_ptr().add(ring * self.count * self.slot) }
    }

    /// Returns the slot of a shard.
    pub fn shard(&self, ring: usize, shard: usize) -> *mut u8 {
        assert!(self.size + shard < self.count - 1);
        // SAFETY: in bounds, as asserted.
        unsafe { self.area(ring).add((self.size + shard) * self.slot) }
    }

    /// Returns the slot of the result.
    pub fn result(&self, ring: usize) -> *mut u8 {
        // SAFETY: the last slot of the ring index.
        unsafe { self.area(ring).add((self.count - 1) * self.slot) }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        if let Some(layout) = self.layout {
            // SAFETY: allocated in `new` with this layout.
            unsafe { dealloc(self.memory.as_ptr(), layout) }
        }
    }
}

/// An entry stays until every rank has joined, and holds the state meanwhile: data of a root that has already left must
/// be there for those who come late.
struct Entry {
    shared: Arc<Shared>,
    joined: Vec<bool>,
    missing: u32,
}

static REGISTRY: Lock<Option<HashMap<u32, Entry>>> = Lock::new(None);

/// Finds the state of a context, or creates it as the first.
///
/// An entry that cannot be this communicator's (another size, or this rank has joined it before) is left over from one
/// that not all its ranks created: it is replaced.
pub(crate) fn join(context: u32, size: u32, rank: u32, home: impl Fn(u32) -> usize) -> Arc<Shared> {
    let mut guard = REGISTRY.lock();
    let entries = guard.get_or_insert_default();
    if entries.get(&context).is_some_and(|e| e.shared.size != size || e.joined[rank as usize]) {
        entries.remove(&context);
    }
    let entry = entries.entry(context).or_insert_with(|| {
        let homes: Vec<usize> = (0..size).map(home).collect();
        Entry {
            shared: Arc::new(Shared::new(context, &homes)),
            joined: vec![false; size as usize],
            missing: size,
        }
    });
    entry.joined[rank as usize] = true;
    entry.missing -= 1;
    let shared = entry.shared.clone();
    if entry.missing == 0 {
        entries.remove(&context);
    }
    shared
}

/// Gives up a communicator in which nothing has happened and to which nobody else belongs yet.
pub(crate) fn leave(shared: &Arc<Shared>) {
    let mut guard = REGISTRY.lock();
    let Some(entries) = guard.as_mut() else { return };
    // Two references: the entry's and the leaving rank's.
    let last =
        |e: &Entry| Arc::ptr_eq(&e.shared, shared) && Arc::strong_count(shared) == 2 && !shared.is_used();
    if entries.get(&shared.context).is_some_and(last) {
        entries.remove(&shared.context);
    }
}

const _: () = assert!(size_of::<Post>() == 64);

#[cfg(test)]
mod tests {
    use super::*;

    fn is_registered(context: u32) -> bool {
        REGISTRY.lock().as_ref().is_some_and(|entries| entries.contains_key(&context))
    }

    fn enter(shared: &Shared) {
        shared.lines.as_ref().expect("few ranks").say(0, 1);
    }

    #[test]
    fn ranks_are_grouped_by_process_and_in_runs_where_order_matters() {
        let alone = Groups::new(4, |rank| rank);
        assert!(alone.of(true).is_none() && alone.of(false).is_none());
        let pairs = Groups::new(5, |rank| rank / 2);
        assert_eq!(pairs.of(true), Some(&[vec![0, 1], vec![2, 3], vec![4]][..]));
        assert_eq!(pairs.of(false), pairs.of(true));
        let turns = Groups::new(4, |rank| rank % 2);
        assert_eq!(turns.of(true), Some(&[vec![0, 2], vec![1, 3]][..]));
        assert_eq!(turns.of(false), None);
        assert_eq!(
            Groups::new(4, |rank| [0, 1, 1, 0][rank as usize]).of(false),
            Some(&[vec![0], vec![1, 2], vec![3]][..])
        );
    }

    #[test]
    fn the_last_to_join_clears_the_entry() {
        let teams: Vec<_> = (0..3).map(|rank| join(1 << 20, 3, rank, |_| 0)).collect();
        assert!(!is_registered(1 << 20));
        assert!(teams.iter().all(|t| Arc::ptr_eq(t, &teams[0])));
    }

    #[test]
    fn an_entry_that_not_all_ranks_joined_does_not_stay_or_mislead() {
        let context = (1 << 20) + 1;
        let first = join(context, 3, 0, |_| 0);
        leave(&first);
        assert!(!is_registered(context));
        // Left behind with data in it; the number is used again.
        let first = join(context, 3, 0, |_| 0);
        enter(&first);
        leave(&first);
        assert!(is_registered(context));
        let again = join(context, 3, 0, |_| 0);
        assert!(!Arc::ptr_eq(&first, &again));
        let other_size = join(context, 2, 1, |_| 0);
        assert_eq!(other_size.size, 2);
        assert!(!Arc::ptr_eq(&again, &other_size));
    }
}
