//! `getenv` and `setenv` of a rank.

use super::replace;
use core::ffi::{CStr, c_char, c_int};
use std::sync::{MutexGuard, PoisonError};
use weft_node::RankState;
use weft_node::environment::Environment;

fn environment_of(rank: &'static RankState) -> MutexGuard<'static, Environment> {
    rank.environment.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a variable's value in the rank's environment; null if there is none.
pub fn value(rank: &'static RankState, name: &CStr) -> *mut c_char {
    // SAFETY: the rank's variable, which the program must leave as libc demands.
    unsafe { environment_of(rank).get(rank.environ(), name) }
}

/// Returns libc's result of a change.
fn result(is_name: bool) -> c_int {
    if is_name {
        return 0;
    }
    // SAFETY: the calling thread's own `errno`.
    unsafe { *libc::__errno_location() = libc::EINVAL };
    -1
}

replace! {
    /// Returns a variable of the rank.
    fn getenv(name: *const c_char) -> *mut c_char [rank] {
        // SAFETY: the caller passes a C string.
        value(rank, unsafe { CStr::from_ptr(name) })
    }
    /// Returns a variable of the rank.
    fn secure_getenv(name: *const c_char) -> *mut c_char [rank] {
        // SAFETY: the caller passes a C string.
        value(rank, unsafe { CStr::from_ptr(name) })
    }
    /// Sets a variable of the rank.
    fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int [rank] {
        if name.is_null() || value.is_null() {
            return result(false);
        }
        // SAFETY: the caller passes C strings; the rank's variable.
        unsafe {
            let (name, value) = (CStr::from_ptr(name), CStr::from_ptr(value));
            result(environment_of(rank).set(rank.environ(), name, value, overwrite != 0))
        }
    }
    /// Removes a variable of the rank.
    fn unsetenv(name: *const c_char) -> c_int [rank] {
        if name.is_null() {
            return result(false);
        }
        // SAFETY: the caller passes a C string; the rank's variable.
        unsafe { result(environment_of(rank).remove(rank.environ(), CStr::from_ptr(name))) }
    }
    /// Makes the caller's string a variable of the rank.
    fn putenv(entry: *mut c_char) -> c_int [rank] {
        // SAFETY: the caller passes a C string, which stays; the rank's variable.
        unsafe {
            let text = CStr::from_ptr(entry);
            let mut environment = environment_of(rank);
            match text.to_bytes().iter().position(|byte| *byte == b'=') {
                Some(length) => {
                    environment.put(rank.environ(), entry, &text.to_bytes()[..length]);
                    0
                }
                None => result(environment.remove(rank.environ(), text)),
            }
        }
    }
    /// Removes all variables of the rank.
    fn clearenv() -> c_int [rank] {
        let _environment = environment_of(rank);
        // SAFETY: the rank's variable; changes are made under the lock.
        unsafe { *rank.environ() = core::ptr::null_mut() };
        0
    }
}
