//! What the surroundings of a rank provide: how to end the job, and what is known of it.

use std::io::Write;
use std::sync::OnceLock;
use weft_base::Error;
use weft_base::constants::MPI_ERR_SPAWN;
use weft_base::job::{Name, Named, Secret, Spawn};

/// Installed once by whoever runs the ranks; a program started alone uses [`Alone`].
pub trait Host: Send + Sync {
    /// Ends the whole job with `code` and a report of `message`, on behalf of rank `rank`. `stack` holds the addresses in the
    /// program to which the calls return that led to an error, innermost first; nothing if it was no error.
    fn abort(&self, rank: u32, code: i32, message: &str, stack: &[usize]) -> !;

    /// Returns the number of ranks of the job.
    fn size(&self) -> u32;

    /// Returns the rank of a process that has only one, and has not been told which.
    fn rank(&self) -> u32 {
        0
    }

    /// Returns the position of a rank's program in the job's command line (`MPI_APPNUM`).
    fn application_number(&self, _rank: u32) -> i32 {
        0
    }

    /// Returns how many ranks there may be in all, if that is known (`MPI_UNIVERSE_SIZE`).
    fn universe_size(&self) -> Option<u32> {
        None
    }

    /// Notes that a rank has called `MPI_Finalize` and has no session left: its end is in order now.
    fn finished(&self, _rank: u32) {}

    /// Returns what was said when a rank's program was started, as pairs of `MPI_INFO_ENV`.
    fn launch_info(&self, _rank: u32) -> Vec<(String, String)> {
        let arguments: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
        let Some((command, rest)) = arguments.split_first() else { return Vec::new() };
        vec![
            ("command".into(), command.clone()),
            ("argv".into(), rest.join(" ")),
            ("maxprocs".into(), "1".into()),
        ]
    }

    /// Returns the job's number, which no other job has.
    fn job(&self) -> u64 {
        static JOB: OnceLock<u64> = OnceLock::new();
        *JOB.get_or_init(number_of_job)
    }

    /// Returns what the job's node processes know and nobody else, if they are on several hosts.
    fn secret(&self) -> Option<Secret> {
        None
    }

    /// Returns the port where those wait who have spawned the job, if it was spawned.
    fn parent(&self) -> Option<String> {
        None
    }

    /// Starts programs as a new job, which is told the port. Returns how many processes run each.
    ///
    /// # Errors
    /// `MPI_ERR_SPAWN` with the reason; then nothing runs.
    fn spawn(&self, spawn: Spawn) -> weft_base::Result<Vec<u32>> {
        let none = || Error::new(MPI_ERR_SPAWN, "nobody starts programs here");
        SPAWNER.get().ok_or_else(none)?(spawn)
    }

    /// Sees to names of ports where the job has processes on several hosts, if somebody does; else each process does it itself.
    fn name_afar(&self, _name: &Name) -> Option<Named> {
        None
    }

    /// Says that this node process is, or is no more, connected to processes of another job.
    fn met(&self, _job: u64, _is_connected: bool) {}

    /// Returns the name of the machine.
    fn name(&self) -> String {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let name = name.trim();
        if name.is_empty() { "localhost".into() } else { name.into() }
    }
}

/// Returns a number that no other job has.
pub fn number_of_job() -> u64 {
    u128::from_ne_bytes(weft_sys::local_socket::random().unwrap_or_default()) as u64
}

/// Starts programs as a new job; see [`Host::spawn`].
pub type Spawner = fn(Spawn) -> weft_base::Result<Vec<u32>>;

static SPAWNER: OnceLock<Spawner> = OnceLock::new();

/// Says how a program that nobody has started starts others.
pub fn set_spawner(spawner: Spawner) {
    let _ = SPAWNER.set(spawner);
}

static HOST: OnceLock<&'static dyn Host> = OnceLock::new();

/// Looks for the job that the process is part of.
pub type Finder = fn() -> Option<&'static dyn Host>;

static FINDER: OnceLock<Finder> = OnceLock::new();

/// Says how a program that runs as a process of its own finds its job, once it uses the library.
pub fn set_finder(finder: Finder) {
    let _ = FINDER.set(finder);
}

/// Installs the host. Later calls, and calls after the first use, have no effect.
pub fn install(host: &'static dyn Host) {
    let _ = HOST.set(host);
}

/// Returns the host.
pub fn host() -> &'static dyn Host {
    *HOST.get_or_init(|| {
        if let Some(host) = FINDER.get().and_then(|find| find()) {
            return host;
        }
        for refused in weft_base::settings::gather_alone() {
            let _ = writeln!(std::io::stderr(), "weft: {}", refused.message);
        }
        &Alone
    })
}

/// A program started without a launcher: a job of one rank.
pub struct Alone;

impl Host for Alone {
    fn abort(&self, _rank: u32, code: i32, message: &str, _stack: &[usize]) -> ! {
        let _ = writeln!(std::io::stderr(), "{message}");
        std::process::exit(if code & 0xff == 0 { 1 } else { code })
    }

    fn size(&self) -> u32 {
        1
    }
}
