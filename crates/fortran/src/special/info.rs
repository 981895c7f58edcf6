//! Texts whose length C tells with the zero at their end, and Fortran without it.
//!
//! Unsafe because it calls C with what Fortran passes.
#![allow(unsafe_code)]

use crate::c;
use crate::convert::store_code;
use crate::handles::{Info, Kind, Session};
use crate::texts::{Text, pad};
use core::ffi::c_int;

/// `MPI_Info_get`
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn info_get(
    info: *const c_int,
    key: *const u8,
    valuelen: *const c_int,
    value: *mut u8,
    flag: *mut c_int,
    ierror: *mut c_int,
    key_length: usize,
    value_length: usize,
) {
    // SAFETY: the entry's caller has passed an integer, a text of that length, and variables.
    unsafe {
        let key = Text::stripped(key, key_length);
        let mut text = vec![0u8; usize::try_from(*valuelen).unwrap_or(0) + 1];
        let code = c::PMPI_Info_get(Info::handle(*info), key.address(), *valuelen, text.as_mut_ptr(), flag);
        if code == 0 && *flag != 0 {
            pad(&text, value, value_length);
        }
        store_code(ierror, code);
    }
}

/// `MPI_Info_get_string`
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn info_get_string(
    info: *const c_int,
    key: *const u8,
    buflen: *mut c_int,
    value: *mut u8,
    flag: *mut c_int,
    ierror: *mut c_int,
    key_length: usize,
    value_length: usize,
) {
    // SAFETY: variables and texts of the entry's caller.
    unsafe {
        let key = Text::stripped(key, key_length);
        let room = *buflen;
        // C counts the end of the text; with no room it only tells the length.
        let mut length = if room > 0 { room.saturating_add(1) } else { room };
        let mut text = vec![0u8; usize::try_from(length).unwrap_or(0)];
        let code =
            c::PMPI_Info_get_string(Info::handle(*info), key.address(), &mut length, text.as_mut_ptr(), flag);
        if code == 0 && *flag != 0 {
            if room > 0 {
                pad(&text, value, value_length);
            }
            *buflen = length - 1;
        }
        store_code(ierror, code);
    }
}

/// `MPI_Session_get_nth_pset`
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn session_get_nth_pset(
    session: *const c_int,
    info: *const c_int,
    n: *const c_int,
    pset_len: *mut c_int,
    pset_name: *mut u8,
    ierror: *mut c_int,
    name_length: usize,
) {
    // SAFETY: integers, variables and a text of the entry's caller.
    unsafe {
        let room = *pset_len;
        let mut length = if room > 0 { room.saturating_add(1) } else { room };
        let mut text = vec![0u8; usize::try_from(length).unwrap_or(0)];
        let code = c::PMPI_Session_get_nth_pset(
            Session::handle(*session),
            Info::handle(*info),
            *n,
            &mut length,
            text.as_mut_ptr(),
        );
        if code == 0 {
            if room > 0 {
                pad(&text, pset_name, name_length);
            }
            *pset_len = length - 1;
        }
        store_code(ierror, code);
    }
}
