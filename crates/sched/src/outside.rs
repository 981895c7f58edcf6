//! Threads that sleep outside of the library, at futexes: in `pthread_join`, in a barrier of OpenMP, at a mutex.
//!
//! Only another thread of the process wakes one of them, or a signal. So if all its threads sleep there or in the library, in
//! two equal censuses, nobody ever wakes any: the argument of [`census`](crate::census) once more, with the counts of the
//! kernel in place of those of the scheduler. A thread of the library's own may hold a lock of the C library as it runs, for
//! which one of the program's waits, so those must sleep meanwhile, too. Sleeps that a limit in time ends, or another process
//! or device (a pipe, a socket, shared memory), are no such sleeps; nor are any where the program has a handler for a signal that
//! can come at any time.
//!
//! Where `/proc/self/task/*/syscall` cannot be read, no such sleep is known.

use crate::foreign;
use crate::naps;
use crate::pool::pool;
use crate::thread::{NO_RANK, Thread};
use core::sync::atomic::Ordering;
use std::collections::HashSet;
use weft_sys::tasks::{self, FutexSleep, Sleep};

/// The library's own threads, by name. What is the program's may be named after a worker, whose name new threads inherit.
const OWN_THREADS: &[&str] = &[
    "weft-monitor",
    "weft-control",
    "weft-progress",
    "weft-door",
    "weft-files",
    "weft-keeper",
    "weft-keepers",
    "weft-child",
    "weft-end",
    "weft-waits",
];

/// What sleeps outside of the library.
#[derive(PartialEq, Eq, Default)]
pub(crate) struct Outside {
    sleeps: Vec<(u32, FutexSleep)>,
    /// The library's own threads.
    own: Vec<(u32, OwnRest)>,
}

/// How a thread of the library's own rests.
#[derive(PartialEq, Eq)]
enum OwnRest {
    Ended,
    /// Which nap it is in.
    Nap(u64),
    /// How often it has left its core.
    Sleep(u64),
}

/// Not by the library's own threads: those must rest while one looks, lest one of them holds a lock that another thread of the
/// program waits for. What they do between two looks has woken nobody, if the others are in the same sleeps. (The monitor looks
/// every 2 ms, and two rounds of `mpirun`'s may take longer.)
impl core::hash::Hash for Outside {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.sleeps.hash(state);
    }
}

impl Outside {
    /// Adds a thread of the program's. Returns false if it may go on by itself.
    pub(crate) fn add(&mut self, id: u32) -> bool {
        match tasks::sleep(id) {
            Sleep::Ended => true,
            Sleep::Futex(sleep) => {
                self.sleeps.push((id, sleep));
                true
            }
            Sleep::Else(_) | Sleep::Unknown => false,
        }
    }

    /// Tells whether nobody was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.sleeps.is_empty()
    }

    /// Adds all threads of the process that are neither known nor the caller. Returns false if one may go on by itself.
    pub(crate) fn add_others(&mut self, is_known: impl Fn(u32) -> bool) -> bool {
        let me = weft_sys::process::kernel_thread_id();
        let all = tasks::ids();
        !all.is_empty()
            && all.into_iter().all(|id| id == me || is_known(id) || self.has(id) || self.add_other(id))
    }

    fn has(&self, id: u32) -> bool {
        self.sleeps.iter().any(|(other, _)| *other == id)
    }

    fn add_other(&mut self, id: u32) -> bool {
        if !OWN_THREADS.contains(&tasks::name(id).as_str()) {
            return self.add(id);
        }
        self.add_own(id)
    }

    /// Adds a thread of the library's own. Returns false if it is at work.
    pub(crate) fn add_own(&mut self, id: u32) -> bool {
        let rests = match (naps::nap_of(id), tasks::sleep(id)) {
            (Some(nap), _) => OwnRest::Nap(nap),
            (None, Sleep::Ended) => OwnRest::Ended,
            (None, Sleep::Futex(FutexSleep { switches, .. }) | Sleep::Else(switches)) => {
                OwnRest::Sleep(switches)
            }
            (None, Sleep::Unknown) => return false,
        };
        self.own.push((id, rests));
        true
    }

    /// Tells whether only threads of the process can wake those that were added.
    pub(crate) fn is_certain(&self) -> bool {
        let sleeps: Vec<FutexSleep> = self.sleeps.iter().map(|(_, sleep)| *sleep).collect();
        sleeps.is_empty() || (!tasks::catches_signals() && tasks::are_private(&sleeps))
    }
}

/// Tells whether all threads of this process, whose ranks are threads, are ranks' and known, or the library's own: then nobody
/// else acts for a rank.
pub fn knows_all_threads() -> bool {
    let (Some(pool), Some(foreign)) = (pool(), foreign::foreign_threads()) else { return false };
    let first = std::process::id();
    let workers = pool.all_workers().iter().map(|worker| worker.kernel_thread.load(Ordering::Relaxed));
    let ranks = pool.threads().iter().chain(foreign).map(Thread::kernel_thread);
    let known: HashSet<u32> = workers.chain(ranks).chain([first]).collect();
    let all = tasks::ids();
    !all.is_empty()
        && all.into_iter().all(|id| known.contains(&id) || OWN_THREADS.contains(&tasks::name(id).as_str()))
}

/// Where a thread sleeps outside of the library.
#[derive(Clone, Copy)]
pub enum Place {
    /// In `pthread_join`, for a thread; `None` if that has never been in the library.
    Join(Option<&'static Thread>),
    /// At a lock, in a barrier, …
    Futex,
}

impl Thread {
    /// Returns where the thread sleeps outside of the library, if it sleeps there until another thread wakes it.
    pub fn place_outside(&self) -> Option<Place> {
        let worker =
            self.worker().filter(|worker| worker.running().is_some_and(|thread| core::ptr::eq(thread, self)));
        let kernel_thread = match worker {
            Some(worker) => worker.kernel_thread.load(Ordering::Relaxed),
            None if self.on_workers => return None,
            None => self.kernel_thread(),
        };
        let Sleep::Futex(sleep) = tasks::sleep(kernel_thread) else { return None };
        // Who joins a thread waits for the kernel to take its number away.
        let joins =
            !sleep.is_private() && sleep.expected != kernel_thread && tasks::ids().contains(&sleep.expected);
        if !joins {
            return Some(Place::Futex);
        }
        let joined = foreign::with_kernel_thread(sleep.expected);
        Some(Place::Join(joined.filter(|thread| thread.rank() != NO_RANK)))
    }
}
