//! One-sided operations that end with their epoch, or with a flush.
#![allow(unsafe_code)] // Hands the caller's buffers to the windows.

use crate::arguments::check;
use crate::process::Ref;
use crate::windows::arguments::{Call, ORIGIN, RESULT, Remote};
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Aint, Count};
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_datatype::{Basic, Class, Datatype};
use weft_op::Op;
use weft_rma::{Data, Place};

/// `MPI_Put`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`, `MPI_ERR_RANK`, `MPI_ERR_DISP`, `MPI_ERR_RMA_RANGE`,
/// `MPI_ERR_RMA_SYNC`
pub fn put(
    origin_addr: *const c_void,
    origin_count: Count,
    origin_datatype: abi::Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Count,
    target_datatype: abi::Datatype,
    win: abi::Win,
) -> Result {
    let call = Call::new(win)?;
    let (counts, datatypes) = ((origin_count, target_count), (origin_datatype, target_datatype));
    if let Some((rank, bytes)) = call.plain(origin_addr, counts, datatypes, target_rank) {
        // SAFETY: the bytes of the origin's side are what it puts, which the caller of `MPI_Put` promises.
        if unsafe { call.window.rma.put_plain(rank, target_disp as i64, origin_addr.cast(), bytes) } {
            call.count(bytes);
            return Ok(());
        }
    }
    let origin = call.buffer(origin_addr, origin_count, origin_datatype, &ORIGIN)?;
    let remote = call.remote(target_disp, target_count, target_datatype)?;
    put_checked(&call, &origin.rma(), &remote, target_rank, false)
}

/// Puts, after the arguments of both sides were looked at by themselves.
// Into each of its two callers: where it is a call, both sides' values are copied to be passed, which takes a third of a short put.
#[inline(always)]
pub(super) fn put_checked(
    call: &Call,
    origin: &Data<'_>,
    remote: &Remote<'_>,
    rank: c_int,
    has_request: bool,
) -> Result {
    let Some(rank) = call.rank(rank, "target_rank")? else { return Ok(()) };
    remote.check_same(origin, &ORIGIN)?;
    call.window.rma.access(rank, has_request)?;
    call.count(origin.bytes());
    // SAFETY: the caller of `MPI_Put` promises what it puts until the operation is complete.
    unsafe { call.window.rma.put(*origin, remote.at(rank)) }
}

/// `MPI_Get`
///
/// # Errors
/// As [`put`].
pub fn get(
    origin_addr: *mut c_void,
    origin_count: Count,
    origin_datatype: abi::Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Count,
    target_datatype: abi::Datatype,
    win: abi::Win,
) -> Result {
    let call = Call::new(win)?;
    let (counts, datatypes) = ((origin_count, target_count), (origin_datatype, target_datatype));
    if let Some((rank, bytes)) = call.plain(origin_addr, counts, datatypes, target_rank) {
        // SAFETY: the bytes of the origin's side are the space for what it gets, which the caller of `MPI_Get` promises.
        if unsafe { call.window.rma.get_plain(rank, target_disp as i64, origin_addr.cast(), bytes) } {
            call.count(bytes);
            return Ok(());
        }
    }
    let origin = call.buffer(origin_addr, origin_count, origin_datatype, &ORIGIN)?;
    let remote = call.remote(target_disp, target_count, target_datatype)?;
    get_checked(&call, &origin.rma(), &remote, target_rank, false)
}

/// Gets, after the arguments of both sides were looked at by themselves.
#[inline(always)]
pub(super) fn get_checked(
    call: &Call,
    origin: &Data<'_>,
    remote: &Remote<'_>,
    rank: c_int,
    has_request: bool,
) -> Result {
    let Some(rank) = call.rank(rank, "target_rank")? else { return Ok(()) };
    remote.check_same(origin, &ORIGIN)?;
    call.window.rma.access(rank, has_request)?;
    call.count(origin.bytes());
    // SAFETY: the caller of `MPI_Get` promises the space for what it gets until the operation is complete.
    unsafe { call.window.rma.get(*origin, remote.at(rank)) }
}

/// `MPI_Accumulate`
///
/// # Errors
/// As [`put`]; `MPI_ERR_OP`
pub fn accumulate(
    origin_addr: *const c_void,
    origin_count: Count,
    origin_datatype: abi::Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: Count,
    target_datatype: abi::Datatype,
    op: abi::Op,
    win: abi::Win,
) -> Result {
    let call = Call::new(win)?;
    let (counts, datatypes) = ((origin_count, target_count), (origin_datatype, target_datatype));
    if origin_count == 1
        && let Some((rank, bytes)) = call.plain(origin_addr, counts, datatypes, target_rank)
        && let Some((basic, op)) = predefined(origin_datatype, op)
        && !op.is_no_op()
    {
        let (place, from, nowhere) = ((rank, target_disp as i64), origin_addr.cast(), core::ptr::null_mut());
        // SAFETY: there is one element at the origin, as the caller of `MPI_Accumulate` promises.
        if unsafe { call.window.rma.accumulate_plain(place, from, nowhere, basic, op) } {
            call.count(bytes);
            return Ok(());
        }
    }
    let origin = call.buffer(origin_addr, origin_count, origin_datatype, &ORIGIN)?;
    let remote = call.remote(target_disp, target_count, target_datatype)?;
    let op = call.process.operation(op)?;
    accumulate_checked(&call, &origin.rma(), &remote, target_rank, &op, false)
}

/// Returns a predefined datatype's element and a predefined operation.
#[inline(always)]
fn predefined(datatype: abi::Datatype, op: abi::Op) -> Option<(Basic, &'static Op)> {
    Some((Datatype::predefined(datatype)?.as_predefined()?, Op::predefined(op)?))
}

/// Accumulates, after the arguments of both sides were looked at by themselves.
pub(super) fn accumulate_checked(
    call: &Call,
    origin: &Data<'_>,
    remote: &Remote<'_>,
    rank: c_int,
    op: &Op,
    has_request: bool,
) -> Result {
    if op.is_no_op() {
        let text = "op is MPI_NO_OP, which only functions take that return what was there before";
        return Err(Error::new(MPI_ERR_OP, text));
    }
    let Some(rank) = call.rank(rank, "target_rank")? else { return Ok(()) };
    if !remote.is_empty() {
        op.check_accumulate(&remote.datatype)?;
    }
    remote.check_elements(origin, &ORIGIN)?;
    call.window.rma.access(rank, has_request)?;
    call.count(origin.bytes());
    // SAFETY: the caller of `MPI_Accumulate` promises its operands until the operation is complete.
    unsafe { call.window.rma.accumulate(Some(*origin), None, remote.at(rank), op) }
}

/// `MPI_Get_accumulate`: with `MPI_NO_OP` nobody looks at the origin's buffer.
///
/// # Errors
/// As [`accumulate`].
pub fn get_accumulate(
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
) -> Result {
    let call = Call::new(win)?;
    let op = call.process.operation(op)?;
    let origin = match op.is_no_op() {
        true => None,
        false => Some(call.buffer(origin_addr, origin_count, origin_datatype, &ORIGIN)?),
    };
    let result = call.buffer(result_addr, result_count, result_datatype, &RESULT)?;
    let remote = call.remote(target_disp, target_count, target_datatype)?;
    let origin = origin.as_ref().map(|origin| origin.rma());
    get_accumulate_checked(&call, origin.as_ref(), &result.rma(), &remote, target_rank, &op, false)
}

/// Gets and accumulates, after the arguments of both sides were looked at by themselves.
pub(super) fn get_accumulate_checked(
    call: &Call,
    origin: Option<&Data<'_>>,
    result: &Data<'_>,
    remote: &Remote<'_>,
    rank: c_int,
    op: &Op,
    has_request: bool,
) -> Result {
    let Some(rank) = call.rank(rank, "target_rank")? else { return Ok(()) };
    if !remote.is_empty() {
        op.check_accumulate(&remote.datatype)?;
    }
    if let Some(origin) = origin {
        remote.check_elements(origin, &ORIGIN)?;
    }
    remote.check_elements(result, &RESULT)?;
    call.window.rma.access(rank, has_request)?;
    call.count(result.bytes());
    // SAFETY: the caller of `MPI_Get_accumulate` promises operands and the space for the result until the operation is complete.
    unsafe { call.window.rma.accumulate(origin.copied(), Some(*result), remote.at(rank), op) }
}

/// Checks the addresses of single elements.
#[inline]
fn element(address: *const c_void, datatype: &Datatype, name: &str) -> Result {
    check::buffer(address, 1, datatype, name)
}

/// `MPI_Fetch_and_op`: on one element of a predefined type; with `MPI_NO_OP` nobody looks at the origin's buffer.
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_TYPE`, `MPI_ERR_OP`, `MPI_ERR_BUFFER`, `MPI_ERR_RANK`, `MPI_ERR_DISP`, `MPI_ERR_RMA_RANGE`,
/// `MPI_ERR_RMA_SYNC`
pub fn fetch_and_op(
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: abi::Datatype,
    target_rank: c_int,
    target_disp: Aint,
    op: abi::Op,
    win: abi::Win,
) -> Result {
    let call = Call::new(win)?;
    if let Some((rank, bytes)) = call.plain(result_addr, (1, 1), (datatype, datatype), target_rank)
        && let Some((basic, op)) = predefined(datatype, op)
        && (op.is_no_op() || !origin_addr.is_null())
    {
        let (place, from, to) = ((rank, target_disp as i64), origin_addr.cast(), result_addr.cast());
        // SAFETY: one element may be read at the origin, and one written where the result goes, says the caller of `MPI_Fetch_and_op`.
        if unsafe { call.window.rma.accumulate_plain(place, from, to, basic, op) } {
            call.count(bytes);
            return Ok(());
        }
    }
    let handle = datatype;
    let datatype = call.process.datatype(handle)?;
    let op = call.process.operation(op)?;
    op.check_accumulate(&datatype)?;
    if !op.is_no_op() {
        element(origin_addr, &datatype, "origin_addr")?;
    }
    element(result_addr, &datatype, "result_addr")?;
    let basic = datatype.as_predefined();
    if basic.is_none() && datatype.as_unnamed_pair().is_none() {
        return Err(not_predefined(handle));
    }
    let Some(rank) = call.rank(target_rank, "target_rank")? else { return Ok(()) };
    call.window.rma.access(rank, false)?;
    call.count(datatype.size());
    let place = Place { rank, displacement: target_disp as i64, count: 1, datatype: &datatype };
    let data = |address: *mut c_void| Data { address: address.cast(), count: 1, datatype: &datatype };
    // SAFETY: the caller of `MPI_Fetch_and_op` promises an element at either address until the operation is complete.
    unsafe {
        let rma = &call.window.rma;
        match basic {
            Some(basic) => rma.fetch_and_op(origin_addr.cast(), result_addr.cast(), place, basic, &op),
            None => {
                let origin = (!op.is_no_op()).then(|| data(origin_addr.cast_mut()));
                rma.accumulate(origin, Some(data(result_addr)), place, &op)
            }
        }
    }
}

#[cold]
fn not_predefined(handle: abi::Datatype) -> Error {
    let text =
        format!("datatype is {:#x}, which is a derived datatype; this call takes a predefined one", handle.0);
    Error::new(MPI_ERR_TYPE, text)
}

/// `MPI_Compare_and_swap`: on one element of an integer, logical, multi-language or byte type.
///
/// # Errors
/// As [`fetch_and_op`].
pub fn compare_and_swap(
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: abi::Datatype,
    target_rank: c_int,
    target_disp: Aint,
    win: abi::Win,
) -> Result {
    let call = Call::new(win)?;
    let handle = datatype;
    let datatype: Ref<'_, Datatype> = call.process.datatype(handle)?;
    let Some(basic) = datatype.as_predefined() else { return Err(not_predefined(handle)) };
    if !matches!(
        basic.description().class,
        Class::CInteger | Class::FortranInteger | Class::Logical | Class::MultiLanguage | Class::Byte
    ) {
        return Err(not_comparable(basic.name()));
    }
    element(origin_addr, &datatype, "origin_addr")?;
    element(compare_addr, &datatype, "compare_addr")?;
    element(result_addr, &datatype, "result_addr")?;
    let Some(rank) = call.rank(target_rank, "target_rank")? else { return Ok(()) };
    call.window.rma.access(rank, false)?;
    call.count(datatype.size());
    let place = Place { rank, displacement: target_disp as i64, count: 1, datatype: &datatype };
    // SAFETY: the caller of `MPI_Compare_and_swap` promises an element at all three addresses until it is complete.
    unsafe {
        call.window.rma.compare_and_swap(origin_addr.cast(), compare_addr.cast(), result_addr.cast(), place)
    }
}

#[cold]
fn not_comparable(name: &str) -> Error {
    let text =
        format!("datatype is {name}; this call takes integers, logicals, multi-language types and MPI_BYTE");
    Error::new(MPI_ERR_TYPE, text)
}
