//! Inquiries about the library and the machine, timers, memory (chapters 9 and 20).
#![allow(unsafe_code)]

use crate::info::Info;
use crate::process::Process;
use crate::{check, host, strings};
use core::ffi::{c_char, c_int, c_void};
use std::alloc::{Layout, alloc, dealloc};
use std::sync::{Arc, OnceLock};
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

/// The smallest alignment of [`alloc_mem`]: a cache line.
const ALIGNMENT: usize = 64;

/// What [`alloc_mem`] keeps right before each block it hands out.
#[derive(Clone, Copy)]
struct Header {
    /// The size of the whole allocation.
    size: usize,
    /// Its alignment, which is also how far behind its start the block begins.
    alignment: usize,
}

/// Reads the alignment that an info object asks for.
fn wanted_alignment(info: abi::Info) -> Result<usize> {
    const KEY: &str = "mpi_minimum_memory_alignment";
    let pairs = crate::info::optional(info)?;
    let Some((_, value)) = pairs.iter().find(|(key, _)| key == KEY) else { return Ok(ALIGNMENT) };
    match value.trim().parse::<usize>() {
        Ok(wanted) if wanted.is_power_of_two() => Ok(wanted.max(ALIGNMENT)),
        _ => Err(Error::new(MPI_ERR_INFO_VALUE, format!("{KEY} is {value}; it must be a power of two"))),
    }
}

/// `MPI_Alloc_mem`: `baseptr` is the address of a pointer variable. Blocks are aligned to 64 bytes, or to more if the
/// info key `mpi_minimum_memory_alignment` asks for it.
///
/// # Errors
/// `MPI_ERR_ARG` for a negative size, `MPI_ERR_INFO_VALUE` for an alignment that is no power of two, `MPI_ERR_NO_MEM`
pub fn alloc_mem(size: abi::Aint, info: abi::Info, baseptr: *mut c_void) -> Result {
    Process::current()?;
    let alignment = wanted_alignment(info)?;
    let baseptr = check::pointer_output(baseptr, "baseptr")?;
    let Ok(size) = usize::try_from(size) else {
        return Err(Error::new(MPI_ERR_ARG, format!("size is {size}; it must not be negative")));
    };
    let layout = size.checked_add(alignment).and_then(|whole| Layout::from_size_align(whole, alignment).ok());
    // SAFETY: the layout is not empty. The header fits between the allocation's start and the block, which are
    // `alignment` >= 64 bytes apart, and is aligned there.
    let block = layout.and_then(|layout| unsafe {
        let start = alloc(layout);
        if start.is_null() {
            return None;
        }
        let block = start.add(alignment);
        block.cast::<Header>().sub(1).write(Header { size: layout.size(), alignment });
        Some(block)
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
    if !(base as usize).is_multiple_of(ALIGNMENT) {
        return Err(Error::new(MPI_ERR_BASE, format!("base {base:?} was not returned by MPI_Alloc_mem")));
    }
    // SAFETY: the caller promises that `base` comes from `alloc_mem`, which put the header before it.
    unsafe {
        let header = base.cast::<Header>().sub(1).read();
        let layout = Layout::from_size_align_unchecked(header.size, header.alignment);
        dealloc(base.cast::<u8>().sub(header.alignment), layout);
    }
    Ok(())
}
