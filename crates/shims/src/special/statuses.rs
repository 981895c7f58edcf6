//! Statuses of Fortran, which have the layout of C's: in the other MPIs as in ours.
//!
//! Unsafe because it reads and writes what the program passes.
#![allow(unsafe_code)]

use super::refuse;
use crate::Abi;
use core::ffi::{CStr, c_int};
use weft_base::constants::MPI_ERR_ARG;

unsafe fn copy<A: Abi>(from: *const c_int, to: *mut c_int, call: &'static CStr) -> c_int {
    if from.is_null() || to.is_null() {
        return refuse::<A>(MPI_ERR_ARG, call, "the status is a null pointer");
    }
    // SAFETY: statuses of the caller, which may be the same one.
    unsafe { to.copy_from(from, size_of::<A::Status>() / size_of::<c_int>()) }
    0
}

macro_rules! copies {
    ($($name:ident: $call:literal ($from:ty) ($to:ty)),* $(,)?) => {$(
        #[doc = concat!("One of the conversions of statuses between languages.")]
        ///
        /// # Safety
        /// Both are null or statuses.
        pub unsafe fn $name<A: Abi>(from: $from, to: $to) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { copy::<A>(from.cast(), to.cast(), $call) }
        }
    )*};
}

copies! {
    status_c2f: c"MPI_Status_c2f" (*mut A::Status) (*mut c_int),
    status_c2f08: c"MPI_Status_c2f08" (*mut A::Status) (*mut A::Status),
    status_f082c: c"MPI_Status_f082c" (*mut A::Status) (*mut A::Status),
    status_f082f: c"MPI_Status_f082f" (*mut A::Status) (*mut c_int),
    status_f2c: c"MPI_Status_f2c" (*mut c_int) (*mut A::Status),
    status_f2f08: c"MPI_Status_f2f08" (*mut c_int) (*mut A::Status),
}
