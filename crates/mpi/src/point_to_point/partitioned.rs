//! Partitioned communication (chapter 4).
#![allow(unsafe_code)] // Hands the caller's buffers to the engine.

use crate::arguments::check;
use crate::environment::info;
use crate::point_to_point::messages::{Call, Data, Messages, Peer};
use crate::process::Process;
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Count};
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result};
use weft_p2p::{Parts, note_failure};

const NAMES: [&str; 2] = ["buf", "count"];

/// Checks the arguments that describe a buffer of both sides.
fn parts(
    call: &Call,
    buf: *const c_void,
    partitions: c_int,
    count: Count,
    datatype: abi::Datatype,
    info: abi::Info,
) -> Result<Parts> {
    let data = Data::new(call.process, buf, count, datatype, NAMES)?;
    let partitions =
        u32::try_from(partitions).ok().filter(|&partitions| partitions > 0).ok_or_else(|| {
            Error::new(MPI_ERR_ARG, format!("partitions is {partitions}; there must be at least one"))
        })?;
    info::optional(info)?;
    data.parts(partitions)
}

/// `MPI_Psend_init`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`, `MPI_ERR_TAG`, `MPI_ERR_RANK`, `MPI_ERR_INFO`,
/// `MPI_ERR_ARG`
pub fn psend_init(
    buf: *const c_void,
    partitions: c_int,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
    info: abi::Info,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(comm)?;
    let parts = parts(&call, buf, partitions, count, datatype, info)?;
    let envelope = call.envelope(tag)?;
    let target = match call.destination(dest)? {
        Peer::Rank(rank) => Some(rank),
        _ => None,
    };
    let (engine, me) = (call.messages.engine, call.messages.endpoint);
    request.set(engine.psend_init(me, target, envelope, parts, comm));
    Ok(())
}

/// `MPI_Precv_init`: takes no wildcards, because the calls that make the requests are matched.
///
/// # Errors
/// As [`psend_init`].
pub fn precv_init(
    buf: *mut c_void,
    partitions: c_int,
    count: Count,
    datatype: abi::Datatype,
    source: c_int,
    tag: c_int,
    comm: abi::Comm,
    info: abi::Info,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(comm)?;
    let parts = parts(&call, buf, partitions, count, datatype, info)?;
    if tag == MPI_ANY_TAG {
        return Err(wildcard(MPI_ERR_TAG, "tag is MPI_ANY_TAG"));
    }
    let pattern = call.pattern(source, tag)?;
    let envelope = match call.source(source)? {
        Peer::Rank(sender) => Some((sender, pattern)),
        Peer::Nobody => None,
        Peer::Anybody => return Err(wildcard(MPI_ERR_RANK, "source is MPI_ANY_SOURCE")),
    };
    let (engine, me) = (call.messages.engine, call.messages.endpoint);
    request.set(engine.precv_init(me, envelope, parts, comm));
    Ok(())
}

#[cold]
fn wildcard(class: i32, what: &str) -> Error {
    Error::new(class, format!("{what}; partitioned communication takes no wildcards"))
}

/// Gives an error to the communicator of the request, if that is known.
fn on_request(messages: &Messages, request: abi::Request, error: Error) -> Error {
    match messages.endpoint.requests().comm(request) {
        Some(comm) => error.on(comm),
        None => error,
    }
}

fn ready(request: abi::Request, partitions: impl Iterator<Item = c_int> + Clone) -> Result {
    let messages = Process::current()?.messages();
    let done = messages.engine.pready(messages.endpoint, request, partitions);
    done.map_err(|error| on_request(messages, request, error))
}

/// `MPI_Pready`
///
/// # Errors
/// `MPI_ERR_REQUEST` if the request is not an active partitioned send; `MPI_ERR_ARG` for a partition that is not there
/// or ready already.
pub fn pready(partition: c_int, request: abi::Request) -> Result {
    ready(request, core::iter::once(partition))
}

/// `MPI_Pready_range`
///
/// # Errors
/// As [`pready`]; `MPI_ERR_ARG` if the range ends before it begins.
pub fn pready_range(partition_low: c_int, partition_high: c_int, request: abi::Request) -> Result {
    if partition_low > partition_high {
        let text = format!(
            "partition_low is {partition_low} and partition_high {partition_high}; both belong to the range"
        );
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    ready(request, partition_low..=partition_high)
}

/// `MPI_Pready_list`
///
/// # Errors
/// As [`pready`].
pub fn pready_list(length: c_int, array_of_partitions: In<c_int>, request: abi::Request) -> Result {
    let length = check::length(length, "length")?;
    if array_of_partitions.is_null() && length > 0 {
        let text = format!("array_of_partitions is a null pointer but length is {length}");
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    ready(request, (0..length).map(|i| array_of_partitions.get(i)))
}

/// `MPI_Parrived`
///
/// # Errors
/// `MPI_ERR_REQUEST` if the request is not a partitioned receive; `MPI_ERR_ARG`
pub fn parrived(request: abi::Request, partition: c_int, flag: Out<c_int>) -> Result {
    check::output(flag, "flag")?;
    let messages = Process::current()?.messages();
    let arrived = messages.engine.parrived(messages.endpoint, request, partition);
    let arrived = arrived.map_err(|error| on_request(messages, request, error))?;
    flag.set(c_int::from(arrived));
    // One that has arrived may be asked for again and again, by who waits for others.
    if !arrived {
        note_failure();
    }
    Ok(())
}
