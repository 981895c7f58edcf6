//! Procedures of MPI that a program passes to MPI: what copies, what deletes nothing, what converts nothing.
//!
//! Unsafe because Fortran may call them.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};
use weft_base::constants::{MPI_COMM_DUP_FN, MPI_COMM_NULL_COPY_FN};

macro_rules! copies {
    ($($dup:ident $null:ident $delete:ident),* $(,)?) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $dup(
                _object: *mut c_int,
                _keyval: *mut c_int,
                _extra_state: *mut isize,
                value: *mut isize,
                new: *mut isize,
                flag: *mut c_int,
                ierror: *mut c_int,
            ) {
                // SAFETY: variables of the caller.
                unsafe {
                    *new = *value;
                    *flag = 1;
                    *ierror = 0;
                }
            }
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $null(
                _object: *mut c_int,
                _keyval: *mut c_int,
                _extra_state: *mut isize,
                _value: *mut isize,
                _new: *mut isize,
                flag: *mut c_int,
                ierror: *mut c_int,
            ) {
                // SAFETY: the caller's variables.
                unsafe {
                    *flag = 0;
                    *ierror = 0;
                }
            }
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $delete(
                _object: *mut c_int,
                _keyval: *mut c_int,
                _value: *mut isize,
                _extra_state: *mut isize,
                ierror: *mut c_int,
            ) {
                // SAFETY: the caller's variable.
                unsafe { *ierror = 0 }
            }
        )*

        /// Returns what C takes for one of these copy procedures.
        pub(super) fn copy(procedure: *const c_void) -> Option<usize> {
            let is = |other: *const ()| core::ptr::eq(procedure.cast(), other);
            if false $(|| is($dup as *const ()))* || is(mpi_dup_fn_ as *const ()) {
                Some(MPI_COMM_DUP_FN)
            } else if false $(|| is($null as *const ()))* || is(mpi_null_copy_fn_ as *const ()) {
                Some(MPI_COMM_NULL_COPY_FN)
            } else {
                None
            }
        }

        /// Tells whether a delete procedure does nothing.
        pub(super) fn is_null_delete(procedure: *const c_void) -> bool {
            let is = |other: *const ()| core::ptr::eq(procedure.cast(), other);
            false $(|| is($delete as *const ()))* || is(mpi_null_delete_fn_ as *const ())
        }
    };
}

copies! {
    mpi_comm_dup_fn_ mpi_comm_null_copy_fn_ mpi_comm_null_delete_fn_,
    mpi_type_dup_fn_ mpi_type_null_copy_fn_ mpi_type_null_delete_fn_,
    mpi_win_dup_fn_ mpi_win_null_copy_fn_ mpi_win_null_delete_fn_,
}

/// `MPI_DUP_FN`, of the old calls: values are of the size of an `INTEGER`.
#[unsafe(no_mangle)]
unsafe extern "C" fn mpi_dup_fn_(
    _comm: *mut c_int,
    _keyval: *mut c_int,
    _extra_state: *mut c_int,
    value: *mut c_int,
    new: *mut c_int,
    flag: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: variables of the old procedure's caller.
    unsafe {
        *new = *value;
        *flag = 1;
        *ierror = 0;
    }
}

/// `MPI_NULL_COPY_FN`
#[unsafe(no_mangle)]
unsafe extern "C" fn mpi_null_copy_fn_(
    _comm: *mut c_int,
    _keyval: *mut c_int,
    _extra_state: *mut c_int,
    _value: *mut c_int,
    _new: *mut c_int,
    flag: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: two variables of the caller.
    unsafe {
        *flag = 0;
        *ierror = 0;
    }
}

/// `MPI_NULL_DELETE_FN`
#[unsafe(no_mangle)]
unsafe extern "C" fn mpi_null_delete_fn_(
    _comm: *mut c_int,
    _keyval: *mut c_int,
    _value: *mut c_int,
    _extra_state: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: a variable of the caller.
    unsafe { *ierror = 0 }
}

macro_rules! conversions {
    ($($name:ident)*) => {
        $(
            /// `MPI_CONVERSION_FN_NULL`: stands for "no conversion", and is not meant to be called.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {}
        )*

        /// Tells whether a conversion procedure stands for none.
        pub(super) fn is_no_conversion(procedure: *const c_void) -> bool {
            false $(|| core::ptr::eq(procedure.cast(), $name as *const ()))*
        }
    };
}

conversions! { mpi_conversion_fn_null_ mpi_conversion_fn_null_c_ }
