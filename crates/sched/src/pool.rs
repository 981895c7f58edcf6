//! The scheduler of this process: its workers, its ranks, and their start and end.
#![allow(unsafe_code)] // Creates kernel threads with stacks of ours, which the standard library cannot.

use core::ffi::c_void;
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::io;

use weft_base::constants::{MPI_ERR_INTERN, MPI_ERR_NO_MEM, MPI_ERR_SPAWN};
use weft_base::{Error, Result};
use weft_sync::queue::Chain;
use weft_sync::{CachePadded, Lock};
use weft_sys::{cpu, futex, process};

use crate::context;
use crate::foreign;
use crate::idle;
use crate::limits;
use crate::monitor;
use crate::stacks::Stacks;
use crate::thread::{Life, Thread, current};
use crate::worker::Worker;

/// How ranks are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scheduler {
    /// On workers where the processor and the kernel permit it, else on kernel threads.
    #[default]
    Auto,
    /// On workers: a switch costs nanoseconds.
    User,
    /// Each rank on its own kernel thread.
    Kernel,
}

/// What [`start`] needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// How many ranks this process will have.
    pub ranks: u32,
    /// Their numbers, ascending; empty if they are numbered from 0.
    pub numbers: Vec<u32>,
    /// How many workers; 0 for one per core that may be used, at most one per rank.
    pub workers: usize,
    /// How ranks are run.
    pub scheduler: Scheduler,
    /// The size of a rank's stack in bytes; 0 for the soft limit of stack size, or 8 MiB if there is none.
    pub stack_size: usize,
    /// Binds each worker to a core of its own.
    pub bind: bool,
    /// Runs first on each kernel thread that runs ranks (for an alternate signal stack).
    pub on_worker_start: fn(),
    /// Runs in a rank that ends, last thing.
    pub on_rank_end: fn(u32),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ranks: 1,
            numbers: Vec::new(),
            workers: 0,
            scheduler: Scheduler::Auto,
            stack_size: 0,
            bind: false,
            on_worker_start: || {},
            on_rank_end: |_| {},
        }
    }
}

/// The largest number of spare workers the monitor may add.
const SPARES: usize = 256;
const DEFAULT_STACK: usize = 8 << 20;
/// The stack of a worker's idle context, which calls little.
const WORKER_STACK: usize = 128 * 1024;

pub(crate) struct Pool {
    threads: Box<[Thread]>,
    /// Homes, then spares. Only those before `started` have a kernel thread.
    workers: Box<[Worker]>,
    homes: usize,
    pub(crate) started: AtomicU32,
    stacks: Option<Stacks>,
    config: Config,
    processors: Vec<usize>,
    /// Ranks spawned and not ended; a futex.
    alive: AtomicU32,
    pub(crate) asleep: CachePadded<AtomicU32>,
    pub(crate) monitor: monitor::Word,
}

static POOL: AtomicPtr<Pool> = AtomicPtr::new(core::ptr::null_mut());

#[inline]
pub(crate) fn pool() -> Option<&'static Pool> {
    // SAFETY: null or leaked by `start`.
    unsafe { POOL.load(Ordering::Acquire).as_ref() }
}

fn started_pool() -> Result<&'static Pool> {
    pool().ok_or_else(|| Error::new(MPI_ERR_INTERN, "the scheduler has not been started: call start first"))
}

/// Returns home worker `index`.
///
/// # Panics
/// If the scheduler has not been started.
#[inline]
pub(crate) fn home(index: usize) -> &'static Worker {
    let pool = pool().expect("a rank in a wait set exists, so the scheduler does");
    &pool.workers[index % pool.homes]
}

/// Starts the scheduler with its workers. Once per process.
///
/// # Errors
/// MPI_ERR_INTERN if it has been started before or the user-level scheduler is asked for where it cannot work,
/// MPI_ERR_NO_MEM or MPI_ERR_SPAWN if a limit of the system stands in the way; the message names it.
pub fn start(config: Config) -> Result {
    static STARTING: Lock<()> = Lock::new(());
    let _once = STARTING.lock();
    if pool().is_some() {
        return Err(Error::new(MPI_ERR_INTERN, "the scheduler has been started already"));
    }
    let possible = cpu::can_switch_thread_pointer();
    if config.scheduler == Scheduler::User && !possible {
        return Err(Error::new(
            MPI_ERR_INTERN,
            "the user-level scheduler needs the wrfsbase instruction and Linux 5.9; use the kernel scheduler",
        ));
    }
    let user = possible && config.scheduler != Scheduler::Kernel;
    let processors = cpu::affinity().unwrap_or_else(|_| vec![0]);
    let cores = weft_machine::usable_cores().max(1);
    let homes = match (user, config.workers) {
        (false, _) => 0,
        (true, 0) => cores.min(config.ranks.max(1) as usize),
        (true, n) => n,
    };
    let ranks = config.ranks as usize;
    let stack_size = match config.stack_size {
        0 => process::stack_limit().unwrap_or(DEFAULT_STACK).min(1 << 30),
        size => size,
    };
    let stacks = Stacks::reserve(ranks, stack_size).map_err(|e| limits::no_stacks(ranks, stack_size, &e))?;
    weft_sync::enable_global_barrier();
    weft_sys::clock::ticks_per_us();

    let spares = if user { SPARES.min(ranks) } else { 0 };
    let mut pool = Pool {
        threads: Box::default(),
        workers: (0..homes + spares).map(|i| Worker::new(i, i < homes, ranks / homes.max(1))).collect(),
        homes,
        started: AtomicU32::new(0),
        stacks: Some(stacks),
        config,
        processors,
        alive: AtomicU32::new(0),
        asleep: CachePadded(AtomicU32::new(0)),
        monitor: monitor::Word::default(),
    };
    // SAFETY: the workers are in a box that is leaked below and never moved or freed.
    let workers: &'static [Worker] = unsafe { &*core::ptr::from_ref::<[Worker]>(&pool.workers) };
    pool.threads = (0..ranks)
        .map(|index| {
            let home = (homes > 0).then(|| &workers[index * homes / ranks]);
            let rank = pool.config.numbers.get(index).copied().unwrap_or(index as u32);
            Thread::new(rank, home.map_or(0, |h| h.index as u32), home)
        })
        .collect();
    let pool: &'static Pool = Box::leak(Box::new(pool));
    for worker in workers {
        worker.set_several(homes > 1 || idle::source().is_some());
    }
    for _ in 0..homes {
        pool.add_worker()?;
    }
    let made = std::thread::Builder::new().name("weft-monitor".into()).stack_size(WORKER_STACK);
    made.spawn(move || if user { monitor::run(pool) } else { monitor::watch(pool) })
        .map_err(|e| limits::no_thread("the monitor", &e))?;
    let taken = if user { homes } else { ranks };
    foreign::set_room(cores as i32 - taken as i32);
    POOL.store(core::ptr::from_ref(pool).cast_mut(), Ordering::Release);
    Ok(())
}

impl Pool {
    /// Starts the kernel thread of the next worker that has none.
    ///
    /// # Errors
    /// MPI_ERR_SPAWN, with the limit that was hit.
    pub(crate) fn add_worker(&'static self) -> Result<&'static Worker> {
        let index = self.started.load(Ordering::Relaxed) as usize;
        let worker = self
            .workers
            .get(index)
            .ok_or_else(|| Error::new(MPI_ERR_SPAWN, "no more spare workers are allowed"))?;
        std::thread::Builder::new()
            .name(format!("weft-worker-{index}"))
            .stack_size(WORKER_STACK)
            .spawn(move || {
                if self.config.bind && worker.is_home {
                    // A refusal leaves the worker where the kernel puts it, which is no error.
                    let _ = cpu::bind(&[self.processors[index % self.processors.len()]]);
                }
                (self.config.on_worker_start)();
                worker.run(self)
            })
            .map_err(|e| limits::no_thread("a worker", &e))?;
        self.started.store(index as u32 + 1, Ordering::Release);
        Ok(worker)
    }

    /// Returns the workers that have a kernel thread: homes first, then spares.
    pub(crate) fn all_workers(&self) -> &[Worker] {
        &self.workers[..self.started.load(Ordering::Acquire) as usize]
    }

    pub(crate) fn homes(&self) -> usize {
        self.homes
    }

    pub(crate) fn alive(&self) -> u32 {
        self.alive.load(Ordering::Acquire)
    }

    /// Returns the place of a rank among those of this process.
    #[inline]
    fn index_of(&self, rank: u32) -> Option<usize> {
        let numbers = &self.config.numbers;
        if numbers.is_empty() { Some(rank as usize) } else { numbers.binary_search(&rank).ok() }
            .filter(|&index| index < self.threads.len())
    }

    pub(crate) fn threads(&'static self) -> &'static [Thread] {
        &self.threads
    }

    /// Tells the workers that what they wait for may come from another process.
    pub(crate) fn expect_company(&self) {
        self.workers.iter().for_each(|worker| worker.set_several(true));
    }

    /// Wakes a home worker that sleeps, other than the given one, so that it sleeps where wake-ups from outside come.
    pub(crate) fn wake_successor(&self, left: usize) {
        let sleeper = self.workers[..self.homes].iter().find(|w| w.index != left && w.is_asleep());
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
    }

    pub(crate) fn worker_sleeps(&self) {
        self.asleep.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn worker_wakes(&self) {
        self.asleep.fetch_sub(1, Ordering::SeqCst);
        self.monitor.wake();
    }
}

/// Creates rank `rank` and lets it run `entry`. Returns before it ends; see [`wait_for_ranks`].
///
/// # Errors
/// MPI_ERR_INTERN if there is no such rank or it exists already; MPI_ERR_SPAWN or MPI_ERR_NO_MEM if a limit of the
/// system stands in the way: the message names it and says how to lift it.
pub fn spawn_rank(rank: u32, entry: Box<dyn FnOnce() + Send>) -> Result {
    let pool = started_pool()?;
    let missing = || Error::new(MPI_ERR_INTERN, format!("rank {rank} does not exist or was created before"));
    let index = pool.index_of(rank).ok_or_else(missing)?;
    let thread = Some(&pool.threads[index]).filter(|t| t.life() == Life::New).ok_or_else(missing)?;
    let stacks = pool.stacks.as_ref().expect("reserved at the start");
    let (whole, usable) = stacks
        .prepare(index)
        .map_err(|e| Error::new(MPI_ERR_NO_MEM, format!("cannot guard the stack of rank {rank}: {e}")))?;
    thread.set_stack(whole);
    // SAFETY: the rank does not exist yet, so nobody else touches its entry.
    unsafe { *thread.entry.get() = Some(entry) };
    thread.set_life(Life::Alive);
    pool.alive.fetch_add(1, Ordering::AcqRel);
    // The kernel thread of a rank on workers sleeps for ever on a stack that is in use: no signal may wake it.
    let blocked = thread.on_workers.then(process::SignalsBlocked::new);
    let made = create_kernel_thread(usable, thread);
    drop(blocked);
    made.map_err(|e| {
        thread.set_life(Life::New);
        pool.alive.fetch_sub(1, Ordering::AcqRel);
        limits::no_thread(&format!("rank {rank} of {}", pool.config.ranks), &e)
    })
}

fn create_kernel_thread(stack: Range<usize>, thread: &'static Thread) -> io::Result<()> {
    // SAFETY: the attribute is initialised before use and destroyed after; the stack is ours, unused, and stays mapped.
    let error = unsafe {
        let mut attributes = core::mem::zeroed();
        let mut id = core::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        let mut error = libc::pthread_attr_setstack(&mut attributes, stack.start as *mut c_void, stack.len());
        if error == 0 {
            let detached = libc::PTHREAD_CREATE_DETACHED;
            libc::pthread_attr_setdetachstate(&mut attributes, detached);
            let argument = core::ptr::from_ref(thread).cast_mut().cast();
            error = libc::pthread_create(&mut id, &attributes, rank_main, argument);
        }
        libc::pthread_attr_destroy(&mut attributes);
        error
    };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

extern "C" fn rank_main(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `create_kernel_thread` passes a `&'static Thread`.
    let me: &'static Thread = unsafe { &*argument.cast::<Thread>() };
    me.bind();
    match me.home_worker {
        Some(home) => {
            home.destination().send(Chain::one(me));
            // SAFETY: the creator blocked all signals, and this kernel thread runs the rank's context.
            unsafe { context::detach(&me.context) };
        }
        None => {
            if let Some(pool) = pool() {
                (pool.config.on_worker_start)();
            }
        }
    }
    // SAFETY: written before this thread was created, and taken only here.
    if let Some(entry) = unsafe { (*me.entry.get()).take() } {
        entry();
    }
    finish_current_rank()
}

/// Ends the calling rank: its thread never runs again. Runs the callback of [`Config::on_rank_end`] first.
///
/// # Panics
/// If the caller is no rank's own thread.
pub fn finish_current_rank() -> ! {
    let me = current();
    let pool = pool().expect("a rank exists, so the scheduler does");
    assert!(pool.threads.as_ptr_range().contains(&core::ptr::from_ref(me)), "not a rank's own thread");
    (pool.config.on_rank_end)(me.rank());
    me.set_life(Life::Ended);
    if pool.alive.fetch_sub(1, Ordering::AcqRel) == 1 {
        futex::wake(&pool.alive, u32::MAX);
    }
    loop {
        match me.worker() {
            // In no queue, and never parked again, so nobody resumes it.
            Some(worker) => worker.leave(me),
            None => process::sleep_for_ever(),
        }
    }
}

/// Waits until every rank that was spawned has ended. For a kernel thread that is no rank.
pub fn wait_for_ranks() {
    let Some(pool) = pool() else { return };
    loop {
        let alive = pool.alive();
        if alive == 0 {
            return;
        }
        futex::wait(&pool.alive, alive);
    }
}

/// Returns how many workers are home to ranks; 0 before [`start`] and under the kernel scheduler.
#[inline]
pub fn workers() -> usize {
    pool().map_or(0, |p| p.homes)
}

/// Returns the number of the worker that rank `rank` is at home on; 0 if there are no workers or it is no rank of this process.
pub fn home_worker(rank: u32) -> usize {
    thread_of(rank).map_or(0, |t| t.home as usize)
}

/// Returns the processors that rank `rank` may run on: the one its home worker is bound to, or else all that the process
/// was given. A worker with nothing to do may still take a rank of another for a while.
pub fn processors(rank: u32) -> Vec<usize> {
    let Some(pool) = pool() else { return cpu::affinity().unwrap_or_default() };
    if pool.config.bind && pool.homes > 0 && !pool.processors.is_empty() {
        return vec![pool.processors[home_worker(rank) % pool.processors.len()]];
    }
    pool.processors.clone()
}

/// Lets code run from the ranks' stacks, which programs with nested functions need. To be called after [`start`] and before
/// the first rank is spawned.
///
/// # Errors
/// What the kernel says.
pub fn allow_executable_stacks() -> std::io::Result<()> {
    pool().and_then(|pool| pool.stacks.as_ref()).map_or(Ok(()), Stacks::allow_execution)
}

/// Returns how many memory mappings a rank's thread takes, at most: two for a guard that splits the mapping of all stacks,
/// and one for the alternate signal stack of a kernel thread of its own.
pub fn mappings_per_rank() -> u64 {
    let has_kernel_thread = pool().is_some_and(|pool| pool.homes == 0);
    2 * u64::from(weft_sys::memory::guards_split()) + u64::from(has_kernel_thread)
}

/// Returns the thread of rank `rank`, if it is one of this process's.
#[inline]
pub fn thread_of(rank: u32) -> Option<&'static Thread> {
    let pool = pool()?;
    pool.index_of(rank).map(|index| &pool.threads()[index])
}

/// Returns the threads of this process's ranks, in order. Async-signal-safe.
pub fn threads() -> &'static [Thread] {
    pool().map_or(&[], |p| p.threads())
}

/// Calls `report` once, from a thread of the scheduler, when every rank that has not ended waits in the library, every
/// foreign thread that belongs to a rank does too, and [`expect_events`] has not announced others who could wake one.
/// Nothing can then happen any more.
pub fn on_deadlock(report: fn()) {
    monitor::set_report(report);
}

/// Announces (`true`) or withdraws (`false`) a source of wake-ups that is no rank: a network thread, a timer, the main
/// thread. Announcements count.
pub fn expect_events(expected: bool) {
    monitor::expect(expected);
}
