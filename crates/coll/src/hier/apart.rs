//! What there is to do beyond the rounds where ranks are on several processes that share memory: waiting, waking, and the end of a
//! process. See `commons` for where the memory is.

use super::loss::unreachable_peer;
use crate::rounds::counters::{DEPTH, Words};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::Error;
use weft_sched::WaitSet;
use weft_sync::{Alarm, CachePadded, Lock};
use weft_transport::{Node, Nodes, Tuning};

/// What a communicator's part of the commons begins with.
#[repr(C)]
pub(crate) struct Head {
    /// How many processes have let go of it.
    pub(super) left: CachePadded<AtomicU32>,
    pub(super) alarm: Alarm,
    pub(super) published: CachePadded<[AtomicU64; DEPTH]>,
    pub(super) words: Words,
}

/// Where ranks of this process sleep in memory that it shares with others.
#[derive(Default)]
pub(crate) struct Sleepers {
    apart: Lock<Vec<Arc<Apart>>>,
    /// How many there are.
    count: AtomicUsize,
}

impl Sleepers {
    /// Wakes ranks that sleep here and want to know of something. Returns whether there was anything.
    #[inline]
    pub fn hear(&self) -> bool {
        self.count.load(Ordering::SeqCst) != 0 && self.hear_all()
    }

    #[inline(never)]
    fn hear_all(&self) -> bool {
        let apart = self.apart.lock().clone();
        apart.iter().fold(false, |heard, apart| apart.hear() | heard)
    }

    /// Tells whether there is something to hear.
    pub fn has_come(&self) -> bool {
        self.count.load(Ordering::SeqCst) != 0 && self.apart.lock().iter().any(|apart| apart.has_news())
    }
}

/// What there is to do beyond the rounds because their ranks are on several processes.
pub(crate) struct Apart {
    pub(super) head: &'static Head,
    /// The events that this process has heard of.
    pub(super) seen: AtomicU32,
    /// The other processes.
    pub(super) others: Box<[Node]>,
    pub(super) nodes: &'static Nodes,
    pub(super) sleepers: &'static Sleepers,
    pub(super) is_crowded: bool,
    /// How many operations have ended, more or less.
    pub(super) operations: AtomicU32,
    pub(super) waiting: WaitSet,
    pub(super) lost: OnceLock<(Node, String)>,
}

/// How many looks in vain are worth it where nobody else wants the core: some tens of microseconds.
const LOOKS: u32 = 4000;

/// After how many of them to see whether messages have come, and where others want the core.
const POLL: u32 = 16;

const POLL_CROWDED: u32 = 4;

/// After how many operations to see that where others want the core. After a turn of others each page takes long to reach, and a
/// poll looks at one of each process that has ever sent something. Whoever asks for a message polls anyway.
const OPERATIONS_CROWDED: u32 = 8;

impl Apart {
    /// Returns once `done` does, which somebody makes true who then calls [`Apart::wake_all`], or when a process is gone.
    #[inline]
    pub fn wait(self: &Arc<Self>, mut done: impl FnMut() -> bool) {
        let mut done = || done() || self.lost.get().is_some();
        let mut looks = 0;
        let mut poll = POLL;
        if self.is_crowded {
            // The caller's look was the first, and the next comes after a turn of theirs. Mostly that is the last: it is done
            // here, in one page of code.
            for _ in 1..POLL_CROWDED {
                if done() {
                    return;
                }
                if !weft_sched::take_turn() {
                    return self.sleep(done);
                }
            }
            (looks, poll) = (POLL_CROWDED, POLL_CROWDED);
        }
        while !done() {
            if !weft_sched::look_again(looks, LOOKS) {
                return self.sleep(done);
            }
            looks += 1;
            if looks.is_multiple_of(poll) {
                self.nodes.poll();
            }
        }
    }

    /// Polls after an operation; where others want the cores, after every so many.
    #[inline]
    pub fn take_what_has_come(&self) {
        let operations = self.operations.load(Ordering::Relaxed).wrapping_add(1);
        self.operations.store(operations, Ordering::Relaxed);
        if !self.is_crowded || operations.is_multiple_of(OPERATIONS_CROWDED) {
            self.nodes.poll();
        }
    }

    #[cold]
    fn sleep(self: &Arc<Self>, done: impl FnMut() -> bool) {
        let sleepers = self.sleepers;
        sleepers.apart.lock().push(self.clone());
        sleepers.count.fetch_add(1, Ordering::SeqCst);
        self.waiting.sleep_counted(&self.head.alarm.sleepers, done);
        sleepers.count.fetch_sub(1, Ordering::SeqCst);
        let mut awaited = sleepers.apart.lock();
        if let Some(place) = awaited.iter().position(|apart| Arc::ptr_eq(apart, self)) {
            awaited.swap_remove(place);
        }
    }

    /// Wakes all who sleep, in any process. What they wait for has been made true.
    #[inline]
    pub fn wake_all(&self) {
        if self.head.alarm.raise() {
            self.tell_all();
        }
    }

    #[cold]
    fn tell_all(&self) {
        self.waiting.wake_all();
        self.others.iter().for_each(|&node| self.nodes.device().nudge(node));
    }

    fn has_news(&self) -> bool {
        self.head.alarm.events() != self.seen.load(Ordering::Relaxed)
    }

    fn hear(&self) -> bool {
        let events = self.head.alarm.events();
        let is_new = self.seen.swap(events, Ordering::SeqCst) != events;
        if is_new {
            self.waiting.wake_all();
        }
        is_new
    }

    /// Returns why nobody need wait.
    #[cold]
    pub fn loss(&self) -> Error {
        let (node, reason) =
            self.lost.get().map_or((Node::MAX, "no reason is known"), |(n, r)| (*n, r.as_str()));
        unreachable_peer(node, reason)
    }
}
