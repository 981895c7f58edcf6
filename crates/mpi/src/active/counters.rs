//! What is waited for: counters, and that everything has come to its end.

use super::contexts::{Context, counter};
use super::member::counter_at;
use core::ffi::c_int;
use std::sync::atomic::Ordering;
use weft_base::constants::*;
use weft_base::{Error, Out, Result};

fn needed(address: Out<i64>) -> Result<usize> {
    if address.is_null() {
        return Err(Error::new(MPI_ERR_ARG, "counter is a null pointer"));
    }
    counter(address.address() as usize, "counter")
}

/// `Weft_am_setcntr`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn setcntr(context: c_int, counter: Out<i64>, value: i64) -> Result {
    let context = Context::find(context)?;
    counter_at(needed(counter)?).store(value, Ordering::SeqCst);
    context.member.notify();
    Ok(())
}

/// `Weft_am_getcntr`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn getcntr(context: c_int, counter: Out<i64>, value: Out<i64>) -> Result {
    let context = Context::find(context)?;
    let address = needed(counter)?;
    if value.is_null() {
        return Err(Error::new(MPI_ERR_ARG, "value is a null pointer"));
    }
    context.progress();
    value.set(counter_at(address).load(Ordering::SeqCst));
    Ok(())
}

/// `Weft_am_waitcntr`: waits until the counter is at least `value`, and takes that from it.
///
/// # Errors
/// `MPI_ERR_ARG`, `MPI_ERR_OTHER`; that of a message which cannot come to its end.
pub fn waitcntr(context: c_int, counter: Out<i64>, value: i64, current: Out<i64>) -> Result {
    let context = Context::find(context)?;
    let counter = counter_at(needed(counter)?);
    context.may_wait()?;
    let member = &context.member;
    loop {
        member.wait(|| counter.load(Ordering::SeqCst) >= value || member.has_failed());
        let less = |found: i64| (found >= value).then(|| found - value);
        if let Ok(found) = counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) {
            current.set(found - value);
            return Ok(());
        }
        // Another thread may have been faster.
        member.check()?;
    }
}

/// `Weft_am_fence`: waits until all the rank's messages and operations have come to their end.
///
/// # Errors
/// `MPI_ERR_ARG`, `MPI_ERR_OTHER`; that of a message which has not come to its end.
pub fn fence(context: c_int) -> Result {
    Context::find(context)?.fence()
}

/// `Weft_am_gfence`: waits until those of all ranks have.
///
/// # Errors
/// As [`fence`].
pub fn gfence(context: c_int) -> Result {
    let context = Context::find(context)?;
    let mine = context.fence();
    context.may_wait()?;
    context.ranks.barrier()?;
    mine
}
