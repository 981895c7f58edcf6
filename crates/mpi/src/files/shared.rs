//! Operations at the shared file pointer, which all ranks of a file have together.

use crate::arguments::check;
use crate::files::call::{Buffer, Call, run, run_all, start};
use crate::files::file::tell;
use crate::files::individual::target;
use crate::files::merging::gather;
use crate::files::requests::{Form, Where};
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Count, Offset, Status};
use weft_base::constants::*;
use weft_base::{Error, Out, Result};
use weft_io::Direction;

/// `MPI_File_read_shared`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`, `MPI_ERR_ACCESS`, `MPI_ERR_READ_ONLY`,
/// `MPI_ERR_UNSUPPORTED_OPERATION`; the class of what the system says.
pub fn file_read_shared(
    fh: abi::File,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    status: Out<Status>,
) -> Result {
    run(fh, Form(Direction::Read, Where::Shared), 0, Buffer { address: buf, count, datatype }, status)
}

/// `MPI_File_read_ordered`
///
/// # Errors
/// As [`file_read_shared`].
pub fn file_read_ordered(
    fh: abi::File,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    status: Out<Status>,
) -> Result {
    run_all(fh, Form(Direction::Read, Where::Ordered), 0, Buffer { address: buf, count, datatype }, status)
}

/// `MPI_File_iread_shared`
///
/// # Errors
/// As [`file_read_shared`].
pub fn file_iread_shared(
    fh: abi::File,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    request: Out<abi::Request>,
) -> Result {
    start(fh, Form(Direction::Read, Where::Shared), 0, Buffer { address: buf, count, datatype }, request)
}

/// `MPI_File_write_shared`
///
/// # Errors
/// As [`file_read_shared`].
pub fn file_write_shared(
    fh: abi::File,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    status: Out<Status>,
) -> Result {
    run(fh, Form(Direction::Write, Where::Shared), 0, Buffer { address: buf, count, datatype }, status)
}

/// `MPI_File_write_ordered`
///
/// # Errors
/// As [`file_read_shared`].
pub fn file_write_ordered(
    fh: abi::File,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    status: Out<Status>,
) -> Result {
    run_all(fh, Form(Direction::Write, Where::Ordered), 0, Buffer { address: buf, count, datatype }, status)
}

/// `MPI_File_iwrite_shared`
///
/// # Errors
/// As [`file_read_shared`].
pub fn file_iwrite_shared(
    fh: abi::File,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    request: Out<abi::Request>,
) -> Result {
    start(fh, Form(Direction::Write, Where::Shared), 0, Buffer { address: buf, count, datatype }, request)
}

/// `MPI_File_seek_shared`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_UNSUPPORTED_OPERATION`, `MPI_ERR_NOT_SAME`
pub fn file_seek_shared(fh: abi::File, offset: Offset, whence: c_int) -> Result {
    let call = Call::new(fh)?;
    call.any_order()?;
    call.no_split()?;
    let file = &call.file;
    let mine = [offset as u64, whence as u64];
    if gather(&file.team, mine)?.iter().any(|other| *other != mine) {
        let text = format!("offset is {offset} and whence {whence}; other ranks pass others");
        return Err(Error::new(MPI_ERR_NOT_SAME, text));
    }
    let seek = || {
        let to = target(&call, offset, whence, || file.pointer.get())?;
        file.pointer.set(to)
    };
    let done = if file.team.rank() == 0 { seek() } else { Ok(()) };
    tell(&file.team, 0, done.map(|()| 0)).map(drop)
}

/// `MPI_File_get_position_shared`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_UNSUPPORTED_OPERATION`
pub fn file_get_position_shared(fh: abi::File, offset: Out<Offset>) -> Result {
    check::output(offset, "offset")?;
    let call = Call::new(fh)?;
    call.any_order()?;
    offset.set(call.file.pointer.get()? as Offset);
    Ok(())
}
