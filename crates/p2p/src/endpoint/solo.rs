//! What the only rank of a process does without atomic operations, as long as no other thread is in the library.
//!
//! A process with one rank has one thread that posts receives, takes what arrives and ends requests. In short [`Section`]s
//! it takes the lock of its endpoint and that of its free requests, completes receives and ends requests by plain loads and
//! stores; see [`weft_sync::Solo`] for how others are kept out.
//!
//! Who else comes: the thread that makes progress while the rank computes *visits* in what the device calls. Threads of
//! the program *meet*: the first time one of them locks, registers at an operation or ends a request, sections are over
//! for this process. So are they for a thread of ours that forgot to visit.
//!
//! A stream of 8 bytes between two processes took 75 ns a message without, and 61 with sections alone (EPYC, Zen 5, cores
//! near each other).
#![allow(unsafe_code)] // Passes on the contract of a lock that sections take.

use weft_sched::Thread;
use weft_sync::{Lock, LockGuard, Section, Solo, Visit};

static SOLO: Solo = Solo::new();

fn name(thread: &'static Thread) -> usize {
    core::ptr::from_ref(thread) as usize
}

/// Says that `thread` is that of the only rank this process will have. To be called before messages can arrive, once.
pub fn reserve(thread: &'static Thread) {
    SOLO.reserve(name(thread));
}

/// Begins a section of the calling thread, in which it calls nothing that begins another one or waits.
#[inline(always)]
pub(crate) fn enter() -> Section<'static> {
    SOLO.enter(name(weft_sched::current()))
}

/// Keeps the rank's thread out of sections while another thread of the library does its work.
#[inline(always)]
pub(crate) fn visit() -> Option<Visit<'static>> {
    SOLO.visit(|| name(weft_sched::current()))
}

/// To be called before an atomic operation outside of sections on what is also changed inside.
#[inline(always)]
pub(crate) fn meet() {
    SOLO.meet(|| name(weft_sched::current()));
}

/// Locks what sections lock: without an atomic operation inside one, after a meeting outside.
///
/// # Safety
/// The lock is taken by this function only.
#[inline(always)]
pub(crate) unsafe fn lock<'a, T>(lock: &'a Lock<T>, section: &Section<'_>) -> LockGuard<'a, T> {
    if section.is_inside() {
        // SAFETY: all others have met, by the caller's promise.
        return unsafe { lock.lock_in(section) };
    }
    meet();
    lock.lock()
}
