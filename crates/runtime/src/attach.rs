//! A program that is a node process of its own, with one rank: one that `mpirun` or another launcher started directly.
//!
//! The program finds its job when it first uses the library. What the launcher handed over is in the environment, and is
//! taken out of it, so that programs which this one starts are none of the job's.
#![allow(unsafe_code)] // Reads and changes the environment, and registers an exit handler.

use crate::findings;
use crate::handover::{self, Received};
use crate::leaving::{flush, leave_at_once};
use crate::node::sent;
use crate::pmi::{self, Launcher};
use crate::starter::Starter;
use core::ffi::{c_int, c_void};
use std::sync::OnceLock;
use weft_base::job::{HANDOVER, Job, Name, Named, Report, Secret, Spawn};
use weft_base::{finding, say, settings, site};
use weft_mpi::process::{INITIALIZED, Process};
use weft_pmi::environment;

struct Attached {
    job: Job,
    starter: &'static dyn Starter,
    /// The launcher, if it is not our `mpirun`.
    foreign: Option<&'static Launcher>,
    rank: u32,
    /// The number of this process.
    process: u32,
}

static ATTACHED: OnceLock<Attached> = OnceLock::new();

/// Prepares for the program's first use of the library, if it is a node process. Runs while the program is loaded, before
/// anything of its own, so that the end of the process is seen after all of the program's exit handlers.
pub fn prepare() {
    weft_mpi::process::host::set_spawner(crate::alone::spawn);
    let has = |name: &str| std::env::var_os(name).is_some();
    if !has(HANDOVER) && !environment::is_there(has) {
        return;
    }
    weft_mpi::process::host::set_finder(find);
    // SAFETY: the handler may run whenever the process exits.
    unsafe { on_exit(ending, core::ptr::null_mut()) };
}

unsafe extern "C" {
    fn on_exit(handler: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Tells the launcher how the rank ended, if it has used the library.
extern "C" fn ending(code: c_int, _: *mut c_void) {
    // A child that the program forked is no rank.
    let Some(attached) = ATTACHED.get().filter(|attached| attached.process == std::process::id()) else {
        return;
    };
    let code = code & 0xff;
    let process = Process::any();
    let missing = match process.phase() {
        INITIALIZED => Some(["MPI_Init", "MPI_Finalize"]),
        _ if process.live_sessions() > 0 => Some(["MPI_Session_init", "MPI_Session_finalize"]),
        _ => None,
    };
    weft_mpi::reports::checking::report_at_end(process);
    finding::tell_rest();
    let starter = attached.starter;
    match missing {
        None => {
            weft_mpi::jobs::nodes::leave();
            sent().iter().for_each(|report| starter.report(report));
            starter.report(&Report::Ended { code });
            starter.finished();
        }
        Some([begin, end]) => {
            let message = format!("exited with code {code} after {begin} but without {end}");
            let code = code.max(1);
            starter.report(&Report::RankFailed { rank: attached.rank, code, message });
            starter.end_job(code);
        }
    }
}

/// Finds the job; a program that cannot is told why, and ends.
fn find() -> Option<&'static dyn weft_mpi::process::host::Host> {
    let attached = match std::env::var(HANDOVER) {
        Ok(text) => text.parse().and_then(handover::receive).and_then(handed),
        Err(_) => match environment::find(|name| std::env::var(name).ok()) {
            Ok(None) => return None,
            Ok(Some(facts)) => pmi::join(&facts).and_then(joined),
            Err(message) => Err(message),
        },
    };
    // What the program's MPI would tell stays: our launcher has set it.
    let told = match &attached {
        Ok(attached) if attached.foreign.is_none() => attached.job.told(attached.rank),
        _ => Vec::new(),
    };
    let is_told = |name: &str| told.iter().any(|(known, _)| known == name);
    for name in environment::VARIABLES.iter().chain([&HANDOVER]).filter(|name| !is_told(name)) {
        // SAFETY: as for any program that changes its environment: the calling thread is in MPI_Init or a call like it.
        unsafe { std::env::remove_var(name) };
    }
    match attached {
        Ok(attached) => {
            if settings::is_checking() {
                // The call that looked for the job began before it was known that calls are noted.
                let thread = weft_sched::current();
                thread.set_call(&site::enter(thread.call()).call);
            }
            Some(attached)
        }
        Err(message) => {
            say!("weft: this program is part of a job, but cannot take part in it: {message}");
            leave_at_once(70)
        }
    }
}

/// Takes part in a job of `mpirun`.
fn handed(received: Received) -> Result<&'static Attached, String> {
    let Received { job, control, node } = received;
    let ranks = job.ranks_of(node);
    let [rank] = ranks[..] else {
        return Err(format!("it has one rank, not the {} of node process {node}", ranks.len()));
    };
    let attached =
        attach(Attached { job, starter: control, foreign: None, rank, process: std::process::id() })?;
    findings::install(control);
    weft_sched::count_all_threads();
    control.tell_of_rest();
    control.send(&Report::Attached);
    Ok(attached)
}

/// Takes part in a job of another launcher.
fn joined((job, launcher): (Job, &'static Launcher)) -> Result<&'static Attached, String> {
    let (rank, process) = (launcher.rank(), std::process::id());
    attach(Attached { job, starter: launcher, foreign: Some(launcher), rank, process })
}

fn attach(attached: Attached) -> Result<&'static Attached, String> {
    weft_sync::enable_global_barrier();
    let attached = ATTACHED.get_or_init(|| attached);
    attached.starter.watch(describe).map_err(|error| format!("cannot start a thread: {error}"))?;
    let _ = STACK.set(main_stack());
    let (fd, form) = attached.starter.crashes();
    let setup = weft_diagnose::Setup { fd, form, rank: own_rank, overflowed };
    weft_diagnose::install(setup).map_err(|error| format!("no stack for the crash handler: {error}"))?;
    watch_main_thread();
    Ok(attached)
}

/// A process ends with its last thread. Where the first one ends by `pthread_exit`, the library's own threads must not keep
/// the process.
fn watch_main_thread() {
    // SAFETY: system calls; a key of the process's own, whose destructor runs when the calling thread ends by itself, and
    // not when the process exits.
    unsafe {
        if libc::syscall(libc::SYS_gettid) != libc::c_long::from(libc::getpid()) {
            return;
        }
        let mut key = 0;
        if libc::pthread_key_create(&mut key, Some(main_thread_ends)) == 0 {
            libc::pthread_setspecific(key, core::ptr::from_ref(&ATTACHED).cast());
        }
    }
}

extern "C" fn main_thread_ends(_: *mut c_void) {
    let watch = || {
        while weft_sys::process::threads_not_named("weft-") > 1 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        std::process::exit(0)
    };
    let _ = std::thread::Builder::new().name("weft-end".into()).spawn(watch);
}

fn own_rank() -> Option<u32> {
    ATTACHED.get().map(|attached| attached.rank)
}

/// Where the stack of the process's first thread ends and how large it may grow.
static STACK: OnceLock<Option<(usize, usize)>> = OnceLock::new();

fn main_stack() -> Option<(usize, usize)> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[stack]"))?;
    let end = line.split_whitespace().next()?.split('-').nth(1)?;
    let end = usize::from_str_radix(end, 16).ok()?;
    weft_sys::process::stack_limit().map(|size| (end.saturating_sub(size), size))
}

/// How far past its end a stack is touched by a function whose frame is large.
const REACH: usize = 1 << 20;

/// Tells whether the first thread's stack overflowed: the kernel refuses to let it grow past its limit.
fn overflowed(address: usize, stack_pointer: usize) -> Option<(usize, usize)> {
    let (low, size) = STACK.get().copied().flatten()?;
    // The kernel keeps a gap of up to 1 MiB below the stack for itself.
    let edge = low.saturating_sub(REACH)..low + REACH.min(size / 2);
    (edge.contains(&address) && edge.contains(&stack_pointer)).then_some((low, size))
}

/// Says what the rank is doing.
fn describe(in_full: bool) -> Report {
    let process = Process::any();
    let (rank, thread) = (process.world_rank, process.main_thread);
    Report::Ranks { ranks: vec![crate::threads::state_of(rank, thread, in_full)] }
}

impl weft_mpi::process::host::Host for Attached {
    fn abort(&self, rank: u32, code: i32, message: &str, stack: &[usize]) -> ! {
        let stack = crate::findings::frames(stack);
        // A code of which the shell would see 0 must not look like success.
        let code = if code & 0xff == 0 { 1 } else { code };
        finding::tell_rest();
        self.starter.report(&Report::Abort { rank: Some(rank), code, message: message.into(), stack });
        flush();
        self.starter.end_job(code);
        leave_at_once(code & 0xff)
    }

    fn size(&self) -> u32 {
        self.job.ranks()
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn application_number(&self, rank: u32) -> i32 {
        let foreign = self.foreign.map(Launcher::application_number);
        foreign.unwrap_or_else(|| self.job.block_of(rank) as i32)
    }

    fn universe_size(&self) -> Option<u32> {
        self.foreign.and_then(Launcher::universe_size).or(self.job.universe)
    }

    fn finished(&self, _rank: u32) {
        self.starter.finished();
    }

    fn job(&self) -> u64 {
        self.job.id
    }

    fn secret(&self) -> Option<Secret> {
        self.job.secret
    }

    fn parent(&self) -> Option<String> {
        self.job.parent.clone()
    }

    fn spawn(&self, spawn: Spawn) -> weft_base::Result<Vec<u32>> {
        self.starter.spawn(spawn)
    }

    fn name_afar(&self, name: &Name) -> Option<Named> {
        if self.job.has_names_afar { self.starter.name(name.clone()) } else { None }
    }

    fn met(&self, job: u64, is_connected: bool) {
        self.starter.met(job, is_connected);
    }

    fn launch_info(&self, rank: u32) -> Vec<(String, String)> {
        self.job.blocks[self.job.block_of(rank)].info()
    }
}
