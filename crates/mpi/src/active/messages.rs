//! Messages that make a handler run at their target.

use super::contexts::{Context, counter};
use super::member::{Data, Message, Origin, Task};
use super::team::Whereabouts;
use super::words::bytes_at;
use super::{HANDLERS, LONGEST_HEADER, SHORT, remote};
use core::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use weft_base::constants::*;
use weft_base::{Error, Out, Result};

/// `Weft_am_send`
///
/// # Errors
/// `MPI_ERR_ARG`, `MPI_ERR_RANK`, `MPI_ERR_COUNT`, `MPI_ERR_BUFFER`
pub fn send(
    context: c_int,
    target: c_int,
    handler: c_int,
    header: *const c_void,
    header_length: usize,
    data: *const c_void,
    length: usize,
    target_counter: u64,
    origin_counter: Out<i64>,
    completion_counter: Out<i64>,
) -> Result {
    let context = Context::find(context)?;
    let target = context.target(target)?;
    let handler = super::contexts::handler_number(handler)?;
    if header_length > LONGEST_HEADER {
        let text = format!("header_length is {header_length}; headers have at most {LONGEST_HEADER} bytes");
        return Err(Error::new(MPI_ERR_COUNT, text));
    }
    for (address, length, name) in [(header, header_length, "header"), (data, length, "data")] {
        if address.is_null() && length > 0 {
            let text = format!("{name} is a null pointer; there are to be {length} bytes");
            return Err(Error::new(MPI_ERR_BUFFER, text));
        }
    }
    let target_counter = counter(target_counter as usize, "target_counter")?;
    let origin_counter = counter(origin_counter.address() as usize, "origin_counter")?;
    let completion_counter = counter(completion_counter.address() as usize, "completion_counter")?;
    debug_assert!((handler as usize) < HANDLERS, "a handler's number");
    let member = &context.member;
    member.await_room();
    let (header, address) = (bytes_at(header as usize, header_length), data as usize);
    match context.team.find(target) {
        Whereabouts::Here(other) => {
            context.check_presence(other)?;
            let is_short = length <= SHORT;
            let data = match is_short {
                true => Data::Own(bytes_at(address, length).into()),
                false => Data::Lent(address, length, member.clone(), origin_counter),
            };
            member.outstanding.fetch_add(1, Ordering::SeqCst);
            other.give(Task::Message(Message {
                from: member.rank,
                handler,
                header: header.into(),
                bytes: length,
                data,
                target_counter,
                origin: Origin::Here(member.clone(), completion_counter),
            }));
            if is_short {
                member.count(origin_counter);
            }
        }
        Whereabouts::There(node) => {
            let counters = [target_counter, origin_counter, completion_counter];
            remote::send(member, node, target, handler, header, (address, length), counters);
        }
    }
    Ok(())
}
