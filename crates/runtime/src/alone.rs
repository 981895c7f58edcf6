//! How a program that no `mpirun` of ours has started starts others: it starts an `mpirun` itself, of the installation that
//! its library is from, which watches the new job.
//!
//! If this process fails while it is connected to that job, its ranks notice the loss.
#![allow(unsafe_code)] // Passes a descriptor on.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use weft_base::constants::MPI_ERR_SPAWN;
use weft_base::job::{Commission, Heritage, Request, SPAWNED, Spawn};
use weft_base::{Error, Result};

/// Returns the `mpirun` beside the library, or else the name to look for in `PATH`.
fn launcher() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let is_ours = |path: &&str| path.rsplit('/').next().is_some_and(|name| name.starts_with("libmpi_abi.so"));
    let library = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(is_ours);
    let beside = library.and_then(|path| {
        let prefix = std::fs::canonicalize(path).ok()?.parent()?.parent()?.to_path_buf();
        Some(prefix.join("bin/mpirun")).filter(|mpirun| mpirun.exists())
    });
    beside.unwrap_or_else(|| "mpirun".into())
}

/// Starts programs as a new job; returns how many processes run each.
///
/// # Errors
/// `MPI_ERR_SPAWN` with the reason why nothing runs.
pub fn spawn(spawn: Spawn) -> Result<Vec<u32>> {
    let refused = |error: std::io::Error| {
        let text = format!("mpirun, which starts programs, cannot be started: {error}; put it into PATH");
        Error::new(MPI_ERR_SPAWN, text)
    };
    let (mut near, far) = UnixStream::pair().map_err(refused)?;
    let mut command = Command::new(launcher());
    command.env(SPAWNED, far.as_raw_fd().to_string()).stdin(Stdio::null());
    let passed = far.as_raw_fd();
    let prepare = move || {
        // SAFETY: a system call, allowed between fork and exec.
        match unsafe { libc::fcntl(passed, libc::F_SETFD, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: as said there.
    unsafe { command.pre_exec(prepare) };
    let mut child = command.spawn().map_err(refused)?;
    drop(far);
    let (id, heritage) = (weft_mpi::process::host::number_of_job(), Heritage::default());
    let commission = Commission { id, wish: 0, spawn, heritage };
    let mut line = serde_json::to_vec(&commission).map_err(|error| refused(error.into()))?;
    line.push(b'\n');
    near.write_all(&line).map_err(refused)?;
    let mut answer = String::new();
    let mut says = BufReader::new(near);
    let read = says.read_line(&mut answer);
    let outcome = match (read, serde_json::from_str(&answer)) {
        (Ok(_), Ok(Request::Spawned { outcome, .. })) => outcome,
        _ => Err("mpirun, which starts programs, has ended without an answer".into()),
    };
    // It may say later that nobody will connect. What remains of it when it ends is collected; without a thread for that,
    // when this process ends.
    let _ = weft_sys::process::spawn_apart("weft-child", 64 << 10, move || {
        for line in says.lines().map_while(std::io::Result::ok) {
            if let Ok(Request::NotMet { port, reason }) = serde_json::from_str(&line) {
                weft_mpi::jobs::ports::refuse(&port, reason);
            }
        }
        let _ = child.wait();
    });
    outcome.map_err(|reason| Error::new(MPI_ERR_SPAWN, reason))
}
