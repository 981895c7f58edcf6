//! Wake-ups that come from outside of the process: who looks for them, and where a process sleeps that has nothing to do.
//!
//! What brings them is a [`Source`], for instance a device that receives messages; this module knows no more of it than
//! that somebody must poll it. Without one nothing here runs.
//!
//! - A thread without a worker polls before it sleeps. One of them, the *guest*, sleeps in the source, and the others at their
//!   own words: all that sleep in the source wake up with each message and each wake-up of one of them. (Two hosts of 60
//!   threads on two cores so took 15 s for what takes less than one.) A guest that leaves sends back another, which takes its
//!   place when it parks again.
//! - A worker with nothing to run polls for a while. Then one of them, the *keeper*, sleeps in the source and the others at
//!   their own word. A keeper that has something to run wakes another worker that sleeps, so that the place is taken again.
//! - While all compute, a thread of its own looks now and then, so that messages that need no rank's help go on. It stays
//!   away while others poll: it would only take their core.
//!
//! Races closed:
//! - *Woken while falling asleep in the source*: whoever wakes a thread changes its word first and then wakes the source;
//!   the source asks for the word once its own wake-ups are not missed any more. A worker has in addition named itself
//!   keeper before that, a thread guest, and who wakes it looks for those after changing its word, both sequentially
//!   consistent.
//! - *The guest leaves while another goes to sleep at its word*: that one has entered the list before it looks for the guest,
//!   and the guest looks at the list after it has gone. Whoever leaves does so, because the one that was sent back may have
//!   something else to do.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use core::time::Duration;
use std::sync::OnceLock;

use weft_sync::Lock;
use weft_sys::process::spawn_apart;

use crate::census::{Polling, Traffic, Watch};
use crate::naps::PROGRESS;
use crate::pool::pool;
use crate::thread::Thread;

/// What brings wake-ups from outside of the process. All functions may be called by many threads at once.
pub trait Source: Sync {
    /// Looks whether something came, and does what is to be done about it. Returns whether there was anything.
    fn poll(&self) -> bool;

    /// Sleeps until something may have come, [`Source::wake`] is called, or the time is over; may return early. Once
    /// neither can be missed any more, asks `is_idle` whether to sleep at all.
    fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool);

    /// Wakes all who sleep in [`Source::sleep`]. Cheap if nobody does.
    fn wake(&self);

    /// Tells whether so much is on its way that who waits should sleep rather than look again and again.
    fn is_streaming(&self) -> bool {
        false
    }

    /// Counts the polls so far, by whomever; threads that poll at once may count as one. Nothing if that is not counted.
    fn polls(&self) -> Option<u32> {
        None
    }

    /// Returns what has come and gone so far, if nothing is on its way within this process, and nothing waits to be polled
    /// for. Nothing if that cannot be known.
    fn rest(&self) -> Option<Traffic> {
        None
    }
}

static SOURCE: OnceLock<&'static dyn Source> = OnceLock::new();
/// Other processes need the cores.
static CROWDED: AtomicBool = AtomicBool::new(false);
/// And a look in vain costs calls of the kernel.
static IS_DEAR: AtomicBool = AtomicBool::new(false);
/// The number of the worker that sleeps in the source, plus one.
static KEEPER: AtomicUsize = AtomicUsize::new(0);
/// The thread without a worker that sleeps in the source.
static GUEST: AtomicPtr<Thread> = AtomicPtr::new(core::ptr::null_mut());
/// Others that sleep, at their own words.
static OTHERS: Lock<Vec<&'static Thread>> = Lock::new(Vec::new());
/// See [`late_wakes`].
static LATE: AtomicU32 = AtomicU32::new(0);
/// How many threads sleep in the source.
static SERVING: AtomicU32 = AtomicU32::new(0);

/// A sleep in the source ends after this time at the latest, should anybody forget to wake.
const LIMIT: Duration = Duration::from_secs(1);

/// Says what brings wake-ups from outside, and whether the cores are `crowded`: taken by more processes of the job than
/// there are cores. Then who waits gives its core away before it looks again, and looks a few times only if each look is
/// `dear`, because it costs calls of the kernel. Once per process.
///
/// A process with a source reports no deadlock by itself: whether somebody elsewhere will still send, it cannot know. It
/// says when it rests; see [`on_rest`](crate::on_rest).
pub fn set_source(source: &'static dyn Source, crowded: bool, dear: bool) {
    if SOURCE.set(source).is_err() {
        return;
    }
    CROWDED.store(crowded, Ordering::Relaxed);
    IS_DEAR.store(crowded && dear, Ordering::Relaxed);
    if let Some(pool) = pool() {
        pool.expect_company();
    }
    // Without this thread messages wait until a rank is in the library; nothing else depends on it.
    let _ = spawn_apart("weft-progress", 256 << 10, progress);
}

/// Tells whether somebody polls for those who are parked: whether there is a source.
#[inline]
pub fn has_source() -> bool {
    source().is_some()
}

/// Returns the source.
#[inline]
pub(crate) fn source() -> Option<&'static dyn Source> {
    SOURCE.get().copied()
}

/// Tells whether who waits for something from outside should sleep at once.
#[inline]
pub(crate) fn is_streaming() -> bool {
    source().is_some_and(Source::is_streaming)
}

/// Tells whether other processes need the cores.
#[inline]
pub(crate) fn is_crowded() -> bool {
    CROWDED.load(Ordering::Relaxed)
}

/// Tells whether that is so, and each look takes much time from them.
#[inline]
pub(crate) fn is_dear() -> bool {
    IS_DEAR.load(Ordering::Relaxed)
}

/// Sleeps in the source while `is_idle`.
pub(crate) fn sleep(source: &dyn Source, is_idle: &dyn Fn() -> bool) {
    while is_idle() {
        if !Polling::poll(source) {
            SERVING.fetch_add(1, Ordering::Relaxed);
            source.sleep(LIMIT, is_idle);
            SERVING.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Counts the sleeps of threads without a worker, at their own words, that only the time has ended though there was reason
/// to wake up. Always zero, or a wake-up is lost; for tests.
pub fn late_wakes() -> u32 {
    LATE.load(Ordering::Relaxed)
}

/// As [`sleep`], for a thread without a worker: as the guest, or with `nap`, a sleep at its own word for a limited time,
/// which tells whether it was woken.
pub(crate) fn visit(
    source: &dyn Source,
    me: &'static Thread,
    is_idle: &dyn Fn() -> bool,
    nap: &dyn Fn(Duration) -> bool,
) {
    let pointer = core::ptr::from_ref(me).cast_mut();
    while is_idle() {
        let nobody = core::ptr::null_mut();
        if GUEST.compare_exchange(nobody, pointer, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            sleep(source, is_idle);
            GUEST.store(nobody, Ordering::SeqCst);
        } else {
            OTHERS.lock().push(me);
            let was_woken = GUEST.load(Ordering::SeqCst).is_null() || nap(LIMIT);
            if !was_woken && (!is_idle() || GUEST.load(Ordering::SeqCst).is_null()) {
                LATE.fetch_add(1, Ordering::Relaxed);
            }
            OTHERS.lock().retain(|other| !core::ptr::eq(*other, me));
        }
    }
    if GUEST.load(Ordering::SeqCst).is_null() {
        let next = OTHERS.lock().pop();
        next.into_iter().for_each(Thread::unpark);
    }
}

/// Wakes a thread without a worker, whose word has been changed, if it is the guest. Returns whether it is.
pub(crate) fn wake_guest(thread: &Thread) -> bool {
    fence(Ordering::SeqCst);
    let is_guest = core::ptr::eq(GUEST.load(Ordering::SeqCst), thread);
    if is_guest && let Some(source) = source() {
        source.wake();
    }
    is_guest
}

/// As [`sleep`], for a worker, if no other is the keeper. Returns false, without having slept, if one is.
pub(crate) fn keep(worker: usize, is_idle: &dyn Fn() -> bool) -> bool {
    let Some(source) = source() else { return false };
    if KEEPER.compare_exchange(0, worker + 1, Ordering::SeqCst, Ordering::Relaxed).is_err() {
        return false;
    }
    sleep(source, is_idle);
    KEEPER.store(0, Ordering::SeqCst);
    if let Some(pool) = pool() {
        pool.wake_successor(worker);
    }
    true
}

/// Wakes a worker, whose word has been changed, if it is the keeper. Returns whether it is: then it does not sleep at its
/// word before it has looked at that again.
pub(crate) fn wake_keeper(worker: usize) -> bool {
    let Some(source) = source().filter(|_| KEEPER.load(Ordering::SeqCst) == worker + 1) else { return false };
    source.wake();
    true
}

/// How often the progress thread looks, and how rarely when it finds nothing.
const OFTEN: Duration = Duration::from_millis(1);
const RARELY: Duration = Duration::from_millis(32);
/// How often while others poll and processes outnumber the cores. Each look takes the core from one that is waited for: with 32
/// processes on two cores a barrier takes 51 µs when each of them looks every millisecond, and 42 so.
const SELDOM: Duration = Duration::from_millis(16);
/// How many polls in vain end a stretch of work.
const IN_VAIN: u32 = 200;

/// Tells whether others have polled since the last call, during which the caller has polled `own` times.
fn others_polled(source: &dyn Source, seen: &mut Option<u32>, own: u32) -> bool {
    let before = core::mem::replace(seen, source.polls());
    *seen != before.map(|before| before.wrapping_add(own))
}

/// Polls while nobody else has time to.
fn progress() {
    let Some(source) = source() else { return };
    let mut pause = OFTEN;
    let mut watch = Watch::default();
    let mut seen = source.polls();
    loop {
        PROGRESS.nap(pause);
        let mut found = false;
        if SERVING.load(Ordering::Relaxed) == 0 {
            if others_polled(source, &mut seen, 0) {
                pause = if is_crowded() { SELDOM } else { OFTEN };
                continue;
            }
            let mut vain = 0;
            while vain < IN_VAIN {
                let moved = Polling::poll(source);
                found |= moved;
                if others_polled(source, &mut seen, 1) {
                    break;
                }
                if moved {
                    vain = 0;
                } else if !found {
                    break;
                } else {
                    vain += 1;
                    core::hint::spin_loop();
                }
            }
        }
        pause = if found { OFTEN } else { (pause * 2).min(RARELY) };
        if found {
            watch.disturbed();
        } else if pause == RARELY {
            watch.look();
        }
    }
}
