//! Names the limit of the system that stopped the creation of a thread or stack, and how to lift it.

use std::io;

use weft_base::Error;
use weft_base::constants::{MPI_ERR_NO_MEM, MPI_ERR_SPAWN};

fn number(path: &str) -> Option<usize> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Explains why no address space was left for the stacks.
#[cold]
pub(crate) fn no_stacks(ranks: usize, size: usize, error: &io::Error) -> Error {
    let total = ranks.saturating_mul(size) >> 20;
    let mode = number("/proc/sys/vm/overcommit_memory");
    let why = if mode == Some(2) {
        "vm.overcommit_memory is 2, which counts unused stack as used"
    } else {
        "ulimit -v may be set"
    };
    Error::new(
        MPI_ERR_NO_MEM,
        format!(
            "cannot reserve {total} MiB for the stacks of {ranks} ranks: {error}; {why}: ask for smaller stacks (ulimit -s) or lift that limit"
        ),
    )
}

/// Explains why a kernel thread could not be created.
#[cold]
pub(crate) fn no_thread(what: &str, error: &io::Error) -> Error {
    let mut reasons = Vec::new();
    let threads = number_of_threads();
    let maps = std::fs::read_to_string("/proc/self/maps").map_or(0, |m| m.lines().count());
    let mut check = |used: usize, limit: Option<usize>, name: &str, remedy: &str| {
        if let Some(limit) = limit.filter(|&l| used + used / 20 + 16 >= l) {
            reasons.push(format!("{name} is {limit} and {used} are in use: {remedy}"));
        }
    };
    let everybody = system_threads();
    check(threads, cgroup_pids(), "the container's limit of processes (pids.max)", "raise it");
    check(threads, weft_sys::process::thread_limit(), "the limit of processes (ulimit -u)", "raise it");
    check(everybody, number("/proc/sys/kernel/threads-max"), "kernel.threads-max", "raise it with sysctl");
    check(everybody, number("/proc/sys/kernel/pid_max"), "kernel.pid_max", "raise it with sysctl");
    check(maps, number("/proc/sys/vm/max_map_count"), "vm.max_map_count", "raise it with sysctl");
    if reasons.is_empty() {
        reasons.push("no limit known to Weft was reached; memory may be short".into());
    }
    Error::new(MPI_ERR_SPAWN, format!("cannot create a thread for {what}: {error}; {}", reasons.join("; ")))
}

fn number_of_threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

fn system_threads() -> usize {
    // The fourth field of loadavg is "running/all".
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').nth(3).and_then(|f| f.split('/').nth(1)?.parse().ok()).unwrap_or(0)
}

fn cgroup_pids() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = text.lines().find_map(|l| l.strip_prefix("0::"))?;
    number(&format!("/sys/fs/cgroup{path}/pids.max")).or_else(|| number("/sys/fs/cgroup/pids.max"))
}
