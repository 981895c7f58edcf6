//! What only Fortran has.
//!
//! Unsafe because Fortran calls it.
#![allow(unsafe_code)]

use core::ffi::c_void;

/// `MPI_F_sync_reg`: does nothing with a buffer, which the compiler cannot know.
#[unsafe(no_mangle)]
extern "C" fn pmpi_f_sync_reg_(_buffer: *mut c_void) {}

crate::names::names! {
    mpi_f_sync_reg_ => pmpi_f_sync_reg_,
    weft_mpi_f_sync_reg_f08ts => pmpi_f_sync_reg_,
}
