//! A rank's children: they get the rank's environment, and only the rank waits for them.
//!
//! libc's own `system` and `popen` give a child the process's environment.

use super::environment::value;
use super::{original, replace};
use core::ffi::{CStr, c_char, c_int};
use core::ptr::{null, null_mut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::PoisonError;
use weft_node::RankState;
use weft_node::children::{Children, Mode, candidates};

type Actions = libc::posix_spawn_file_actions_t;
type Attributes = libc::posix_spawnattr_t;
type Vector = *const *mut c_char;

/// libc's functions of these names.
mod libcs {
    use super::*;
    original!(pub fn posix_spawn(process: *mut libc::pid_t, path: *const c_char, actions: *const Actions,
        attributes: *const Attributes, argv: Vector, envp: Vector) -> c_int);
    original!(pub fn wait4(process: libc::pid_t, status: *mut c_int, options: c_int,
        usage: *mut libc::rusage) -> libc::pid_t);
    original!(pub fn waitid(kind: libc::idtype_t, id: libc::id_t, info: *mut libc::siginfo_t, options: c_int) -> c_int);
    original!(pub fn pclose(stream: *mut libc::FILE) -> c_int);
}

const SHELL: &CStr = c"/bin/sh";

fn children_of(rank: &RankState) -> std::sync::MutexGuard<'_, Children> {
    rank.children.lock().unwrap_or_else(PoisonError::into_inner)
}

fn set_errno(error: c_int) {
    // SAFETY: the calling thread's own `errno`.
    unsafe { *libc::__errno_location() = error };
}

fn errno() -> c_int {
    // SAFETY: the calling thread's own `errno`.
    unsafe { *libc::__errno_location() }
}

/// Starts `sh -c command` with the rank's environment. Returns the process, or an error number.
unsafe fn start_shell(
    rank: &RankState,
    command: *const c_char,
    actions: *const Actions,
) -> Result<libc::pid_t, c_int> {
    let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), c"--".as_ptr(), command, null()];
    let mut process = 0;
    // SAFETY: null-terminated arrays of C strings, the rank's own environment among them.
    let error = unsafe {
        let (argv, envp) = (arguments.as_ptr().cast(), (*rank.environ()).cast_const());
        libcs::posix_spawn(&raw mut process, SHELL.as_ptr(), actions, null(), argv, envp)
    };
    if error == 0 { Ok(process) } else { Err(error) }
}

/// Waits for a child of which the program does not know. Returns its status, or -1.
unsafe fn status_of(process: libc::pid_t) -> c_int {
    let mut status = -1;
    loop {
        // SAFETY: a place on this stack.
        let result = unsafe { libcs::wait4(process, &raw mut status, 0, null_mut()) };
        match result {
            -1 if errno() == libc::EINTR => {}
            -1 => return -1,
            _ => return status,
        }
    }
}

/// Runs a command. Returns its status, or -1.
unsafe fn run(rank: &RankState, command: *const c_char) -> c_int {
    // SAFETY: the caller's C string.
    match unsafe { start_shell(rank, command, null()) } {
        // SAFETY: a child just started.
        Ok(process) => unsafe { status_of(process) },
        // As if the shell had said so.
        Err(_) => 127 << 8,
    }
}

/// Starts a command at the other end of a pipe.
unsafe fn open_stream(
    rank: &RankState,
    command: *const c_char,
    mode: Mode,
) -> Result<*mut libc::FILE, c_int> {
    let (reader, writer) = std::io::pipe().map_err(|error| error.raw_os_error().unwrap_or(libc::EMFILE))?;
    let (own, others, at): (OwnedFd, OwnedFd, c_int) =
        if mode.reads { (reader.into(), writer.into(), 1) } else { (writer.into(), reader.into(), 0) };
    // SAFETY: file actions are initialised, used and destroyed; the stream takes over a descriptor of ours.
    unsafe {
        let stream = libc::fdopen(own.as_raw_fd(), if mode.reads { c"r" } else { c"w" }.as_ptr());
        if stream.is_null() {
            return Err(errno());
        }
        core::mem::forget(own);
        let mut actions = core::mem::zeroed::<Actions>();
        libc::posix_spawn_file_actions_init(&raw mut actions);
        libc::posix_spawn_file_actions_adddup2(&raw mut actions, others.as_raw_fd(), at);
        let started = start_shell(rank, command, &raw const actions);
        libc::posix_spawn_file_actions_destroy(&raw mut actions);
        match started {
            Ok(process) => {
                children_of(rank).add_stream(stream as usize, process);
                Ok(stream)
            }
            Err(error) => {
                libc::fclose(stream);
                Err(error)
            }
        }
    }
}

/// Starts a program as `posix_spawn` does, and notes the child. Returns an error number.
unsafe fn spawn(
    rank: &RankState,
    process: *mut libc::pid_t,
    path: *const c_char,
    actions: *const Actions,
    attributes: *const Attributes,
    argv: Vector,
    envp: Vector,
) -> c_int {
    let mut child = 0;
    // Under the lock, so that who waits at the same time knows the child.
    let mut children = children_of(rank);
    // SAFETY: the caller's own arguments.
    let error = unsafe { libcs::posix_spawn(&raw mut child, path, actions, attributes, argv, envp) };
    if error == 0 {
        children.add(child);
        if !process.is_null() {
            // SAFETY: the caller's place for it.
            unsafe { *process = child };
        }
    }
    error
}

/// Waits until one of the rank's children can be waited for: `try_one` says so of one, without waiting itself, by another
/// result than 0. Returns that, 0 if none can and `waits` is false, and -1 with `errno` if there is none.
fn wait_for_any(rank: &RankState, waits: bool, mut try_one: impl FnMut(libc::pid_t) -> c_int) -> c_int {
    loop {
        let mut ends = Vec::new();
        let children = children_of(rank).list();
        for child in children {
            match try_one(child) {
                0 => {}
                -1 if errno() == libc::ECHILD => {
                    children_of(rank).remove(child);
                    continue;
                }
                result => return result,
            }
            ends.extend(weft_sys::process::open(child));
        }
        if ends.is_empty() {
            set_errno(libc::ECHILD);
            return -1;
        }
        if !waits {
            return 0;
        }
        let mut polled: Vec<libc::pollfd> = ends
            .iter()
            .map(|end| libc::pollfd { fd: end.as_raw_fd(), events: libc::POLLIN, revents: 0 })
            .collect();
        // A child that stops, or that another thread starts, is seen at the next look.
        // SAFETY: an array of this length.
        if unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, LOOK_MS) } < 0 {
            return -1;
        }
    }
}

/// How long a wait for any child lasts between two looks at all.
const LOOK_MS: c_int = 100;

unsafe fn wait4_of(
    rank: &RankState,
    process: libc::pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> libc::pid_t {
    let mut own = 0;
    let mut wait = |process, options| {
        // SAFETY: the caller's place, and one on this stack.
        let result = unsafe { libcs::wait4(process, &raw mut own, options, usage) };
        if result > 0 {
            if libc::WIFEXITED(own) || libc::WIFSIGNALED(own) {
                children_of(rank).remove(result);
            }
            if !status.is_null() {
                // SAFETY: the caller's place.
                unsafe { *status = own };
            }
        }
        result
    };
    if process > 0 {
        return wait(process, options);
    }
    wait_for_any(rank, options & libc::WNOHANG == 0, |child| {
        // SAFETY: no pointers.
        if process < -1 && unsafe { libc::getpgid(child) } != -process {
            return 0;
        }
        wait(child, options | libc::WNOHANG)
    })
}

unsafe fn waitid_of(
    rank: &RankState,
    kind: libc::idtype_t,
    id: libc::id_t,
    info: *mut libc::siginfo_t,
    options: c_int,
) -> c_int {
    let wait = |kind, id, options| {
        // SAFETY: `siginfo_t` is plain data; the caller's place.
        unsafe {
            let mut own = core::mem::zeroed::<libc::siginfo_t>();
            let result = libcs::waitid(kind, id, &raw mut own, options);
            let found = own.si_pid();
            let ended = matches!(own.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
            if result == 0 && found != 0 && ended && options & libc::WNOWAIT == 0 {
                children_of(rank).remove(found);
            }
            if !info.is_null() {
                *info = own;
            }
            if result == 0 { c_int::from(found != 0) } else { -1 }
        }
    };
    let result = match kind {
        libc::P_ALL => wait_for_any(rank, options & libc::WNOHANG == 0, |child| {
            wait(libc::P_PID, child as libc::id_t, options | libc::WNOHANG)
        }),
        _ => wait(kind, id, options),
    };
    result.min(0)
}

replace! {
    /// Runs a command with the rank's environment.
    fn system(command: *const c_char) -> c_int [rank] {
        // SAFETY: null asks whether there is a shell; else the caller's C string.
        unsafe { if command.is_null() { c_int::from(run(rank, c"exit 0".as_ptr()) == 0) } else { run(rank, command) } }
    }
    /// Starts a command at the other end of a pipe, with the rank's environment.
    fn popen(command: *const c_char, mode: *const c_char) -> *mut libc::FILE [rank] {
        // SAFETY: the caller's C strings.
        let result = unsafe {
            let mode = Mode::parse(CStr::from_ptr(mode).to_bytes()).ok_or(libc::EINVAL);
            mode.and_then(|mode| open_stream(rank, command, mode))
        };
        result.unwrap_or_else(|error| {
            set_errno(error);
            null_mut()
        })
    }
    /// Closes a stream of `popen` and waits for the command.
    fn pclose(stream: *mut libc::FILE) -> c_int [rank] {
        let process = children_of(rank).remove_stream(stream as usize);
        // SAFETY: the caller's stream, and the child at its other end.
        unsafe {
            match process {
                None => libcs::pclose(stream),
                Some(process) => {
                    libc::fclose(stream);
                    status_of(process)
                }
            }
        }
    }
    /// Starts a program, for which only the rank waits.
    fn posix_spawn(
        process: *mut libc::pid_t, path: *const c_char, actions: *const Actions, attributes: *const Attributes,
        argv: Vector, envp: Vector,
    ) -> c_int [rank] {
        // SAFETY: the caller's own arguments.
        unsafe { spawn(rank, process, path, actions, attributes, argv, envp) }
    }
    /// Starts a program found by the rank's `PATH`.
    fn posix_spawnp(
        process: *mut libc::pid_t, file: *const c_char, actions: *const Actions, attributes: *const Attributes,
        argv: Vector, envp: Vector,
    ) -> c_int [rank] {
        let mut refused = false;
        // SAFETY: the caller's own arguments.
        unsafe {
            let path = value(rank, c"PATH");
            let path = (!path.is_null()).then(|| CStr::from_ptr(path));
            for file in candidates(CStr::from_ptr(file), path) {
                match spawn(rank, process, file.as_ptr(), actions, attributes, argv, envp) {
                    libc::EACCES => refused = true,
                    libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
                    result => return result,
                }
            }
        }
        if refused { libc::EACCES } else { libc::ENOENT }
    }
    /// Waits for a child of the rank.
    fn wait(status: *mut c_int) -> libc::pid_t [rank] {
        // SAFETY: the caller's place.
        unsafe { wait4_of(rank, -1, status, 0, null_mut()) }
    }
    /// Waits for a child of the rank.
    fn waitpid(process: libc::pid_t, status: *mut c_int, options: c_int) -> libc::pid_t [rank] {
        // SAFETY: the caller's place.
        unsafe { wait4_of(rank, process, status, options, null_mut()) }
    }
    /// Waits for a child of the rank.
    fn wait3(status: *mut c_int, options: c_int, usage: *mut libc::rusage) -> libc::pid_t [rank] {
        // SAFETY: the caller's places.
        unsafe { wait4_of(rank, -1, status, options, usage) }
    }
    /// Waits for a child of the rank.
    fn wait4(
        process: libc::pid_t, status: *mut c_int, options: c_int, usage: *mut libc::rusage,
    ) -> libc::pid_t [rank] {
        // SAFETY: the caller's places.
        unsafe { wait4_of(rank, process, status, options, usage) }
    }
    /// Waits for a child of the rank.
    fn waitid(
        kind: libc::idtype_t, id: libc::id_t, info: *mut libc::siginfo_t, options: c_int,
    ) -> c_int [rank] {
        // SAFETY: the caller's place.
        unsafe { waitid_of(rank, kind, id, info, options) }
    }
}
