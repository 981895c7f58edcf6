//! Kernel threads that are no ranks: they wait on a futex, and may belong to the rank that created them.
#![allow(unsafe_code)] // A thread-exit hook of the C library gets the thread's record as a pointer.

use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::collections::HashSet;
use std::sync::OnceLock;

use weft_sync::Lock;

use crate::context;
use crate::outside::Outside;
use crate::thread::{Life, NO_RANK, Thread};

/// Records of threads that ended, for reuse. A late wake-up of the old owner is an early return for the new one.
static FREE: Lock<Vec<&'static Thread>> = Lock::new(Vec::new());
/// All records ever made.
static ALL: Lock<Vec<&'static Thread>> = Lock::new(Vec::new());
/// How many such threads belong to a rank now.
static BELONGING: AtomicU32 = AtomicU32::new(0);
/// Whether there ever was one.
static ANNOUNCED: AtomicBool = AtomicBool::new(false);
/// How many cores are left for them beside the workers, or beside the ranks if those have kernel threads of their own.
static ROOM: AtomicI32 = AtomicI32::new(i32::MAX);

/// Gives the calling kernel thread a record.
#[cold]
#[inline(never)]
pub(crate) fn adopt() -> &'static Thread {
    let reused = FREE.lock().pop();
    let thread = reused.unwrap_or_else(|| {
        let new: &'static Thread = Box::leak(Box::new(Thread::new(NO_RANK, 0, None)));
        ALL.lock().push(new);
        new
    });
    thread.set_process(NO_RANK, core::ptr::null_mut());
    thread.bind();
    if let Some(key) = exit_key() {
        // SAFETY: the key exists; the value is a record that lives for ever.
        unsafe { libc::pthread_setspecific(key, core::ptr::from_ref(thread).cast()) };
    }
    thread
}

fn exit_key() -> Option<libc::pthread_key_t> {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `key` is a valid place; `ended` has the right signature.
        (unsafe { libc::pthread_key_create(&mut key, Some(ended)) } == 0).then_some(key)
    })
}

unsafe extern "C" fn ended(record: *mut libc::c_void) {
    // SAFETY: only `adopt` sets the value.
    let thread = unsafe { &*record.cast::<Thread>() };
    context::set_current(core::ptr::null());
    // Alive: counted by `inherit`. A thread attached by other means was not.
    if thread.life() == Life::Alive {
        BELONGING.fetch_sub(1, Ordering::Relaxed);
        thread.set_life(Life::New);
    }
    thread.set_process(NO_RANK, core::ptr::null_mut());
    FREE.lock().push(thread);
}

/// Makes the calling kernel thread belong to `parent`'s rank. For a wrapper of `pthread_create`, first thing in the
/// new thread.
pub fn inherit(parent: &'static Thread) {
    let me = crate::current();
    if me.on_workers {
        return; // A rank's own thread has its rank.
    }
    if me.life() == Life::New && parent.rank() != NO_RANK {
        BELONGING.fetch_add(1, Ordering::Relaxed);
        me.set_life(Life::Alive);
    }
    me.set_process(parent.rank(), parent.process());
}

/// Counts a kernel thread that `parent` is about to create among those of its rank, before it runs: until it has
/// called [`inherit`], nothing else says that a rank may still be helped.
pub fn announce(parent: &'static Thread) {
    if parent.rank() != NO_RANK {
        ANNOUNCED.store(true, Ordering::Relaxed);
        BELONGING.fetch_add(1, Ordering::Relaxed);
    }
}

/// Takes back [`announce`], once the new thread has called [`inherit`].
pub fn withdraw(parent: &'static Thread) {
    if parent.rank() != NO_RANK {
        BELONGING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Tells whether a rank ever announced a foreign thread. Before a rank's own thread does that, no other thread of the
/// rank is in the library, and from then on every thread of the rank sees it.
#[inline]
pub fn any_announced() -> bool {
    ANNOUNCED.load(Ordering::Relaxed)
}

/// Notes how many cores the workers, or the ranks that need none, leave; negative if they are too few for those.
pub(crate) fn set_room(cores: i32) {
    ROOM.store(cores, Ordering::Relaxed);
}

/// Tells whether there are more threads than cores, as far as this module knows them. Then who spins keeps somebody
/// from running, perhaps the one it waits for.
#[inline]
pub fn is_crowded() -> bool {
    BELONGING.load(Ordering::Relaxed) as i32 > ROOM.load(Ordering::Relaxed) || crate::idle::is_crowded()
}

/// Returns the foreign threads that belong to any rank; `None` if one is only announced so far.
pub fn foreign_threads() -> Option<Vec<&'static Thread>> {
    let all = ALL.lock().clone();
    let belonging = BELONGING.load(Ordering::SeqCst);
    let found: Vec<_> = all.into_iter().filter(|thread| thread.life() == Life::Alive).collect();
    (found.len() == belonging as usize).then_some(found)
}

/// Returns the foreign threads that belong to a rank.
pub fn foreign_threads_of(rank: u32) -> Vec<&'static Thread> {
    let all = ALL.lock().clone();
    all.into_iter().filter(|thread| thread.life() == Life::Alive && thread.rank() == rank).collect()
}

/// Tells whether a foreign thread belongs to a rank.
pub(crate) fn any_belong() -> bool {
    BELONGING.load(Ordering::SeqCst) > 0
}

/// Returns the thread of this number.
pub(crate) fn with_kernel_thread(id: u32) -> Option<&'static Thread> {
    ALL.lock().iter().copied().find(|thread| thread.kernel_thread() == id)
}

/// Adds the sleeps of all threads that are in one, whoever they belong to.
pub(crate) fn all_sleeps(found: &mut Vec<(*const Thread, u32)>, known: &mut HashSet<u32>) {
    let all = ALL.lock().clone();
    for thread in all {
        if let Some(sleep) = thread.sleep() {
            found.push((thread, sleep));
            known.insert(thread.kernel_thread());
        }
    }
}

/// Adds the sleep each foreign thread that belongs to a rank is in, here or outside of the library. Returns false if one does
/// not sleep, or is only announced so far.
pub(crate) fn sleeps(
    found: &mut Vec<(*const Thread, u32)>,
    known: &mut HashSet<u32>,
    outside: &mut Outside,
) -> bool {
    let all = ALL.lock().clone();
    let belonging = BELONGING.load(Ordering::SeqCst);
    let mut seen = 0;
    for thread in all.into_iter().filter(|thread| thread.life() == Life::Alive) {
        if let Some(sleep) = thread.sleep() {
            found.push((thread, sleep));
            known.insert(thread.kernel_thread());
        } else if !outside.add(thread.kernel_thread()) {
            return false;
        }
        seen += 1;
    }
    seen == belonging
}
