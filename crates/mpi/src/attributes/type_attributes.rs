//! Attributes of datatypes (chapter 7). They hang on the handle: types that a decoded type hands out start without.

use crate::attributes::keyvals::Kind;
use crate::attributes::values::{Attributes, Value};
use crate::process::Process;
use core::ffi::{c_int, c_void};
use std::sync::Arc;
use weft_base::{Out, Result, abi};

/// `MPI_Type_create_keyval`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn type_create_keyval(
    copy: abi::Callback,
    delete: abi::Callback,
    keyval: Out<c_int>,
    extra_state: *mut c_void,
) -> Result {
    Process::any().keyvals.create(Kind::Datatype, [copy, delete], extra_state, keyval, "type_keyval")
}

/// `MPI_Type_free_keyval`
///
/// # Errors
/// `MPI_ERR_KEYVAL`, `MPI_ERR_ARG`
pub fn type_free_keyval(keyval: Out<c_int>) -> Result {
    Process::any().keyvals.free(Kind::Datatype, keyval, "type_keyval")
}

pub(crate) fn target(datatype: abi::Datatype) -> Result<(&'static Process, Arc<Attributes>)> {
    let process = Process::current()?;
    process.datatype(datatype)?;
    Ok((process, process.datatype_state.attributes(datatype)))
}

/// `MPI_Type_set_attr`
///
/// # Errors
/// `MPI_ERR_TYPE`, `MPI_ERR_KEYVAL`, or the code of the delete function of the value replaced.
pub fn type_set_attr(datatype: abi::Datatype, keyval: c_int, value: *mut c_void) -> Result {
    let (process, attributes) = target(datatype)?;
    attributes.set(process.keyvals.get(Kind::Datatype, keyval)?, Value::Address(value as usize), datatype.0)
}

/// `MPI_Type_get_attr`: `value` is the address of a pointer variable.
///
/// # Errors
/// `MPI_ERR_TYPE`, `MPI_ERR_KEYVAL`, `MPI_ERR_ARG`
pub fn type_get_attr(datatype: abi::Datatype, keyval: c_int, value: *mut c_void, flag: Out<c_int>) -> Result {
    let (process, attributes) = target(datatype)?;
    attributes.get(&*process.keyvals.get_in_use(Kind::Datatype, keyval)?, value, flag)
}

/// `MPI_Type_delete_attr`
///
/// # Errors
/// `MPI_ERR_TYPE`, `MPI_ERR_KEYVAL`, or the delete function's code.
pub fn type_delete_attr(datatype: abi::Datatype, keyval: c_int) -> Result {
    let (process, attributes) = target(datatype)?;
    attributes.delete(&*process.keyvals.get_in_use(Kind::Datatype, keyval)?, datatype.0)
}
