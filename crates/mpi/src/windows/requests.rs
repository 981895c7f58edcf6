//! One-sided operations with a request, in epochs that locks have begun.
//!
//! They are complete at the origin when the call returns, and so is the request.

use crate::arguments::check;
use crate::windows::arguments::{Call, ORIGIN, RESULT};
use crate::windows::operations::{accumulate_checked, get_accumulate_checked, get_checked, put_checked};
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Aint, Count};
use weft_base::{Out, Result};
use weft_p2p::Engine;

/// Waits for what an operation returns from another process.
fn settle(call: &Call, target_rank: c_int) -> Result {
    match call.rank(target_rank, "target_rank")? {
        Some(rank) => call.window.rma.settle(rank),
        None => Ok(()),
    }
}

/// `MPI_Rput`
///
/// # Errors
/// As [`crate::windows::operations::put`]; `MPI_ERR_ARG`
pub fn rput(
    origin_addr: *const c_void,
    origin_count: Count,
    origin_datatype: abi::Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Count,
    target_datatype: abi::Datatype,
    win: abi::Win,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(win)?;
    let origin = call.buffer(origin_addr, origin_count, origin_datatype, &ORIGIN)?;
    let remote = call.remote(target_disp, target_count, target_datatype)?;
    put_checked(&call, &origin.rma(), &remote, target_rank, true)?;
    request.set(Engine::nothing_sent());
    Ok(())
}

/// `MPI_Rget`
///
/// # Errors
/// As [`rput`].
pub fn rget(
    origin_addr: *mut c_void,
    origin_count: Count,
    origin_datatype: abi::Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Count,
    target_datatype: abi::Datatype,
    win: abi::Win,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(win)?;
    let origin = call.buffer(origin_addr, origin_count, origin_datatype, &ORIGIN)?;
    let remote = call.remote(target_disp, target_count, target_datatype)?;
    get_checked(&call, &origin.rma(), &remote, target_rank, true)?;
    settle(&call, target_rank)?;
    request.set(Engine::nothing_sent());
    Ok(())
}

/// `MPI_Raccumulate`
///
/// # Errors
/// As [`crate::windows::operations::accumulate`]; `MPI_ERR_ARG`
pub fn raccumulate(
    origin_addr: *const c_void,
    origin_count: Count,
    origin_datatype: abi::Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Count,
    target_datatype: abi::Datatype,
    op: abi::Op,
    win: abi::Win,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(win)?;
    let origin = call.buffer(origin_addr, origin_count, origin_datatype, &ORIGIN)?;
    let remote = call.remote(target_disp, target_count, target_datatype)?;
    let op = call.process.operation(op)?;
    accumulate_checked(&call, &origin.rma(), &remote, target_rank, &op, true)?;
    request.set(Engine::nothing_sent());
    Ok(())
}

/// `MPI_Rget_accumulate`
///
/// # Errors
/// As [`raccumulate`].
pub fn rget_accumulate(
    origin_addr: *const c_void,
    origin_count: Count,
    origin_datatype: abi::Datatype,
    result_addr: *mut c_void,
    result_count: Count,
    result_datatype: abi::Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Count,
    target_datatype: abi::Datatype,
    op: abi::Op,
    win: abi::Win,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(win)?;
    let op = call.process.operation(op)?;
    let origin = match op.is_no_op() {
        true => None,
        false => Some(call.buffer(origin_addr, origin_count, origin_datatype, &ORIGIN)?),
    };
    let result = call.buffer(result_addr, result_count, result_datatype, &RESULT)?;
    let remote = call.remote(target_disp, target_count, target_datatype)?;
    let origin = origin.as_ref().map(|origin| origin.rma());
    get_accumulate_checked(&call, origin.as_ref(), &result.rma(), &remote, target_rank, &op, true)?;
    settle(&call, target_rank)?;
    request.set(Engine::nothing_sent());
    Ok(())
}
