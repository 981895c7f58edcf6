//! Starts the node processes so that they cannot outlive `mpirun`.
#![allow(unsafe_code)] // Prepares the child between fork and exec, and makes descriptors by system calls.

use crate::agents::errand::{Errand, Kind, NodeProcess};
use crate::agents::wire::ITSELF;
use crate::command_line::resolve;
use crate::command_line::stop::Stop;
use crate::running::inlets::{Inlet, Inlets, Outlet};
use crate::tools::install::Installation;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use weft_base::job::{HANDOVER, Handover, Job, NO_FD, PRELOAD};

/// A node process and the socket to it.
#[derive(Debug)]
pub struct Node {
    /// Its number in the job.
    pub number: u32,
    /// The process.
    pub child: Child,
    /// Reports come from here; requests go there.
    pub control: UnixStream,
    /// Its standard output and standard error, if they are not just passed on, and those of its ranks.
    pub outputs: Vec<Outlet>,
    /// Its standard input, if that is fed.
    pub input: Option<ChildStdin>,
}

/// What is done with the streams of node processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// Output comes back through pipes instead of going where ours goes.
    pub output: bool,
    /// Input goes there through a pipe instead of being ours.
    pub input: bool,
}

/// Makes a file without a name; it vanishes with its last descriptor.
fn nameless_file() -> std::io::Result<File> {
    // SAFETY: a C string; the result is a new descriptor of ours.
    unsafe {
        let fd = libc::memfd_create(c"weft-job".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 { Err(std::io::Error::last_os_error()) } else { Ok(File::from_raw_fd(fd)) }
    }
}

/// Starts the node processes of an errand's first host, which is this one.
///
/// # Errors
/// Says which part of the installation or which system call failed. What was started before is ended.
pub fn start(errand: &Errand, installation: &Installation, streams: Streams) -> Result<Vec<Node>, Stop> {
    let fail = |what: &str, error: std::io::Error| Stop::new(1, format!("{what}: {error}"));
    let mut file = nameless_file().map_err(|error| fail("memfd_create", error))?;
    let mut inlets = Inlets::make(errand)?;
    let job = Job { outputs: inlets.descriptors(), ..errand.job.clone() };
    let text = serde_json::to_vec(&job).map_err(|error| fail("job description", error.into()))?;
    file.write_all(&text).map_err(|error| fail("job description", error))?;
    let Some(site) = errand.sites.first() else { return Ok(Vec::new()) };
    let shared = match site.nodes.len() {
        0 | 1 => None,
        count => weft_fabric::prepare(count as u32).map_err(|error| {
            let remedy = "run fewer processes, or more ranks in each: --ranks-per-process K";
            fail(&format!("memory shared by {count} processes ({remedy})"), std::io::Error::other(error))
        })?,
    };
    let mut nodes: Vec<Node> = Vec::with_capacity(site.nodes.len());
    for node in &site.nodes {
        let own = inlets.of.remove(&node.number).unwrap_or_default();
        match start_one(errand, node, installation, streams, (&file, shared.as_ref()), own) {
            Ok(node) => nodes.push(node),
            Err(stop) => {
                for node in &mut nodes {
                    let _ = node.child.kill();
                    let _ = node.child.wait();
                }
                return Err(stop);
            }
        }
    }
    Ok(nodes)
}

/// Makes the command of a node process, but for what it inherits.
fn command(errand: &Errand, node: &NodeProcess, installation: &Installation, handover: Handover) -> Command {
    let environment = errand.environments[node.environment].iter().map(|(name, value)| (name, value));
    let mut command = match node.kind {
        Kind::Threads => {
            let mut command = Command::new(&installation.node);
            command.arg(handover.to_string()).env_clear().envs(environment.clone());
            // Each rank loads tools for itself: the process's would be shared, and be called by all ranks.
            if let Some((name, value)) = environment.clone().find(|(name, _)| *name == "LD_PRELOAD") {
                let preload = resolve::preload(value, node.directory.as_deref());
                if !preload.tools.is_empty() {
                    command.env(PRELOAD, value).env(name, &preload.rest);
                }
            }
            command
        }
        Kind::Program { block, rank } => {
            let block = &errand.job.blocks[block];
            let mut command = Command::new(&block.program);
            let (name, arguments) = block.arguments.split_first().expect("the program's name comes first");
            command.arg0(name).args(arguments).env_clear().envs(environment);
            command.envs(errand.job.told(rank)).env(HANDOVER, handover.to_string());
            command
        }
    };
    if let Some(directory) = &node.directory {
        command.current_dir(directory);
    }
    command
}

/// Ends a command's process with the one that starts it, and keeps the terminal's signals from it.
pub fn tie(command: &mut Command) {
    let parent = std::process::id();
    let prepare = move || {
        end_with(parent);
        // SAFETY: only system calls, each allowed between fork and exec.
        unsafe {
            libc::signal(libc::SIGINT, libc::SIG_IGN);
            libc::signal(libc::SIGQUIT, libc::SIG_IGN);
            unblock_signals();
        }
        Ok(())
    };
    // SAFETY: `prepare` calls only what may be called between fork and exec.
    unsafe { command.pre_exec(prepare) };
}

/// Ends this process with its parent.
pub(crate) fn end_with(parent: u32) {
    // SAFETY: only system calls, each allowed between fork and exec.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // The parent may have died before the line above took effect.
        if libc::getppid() as u32 != parent {
            libc::_exit(1);
        }
    }
}

/// Lets all signals through.
///
/// # Safety
/// Only where the process has one thread.
unsafe fn unblock_signals() {
    // SAFETY: a signal set on the stack.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

fn start_one(
    errand: &Errand,
    node: &NodeProcess,
    installation: &Installation,
    streams: Streams,
    (job, shared): (&File, Option<&OwnedFd>),
    inlets: Vec<Inlet>,
) -> Result<Node, Stop> {
    let (control, theirs) =
        UnixStream::pair().map_err(|error| Stop::new(1, format!("socketpair: {error}")))?;
    let handover = Handover {
        job_fd: job.as_raw_fd(),
        control_fd: theirs.as_raw_fd(),
        shared_fd: shared.map_or(NO_FD, AsRawFd::as_raw_fd),
        node: node.number,
    };
    let mut command = command(errand, node, installation, handover);
    let mut passed: Vec<RawFd> = vec![handover.job_fd, handover.control_fd, handover.shared_fd];
    passed.extend(inlets.iter().flat_map(|inlet| [inlet.out.as_raw_fd(), inlet.error.as_raw_fd()]));
    let parent = std::process::id();
    let processors = processor_set(&node.processors);
    let prepare = move || {
        // SAFETY: only system calls, each allowed between fork and exec.
        unsafe {
            for &fd in passed.iter().filter(|&&fd| fd != NO_FD) {
                if libc::fcntl(fd, libc::F_SETFD, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            if let Some(set) = &processors {
                // A refusal leaves the process where the kernel puts it, which is no error.
                libc::sched_setaffinity(0, size_of_val(set), set);
            }
            end_with(parent);
            unblock_signals();
        }
        Ok(())
    };
    // SAFETY: `prepare` calls only what may be called between fork and exec.
    unsafe { command.pre_exec(prepare) };
    if streams.output {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    match (node.has_input, streams.input) {
        (true, true) => _ = command.stdin(Stdio::piped()),
        (true, false) => {}
        (false, _) => _ = command.stdin(Stdio::null()),
    }
    let mut child = command.spawn().map_err(|error| match node.kind {
        Kind::Threads => {
            let file = installation.node.display();
            Stop::new(1, format!("{file}: {error}; the installation is not complete, install weft again"))
        }
        Kind::Program { rank, block } => {
            let file = errand.job.blocks[block].program.display();
            Stop::new(1, format!("rank {rank} cannot be started: {file}: {error}"))
        }
    })?;
    let speaker = if inlets.is_empty() { node.number } else { ITSELF | node.number };
    let own = child.stdout.take().zip(child.stderr.take());
    let own = own.map(|(out, error)| Outlet { speaker, out: out.into(), error: error.into() });
    let outputs = own.into_iter().chain(inlets.into_iter().map(|inlet| inlet.outlet)).collect();
    let input = child.stdin.take();
    Ok(Node { number: node.number, child, control, outputs, input })
}

/// Returns the kernel's form of a set of processors; none for all.
fn processor_set(processors: &[usize]) -> Option<libc::cpu_set_t> {
    if processors.is_empty() {
        return None;
    }
    // SAFETY: plain data, for which zeros are valid; numbers past the set are left out.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        processors.iter().filter(|&&number| number < libc::CPU_SETSIZE as usize).for_each(|&number| {
            libc::CPU_SET(number, &mut set);
        });
        Some(set)
    }
}
