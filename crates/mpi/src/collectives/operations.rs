//! Reduction operations (section 7.9): the user's, and reducing locally.
//!
//! Buffers and functions are the caller's, valid as the standard demands; hence the unsafe code.
#![allow(unsafe_code)]

use crate::arguments::check;
use crate::datatypes::datatype::committed;
use crate::process::Process;
use crate::reports::checking;
use core::ffi::{c_int, c_void};
use std::sync::Arc;
use weft_base::abi::{self, Callback, Count};
use weft_base::arguments::Out;
use weft_base::constants::*;
use weft_base::handle::Kind;
use weft_base::settings::is_checking;
use weft_base::{Error, Result};
pub use weft_op::Foreign;
use weft_op::Op;

fn create(user_fn: Callback, commute: c_int, op: Out<abi::Op>, large: bool) -> Result {
    let process = Process::current()?;
    check::output(op, "op")?;
    // SAFETY: the standard makes `user_fn` a function of that type which outlives the operation.
    let operation = unsafe { Op::user(user_fn, commute != 0, large) }?;
    op.set(abi::Op(process.operations.insert(Arc::new(operation))));
    Ok(())
}

/// `MPI_Op_create`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn op_create(user_fn: Callback, commute: c_int, op: Out<abi::Op>) -> Result {
    create(user_fn, commute, op, false)
}

/// `MPI_Op_create_c`: the function takes its length as `MPI_Count *`.
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn op_create_c(user_fn: Callback, commute: c_int, op: Out<abi::Op>) -> Result {
    create(user_fn, commute, op, true)
}

/// Creates an operation of another language: `function` gets `word`, the vectors, their length and the datatype.
///
/// # Errors
/// `MPI_ERR_ARG`
///
/// # Safety
/// `function` may be called with `word` as long as the operation lives.
pub unsafe fn op_create_foreign(function: Foreign, word: usize, commute: c_int, op: Out<abi::Op>) -> Result {
    let process = Process::current()?;
    check::output(op, "op")?;
    // SAFETY: the caller's promise.
    let operation = unsafe { Op::foreign(function, word, commute != 0) };
    op.set(abi::Op(process.operations.insert(Arc::new(operation))));
    Ok(())
}

/// `MPI_Op_free`: operations under way keep theirs.
///
/// # Errors
/// `MPI_ERR_OP`, also for predefined operations.
pub fn op_free(op: Out<abi::Op>) -> Result {
    let process = Process::current()?;
    check::output(op, "op")?;
    let handle = op.get_at(0);
    if process.operation(handle)?.is_predefined() {
        return Err(Kind::Op.predefined(handle.0));
    }
    process.operations.remove(handle.0)?;
    op.set(MPI_OP_NULL);
    Ok(())
}

/// `MPI_Op_commutative`
///
/// # Errors
/// `MPI_ERR_OP`, `MPI_ERR_ARG`
pub fn op_commutative(op: abi::Op, commute: Out<c_int>) -> Result {
    let process = Process::current()?;
    check::output(commute, "commute")?;
    commute.set(c_int::from(process.operation(op)?.is_commutative()));
    Ok(())
}

/// `MPI_Reduce_local`
///
/// # Errors
/// `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_OP`, `MPI_ERR_BUFFER`
pub fn reduce_local(
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    op: abi::Op,
) -> Result {
    let process = Process::current()?;
    let count = check::count(count, "count")?;
    let ty = committed(process, datatype)?;
    let operation = process.operation(op)?;
    operation.check(&ty)?;
    if is_checking() {
        checking::report_operation(process, &operation, &ty);
    }
    check::buffer(inbuf, count, &ty, "inbuf")?;
    check::buffer(inoutbuf, count, &ty, "inoutbuf")?;
    if inbuf == inoutbuf.cast_const() && count > 0 && ty.size() > 0 {
        return Err(Error::new(
            MPI_ERR_BUFFER,
            "inbuf and inoutbuf are the same; pass two buffers that do not overlap",
        ));
    }
    // SAFETY: the caller's buffers hold `count` elements; the operation was checked for their type.
    unsafe { operation.apply(&ty, datatype, inbuf.cast(), inoutbuf.cast(), count) };
    Ok(())
}
