//! The monitor: a thread that helps ranks whose worker does not get round to them.
//!
//! At each tick it looks at every worker. A worker that has not switched since the tick before, and on which ranks
//! wait, is *stuck*: at once if its kernel thread is blocked (a read, a lock), after some ticks' worth of processor time if it
//! computes or spins. One that merely waits for a core is not: more kernel threads would not help it. Its waiting ranks move to a worker that sleeps, or else to a spare one, and ranks at home there are sent the
//! same way until the stuck worker reports back (it does so when it next has nothing to run). The kernel then shares
//! the cores among workers, so a rank that spins on memory another rank writes does not wait for ever.
//!
//! A worker that works well but has ranks waiting while another worker sleeps gets help too: the sleeper is woken and
//! steals. Doing this here, and not at every wake-up, keeps short waits free of system calls.
//!
//! When all workers sleep the monitor sleeps too; the first that wakes wakes it.
//!
//! When nobody can ever wake anybody, it says so: see [`census`](crate::census). Under the kernel scheduler that is all it does.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use core::time::Duration;

use weft_sys::futex;
use weft_sys::process::{Activity, activity, processor_time};

use crate::naps::MONITOR;
use crate::pool::{Pool, pool};
use crate::worker::Worker;
use crate::{census, foreign};

const TICK: Duration = Duration::from_millis(2);

/// How much processor time without a switch makes a computing worker stuck; more as more spares run, since each takes time
/// from ranks that may simply compute.
fn patience(spares: usize) -> Duration {
    TICK * (2 + spares.min(20) as u32)
}

/// Where the monitor sleeps: 0 awake, 1 asleep.
#[derive(Default)]
pub(crate) struct Word(AtomicU32);

impl Word {
    #[inline]
    pub(crate) fn wake(&self) {
        if self.0.load(Ordering::SeqCst) == 1 && self.0.swap(0, Ordering::SeqCst) == 1 {
            futex::wake(&self.0, 1);
        }
    }
}

static REPORT: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

pub(crate) fn set_report(report: fn()) {
    REPORT.store(report as *mut (), Ordering::Release);
}

pub(crate) fn expect(expected: bool) {
    census::expect(expected);
    if !expected && let Some(pool) = pool() {
        // All may wait already.
        pool.monitor.wake();
    }
}

/// What was seen of a worker up to the last tick.
#[derive(Clone, Copy, Default)]
struct Seen {
    switches: u32,
    waiting: u32,
    /// The processor time that its kernel thread had used at the tick that first saw its last switch, and at the last one.
    at_switch: Duration,
    at_last: Duration,
}

impl Seen {
    /// Judges a worker by how often it has switched and by the processor time that its kernel thread has used up to now. Whoever
    /// is woken again and again to look for something is not blocked.
    fn is_stuck(
        &mut self,
        switches: u32,
        used: Duration,
        patience: Duration,
        is_blocked: impl FnOnce() -> bool,
    ) -> bool {
        let has_run = used > self.at_last;
        self.at_last = used;
        if switches != self.switches {
            self.switches = switches;
            self.at_switch = used;
            return false;
        }
        // A tick more or less comes late, or finds that something else ran for a moment.
        used.saturating_sub(self.at_switch) + TICK / 2 >= patience || (!has_run && is_blocked())
    }
}

pub(crate) fn run(pool: &'static Pool) -> ! {
    let mut seen = Vec::new();
    let mut reported = false;
    let mut ticks = 0u32;
    loop {
        let all_asleep =
            |pool: &Pool| pool.asleep.load(Ordering::SeqCst) as usize >= pool.all_workers().len();
        if all_asleep(pool) {
            // Before the census: what changes its result wakes the monitor.
            pool.monitor.0.store(1, Ordering::SeqCst);
            core::sync::atomic::fence(Ordering::SeqCst);
            if !reported && wants_report() && census::is_deadlock(pool) {
                reported = true;
                report();
            }
            if all_asleep(pool) {
                // Foreign threads fall asleep without telling. An hour, should the kernel lose a wake-up.
                let poll = !reported && foreign::any_belong();
                let limit = if poll { CENSUS } else { Duration::from_secs(3600) };
                futex::wait_for(&pool.monitor.0, 1, Some(limit));
            }
            pool.monitor.0.store(0, Ordering::SeqCst);
        }
        MONITOR.nap(TICK);
        tick(pool, &mut seen);
        ticks += 1;
        // A rank that sleeps outside of the library keeps its worker.
        if ticks.is_multiple_of(TICKS_OF_CENSUS) && !reported && wants_report() && census::is_deadlock(pool) {
            reported = true;
            report();
        }
    }
}

/// Watches ranks that have kernel threads of their own: only for a deadlock, the kernel does the rest.
pub(crate) fn watch(pool: &'static Pool) -> ! {
    let mut reported = false;
    loop {
        MONITOR.nap(CENSUS);
        if !reported && wants_report() && census::is_deadlock(pool) {
            reported = true;
            report();
        }
    }
}

/// How often threads that fall asleep without telling are looked at.
const CENSUS: Duration = Duration::from_millis(200);
const TICKS_OF_CENSUS: u32 = (CENSUS.as_millis() / TICK.as_millis()) as u32;

fn wants_report() -> bool {
    !REPORT.load(Ordering::Acquire).is_null()
}

fn report() {
    let pointer = REPORT.load(Ordering::Acquire);
    if !pointer.is_null() {
        call(pointer);
    }
}

#[allow(unsafe_code)] // The pointer is a function's, kept in an atomic.
fn call(pointer: *mut ()) {
    // SAFETY: `set_report` stored a `fn()`.
    let function: fn() = unsafe { core::mem::transmute(pointer) };
    function();
}

fn tick(pool: &'static Pool, seen: &mut Vec<Seen>) {
    let workers = pool.all_workers();
    seen.resize(workers.len(), Seen::default());
    let busy_spares = workers[pool.homes()..].iter().filter(|w| !w.is_asleep()).count();
    for (worker, seen) in workers.iter().zip(seen.iter_mut()) {
        let thread = worker.kernel_thread.load(Ordering::Relaxed);
        let is_blocked = || activity(thread) == Activity::Blocked;
        let stuck =
            seen.is_stuck(worker.switches(), processor_time(thread), patience(busy_spares), is_blocked);
        if worker.is_asleep() || worker.nothing_waits() {
            seen.waiting = 0;
            continue;
        }
        seen.waiting += 1;
        let stuck = stuck && worker.running().is_some();
        if stuck {
            if rescue(pool, worker) {
                (seen.waiting, seen.at_switch) = (0, seen.at_last);
            }
        } else if seen.waiting >= 2
            && let Some(helper) = workers[..pool.homes()].iter().find(|w| w.is_asleep())
        {
            helper.wake();
        }
    }
}

/// Moves the ranks that wait for a stuck worker. Returns whether that was possible.
fn rescue(pool: &'static Pool, stuck: &'static Worker) -> bool {
    let workers = pool_workers(pool);
    let sleeping = workers.iter().find(|w| w.is_asleep() && !core::ptr::eq(*w, stuck) && !w.has_substitute());
    let Some(target) = sleeping.or_else(|| pool.add_worker().ok()) else { return false };
    for worker in &workers[..pool.homes()] {
        let here = core::ptr::eq(worker, stuck);
        if here || (worker.has_substitute() && core::ptr::eq(worker.destination(), stuck)) {
            worker.set_substitute(Some(target));
        }
    }
    stuck.move_all(target)
}

fn pool_workers(pool: &'static Pool) -> &'static [Worker] {
    pool.all_workers()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a worker of `ticks` is judged: for each tick its switches, the microseconds it has used, and whether it is blocked.
    fn judged(ticks: &[(u32, u64, bool)]) -> Vec<bool> {
        let mut seen = Seen::default();
        let judge = |&(switches, used, blocked): &(u32, u64, bool)| {
            seen.is_stuck(switches, Duration::from_micros(used), patience(0), || blocked)
        };
        ticks.iter().map(judge).collect()
    }

    #[test]
    fn who_computes_is_stuck_after_some_processor_time() {
        let ticks = [(1, 100, false), (1, 2100, false), (1, 4050, false), (2, 6000, false), (2, 7000, false)];
        assert_eq!(judged(&ticks), [false, false, true, false, false]);
    }

    #[test]
    fn who_waits_for_a_core_is_not_stuck() {
        let mut ticks = vec![(1, 500, false); 20];
        assert!(!judged(&ticks).contains(&true));
        // Others leave it a quarter of a core.
        ticks.iter_mut().zip(0..).for_each(|(tick, n)| tick.1 = n * 500);
        assert_eq!(judged(&ticks).iter().position(|&stuck| stuck), Some(6));
    }

    #[test]
    fn who_is_blocked_is_stuck_unless_it_looks_now_and_then() {
        assert_eq!(judged(&[(1, 100, true), (1, 130, true), (1, 130, true)]), [false, false, true]);
        assert_eq!(judged(&[(1, 100, true), (1, 130, true), (1, 135, true), (1, 140, true)]), [false; 4]);
    }
}
