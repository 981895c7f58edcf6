//! A short-section lock in memory that processes share, one of which may be killed while it holds the lock.
//!
//! `owner` is 0 while the lock is free, else it says which process holds it: number and time of start, so that another process
//! that gets the same number later is not taken for it. A waiter spins and gives way, since sections are tens of nanoseconds; then
//! it counts itself and sleeps for short times. One that has waited long looks whether the owner lives, and if not takes the lock
//! over: what the dead process was about to change is then as that process has left it.
//!
//! All zero is a free lock.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::OnceLock;
use weft_sys::shared::{self, Identity};

const FREE: u64 = 0;
const SPINS: u32 = 200;
/// How long a waiter sleeps before it looks again.
const NAP: Duration = Duration::from_millis(1);
/// After how many naps, each time, a waiter looks whether the owner lives.
const PATIENCE: u32 = 10;
/// How many bits of a mark are the time of start.
const STARTED: u32 = 40;

/// Says which process this is.
fn mark() -> u64 {
    static MARK: OnceLock<u64> = OnceLock::new();
    *MARK.get_or_init(|| mark_of(Identity::own()))
}

fn mark_of(Identity { process, started }: Identity) -> u64 {
    u64::from(process) << STARTED | started & ((1 << STARTED) - 1)
}

fn lives(mark: u64) -> bool {
    Identity { process: (mark >> STARTED) as u32, started: mark & ((1 << STARTED) - 1) }.lives()
}

/// The lock. Never hold one across anything that can switch ranks.
#[repr(C)]
#[derive(Debug, Default)]
pub struct ProcessLock {
    owner: AtomicU64,
    /// How many sleep or are about to; those that were killed meanwhile, too.
    sleepers: AtomicU32,
}

/// Unlocks on drop.
pub struct ProcessGuard<'a>(&'a ProcessLock);

impl ProcessLock {
    /// Locks, waiting as long as it takes.
    #[inline]
    pub fn lock(&self) -> ProcessGuard<'_> {
        let own = mark();
        if !self.try_from(FREE, own) {
            self.lock_slow(own);
        }
        ProcessGuard(self)
    }

    fn try_from(&self, owner: u64, own: u64) -> bool {
        self.owner.compare_exchange(owner, own, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn lock_slow(&self, own: u64) {
        for look in 0..SPINS {
            if self.owner.load(Ordering::Relaxed) == FREE && self.try_from(FREE, own) {
                return;
            }
            core::hint::spin_loop();
            if look >= 64 && look.is_multiple_of(16) {
                weft_sys::cpu::yield_core();
            }
        }
        let mut naps = 0;
        while !self.try_from(FREE, own) {
            let sleepers = self.sleepers.fetch_add(1, Ordering::SeqCst) + 1;
            // Who leaves sees that somebody sleeps, or this sees that the lock is free: now, or after the nap.
            if self.owner.load(Ordering::SeqCst) != FREE {
                shared::wait_for(&self.sleepers, sleepers, Some(NAP));
            }
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
            naps += 1;
            let owner = self.owner.load(Ordering::Relaxed);
            let is_old = naps % PATIENCE == 0 && owner != FREE && owner != own;
            if is_old && !lives(owner) && self.try_from(owner, own) {
                return;
            }
        }
    }
}

impl Drop for ProcessGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.owner.store(FREE, Ordering::Release);
        if self.0.sleepers.load(Ordering::Relaxed) != 0 {
            shared::wake(&self.0.sleepers, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(unsafe_code)] // The lock guards what it does not hold.
    use super::*;
    use core::cell::UnsafeCell;
    use std::sync::Arc;

    struct Counted(ProcessLock, UnsafeCell<(u64, u64)>);

    // SAFETY: the cell is used under the lock only.
    unsafe impl Sync for Counted {}

    #[test]
    fn excludes() {
        let counted = Arc::new(Counted(ProcessLock::default(), UnsafeCell::new((0, 0))));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let counted = counted.clone();
                std::thread::spawn(move || {
                    for _ in 0..20_000 {
                        let _guard = counted.0.lock();
                        // SAFETY: the lock is held.
                        let pair = unsafe { &mut *counted.1.get() };
                        pair.0 += 1;
                        let copy = pair.0;
                        std::hint::black_box(&pair);
                        pair.1 += 1;
                        assert_eq!(copy, pair.1);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(counted.0.owner.load(Ordering::Relaxed), FREE);
    }

    #[test]
    fn a_lock_of_a_dead_process_is_taken_over() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let started = Identity::own().started;
        let gone = mark_of(Identity { process: child.id(), started: started.max(1) });
        child.wait().unwrap();
        let lock = ProcessLock { owner: AtomicU64::new(gone), sleepers: AtomicU32::new(1) };
        drop(lock.lock());
        assert_eq!(lock.owner.load(Ordering::Relaxed), FREE);
    }

    #[test]
    fn a_mark_tells_processes_apart() {
        let own = Identity::own();
        assert!(lives(mark()));
        assert!(!lives(mark_of(Identity { started: own.started + 1, ..own })));
    }
}
