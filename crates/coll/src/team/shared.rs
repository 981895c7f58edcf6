//! What the ranks of a communicator share, and the registry where they find it.

use crate::hier::Apart;
use crate::rounds::counters::{Counters, DEPTH, Words};
use crate::rounds::lines::{FEW, Line, Lines};
use crate::started::light::{Light, Pool};
use crate::started::meeting::Meeting;
use crate::started::plan::{self, Choice};
use crate::started::schedule::Schedule;
use crate::team::grouping::{Groups, Shards};
use crate::team::posts::{Lent, LinePost, Post};
use crate::team::selection::{Change, Selection};
use crate::team::slots::Slots;
use core::sync::atomic::{AtomicU32, AtomicU64};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};
use weft_sched::WaitSet;
use weft_sync::{CachePadded, Lock, Passing, Place};

/// A communicator's shared state. The parts that hold data are allocated when first used; untouched pages of them cost
/// nothing.
pub(crate) struct Shared {
    pub context: u32,
    pub size: u32,
    pub shards: Arc<Shards>,
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
        let shards = Shards::new(homes);
        let size = homes.len() as u32;
        let populations: Vec<u32> = shards.members.iter().map(|m| m.len() as u32).collect();
        Self {
            context,
            size,
            shards: Arc::new(shards),
            groups: Groups::default(),
            counters: Counters::new(&populations),
            lines: (size <= FEW).then(|| Lines::new(size, LinePost::default)),
            published: Place::from(Box::default()),
            lent: core::array::from_fn(|_| CachePadded::default()),
            waiting: WaitSet::default(),
            readers: WaitSet::default(),
            board: Lock::default(),
            lights: Arc::default(),
            schedules: Lock::default(),
            selection: Selection::of(size),
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
        self.slots.get_or_init(|| Slots::new(self.size as usize, self.shards.members.len()))
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
