//! Who a rank is as a process: its number, and that of its first thread.

use super::process::is_main_thread;
use super::{original, replace};
use core::ffi::c_int;
use core::sync::atomic::Ordering;
use weft_node::{RankState, identity, state};

/// libc's functions of these names.
mod libcs {
    use super::*;
    original!(pub fn getpid() -> libc::pid_t);
    original!(pub fn gettid() -> libc::pid_t);
    original!(pub fn tgkill(process: libc::pid_t, thread: libc::pid_t, signal: c_int) -> c_int);
}

/// Gives the rank, whose own thread calls, its number.
pub fn begin() {
    if let (Some(rank), Some(number)) = (state::current(), identity::own_number()) {
        rank.number.store(number, Ordering::Relaxed);
    }
}

fn number_of(rank: &RankState) -> Option<libc::pid_t> {
    Some(rank.number.load(Ordering::Relaxed)).filter(|number| *number != 0)
}

replace! {
    /// Returns the rank's number.
    fn getpid() -> libc::pid_t [rank] {
        // SAFETY: no preconditions.
        number_of(rank).unwrap_or_else(|| unsafe { libcs::getpid() })
    }
    /// Returns the number of the calling thread: of the first one it is the rank's.
    fn gettid() -> libc::pid_t [rank] {
        // SAFETY: no preconditions.
        number_of(rank).filter(|_| is_main_thread()).unwrap_or_else(|| unsafe { libcs::gettid() })
    }
    /// Sends a signal to a thread.
    fn tgkill(process: libc::pid_t, thread: libc::pid_t, signal: c_int) -> c_int [rank] {
        let own = number_of(rank);
        // SAFETY: no pointers are passed. The kernel knows the process by another number, and a rank's own thread by that of
        // the worker that runs it.
        unsafe {
            let process = if Some(process) == own { libcs::getpid() } else { process };
            let thread = if Some(thread) == own && is_main_thread() { libcs::gettid() } else { thread };
            libcs::tgkill(process, thread, signal)
        }
    }
}
