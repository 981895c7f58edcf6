//! Functions that return or keep static buffers.

use super::replace;
use super::zone::localtime_r;
use core::ffi::c_char;

unsafe extern "C" {
    fn asctime_r(time: *const libc::tm, buffer: *mut c_char) -> *mut c_char;
}

replace! {
    /// Splits the rank's string.
    fn strtok(text: *mut c_char, delimiters: *const c_char) -> *mut c_char [rank] {
        // SAFETY: the caller's strings; the rank's own place to go on from.
        unsafe { libc::strtok_r(text, delimiters, &raw mut (*rank.buffers.get()).token) }
    }
    /// Breaks down local time into the rank's buffer.
    fn localtime(time: *const libc::time_t) -> *mut libc::tm [rank] {
        // SAFETY: the caller's time; the rank's own buffer.
        unsafe { localtime_r(time, &raw mut (*rank.buffers.get()).time) }
    }
    /// Breaks down universal time into the rank's buffer.
    fn gmtime(time: *const libc::time_t) -> *mut libc::tm [rank] {
        // SAFETY: the caller's time; the rank's own buffer.
        unsafe { libc::gmtime_r(time, &raw mut (*rank.buffers.get()).time) }
    }
    /// Writes a broken-down time into the rank's buffer.
    fn asctime(time: *const libc::tm) -> *mut c_char [rank] {
        // SAFETY: the caller's time; the rank's own buffer, longer than the 26 bytes asked for.
        unsafe { asctime_r(time, (&raw mut (*rank.buffers.get()).text).cast()) }
    }
    /// Writes a local time into the rank's buffer.
    fn ctime(time: *const libc::time_t) -> *mut c_char [_rank] {
        // SAFETY: the caller's time.
        unsafe {
            let broken_down = localtime(time);
            if broken_down.is_null() { core::ptr::null_mut() } else { asctime(broken_down) }
        }
    }
}
