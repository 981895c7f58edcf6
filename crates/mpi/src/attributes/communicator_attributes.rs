//! Attributes (chapter 7): values cached on objects, the predefined ones, and the calls for communicators.
//!
//! What holds attributes keeps an [`Attributes`](crate::attributes::values::Attributes) and passes its own handle, which the
//! user's functions get to see.

use crate::arguments::check;
use crate::attributes::keyvals::Kind;
use crate::attributes::values::{Value, answer};
use crate::communicators::communicator::Communicator;
use crate::process::Process;
use core::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};
use weft_base::constants::*;
use weft_base::{Out, Result, abi};

/// The values of the predefined attributes; the program gets their addresses.
#[derive(Default)]
pub struct PredefinedValues {
    tag_upper_bound: AtomicI32,
    host: AtomicI32,
    io: AtomicI32,
    time_is_global: AtomicI32,
    application_number: AtomicI32,
    last_used_code: AtomicI32,
    universe_size: AtomicI32,
}

/// Returns what a predefined attribute is, which may be nothing; nothing at all for other keys.
pub(crate) fn predefined(process: &Process, keyval: c_int) -> Option<Option<*mut c_void>> {
    let values = &process.predefined_attributes;
    let (slot, value) = match keyval {
        MPI_TAG_UB => (&values.tag_upper_bound, i32::MAX),
        MPI_HOST => (&values.host, MPI_PROC_NULL),
        MPI_IO => (&values.io, MPI_ANY_SOURCE),
        MPI_WTIME_IS_GLOBAL => (&values.time_is_global, 1),
        MPI_APPNUM => {
            (&values.application_number, crate::process::host::host().application_number(process.world_rank))
        }
        MPI_LASTUSEDCODE => (&values.last_used_code, process.error_codes.last_used()),
        MPI_UNIVERSE_SIZE => match crate::process::host::host().universe_size() {
            Some(size) => (&values.universe_size, size as i32),
            None => return Some(None),
        },
        _ => return None,
    };
    slot.store(value, Ordering::Relaxed);
    Some(Some(slot.as_ptr().cast()))
}

/// `MPI_Comm_create_keyval`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn comm_create_keyval(
    copy: abi::Callback,
    delete: abi::Callback,
    keyval: Out<c_int>,
    extra_state: *mut c_void,
) -> Result {
    let keyvals = &Process::any().keyvals;
    keyvals.create(Kind::Communicator, [copy, delete], extra_state, keyval, "comm_keyval")
}

/// `MPI_Keyval_create`
///
/// # Errors
/// As [`comm_create_keyval`].
pub fn keyval_create(
    copy: abi::Callback,
    delete: abi::Callback,
    keyval: Out<c_int>,
    extra_state: *mut c_void,
) -> Result {
    check::output(keyval, "keyval")?;
    comm_create_keyval(copy, delete, keyval, extra_state)
}

/// `MPI_Comm_free_keyval`
///
/// # Errors
/// `MPI_ERR_KEYVAL`, `MPI_ERR_ARG`
pub fn comm_free_keyval(keyval: Out<c_int>) -> Result {
    Process::any().keyvals.free(Kind::Communicator, keyval, "comm_keyval")
}

/// `MPI_Keyval_free`
///
/// # Errors
/// As [`comm_free_keyval`].
pub fn keyval_free(keyval: Out<c_int>) -> Result {
    comm_free_keyval(keyval)
}

pub(crate) fn target(
    comm: abi::Comm,
) -> Result<(&'static Process, crate::process::Ref<'static, Communicator>)> {
    let process = Process::current()?;
    let communicator = process.communicator(comm)?;
    Ok((process, communicator))
}

/// `MPI_Comm_set_attr`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_KEYVAL`, or the code of the delete function of the value replaced.
pub fn comm_set_attr(comm: abi::Comm, keyval: c_int, value: *mut c_void) -> Result {
    let (process, communicator) = target(comm)?;
    let key = process.keyvals.get(Kind::Communicator, keyval)?;
    communicator.attributes.set(key, Value::Address(value as usize), comm.0)
}

/// `MPI_Attr_put`
///
/// # Errors
/// As [`comm_set_attr`].
pub fn attr_put(comm: abi::Comm, keyval: c_int, value: *mut c_void) -> Result {
    comm_set_attr(comm, keyval, value)
}

/// `MPI_Comm_get_attr`: `value` is the address of a pointer variable.
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_KEYVAL`, `MPI_ERR_ARG`
pub fn comm_get_attr(comm: abi::Comm, keyval: c_int, value: *mut c_void, flag: Out<c_int>) -> Result {
    let (process, communicator) = target(comm)?;
    // The job's attributes hang on MPI_COMM_WORLD; the standard's other communicators may have them, too.
    if let Some(found) = predefined(process, keyval) {
        // Of a communicator from a session only the tags are known: there may be no MPI_COMM_WORLD.
        let there = keyval == MPI_TAG_UB || communicator.values.group.origin() == 0;
        return answer(found.filter(|_| there), value, flag);
    }
    communicator.attributes.get(&*process.keyvals.get_in_use(Kind::Communicator, keyval)?, value, flag)
}

/// `MPI_Attr_get`
///
/// # Errors
/// As [`comm_get_attr`].
pub fn attr_get(comm: abi::Comm, keyval: c_int, value: *mut c_void, flag: Out<c_int>) -> Result {
    comm_get_attr(comm, keyval, value, flag)
}

/// `MPI_Comm_delete_attr`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_KEYVAL`, or the delete function's code.
pub fn comm_delete_attr(comm: abi::Comm, keyval: c_int) -> Result {
    let (process, communicator) = target(comm)?;
    communicator.attributes.delete(&*process.keyvals.get_in_use(Kind::Communicator, keyval)?, comm.0)
}

/// `MPI_Attr_delete`
///
/// # Errors
/// As [`comm_delete_attr`].
pub fn attr_delete(comm: abi::Comm, keyval: c_int) -> Result {
    comm_delete_attr(comm, keyval)
}
