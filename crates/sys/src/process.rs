//! Facts about the process and its kernel threads.
#![allow(unsafe_code)] // Plain system calls, and one that writes a limit.

/// Returns the kernel's number of the calling kernel thread. In a rank this is the worker's, and may change at any
/// call that waits.
pub fn kernel_thread_id() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Asks the kernel to kill this process when the one that started it ends.
pub fn end_with_parent() {
    // SAFETY: no pointers are passed.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// What a kernel thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// On a processor, or ready to run.
    Running,
    /// Waiting in the kernel.
    Blocked,
    /// Gone, or not to be seen.
    Unknown,
}

/// Returns what a kernel thread of this process does now, by `/proc/self/task/<id>/stat`.
pub fn activity(kernel_thread: u32) -> Activity {
    let Ok(text) = std::fs::read_to_string(format!("/proc/self/task/{kernel_thread}/stat")) else {
        return Activity::Unknown;
    };
    // The command in parentheses may hold anything, so look after the last one.
    match text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
        Some('R') => Activity::Running,
        Some('S' | 'D' | 'T' | 't') => Activity::Blocked,
        _ => Activity::Unknown,
    }
}

/// Counts the kernel threads of this process whose names do not begin with `prefix`. The first one is counted even when it
/// has ended. 0 if they cannot be known.
pub fn threads_not_named(prefix: &str) -> usize {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    tasks.flatten().filter_map(name).filter(|name| !name.starts_with(prefix)).count()
}

/// Returns the soft limit of the stack size (RLIMIT_STACK), or none if unlimited or unknown.
pub fn stack_limit() -> Option<usize> {
    soft_limit(libc::RLIMIT_STACK)
}

/// Returns the soft limit of the user's number of processes and threads (RLIMIT_NPROC), or none if unlimited.
pub fn thread_limit() -> Option<usize> {
    soft_limit(libc::RLIMIT_NPROC)
}

fn soft_limit(which: libc::__rlimit_resource_t) -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the result.
    let result = unsafe { libc::getrlimit(which, &mut limit) };
    (result == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as usize)
}

/// Blocks every signal for the calling kernel thread while it lives; threads created meanwhile inherit that.
/// Real-time signals the C library keeps for itself are blocked too.
pub struct SignalsBlocked(u64);

impl SignalsBlocked {
    /// Blocks all signals.
    pub fn new() -> Self {
        let all = u64::MAX;
        let mut old = 0u64;
        // SAFETY: both sets are 8 bytes, as the size says. The C library's wrapper would leave its own two signals.
        unsafe {
            libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const all, &raw mut old, 8);
        }
        Self(old)
    }
}

impl Default for SignalsBlocked {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigprocmask,
                libc::SIG_SETMASK,
                &raw const self.0,
                core::ptr::null_mut::<u64>(),
                8,
            );
        }
    }
}

/// Gives the calling kernel thread up: it sleeps, running signal handlers only, until the process ends.
pub fn sleep_for_ever() -> ! {
    loop {
        // SAFETY: no preconditions.
        unsafe { libc::pause() };
    }
}
