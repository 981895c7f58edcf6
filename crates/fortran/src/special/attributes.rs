//! Attributes: integers for Fortran, and keys with Fortran's procedures.
//!
//! Unsafe because it calls C and the user's procedures with what Fortran passes.
#![allow(unsafe_code)]

use super::predefined;
use crate::convert::store_code;
use crate::handles::{Comm, Datatype, Kind, Win};
use core::ffi::{c_int, c_void};

unsafe extern "C" {
    fn weft_fortran_keyval(
        kind: c_int,
        copy: usize,
        delete: usize,
        extra_state: usize,
        old: c_int,
        keyval: *mut c_int,
    ) -> c_int;
    fn weft_fortran_set_attribute(
        kind: c_int,
        handle: usize,
        keyval: c_int,
        value: isize,
        old: c_int,
    ) -> c_int;
    fn weft_fortran_get_attribute(
        kind: c_int,
        handle: usize,
        keyval: c_int,
        value: *mut isize,
        flag: *mut c_int,
    ) -> c_int;
}

/// A key's procedures, and the user's word for them. It stays as long as the rank: attributes may use a key that was freed.
struct Procedures {
    copy: *const c_void,
    delete: *const c_void,
    extra_state: isize,
}

/// `COMM_COPY_ATTR_FUNCTION` and its siblings.
type Copy =
    unsafe extern "C" fn(*mut c_int, *mut c_int, *mut isize, *mut isize, *mut isize, *mut c_int, *mut c_int);
/// `COMM_DELETE_ATTR_FUNCTION` and its siblings.
type Delete = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut isize, *mut isize, *mut c_int);

macro_rules! kinds {
    ($($kind:ident = $number:literal: $copy:ident $delete:ident $create:ident $set:ident $get:ident),* $(,)?) => {$(
        /// Calls a key's copy procedure as C calls a function.
        unsafe extern "C" fn $copy(
            object: usize,
            mut keyval: c_int,
            procedures: *mut Procedures,
            mut value: isize,
            new: *mut isize,
            flag: *mut c_int,
        ) -> c_int {
            let (mut object, mut code) = ($kind::number(object), 0);
            // SAFETY: these procedures belong to the key, and were given as ones of this type.
            unsafe {
                let procedures = &mut *procedures;
                let copy = core::mem::transmute::<*const c_void, Copy>(procedures.copy);
                copy(&mut object, &mut keyval, &mut procedures.extra_state, &mut value, new, flag, &mut code);
            }
            code
        }
        /// Calls a key's delete procedure as C calls a function.
        unsafe extern "C" fn $delete(
            object: usize,
            mut keyval: c_int,
            mut value: isize,
            procedures: *mut Procedures,
        ) -> c_int {
            let (mut object, mut code) = ($kind::number(object), 0);
            // SAFETY: as of the procedure that copies.
            unsafe {
                let procedures = &mut *procedures;
                let delete = core::mem::transmute::<*const c_void, Delete>(procedures.delete);
                delete(&mut object, &mut keyval, &mut value, &mut procedures.extra_state, &mut code);
            }
            code
        }
        pub(crate) unsafe fn $create(
            copy: *const c_void,
            delete: *const c_void,
            keyval: *mut c_int,
            extra_state: *mut isize,
            ierror: *mut c_int,
        ) {
            // SAFETY: the entry's caller has passed procedures and variables.
            unsafe {
                let functions = [$copy as *const () as usize, $delete as *const () as usize];
                create($number, [copy, delete], functions, *extra_state, 0, keyval, ierror);
            }
        }
        pub(crate) unsafe fn $set(object: *const c_int, keyval: *const c_int, value: *mut isize, ierror: *mut c_int) {
            // SAFETY: integers of the entry's caller.
            unsafe {
                let code = weft_fortran_set_attribute($number, $kind::handle(*object), *keyval, *value, 0);
                store_code(ierror, code);
            }
        }
        pub(crate) unsafe fn $get(
            object: *const c_int,
            keyval: *const c_int,
            value: *mut isize,
            flag: *mut c_int,
            ierror: *mut c_int,
        ) {
            // SAFETY: integers and variables of the entry's caller.
            unsafe {
                let code = weft_fortran_get_attribute($number, $kind::handle(*object), *keyval, value, flag);
                store_code(ierror, code);
            }
        }
    )*};
}

kinds! {
    Comm = 0: copy_comm delete_comm comm_create_keyval comm_set_attr comm_get_attr,
    Datatype = 1: copy_type delete_type type_create_keyval type_set_attr type_get_attr,
    Win = 2: copy_win delete_win win_create_keyval win_set_attr win_get_attr,
}

unsafe fn create(
    kind: c_int,
    [copy, delete]: [*const c_void; 2],
    functions: [usize; 2],
    extra_state: isize,
    old: c_int,
    keyval: *mut c_int,
    ierror: *mut c_int,
) {
    let procedures = Box::into_raw(Box::new(Procedures { copy, delete, extra_state }));
    // What does nothing, or copies a value as it is, does so for values of every language.
    let copy = predefined::copy(copy).unwrap_or(functions[0]);
    let delete = if predefined::is_null_delete(delete) { 0 } else { functions[1] };
    // SAFETY: the functions may be called with these procedures for ever; `keyval` is the caller's variable.
    unsafe {
        let code = weft_fortran_keyval(kind, copy, delete, procedures as usize, old, keyval);
        store_code(ierror, code);
    }
}

/// `COPY_FUNCTION` and `DELETE_FUNCTION` of the old calls, all of whose arguments are of the size of an `INTEGER`.
type OldCopy =
    unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int, *mut c_int, *mut c_int, *mut c_int, *mut c_int);
type OldDelete = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int, *mut c_int, *mut c_int);

unsafe extern "C" fn copy_old(
    object: usize,
    mut keyval: c_int,
    procedures: *mut Procedures,
    value: isize,
    new: *mut isize,
    flag: *mut c_int,
) -> c_int {
    let (mut object, mut value, mut copied, mut code) = (Comm::number(object), value as c_int, 0, 0);
    // SAFETY: the key's procedures, of the old type.
    unsafe {
        let procedures = &mut *procedures;
        let mut state = procedures.extra_state as c_int;
        let copy = core::mem::transmute::<*const c_void, OldCopy>(procedures.copy);
        copy(&mut object, &mut keyval, &mut state, &mut value, &mut copied, flag, &mut code);
        *new = copied as isize;
    }
    code
}

unsafe extern "C" fn delete_old(
    object: usize,
    mut keyval: c_int,
    value: isize,
    procedures: *mut Procedures,
) -> c_int {
    let (mut object, mut value, mut code) = (Comm::number(object), value as c_int, 0);
    // SAFETY: procedures of the old type, which belong to the key.
    unsafe {
        let procedures = &mut *procedures;
        let mut state = procedures.extra_state as c_int;
        let delete = core::mem::transmute::<*const c_void, OldDelete>(procedures.delete);
        delete(&mut object, &mut keyval, &mut value, &mut state, &mut code);
    }
    code
}

/// `MPI_Keyval_create`
pub(crate) unsafe fn keyval_create(
    copy: *const c_void,
    delete: *const c_void,
    keyval: *mut c_int,
    extra_state: *mut c_int,
    ierror: *mut c_int,
) {
    let functions = [copy_old as *const () as usize, delete_old as *const () as usize];
    // SAFETY: the caller of the old entry has passed procedures and variables.
    unsafe { create(0, [copy, delete], functions, *extra_state as isize, 1, keyval, ierror) }
}

/// `MPI_Attr_put`
pub(crate) unsafe fn attr_put(
    comm: *const c_int,
    keyval: *const c_int,
    value: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: integers of the caller of the old entry.
    unsafe {
        let code = weft_fortran_set_attribute(0, Comm::handle(*comm), *keyval, *value as isize, 1);
        store_code(ierror, code);
    }
}

/// `MPI_Attr_get`: what does not fit into an `INTEGER` is cut.
pub(crate) unsafe fn attr_get(
    comm: *const c_int,
    keyval: *const c_int,
    value: *mut c_int,
    flag: *mut c_int,
    ierror: *mut c_int,
) {
    let mut word = 0;
    // SAFETY: integers and variables of the old entry's caller.
    unsafe {
        let code = weft_fortran_get_attribute(0, Comm::handle(*comm), *keyval, &mut word, flag);
        if code == 0 && *flag != 0 {
            *value = word as c_int;
        }
        store_code(ierror, code);
    }
}
