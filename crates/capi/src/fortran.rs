//! What the library of Fortran's procedures takes beyond the standard's C functions: functions of the user which C's types
//! cannot carry, and attributes that are integers.
#![allow(unsafe_code)] // Exported functions with pointers.

use crate::entry::{self, Object};
use core::ffi::{CStr, c_char, c_int, c_void};
use weft_base::{Error, Out, Result, abi};
use weft_mpi::attributes::fortran;
use weft_mpi::attributes::keyvals::{Kind, Language};
use weft_mpi::attributes::values::Value;
use weft_mpi::collectives::operations;
use weft_mpi::errors::handling::{self, HandlerKind};

/// Raises an error of a call, and returns its code.
///
/// # Safety
/// `call` and `text` end with zero; `call` lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_fortran_error(class: c_int, call: *const c_char, text: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let (call, text): (&'static CStr, &CStr) = unsafe { (CStr::from_ptr(call), CStr::from_ptr(text)) };
    let error = Error::new(class, text.to_string_lossy().into_owned());
    entry::finish(call.to_str().unwrap_or("MPI"), Err(error), || Object::None)
}

/// `MPI_Op_create` for Fortran: `function` is called with `word`.
///
/// # Safety
/// `function` may be called with `word` as long as the operation lives; `op` is a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_fortran_op(
    function: operations::Foreign,
    word: usize,
    commute: c_int,
    op: *mut abi::Op,
) -> c_int {
    let _errno = entry::begin(&"MPI_Op_create");
    // SAFETY: the caller's promise.
    let result = unsafe { operations::op_create_foreign(function, word, commute, Out::new(op)) };
    entry::finish("MPI_Op_create", result, || Object::None)
}

/// `MPI_Comm_create_errhandler` and its siblings for Fortran: of communicators, windows, files and sessions, as `kind` counts
/// from zero.
///
/// # Safety
/// `function` may be called with `word` as long as the handler is used; `errhandler` is a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_fortran_errhandler(
    kind: c_int,
    function: *const c_void,
    word: usize,
    errhandler: *mut abi::Errhandler,
) -> c_int {
    let (kind, call) = match kind {
        0 => (HandlerKind::Communicator, "MPI_Comm_create_errhandler"),
        1 => (HandlerKind::Window, "MPI_Win_create_errhandler"),
        2 => (HandlerKind::File, "MPI_File_create_errhandler"),
        _ => (HandlerKind::Session, "MPI_Session_create_errhandler"),
    };
    let _errno = entry::begin(&"MPI_Comm_create_errhandler");
    // SAFETY: a variable of the caller.
    let errhandler = unsafe { Out::new(errhandler) };
    entry::finish(call, handling::create_foreign(function, word, errhandler, kind), || Object::None)
}

/// The kind of objects of attributes: communicators, datatypes, windows, and the call's name.
fn kind(number: c_int, calls: [&'static str; 3]) -> (Kind, &'static str) {
    match number {
        0 => (Kind::Communicator, calls[0]),
        1 => (Kind::Datatype, calls[1]),
        _ => (Kind::Window, calls[2]),
    }
}

fn object(kind: Kind, handle: usize) -> Object {
    match kind {
        Kind::Communicator => Object::Communicator(abi::Comm(handle)),
        Kind::Datatype => Object::None,
        Kind::Window => Object::Window(abi::Win(handle)),
    }
}

/// `MPI_Comm_create_keyval` and its siblings for Fortran. `copy` and `delete` are called as C's are, with integers for values;
/// `old` says that these are of the size of an `INTEGER`.
///
/// # Safety
/// The functions may be called with `extra_state` as long as the key is used; `keyval` is a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_fortran_keyval(
    number: c_int,
    copy: usize,
    delete: usize,
    extra_state: usize,
    old: c_int,
    keyval: *mut c_int,
) -> c_int {
    let calls = ["MPI_Comm_create_keyval", "MPI_Type_create_keyval", "MPI_Win_create_keyval"];
    let (kind, call) = kind(number, calls);
    let _errno = entry::begin(&"MPI_Comm_create_keyval");
    let language = if old != 0 { Language::Integers } else { Language::Words };
    // SAFETY: a variable of the caller's.
    let keyval = unsafe { Out::new(keyval) };
    let result = fortran::create_keyval(kind, [copy, delete], extra_state, language, keyval);
    entry::finish(call, result, || Object::None)
}

/// `MPI_Comm_set_attr` and its siblings for Fortran; `old` says that the value is of the size of an `INTEGER`.
#[unsafe(no_mangle)]
pub extern "C" fn weft_fortran_set_attribute(
    number: c_int,
    handle: usize,
    keyval: c_int,
    value: isize,
    old: c_int,
) -> c_int {
    let (kind, call) = kind(number, ["MPI_Comm_set_attr", "MPI_Type_set_attr", "MPI_Win_set_attr"]);
    let _errno = entry::begin(&"MPI_Comm_set_attr");
    let value = if old != 0 { Value::Integer((value as c_int).into()) } else { Value::Word(value.into()) };
    entry::finish(call, fortran::set(kind, handle, keyval, value), || object(kind, handle))
}

/// `MPI_Comm_get_attr` and its siblings for Fortran.
///
/// # Safety
/// `value` and `flag` are variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_fortran_get_attribute(
    number: c_int,
    handle: usize,
    keyval: c_int,
    value: *mut isize,
    flag: *mut c_int,
) -> c_int {
    let (kind, call) = kind(number, ["MPI_Comm_get_attr", "MPI_Type_get_attr", "MPI_Win_get_attr"]);
    let _errno = entry::begin(&"MPI_Comm_get_attr");
    let found: Result<Option<isize>> = fortran::get(kind, handle, keyval);
    let result = found.map(|found| {
        // SAFETY: both are variables of the caller.
        let (value, flag) = unsafe { (Out::new(value), Out::new(flag)) };
        if let Some(found) = found {
            value.set(found);
        }
        flag.set(found.is_some().into());
    });
    entry::finish(call, result, || object(kind, handle))
}
