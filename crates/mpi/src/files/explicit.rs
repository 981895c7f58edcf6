//! Operations at offsets that the program gives, in etypes of the view.
//!
//! The blocking collective ones are merged among the ranks of a process; the others are independent operations.

use crate::files::call::{Buffer, run, run_all, start, start_all};
use crate::files::requests::{Form, Where};
use core::ffi::c_void;
use weft_base::abi::{self, Count, Offset, Status};
use weft_base::{Out, Result};
use weft_io::Direction;

/// `MPI_File_read_at`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`, `MPI_ERR_ACCESS`, `MPI_ERR_READ_ONLY`,
/// `MPI_ERR_UNSUPPORTED_OPERATION`; the class of what the system says.
pub fn file_read_at(
    fh: abi::File,
    offset: Offset,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    status: Out<Status>,
) -> Result {
    run(fh, Form(Direction::Read, Where::Explicit), offset, Buffer { address: buf, count, datatype }, status)
}

/// `MPI_File_read_at_all`
///
/// # Errors
/// As [`file_read_at`].
pub fn file_read_at_all(
    fh: abi::File,
    offset: Offset,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    status: Out<Status>,
) -> Result {
    run_all(
        fh,
        Form(Direction::Read, Where::Explicit),
        offset,
        Buffer { address: buf, count, datatype },
        status,
    )
}

/// `MPI_File_iread_at`
///
/// # Errors
/// As [`file_read_at`].
pub fn file_iread_at(
    fh: abi::File,
    offset: Offset,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    request: Out<abi::Request>,
) -> Result {
    start(
        fh,
        Form(Direction::Read, Where::Explicit),
        offset,
        Buffer { address: buf, count, datatype },
        request,
    )
}

/// `MPI_File_iread_at_all`
///
/// # Errors
/// As [`file_read_at`].
pub fn file_iread_at_all(
    fh: abi::File,
    offset: Offset,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    request: Out<abi::Request>,
) -> Result {
    start_all(
        fh,
        Form(Direction::Read, Where::Explicit),
        offset,
        Buffer { address: buf, count, datatype },
        request,
    )
}

/// `MPI_File_write_at`
///
/// # Errors
/// As [`file_read_at`].
pub fn file_write_at(
    fh: abi::File,
    offset: Offset,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    status: Out<Status>,
) -> Result {
    run(fh, Form(Direction::Write, Where::Explicit), offset, Buffer { address: buf, count, datatype }, status)
}

/// `MPI_File_write_at_all`
///
/// # Errors
/// As [`file_read_at`].
pub fn file_write_at_all(
    fh: abi::File,
    offset: Offset,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    status: Out<Status>,
) -> Result {
    run_all(
        fh,
        Form(Direction::Write, Where::Explicit),
        offset,
        Buffer { address: buf, count, datatype },
        status,
    )
}

/// `MPI_File_iwrite_at`
///
/// # Errors
/// As [`file_read_at`].
pub fn file_iwrite_at(
    fh: abi::File,
    offset: Offset,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    request: Out<abi::Request>,
) -> Result {
    start(
        fh,
        Form(Direction::Write, Where::Explicit),
        offset,
        Buffer { address: buf, count, datatype },
        request,
    )
}

/// `MPI_File_iwrite_at_all`
///
/// # Errors
/// As [`file_read_at`].
pub fn file_iwrite_at_all(
    fh: abi::File,
    offset: Offset,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    request: Out<abi::Request>,
) -> Result {
    start_all(
        fh,
        Form(Direction::Write, Where::Explicit),
        offset,
        Buffer { address: buf, count, datatype },
        request,
    )
}
