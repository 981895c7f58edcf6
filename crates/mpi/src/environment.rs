//! Inquiries about the library and the machine, timers, memory (chapters 9 and 20).
#![allow(unsafe_code)]

use crate::process::Process;
use crate::{check, host, strings};
use core::ffi::{c_char, c_int, c_void};
use std::alloc::{Layout, alloc, dealloc};
use std::sync::OnceLock;
use std::time::Instant;
use weft_base::constants::*;
use weft_base::{Error, Out, Result, abi};

/// `MPI_Wtime`: seconds since the first call in the process; all ranks of a machine share the clock.
pub fn wtime() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
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

/// `MPI_Pcontrol`: accepted and ignored, as the standard allows a library without profiling of its own.
///
/// # Errors
/// None.
pub fn pcontrol(_level: c_int) -> Result {
    Ok(())
}

/// The header before each block of [`alloc_mem`]: its whole size. As long as a cache line, so that blocks are aligned.
const HEADER: usize = 64;

/// `MPI_Alloc_mem`: `baseptr` is the address of a pointer variable. Blocks are aligned to 64 bytes.
///
/// # Errors
/// `MPI_ERR_ARG` for a negative size, `MPI_ERR_NO_MEM`
pub fn alloc_mem(size: abi::Aint, info: abi::Info, baseptr: *mut c_void) -> Result {
    Process::current()?;
    crate::info::optional(info)?;
    let baseptr = check::pointer_output(baseptr, "baseptr")?;
    let Ok(size) = usize::try_from(size) else {
        return Err(Error::new(MPI_ERR_ARG, format!("size is {size}; it must not be negative")));
    };
    let layout = size.checked_add(HEADER).and_then(|whole| Layout::from_size_align(whole, HEADER).ok());
    // SAFETY: the layout is not empty. The header is written into the block's own first bytes.
    let block = layout.and_then(|layout| unsafe {
        let block = alloc(layout);
        if block.is_null() {
            return None;
        }
        block.cast::<usize>().write(layout.size());
        Some(block.add(HEADER))
    });
    let Some(block) = block else {
        return Err(Error::new(MPI_ERR_NO_MEM, format!("no memory for {size} bytes")));
    };
    baseptr.set(block.cast());
    Ok(())
}

/// `MPI_Free_mem`
///
/// # Errors
/// `MPI_ERR_BASE` for an address that is not aligned as those of [`alloc_mem`] are.
pub fn free_mem(base: *mut c_void) -> Result {
    Process::current()?;
    if base.is_null() {
        return Ok(());
    }
    if !(base as usize).is_multiple_of(HEADER) {
        return Err(Error::new(MPI_ERR_BASE, format!("base {base:?} was not returned by MPI_Alloc_mem")));
    }
    // SAFETY: the caller promises that `base` comes from `alloc_mem`, which put the size before it.
    unsafe {
        let block = base.cast::<u8>().sub(HEADER);
        let size = block.cast::<usize>().read();
        dealloc(block, Layout::from_size_align_unchecked(size, HEADER));
    }
    Ok(())
}
