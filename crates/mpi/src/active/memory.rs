//! Memory of other ranks by its address: put, get, read-modify-write.
#![allow(unsafe_code)] // Copies between the program's memory here and there.

use super::contexts::{Context, counter};
use super::member::counter_at;
use super::remote;
use super::team::Whereabouts;
use super::words::{COMPARE_AND_SWAP, Change};
use core::ffi::{c_int, c_void};
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result};

fn check_memory(address: usize, length: usize, name: &str) -> Result {
    if address == 0 && length > 0 {
        return Err(Error::new(
            MPI_ERR_BUFFER,
            format!("{name} is a null pointer; there are to be {length} bytes"),
        ));
    }
    Ok(())
}

/// Copies between the memory of two ranks of this process.
fn copy(from: usize, to: usize, length: usize) {
    if length > 0 {
        // SAFETY: the program has said that so much memory is there at either side.
        unsafe { weft_sys::copy::bytes(from as *const u8, to as *mut u8, length) };
    }
}

/// `Weft_am_put`
///
/// # Errors
/// `MPI_ERR_ARG`, `MPI_ERR_RANK`, `MPI_ERR_BUFFER`
pub fn put(
    context: c_int,
    target: c_int,
    length: usize,
    target_address: u64,
    origin_address: *const c_void,
    target_counter: u64,
    origin_counter: Out<i64>,
    completion_counter: Out<i64>,
) -> Result {
    let context = Context::find(context)?;
    let target = context.target(target)?;
    let (to, from) = (target_address as usize, origin_address as usize);
    check_memory(to, length, "target_address")?;
    check_memory(from, length, "origin_address")?;
    let target_counter = counter(target_counter as usize, "target_counter")?;
    let origin_counter = counter(origin_counter.address() as usize, "origin_counter")?;
    let completion_counter = counter(completion_counter.address() as usize, "completion_counter")?;
    let member = &context.member;
    match context.team.find(target) {
        Whereabouts::Here(other) => {
            context.check_presence(other)?;
            copy(from, to, length);
            other.count(target_counter);
            member.count(origin_counter);
            member.count(completion_counter);
        }
        Whereabouts::There(node) => {
            member.await_room();
            let counters = [target_counter, origin_counter, completion_counter];
            remote::put(member, node, target, to, (from, length), counters);
        }
    }
    Ok(())
}

/// `Weft_am_get`
///
/// # Errors
/// As [`put`].
pub fn get(
    context: c_int,
    target: c_int,
    length: usize,
    target_address: u64,
    origin_address: *mut c_void,
    target_counter: u64,
    origin_counter: Out<i64>,
) -> Result {
    let context = Context::find(context)?;
    let target = context.target(target)?;
    let (from, to) = (target_address as usize, origin_address as usize);
    check_memory(from, length, "target_address")?;
    check_memory(to, length, "origin_address")?;
    let target_counter = counter(target_counter as usize, "target_counter")?;
    let origin_counter = counter(origin_counter.address() as usize, "origin_counter")?;
    let member = &context.member;
    match context.team.find(target) {
        Whereabouts::Here(other) => {
            context.check_presence(other)?;
            copy(from, to, length);
            other.count(target_counter);
            member.count(origin_counter);
        }
        Whereabouts::There(node) => {
            member.await_room();
            remote::get(member, node, target, from, (to, length), target_counter, origin_counter);
        }
    }
    Ok(())
}

/// `Weft_am_rmw`
///
/// # Errors
/// As [`put`]; `MPI_ERR_OP`
pub fn rmw(
    context: c_int,
    operation: c_int,
    target: c_int,
    target_address: u64,
    input: In<i64>,
    previous: Out<i64>,
    origin_counter: Out<i64>,
) -> Result {
    let context = Context::find(context)?;
    let operation =
        u32::try_from(operation).ok().filter(|operation| Change::of(*operation, [0, 0]).is_some());
    let Some(operation) = operation else {
        let text = "operation is none of WEFT_AM_FETCH_AND_ADD, WEFT_AM_FETCH_AND_OR, WEFT_AM_SWAP and \
                    WEFT_AM_COMPARE_AND_SWAP";
        return Err(Error::new(MPI_ERR_OP, text));
    };
    let target = context.target(target)?;
    let address = counter(target_address as usize, "target_address")?;
    check_memory(address, size_of::<i64>(), "target_address")?;
    if input.is_null() {
        return Err(Error::new(MPI_ERR_ARG, "input is a null pointer"));
    }
    let origin_counter = counter(origin_counter.address() as usize, "origin_counter")?;
    let second = if operation == COMPARE_AND_SWAP { input.get(1) } else { 0 };
    let change = Change { operation, words: [input.get(0), second] };
    let member = &context.member;
    match context.team.find(target) {
        Whereabouts::Here(other) => {
            context.check_presence(other)?;
            previous.set(change.make(counter_at(address)));
            // It may be a counter that somebody waits for.
            other.notify();
            member.count(origin_counter);
        }
        Whereabouts::There(node) => {
            member.await_room();
            let previous = previous.address() as usize;
            remote::change(member, node, target, address, change, previous, origin_counter);
        }
    }
    Ok(())
}
