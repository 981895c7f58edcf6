//! The ranks that wait for a worker, and the worker's sleep.
//!
//! Two places hold ranks that are ready: the *queue*, which the worker takes from at each switch, and the *inbox*, to
//! which others send. Who touches what:
//! - `queue`: the context that runs on the worker's kernel thread as its owner (a rank's or the idle one; never two at
//!   once); thieves and the monitor as visitors, one at a time and never while the owner is inside.
//! - `inbox`: anybody sends; only who has the queue to itself drains it, into that queue.
//! - `sleep`: `AWAKE` → `SLEEPING` by the worker, back by the worker or by whoever wakes it.
//!
//! Races closed:
//! - *Sent while the worker falls asleep*: the worker writes `SLEEPING`, then looks whether something waits; the sender
//!   sends, then looks at `sleep`; both with a full barrier between, so one sees the other.
//! - *Moved while the worker falls asleep*: a thief drains the inbox into the queue and leaves some there, which the
//!   sender believes the worker will find, since it was awake. So the worker's last look is into both places, and as the
//!   queue's owner: what was sent before is either still in the inbox or already in the queue, never in between; and
//!   who sends later sees `SLEEPING`.
#![cfg_attr(loom, allow(dead_code))] // The models use a part.

use weft_sync::atomic::{AtomicU32, Ordering};
use weft_sync::facade::fence_after_rmw;
use weft_sync::queue::{Chain, Inbox, Linked, RunQueue};
use weft_sync::{Biased, CachePadded};

const AWAKE: u32 = 0;
pub(crate) const SLEEPING: u32 = 1;

/// What waits for one worker.
#[repr(C)]
pub(crate) struct Ready<T: Linked> {
    queue: Biased<RunQueue<T>>,
    remote: CachePadded<Remote<T>>,
}

struct Remote<T: Linked> {
    inbox: Inbox<T>,
    sleep: AtomicU32,
}

impl<T: Linked> Ready<T> {
    pub(crate) fn new() -> Self {
        let remote = Remote { inbox: Inbox::new(), sleep: AtomicU32::new(AWAKE) };
        Self { queue: Biased::new(RunQueue::new()), remote: CachePadded(remote) }
    }

    /// Tells whether nothing waits. For others than the owner a hint.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.look().is_empty() && self.remote.inbox.is_empty()
    }

    // --- for the worker --------------------------------------------------------------------------------------

    /// Adds what the caller holds alone.
    #[inline]
    pub(crate) fn push(&self, chain: Chain<T>) {
        self.queue.owner(|queue| queue.push(chain));
    }

    /// Takes the next.
    #[inline]
    pub(crate) fn pop(&self) -> Option<&'static T> {
        self.queue.owner(|queue| self.next_of(queue))
    }

    /// Takes the next, if there is one, and puts `me` behind all others.
    #[inline]
    pub(crate) fn exchange(&self, me: &'static T) -> Option<&'static T> {
        self.queue.owner(|queue| {
            let next = self.next_of(queue)?;
            queue.push(Chain::one(me));
            Some(next)
        })
    }

    /// Returns who will probably be taken next.
    #[inline]
    pub(crate) fn upcoming(&self) -> Option<&'static T> {
        self.queue.look().upcoming()
    }

    #[inline]
    fn next_of(&self, queue: &RunQueue<T>) -> Option<&'static T> {
        if !self.remote.inbox.is_empty() {
            self.remote.inbox.drain_to(queue);
        }
        queue.pop()
    }

    /// Declares the worker asleep. Returns false, with the worker awake, if something waits.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.remote.sleep.swap(SLEEPING, Ordering::SeqCst);
        fence_after_rmw();
        let nothing = self.queue.owner(|queue| queue.is_empty() && self.remote.inbox.is_empty());
        if !nothing {
            self.stay_awake();
        }
        nothing
    }

    /// Declares the worker awake.
    pub(crate) fn stay_awake(&self) {
        self.remote.sleep.store(AWAKE, Ordering::SeqCst);
    }

    // --- for others ------------------------------------------------------------------------------------------

    /// Adds what the caller holds alone. Returns whether the caller must wake the worker's kernel thread.
    #[inline]
    #[must_use]
    pub(crate) fn send(&self, chain: Chain<T>) -> bool {
        self.remote.inbox.push(chain);
        self.rouse()
    }

    /// Ends the worker's sleep, if it is in one. Returns whether the caller must wake its kernel thread.
    #[inline]
    #[must_use]
    pub(crate) fn rouse(&self) -> bool {
        self.is_asleep() && self.remote.sleep.swap(AWAKE, Ordering::SeqCst) == SLEEPING
    }

    /// Adds what the caller holds alone, for a worker that the caller wakes afterwards.
    pub(crate) fn send_silently(&self, chain: Chain<T>) {
        self.remote.inbox.push(chain);
    }

    #[inline]
    pub(crate) fn is_asleep(&self) -> bool {
        self.remote.sleep.load(Ordering::SeqCst) == SLEEPING
    }

    /// Returns the word on which the worker's kernel thread waits while it is `SLEEPING`.
    pub(crate) fn sleep_word(&self) -> &AtomicU32 {
        &self.remote.sleep
    }

    /// Moves the newer half into `loot`, at most about `most`; nothing if the owner or another visitor is in the way.
    pub(crate) fn steal(&self, loot: &RunQueue<T>, most: usize) {
        self.queue.visit(|queue| {
            self.remote.inbox.drain_to(queue);
            queue.split(loot, most);
        });
    }

    /// Moves everything into `loot`. Returns false if the owner or another visitor was in the way.
    pub(crate) fn take_all(&self, loot: &RunQueue<T>) -> bool {
        let done = self.queue.visit(|queue| {
            self.remote.inbox.drain_to(queue);
            queue.take_all(loot);
        });
        done.is_some()
    }

    /// Takes what a thief has gathered.
    pub(crate) fn adopt(&self, loot: &RunQueue<T>) {
        self.queue.owner(|queue| loot.take_all(queue));
    }
}
