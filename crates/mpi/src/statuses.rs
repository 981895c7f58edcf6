//! Reading statuses (chapter 3).

use crate::check;
use core::ffi::c_int;
use weft_base::abi::Status;
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result};

fn read(status: In<Status>) -> Result<Status> {
    if status.is_null() {
        let text = "status is a null pointer (MPI_STATUS_IGNORE?); pass the address of a status";
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    Ok(status.get(0))
}

/// `MPI_Test_cancelled`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn test_cancelled(status: In<Status>, flag: Out<c_int>) -> Result {
    check::output(flag, "flag")?;
    flag.set(c_int::from(read(status)?.cancelled()));
    Ok(())
}

/// `MPI_Status_get_source`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn status_get_source(status: In<Status>, source: Out<c_int>) -> Result {
    check::output(source, "source")?;
    source.set(read(status)?.source);
    Ok(())
}

/// `MPI_Status_get_tag`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn status_get_tag(status: In<Status>, tag: Out<c_int>) -> Result {
    check::output(tag, "tag")?;
    tag.set(read(status)?.tag);
    Ok(())
}

/// `MPI_Status_get_error`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn status_get_error(status: In<Status>, error: Out<c_int>) -> Result {
    check::output(error, "error")?;
    error.set(read(status)?.error);
    Ok(())
}
