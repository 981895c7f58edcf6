//! `rand`, `random`, `drand48` and their relatives.

use super::replace;
use core::ffi::{c_char, c_double, c_int, c_long, c_uint, c_ushort};
use core::ptr::null_mut;
use std::sync::{MutexGuard, PoisonError};
use weft_node::RankState;
use weft_node::random::Random;

fn random_of(rank: &'static RankState) -> MutexGuard<'static, Random> {
    rank.random.lock().unwrap_or_else(PoisonError::into_inner)
}

replace! {
    /// Returns the rank's next random number.
    fn rand() -> c_int [rank] { random_of(rank).draw() }
    /// Seeds the rank's random numbers.
    fn srand(seed: c_uint) [rank] { random_of(rank).seed(seed) }
    /// Returns the rank's next random number.
    fn random() -> c_long [rank] { random_of(rank).draw().into() }
    /// Seeds the rank's random numbers.
    fn srandom(seed: c_uint) [rank] { random_of(rank).seed(seed) }
    /// Gives the rank's random numbers another state.
    fn initstate(seed: c_uint, state: *mut c_char, size: usize) -> *mut c_char [rank] {
        // SAFETY: the caller's promise is the C function's.
        unsafe { random_of(rank).init_state(seed, state, size) }
    }
    /// Returns to another state.
    fn setstate(state: *mut c_char) -> *mut c_char [rank] {
        // SAFETY: the caller's promise is the C function's.
        unsafe { random_of(rank).set_state(state) }
    }
    /// Returns the rank's next number in [0, 1).
    fn drand48() -> c_double [rank] {
        // SAFETY: null means the rank's own state.
        unsafe { random_of(rank).erand48(null_mut()) }
    }
    /// Returns the next number in [0, 1) from the caller's state.
    fn erand48(x: *mut c_ushort) -> c_double [rank] {
        // SAFETY: the caller's promise is the C function's.
        unsafe { random_of(rank).erand48(x) }
    }
    /// Returns the rank's next nonnegative number.
    fn lrand48() -> c_long [rank] {
        // SAFETY: null means the rank's own state.
        unsafe { random_of(rank).nrand48(null_mut()) }
    }
    /// Returns the next nonnegative number from the caller's state.
    fn nrand48(x: *mut c_ushort) -> c_long [rank] {
        // SAFETY: the caller's promise is the C function's.
        unsafe { random_of(rank).nrand48(x) }
    }
    /// Returns the rank's next signed number.
    fn mrand48() -> c_long [rank] {
        // SAFETY: null means the rank's own state.
        unsafe { random_of(rank).jrand48(null_mut()) }
    }
    /// Returns the next signed number from the caller's state.
    fn jrand48(x: *mut c_ushort) -> c_long [rank] {
        // SAFETY: the caller's promise is the C function's.
        unsafe { random_of(rank).jrand48(x) }
    }
    /// Seeds the rank's state.
    fn srand48(seed: c_long) [rank] { random_of(rank).seed48(seed) }
    /// Seeds the rank's state with three words.
    fn seed48(seed: *mut c_ushort) -> *mut c_ushort [rank] {
        // SAFETY: the caller's promise is the C function's.
        unsafe { random_of(rank).seed48_words(seed) }
    }
    /// Sets all parameters of the rank's state.
    fn lcong48(parameter: *mut c_ushort) [rank] {
        // SAFETY: the caller's promise is the C function's.
        unsafe { random_of(rank).lcong48(parameter) }
    }
}
