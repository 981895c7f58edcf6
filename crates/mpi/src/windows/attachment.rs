//! Memory that is attached to dynamic windows.

use crate::process::{Process, Ref};
use crate::windows::window::Window;
use core::ffi::c_void;
use weft_base::abi::{self, Aint};
use weft_base::constants::*;
use weft_base::{Error, Result};

fn dynamic(win: abi::Win) -> Result<Ref<'static, Window>> {
    let window = Process::current()?.window(win)?;
    if window.predefined.flavor == MPI_WIN_FLAVOR_DYNAMIC {
        return Ok(window);
    }
    Err(Error::new(MPI_ERR_RMA_FLAVOR, "win was not created by MPI_Win_create_dynamic"))
}

/// `MPI_Win_attach`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_SIZE`, `MPI_ERR_RMA_FLAVOR`; `MPI_ERR_RMA_ATTACH` for memory that is attached already.
pub fn win_attach(win: abi::Win, base: *mut c_void, size: Aint) -> Result {
    let window = dynamic(win)?;
    let Ok(size) = usize::try_from(size) else {
        return Err(Error::new(MPI_ERR_SIZE, format!("size is {size}; it must not be negative")));
    };
    let start = base as usize;
    if start.checked_add(size).filter(|_| start != 0 || size == 0).is_none() {
        return Err(Error::new(MPI_ERR_BUFFER, format!("base is {base:?}; there are no {size} bytes")));
    }
    if let Some((old, length)) = window.rma.attach(start, size) {
        let text = format!("{size} bytes at {base:?} overlap {length} bytes attached at {old:#x}");
        return Err(Error::new(MPI_ERR_RMA_ATTACH, text));
    }
    Ok(())
}

/// `MPI_Win_detach`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_RMA_FLAVOR`; `MPI_ERR_BASE` for an address at which nothing is attached.
pub fn win_detach(win: abi::Win, base: *const c_void) -> Result {
    let window = dynamic(win)?;
    if window.rma.detach(base as usize) {
        return Ok(());
    }
    Err(Error::new(MPI_ERR_BASE, format!("base is {base:?}; nothing is attached there")))
}
