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

type Work = Box<dyn FnOnce() + Send>;

extern "C" fn run_apart(work: *mut core::ffi::c_void) -> *mut core::ffi::c_void {
    // SAFETY: `spawn_apart` made the box for this thread only.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    work();
    core::ptr::null_mut()
}

/// Starts a kernel thread that belongs to nobody, whoever the calling thread belongs to: by the C library's own function,
/// although the executable may have replaced it. No signal handler runs on it.
///
/// # Errors
/// What the kernel says.
pub fn spawn_apart(
    name: &str,
    stack_size: usize,
    work: impl FnOnce() + Send + 'static,
) -> std::io::Result<()> {
    type Create = unsafe extern "C" fn(
        *mut libc::pthread_t,
        *const libc::pthread_attr_t,
        extern "C" fn(*mut core::ffi::c_void) -> *mut core::ffi::c_void,
        *mut core::ffi::c_void,
    ) -> libc::c_int;
    let name: Vec<u8> = name.bytes().take(15).chain([0]).collect();
    let work: Work = Box::new(move || {
        // SAFETY: a C string.
        unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
        work();
    });
    let _blocked = SignalsBlocked::new();
    let argument = Box::into_raw(Box::new(work)).cast();
    // SAFETY: the C library is there already and keeps its functions; the one of this name has this type. The attributes
    // are initialised before use and destroyed after; the thread takes the box if it is made.
    let error = unsafe {
        let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        let found =
            if library.is_null() { library } else { libc::dlsym(library, c"pthread_create".as_ptr()) };
        let create: Create = match found.is_null() {
            true => libc::pthread_create,
            false => core::mem::transmute::<*mut core::ffi::c_void, Create>(found),
        };
        let mut attributes = core::mem::zeroed();
        let mut id = core::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setstacksize(&mut attributes, stack_size);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let error = create(&mut id, &attributes, run_apart, argument);
        libc::pthread_attr_destroy(&mut attributes);
        error
    };
    if error == 0 {
        return Ok(());
    }
    // SAFETY: no thread was made, so the box is still ours.
    drop(unsafe { Box::from_raw(argument.cast::<Work>()) });
    Err(std::io::Error::from_raw_os_error(error))
}
