//! Jobs that ranks of a job start. Each has an `mpirun` of its own, started by that of the job that wants it, and told over
//! a socket what to start ([`Commission`]): so it is watched, its output is passed on and its exit code settled like any
//! other job's. An `mpirun` with such jobs ends after them, with their code if its own job's is 0.
//!
//! A job and one that it has started are *connected* until the processes of the first have let go of those of the other.
//! As long as they are, the failure of the first ends the other. The failure of the other is an error of the calls that
//! communicate with it, which end the first job or not, as its error handlers say.
#![allow(unsafe_code)] // Passes a descriptor on, and sends signals.

use crate::command_line::line::{CommandLine, ForeignAbi, Inherit, RanksAs};
use crate::command_line::parse;
use crate::command_line::plan::{self, Plan};
use crate::command_line::stop::Stop;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use weft_base::job::{Commission, Heritage, Request, SPAWNED, Spawn, SpawnBlock};

/// A job that a rank has started.
struct Started {
    child: Child,
    socket: UnixStream,
    /// The begin of its answer.
    pending: Vec<u8>,
    /// The new job's number.
    id: u64,
    wish: u64,
    /// Which node process wanted it.
    from: u32,
    is_answered: bool,
    /// It will say nothing more.
    is_silent: bool,
    /// Where those wait who have started it.
    port: String,
    /// How many node processes here are connected to its processes.
    ties: usize,
    /// Whether any ever was.
    has_met: bool,
    is_connected: bool,
    /// Nothing could be started, and whoever wanted it knows.
    is_refused: bool,
    /// How many ranks it has on which host.
    hosts: Vec<(String, u32)>,
}

/// The jobs that the ranks of a job have started.
#[derive(Default)]
pub struct Offspring {
    /// What of this job holds for them, too.
    heritage: Heritage,
    jobs: Vec<Started>,
}

/// What is to be started, what it leaves to jobs that start from it, and, for a spawned job, whom to answer.
pub type Task = (Plan, Heritage, Option<Answer>);

/// How many processes run each program, and how many there are on which host; or why nothing runs.
pub type Outcome = Result<(Vec<u32>, Vec<(String, u32)>), String>;

/// The codes of jobs that have failed, and answers for node processes.
pub type News = (Vec<i32>, Vec<(u32, Request)>);

/// What an `mpirun` for a spawned job answers to those who have started it.
pub struct Answer {
    socket: UnixStream,
    wish: u64,
    port: String,
}

/// Returns what of a command line holds for jobs that its ranks start.
pub fn options(line: &CommandLine) -> Vec<OsString> {
    let mut options: Vec<OsString> = vec!["--bind-to".into(), "none".into()];
    for (name, value) in &line.environment {
        options.extend(["-genv".into(), name.clone(), value.clone()]);
    }
    if let Inherit::Only(names) = &line.inherit {
        let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
        match names.is_empty() {
            true => options.push("-genvnone".into()),
            false => options.extend(["-genvlist".into(), names.join(",").into()]),
        }
    }
    for (name, value, _) in &line.settings {
        options.extend(["--set".into(), format!("{name}={value}").into()]);
    }
    match line.ranks_as {
        RanksAs::Auto => {}
        RanksAs::Threads => options.extend(["--ranks-as".into(), "threads".into()]),
        RanksAs::Processes => options.extend(["--ranks-as".into(), "processes".into()]),
    }
    let abi = match line.abi {
        ForeignAbi::Auto => None,
        ForeignAbi::None => Some("none"),
        ForeignAbi::Library(library) if library.ends_with(".12") => Some("mpich"),
        ForeignAbi::Library(_) => Some("openmpi"),
    };
    options.extend(abi.into_iter().flat_map(|abi| ["--abi".into(), abi.into()]));
    if let Some(number) = line.ranks_per_process {
        options.extend(["--ranks-per-process".into(), number.to_string().into()]);
    }
    let flags = [
        (line.output.tag, "--tag-output"),
        (line.output.timestamp, "--timestamp-output"),
        (line.verbose, "--verbose"),
    ];
    options.extend(flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name.into()));
    let placing = &line.placing;
    if let Some(number) = placing.policy.per_host {
        options.extend(["-ppn".into(), number.to_string().into()]);
    }
    let flags = [(placing.policy.round_robin, "-rr"), (placing.policy.strict, "--nooversubscribe")];
    options.extend(flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name.into()));
    for (value, name) in [(&placing.launcher, "--launcher"), (&placing.launcher_exec, "--launcher-exec")] {
        options.extend(value.iter().flat_map(|value| [name.into(), value.clone()]));
    }
    options
}

/// Info keys by which programs, ours and those written for other MPIs, say where processes run; the option for each.
const PLACES: [(&str, &str); 6] = [
    ("host", "-hosts"),
    ("hosts", "-hosts"),
    ("add-host", "-hosts"),
    ("hostfile", "-hostfile"),
    ("add-hostfile", "-hostfile"),
    ("map_by", "--map-by"),
];

/// Returns the option for an info key that says where processes run.
fn option_of_place(key: &str) -> Option<&'static str> {
    PLACES.into_iter().find(|(known, _)| *known == key).map(|(_, option)| option)
}

/// Makes the command line of one program.
fn block(heritage: &Heritage, block: &SpawnBlock) -> Result<CommandLine, Stop> {
    let mut words = heritage.options.clone();
    let options = block.info.iter().filter_map(|(key, _)| option_of_place(key));
    if !options.into_iter().any(|option| option.starts_with("-host")) {
        words.extend(heritage.hosts.iter().cloned());
    }
    words.extend(["-n".into(), block.ranks.to_string().into()]);
    for (key, value) in &block.info {
        let option = match key.as_str() {
            "wdir" => "-wdir",
            "path" => "-path",
            "soft" => "-soft",
            "arch" => "-arch",
            "file" => "-file",
            "mpi_initial_errhandler" => "-initial-errhandler",
            "mpi_memory_alloc_kinds" => "-memory-alloc-kinds",
            key => match option_of_place(key) {
                Some(option) => option,
                None => continue,
            },
        };
        words.extend([option.into(), value.into()]);
    }
    // The program's own words go past `parse::parse`, which would end a program at a ':'.
    words.push("program".into());
    let mut line = parse::parse(words)?;
    if let Some(parsed) = line.blocks.first_mut() {
        parsed.program = block.program.clone();
        parsed.arguments = block.arguments.clone();
        // One variable in each line: NAME=VALUE.
        let variables =
            block.info.iter().filter(|(key, _)| key == "env").flat_map(|(_, value)| value.lines());
        parsed.environment.extend(
            variables
                .filter_map(|line| line.split_once('='))
                .map(|(name, value)| (name.into(), Some(value.into()))),
        );
    }
    Ok(line)
}

/// Plans what was commissioned.
fn plan_of(heritage: &Heritage, blocks: &[SpawnBlock]) -> Result<(Plan, Heritage), Stop> {
    let mut lines = blocks.iter().map(|spawned| block(heritage, spawned));
    let mut line = lines.next().ok_or_else(|| Stop::new(1, "no program was named"))??;
    for more in lines {
        line.blocks.extend(more?.blocks);
    }
    let options = self::options(&line);
    let plan = plan::plan(line, &heritage.taken)?;
    // Where a program of one job was to run is nothing to the jobs that its ranks start.
    let hosts = if heritage.hosts.is_empty() { &plan.hosts } else { &heritage.hosts }.clone();
    let left = Heritage { options, hosts, taken: plan.taken.clone() };
    Ok((plan, left))
}

/// Reads what to start, if this `mpirun` was started to start a spawned job; returns the plan, the options for jobs that
/// start from it, and whom to answer.
///
/// # Errors
/// What stands in the way; those who have started it know it then.
pub fn commissioned() -> Option<Result<Task, Stop>> {
    let text = std::env::var(SPAWNED).ok()?;
    // SAFETY: this program has one thread.
    unsafe { std::env::remove_var(SPAWNED) };
    let number: RawFd = text.parse().ok()?;
    // SAFETY: a system call on a number; fails if it is no descriptor.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Some(Err(Stop::new(1, format!("{SPAWNED}={text}: no such descriptor"))));
    }
    // SAFETY: it was passed to this process for this purpose.
    let socket = UnixStream::from(unsafe { OwnedFd::from_raw_fd(number) });
    let mut line = String::new();
    let read = BufReader::new(&socket).read_line(&mut line);
    let commission: Commission = match read.map(|_| serde_json::from_str(&line)) {
        Ok(Ok(commission)) => commission,
        _ => return Some(Err(Stop::new(1, "what is to be started makes no sense; install weft again"))),
    };
    let Commission { id, wish, spawn, heritage } = commission;
    let mut answer = Answer { socket, wish, port: spawn.port.clone() };
    let planned = plan_of(&heritage, &spawn.blocks).or_else(|stop| {
        // A program that cannot be threads is not to share processes either.
        let options = &heritage.options;
        let place = options.iter().position(|option| option == "--ranks-per-process").ok_or(stop)?;
        let options = [&options[..place], &options[place + 2..]].concat();
        plan_of(&Heritage { options, ..heritage.clone() }, &spawn.blocks)
    });
    Some(match planned {
        Ok((mut plan, left)) => {
            plan.errand.job.id = id;
            plan.errand.job.parent = Some(spawn.port);
            Ok((plan, left, Some(answer)))
        }
        Err(stop) => {
            answer.give(Err(stop.message.trim_end().to_owned()));
            Err(Stop { message: String::new(), code: stop.code })
        }
    })
}

impl Answer {
    /// Says that the programs run, or why nothing does.
    pub fn give(&mut self, outcome: Outcome) {
        let (outcome, hosts) = match outcome {
            Ok((ranks, hosts)) => (Ok(ranks), hosts),
            Err(why) => (Err(why), Vec::new()),
        };
        self.say(&Request::Spawned { wish: self.wish, outcome, hosts });
    }

    /// Says that the programs have ended before they connected to those who wait for them.
    pub fn take_back(&mut self, reason: String) {
        self.say(&Request::NotMet { port: self.port.clone(), reason });
    }

    fn say(&mut self, request: &Request) {
        if let Ok(mut line) = serde_json::to_vec(request) {
            line.push(b'\n');
            // Whoever wanted to know is gone if this fails.
            let _ = self.socket.write_all(&line);
        }
    }
}

/// Starts an `mpirun` for a job.
fn start(program: PathBuf, commission: &Commission) -> std::io::Result<(Child, UnixStream)> {
    let (mut near, far) = UnixStream::pair()?;
    let mut command = Command::new(program);
    command.env(SPAWNED, far.as_raw_fd().to_string()).stdin(Stdio::null());
    let passed = far.as_raw_fd();
    let parent = std::process::id();
    let prepare = move || {
        // SAFETY: only system calls, each allowed between fork and exec.
        unsafe {
            if libc::fcntl(passed, libc::F_SETFD, 0) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
        }
        Ok(())
    };
    // SAFETY: as said there.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn()?;
    let mut line = serde_json::to_vec(commission)?;
    line.push(b'\n');
    near.write_all(&line)?;
    near.set_nonblocking(true)?;
    Ok((child, near))
}

impl Offspring {
    /// Prepares for jobs that inherit so much.
    pub fn new(heritage: Heritage) -> Self {
        Self { heritage, jobs: Vec::new() }
    }

    /// Starts what a rank of node process `from` wants. Returns the answer if there is one already: that it cannot be.
    pub fn begin(&mut self, from: u32, wish: u64, spawn: Spawn) -> Option<Request> {
        let id = plan::number_of_job();
        let port = spawn.port.clone();
        let mut heritage = self.heritage.clone();
        heritage.taken.extend(self.jobs.iter().flat_map(|job| job.hosts.iter().cloned()));
        let commission = Commission { id, wish, spawn, heritage };
        match std::env::current_exe().and_then(|program| start(program, &commission)) {
            Ok((child, socket)) => {
                self.jobs.push(Started {
                    child,
                    socket,
                    pending: Vec::new(),
                    id,
                    wish,
                    from,
                    is_answered: false,
                    is_silent: false,
                    port,
                    ties: 0,
                    has_met: false,
                    is_connected: true,
                    is_refused: false,
                    hosts: Vec::new(),
                });
                None
            }
            Err(error) => {
                let outcome = Err(format!("mpirun cannot start another for the new job: {error}"));
                Some(Request::Spawned { wish, outcome, hosts: Vec::new() })
            }
        }
    }

    /// Returns where to listen for answers; -1 where none will come.
    pub fn sources(&self) -> Vec<RawFd> {
        let source = |job: &Started| if job.is_silent { -1 } else { job.socket.as_raw_fd() };
        self.jobs.iter().map(source).collect()
    }

    /// Reads what a job's `mpirun` says, for the node process that wanted the job.
    fn read(&mut self, index: usize) -> Vec<(u32, Request)> {
        let job = &mut self.jobs[index];
        let mut buffer = [0; 4096];
        job.is_silent |= loop {
            match job.socket.read(&mut buffer) {
                Ok(0) => break true,
                Ok(length) => job.pending.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => break error.kind() != std::io::ErrorKind::WouldBlock,
            }
        };
        let mut said = Vec::new();
        while let Some(end) = job.pending.iter().position(|byte| *byte == b'\n') {
            said.extend(serde_json::from_slice(&job.pending[..end]).ok());
            job.pending.drain(..=end);
        }
        let lost = || "the mpirun of the new job has ended without an answer".to_owned();
        if job.is_silent && !job.is_answered && said.is_empty() {
            said.push(Request::Spawned { wish: job.wish, outcome: Err(lost()), hosts: Vec::new() });
        } else if job.is_silent && !job.has_met && !job.is_refused && said.is_empty() {
            said.push(Request::NotMet { port: job.port.clone(), reason: lost() });
        }
        for request in &said {
            job.is_answered = true;
            if let Request::Spawned { hosts, .. } = request {
                job.hosts.clone_from(hosts);
            }
            if matches!(request, Request::Spawned { outcome: Err(_), .. } | Request::NotMet { .. }) {
                job.is_refused = true;
                job.is_connected = false;
            }
        }
        said.into_iter().map(|request| (job.from, request)).collect()
    }

    /// Notes that a node process is, or is no more, connected to a job.
    pub fn note(&mut self, id: u64, is_connected: bool) {
        for job in self.jobs.iter_mut().filter(|job| job.id == id) {
            job.has_met |= is_connected;
            job.ties = if is_connected { job.ties + 1 } else { job.ties.saturating_sub(1) };
            job.is_connected = job.ties > 0;
        }
    }

    /// Tells whether a job has not ended.
    pub fn are_alive(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Reads what has come, and notes which jobs have ended.
    pub fn look(&mut self) -> News {
        let (mut failed, mut answers) = (Vec::new(), Vec::new());
        for index in (0..self.jobs.len()).rev() {
            // First, so that nothing is said after it was read for the last time.
            let status = self.jobs[index].child.try_wait().ok().flatten();
            if !self.jobs[index].is_silent {
                answers.extend(self.read(index));
            }
            let Some(status) = status else { continue };
            // Nothing is kept of it, however many jobs are started one after the other.
            let job = self.jobs.swap_remove(index);
            let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            if code != 0 && !job.is_refused {
                failed.push(code);
            }
        }
        (failed, answers)
    }

    /// Sends a signal to the jobs that have not ended; only to those that are connected, if so wanted.
    pub fn send(&self, signal: i32, only_connected: bool) {
        for job in self.jobs.iter().filter(|job| job.is_connected || !only_connected) {
            // SAFETY: the child has not been waited for, so the number is still its own.
            unsafe { libc::kill(job.child.id() as i32, signal) };
        }
    }
}
