//! Buffers that are detached: `mpi_f08` gets the address, `mpif.h` and `mpi` do not.
//!
//! Unsafe because it calls C with what Fortran passes.
#![allow(unsafe_code)]

use crate::c;
use crate::convert::{detached, store_code};
use crate::handles::{Comm, Kind, Session};
use core::ffi::{c_int, c_void};

/// Stores what a call detached.
///
/// # Safety
/// `address` is where an address is to be stored, of a caller that wants it.
unsafe fn store(address: *mut *mut c_void, found: *mut c_void, code: c_int) {
    if code == 0 {
        // SAFETY: the caller's variable.
        unsafe { *address = detached(found) }
    }
}

macro_rules! detach {
    ($plain:ident $plain_c:ident, $f08:ident $f08_c:ident, $large:ident $large_c:ident, $($object:ident: $kind:ident)?) => {
        pub(crate) unsafe fn $plain($($object: *const c_int,)? _: *mut *mut c_void, size: *mut c_int, ierror: *mut c_int) {
            let mut found: *mut c_void = core::ptr::null_mut();
            // SAFETY: the entry's caller has passed variables.
            unsafe { store_code(ierror, c::$plain_c($($kind::handle(*$object),)? (&raw mut found).cast(), size)) }
        }
        pub(crate) unsafe fn $f08($($object: *const c_int,)? address: *mut *mut c_void, size: *mut c_int, ierror: *mut c_int) {
            let mut found: *mut c_void = core::ptr::null_mut();
            // SAFETY: variables of the caller of the entry for `mpi_f08`.
            unsafe {
                let code = c::$f08_c($($kind::handle(*$object),)? (&raw mut found).cast(), size);
                store(address, found, code);
                store_code(ierror, code);
            }
        }
        pub(crate) unsafe fn $large($($object: *const c_int,)? address: *mut *mut c_void, size: *mut i64, ierror: *mut c_int) {
            let mut found: *mut c_void = core::ptr::null_mut();
            // SAFETY: variables of the caller of the entry for large counts.
            unsafe {
                let code = c::$large_c($($kind::handle(*$object),)? (&raw mut found).cast(), size);
                store(address, found, code);
                store_code(ierror, code);
            }
        }
    };
}

detach!(buffer_detach PMPI_Buffer_detach, buffer_detach_f08 PMPI_Buffer_detach, buffer_detach_c PMPI_Buffer_detach_c,);
detach!(comm_detach_buffer PMPI_Comm_detach_buffer, comm_detach_buffer_f08 PMPI_Comm_detach_buffer,
    comm_detach_buffer_c PMPI_Comm_detach_buffer_c, comm: Comm);
detach!(session_detach_buffer PMPI_Session_detach_buffer, session_detach_buffer_f08 PMPI_Session_detach_buffer,
    session_detach_buffer_c PMPI_Session_detach_buffer_c, session: Session);
