//! What ranks see of each other's writing: atomic mode, synchronisation.

use crate::arguments::check;
use crate::files::call::Call;
use core::ffi::c_int;
use std::sync::atomic::Ordering;
use weft_base::constants::*;
use weft_base::{Error, Out, Result, abi};

/// `MPI_File_set_atomicity`
///
/// # Errors
/// `MPI_ERR_FILE`; `MPI_ERR_NOT_SAME`
pub fn file_set_atomicity(fh: abi::File, flag: c_int) -> Result {
    let call = Call::new(fh)?;
    call.no_split()?;
    let team = &call.file.team;
    let (mine, mut all) = ([u8::from(flag != 0)], vec![0; team.size() as usize]);
    team.allgather_bytes(&mine, &mut all)?;
    if all.iter().any(|other| *other != mine[0]) {
        return Err(Error::new(MPI_ERR_NOT_SAME, format!("flag is {flag}; other ranks pass another")));
    }
    call.file.is_atomic.store(flag != 0, Ordering::Relaxed);
    Ok(())
}

/// `MPI_File_get_atomicity`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`
pub fn file_get_atomicity(fh: abi::File, flag: Out<c_int>) -> Result {
    check::output(flag, "flag")?;
    flag.set(c_int::from(Call::new(fh)?.file.is_atomic.load(Ordering::Relaxed)));
    Ok(())
}

/// `MPI_File_sync`: what any rank has written before is on the device, and all ranks see it.
///
/// # Errors
/// `MPI_ERR_FILE`; the class of what the system says, at all ranks.
pub fn file_sync(fh: abi::File) -> Result {
    let call = Call::new(fh)?;
    call.no_split()?;
    call.file.agree(call.file.opened.sync())
}
