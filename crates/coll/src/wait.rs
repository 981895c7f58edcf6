//! Many ranks wait for one event.

use weft_sched::Thread;
use weft_sync::Lock;

/// The threads that wait for a word of the communicator to change.
#[derive(Default)]
pub struct WaitSet {
    inner: Lock<Inner>,
}

#[derive(Default)]
struct Inner {
    wakings: u64,
    waiting: Vec<&'static Thread>,
}

impl WaitSet {
    /// Returns once `done` does. Whoever makes it true calls [`WaitSet::wake_all`] afterwards.
    pub fn wait(&self, done: impl Fn() -> bool) {
        let spins = if weft_sched::may_spin() { 100 } else { 1 };
        for _ in 0..spins {
            if done() {
                return;
            }
            core::hint::spin_loop();
        }
        let mut registered = None;
        loop {
            {
                let mut inner = self.inner.lock();
                if registered != Some(inner.wakings) {
                    registered = Some(inner.wakings);
                    inner.waiting.push(weft_sched::current());
                }
            }
            // A waker that changed the word before we registered is seen here; one that changed it after finds us.
            if done() {
                return;
            }
            weft_sched::park();
            if done() {
                return;
            }
        }
    }

    /// Wakes everybody who waits.
    pub fn wake_all(&self) {
        let waiting = {
            let mut inner = self.inner.lock();
            inner.wakings += 1;
            core::mem::take(&mut inner.waiting)
        };
        for thread in waiting {
            thread.unpark();
        }
    }
}

/// Returns the worker on which a world rank runs when nothing moves it.
pub fn home_worker(_world_rank: u32) -> usize {
    0
}
