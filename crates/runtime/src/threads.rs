//! Ranks as threads of the scheduler.
#![allow(unsafe_code)] // Waits for the end of the process in a thread that must not go on.

use std::sync::OnceLock;
use weft_base::job::{Job, RankState};
use weft_base::settings;
use weft_mpi::process::Process;
use weft_sched::{Config, Life, Place, Scheduler, Thread};
use weft_sys::cpu;

/// The processors this process may use: those of threads that ranks create, which must not stay where their
/// creator's worker is bound.
static PROCESSORS: OnceLock<Vec<usize>> = OnceLock::new();

/// Tells whether each rank runs on a kernel thread of its own.
pub fn uses_kernel_scheduler() -> bool {
    settings::SCHEDULER.get() == 1
}

/// Starts the scheduler for this process's ranks. Until [`loaded`] is called, ranks that all wait are no deadlock: more may come.
///
/// # Errors
/// Says which limit of the system stands in the way.
pub fn start(job: &Job, own: &[u32]) -> Result<(), String> {
    let _ = PROCESSORS.set(cpu::affinity().unwrap_or_default());
    let config = Config {
        ranks: own.len() as u32,
        numbers: if own.len() as u32 == job.ranks() { Vec::new() } else { own.to_vec() },
        workers: settings::WORKERS.get() as usize,
        scheduler: if uses_kernel_scheduler() { Scheduler::Kernel } else { Scheduler::Auto },
        stack_size: settings::STACK.get() as usize,
        bind: job.bind,
        on_worker_start: || {
            // Without it a crash is still reported, but for a stack overflow.
            let _ = weft_diagnose::install_alternate_stack();
        },
        ..Config::default()
    };
    weft_sched::start(config).map_err(|error| error.to_string())?;
    weft_sched::expect_events(true);
    Ok(())
}

/// Says that all ranks have been spawned.
pub fn loaded() {
    weft_sched::expect_events(false);
}

/// Lets a rank begin.
///
/// # Errors
/// Says which limit of the system stands in the way.
pub fn spawn(rank: u32, entry: Box<dyn FnOnce() + Send>) -> Result<(), String> {
    weft_sched::spawn_rank(rank, entry).map_err(|error| error.to_string())
}

/// Makes the calling thread one of its creator's rank.
pub fn inherit(creator: &'static Thread) {
    weft_sched::inherit(creator);
    weft_sched::withdraw(creator);
    if let Some(processors) = PROCESSORS.get().filter(|processors| !processors.is_empty()) {
        // A refusal leaves the thread where it is, which is no error.
        let _ = cpu::bind(processors);
    }
}

/// Ends the calling thread of a rank that has ended.
pub fn finish(is_main: bool) -> ! {
    if is_main {
        weft_sched::finish_current_rank()
    }
    loop {
        // SAFETY: waits for the end of the process. Returning to the program that called `exit` is no choice.
        unsafe { libc::pause() };
    }
}

/// Returns the calling thread's rank; safe in a signal handler.
pub fn rank_in_handler() -> u32 {
    weft_sched::known().map_or(weft_sched::NO_RANK, Thread::rank)
}

/// Tells whether the calling thread's stack overflowed: nothing but the guard at its lower end refuses access, and no
/// function but one too deep has its stack pointer below.
pub fn overflowed(address: usize, stack_pointer: usize) -> Option<(usize, usize)> {
    let stack = weft_sched::known()?.stack();
    let below = stack.start.saturating_sub(stack.len())..stack.start;
    let is_overflow = stack.contains(&address) || below.contains(&stack_pointer);
    (is_overflow && !stack.is_empty()).then_some((stack.start, stack.len()))
}

/// Says what a rank is doing whose own thread this is; `in_full`, if it waits for ever, all that is known of that.
pub fn state_of(rank: u32, thread: &'static Thread, in_full: bool) -> RankState {
    let place = crate::findings::place_of(thread);
    let mut state = RankState { rank, state: describe(thread), place, waits: None };
    let process: *const Process = thread.process().cast();
    // SAFETY: null, or a process, which lives for ever.
    if in_full && let Some(process) = unsafe { process.as_ref() } {
        let waits = |thread: &&'static Thread| !thread.is_running() && !thread.call().is_empty();
        let outside = if thread.is_running() { thread.place_outside() } else { None };
        let own = Some(thread).filter(|thread| thread.life() != Life::Ended && waits(thread));
        let others = weft_sched::foreign_threads_of(rank).into_iter().filter(|t| !core::ptr::eq(*t, thread));
        let threads: Vec<_> = own.into_iter().chain(others).filter(waits).collect();
        let mut knowledge = weft_mpi::reports::waiting::describe(process, &threads);
        for (call, thread) in knowledge.calls.iter_mut().zip(&threads) {
            // SAFETY: the thread waits for ever, or the rank would not be described in full.
            call.place = unsafe { crate::findings::place_on_stack(thread) };
        }
        for other in knowledge.calls.iter_mut().filter(|_| outside.is_some()) {
            other.call = match outside {
                Some(Place::Join(_)) => format!("pthread_join for its thread, which waits in {}", other.call),
                _ => format!("{} (in a thread; its own waits outside of MPI)", other.call),
            };
        }
        state.waits = Some(Box::new(knowledge));
    }
    state
}

/// Says what a rank's thread is doing. The record of a program's own first thread is never begun.
fn describe(thread: &'static Thread) -> String {
    match thread.life() {
        Life::New if thread.call().is_empty() => "is being loaded".into(),
        Life::Ended => "has ended".into(),
        Life::New | Life::Alive => describe_alive(thread),
    }
}

/// Says what a rank's thread is doing that is there.
fn describe_alive(thread: &'static Thread) -> String {
    let call = thread.call();
    if thread.is_running()
        && let Some(place) = thread.place_outside()
    {
        return describe_outside(place);
    }
    match (thread.is_running(), call.is_empty()) {
        (true, true) => "runs, and has called no MPI function yet".into(),
        (true, false) => format!("runs; its last MPI call is {call}"),
        (false, true) => "waits for its turn to run".into(),
        (false, false) => format!("waits in {call}"),
    }
}

/// Says what a thread does that sleeps outside of the library.
fn describe_outside(place: Place) -> String {
    match place {
        Place::Join(Some(thread)) if !thread.is_running() && !thread.call().is_empty() => {
            format!("waits in pthread_join for its thread, which waits in {}", thread.call())
        }
        Place::Join(_) => "waits in pthread_join for its thread".into(),
        Place::Futex => "waits outside of MPI, at a lock or for another thread".into(),
    }
}
