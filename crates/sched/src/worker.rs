//! Workers: kernel threads that run ranks.
//!
//! A worker has ranks that wait for it ([`ready`](crate::ready): the queue it takes from at each switch, the inbox that
//! others send to, its sleep) and a context of its own (the *idle context*) that runs when no rank does.
//!
//! Who touches what:
//! - `ready`: see there.
//! - `substitute`: where ranks whose home this is are sent; itself, but for while it is stuck. Written by the
//!   monitor (another worker) and by the worker (itself again).
//! - `handoff`: by the worker's kernel thread only.
//!
//! Races closed:
//! - *Two ranks that leave two workers towards each other*: each would wait for the other to be off its core. So a
//!   rank's context never waits: it hands the rank to its worker's idle context, which nobody waits for.
//! - *A rank taken by a thief while it is still leaving*: `on_core` tells, see [`context`](crate::context).
#![allow(unsafe_code)] // Calls the context switch.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use core::time::Duration;

use weft_base::settings::POLL_US;
use weft_base::tools::watch;
use weft_sync::CachePadded;
use weft_sync::queue::{Chain, RunQueue};
use weft_sys::{clock, cpu, futex};

use crate::context::{self, Context};
use crate::foreign::is_crowded;
use crate::idle;
use crate::pool::Pool;
use crate::ready::{Ready, SLEEPING};
use crate::thread::{Thread, known};
use crate::told;

/// How often in a row ranks that poll in vain give way to each other before their worker gives its core away: some tenths
/// of a millisecond, so that giving it away for nothing does not count. Two workers of 17 ranks that poll through a
/// broadcast and a barrier, beside eight busy processes on two cores: 50 to 110 ms without, 10 to 14 ms with 32 to 1000.
const POLLS: u32 = 1000;

/// And where each look takes calls of the kernel, while another process is waited for: as long.
const DEAR_POLLS: u32 = 32;

/// How many ranks a thief takes at most.
const STEAL: usize = 64;

/// From how many ranks on a worker fetches what the next one touches while this one runs.
const MANY: usize = 64;

/// A kernel thread that runs ranks.
#[repr(C, align(128))]
pub(crate) struct Worker {
    ready: Ready<Thread>,
    context: Context,
    handoff: Cell<Option<&'static Thread>>,
    switches: AtomicU32,
    running: AtomicPtr<Thread>,
    pub(crate) index: usize,
    /// True for the workers that are home to ranks; the others are spares for the monitor.
    pub(crate) is_home: bool,
    /// Whether so many ranks share the worker that what they touch does not stay in its caches.
    looks_ahead: bool,
    several: AtomicBool,
    /// How often ranks that poll in vain gave way since one found something; only the worker's kernel thread uses it.
    polls: AtomicU32,
    pub(crate) kernel_thread: AtomicU32,
    substitute: CachePadded<AtomicPtr<Worker>>,
}

// SAFETY: everything is atomic but `handoff`, which only the worker's kernel thread touches.
unsafe impl Sync for Worker {}
// SAFETY: a worker is made on one thread and handed to its kernel thread before that runs.
unsafe impl Send for Worker {}

impl Worker {
    pub(crate) fn new(index: usize, is_home: bool, ranks: usize) -> Self {
        Self {
            ready: Ready::new(),
            context: Context::running(),
            handoff: Cell::new(None),
            switches: AtomicU32::new(0),
            running: AtomicPtr::default(),
            index,
            is_home,
            looks_ahead: ranks >= MANY,
            several: AtomicBool::new(false),
            polls: AtomicU32::new(0),
            kernel_thread: AtomicU32::new(0),
            substitute: CachePadded(AtomicPtr::default()),
        }
    }

    /// Tells the worker that there is another core to wait for.
    pub(crate) fn set_several(&self, several: bool) {
        self.several.store(several, Ordering::Relaxed);
    }

    // --- making ranks runnable -------------------------------------------------------------------------------

    /// Returns the worker that ranks at home here are sent to.
    #[inline]
    pub(crate) fn destination(&'static self) -> &'static Worker {
        // SAFETY: null or a `&'static Worker`.
        unsafe { self.substitute.load(Ordering::Relaxed).as_ref() }.unwrap_or(self)
    }

    /// Sends ranks at home here to another worker, or (`None`) here again.
    pub(crate) fn set_substitute(&self, other: Option<&'static Worker>) {
        let pointer = other.map_or(core::ptr::null_mut(), |w| core::ptr::from_ref(w).cast_mut());
        self.substitute.store(pointer, Ordering::Relaxed);
    }

    /// Tells whether ranks at home here are sent elsewhere.
    pub(crate) fn has_substitute(&self) -> bool {
        !self.substitute.load(Ordering::Relaxed).is_null()
    }

    /// Adds runnable ranks, which the caller holds alone, and wakes the worker if it sleeps.
    #[inline]
    pub(crate) fn enqueue(&'static self, chain: Chain<Thread>) {
        if known().is_some_and(|me| core::ptr::eq(me.worker_pointer(), self)) {
            self.ready.push(chain);
        } else {
            self.send(chain);
        }
    }

    /// Adds runnable ranks from outside.
    #[inline]
    pub(crate) fn send(&self, chain: Chain<Thread>) {
        if self.ready.send(chain) {
            self.wake_kernel_thread();
        }
    }

    /// Wakes the worker if it sleeps.
    #[inline]
    pub(crate) fn wake(&self) {
        if self.ready.rouse() {
            self.wake_kernel_thread();
        }
    }

    #[cold]
    fn wake_kernel_thread(&self) {
        if !idle::wake_keeper(self.index) {
            futex::wake(self.ready.sleep_word(), 1);
        }
    }

    // --- switching -------------------------------------------------------------------------------------------

    /// Leaves the calling rank, which waits or is in a queue, for the next one. Returns when it is resumed.
    #[inline]
    pub(crate) fn leave(&'static self, me: &'static Thread) {
        if watch::is_watched() {
            return told::rest(me.known_rank(), &|| self.go(me));
        }
        self.go(me);
    }

    #[inline]
    fn go(&'static self, me: &'static Thread) {
        match self.ready.pop() {
            Some(next) => self.switch_to(me, next),
            None => self.switch_to_idle(me),
        }
    }

    #[inline]
    fn switch_to(&'static self, me: &'static Thread, next: &'static Thread) {
        if core::ptr::eq(me, next) {
            return;
        }
        if next.context.on_core() {
            self.handoff.set(Some(next));
            return self.switch_to_idle(me);
        }
        if self.looks_ahead
            && let Some(upcoming) = self.ready.upcoming()
        {
            upcoming.prefetch();
        }
        self.count_switch(next);
        // SAFETY: `me` calls; `next` came out of a queue, so it is ours, and it is off its core.
        unsafe { context::switch(&me.context, &next.context) };
    }

    #[inline(never)]
    fn switch_to_idle(&self, me: &'static Thread) {
        self.count();
        self.running.store(core::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: `me` calls; the idle context is resumed only from its own kernel thread, on which it does not run.
        unsafe { context::switch(&me.context, &self.context) };
    }

    #[inline]
    fn count_switch(&'static self, next: &'static Thread) {
        self.count();
        self.running.store(core::ptr::from_ref(next).cast_mut(), Ordering::Relaxed);
        if watch::is_counting() {
            told::switch(next.known_rank(), !core::ptr::eq(next.worker_pointer(), self));
        }
        next.set_worker(self);
    }

    #[inline]
    fn count(&self) {
        self.switches.store(self.switches.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Puts the calling rank behind the runnable ones and switches to the first. Returns whether there was one.
    pub(crate) fn yield_now(&'static self, me: &'static Thread) -> bool {
        match self.ready.exchange(me) {
            Some(next) => {
                self.switch_to(me, next);
                true
            }
            None => {
                // A look that finds nothing is a sign of life all the same.
                self.count();
                if self.has_substitute() {
                    self.set_substitute(None);
                }
                false
            }
        }
    }

    /// Notes that a rank that polls in vain gives way; after many in a row, lets the kernel run others.
    #[inline]
    pub(crate) fn note_poll(&self) {
        let polls = self.polls.load(Ordering::Relaxed) + 1;
        if polls < if idle::is_dear() { DEAR_POLLS } else { POLLS } {
            self.polls.store(polls, Ordering::Relaxed);
        } else {
            self.polls.store(0, Ordering::Relaxed);
            cpu::yield_core();
        }
    }

    /// Notes that a rank that runs here found what it polled for.
    #[inline]
    pub(crate) fn note_find(&self) {
        self.polls.store(0, Ordering::Relaxed);
    }

    /// Tells whether no rank waits for this worker.
    #[inline]
    pub(crate) fn nothing_waits(&self) -> bool {
        self.ready.is_empty()
    }

    #[inline]
    pub(crate) fn may_spin(&self) -> bool {
        self.several.load(Ordering::Relaxed) && self.nothing_waits()
    }

    // --- the idle context ------------------------------------------------------------------------------------

    /// Runs ranks for ever. The calling kernel thread becomes the worker.
    pub(crate) fn run(&'static self, pool: &'static Pool) -> ! {
        self.kernel_thread.store(weft_sys::process::kernel_thread_id(), Ordering::Relaxed);
        // SAFETY: the caller runs the idle context, here.
        unsafe { self.context.adopt_thread_pointer() };
        let mut not_ready = 0u32;
        loop {
            let Some(next) = self.handoff.take().or_else(|| self.ready.pop()) else {
                self.idle(pool);
                continue;
            };
            if next.context.on_core() {
                // Another kernel thread is about to finish saving it, unless it lost its core.
                self.ready.push(Chain::one(next));
                not_ready += 1;
                if not_ready.is_multiple_of(64) {
                    cpu::yield_core()
                } else {
                    core::hint::spin_loop()
                }
                continue;
            }
            not_ready = 0;
            self.count_switch(next);
            // SAFETY: the idle context calls; `next` came out of a queue and is off its core.
            unsafe { context::switch(&self.context, &next.context) };
        }
    }

    /// Waits until something may be runnable.
    fn idle(&'static self, pool: &'static Pool) {
        if self.is_home {
            if self.has_substitute() {
                self.set_substitute(None);
            }
            let source = idle::source();
            let end = clock::ticks() + POLL_US.get() * clock::ticks_per_us();
            loop {
                for _ in 0..32 {
                    if !self.nothing_waits() {
                        return;
                    }
                    core::hint::spin_loop();
                }
                if clock::ticks() > end || idle::is_streaming() {
                    break;
                }
                if let Some(source) = source
                    && source.poll()
                {
                    continue;
                }
                if idle::is_dear() {
                    break;
                }
                if is_crowded() {
                    cpu::yield_core();
                }
            }
            if self.steal(pool) {
                return;
            }
        }
        if self.ready.fall_asleep() {
            let word = self.ready.sleep_word();
            pool.worker_sleeps();
            // Who sleeps as the keeper may come back because another worker has become it. A spare would go on to wake up for
            // every message, and take time from those who wait for it.
            let is_idle = || word.load(Ordering::SeqCst) == SLEEPING;
            while is_idle() && !(self.is_home && idle::keep(self.index, &is_idle)) {
                if !futex::wait_for(word, SLEEPING, Some(Duration::from_secs(3600))) {
                    break;
                }
            }
            pool.worker_wakes();
            self.ready.stay_awake();
            if self.is_home && self.nothing_waits() {
                // Woken without work: by the monitor, to help another worker.
                self.steal(pool);
            }
        }
    }

    /// Takes some of the ranks that wait for another worker. Returns whether there were any.
    fn steal(&'static self, pool: &'static Pool) -> bool {
        let workers = pool.all_workers();
        for step in 1..workers.len() {
            let victim = &workers[(self.index + step) % workers.len()];
            if victim.nothing_waits() {
                continue;
            }
            let loot = RunQueue::new();
            victim.ready.steal(&loot, STEAL);
            if !loot.is_empty() {
                self.ready.adopt(&loot);
                return true;
            }
        }
        false
    }

    // --- for the monitor -------------------------------------------------------------------------------------

    /// Moves all ranks that wait here to another worker. Returns false if the owner was in the way.
    pub(crate) fn move_all(&self, to: &Worker) -> bool {
        let loot = RunQueue::new();
        let done = self.ready.take_all(&loot);
        while let Some(thread) = loot.pop() {
            to.ready.send_silently(Chain::one(thread));
        }
        to.wake();
        done
    }

    pub(crate) fn switches(&self) -> u32 {
        self.switches.load(Ordering::Relaxed)
    }

    /// Returns the rank's thread that runs here, if any.
    pub(crate) fn running(&self) -> Option<&'static Thread> {
        // SAFETY: null or a `&'static Thread`.
        unsafe { self.running.load(Ordering::Relaxed).as_ref() }
    }

    pub(crate) fn is_asleep(&self) -> bool {
        self.ready.is_asleep()
    }
}
