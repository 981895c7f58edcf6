//! Packing (chapter 5): data of any layout into one buffer and back.
//!
//! Buffers are the caller's addresses, valid as the standard demands; hence the unsafe code.
#![allow(unsafe_code)]

use crate::arguments::check;
use crate::arguments::strings;
use crate::datatypes::datatype::committed;
use crate::process::Process;
use core::ffi::{c_char, c_void};
use weft_base::abi::{self, Count};
use weft_base::arguments::{CountOut, In};
use weft_base::constants::*;
use weft_base::{Error, Result};

/// Reads an in-out position and checks that `needed` bytes follow it in a buffer of `size` bytes.
fn position(position: CountOut, size: Count, needed: u64, names: [&str; 2]) -> Result<u64> {
    if position.is_null() {
        return Err(Error::new(MPI_ERR_ARG, "position is a null pointer; pass the address of a variable"));
    }
    let value = match position {
        CountOut::Int(p) => Count::from(p.get_at(0)),
        CountOut::Aint(p) => p.get_at(0) as Count,
        CountOut::Count(p) => p.get_at(0),
    };
    let size = u64::try_from(size)
        .map_err(|_| Error::new(MPI_ERR_ARG, format!("{} is {size}; it must not be negative", names[0])))?;
    let start = u64::try_from(value)
        .map_err(|_| Error::new(MPI_ERR_ARG, format!("position is {value}; it must not be negative")))?;
    if start > size || needed > size - start {
        let text = format!(
            "{} is {size}: {needed} bytes from position {value} on do not fit the packed buffer",
            names[0]
        );
        return Err(Error::new(MPI_ERR_TRUNCATE, text));
    }
    if let (CountOut::Int(_), true) = (position, start + needed > i32::MAX as u64) {
        return Err(Error::new(MPI_ERR_ARG, "position would exceed int; use the large-count form"));
    }
    Ok(start)
}

fn packed_buffer(address: *const c_void, bytes: u64, name: &str) -> Result {
    if address.is_null() && bytes > 0 {
        return Err(Error::new(
            MPI_ERR_BUFFER,
            format!("{name} is a null pointer, but {bytes} bytes are needed"),
        ));
    }
    Ok(())
}

fn total(count: u64, size: u64) -> Result<u64> {
    count.checked_mul(size).filter(|t| *t <= i64::MAX as u64).ok_or_else(|| {
        Error::new(
            MPI_ERR_COUNT,
            format!("count is {count}; so many elements of {size} bytes each do not fit memory"),
        )
    })
}

/// `MPI_Pack`
///
/// # Errors
/// `MPI_ERR_TRUNCATE` when the data does not fit, `MPI_ERR_COMM`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`,
/// `MPI_ERR_ARG`
pub fn pack(
    inbuf: *const c_void,
    incount: Count,
    datatype: abi::Datatype,
    outbuf: *mut c_void,
    outsize: Count,
    place: CountOut,
    comm: abi::Comm,
) -> Result {
    let process = Process::current()?;
    process.communicator(comm)?;
    let count = check::count(incount, "incount")?;
    let datatype = committed(process, datatype)?;
    check::buffer(inbuf, count, &datatype, "inbuf")?;
    let bytes = total(count, datatype.size())?;
    let start = position(place, outsize, bytes, ["outsize", "outbuf"])?;
    packed_buffer(outbuf, bytes, "outbuf")?;
    let out = outbuf.cast::<u8>().wrapping_add(start as usize);
    // SAFETY: the caller's buffers hold `count` instances and, as just checked, room for their packed form.
    unsafe { weft_datatype::pack(inbuf.cast(), count, &datatype, 0, out, bytes) };
    place.set((start + bytes) as Count);
    Ok(())
}

/// `MPI_Unpack`
///
/// # Errors
/// As [`pack`].
pub fn unpack(
    inbuf: *const c_void,
    insize: Count,
    place: CountOut,
    outbuf: *mut c_void,
    outcount: Count,
    datatype: abi::Datatype,
    comm: abi::Comm,
) -> Result {
    let process = Process::current()?;
    process.communicator(comm)?;
    let count = check::count(outcount, "outcount")?;
    let datatype = committed(process, datatype)?;
    check::buffer(outbuf, count, &datatype, "outbuf")?;
    let bytes = total(count, datatype.size())?;
    let start = position(place, insize, bytes, ["insize", "inbuf"])?;
    packed_buffer(inbuf, bytes, "inbuf")?;
    let input = inbuf.cast::<u8>().wrapping_add(start as usize);
    // SAFETY: as in `pack`, with reads and writes exchanged.
    unsafe { weft_datatype::unpack(outbuf.cast(), count, &datatype, 0, input, bytes) };
    place.set((start + bytes) as Count);
    Ok(())
}

/// `MPI_Pack_size`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_ARG`
pub fn pack_size(incount: Count, datatype: abi::Datatype, comm: abi::Comm, size: CountOut) -> Result {
    let process = Process::current()?;
    process.communicator(comm)?;
    let count = check::count(incount, "incount")?;
    let bytes = total(count, process.datatype(datatype)?.size())?;
    if size.is_null() {
        return Err(Error::new(MPI_ERR_ARG, "size is a null pointer; pass the address of a variable"));
    }
    size.set(bytes as Count);
    Ok(())
}

/// Checks the name of a data representation; packing knows one.
fn external32(datarep: In<c_char>) -> Result {
    let name = strings::read(datarep, "datarep")?;
    if name != "external32" {
        let text = format!("datarep is \"{name}\"; \"external32\" is the only representation for packing");
        return Err(Error::new(MPI_ERR_UNSUPPORTED_DATAREP, text));
    }
    Ok(())
}

/// `MPI_Pack_external`
///
/// # Errors
/// `MPI_ERR_UNSUPPORTED_DATAREP`, and as [`pack`].
pub fn pack_external(
    datarep: In<c_char>,
    inbuf: *const c_void,
    incount: Count,
    datatype: abi::Datatype,
    outbuf: *mut c_void,
    outsize: Count,
    place: CountOut,
) -> Result {
    let process = Process::current()?;
    external32(datarep)?;
    let count = check::count(incount, "incount")?;
    let datatype = committed(process, datatype)?;
    check::buffer(inbuf, count, &datatype, "inbuf")?;
    total(count, datatype.size())?;
    let bytes = total(count, datatype.external_size())?;
    let start = position(place, outsize, bytes, ["outsize", "outbuf"])?;
    packed_buffer(outbuf, bytes, "outbuf")?;
    let out = outbuf.cast::<u8>().wrapping_add(start as usize);
    // SAFETY: the caller's buffers hold `count` instances and, as just checked, room for their external form.
    unsafe { weft_datatype::pack_external(inbuf.cast(), count, &datatype, out) };
    place.set((start + bytes) as Count);
    Ok(())
}

/// `MPI_Unpack_external`
///
/// # Errors
/// As [`pack_external`].
pub fn unpack_external(
    datarep: In<c_char>,
    inbuf: *const c_void,
    insize: Count,
    place: CountOut,
    outbuf: *mut c_void,
    outcount: Count,
    datatype: abi::Datatype,
) -> Result {
    let process = Process::current()?;
    external32(datarep)?;
    let count = check::count(outcount, "outcount")?;
    let datatype = committed(process, datatype)?;
    check::buffer(outbuf, count, &datatype, "outbuf")?;
    total(count, datatype.size())?;
    let bytes = total(count, datatype.external_size())?;
    let start = position(place, insize, bytes, ["insize", "inbuf"])?;
    packed_buffer(inbuf, bytes, "inbuf")?;
    let input = inbuf.cast::<u8>().wrapping_add(start as usize);
    // SAFETY: as in `pack_external`, with reads and writes exchanged.
    unsafe { weft_datatype::unpack_external(outbuf.cast(), count, &datatype, input) };
    place.set((start + bytes) as Count);
    Ok(())
}

/// `MPI_Pack_external_size`
///
/// # Errors
/// `MPI_ERR_UNSUPPORTED_DATAREP`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_ARG`
pub fn pack_external_size(
    datarep: In<c_char>,
    incount: Count,
    datatype: abi::Datatype,
    size: CountOut,
) -> Result {
    let process = Process::current()?;
    external32(datarep)?;
    let count = check::count(incount, "incount")?;
    let bytes = total(count, process.datatype(datatype)?.external_size())?;
    if size.is_null() {
        return Err(Error::new(MPI_ERR_ARG, "size is a null pointer; pass the address of a variable"));
    }
    size.set(bytes as Count);
    Ok(())
}
