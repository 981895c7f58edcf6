//! Operations at the individual file pointer, which each rank has.

use crate::arguments::check;
use crate::files::call::{Buffer, Call, run, run_all, start, start_all};
use crate::files::requests::{Form, Where};
use core::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use weft_base::abi::{self, Count, Offset, Status};
use weft_base::constants::*;
use weft_base::{Error, Out, Result};
use weft_io::Direction;

/// `MPI_File_read`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`, `MPI_ERR_ACCESS`, `MPI_ERR_READ_ONLY`,
/// `MPI_ERR_UNSUPPORTED_OPERATION`; the class of what the system says.
pub fn file_read(
    fh: abi::File,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    status: Out<Status>,
) -> Result {
    run(fh, Form(Direction::Read, Where::Individual), 0, Buffer { address: buf, count, datatype }, status)
}

/// `MPI_File_read_all`
///
/// # Errors
/// As [`file_read`].
pub fn file_read_all(
    fh: abi::File,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    status: Out<Status>,
) -> Result {
    run_all(fh, Form(Direction::Read, Where::Individual), 0, Buffer { address: buf, count, datatype }, status)
}

/// `MPI_File_iread`
///
/// # Errors
/// As [`file_read`].
pub fn file_iread(
    fh: abi::File,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    request: Out<abi::Request>,
) -> Result {
    start(fh, Form(Direction::Read, Where::Individual), 0, Buffer { address: buf, count, datatype }, request)
}

/// `MPI_File_iread_all`
///
/// # Errors
/// As [`file_read`].
pub fn file_iread_all(
    fh: abi::File,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    request: Out<abi::Request>,
) -> Result {
    start_all(
        fh,
        Form(Direction::Read, Where::Individual),
        0,
        Buffer { address: buf, count, datatype },
        request,
    )
}

/// `MPI_File_write`
///
/// # Errors
/// As [`file_read`].
pub fn file_write(
    fh: abi::File,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    status: Out<Status>,
) -> Result {
    run(fh, Form(Direction::Write, Where::Individual), 0, Buffer { address: buf, count, datatype }, status)
}

/// `MPI_File_write_all`
///
/// # Errors
/// As [`file_read`].
pub fn file_write_all(
    fh: abi::File,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    status: Out<Status>,
) -> Result {
    run_all(
        fh,
        Form(Direction::Write, Where::Individual),
        0,
        Buffer { address: buf, count, datatype },
        status,
    )
}

/// `MPI_File_iwrite`
///
/// # Errors
/// As [`file_read`].
pub fn file_iwrite(
    fh: abi::File,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    request: Out<abi::Request>,
) -> Result {
    start(fh, Form(Direction::Write, Where::Individual), 0, Buffer { address: buf, count, datatype }, request)
}

/// `MPI_File_iwrite_all`
///
/// # Errors
/// As [`file_read`].
pub fn file_iwrite_all(
    fh: abi::File,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    request: Out<abi::Request>,
) -> Result {
    start_all(
        fh,
        Form(Direction::Write, Where::Individual),
        0,
        Buffer { address: buf, count, datatype },
        request,
    )
}

/// Returns where a seek leads, in etypes.
///
/// # Errors
/// `MPI_ERR_ARG`; the class of what the system says.
pub(super) fn target(
    call: &Call,
    offset: Offset,
    whence: c_int,
    current: impl FnOnce() -> Result<u64>,
) -> Result<u64> {
    let from = match whence {
        MPI_SEEK_SET => 0,
        MPI_SEEK_CUR => current()?,
        MPI_SEEK_END => {
            let view = call.file.view();
            view.bytes_before(call.file.opened.size()?).div_ceil(view.unit())
        }
        _ => {
            let text = format!("whence is {whence}; pass MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END");
            return Err(Error::new(MPI_ERR_ARG, text));
        }
    };
    let to = i64::try_from(from).ok().and_then(|from| from.checked_add(offset));
    to.and_then(|to| u64::try_from(to).ok()).ok_or_else(|| {
        let text =
            format!("offset is {offset}; from etype {from} on that leads to where no file pointer can be");
        Error::new(MPI_ERR_ARG, text)
    })
}

/// `MPI_File_seek`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_UNSUPPORTED_OPERATION`
pub fn file_seek(fh: abi::File, offset: Offset, whence: c_int) -> Result {
    let call = Call::new(fh)?;
    call.any_order()?;
    let position = &call.file.position;
    let to = target(&call, offset, whence, || Ok(position.load(Ordering::Acquire)))?;
    position.store(to, Ordering::Release);
    Ok(())
}

/// `MPI_File_get_position`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_UNSUPPORTED_OPERATION`
pub fn file_get_position(fh: abi::File, offset: Out<Offset>) -> Result {
    check::output(offset, "offset")?;
    let call = Call::new(fh)?;
    call.any_order()?;
    offset.set(call.file.position.load(Ordering::Acquire) as Offset);
    Ok(())
}
