//! What the library knows of Fortran's types (chapter 21): those of gfortran without options that change their sizes.
//!
//! The knowledge is fixed, so a program may confirm it once and cannot change it.
#![allow(unsafe_code)] // Reads and writes Fortran logicals of a size given by the caller.

use crate::arguments::check;
use crate::environment::info::{self, Info};
use crate::process::Process;
use core::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use weft_base::constants::*;
use weft_base::{Error, Out, Result, abi};
use weft_datatype::Datatype;

/// What a rank's program has confirmed.
#[derive(Default)]
pub struct Confirmed {
    types: AtomicBool,
    booleans: AtomicBool,
}

const SIZES: [(&str, abi::Datatype); 4] = [
    ("mpi_logical_size", MPI_LOGICAL),
    ("mpi_integer_size", MPI_INTEGER),
    ("mpi_real_size", MPI_REAL),
    ("mpi_double_precision_size", MPI_DOUBLE_PRECISION),
];

const OPTIONAL: [(&str, abi::Datatype); 19] = [
    ("mpi_logical1_supported", MPI_LOGICAL1),
    ("mpi_logical2_supported", MPI_LOGICAL2),
    ("mpi_logical4_supported", MPI_LOGICAL4),
    ("mpi_logical8_supported", MPI_LOGICAL8),
    ("mpi_logical16_supported", MPI_LOGICAL16),
    ("mpi_integer1_supported", MPI_INTEGER1),
    ("mpi_integer2_supported", MPI_INTEGER2),
    ("mpi_integer4_supported", MPI_INTEGER4),
    ("mpi_integer8_supported", MPI_INTEGER8),
    ("mpi_integer16_supported", MPI_INTEGER16),
    ("mpi_real2_supported", MPI_REAL2),
    ("mpi_real4_supported", MPI_REAL4),
    ("mpi_real8_supported", MPI_REAL8),
    ("mpi_real16_supported", MPI_REAL16),
    ("mpi_complex4_supported", MPI_COMPLEX4),
    ("mpi_complex8_supported", MPI_COMPLEX8),
    ("mpi_complex16_supported", MPI_COMPLEX16),
    ("mpi_complex32_supported", MPI_COMPLEX32),
    ("mpi_double_complex_supported", MPI_DOUBLE_COMPLEX),
];

fn known() -> Vec<(String, String)> {
    let size = |datatype| Datatype::predefined(datatype).map_or(0, Datatype::size);
    let sizes = SIZES.map(|(key, datatype)| (key.to_owned(), size(datatype).to_string()));
    let supported = OPTIONAL.map(|(key, datatype)| (key.to_owned(), (size(datatype) > 0).to_string()));
    sizes.into_iter().chain(supported).collect()
}

fn again(what: &str, asked: &str) -> Error {
    Error::new(MPI_ERR_ABI, format!("{what} are set already; {asked} tells them"))
}

/// `MPI_Abi_get_fortran_info`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn abi_get_fortran_info(info: Out<abi::Info>) -> Result {
    check::output(info, "info")?;
    info.set(abi::Info(Process::any().infos.insert(Arc::new(Info::new(known())))));
    Ok(())
}

/// `MPI_Abi_set_fortran_info`: confirms what the library knows.
///
/// # Errors
/// `MPI_ERR_ABI` for other properties, and for a second call; `MPI_ERR_INFO`
pub fn abi_set_fortran_info(info: abi::Info) -> Result {
    let process = Process::any();
    let pairs = info::required(info)?;
    let known = known();
    for (key, value) in &pairs {
        if let Some((_, right)) = known.iter().find(|(k, right)| k == key && right != value.trim_matches(' '))
        {
            let text = format!("{key} is {value}, but the library was built for {right}");
            return Err(Error::new(MPI_ERR_ABI, text));
        }
    }
    if process.fortran.types.swap(true, Ordering::AcqRel) {
        return Err(again("Fortran's properties", "MPI_Abi_get_fortran_info"));
    }
    Ok(())
}

/// Returns Fortran's logical literals of a size as bytes: true is 1, false is 0.
fn literals(size: c_int) -> Result<[[u8; 16]; 2]> {
    if ![1, 2, 4, 8, 16].contains(&size) {
        return Err(Error::new(MPI_ERR_ARG, format!("logical_size is {size}; it must be 1, 2, 4, 8 or 16")));
    }
    let bytes = |value: u128| {
        // The low bytes come first in memory or, on a big-endian machine, last.
        let mut bytes = value.to_ne_bytes();
        if cfg!(target_endian = "big") {
            bytes.rotate_left(16 - size as usize);
        }
        bytes
    };
    Ok([bytes(1), bytes(0)])
}

fn both_given(a: *mut c_void, b: *mut c_void) -> Result {
    if a.is_null() || b.is_null() {
        let text = "logical_true or logical_false is a null pointer; pass addresses of logicals";
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    Ok(())
}

/// `MPI_Abi_get_fortran_booleans`: the literals have `logical_size` bytes each.
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn abi_get_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: Out<c_int>,
) -> Result {
    check::output(is_set, "is_set")?;
    both_given(logical_true, logical_false)?;
    let [yes, no] = literals(logical_size)?;
    let length = logical_size as usize;
    // SAFETY: the caller promises room for logicals of the size it says; that is at most 16.
    unsafe {
        core::ptr::copy_nonoverlapping(yes.as_ptr(), logical_true.cast(), length);
        core::ptr::copy_nonoverlapping(no.as_ptr(), logical_false.cast(), length);
    }
    is_set.set(1);
    Ok(())
}

/// `MPI_Abi_set_fortran_booleans`: confirms what the library knows.
///
/// # Errors
/// `MPI_ERR_ABI` for other literals, and for a second call; `MPI_ERR_ARG`
pub fn abi_set_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> Result {
    both_given(logical_true, logical_false)?;
    let [yes, no] = literals(logical_size)?;
    let length = logical_size as usize;
    // SAFETY: the caller promises logicals of the size it says.
    let given = unsafe {
        [logical_true, logical_false]
            .map(|p| core::slice::from_raw_parts(p.cast_const().cast::<u8>(), length))
    };
    if given != [&yes[..length], &no[..length]] {
        let text = "the literals are not those the library was built for: 1 is true, 0 is false";
        return Err(Error::new(MPI_ERR_ABI, text));
    }
    if Process::any().fortran.booleans.swap(true, Ordering::AcqRel) {
        return Err(again("Fortran's logical literals", "MPI_Abi_get_fortran_booleans"));
    }
    Ok(())
}
