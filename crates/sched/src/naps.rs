//! The naps that the library's own threads take between their looks.
//!
//! A thread whose nap is over may wait long for a core, where others compute. The kernel says only that such a thread would run;
//! the thread itself knows that it has not yet begun anything. So it counts its naps, and [`outside`](crate::outside) takes
//! a thread in a nap to be asleep. (Where four programs computed beside a job, a monitor that naps for 2 ms was ready to run most
//! of the time, and no deadlock was seen in 30 s.)

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;

use weft_sys::process::kernel_thread_id;

/// Looks at the workers.
pub(crate) static MONITOR: Napper = Napper::new();
/// Looks for what comes from outside of the process.
pub(crate) static PROGRESS: Napper = Napper::new();

/// One of the library's own threads.
pub(crate) struct Napper {
    /// Which kernel thread it is; none is 0.
    kernel_thread: AtomicU32,
    /// One more when a nap begins, and when it ends: odd during a nap.
    turns: AtomicU64,
}

impl Napper {
    const fn new() -> Self {
        Self { kernel_thread: AtomicU32::new(0), turns: AtomicU64::new(0) }
    }

    /// Naps; called by the thread itself, which holds no lock then.
    pub(crate) fn nap(&self, time: Duration) {
        self.kernel_thread.store(kernel_thread_id(), Ordering::Relaxed);
        self.turns.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(time);
        self.turns.fetch_add(1, Ordering::SeqCst);
    }

    fn nap_of(&self, kernel_thread: u32) -> Option<u64> {
        // In this order: who is in a nap has said before which thread it is.
        let turns = self.turns.load(Ordering::SeqCst);
        (turns % 2 == 1 && self.kernel_thread.load(Ordering::Relaxed) == kernel_thread).then_some(turns)
    }
}

/// Returns which nap a kernel thread is in, if it is in one.
pub(crate) fn nap_of(kernel_thread: u32) -> Option<u64> {
    [&MONITOR, &PROGRESS].iter().find_map(|napper| napper.nap_of(kernel_thread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_nap_is_known_by_its_thread_and_has_a_number_of_its_own() {
        static NAPPER: Napper = Napper::new();
        let (sender, ids) = mpsc::channel();
        let napping = std::thread::spawn(move || {
            sender.send(kernel_thread_id()).unwrap();
            let mut naps = 0u64;
            while sender.send(kernel_thread_id()).is_ok() {
                NAPPER.nap(Duration::from_millis(1));
                naps += 1;
            }
            naps
        });
        let id = ids.recv().unwrap();
        let seen = std::iter::from_fn(|| ids.recv().ok()).find_map(|_| NAPPER.nap_of(id)).unwrap();
        assert_eq!((seen % 2, NAPPER.nap_of(kernel_thread_id())), (1, None));
        drop(ids);
        let naps = napping.join().unwrap();
        assert!(2 * naps > seen, "nap {seen} of {naps}");
        assert_eq!(NAPPER.nap_of(id), None, "awake");
    }
}
