//! Inquiries about the library and the machine, timers (chapters 10 and 21).

use crate::arguments::check;
use crate::arguments::strings;
use crate::environment::info::Info;
use crate::process::Process;
use crate::process::host;
use core::ffi::{c_char, c_int};
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::{Out, Result, abi};

/// `MPI_Wtime`: seconds of the machine's clock, which all its processes share.
pub fn wtime() -> f64 {
    weft_sys::clock::now_ns() as f64 * 1e-9
}

/// `MPI_Wtick`
pub fn wtick() -> f64 {
    1e-9
}

/// `MPI_Get_version`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn get_version(version: Out<c_int>, subversion: Out<c_int>) -> Result {
    check::output(version, "version")?;
    check::output(subversion, "subversion")?;
    version.set(MPI_VERSION);
    subversion.set(MPI_SUBVERSION);
    Ok(())
}

/// `MPI_Get_library_version`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn get_library_version(version: Out<c_char>, resultlen: Out<c_int>) -> Result {
    check::output(version, "version")?;
    check::output(resultlen, "resultlen")?;
    let text = format!("Weft {}, MPI {MPI_VERSION}.{MPI_SUBVERSION}", env!("CARGO_PKG_VERSION"));
    strings::write(&text, version, MPI_MAX_LIBRARY_VERSION_STRING as usize, resultlen);
    Ok(())
}

/// `MPI_Get_processor_name`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn get_processor_name(name: Out<c_char>, resultlen: Out<c_int>) -> Result {
    check::output(name, "name")?;
    check::output(resultlen, "resultlen")?;
    Process::current()?;
    strings::write(&host::host().name(), name, MPI_MAX_PROCESSOR_NAME as usize, resultlen);
    Ok(())
}

/// `MPI_Abi_get_version`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn abi_get_version(abi_major: Out<c_int>, abi_minor: Out<c_int>) -> Result {
    check::output(abi_major, "abi_major")?;
    check::output(abi_minor, "abi_minor")?;
    abi_major.set(MPI_ABI_VERSION);
    abi_minor.set(MPI_ABI_SUBVERSION);
    Ok(())
}

/// `MPI_Abi_get_info`: sizes of the ABI's integer types in bytes.
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn abi_get_info(info: Out<abi::Info>) -> Result {
    check::output(info, "info")?;
    let size = |name: &str, bytes: usize| (name.to_owned(), bytes.to_string());
    let pairs = vec![
        size("mpi_aint_size", size_of::<abi::Aint>()),
        size("mpi_count_size", size_of::<abi::Count>()),
        size("mpi_offset_size", size_of::<abi::Offset>()),
    ];
    info.set(abi::Info(Process::any().infos.insert(Arc::new(Info::new(pairs)))));
    Ok(())
}

/// `MPI_Pcontrol`: accepted and ignored, as the standard allows a library without profiling of its own.
///
/// # Errors
/// None.
pub fn pcontrol(_level: c_int) -> Result {
    Ok(())
}
