//! Waiting in the kernel until a word changes.
//!
//! `errno` stays what it was: the calls happen inside library functions of which a program does not expect that they
//! touch it.
#![allow(unsafe_code)] // The futex system call takes an address; a reference to an atomic always is a valid one.

use crate::errno;
use core::sync::atomic::AtomicU32;
use core::time::Duration;

/// Sleeps while `word` holds `expected`. Returns on a wake, a signal, or at once if the value differs already;
/// callers loop over their condition.
#[inline]
pub fn wait(word: &AtomicU32, expected: u32) {
    wait_for(word, expected, None);
}

/// Sleeps like [`wait`], at most for `timeout`. Returns false when the time ran out.
pub fn wait_for(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> bool {
    wait_on(word, expected, timeout, libc::FUTEX_PRIVATE_FLAG)
}

pub(crate) fn wait_on(
    word: &AtomicU32,
    expected: u32,
    timeout: Option<Duration>,
    flags: libc::c_int,
) -> bool {
    let time = timeout.map(|t| libc::timespec {
        tv_sec: t.as_secs().min(i64::MAX as u64) as libc::time_t,
        tv_nsec: t.subsec_nanos() as libc::c_long,
    });
    let time_pointer = time.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    let _kept = errno::keep();
    // SAFETY: the word and the time live through the call; the kernel only reads them.
    let result = unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT | flags, expected, time_pointer)
    };
    result == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
}

/// Wakes up to `count` sleepers of `word`.
#[inline]
pub fn wake(word: &AtomicU32, count: u32) {
    wake_on(word, count, libc::FUTEX_PRIVATE_FLAG);
}

#[inline]
pub(crate) fn wake_on(word: &AtomicU32, count: u32, flags: libc::c_int) {
    let _kept = errno::keep();
    // SAFETY: the kernel uses the address as a key only.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | flags, count.min(i32::MAX as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errno_is_left_alone() {
        let set = |value| {
            // SAFETY: the calling thread's own.
            unsafe { *libc::__errno_location() = value }
        };
        let word = AtomicU32::new(1);
        set(1000);
        wait(&word, 2);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(1000));
        set(1001);
        assert!(!wait_for(&word, 1, Some(Duration::from_micros(1))));
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(1001));
    }
}
