//! Variables of the interface. Their values are what our functions take, so nothing has to be converted.
//!
//! Unsafe because they are exported.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};
use weft_base::constants::{MPI_T_PVAR_ALL_HANDLES, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY};

/// Numbers in a status of Fortran.
const STATUS: usize = 5;

#[unsafe(no_mangle)]
static mut MPIR_F_STATUS: [c_int; STATUS] = [0; STATUS];

macro_rules! addresses {
    ($($name:ident = $value:expr),* $(,)?) => {$(
        #[unsafe(no_mangle)]
        static mut $name: *mut c_int = $value;
    )*};
}

addresses! {
    MPI_F_STATUS_IGNORE = (&raw mut MPIR_F_STATUS).cast(),
    MPI_F_STATUSES_IGNORE = (&raw mut MPIR_F_STATUS).cast(),
}

macro_rules! words {
    ($($name:ident: $exported:literal = $value:expr),* $(,)?) => {$(
        #[unsafe(export_name = $exported)]
        static $name: usize = $value;
    )*};
}

words! {
    UNWEIGHTED: "MPI_UNWEIGHTED" = MPI_UNWEIGHTED,
    WEIGHTS_EMPTY: "MPI_WEIGHTS_EMPTY" = MPI_WEIGHTS_EMPTY,
    PVAR_ALL_HANDLES: "MPI_T_PVAR_ALL_HANDLES" = MPI_T_PVAR_ALL_HANDLES,
}

/// What `MPI_COMM_DUP_FN` and its siblings are.
///
/// # Safety
/// `flag` and `copied` are variables.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPIR_Dup_fn(
    _object: c_int,
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

macro_rules! supports {
    ($($name:ident)*) => {$(
        /// Tells whether buffers may be memory of such a device: they may not.
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> c_int {
            0
        }
    )*};
}

supports! { MPIX_Query_cuda_support MPIX_Query_hip_support MPIX_Query_ze_support
PMPIX_Query_cuda_support PMPIX_Query_hip_support PMPIX_Query_ze_support }

/// Says whether buffers may be memory of a kind of device.
///
/// # Safety
/// `is_supported` is a variable.
#[unsafe(no_mangle)]
unsafe extern "C" fn PMPIX_GPU_query_support(_kind: c_int, is_supported: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { *is_supported = 0 }
    0
}

weft_shims::names! { MPIX_GPU_query_support => PMPIX_GPU_query_support }
