//! Starts the node process so that it cannot outlive `mpirun`.
#![allow(unsafe_code)] // Prepares the child between fork and exec, and makes descriptors by system calls.

use crate::flags::Stop;
use crate::plan::Plan;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// A node process and the socket to it.
#[derive(Debug)]
pub struct Node {
    /// The process.
    pub child: Child,
    /// Reports come from here; requests go there.
    pub control: UnixStream,
}

/// Makes a file without a name; it vanishes with its last descriptor.
fn nameless_file() -> std::io::Result<File> {
    // SAFETY: a C string; the result is a new descriptor of ours.
    unsafe {
        let fd = libc::memfd_create(c"weft-job".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 { Err(std::io::Error::last_os_error()) } else { Ok(File::from_raw_fd(fd)) }
    }
}

/// Blocks the signals that `supervise` reads from a descriptor. Must come before the child is started, so that its end
/// cannot be missed.
fn block_signals() {
    // SAFETY: a signal set on the stack; the calling thread's mask, and `mpirun` has one thread.
    unsafe {
        let set = crate::supervise::signal_set();
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}

/// Starts the node process.
///
/// # Errors
/// Says which part of the installation or which system call failed.
pub fn start(plan: &Plan) -> Result<Node, Stop> {
    let fail = |what: &str, error: std::io::Error| Stop::new(1, format!("{what}: {error}"));
    let (control, theirs) = UnixStream::pair().map_err(|error| fail("socketpair", error))?;
    let mut file = nameless_file().map_err(|error| fail("memfd_create", error))?;
    let job = weft_base::job::Job { control_fd: theirs.as_raw_fd(), ..plan.job.clone() };
    let text = serde_json::to_vec(&job).map_err(|error| fail("job description", error.into()))?;
    file.write_all(&text).and_then(|()| file.rewind()).map_err(|error| fail("job description", error))?;
    let passed = [file.as_raw_fd(), theirs.as_raw_fd()];
    let mut command = Command::new(&plan.installation.node);
    command.arg(passed[0].to_string()).env_clear().envs(&plan.environment);
    if let Some(directory) = &plan.directory {
        command.current_dir(directory);
    }
    block_signals();
    let parent = std::process::id();
    let prepare = move || {
        // SAFETY: only system calls, each allowed between fork and exec.
        unsafe {
            for fd in passed {
                if libc::fcntl(fd, libc::F_SETFD, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // mpirun may have died before the line above took effect.
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        }
        Ok(())
    };
    // SAFETY: `prepare` calls only what may be called between fork and exec.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn().map_err(|error| {
        let node = plan.installation.node.display();
        Stop::new(1, format!("{node}: {error}; the installation is not complete, install weft again"))
    })?;
    Ok(Node { child, control })
}
