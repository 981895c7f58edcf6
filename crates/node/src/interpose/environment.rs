//! `getenv` and `setenv` of a rank.

use super::replace;
use core::ffi::{CStr, c_char, c_int};
use std::sync::{MutexGuard, PoisonError};
use weft_node::RankState;
use weft_node::environment::Environment;

fn environment_of(rank: &'static RankState) -> MutexGuard<'static, Environment> {
    rank.environment.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a change, and the variable `environ` follow it. Returns libc's result.
fn change(rank: &'static RankState, change: impl FnOnce(&mut Environment) -> bool) -> c_int {
    let mut environment = environment_of(rank);
    if !change(&mut environment) {
        // SAFETY: the calling thread's own `errno`.
        unsafe { *libc::__errno_location() = libc::EINVAL };
        return -1;
    }
    // SAFETY: the rank's variable; changes are made under the lock.
    unsafe { *rank.environ.get() = environment.vector() };
    0
}

replace! {
    /// Returns a variable of the rank.
    fn getenv(name: *const c_char) -> *mut c_char [rank] {
        // SAFETY: the caller passes a C string.
        environment_of(rank).get(unsafe { CStr::from_ptr(name) })
    }
    /// Returns a variable of the rank.
    fn secure_getenv(name: *const c_char) -> *mut c_char [rank] {
        // SAFETY: the caller passes a C string.
        environment_of(rank).get(unsafe { CStr::from_ptr(name) })
    }
    /// Sets a variable of the rank.
    fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int [rank] {
        if name.is_null() || value.is_null() {
            return change(rank, |_| false);
        }
        // SAFETY: the caller passes C strings.
        let (name, value) = unsafe { (CStr::from_ptr(name), CStr::from_ptr(value)) };
        change(rank, |environment| environment.set(name, value, overwrite != 0))
    }
    /// Removes a variable of the rank.
    fn unsetenv(name: *const c_char) -> c_int [rank] {
        if name.is_null() {
            return change(rank, |_| false);
        }
        // SAFETY: the caller passes a C string.
        let name = unsafe { CStr::from_ptr(name) };
        change(rank, |environment| environment.remove(name))
    }
    /// Makes the caller's string a variable of the rank.
    fn putenv(entry: *mut c_char) -> c_int [rank] {
        // SAFETY: the caller passes a C string.
        let text = unsafe { CStr::from_ptr(entry) };
        change(rank, |environment| match text.to_bytes().iter().position(|byte| *byte == b'=') {
            Some(length) => {
                environment.put(entry, &text.to_bytes()[..length]);
                true
            }
            None => environment.remove(text),
        })
    }
    /// Removes all variables of the rank.
    fn clearenv() -> c_int [rank] {
        change(rank, |environment| {
            environment.clear();
            true
        })
    }
}
