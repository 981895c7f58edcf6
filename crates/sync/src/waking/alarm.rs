//! Wakes those who sleep in any of several processes because of something in memory that these share.
//!
//! ```text
//! who makes it true:  make it true;              barrier;  are there sleepers?  then count in `events`, wake own, nudge others
//! sleeper:            count among the sleepers;  barrier;  is it true?  then stay awake; else sleep in the process
//! process:            nudged, or about to sleep: have `events` moved?  then wake its sleepers
//! ```
//!
//! Of the first two at least one sees the other's write. A process goes to sleep under a [`Bell`](crate::Bell): it awaits the
//! bell before it looks at `events` for the last time, and who nudges rings after counting there.
//!
//! All zero is an alarm that nobody sleeps by.

use crate::CachePadded;
use crate::facade::atomic::{AtomicU32, Ordering, fence};

/// See the module's page.
#[repr(C)]
pub struct Alarm {
    /// How many are about to sleep or asleep.
    pub sleepers: CachePadded<AtomicU32>,
    events: CachePadded<AtomicU32>,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { sleepers: CachePadded(AtomicU32::new(0)), events: CachePadded(AtomicU32::new(0)) }
    }
}

impl Alarm {
    /// Says that something has been made true. Returns whether the caller must wake the sleepers of its own process and
    /// nudge the others.
    #[inline]
    pub fn raise(&self) -> bool {
        fence(Ordering::SeqCst);
        self.sleepers.load(Ordering::Relaxed) != 0 && self.count()
    }

    #[cold]
    fn count(&self) -> bool {
        self.events.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// Returns how much has happened; a process whose sleepers have not been woken since it was less has to wake them.
    #[inline]
    pub fn events(&self) -> u32 {
        self.events.load(Ordering::SeqCst)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn nothing_happens_where_nobody_sleeps() {
        let alarm = Alarm::default();
        assert!(!alarm.raise() && alarm.events() == 0);
        alarm.sleepers.fetch_add(1, Ordering::SeqCst);
        assert!(alarm.raise() && alarm.events() == 1);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::Bell;
    use loom::sync::Arc;

    /// Somebody makes something true while a rank of another process goes to sleep and its process after it. Either the rank
    /// sees it, or the process has something to wake it for, or is woken.
    #[test]
    fn nobody_sleeps_through_the_alarm() {
        loom::model(|| {
            let shared = Arc::new((Alarm::default(), Bell::new(), AtomicU32::new(0)));
            let other = {
                let shared = shared.clone();
                loom::thread::spawn(move || {
                    let (alarm, bell, truth) = &*shared;
                    truth.store(1, Ordering::Release);
                    if alarm.raise() {
                        fence(Ordering::SeqCst);
                        bell.ring();
                    }
                })
            };
            let (alarm, bell, truth) = &*shared;
            let seen = alarm.events();
            alarm.sleepers.fetch_add(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            let sees = truth.load(Ordering::Acquire) == 1;
            let count = bell.expect();
            fence(Ordering::SeqCst);
            let hears = alarm.events() != seen;
            other.join().unwrap();
            assert!(sees || hears || bell.word().load(Ordering::SeqCst) != count, "asleep for ever");
        });
    }
}
