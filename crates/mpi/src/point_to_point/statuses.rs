//! Reading statuses (chapter 3), and writing them for generalized requests (chapter 13).

use crate::arguments::check;
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
    check::output(error, "err")?;
    error.set(read(status)?.error);
    Ok(())
}

/// Changes a status.
fn change(status: Out<Status>, change: impl FnOnce(&mut Status)) -> Result {
    if status.is_null() {
        let text = "status is a null pointer (MPI_STATUS_IGNORE?); pass the address of a status";
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    let mut value = status.get_at(0);
    change(&mut value);
    status.set(value);
    Ok(())
}

/// `MPI_Status_set_cancelled`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn status_set_cancelled(status: Out<Status>, flag: c_int) -> Result {
    change(status, |status| status.set_cancelled(flag != 0))
}

/// `MPI_Status_set_source`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn status_set_source(status: Out<Status>, source: c_int) -> Result {
    change(status, |status| status.source = source)
}

/// `MPI_Status_set_tag`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn status_set_tag(status: Out<Status>, tag: c_int) -> Result {
    change(status, |status| status.tag = tag)
}

/// `MPI_Status_set_error`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn status_set_error(status: Out<Status>, err: c_int) -> Result {
    change(status, |status| status.error = err)
}
