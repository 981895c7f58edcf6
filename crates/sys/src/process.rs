//! Facts about the process and its kernel threads.
#![allow(unsafe_code)] // Plain system calls, and some that write what they tell.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Returns the kernel's number of the calling kernel thread. In a rank this is the worker's, and may change at any
/// call that waits.
pub fn kernel_thread_id() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Returns a descriptor that becomes readable when a process ends.
///
/// # Errors
/// The system's, for instance because there is no such process.
pub fn open(process: i32) -> io::Result<OwnedFd> {
    // SAFETY: passes numbers only.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    // SAFETY: a descriptor that was just made for the caller.
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) }) }
}

/// Asks the kernel to kill this process when the one that started it ends.
pub fn end_with_parent() {
    // SAFETY: no pointers are passed.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Returns how many of the bytes written to a descriptor the other end has not read yet, if it is a pipe or a local socket.
pub fn unread(descriptor: BorrowedFd<'_>) -> usize {
    let fd = descriptor.as_raw_fd();
    // SAFETY: all zero is a valid `stat`, and the calls write to what they are given only.
    unsafe {
        let mut stat = core::mem::zeroed::<libc::stat>();
        let mut bytes: libc::c_int = 0;
        if libc::fstat(fd, &mut stat) != 0 {
            return 0;
        }
        let question = match stat.st_mode & libc::S_IFMT {
            libc::S_IFIFO => libc::FIONREAD,
            libc::S_IFSOCK => libc::TIOCOUTQ,
            _ => return 0,
        };
        if libc::ioctl(fd, question, &raw mut bytes) == 0 { bytes.max(0) as usize } else { 0 }
    }
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

/// Returns how much processor time a kernel thread of this process has used; nothing if it is gone.
pub fn processor_time(kernel_thread: u32) -> Duration {
    // The kernel's clocks of threads: the number inverted, then that it is of one thread, and what it was scheduled for.
    let clock = (!kernel_thread << 3 | 4 | 2) as libc::clockid_t;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    if result == 0 { Duration::new(time.tv_sec as u64, time.tv_nsec as u32) } else { Duration::ZERO }
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
        // SAFETY: the set was written by the kernel and has 8 bytes; nothing is to be returned.
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

/// Tells whether the program has the run-time library of an address, leak or thread sanitizer.
pub fn is_sanitized() -> bool {
    // All of them have one of these; they are exported also where the library is linked into the program.
    [c"__lsan_do_leak_check", c"__tsan_init"].iter().any(|name| {
        // SAFETY: a C string.
        !unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null()
    })
}

/// Starts a kernel thread that belongs to nobody, whoever the calling thread belongs to: by the C library's own function,
/// although the executable may have replaced it; but by a sanitizer's, if the program has one, which must know all threads. No
/// signal handler runs on it.
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
        let create: Create = match found.is_null() || is_sanitized() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    #[test]
    fn what_the_other_end_has_not_read_is_counted() {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"abc").unwrap();
        assert_eq!(unread(writer.as_fd()), 3);
        reader.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(unread(writer.as_fd()), 0);
        let (mut far, mut near) = std::os::unix::net::UnixStream::pair().unwrap();
        near.write_all(b"abc").unwrap();
        assert!(unread(near.as_fd()) > 0);
        far.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(unread(near.as_fd()), 0);
        assert_eq!(unread(std::fs::File::open("/dev/null").unwrap().as_fd()), 0);
    }

    #[test]
    fn the_processor_time_of_a_thread_grows_while_it_runs() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let (id, start) = (kernel_thread_id(), processor_time(kernel_thread_id()));
            while processor_time(id) < start + Duration::from_millis(2) {}
            sender.send(id).unwrap();
            let _ = ended.recv();
        });
        let id = receiver.recv().unwrap();
        assert!(processor_time(id) >= Duration::from_millis(2));
        drop(end);
        thread.join().unwrap();
        assert_eq!(processor_time(u32::MAX >> 4), Duration::ZERO, "there is no such thread");
    }
}
