//! Split collective operations: their beginning and their end are calls of their own.

use crate::files::call::{Buffer, Call};
use crate::files::requests::{self, Begun, Form, Where};
use crate::point_to_point::messages::store_status;
use core::ffi::c_void;
use weft_base::abi::{self, Count, Offset, Status};
use weft_base::constants::*;
use weft_base::{Error, Out, Result};
use weft_io::{Access, Direction};
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

    fn begin(&self, access: Access, form: Form, buffer: *const c_void) -> Result {
        let operation = requests::start(access, MPI_FILE_NULL, weft_sched::current().call());
        *self.file.split.lock() = Some(Begun { form, buffer: buffer as usize, operation });
        Ok(())
    }

    fn end(&self, form: Form, buffer: *const c_void, status: Out<Status>) -> Result {
        let operation = {
            let mut split = self.file.split.lock();
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
    let call = Call::new(fh)?;
    call.no_split()?;
    let access = call.at(Direction::Read, offset, Buffer { address: buf, count, datatype })?;
    call.begin(access, Form(Direction::Read, Where::Explicit), buf)
}

/// `MPI_File_read_at_all_end`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_OTHER`, `MPI_ERR_BUFFER`; what became of the operation.
pub fn file_read_at_all_end(fh: abi::File, buf: *mut c_void, status: Out<Status>) -> Result {
    Call::new(fh)?.end(Form(Direction::Read, Where::Explicit), buf, status)
}

/// `MPI_File_read_all_begin`
///
/// # Errors
/// As [`file_read_at_all_begin`].
pub fn file_read_all_begin(fh: abi::File, buf: *mut c_void, count: Count, datatype: abi::Datatype) -> Result {
    let call = Call::new(fh)?;
    call.no_split()?;
    let access = call.here(Direction::Read, Buffer { address: buf, count, datatype })?;
    call.begin(access, Form(Direction::Read, Where::Individual), buf)
}

/// `MPI_File_read_all_end`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_OTHER`, `MPI_ERR_BUFFER`; what became of the operation.
pub fn file_read_all_end(fh: abi::File, buf: *mut c_void, status: Out<Status>) -> Result {
    Call::new(fh)?.end(Form(Direction::Read, Where::Individual), buf, status)
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
    let call = Call::new(fh)?;
    call.no_split()?;
    let access = call.ordered(Direction::Read, Buffer { address: buf, count, datatype })?;
    call.begin(access, Form(Direction::Read, Where::Ordered), buf)
}

/// `MPI_File_read_ordered_end`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_OTHER`, `MPI_ERR_BUFFER`; what became of the operation.
pub fn file_read_ordered_end(fh: abi::File, buf: *mut c_void, status: Out<Status>) -> Result {
    Call::new(fh)?.end(Form(Direction::Read, Where::Ordered), buf, status)
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
    let call = Call::new(fh)?;
    call.no_split()?;
    let access = call.at(Direction::Write, offset, Buffer { address: buf, count, datatype })?;
    call.begin(access, Form(Direction::Write, Where::Explicit), buf)
}

/// `MPI_File_write_at_all_end`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_OTHER`, `MPI_ERR_BUFFER`; what became of the operation.
pub fn file_write_at_all_end(fh: abi::File, buf: *const c_void, status: Out<Status>) -> Result {
    Call::new(fh)?.end(Form(Direction::Write, Where::Explicit), buf, status)
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
    let call = Call::new(fh)?;
    call.no_split()?;
    let access = call.here(Direction::Write, Buffer { address: buf, count, datatype })?;
    call.begin(access, Form(Direction::Write, Where::Individual), buf)
}

/// `MPI_File_write_all_end`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_OTHER`, `MPI_ERR_BUFFER`; what became of the operation.
pub fn file_write_all_end(fh: abi::File, buf: *const c_void, status: Out<Status>) -> Result {
    Call::new(fh)?.end(Form(Direction::Write, Where::Individual), buf, status)
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
    let call = Call::new(fh)?;
    call.no_split()?;
    let access = call.ordered(Direction::Write, Buffer { address: buf, count, datatype })?;
    call.begin(access, Form(Direction::Write, Where::Ordered), buf)
}

/// `MPI_File_write_ordered_end`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_OTHER`, `MPI_ERR_BUFFER`; what became of the operation.
pub fn file_write_ordered_end(fh: abi::File, buf: *const c_void, status: Out<Status>) -> Result {
    Call::new(fh)?.end(Form(Direction::Write, Where::Ordered), buf, status)
}
