//! The main function of a node process.
#![allow(unsafe_code)] // Takes inherited descriptors, and leaves without running exit handlers.

use crate::control::Control;
use crate::job::{self, Held};
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use weft_base::host::{NodeHooks, VERSION};
use weft_base::job::{Job, Report};

/// Ends the process without exit handlers, destructors or unloading: thousands of copies would take long.
pub fn leave_at_once(code: i32) -> ! {
    // SAFETY: ends the process; the raw call, because `_exit` ends a rank only.
    unsafe {
        libc::syscall(libc::SYS_exit_group, code);
        libc::abort()
    }
}

/// Writes out what ranks left in stdio's buffers.
pub fn flush() {
    // SAFETY: a null stream means all output streams.
    unsafe { libc::fflush(core::ptr::null_mut()) };
}

/// Reads the job description and takes the control socket.
fn receive(argument: &str) -> Result<(Job, Control), String> {
    let fd: i32 = argument.parse().map_err(|_| format!("{argument}: not a descriptor"))?;
    let close_on_exec = |fd: i32| {
        // SAFETY: a system call on a number; fails if it is no descriptor.
        let result = unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        if result < 0 { Err(format!("descriptor {fd} was not passed")) } else { Ok(()) }
    };
    close_on_exec(fd)?;
    // SAFETY: `mpirun` passed the descriptor to this process for this purpose; nobody else uses it.
    let mut file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| format!("job description: {error}"))?;
    let job: Job = serde_json::from_str(&text).map_err(|error| format!("job description: {error}"))?;
    if job.version != env!("CARGO_PKG_VERSION") {
        let ours = env!("CARGO_PKG_VERSION");
        return Err(format!("mpirun is version {}, the library {ours}; install weft again", job.version));
    }
    weft_base::settings::apply(&job.settings).map_err(|error| format!("{error}; install weft again"))?;
    close_on_exec(job.control_fd)?;
    // SAFETY: as above.
    let control = Control::new(unsafe { OwnedFd::from_raw_fd(job.control_fd) });
    Ok((job, control))
}

/// Runs the job whose description is in the descriptor that `arguments[1]` names; returns the exit code.
pub fn main(arguments: &[String], hooks: &'static NodeHooks) -> i32 {
    let Some(argument) = arguments.get(1) else {
        eprintln!("weft-node: holds the ranks of a job; it is started by mpirun");
        return 2;
    };
    if hooks.version != VERSION {
        eprintln!("weft-node: of another build than its library; install weft again");
        return 70;
    }
    let (description, control) = match receive(argument) {
        Ok(received) => received,
        Err(message) => {
            eprintln!("weft-node: {message}");
            return 70;
        }
    };
    // While there is one thread this is a few instructions; later the kernel waits for all processors, some 20 ms.
    weft_sync::enable_global_barrier();
    let control: &'static Control = Box::leak(Box::new(control));
    let code = match Held::start(description, control, hooks) {
        Ok(job) => job.wait(),
        Err(message) => {
            control.send(&Report::Failed { message });
            leave_at_once(1)
        }
    };
    flush();
    control.send(&Report::Ended { code });
    job::forget();
    leave_at_once(code)
}
