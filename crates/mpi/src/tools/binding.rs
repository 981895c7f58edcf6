//! Objects of MPI that variables and events are bound to.
#![allow(unsafe_code)] // A tool gives the address of a handle of a type that only the variable knows.

use crate::process::Process;
use crate::reports::told;
use core::ffi::{c_int, c_void};
use weft_base::constants::*;
use weft_base::tools::counters::Bound;
use weft_base::{Error, In, Result, abi};

/// Returns the standard's constant.
pub(super) fn constant(bound: Bound) -> c_int {
    match bound {
        Bound::Rank => MPI_T_BIND_NO_OBJECT,
        Bound::Communicator => MPI_T_BIND_MPI_COMM,
        Bound::Window => MPI_T_BIND_MPI_WIN,
        Bound::File => MPI_T_BIND_MPI_FILE,
    }
}

/// Returns the number under which the layers below know the object whose handle is at an address.
///
/// # Errors
/// `MPI_T_ERR_INVALID` for a null pointer, `MPI_T_ERR_INVALID_HANDLE` if there is no such object.
pub(super) fn number(process: &'static Process, bound: Bound, address: *mut c_void) -> Result<u64> {
    if bound == Bound::Rank {
        return Ok(0);
    }
    if address.is_null() {
        let text = "obj_handle is a null pointer; pass the address of a variable that holds the handle";
        return Err(Error::new(MPI_T_ERR_INVALID, text));
    }
    if !process.is_active() {
        let text = "obj_handle is of an object of MPI, which there is only between MPI_Init and MPI_Finalize";
        return Err(Error::new(MPI_T_ERR_INVALID_HANDLE, text));
    }
    // SAFETY: the caller promises that a handle of the kind that the variable is bound to is at the address.
    let found = unsafe {
        match bound {
            Bound::Communicator => process
                .communicator(In::<abi::Comm>::new(address.cast()).get(0))
                .map(|communicator| told::number_of_communicator(&communicator.values)),
            Bound::Window => process
                .window(In::<abi::Win>::new(address.cast()).get(0))
                .map(|window| told::number_of(&*window)),
            _ => process
                .file(In::<abi::File>::new(address.cast()).get(0))
                .map(|file| told::number_of(&*file.state)),
        }
    };
    found.map_err(|error| {
        Error::new(
            MPI_T_ERR_INVALID_HANDLE,
            format!("obj_handle points to no such object: {}", error.message),
        )
    })
}
