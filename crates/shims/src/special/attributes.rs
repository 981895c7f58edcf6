//! Attributes: functions of keys get their own words, and some values are constants.
//!
//! Unsafe because it calls the user's functions and C.
#![allow(unsafe_code)]

use crate::abi::{Abi, Handle};
use crate::c;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};
use weft_base::constants::{
    MPI_HOST, MPI_IO, MPI_LASTUSEDCODE, MPI_WIN_CREATE_FLAVOR, MPI_WIN_FLAVOR_CREATE, MPI_WIN_MODEL,
    MPI_WIN_UNIFIED,
};

/// The functions of a key; they stay as long as the rank.
struct Key {
    copy: *const c_void,
    delete: *const c_void,
    extra_state: *mut c_void,
}

/// `MPI_Comm_copy_attr_function` and `MPI_Comm_delete_attr_function`, of any kind of object.
type Copy<H> = unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type Delete<H> = unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void) -> c_int;

unsafe extern "C" fn copy<A: Abi, H: Handle>(
    object: usize,
    keyval: c_int,
    key: *mut Key,
    value: *mut c_void,
    copied: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the key's function, of this type; C's values and variables.
    unsafe {
        let function = core::mem::transmute::<*const c_void, Copy<H>>((*key).copy);
        let state = (*key).extra_state;
        A::error_ours(function(H::theirs(object), A::keyval_theirs(keyval), state, value, copied, flag))
    }
}

unsafe extern "C" fn delete<A: Abi, H: Handle>(
    object: usize,
    keyval: c_int,
    value: *mut c_void,
    key: *mut Key,
) -> c_int {
    // SAFETY: the function of the key; values of C.
    unsafe {
        let function = core::mem::transmute::<*const c_void, Delete<H>>((*key).delete);
        A::error_ours(function(H::theirs(object), A::keyval_theirs(keyval), value, (*key).extra_state))
    }
}

macro_rules! keys {
    ($($name:ident: $standard:ident $kind:ident),* $(,)?) => {$(
        #[doc = concat!("`", stringify!($standard), "`")]
        ///
        /// # Safety
        /// As the interface says.
        pub unsafe fn $name<A: Abi>(
            copy_fn: *const c_void,
            delete_fn: *const c_void,
            keyval: *mut c_int,
            extra_state: *mut c_void,
        ) -> c_int {
            let key = Box::into_raw(Box::new(Key { copy: copy_fn, delete: delete_fn, extra_state }));
            // A null pointer is the function that does nothing.
            let chosen = |user: *const c_void, ours: *const c_void| if user.is_null() { user } else { ours };
            // SAFETY: functions that take the key for their word, which stays; the program's variable.
            unsafe {
                let code = c::$standard(
                    chosen(copy_fn, copy::<A, A::$kind> as *const c_void),
                    chosen(delete_fn, delete::<A, A::$kind> as *const c_void),
                    keyval,
                    key.cast(),
                );
                if code == 0 {
                    *keyval = A::keyval_theirs(*keyval);
                }
                A::error_theirs(code)
            }
        }
    )*};
}

keys! {
    comm_create_keyval: MPI_Comm_create_keyval Comm,
    keyval_create: MPI_Keyval_create Comm,
    type_create_keyval: MPI_Type_create_keyval Datatype,
    win_create_keyval: MPI_Win_create_keyval Win,
}

/// What attributes that are constants point to. It is the rank's own, as this library is.
static VALUES: [AtomicI32; 16] = [const { AtomicI32::new(0) }; 16];

/// Returns where a value is that the other interface has another number for, if it is one.
fn converted<A: Abi>(keyval: c_int, value: c_int) -> Option<*mut c_int> {
    let (place, converted) = match keyval {
        MPI_HOST => (0, A::rank_theirs(value)),
        MPI_IO => (1, A::rank_theirs(value)),
        MPI_LASTUSEDCODE => (2, A::error_theirs(value)),
        MPI_WIN_CREATE_FLAVOR => (4 + (value - MPI_WIN_FLAVOR_CREATE) % 8, A::flavor_theirs(value)),
        MPI_WIN_MODEL => (12 + (value - MPI_WIN_UNIFIED) % 4, A::model_theirs(value)),
        _ => return None,
    };
    let place = VALUES.get(place as usize)?;
    place.store(converted, Ordering::Relaxed);
    Some(place.as_ptr())
}

macro_rules! values {
    ($($name:ident: $standard:ident $kind:ident),* $(,)?) => {$(
        #[doc = concat!("`", stringify!($standard), "`")]
        ///
        /// # Safety
        /// As the interface says.
        pub unsafe fn $name<A: Abi>(
            object: A::$kind,
            keyval: c_int,
            attribute_val: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            let keyval = A::keyval_ours(keyval);
            // SAFETY: the program's variables. What is found under these keys points to a number.
            unsafe {
                let code = c::$standard(object.ours(), keyval, attribute_val, flag);
                if code == 0 && *flag != 0 {
                    let variable = attribute_val.cast::<*mut c_int>();
                    let is_constant = matches!(
                        keyval,
                        MPI_HOST | MPI_IO | MPI_LASTUSEDCODE | MPI_WIN_CREATE_FLAVOR | MPI_WIN_MODEL
                    );
                    if is_constant && let Some(place) = converted::<A>(keyval, **variable) {
                        *variable = place;
                    }
                }
                A::error_theirs(code)
            }
        }
    )*};
}

values! {
    comm_get_attr: MPI_Comm_get_attr Comm,
    attr_get: MPI_Attr_get Comm,
    type_get_attr: MPI_Type_get_attr Datatype,
    win_get_attr: MPI_Win_get_attr Win,
}
