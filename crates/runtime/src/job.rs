//! The ranks this process holds, from their loading to their end.
#![allow(unsafe_code)] // Calls the executable's table and the copies' destructors.

use crate::environment::{ProgramNames, Vector};
use crate::leaving::{self, flush, leave_at_once};
use crate::mpirun::control::Control;
use crate::mpirun::{requests, wishes};
use crate::personal::Personal;
use crate::ranks::{Start, phase};
use crate::{findings, limits, preload, threads};
use core::ffi::c_int;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use weft_base::host::{Beginning, NodeHooks, RankEnd};
use weft_base::job::{Job, Name, Named, RankState, Report, Secret, Spawn, StackFrame};
use weft_base::{finding, say, settings};
use weft_loader::libraries::System;
use weft_loader::{Copy, Program};
use weft_mpi::process::{INITIALIZED, Process};
use weft_sched::Thread;

/// The names under which programs need the library.
const OURS: &[&str] = &["libmpi_abi.so.1", "libmpi_abi.so", "libmpi_abi.so.0"];

/// The job, as far as this process holds its ranks. Tables of ranks have all of the job's.
pub struct Held {
    description: Job,
    /// The ranks of this process, ascending.
    own: Vec<u32>,
    control: &'static Control,
    /// The executable's table.
    pub hooks: &'static NodeHooks,
    copies: Box<[OnceLock<Copy>]>,
    phases: Box<[AtomicU8]>,
    remaining: AtomicU32,
    /// Exit code of the first rank that ended with one other than 0, or -1.
    failure: AtomicI64,
    /// The job has ended before all ranks have.
    ending: AtomicBool,
    all_ended: (Mutex<bool>, Condvar),
}

static JOB: AtomicPtr<Held> = AtomicPtr::new(core::ptr::null_mut());

/// Returns the job of this process, if it holds one.
pub fn current() -> Option<&'static Held> {
    // SAFETY: null or a leaked job.
    unsafe { JOB.load(Ordering::Acquire).as_ref() }
}

/// Forgets the job, so that what ends now ends the process.
pub fn forget() {
    JOB.store(core::ptr::null_mut(), Ordering::Release);
}

/// Makes the calling kernel thread, created by a rank's thread, a thread of that rank.
pub fn adopt_thread(creator: &'static Thread) {
    threads::inherit(creator);
    let _ = weft_diagnose::install_alternate_stack();
}

fn crashed_rank() -> Option<u32> {
    let rank = threads::rank_in_handler();
    (rank != weft_sched::NO_RANK).then_some(rank)
}

struct Host(&'static Held);

impl weft_mpi::process::host::Host for Host {
    fn abort(&self, rank: u32, code: i32, message: &str, stack: &[usize]) -> ! {
        self.0.abort(Some(rank), code, message.into(), findings::frames(stack))
    }

    fn size(&self) -> u32 {
        self.0.ranks()
    }

    fn application_number(&self, rank: u32) -> i32 {
        self.0.description.block_of(rank) as i32
    }

    fn universe_size(&self) -> Option<u32> {
        self.0.description.universe
    }

    fn job(&self) -> u64 {
        self.0.description.id
    }

    fn secret(&self) -> Option<Secret> {
        self.0.description.secret
    }

    fn parent(&self) -> Option<String> {
        self.0.description.parent.clone()
    }

    fn spawn(&self, spawn: Spawn) -> weft_base::Result<Vec<u32>> {
        wishes::spawn(self.0.control, spawn)
    }

    fn name_afar(&self, name: &Name) -> Option<Named> {
        self.0.description.has_names_afar.then(|| wishes::name(self.0.control, name.clone()))
    }

    fn met(&self, job: u64, is_connected: bool) {
        self.0.control.send(&Report::Met { job, is_connected });
    }

    fn launch_info(&self, rank: u32) -> Vec<(String, String)> {
        self.0.description.blocks[self.0.description.block_of(rank)].info()
    }
}

impl Held {
    /// Loads and starts the ranks of node process `node`.
    ///
    /// # Errors
    /// Says which program or which limit of the system stands in the way, and what to do.
    pub fn start(
        description: Job,
        node: u32,
        control: &'static Control,
        hooks: &'static NodeHooks,
    ) -> Result<&'static Held, String> {
        let (ranks, own) = (description.ranks(), description.ranks_of(node));
        let held: &'static Held = Box::leak(Box::new(Held {
            control,
            hooks,
            copies: (0..ranks).map(|_| OnceLock::new()).collect(),
            phases: (0..ranks).map(|_| AtomicU8::new(phase::LOADING)).collect(),
            remaining: AtomicU32::new(own.len() as u32),
            own,
            failure: AtomicI64::new(-1),
            ending: AtomicBool::new(false),
            all_ended: (Mutex::new(false), Condvar::new()),
            description,
        }));
        JOB.store(core::ptr::from_ref(held).cast_mut(), Ordering::Release);
        leaving::install(hooks);
        requests::serve(control, |in_full| held.describe(in_full))
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        limits::check_threads(held.own.len() as u32, threads::uses_kernel_scheduler())?;
        let setup = weft_diagnose::Setup {
            fd: control.fd(),
            form: weft_diagnose::Form::Records,
            rank: crashed_rank,
            overflowed: threads::overflowed,
        };
        weft_diagnose::install(setup).map_err(|error| format!("no stack for the crash handler: {error}"))?;
        weft_mpi::process::host::install(Box::leak(Box::new(Host(held))));
        findings::install(control);
        weft_loader::plugins::install(weft_loader::plugins::Host {
            own_copy: || current().and_then(Held::own_copy),
            warn: |message| say!("weft: warning: {message}"),
        });
        held.announce_program();
        threads::start(&held.description, &held.own)?;
        weft_sched::on_deadlock(|| {
            if let Some(job) = current() {
                job.deadlock();
            }
        });
        held.load()?;
        threads::loaded();
        held.watch_for_stuck_ranks();
        control.tell_of_rest();
        Ok(held)
    }

    /// Makes the process known to itself and to `ps` by its program's name.
    fn announce_program(&self) {
        let Some(name) = self.description.blocks.first().and_then(|block| block.arguments.first()) else {
            return;
        };
        let vector = Vector::of_arguments(std::slice::from_ref(name));
        unsafe extern "C" {
            static mut program_invocation_name: *mut core::ffi::c_char;
            static mut program_invocation_short_name: *mut core::ffi::c_char;
        }
        // SAFETY: libc's variables, set before any rank runs, to a string that lives for ever.
        unsafe {
            let text = *vector.leak();
            program_invocation_name = text;
            let slash = libc::strrchr(text, c_int::from(b'/'));
            program_invocation_short_name = if slash.is_null() { text } else { slash.add(1) };
        }
    }

    fn load(&'static self) -> Result<(), String> {
        // Programs that were built for another MPI get our libraries of its names.
        if let Some(folder) = std::env::current_exe().ok().and_then(|this| Some(this.parent()?.join("abi"))) {
            weft_loader::supply(&folder);
        }
        let blocks = &self.description.blocks;
        let programs: Vec<Program> = blocks
            .iter()
            .map(|block| {
                let tools = preload::tools(block, OURS);
                Program::prepare_with(&block.program, &tools, OURS, &System::new())
                    .map_err(|error| error.to_string())
            })
            .collect::<Result<_, _>>()?;
        if programs.iter().any(Program::needs_executable_stack) {
            weft_sched::allow_executable_stacks().map_err(|error| {
                format!(
                    "the program needs an executable stack (nested functions?), and there is none: {error}"
                )
            })?;
        }
        let load = |program: &Program, rank: u32| {
            let refused = |error| limits::explain(&format!("rank {rank} cannot be loaded: {error}"));
            program.load_copy(rank as usize).map_err(refused)
        };
        let mut first = 0;
        let mut own = blocks
            .iter()
            .map(|block| {
                let ranks = first..first + block.ranks;
                first = ranks.end;
                self.own.iter().copied().filter(|rank| ranks.contains(rank)).collect::<Vec<u32>>()
            })
            .collect::<Vec<_>>();
        // The first copy of each program shows what the others take, before any of them runs.
        let mut firsts = Vec::new();
        let mut needed = Vec::new();
        for (program, own) in programs.iter().zip(&own) {
            let copy = own.first().map(|rank| load(program, *rank)).transpose()?;
            if let Some(copy) = &copy {
                let each = copy.mappings().unwrap_or(0) + weft_sched::mappings_per_rank();
                needed.push((own.len() as u32, each));
            }
            firsts.push(copy);
        }
        limits::check_mappings(&needed)?;
        for (index, block) in blocks.iter().enumerate() {
            let arguments = Vector::of_arguments(&block.arguments);
            // What a rank's variables are beside the process's, the same for all ranks of the block unless their MPI tells of each.
            let environment = |told: &[(OsString, OsString)]| {
                let is_told = |name: &OsString| told.iter().any(|(known, _)| known == name);
                let own = block.environment.iter().filter(|(name, _)| !is_told(name));
                let all: Vec<_> = own.chain(told).cloned().collect();
                (!all.is_empty()).then(|| Vector::of_environment(&all))
            };
            let common = if block.abi.is_none() { environment(&[]) } else { None };
            let program = ProgramNames::of(&block.program, &block.arguments);
            let personal = Personal::of(&programs[index], self.hooks);
            for rank in std::mem::take(&mut own[index]) {
                let copy = match firsts[index].take() {
                    Some(copy) => copy,
                    None => load(&programs[index], rank)?,
                };
                let copy: &'static Copy = self.copies[rank as usize].get_or_init(|| copy);
                let told = if block.abi.is_some() { environment(&self.description.told(rank)) } else { None };
                let own = told.as_ref().or(common.as_ref()).map_or(core::ptr::null_mut(), Vector::leak);
                let (argc, argv) = (arguments.length() as c_int, arguments.leak());
                // SAFETY: null or an array that is never freed, like the names; an array of arguments ends with a null.
                let state = unsafe {
                    let beginning = self.beginning(rank, &program, *argv);
                    (self.hooks.create_rank)(own.cast_const().cast(), beginning)
                };
                // SAFETY: the rank's state; nothing of the copy runs yet.
                unsafe { personal.give(copy, state) };
                let phase = &self.phases[rank as usize];
                let (hooks, of) = (self.hooks, self.ranks());
                let start = Start { hooks, rank, of, phase, copy, state, argc, argv };
                threads::spawn(rank, Box::new(move || start.run()))
                    .map_err(|error| limits::explain(&format!("rank {rank} cannot be started: {error}")))?;
            }
        }
        Ok(())
    }

    /// Returns what a rank is when it starts.
    fn beginning(&self, rank: u32, program: &ProgramNames, name: *mut core::ffi::c_char) -> Beginning {
        let outputs = &self.description.outputs;
        let own = outputs.binary_search_by_key(&rank, |output| output.rank).ok().map(|place| outputs[place]);
        Beginning {
            is_first: rank == 0,
            output: own.map_or([libc::STDOUT_FILENO, libc::STDERR_FILENO], |own| [own.out_fd, own.error_fd]),
            program: program.path.as_ptr(),
            command_line: program.command_line.as_ptr(),
            command_line_length: program.command_line.len(),
            name,
        }
    }

    /// Returns the number of ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.copies.len() as u32
    }

    fn own_copy(&'static self) -> Option<&'static Copy> {
        self.copies.get(weft_sched::current().rank() as usize)?.get()
    }

    /// Tells whether an address lies in the calling rank's copies.
    pub fn is_private(&'static self, address: usize) -> bool {
        self.own_copy().is_some_and(|copy| copy.owns(address))
    }

    /// Runs the destructors of the calling rank's copies.
    pub fn run_destructors(&'static self) {
        if let Some(copy) = self.own_copy() {
            // SAFETY: the rank is ending, on a thread of its own; its exit handlers have run.
            unsafe { copy.run_destructors() };
        }
    }

    /// Waits until all ranks have ended; returns the job's exit code.
    pub fn wait(&self) -> i32 {
        let (ended, changed) = &self.all_ended;
        let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*ended {
            ended = changed.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
        self.failure.load(Ordering::Acquire).max(0) as i32
    }

    /// Ends the calling rank.
    pub fn end_rank(&self, code: c_int, how: RankEnd) -> ! {
        let me = weft_sched::current();
        let rank = me.rank();
        // What a parent sees of an exit code.
        let code = code & 0xff;
        // SAFETY: null, or the process that this rank's thread created.
        let mpi = unsafe { me.process().cast::<Process>().as_ref() };
        let missing = mpi.and_then(|process| match process.phase() {
            INITIALIZED => Some(["MPI_Init", "MPI_Finalize"]),
            _ if process.live_sessions() > 0 => Some(["MPI_Session_init", "MPI_Session_finalize"]),
            _ => None,
        });
        if let Some(process) = mpi {
            weft_mpi::reports::checking::report_at_end(process);
        }
        if code != 0 && !mpi.is_some_and(Process::has_finished) {
            let when = missing.map(|[_, end]| format!(" without {end}")).unwrap_or_default();
            self.fail(rank, code, format!("exited with code {code}{when}"), how);
        }
        if let Some([begin, end]) = missing {
            self.fail(rank, 1, format!("exited with code 0 after {begin} but without {end}"), how);
        }
        if code != 0 {
            let _ = self.failure.compare_exchange(-1, code.into(), Ordering::AcqRel, Ordering::Acquire);
        }
        let already = self.phases.get(rank as usize).map(|phase| phase.swap(phase::ENDED, Ordering::AcqRel));
        if already.is_some_and(|before| before != phase::ENDED)
            && self.remaining.fetch_sub(1, Ordering::AcqRel) == 1
        {
            *self.all_ended.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.all_ended.1.notify_all();
        }
        threads::finish(mpi.is_some_and(|process| core::ptr::eq(process.main_thread, me)))
    }

    /// Lets one thread end the job; others that try wait for the end.
    fn claim_end(&self) {
        if self.ending.swap(true, Ordering::AcqRel) {
            loop {
                // SAFETY: waits for the process's end.
                unsafe { libc::pause() };
            }
        }
        finding::tell_rest();
    }

    fn fail(&self, rank: u32, code: i32, message: String, how: RankEnd) -> ! {
        self.claim_end();
        self.control.send(&Report::RankFailed { rank, code, message });
        if how == RankEnd::Exit {
            flush();
        }
        leave_at_once(code)
    }

    /// Ends the job on behalf of a rank.
    pub fn abort(&self, rank: Option<u32>, code: i32, message: String, stack: Vec<StackFrame>) -> ! {
        self.claim_end();
        // A code of which the shell would see 0 must not look like success.
        let code = if code & 0xff == 0 { 1 } else { code };
        self.control.send(&Report::Abort { rank, code, message, stack });
        flush();
        leave_at_once(code & 0xff)
    }

    /// Ends the job because no rank can go on.
    pub fn deadlock(&self) {
        if self.remaining.load(Ordering::Acquire) == 0 {
            return;
        }
        self.claim_end();
        self.control.send(&Report::Deadlock { ranks: self.states(true), stuck: Vec::new() });
        flush();
        leave_at_once(125)
    }

    /// Watches for ranks that can never go on although others run, and ends the job because of them.
    fn watch_for_stuck_ranks(&'static self) {
        if self.own.len() < 2 || settings::STUCK.get() == 0 {
            return;
        }
        let watch = || {
            for interval in [1, 1, 2, 4].into_iter().chain(std::iter::repeat(8)) {
                std::thread::sleep(Duration::from_secs(interval));
                let stuck = weft_mpi::reports::stuck::find(&self.own);
                if !stuck.is_empty() {
                    self.end_stuck(stuck);
                }
            }
        };
        // Without the thread such ranks wait until somebody ends the job.
        let _ = weft_sys::process::spawn_apart("weft-waits", 256 << 10, watch);
    }

    fn end_stuck(&self, stuck: Vec<u32>) {
        self.claim_end();
        let ranks = self.states_of(|rank| stuck.binary_search(&rank).is_ok());
        self.control.send(&Report::Deadlock { ranks, stuck });
        flush();
        leave_at_once(125)
    }

    fn states(&self, in_full: bool) -> Vec<RankState> {
        self.states_of(|_| in_full)
    }

    /// Says what each rank is doing, in full of those that wait for ever.
    fn states_of(&self, in_full: impl Fn(u32) -> bool) -> Vec<RankState> {
        let state = |&rank: &u32| match self.phases[rank as usize].load(Ordering::Acquire) {
            phase::LOADING => RankState::plain(rank, "is being loaded"),
            phase::ENDED => RankState::plain(rank, "has ended"),
            _ => match weft_sched::thread_of(rank) {
                Some(thread) => threads::state_of(rank, thread, in_full(rank)),
                None => RankState::plain(rank, ""),
            },
        };
        self.own.iter().map(state).collect()
    }

    fn describe(&self, in_full: bool) -> Report {
        Report::Ranks { ranks: self.states(in_full) }
    }
}
