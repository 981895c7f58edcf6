//! Memory for programs (chapters 10 and 13): blocks with an alignment that an info object may ask for.
#![allow(unsafe_code)] // Allocates.

use crate::arguments::check;
use crate::environment::info;
use crate::process::Process;
use core::ffi::c_void;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use weft_base::constants::*;
use weft_base::{Error, Result, abi};
use weft_sync::Lock;

/// The smallest alignment of blocks: a cache line.
const ALIGNMENT: usize = 64;

/// A block of memory, freed when it is dropped.
pub(crate) struct Block {
    address: *mut u8,
    layout: Layout,
}

// SAFETY: the address of memory that belongs to nobody else; who reads and writes there is the program's affair.
unsafe impl Send for Block {}
// SAFETY: a shared block gives out an address and no reference.
unsafe impl Sync for Block {}

impl Block {
    /// Allocates at least one byte.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM`
    pub fn new(size: usize, alignment: usize) -> Result<Self> {
        let layout = Layout::from_size_align(size.max(1), alignment).ok();
        // SAFETY: the layout is not empty.
        let block = layout.map(|layout| Self { address: unsafe { alloc(layout) }, layout });
        // One without memory must not be dropped.
        match block {
            Some(block) if !block.address.is_null() => Ok(block),
            other => {
                core::mem::forget(other);
                Err(Error::new(
                    MPI_ERR_NO_MEM,
                    format!("size is {size}; there is no memory for so many bytes"),
                ))
            }
        }
    }

    /// Returns its address.
    pub fn address(&self) -> *mut u8 {
        self.address
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it with this layout.
        unsafe { dealloc(self.address, self.layout) }
    }
}

/// The blocks a rank's program holds, by address.
#[derive(Default)]
pub struct Blocks(Lock<HashMap<usize, Block>>);

/// Reads the alignment that info pairs ask for.
///
/// # Errors
/// `MPI_ERR_INFO_VALUE` for one that is no power of two.
pub(crate) fn wanted_alignment(pairs: &[(String, String)]) -> Result<usize> {
    const KEY: &str = "mpi_minimum_memory_alignment";
    let Some((_, value)) = pairs.iter().find(|(key, _)| key == KEY) else { return Ok(ALIGNMENT) };
    match value.trim_matches(' ').parse::<usize>() {
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
    let process = Process::current()?;
    let alignment = wanted_alignment(&info::optional(info)?)?;
    let baseptr = check::pointer_output(baseptr, "baseptr")?;
    let Ok(size) = usize::try_from(size) else {
        return Err(Error::new(MPI_ERR_ARG, format!("size is {size}; it must not be negative")));
    };
    let block = Block::new(size, alignment)?;
    baseptr.set(block.address().cast());
    process.memory.0.lock().insert(block.address() as usize, block);
    Ok(())
}

/// `MPI_Free_mem`
///
/// # Errors
/// `MPI_ERR_BASE` for an address that [`alloc_mem`] did not return, or whose block was freed.
pub fn free_mem(base: *mut c_void) -> Result {
    let process = Process::current()?;
    if base.is_null() {
        return Ok(());
    }
    let block = process.memory.0.lock().remove(&(base as usize));
    match block {
        Some(_) => Ok(()),
        None => {
            let text =
                format!("base is {base:?}, which MPI_Alloc_mem did not return, or which is freed already");
            Err(Error::new(MPI_ERR_BASE, text))
        }
    }
}
