//! Local time by the rank's `TZ`. libc has one time zone: whoever asks sets it to the rank's first.

use super::environment::value;
use super::{original, replace};
use core::ffi::{CStr, c_char, c_int, c_long};
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};
use weft_node::RankState;
use weft_node::state::Zone;

/// libc's functions of these names, and what `tzset` sets.
mod libcs {
    use super::*;
    original!(pub fn tzset());
    original!(pub fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int);
    original!(pub fn unsetenv(name: *const c_char) -> c_int);
    original!(pub fn localtime_r(time: *const libc::time_t, result: *mut libc::tm) -> *mut libc::tm);
    original!(pub fn mktime(time: *mut libc::tm) -> libc::time_t);
    original!(pub fn ctime_r(time: *const libc::time_t, buffer: *mut c_char) -> *mut c_char);
    original!(pub fn strftime(to: *mut c_char, room: usize, format: *const c_char, time: *const libc::tm) -> usize);
    original!(pub fn strftime_l(to: *mut c_char, room: usize, format: *const c_char, time: *const libc::tm,
        locale: libc::locale_t) -> usize);
    original!(pub fn wcsftime(to: *mut libc::wchar_t, room: usize, format: *const libc::wchar_t,
        time: *const libc::tm) -> usize);
    unsafe extern "C" {
        #[link_name = "tzname"]
        pub static NAMES: [*mut c_char; 2];
        #[link_name = "timezone"]
        pub static OFFSET: c_long;
        #[link_name = "daylight"]
        pub static DAYLIGHT: c_int;
    }
}

/// The `TZ` that libc has, once a rank has asked: none if it is unset.
static PRESENT: Mutex<Option<Option<CString>>> = Mutex::new(None);

/// Calls a function of libc's while libc's time zone is the rank's.
fn in_zone<R>(rank: &'static RankState, call: impl FnOnce() -> R) -> R {
    let wanted = value(rank, c"TZ");
    // SAFETY: null or a C string of the rank's environment.
    let wanted = (!wanted.is_null()).then(|| unsafe { CStr::from_ptr(wanted) });
    let mut present = PRESENT.lock().unwrap_or_else(PoisonError::into_inner);
    if present.as_ref().is_none_or(|present| present.as_deref() != wanted) {
        // SAFETY: only here the process's environment is changed while ranks run.
        unsafe {
            match wanted {
                Some(zone) => libcs::setenv(c"TZ".as_ptr(), zone.as_ptr(), 1),
                None => libcs::unsetenv(c"TZ".as_ptr()),
            };
        }
        *present = Some(wanted.map(CStr::to_owned));
    }
    // SAFETY: libc reads what was set above; the rank's own variables.
    unsafe {
        libcs::tzset();
        let result = call();
        rank.set_zone(Zone { names: libcs::NAMES, offset: libcs::OFFSET, daylight: libcs::DAYLIGHT });
        result
    }
}

replace! {
    /// Sets the rank's `tzname` and its neighbours.
    fn tzset() [rank] { in_zone(rank, || ()) }
    /// Breaks down local time.
    fn localtime_r(time: *const libc::time_t, result: *mut libc::tm) -> *mut libc::tm [rank] {
        // SAFETY: the caller's own arguments.
        in_zone(rank, || unsafe { libcs::localtime_r(time, result) })
    }
    /// Returns the time that a local time is.
    fn mktime(time: *mut libc::tm) -> libc::time_t [rank] {
        // SAFETY: the caller's own argument.
        in_zone(rank, || unsafe { libcs::mktime(time) })
    }
    /// Returns the time that a local time is.
    fn timelocal(time: *mut libc::tm) -> libc::time_t [rank] {
        // SAFETY: the caller's own argument.
        in_zone(rank, || unsafe { libcs::mktime(time) })
    }
    /// Writes a local time.
    fn ctime_r(time: *const libc::time_t, buffer: *mut c_char) -> *mut c_char [rank] {
        // SAFETY: the caller's own arguments.
        in_zone(rank, || unsafe { libcs::ctime_r(time, buffer) })
    }
    /// Writes a time, perhaps with the name of its zone.
    fn strftime(
        to: *mut c_char, room: usize, format: *const c_char, time: *const libc::tm,
    ) -> usize [rank] {
        // SAFETY: the caller's own arguments.
        in_zone(rank, || unsafe { libcs::strftime(to, room, format, time) })
    }
    /// Writes a time, perhaps with the name of its zone.
    fn strftime_l(
        to: *mut c_char, room: usize, format: *const c_char, time: *const libc::tm, locale: libc::locale_t,
    ) -> usize [rank] {
        // SAFETY: the caller's own arguments.
        in_zone(rank, || unsafe { libcs::strftime_l(to, room, format, time, locale) })
    }
    /// Writes a time, perhaps with the name of its zone.
    fn wcsftime(
        to: *mut libc::wchar_t, room: usize, format: *const libc::wchar_t, time: *const libc::tm,
    ) -> usize [rank] {
        // SAFETY: the caller's own arguments.
        in_zone(rank, || unsafe { libcs::wcsftime(to, room, format, time) })
    }
}
