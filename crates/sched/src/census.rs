//! Who waits: whether nobody of this process can ever wake anybody of it.
//!
//! A *census* looks at one after another, so what it saw asleep may have been woken by what it looks at later, or by a rank
//! that was just being created. Two equal ones settle it: a worker that has not switched and a thread that is in the same
//! sleep rested from the one to the other, so there was a moment between them at which all did, and only they wake each
//! other.
//!
//! # Several processes
//! With a [`Source`](crate::Source) wake-ups come from outside, too. Then this process can only say that it rests, and
//! what it has sent and received by then ([`Rest`]); whoever watches all processes of the job decides. That is the same
//! argument once more: if each process rests with the same [`Rest::mark`] in two rounds, the second of which begins when the
//! first is over, then all rested at one moment between them; and nothing was on its way at that moment if as much had been
//! received as sent.
//!
//! Whoever polls may be at work although all ranks sleep, so polls are counted ([`Polling`]): those under way, and those
//! that found something.
//!
//! A process whose program created its threads without the library's knowledge ([`count_all_threads`]) rests only if
//! every one of them sleeps here, or [outside](crate::outside) where nothing but this process can wake it.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::collections::HashSet;

use crate::foreign;
use crate::idle;
use crate::outside::Outside;
use crate::pool::{Pool, pool};
use crate::thread::{Life, Thread};

/// What the source has sent to other processes and received from them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Traffic {
    /// How much was sent.
    pub sent: u64,
    /// How much was received, and is dealt with.
    pub received: u64,
}

/// A process at rest: no thread of its ranks can run before something comes from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rest {
    /// Another number after anything has happened here.
    pub mark: u64,
    /// What came and went until then.
    pub traffic: Traffic,
}

static EXPECTED: AtomicU32 = AtomicU32::new(0);
static COUNTS_THREADS: AtomicBool = AtomicBool::new(false);
static ON_REST: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
static POLLING: AtomicU32 = AtomicU32::new(0);
static FOUND: AtomicU64 = AtomicU64::new(0);

/// Announces, or takes back, that others may wake a rank, whom no census sees.
pub(crate) fn expect(expected: bool) {
    EXPECTED.fetch_add(if expected { 1 } else { u32::MAX }, Ordering::SeqCst);
}

/// Says that the program's threads are known to the kernel only, because the library does not see them being created.
pub fn count_all_threads() {
    COUNTS_THREADS.store(true, Ordering::SeqCst);
}

/// Sets the function that is called, by a thread of the library's, when this process has come to rest while it has a
/// [`Source`](crate::Source).
pub fn on_rest(report: fn(Rest)) {
    ON_REST.store(report as *mut (), Ordering::Release);
}

/// One poll by a thread that is asleep as far as others can see, or that is no rank's.
pub(crate) struct Polling;

/// Makes a poll of a thread that is no rank's and that looks for wake-ups from outside beside the scheduler, so that the
/// process is not taken to rest meanwhile. Returns whether there was anything.
pub fn watched_poll(poll: &dyn Fn() -> bool) -> bool {
    Polling::make(poll)
}

impl Polling {
    /// Polls. Returns whether there was anything.
    pub(crate) fn poll(source: &dyn idle::Source) -> bool {
        Self::make(&|| source.poll())
    }

    fn make(poll: &dyn Fn() -> bool) -> bool {
        POLLING.fetch_add(1, Ordering::SeqCst);
        let _under_way = Self;
        let found = poll();
        if found {
            FOUND.fetch_add(1, Ordering::SeqCst);
        }
        found
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        POLLING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a census sees.
#[derive(PartialEq, Eq, Hash)]
struct Census {
    /// For each worker how often it has switched.
    switches: Vec<u32>,
    /// For each thread without a worker which sleep it is in.
    sleeps: Vec<(*const Thread, u32)>,
    /// Who sleeps outside of the library.
    outside: Outside,
    /// How many polls found something.
    found: u64,
    traffic: Traffic,
}

/// Tells whether nobody can ever wake anybody. Never where wake-ups come from outside.
pub(crate) fn is_deadlock(pool: &'static Pool) -> bool {
    if idle::source().is_some() {
        return false;
    }
    let census = || census(Some(pool), true);
    census().is_some_and(|first| census().is_some_and(|second| first == second))
}

/// Tells whether this process rests.
pub fn rest() -> Option<Rest> {
    resting().map(|census| census.rest())
}

fn resting() -> Option<Census> {
    let (first, second) = (census(pool(), true)?, census(pool(), true)?);
    (first == second).then_some(first)
}

/// Says that the process rests, if somebody wants to know.
pub(crate) fn report(rest: Rest) {
    let pointer = ON_REST.load(Ordering::Acquire);
    if !pointer.is_null() {
        call(pointer, rest);
    }
}

#[allow(unsafe_code)] // The pointer is a function's, kept in an atomic.
fn call(pointer: *mut (), rest: Rest) {
    // SAFETY: `on_rest` stored a `fn(Rest)`.
    let function: fn(Rest) = unsafe { core::mem::transmute(pointer) };
    function(rest);
}

impl Census {
    fn rest(&self) -> Rest {
        Rest { mark: mark(self), traffic: self.traffic }
    }

    /// Returns another number after anything has happened in the library.
    fn inner_mark(&self) -> u64 {
        mark(&(&self.switches, &self.sleeps, self.found, self.traffic))
    }
}

fn mark(of: &impl core::hash::Hash) -> u64 {
    let mut mark = Fnv(0xcbf2_9ce4_8422_2325);
    of.hash(&mut mark);
    mark.0
}

/// Takes a census, with or without the threads that only the kernel knows; `None` if a worker or a thread of a rank does not
/// rest, or if others are announced who could wake one.
fn census(pool: Option<&'static Pool>, with_unknown: bool) -> Option<Census> {
    if EXPECTED.load(Ordering::SeqCst) != 0 {
        return None;
    }
    if pool.is_some_and(|pool| pool.alive() == 0) {
        return None;
    }
    let mut outside = Outside::default();
    // Kernel threads that need no further look, and ranks that sleep outside of the library on a worker.
    let mut known = HashSet::new();
    let mut outsiders = Vec::new();
    let mut switches = Vec::new();
    for worker in pool.map_or(&[][..], Pool::all_workers) {
        let id = worker.kernel_thread.load(Ordering::Relaxed);
        if !worker.nothing_waits() {
            return None;
        }
        if !worker.is_asleep() {
            outsiders.push(core::ptr::from_ref(worker.running()?));
            if !outside.add(id) {
                return None;
            }
        }
        known.insert(id);
        switches.push(worker.switches());
    }
    let mut sleeps = Vec::new();
    for thread in pool.iter().flat_map(|pool| pool.threads()) {
        if thread.life() != Life::Alive {
            known.insert(thread.kernel_thread());
        } else if thread.on_workers {
            // A rank that is being created makes itself runnable soon.
            if thread.is_running() && !outsiders.contains(&core::ptr::from_ref(thread)) {
                return None;
            }
            known.insert(thread.kernel_thread());
        } else if let Some(sleep) = thread.sleep() {
            sleeps.push((core::ptr::from_ref(thread), sleep));
            known.insert(thread.kernel_thread());
        } else if !outside.add(thread.kernel_thread()) {
            return None;
        }
    }
    if COUNTS_THREADS.load(Ordering::SeqCst) {
        foreign::all_sleeps(&mut sleeps, &mut known);
        // Threads that only the kernel knows cost more to look at.
        if (with_unknown || sleeps.is_empty()) && !outside.add_others(|id| known.contains(&id)) {
            return None;
        }
    } else if !foreign::sleeps(&mut sleeps, &mut known, &mut outside) {
        return None;
    } else if !outside.is_empty() {
        // The first thread of the process only waits for the ranks' end.
        let first = std::process::id();
        if !outside.add_own(first) || !outside.add_others(|id| id == first || known.contains(&id)) {
            return None;
        }
    }
    let traffic = match idle::source() {
        Some(source) => source.rest()?,
        None => Traffic::default(),
    };
    // In this order: a poll that was under way at the moment in question, and is over by now, has been counted.
    let is_quiet = POLLING.load(Ordering::SeqCst) == 0;
    let found = FOUND.load(Ordering::SeqCst);
    (is_quiet && outside.is_certain()).then_some(Census { switches, sleeps, outside, found, traffic })
}

/// A hash that is the same for the same census.
struct Fnv(u64);

impl core::hash::Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// How often the census is taken at first, and at last, while the process does not rest: every so many looks.
const LOOKS: u32 = 4;
const MOST_LOOKS: u32 = 64;

/// Watches for the process to come to rest, from time to time, and cheaply.
#[derive(Default)]
pub(crate) struct Watch {
    looks: u32,
    /// After how many looks the next one counts.
    every: u32,
    /// What was seen at the last one that counted.
    last: Option<u64>,
    reported: Option<u64>,
}

static ASKED_AGAIN: AtomicBool = AtomicBool::new(false);

impl Watch {
    /// Notes that something has happened.
    pub(crate) fn disturbed(&mut self) {
        *self = Self { reported: self.reported, ..Self::default() };
    }

    /// Looks.
    pub(crate) fn look(&mut self) {
        if ON_REST.load(Ordering::Acquire).is_null() {
            return;
        }
        self.looks += 1;
        if self.looks < self.every.max(LOOKS) {
            return;
        }
        self.looks = 0;
        if ASKED_AGAIN.swap(false, Ordering::SeqCst) {
            self.reported = None;
        }
        let now = census(pool(), false).map(|census| census.inner_mark());
        let before = core::mem::replace(&mut self.last, now);
        if now.is_none() || now != before {
            self.every = LOOKS;
            return;
        }
        if now == self.reported {
            return;
        }
        self.every = (2 * self.every).clamp(LOOKS, MOST_LOOKS);
        if let Some(census) = resting().filter(|census| Some(census.inner_mark()) == now) {
            self.reported = now;
            report(census.rest());
        }
    }
}

/// Tells whether this process rests; if not, what was set with [`on_rest`] is called when it does.
pub fn rest_or_tell() -> Option<Rest> {
    // A poll in vain may be under way.
    for _ in 0..5 {
        if let Some(rest) = rest() {
            return Some(rest);
        }
        std::thread::sleep(core::time::Duration::from_millis(1));
    }
    ASKED_AGAIN.store(true, Ordering::SeqCst);
    None
}
