//! Attributes and names of windows (chapters 7 and 13).

use crate::arguments::check;
use crate::arguments::strings;
use crate::attributes::keyvals::Kind;
use crate::attributes::values::{Value, answer};
use crate::process::Process;
use core::ffi::{c_char, c_int, c_void};
use weft_base::constants::*;
use weft_base::{In, Out, Result, abi};

/// `MPI_Win_create_keyval`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn win_create_keyval(
    copy: abi::Callback,
    delete: abi::Callback,
    keyval: Out<c_int>,
    extra_state: *mut c_void,
) -> Result {
    Process::any().keyvals.create(Kind::Window, [copy, delete], extra_state, keyval, "win_keyval")
}

/// `MPI_Win_free_keyval`
///
/// # Errors
/// `MPI_ERR_KEYVAL`, `MPI_ERR_ARG`
pub fn win_free_keyval(keyval: Out<c_int>) -> Result {
    Process::any().keyvals.free(Kind::Window, keyval, "win_keyval")
}

/// `MPI_Win_set_attr`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_KEYVAL`, or the code of the delete function of the value replaced.
pub fn win_set_attr(win: abi::Win, keyval: c_int, value: *mut c_void) -> Result {
    let process = Process::current()?;
    let key = process.keyvals.get(Kind::Window, keyval)?;
    process.window(win)?.attributes.set(key, Value::Address(value as usize), win.0)
}

/// `MPI_Win_get_attr`: `value` is the address of a pointer variable.
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_KEYVAL`, `MPI_ERR_ARG`
pub fn win_get_attr(win: abi::Win, keyval: c_int, value: *mut c_void, flag: Out<c_int>) -> Result {
    let process = Process::current()?;
    let window = process.window(win)?;
    if let Some(found) = window.predefined_attribute(keyval) {
        return answer(Some(found), value, flag);
    }
    window.attributes.get(&*process.keyvals.get_in_use(Kind::Window, keyval)?, value, flag)
}

/// `MPI_Win_delete_attr`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_KEYVAL`, or the delete function's code.
pub fn win_delete_attr(win: abi::Win, keyval: c_int) -> Result {
    let process = Process::current()?;
    let key = process.keyvals.get_in_use(Kind::Window, keyval)?;
    process.window(win)?.attributes.delete(&key, win.0)
}

/// `MPI_Win_set_name`: a longer name is cut to `MPI_MAX_OBJECT_NAME - 1` characters.
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_ARG`
pub fn win_set_name(win: abi::Win, win_name: In<c_char>) -> Result {
    let window = Process::current()?.window(win)?;
    *window.name.lock() = strings::read(win_name, "win_name")?;
    Ok(())
}

/// `MPI_Win_get_name`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_ARG`
pub fn win_get_name(win: abi::Win, win_name: Out<c_char>, resultlen: Out<c_int>) -> Result {
    check::output(win_name, "win_name")?;
    check::output(resultlen, "resultlen")?;
    let process = Process::current()?;
    let name = match win {
        MPI_WIN_NULL => "MPI_WIN_NULL".into(),
        _ => process.window(win)?.name.lock().clone(),
    };
    strings::write(&name, win_name, MPI_MAX_OBJECT_NAME as usize, resultlen);
    Ok(())
}
