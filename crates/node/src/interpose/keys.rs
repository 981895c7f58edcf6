//! Keys of thread-specific data in the copies' tables (`redirects.list`): `weft_node::keys` says why ranks share them.

use core::ffi::{c_int, c_uint, c_void};
use std::sync::OnceLock;
use weft_node::keys::{COMMON, Destructor};
use weft_node::state;

mod original {
    use super::*;
    unsafe extern "C" {
        pub fn pthread_key_create(key: *mut c_uint, destructor: Option<Destructor>) -> c_int;
        pub fn pthread_key_delete(key: c_uint) -> c_int;
    }
}

/// C11's `thrd_success` and `thrd_error`.
const THREAD_SUCCESS: c_int = 0;
const THREAD_ERROR: c_int = 2;

/// libc's keys behind the common ones, each made when the first rank wants it; none if libc had none left.
static KEYS: [OnceLock<Option<c_uint>>; COMMON] = [const { OnceLock::new() }; COMMON];

/// Calls the destructor of the ending thread's rank for the data under common key `NUMBER`.
unsafe extern "C" fn destroy<const NUMBER: usize>(data: *mut c_void) {
    let Some(rank) = state::current() else { return };
    let destructor =
        rank.keys.lock().expect("no code of the program runs under this lock").destructor(NUMBER);
    if let Some(destructor) = destructor {
        // SAFETY: the rank has given it for the data that its threads keep under this key.
        unsafe { destructor(data) }
    }
}

/// libc tells a destructor the data and not the key, so each common key has a function of its own.
macro_rules! destructors {
    ($($tens:literal)*) => {
        [$(destroy::<{ 8 * $tens }>, destroy::<{ 8 * $tens + 1 }>, destroy::<{ 8 * $tens + 2 }>, destroy::<{ 8 * $tens + 3 }>,
           destroy::<{ 8 * $tens + 4 }>, destroy::<{ 8 * $tens + 5 }>, destroy::<{ 8 * $tens + 6 }>, destroy::<{ 8 * $tens + 7 }>),*]
    };
}
static DESTRUCTORS: [Destructor; COMMON] = destructors!(0 1 2 3 4 5 6 7);

/// Returns libc's key behind a common one.
fn key_of(number: usize) -> Option<c_uint> {
    *KEYS[number].get_or_init(|| {
        let mut key = 0;
        // SAFETY: libc's function, with a place for the key and a destructor that lives for ever.
        (unsafe { original::pthread_key_create(&mut key, Some(DESTRUCTORS[number])) } == 0).then_some(key)
    })
}

/// Creates a key: the next common one, or one of libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn rank_pthread_key_create(key: *mut c_uint, destructor: Option<Destructor>) -> c_int {
    if let Some(rank) = state::current() {
        let mut keys = rank.keys.lock().expect("no code of the program runs under this lock");
        if let Some(found) = keys.next().and_then(key_of) {
            keys.create(destructor);
            // SAFETY: the caller's place for the key.
            unsafe { *key = found };
            return 0;
        }
    }
    // SAFETY: the caller's own arguments.
    unsafe { original::pthread_key_create(key, destructor) }
}

/// Deletes a key.
#[unsafe(no_mangle)]
unsafe extern "C" fn rank_pthread_key_delete(key: c_uint) -> c_int {
    let common = || KEYS.iter().position(|found| found.get() == Some(&Some(key)));
    let Some((rank, number)) = state::current().zip(common()) else {
        // SAFETY: the caller's own key.
        return unsafe { original::pthread_key_delete(key) };
    };
    let had = rank.keys.lock().expect("no code of the program runs under this lock").delete(number);
    if had { 0 } else { libc::EINVAL }
}

/// Creates a key as C11 calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn rank_tss_create(key: *mut c_uint, destructor: Option<Destructor>) -> c_int {
    // SAFETY: the caller's own arguments; glibc's `tss_t` is a key.
    let code = unsafe { rank_pthread_key_create(key, destructor) };
    if code == 0 { THREAD_SUCCESS } else { THREAD_ERROR }
}

/// Deletes a key as C11 calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn rank_tss_delete(key: c_uint) {
    // SAFETY: the caller's own key.
    unsafe { rank_pthread_key_delete(key) };
}
