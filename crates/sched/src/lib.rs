//! Ranks, workers, switching, parking.
//!
//! A [`Thread`] is anything that can wait in the library: a rank's own thread or a foreign thread of a rank.
//! There is one primitive: [`park`] until [`Thread::unpark`], with a token so that a wake-up is never lost.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// One thread of control that calls the library: a rank's own thread, or a foreign thread of a rank.
///
/// Lives for ever (`&'static`), so that waking one is always sound.
pub struct Thread {
    rank: AtomicU32,
    process: AtomicPtr<()>,
    inner: std::sync::OnceLock<std::thread::Thread>,
    parked: AtomicU32,
}

/// The rank number of a thread that belongs to no rank.
pub const NO_RANK: u32 = u32::MAX;

thread_local!(static CURRENT: Cell<Option<&'static Thread>> = const { Cell::new(None) });

/// Returns the calling thread of control. A kernel thread that was never seen before is adopted as a foreign
/// thread that belongs to no rank.
#[inline]
pub fn current() -> &'static Thread {
    CURRENT.get().unwrap_or_else(adopt)
}

#[cold]
fn adopt() -> &'static Thread {
    let thread: &'static Thread = Box::leak(Box::new(Thread {
        rank: AtomicU32::new(NO_RANK),
        process: AtomicPtr::default(),
        inner: std::thread::current().into(),
        parked: AtomicU32::new(0),
    }));
    CURRENT.set(Some(thread));
    thread
}

impl Thread {
    /// Returns the world rank this thread belongs to, or [`NO_RANK`].
    #[inline]
    pub fn rank(&self) -> u32 {
        self.rank.load(Ordering::Relaxed)
    }

    /// Returns what [`Thread::set_process`] stored: the `mpi` layer's state of the rank, or null.
    #[inline]
    pub fn process(&self) -> *mut () {
        self.process.load(Ordering::Relaxed)
    }

    /// Attaches the thread to a rank and to the `mpi` layer's state of that rank.
    pub fn set_process(&self, rank: u32, process: *mut ()) {
        self.rank.store(rank, Ordering::Relaxed);
        self.process.store(process, Ordering::Relaxed);
    }

    /// Wakes the thread: its current or next [`park`] returns. May be called by any thread, any number of times;
    /// wake-ups that find a token already set are merged.
    #[inline]
    pub fn unpark(&'static self) {
        self.inner.get().expect("set at creation").unpark();
    }

    /// Tells whether the thread is on a core now, as far as the caller can see (a hint; may be stale).
    #[inline]
    pub fn is_running(&self) -> bool {
        self.parked.load(Ordering::Relaxed) == 0
    }

    /// Tells whether the thread's worker is the caller's (a hint): what it does next, it does after the caller
    /// parks, so spinning for it is pointless. Always false under the kernel scheduler.
    #[inline]
    pub fn shares_worker(&self) -> bool {
        false
    }
}

/// Waits until the calling thread's token is set, and takes it. May return early; callers loop over a condition.
///
/// Never call it with a lock of the library held.
pub fn park() {
    let me = current();
    me.parked.store(1, Ordering::Relaxed);
    std::thread::park();
    me.parked.store(0, Ordering::Relaxed);
}

/// Lets other runnable ranks of the worker run first. Returns whether there was one.
pub fn yield_now() -> bool {
    std::thread::yield_now();
    false
}

/// Tells whether spinning is sensible: the worker has nothing else to run (and there is a core to spin on).
#[inline]
pub fn may_spin() -> bool {
    true
}

/// Returns once `done` does: spins for a bounded time where that is sensible, then parks between tries. Whoever makes
/// `done` true must `unpark` this thread afterwards.
#[inline]
pub fn wait_until(mut done: impl FnMut() -> bool) {
    loop {
        if may_spin() {
            for _ in 0..1000 {
                if done() {
                    return;
                }
                core::hint::spin_loop();
            }
        }
        if done() {
            return;
        }
        park();
    }
}
