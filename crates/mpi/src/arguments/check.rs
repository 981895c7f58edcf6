//! Checks of arguments, named after the kinds of the API description. Each error names the argument and its value.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};
use weft_base::abi::Count;
use weft_base::arguments::CountOut;
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result, Subject};
use weft_datatype::Datatype;

/// Checks that an output argument has somewhere to go.
///
/// # Errors
/// `MPI_ERR_ARG`
#[inline]
pub fn output<T: Copy>(argument: Out<T>, name: &str) -> Result {
    if argument.is_null() { Err(null_output(name)) } else { Ok(()) }
}

/// Checks that an output count has somewhere to go.
///
/// # Errors
/// `MPI_ERR_ARG`
#[inline]
pub fn count_output(argument: CountOut, name: &str) -> Result {
    if argument.is_null() { Err(null_output(name)) } else { Ok(()) }
}

/// Checks that an input array of `length` elements is there.
///
/// # Errors
/// `MPI_ERR_ARG`
#[inline]
pub fn array(is_null: bool, length: usize, name: &str) -> Result {
    if is_null && length > 0 { Err(null_array(name, length)) } else { Ok(()) }
}

/// Checks the address of `count` elements: low ones make sense only with a datatype of absolute addresses.
///
/// # Errors
/// `MPI_ERR_BUFFER`
#[inline]
pub fn buffer(address: *const c_void, count: u64, datatype: &Datatype, name: &str) -> Result {
    if is_low(address) && count > 0 { low_buffer(address.addr(), count, datatype, name) } else { Ok(()) }
}

/// Tells whether no memory can be at an address: no object lives in the first page.
#[inline]
pub fn is_low(address: *const c_void) -> bool {
    address.addr() < PAGE
}

const PAGE: usize = 4096;

#[cold]
fn low_buffer(address: usize, count: u64, datatype: &Datatype, name: &str) -> Result {
    let first = datatype.true_lb().checked_add(address as i64);
    if datatype.size() == 0 || (address == 0 && !first.is_some_and(|first| (0..PAGE as i64).contains(&first)))
    {
        return Ok(());
    }
    let what = match address {
        0 => "is a null pointer",
        MPI_IN_PLACE => "is MPI_IN_PLACE, which this call does not allow there",
        MPI_BUFFER_AUTOMATIC => "is MPI_BUFFER_AUTOMATIC, which is only for attaching buffers",
        _ => {
            return Err(Error::new(
                MPI_ERR_BUFFER,
                format!("{name} is {address:#x}, where no memory can be"),
            ));
        }
    };
    Err(Error::new(MPI_ERR_BUFFER, format!("{name} {what}; pass the address of {count} elements")))
}

/// Writes a rank or tag with the name of the constant it may stand for.
pub fn special(value: c_int, tag: bool) -> String {
    let name = match value {
        MPI_ANY_SOURCE if !tag => "MPI_ANY_SOURCE",
        MPI_PROC_NULL if !tag => "MPI_PROC_NULL",
        MPI_ROOT if !tag => "MPI_ROOT",
        MPI_ANY_TAG if tag => "MPI_ANY_TAG",
        MPI_UNDEFINED => "MPI_UNDEFINED",
        _ => return value.to_string(),
    };
    format!("{value} ({name})")
}

#[cold]
fn null_array(name: &str, length: usize) -> Error {
    Error::new(MPI_ERR_ARG, format!("{name} is a null pointer; pass an array of {length} elements"))
}

#[cold]
fn null_output(name: &str) -> Error {
    Error::new(
        MPI_ERR_ARG,
        format!("{name} is a null pointer; pass the address of a variable for the result"),
    )
}

/// Checks that an input array is there.
///
/// # Errors
/// `MPI_ERR_ARG`
#[inline]
pub fn input<T: Copy>(argument: In<T>, name: &str) -> Result {
    if argument.is_null() {
        return Err(Error::new(
            MPI_ERR_ARG,
            format!("{name} is a null pointer; pass the address of an array"),
        ));
    }
    Ok(())
}

/// Checks a count of elements.
///
/// # Errors
/// `MPI_ERR_COUNT` for a negative one.
#[inline]
pub fn count(value: Count, name: &str) -> Result<u64> {
    u64::try_from(value).map_err(|_| negative(MPI_ERR_COUNT, value, name))
}

/// Checks the length of an array.
///
/// # Errors
/// `MPI_ERR_ARG` for a negative one.
pub fn length(value: c_int, name: &str) -> Result<usize> {
    usize::try_from(value).map_err(|_| negative(MPI_ERR_ARG, Count::from(value), name))
}

#[cold]
fn negative(class: i32, value: Count, name: &str) -> Error {
    let text = format!("is {value}; it must not be negative");
    match (class, name) {
        (MPI_ERR_COUNT, "count") => Error::about(Subject::Count, value, text),
        _ => Error::new(class, format!("{name} {text}")),
    }
}

/// Checks the root of a collective operation on an intracommunicator of `size` ranks.
///
/// # Errors
/// `MPI_ERR_ROOT`
#[inline]
pub fn root(value: c_int, size: u32) -> Result<u32> {
    match u32::try_from(value) {
        Ok(root) if root < size => Ok(root),
        _ => Err(Error::new(
            MPI_ERR_ROOT,
            format!(
                "root is {}; the communicator has ranks 0 to {}",
                special(value, false),
                i64::from(size) - 1
            ),
        )),
    }
}

/// Takes a `void *` argument that the standard makes the address of the caller's pointer variable.
///
/// # Errors
/// `MPI_ERR_ARG` for a null pointer.
pub fn pointer_output(address: *mut c_void, name: &str) -> Result<Out<*mut c_void>> {
    // SAFETY: the standard's meaning of such an argument: null or the address of a pointer variable.
    let argument = unsafe { Out::new(address.cast::<*mut c_void>()) };
    output(argument, name)?;
    Ok(argument)
}
