//! Runs one program to its end within a time limit, and watches the memory of everything it starts.
#![allow(unsafe_code)] // process groups: `killpg` has no safe form in the standard library

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How a program ended.
pub struct Outcome {
    /// Whether it ended by itself with exit code 0.
    pub success: bool,
    /// What it wrote to standard output.
    pub output: String,
    /// From before its start to after its end.
    pub elapsed: Duration,
    /// The largest proportional set size of all its processes together, in bytes, if memory was watched.
    pub memory: u64,
    /// Why it failed, in words.
    pub reason: String,
}

/// Runs a command. With `watch_memory`, samples the memory of the command and its descendants all the time, which
/// slows it down: time and memory are therefore measured in separate runs.
pub fn run(command: &[String], limit: Duration, watch_memory: bool) -> Outcome {
    let start = Instant::now();
    let failed = |reason: String| Outcome {
        success: false,
        output: String::new(),
        elapsed: start.elapsed(),
        memory: 0,
        reason,
    };
    let mut process = Command::new(&command[0]);
    process
        .args(&command[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = match process.spawn() {
        Ok(child) => child,
        Err(error) => return failed(format!("cannot start {}: {error}", command[0])),
    };
    let id = child.id();
    let (ended, late) = (AtomicBool::new(false), AtomicBool::new(false));
    let peak = AtomicU64::new(0);
    let (mut stdout, mut stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let (mut output, mut errors) = (String::new(), String::new());
    let mut status = None;
    let mut elapsed = Duration::ZERO;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Acquire) {
                if watch_memory {
                    peak.fetch_max(memory_of_tree(id), Ordering::Relaxed);
                }
                if start.elapsed() > limit {
                    late.store(true, Ordering::Release);
                    // SAFETY: `killpg` takes no pointer; the group is the child's own, and the child is not reaped
                    // before `ended` is set, so its number cannot have passed to another group.
                    unsafe { libc::killpg(id as libc::pid_t, libc::SIGKILL) };
                    return;
                }
                std::thread::park_timeout(Duration::from_millis(if watch_memory { 2 } else { 50 }));
            }
        });
        scope.spawn(|| stderr.read_to_string(&mut errors).ok());
        stdout.read_to_string(&mut output).ok();
        status = wait_without_reaping(id).then(|| elapsed = start.elapsed());
        ended.store(true, Ordering::Release);
    });
    let code = child.wait();
    let success = status.is_some() && code.as_ref().is_ok_and(std::process::ExitStatus::success);
    let reason = if late.load(Ordering::Acquire) {
        format!("no end after {} s", limit.as_secs())
    } else {
        format!("{code:?}: {}", errors.lines().next_back().unwrap_or_default())
    };
    Outcome { success, output, elapsed, memory: peak.into_inner(), reason }
}

/// Waits until a child has ended but leaves it a zombie, so that its number stays taken.
fn wait_without_reaping(id: u32) -> bool {
    // SAFETY: an all-zero `siginfo_t` is a valid value of that plain C structure.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: `info` is a valid place for the result.
        let result = unsafe { libc::waitid(libc::P_PID, id, &mut info, libc::WEXITED | libc::WNOWAIT) };
        if result == 0 {
            return true;
        }
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return false;
        }
    }
}

/// Sums the proportional set sizes of a process and all its descendants: a page that several of them (or several
/// mappings of one of them) share counts once.
fn memory_of_tree(root: u32) -> u64 {
    let mut total = 0;
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        let rollup = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
        let kilobytes = rollup
            .lines()
            .find_map(|line| line.strip_prefix("Pss:")?.split_whitespace().next()?.parse().ok());
        total += kilobytes.unwrap_or(0u64) * 1024;
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{id}/task")) else { continue };
        for task in tasks.flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            pending.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration, watch: bool) -> Outcome {
        run(&["sh".into(), "-c".into(), script.into()], limit, watch)
    }

    #[test]
    fn output_and_exit_code_are_reported() {
        let outcome = shell("echo sample x 1 2; exit 0", Duration::from_secs(20), false);
        assert!(outcome.success && outcome.output == "sample x 1 2\n");
        let outcome = shell("echo broken >&2; exit 3", Duration::from_secs(20), false);
        assert!(!outcome.success && outcome.reason.contains("broken"), "{}", outcome.reason);
    }

    #[test]
    fn a_program_that_does_not_end_is_ended_with_its_children() {
        let outcome = shell("sleep 1000 & sleep 1000", Duration::from_millis(100), false);
        assert!(!outcome.success && outcome.reason.starts_with("no end"), "{}", outcome.reason);
    }

    #[test]
    fn memory_of_children_is_counted() {
        // The parent alone is about a megabyte; its child holds a string of 32 MiB while it counts.
        let child =
            "x=$(head -c 33554432 /dev/zero | tr '\\0' a); i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let outcome = shell(&format!("({child}); exit 0"), Duration::from_secs(60), true);
        assert!(outcome.success && outcome.memory > 30 << 20, "{} bytes, {}", outcome.memory, outcome.reason);
    }
}
