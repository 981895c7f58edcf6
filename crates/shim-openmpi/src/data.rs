//! Other variables of the interface, and functions that it has for copying attributes.
//!
//! Unsafe because they are exported.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};

/// Numbers in a status of Fortran.
const STATUS: usize = 6;

static mut F_STATUS: [c_int; STATUS] = [0; STATUS];

macro_rules! addresses {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        static mut $name: *mut c_int = (&raw mut F_STATUS).cast();
    )*};
}

addresses! { MPI_F_STATUS_IGNORE MPI_F_STATUSES_IGNORE MPI_F08_STATUS_IGNORE MPI_F08_STATUSES_IGNORE }

macro_rules! duplicating {
    ($($name:ident)*) => {$(
        /// Copies an attribute.
        ///
        /// # Safety
        /// `flag` and `copied` are variables.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            _object: *mut c_void,
            _keyval: c_int,
            _extra_state: *mut c_void,
            value: *mut c_void,
            copied: *mut *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: the caller's variables.
            unsafe {
                *copied = value;
                *flag = 1;
            }
            0
        }
    )*};
}

duplicating! { OMPI_C_MPI_COMM_DUP_FN OMPI_C_MPI_TYPE_DUP_FN OMPI_C_MPI_WIN_DUP_FN OMPI_C_MPI_DUP_FN }

macro_rules! not_copying {
    ($($name:ident)*) => {$(
        /// Does not copy an attribute.
        ///
        /// # Safety
        /// `flag` is a variable.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            _object: *mut c_void,
            _keyval: c_int,
            _extra_state: *mut c_void,
            _value: *mut c_void,
            _copied: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: the caller's variable.
            unsafe { *flag = 0 }
            0
        }
    )*};
}

not_copying! { OMPI_C_MPI_COMM_NULL_COPY_FN OMPI_C_MPI_TYPE_NULL_COPY_FN OMPI_C_MPI_WIN_NULL_COPY_FN OMPI_C_MPI_NULL_COPY_FN }

macro_rules! zero {
    ($($name:ident)*) => {$(
        /// Does nothing, or says no: buffers are not memory of such devices.
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> c_int {
            0
        }
    )*};
}

zero! { OMPI_C_MPI_COMM_NULL_DELETE_FN OMPI_C_MPI_TYPE_NULL_DELETE_FN OMPI_C_MPI_WIN_NULL_DELETE_FN OMPI_C_MPI_NULL_DELETE_FN
MPIX_Query_cuda_support MPIX_Query_rocm_support }
