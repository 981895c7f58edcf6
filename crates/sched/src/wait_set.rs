//! Many threads wait for one event.
//!
//! A set has a list per home worker and one for threads without a worker. A rank that waits adds itself to its own
//! list (one atomic operation on a line only its worker and the waker use) and switches away; its parking state is
//! not touched. Waking takes each list whole (one atomic operation each) and hands it to its worker as one chain: the
//! waker touches no sleeper.
//!
//! Who touches what: a thread is in a list or runnable, never both, and whoever takes a list owns all its threads and
//! must make them runnable, exactly once. [`Thread::unpark`] meanwhile only leaves a token.
//!
//! Races closed:
//! - *The event happens between the check and the entry into the list*: a waiter checks again after it has entered
//!   (full barrier between); the waker makes the condition true before it takes the list (full barrier between). So
//!   one sees the other.
//! - *A waiter that finds the condition true when it has entered* cannot leave the list's middle. It takes the list
//!   itself, wakes all in it (they check their condition again), and leaves its core like the others. If a waker was
//!   faster, that waker makes it runnable.
//! - *A rank that an errand may interrupt* cannot be in a list and runnable at once. It parks, named in a list of its own, of
//!   which `engaged` tells whether it is empty, with the same two barriers.
//! - *A rank in the list that is still leaving its core*: `on_core`, see [`context`](crate::context).

use weft_sync::atomic::{AtomicU32, Ordering};
use weft_sync::facade::fence_after_rmw;
use weft_sync::queue::{Chain, Gathering};
use weft_sync::{CachePadded, Lock};

use crate::pool::home;
use crate::thread::{Thread, current, spin_until};

/// Threads that wait for an event, for instance the end of a barrier.
pub struct WaitSet {
    /// By home worker; the last is for threads without a worker.
    shards: Box<[CachePadded<Gathering<Thread>>]>,
    /// How many threads that errands may interrupt wait, and which.
    engaged: AtomicU32,
    interruptible: Lock<Vec<&'static Thread>>,
}

impl Default for WaitSet {
    fn default() -> Self {
        Self::new()
    }
}

impl WaitSet {
    /// Creates a set that nobody waits in. Create it after [`start`](crate::start).
    pub fn new() -> Self {
        let shards = crate::workers().max(1) + 1;
        let shards = (0..shards).map(|_| CachePadded(Gathering::new())).collect();
        Self { shards, engaged: AtomicU32::new(0), interruptible: Lock::default() }
    }

    #[inline]
    fn own_shard(&self, me: &Thread) -> &Gathering<Thread> {
        let last = self.shards.len() - 1;
        if me.on_workers { &self.shards[me.home as usize % last] } else { &self.shards[last] }
    }

    /// Returns once `done` does. Whoever makes it true calls [`WaitSet::wake_all`] afterwards. Spins first where that
    /// is sensible.
    ///
    /// `done` runs several times and must not park. Never call this with a lock of the library held. A wake-up by
    /// [`Thread::unpark`] does not interrupt the wait; its token stays.
    #[inline]
    pub fn wait(&self, mut done: impl FnMut() -> bool) {
        while !spin_until(&mut done) {
            self.wait_once(&mut done);
        }
    }

    /// Waits as [`WaitSet::wait`] does; `sleepers` counts the caller while it may sleep. So one who makes the condition
    /// true, then passes a full barrier and sees no sleepers need not wake anybody.
    #[inline]
    pub fn wait_counted(&self, sleepers: &AtomicU32, mut done: impl FnMut() -> bool) {
        if !spin_until(&mut done) {
            self.sleep_counted(sleepers, done);
        }
    }

    /// As [`WaitSet::wait_counted`], for one who has looked long enough.
    pub fn sleep_counted(&self, sleepers: &AtomicU32, mut done: impl FnMut() -> bool) {
        sleepers.fetch_add(1, Ordering::SeqCst);
        loop {
            self.wait_once(&mut done);
            if done() {
                break;
            }
        }
        sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    fn wait_once(&self, done: &mut impl FnMut() -> bool) {
        let me = current();
        let shard = self.own_shard(me);
        match me.worker() {
            Some(_) if !me.can_suspend() => self.wait_parked(me, done),
            Some(worker) => {
                shard.add(me);
                if done()
                    && let Some(chain) = shard.take()
                {
                    worker.enqueue(chain);
                }
                worker.leave(me);
            }
            None => {
                me.listed.store(1, Ordering::Relaxed);
                shard.add(me);
                if done() {
                    wake_listed(shard);
                }
                let mut token = false;
                while me.listed.load(Ordering::Acquire) == 1 {
                    crate::park();
                    token = true;
                }
                if token {
                    // It may have been somebody else's wake-up.
                    me.state.unpark();
                }
            }
        }
    }

    /// Waits so that errands are done meanwhile.
    #[cold]
    fn wait_parked(&self, me: &'static Thread, done: &mut impl FnMut() -> bool) {
        self.interruptible.lock().push(me);
        self.engaged.fetch_add(1, Ordering::SeqCst);
        fence_after_rmw();
        let mut token = false;
        while !done() {
            crate::park();
            token = true;
        }
        self.interruptible.lock().retain(|other| !core::ptr::eq(*other, me));
        self.engaged.fetch_sub(1, Ordering::SeqCst);
        if token {
            // It may have been somebody else's wake-up.
            me.state.unpark();
        }
    }

    /// Wakes all who wait: they return if their condition holds.
    #[inline]
    pub fn wake_all(&self) {
        let last = self.shards.len() - 1;
        for (index, shard) in self.shards[..last].iter().enumerate() {
            if let Some(chain) = shard.take() {
                wake_chain(index, chain);
            }
        }
        wake_listed(&self.shards[last]);
        if self.engaged.load(Ordering::SeqCst) != 0 {
            let engaged = self.interruptible.lock().clone();
            engaged.into_iter().for_each(Thread::unpark);
        }
    }
}

#[inline]
fn wake_chain(index: usize, chain: Chain<Thread>) {
    home(index).destination().enqueue(chain);
}

/// Wakes the threads without a worker.
fn wake_listed(shard: &Gathering<Thread>) {
    for thread in shard.take().into_iter().flatten() {
        // After this store the thread may run on and enter another list; its record stays.
        thread.listed.store(0, Ordering::Release);
        crate::Thread::unpark(thread);
    }
}
