//! Split collective operations: their beginning and their end are calls of their own.

use crate::files::call::{Buffer, Call};
use crate::files::requests::{self, Begun, Form, Where};
use crate::point_to_point::messages::store_status;
use core::ffi::c_void;
use weft_base::abi::{self, Count, Offset, Status};
use weft_base::constants::*;
use weft_base::{Error, Out, Result};
use weft_io::Direction;
use weft_p2p::Work;

impl Call {
    /// Refuses a collective call while a split operation has not ended.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER`
    pub(super) fn no_split(&self) -> Result {
        if self.file.split.lock().is_some() {
            let text =
                "fh has a split collective operation that has not ended; call its MPI_File_..._end first";
            return Err(Error::new(MPI_ERR_OTHER, text));
        }
        Ok(())
    }
}

fn begin(fh: abi::File, form: Form, offset: Offset, buffer: Buffer) -> Result {
    let call = Call::new(fh)?;
    call.no_split()?;
    let access = call.access(form, offset, buffer)?;
    let operation = requests::start(access, MPI_FILE_NULL, weft_sched::current().call());
    *call.file.split.lock() = Some(Begun { form, buffer: buffer.address as usize, operation });
    Ok(())
}

fn end(fh: abi::File, form: Form, buffer: *const c_void, status: Out<Status>) -> Result {
    let call = Call::new(fh)?;
    let operation = {
        let mut split = call.file.split.lock();
        let Some(begun) = split.as_ref().filter(|begun| begun.form == form) else {
            let text = "fh has no split collective operation that this call ends";
            return Err(Error::new(MPI_ERR_OTHER, text));
        };
        if begun.buffer != buffer as usize {
            let text = format!("buf is {buffer:p}; the operation has begun with {:#x}", begun.buffer);
            return Err(Error::new(MPI_ERR_BUFFER, text));
        }
        split.take().expect("looked at above").operation
    };
    operation.wait();
    store_status(status, Status::of(operation.outcome()?, false));
    Ok(())
}

/// `MPI_File_read_at_all_begin`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`, `MPI_ERR_ACCESS`, `MPI_ERR_READ_ONLY`,
/// `MPI_ERR_UNSUPPORTED_OPERATION`; the class of what the system says.
pub fn file_read_at_all_begin(
    fh: abi::File,
    offset: Offset,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
) -> Result {
    begin(fh, Form(Direction::Read, Where::Explicit), offset, Buffer { address: buf, count, datatype })
}

/// `MPI_File_read_at_all_end`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_OTHER`, `MPI_ERR_BUFFER`; what became of the operation.
pub fn file_read_at_all_end(fh: abi::File, buf: *mut c_void, status: Out<Status>) -> Result {
    end(fh, Form(Direction::Read, Where::Explicit), buf, status)
}

/// `MPI_File_read_all_begin`
///
/// # Errors
/// As [`file_read_at_all_begin`].
pub fn file_read_all_begin(fh: abi::File, buf: *mut c_void, count: Count, datatype: abi::Datatype) -> Result {
    begin(fh, Form(Direction::Read, Where::Individual), 0, Buffer { address: buf, count, datatype })
}

/// `MPI_File_read_all_end`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_OTHER`, `MPI_ERR_BUFFER`; what became of the operation.
pub fn file_read_all_end(fh: abi::File, buf: *mut c_void, status: Out<Status>) -> Result {
    end(fh, Form(Direction::Read, Where::Individual), buf, status)
}

/// `MPI_File_read_ordered_begin`
///
/// # Errors
/// As [`file_read_at_all_begin`].
pub fn file_read_ordered_begin(
    fh: abi::File,
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
) -> Result {
    begin(fh, Form(Direction::Read, Where::Ordered), 0, Buffer { address: buf, count, datatype })
}

/// `MPI_File_read_ordered_end`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_OTHER`, `MPI_ERR_BUFFER`; what became of the operation.
pub fn file_read_ordered_end(fh: abi::File, buf: *mut c_void, status: Out<Status>) -> Result {
    end(fh, Form(Direction::Read, Where::Ordered), buf, status)
}

/// `MPI_File_write_at_all_begin`
///
/// # Errors
/// As [`file_read_at_all_begin`].
pub fn file_write_at_all_begin(
    fh: abi::File,
    offset: Offset,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
) -> Result {
    begin(fh, Form(Direction::Write, Where::Explicit), offset, Buffer { address: buf, count, datatype })
}

/// `MPI_File_write_at_all_end`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_OTHER`, `MPI_ERR_BUFFER`; what became of the operation.
pub fn file_write_at_all_end(fh: abi::File, buf: *const c_void, status: Out<Status>) -> Result {
    end(fh, Form(Direction::Write, Where::Explicit), buf, status)
}

/// `MPI_File_write_all_begin`
///
/// # Errors
/// As [`file_read_at_all_begin`].
pub fn file_write_all_begin(
    fh: abi::File,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
) -> Result {
    begin(fh, Form(Direction::Write, Where::Individual), 0, Buffer { address: buf, count, datatype })
}

/// `MPI_File_write_all_end`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_OTHER`, `MPI_ERR_BUFFER`; what became of the operation.
pub fn file_write_all_end(fh: abi::File, buf: *const c_void, status: Out<Status>) -> Result {
    end(fh, Form(Direction::Write, Where::Individual), buf, status)
}

/// `MPI_File_write_ordered_begin`
///
/// # Errors
/// As [`file_read_at_all_begin`].
pub fn file_write_ordered_begin(
    fh: abi::File,
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
) -> Result {
    begin(fh, Form(Direction::Write, Where::Ordered), 0, Buffer { address: buf, count, datatype })
}

/// `MPI_File_write_ordered_end`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_OTHER`, `MPI_ERR_BUFFER`; what became of the operation.
pub fn file_write_ordered_end(fh: abi::File, buf: *const c_void, status: Out<Status>) -> Result {
    end(fh, Form(Direction::Write, Where::Ordered), buf, status)
}
