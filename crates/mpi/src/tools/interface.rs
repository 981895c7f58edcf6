//! The beginning and the end of the interface, which is independent of `MPI_Init`.

use crate::process::Process;
use crate::reports::thread_levels;
use crate::tools::state::{self, initialized};
use crate::tools::strings;
use core::ffi::c_int;
use weft_base::constants::*;
use weft_base::{Error, Out, Result};

/// `MPI_T_init_thread`: `MPI_THREAD_MULTIPLE` is provided whatever is asked for.
///
/// # Errors
/// `MPI_T_ERR_INVALID`
pub fn t_init_thread(required: c_int, provided: Out<c_int>) -> Result {
    strings::output(provided, "provided")?;
    if !thread_levels::exists(required) {
        let text = format!("required is {required}; use an MPI_THREAD_… constant");
        return Err(Error::new(MPI_T_ERR_INVALID, text));
    }
    *state::of(Process::any()).uses.lock() += 1;
    provided.set(MPI_THREAD_MULTIPLE);
    Ok(())
}

/// `MPI_T_finalize`: the last one frees all handles and sessions.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`
pub fn t_finalize() -> Result {
    let (_, tools) = initialized()?;
    let mut uses = tools.uses.lock();
    *uses = uses.saturating_sub(1);
    let is_last = *uses == 0;
    drop(uses);
    if is_last {
        tools.clear();
    }
    Ok(())
}
