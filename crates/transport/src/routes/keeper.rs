//! Threads that sleep in a device and see to what arrives there while nobody else polls.

use super::Routes;
use crate::Handler;
use core::sync::atomic::Ordering;
use std::sync::PoisonError;
use std::time::Duration;

/// How long a keeper sleeps in its device at most.
const SLEEP: Duration = Duration::from_secs(1);

/// How long a keeper waits for others to poll when something has arrived and nobody sleeps.
const WAIT: Duration = Duration::from_micros(50);

/// How long it leaves its device to those who poll before it looks whether they still do.
const PAUSE: Duration = Duration::from_millis(1);

/// How long it leaves the first device to those who sleep there at most.
const LONG_PAUSE: Duration = Duration::from_millis(32);

impl Routes {
    /// Delivers as [`Device::poll`] does, on behalf of a keeper.
    pub fn poll_for_keeper(&self, handler: &dyn Handler) -> bool {
        let polled = self.poll_first(handler);
        self.poll_more(handler) | polled
    }

    /// Sleeps in a device, in the first one only while nobody else does, and calls `see` when something may have arrived there,
    /// until the process leaves the job. `see` returns whether there was something; `is_idle` tells whether to sleep for long.
    pub fn keep(&self, device: usize, see: &dyn Fn() -> bool, is_idle: &dyn Fn() -> bool) {
        let Some(branch) = device.checked_sub(1).map(|device| &self.more[device]) else {
            return self.keep_first(see);
        };
        let Some(device) = branch.device.lend() else { return };
        let stays = || !self.has_ended.load(Ordering::Acquire) && !branch.is_forgotten();
        while stays() {
            device.sleep(if is_idle() { SLEEP } else { PAUSE }, &stays);
            if self.others_poll() {
                self.pause_for(PAUSE);
            } else if !see() {
                std::thread::yield_now();
            }
        }
    }

    /// Sleeps in the first device while nobody else does or polls, and calls `see` when something may have arrived.
    fn keep_first(&self, see: &dyn Fn() -> bool) {
        let stays = || !self.has_ended.load(Ordering::Acquire);
        let is_left = || self.sleepers.load(Ordering::SeqCst) == 0;
        let mut pause = PAUSE;
        while stays() {
            let before = self.first.polls();
            std::thread::sleep(pause);
            let is_quiet = self.first.polls() == before;
            if !is_quiet || !is_left() {
                pause = if is_quiet { (pause * 2).min(LONG_PAUSE) } else { PAUSE };
                continue;
            }
            pause = PAUSE;
            loop {
                self.first.sleep(SLEEP, &|| stays() && is_left());
                // Whoever is in the library sees to it.
                let before = self.first.polls();
                self.pause_for(WAIT);
                if !stays() || !is_left() || self.first.polls() != before {
                    break;
                }
                while see() {}
            }
        }
    }

    /// Tells whether others poll, so that a keeper need not.
    fn others_poll(&self) -> bool {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            return false;
        }
        let before = self.polls.load(Ordering::Relaxed);
        self.pause_for(WAIT);
        self.polls.load(Ordering::Relaxed) != before && self.sleepers.load(Ordering::SeqCst) == 0
    }

    /// Waits, but not longer than until somebody sleeps.
    fn pause_for(&self, time: Duration) {
        let (lock, condition) = &self.pause;
        let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_pause.store(true, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) == 0 {
            drop(condition.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Ends the pause of keepers.
    #[cold]
    pub(super) fn call_keepers(&self) {
        let _guard = self.pause.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_pause.store(false, Ordering::Relaxed);
        self.pause.1.notify_all();
    }
}
