//! How many elements a message had.

use crate::arguments::check;
use crate::process::Process;
use weft_base::abi::{self, Count, Status};
use weft_base::arguments::{CountOut, In, Out};
use weft_base::constants::*;
use weft_base::{Error, Result};

fn read_status(status: In<Status>) -> Result<Status> {
    if status.is_null() {
        let text = "status is a null pointer (MPI_STATUS_IGNORE?); pass a status of a completed operation";
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    Ok(status.get(0))
}

/// Stores a number, `MPI_UNDEFINED` for none or one that does not fit.
pub(super) fn counted(count: CountOut, name: &str, value: Option<u64>) -> Result {
    if count.is_null() {
        return Err(Error::new(
            MPI_ERR_ARG,
            format!("{name} is a null pointer; pass the address of a variable"),
        ));
    }
    let value = value.and_then(|v| i64::try_from(v).ok());
    count.set(value.unwrap_or(i64::from(MPI_UNDEFINED)));
    Ok(())
}

/// `MPI_Get_count`
///
/// # Errors
/// `MPI_ERR_TYPE`, `MPI_ERR_ARG`
pub fn get_count(status: In<Status>, datatype: abi::Datatype, count: CountOut) -> Result {
    let process = Process::current()?;
    let bytes = read_status(status)?.bytes();
    let size = process.datatype(datatype)?.size();
    let value = match size {
        0 => (bytes == 0).then_some(0),
        _ => (bytes % size == 0).then_some(bytes / size),
    };
    counted(count, "count", value)
}

/// `MPI_Get_elements`
///
/// # Errors
/// As [`get_count`].
pub fn get_elements(status: In<Status>, datatype: abi::Datatype, count: CountOut) -> Result {
    let process = Process::current()?;
    let bytes = read_status(status)?.bytes();
    let elements = process.datatype(datatype)?.elements_in(bytes);
    counted(count, "count", elements)
}

/// `MPI_Get_elements_x`
///
/// # Errors
/// As [`get_count`].
pub fn get_elements_x(status: In<Status>, datatype: abi::Datatype, count: Out<Count>) -> Result {
    get_elements(status, datatype, CountOut::Count(count))
}

/// `MPI_Status_set_elements`
///
/// # Errors
/// `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_ARG`
pub fn status_set_elements(status: Out<Status>, datatype: abi::Datatype, count: Count) -> Result {
    let process = Process::current()?;
    check::output(status, "status")?;
    let elements = check::count(count, "count")?;
    let Some(bytes) = process.datatype(datatype)?.bytes_of(elements) else {
        return Err(Error::new(
            MPI_ERR_COUNT,
            format!("count is {count}; the datatype has no such number of elements"),
        ));
    };
    let mut value = status.get_at(0);
    value.set_bytes(bytes);
    status.set(value);
    Ok(())
}

/// `MPI_Status_set_elements_x`
///
/// # Errors
/// As [`status_set_elements`].
pub fn status_set_elements_x(status: Out<Status>, datatype: abi::Datatype, count: Count) -> Result {
    status_set_elements(status, datatype, count)
}
