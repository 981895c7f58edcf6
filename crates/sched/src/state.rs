//! The parking state of a thread of control.
//!
//! One word:
//!
//! | value | means | who may change it |
//! | --- | --- | --- |
//! | `EMPTY` | running or runnable; no wake-up is stored | the thread → `PARKED`; anybody → `TOKEN` |
//! | `TOKEN` | running or runnable; its next park returns at once | the thread → `EMPTY`; anybody rewrites `TOKEN` |
//! | `PARKED` | waiting, in no queue | anybody → `EMPTY`, and who does so makes the thread runnable |
//!
//! Races closed:
//! - *Wake-up before park*: it leaves `TOKEN`, and the thread's own change `EMPTY` → `PARKED` fails.
//! - *Two wake-ups at once*: one change from `PARKED` succeeds, so the thread enters a queue once; the other leaves a
//!   token. (That token is not merged into the first wake-up: the thread must still see what was written before it,
//!   and it does so when it takes the token.)
//! - *Wake-up merged with a token*: `TOKEN` is written again with release order, so that taking it later shows the
//!   writes of both wakers.
//! - *Resumed while still leaving its core*: not this word's business, see `on_core` in [`context`](crate::context).

use weft_sync::atomic::{AtomicU32, Ordering};

const EMPTY: u32 = 0;
const TOKEN: u32 = 1;
pub(crate) const PARKED: u32 = 2;

pub(crate) struct ParkState(pub(crate) AtomicU32);

impl ParkState {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(EMPTY))
    }

    /// Takes a token, or declares the caller parked. Returns true if it must now wait.
    #[inline]
    pub(crate) fn park(&self) -> bool {
        match self.0.compare_exchange(EMPTY, PARKED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(_) => {
                // Only a token can be there. A swap, not a store: a waker that rewrites the token at this moment
                // comes before it (and is seen) or after it (and leaves a token).
                self.0.swap(EMPTY, Ordering::Acquire);
                false
            }
        }
    }

    /// Stores a wake-up. Returns true if the thread was parked; then the caller must make it runnable.
    #[inline]
    pub(crate) fn unpark(&self) -> bool {
        // Guess `PARKED`: reading first would fetch the line twice when the thread is on another core.
        let mut seen = match self.0.compare_exchange(PARKED, EMPTY, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return true,
            Err(seen) => seen,
        };
        loop {
            let new = if seen == PARKED { EMPTY } else { TOKEN };
            match self.0.compare_exchange_weak(seen, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return seen == PARKED,
                Err(now) => seen = now,
            }
        }
    }

    /// Tells whether the thread waits (a hint).
    #[cfg(not(loom))]
    #[inline]
    pub(crate) fn is_parked(&self) -> bool {
        self.0.load(Ordering::Relaxed) == PARKED
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn token_before_park() {
        let state = ParkState::new();
        assert!(!state.unpark());
        assert!(!state.unpark());
        assert!(!state.park());
        assert!(state.park());
        assert!(state.unpark());
        assert!(state.park());
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize;

    /// Two wakers each announce work and wake; the thread parks until it has seen both. In every interleaving each
    /// park that waits is answered by exactly one call that says so, and no announcement is missed.
    #[test]
    fn no_wake_up_is_lost_or_doubled() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let state = Arc::new(ParkState::new());
            let work = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let runnable = Arc::new(AtomicUsize::new(0));
            let wakers: Vec<_> = (0..2)
                .map(|i| {
                    let (state, work, runnable) = (state.clone(), work.clone(), runnable.clone());
                    loom::thread::spawn(move || {
                        work[i].store(1, Ordering::Relaxed);
                        if state.unpark() {
                            // Being queued: at most once at a time.
                            assert_eq!(runnable.fetch_add(1, Ordering::AcqRel), 0);
                        }
                    })
                })
                .collect();
            while work.iter().any(|w| w.load(Ordering::Relaxed) == 0) {
                if state.park() {
                    while runnable.load(Ordering::Acquire) == 0 {
                        loom::thread::yield_now();
                    }
                    runnable.fetch_sub(1, Ordering::AcqRel);
                }
            }
            wakers.into_iter().for_each(|w| w.join().unwrap());
        });
    }
}
