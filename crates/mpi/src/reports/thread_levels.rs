//! Checking mode: whether the threads that call MPI are those that the program has said it has.
//!
//! The library always provides `MPI_THREAD_MULTIPLE`, so a program that requires less and does more works here; elsewhere it
//! need not. What is reported has happened: a call of a thread that may make none, or two calls at once. A call lasts from
//! [`enter`] to [`leave`], both of which are inside of the exported function, so calls of which one begins after the other has
//! returned are never taken for calls at once.

use crate::process::Process;
use core::cell::Cell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use weft_base::constants::*;
use weft_base::finding::Finding;
use weft_base::settings::is_checking;
use weft_base::site::{self, Site};
use weft_sched::Thread;

/// No level is required so far.
const NONE: c_int = c_int::MIN;

/// The levels and their names.
const LEVELS: [(c_int, &str); 4] = [
    (MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"),
    (MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"),
    (MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"),
    (MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"),
];

/// Calls that every thread may make at any time, or that harm nobody: by the beginnings of their names.
const FREE: &[&str] = &[
    "MPI_Abi_",
    "MPI_Abort",
    "MPI_Add_error_",
    "MPI_Aint_",
    "MPI_Errhandler_",
    "MPI_Error_",
    "MPI_Finalized",
    "MPI_Get_library_version",
    "MPI_Get_version",
    "MPI_Info_",
    "MPI_Init",
    "MPI_Is_thread_main",
    "MPI_Query_thread",
    "MPI_Remove_error_",
    "MPI_Session_",
    "MPI_T_",
    "MPI_Wti",
];

/// The threads of a rank that are in a call.
pub(crate) struct Callers {
    /// The highest level that the program has required.
    level: AtomicI32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The thread that has required a level first, and where the highest one was required.
    main: Option<&'static Thread>,
    required: Option<&'static Site>,
    inside: Vec<(&'static Thread, &'static Site)>,
}

impl Default for Callers {
    fn default() -> Self {
        Self { level: AtomicI32::new(NONE), state: Mutex::default() }
    }
}

thread_local! {
    /// How many calls the thread is in: callbacks of the program may make calls, too.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

impl Callers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the level of a name, as info objects have it.
pub(crate) fn of_name(name: &str) -> Option<c_int> {
    LEVELS.iter().find(|(_, known)| *known == name).map(|(level, _)| *level)
}

/// Tells whether there is such a level.
pub(crate) fn exists(level: c_int) -> bool {
    LEVELS.iter().any(|(known, _)| *known == level)
}

/// Notes a level that the calling thread has required for its rank. Of several, of the world model and of sessions, the highest
/// counts.
pub(crate) fn require(process: &Process, level: c_int) {
    if is_checking() {
        let mut state = process.callers.lock();
        state.main.get_or_insert(weft_sched::current());
        if level > process.callers.level.load(Ordering::Relaxed) {
            process.callers.level.store(level, Ordering::Relaxed);
            state.required = site::current();
        }
    }
}

/// Notes that the calling thread begins a call, and reports what its rank's level does not allow. [`leave`] ends the call.
pub fn enter(site: &'static Site) {
    let depth = DEPTH.replace(DEPTH.get() + 1);
    let Some(process) = Process::known() else { return };
    let level = process.callers.level.load(Ordering::Relaxed);
    if depth > 0 || [NONE, MPI_THREAD_MULTIPLE].contains(&level) || is_free(site.call) {
        return;
    }
    let me = weft_sched::current();
    let mut state = process.callers.lock();
    let found = if level < MPI_THREAD_SERIALIZED {
        let is_other = state.main.is_some_and(|main| !core::ptr::eq(main, me));
        is_other.then(|| of_another_thread(process, level, site))
    } else {
        let other = state.inside.iter().find(|(thread, _)| !core::ptr::eq(*thread, me));
        let found = other.map(|(_, other)| at_once(process, site, other));
        state.inside.push((me, site));
        found
    };
    let required = state.required;
    drop(state);
    if let Some(found) = found {
        found.call("the level was required", required).report();
    }
}

/// Notes that the calling thread ends a call.
pub fn leave() {
    let depth = DEPTH.get().saturating_sub(1);
    DEPTH.set(depth);
    let Some(process) = Process::known() else { return };
    if depth == 0 && process.callers.level.load(Ordering::Relaxed) == MPI_THREAD_SERIALIZED {
        let me = weft_sched::current();
        process.callers.lock().inside.retain(|(thread, _)| !core::ptr::eq(*thread, me));
    }
}

fn is_free(call: &str) -> bool {
    FREE.iter().any(|start| call.starts_with(start))
}

fn of_another_thread(process: &Process, level: c_int, site: &'static Site) -> Finding {
    let message = if level == MPI_THREAD_SINGLE {
        "a second thread calls MPI, but the program has required MPI_THREAD_SINGLE, as MPI_Init does, and so may have one \
         thread only; call MPI_Init_thread with MPI_THREAD_SERIALIZED, or with MPI_THREAD_MULTIPLE if threads call at once"
    } else {
        "a thread calls MPI that is not the main one, but the program has required MPI_THREAD_FUNNELED, which lets only the \
         thread call that has initialised MPI; require MPI_THREAD_SERIALIZED, or MPI_THREAD_MULTIPLE if threads call at once"
    };
    Finding::new(process.world_rank, message).call("called by the other thread", Some(site))
}

fn at_once(process: &Process, one: &'static Site, other: &'static Site) -> Finding {
    let message = "two threads call MPI at once, but the program has required MPI_THREAD_SERIALIZED, with which only one may at a \
                   time; let a lock keep them apart, or require MPI_THREAD_MULTIPLE";
    // Either may be the first; what is found is the same.
    let [one, other] = if other.address < one.address { [other, one] } else { [one, other] };
    let finding = Finding::new(process.world_rank, message);
    finding.call("one thread is", Some(one)).call("the other is", Some(other))
}
