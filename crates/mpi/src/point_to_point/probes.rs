//! Probes and matched receives (chapter 3).
#![allow(unsafe_code)] // Hands the caller's buffers to the engine.

use crate::arguments::check;
use crate::point_to_point::messages::{Call, Data, Messages, NO_PROC_STATUS, Peer, store_status};
use crate::process::Process;
use core::ffi::{c_int, c_void};
use std::sync::Arc;
use weft_base::abi::{self, Count, Status};
use weft_base::constants::*;
use weft_base::{Error, Out, Result};
use weft_p2p::{Matched, note_failure, note_success};
use weft_sync::Lock;

/// `MPI_Probe`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_RANK`, `MPI_ERR_TAG`
pub fn probe(source: c_int, tag: c_int, comm: abi::Comm, status: Out<Status>) -> Result {
    let call = Call::new(comm)?;
    let pattern = call.pattern(source, tag)?;
    let found = match call.source(source)? {
        Peer::Nobody => NO_PROC_STATUS,
        _ => call.messages.engine.probe(call.messages.endpoint, &pattern)?,
    };
    store_status(status, found);
    Ok(())
}

/// `MPI_Iprobe`
///
/// # Errors
/// As [`probe`]; `MPI_ERR_ARG`
pub fn iprobe(source: c_int, tag: c_int, comm: abi::Comm, flag: Out<c_int>, status: Out<Status>) -> Result {
    check::output(flag, "flag")?;
    let call = Call::new(comm)?;
    let pattern = call.pattern(source, tag)?;
    let found = match call.source(source)? {
        Peer::Nobody => Some(NO_PROC_STATUS),
        _ => call.messages.engine.iprobe(call.messages.endpoint, &pattern),
    };
    flag.set(c_int::from(found.is_some()));
    match found {
        Some(found) => {
            note_success();
            store_status(status, found);
        }
        None => note_failure(),
    }
    Ok(())
}

fn keep(messages: &Messages, matched: Matched) -> abi::Message {
    abi::Message(messages.matched.insert(Arc::new(Lock::new(Some(matched)))))
}

/// `MPI_Mprobe`
///
/// # Errors
/// As [`probe`]; `MPI_ERR_ARG`
pub fn mprobe(
    source: c_int,
    tag: c_int,
    comm: abi::Comm,
    message: Out<abi::Message>,
    status: Out<Status>,
) -> Result {
    check::output(message, "message")?;
    let call = Call::new(comm)?;
    let pattern = call.pattern(source, tag)?;
    let (handle, found) = match call.source(source)? {
        Peer::Nobody => (MPI_MESSAGE_NO_PROC, NO_PROC_STATUS),
        _ => {
            let (matched, found) = call.messages.engine.mprobe(call.messages.endpoint, &pattern, comm)?;
            (keep(call.messages, matched), found)
        }
    };
    message.set(handle);
    store_status(status, found);
    Ok(())
}

/// `MPI_Improbe`
///
/// # Errors
/// As [`mprobe`].
pub fn improbe(
    source: c_int,
    tag: c_int,
    comm: abi::Comm,
    flag: Out<c_int>,
    message: Out<abi::Message>,
    status: Out<Status>,
) -> Result {
    check::output(flag, "flag")?;
    check::output(message, "message")?;
    let call = Call::new(comm)?;
    let pattern = call.pattern(source, tag)?;
    let found = match call.source(source)? {
        Peer::Nobody => Some((MPI_MESSAGE_NO_PROC, NO_PROC_STATUS)),
        _ => call
            .messages
            .engine
            .improbe(call.messages.endpoint, &pattern, comm)
            .map(|(matched, found)| (keep(call.messages, matched), found)),
    };
    flag.set(c_int::from(found.is_some()));
    match found {
        Some((handle, found)) => {
            note_success();
            message.set(handle);
            store_status(status, found);
        }
        None => {
            message.set(MPI_MESSAGE_NULL);
            note_failure();
        }
    }
    Ok(())
}

/// Returns the communicator of the probe that found a message: its error handler gets the errors of the receive.
fn comm_of(messages: &Messages, message: Out<abi::Message>) -> abi::Comm {
    if message.is_null() || message.get_at(0) == MPI_MESSAGE_NO_PROC {
        return MPI_COMM_SELF;
    }
    let found = messages.matched.get(message.get_at(0).0);
    found.ok().and_then(|found| found.lock().as_ref().map(|matched| matched.comm)).unwrap_or(MPI_COMM_SELF)
}

/// Takes the message of a handle; nothing for `MPI_MESSAGE_NO_PROC`.
fn take(messages: &Messages, message: Out<abi::Message>) -> Result<Option<Matched>> {
    check::output(message, "message")?;
    let handle = message.get_at(0);
    if handle == MPI_MESSAGE_NO_PROC {
        return Ok(None);
    }
    let matched = messages.matched.remove(handle.0)?.lock().take();
    matched.map(Some).ok_or_else(|| Error::new(MPI_ERR_REQUEST, "message was received already"))
}

/// `MPI_Mrecv`
///
/// # Errors
/// `MPI_ERR_REQUEST` for a message that is none, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`,
/// `MPI_ERR_TRUNCATE`
pub fn mrecv(
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    message: Out<abi::Message>,
    status: Out<Status>,
) -> Result {
    let process = Process::current()?;
    let messages = process.messages();
    let comm = comm_of(messages, message);
    let receive = || {
        let data = Data::new(process, buf, count, datatype, ["buf", "count"])?;
        let matched = take(messages, message)?;
        message.set(MPI_MESSAGE_NULL);
        let Some(matched) = matched else {
            store_status(status, NO_PROC_STATUS);
            return Ok(());
        };
        // SAFETY: the caller promises the buffer for the call.
        let (found, result) = unsafe { messages.engine.mrecv(messages.endpoint, matched, &data.buffer()) };
        store_status(status, found);
        result
    };
    receive().map_err(|error| error.on(comm))
}

/// `MPI_Imrecv`: the message is there, so it is received in the call.
///
/// # Errors
/// As [`mrecv`], but truncation shows when the request is completed; `MPI_ERR_ARG`
pub fn imrecv(
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    message: Out<abi::Message>,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let process = Process::current()?;
    let messages = process.messages();
    let comm = comm_of(messages, message);
    let receive = || {
        let data = Data::new(process, buf, count, datatype, ["buf", "count"])?;
        let matched = take(messages, message)?;
        message.set(MPI_MESSAGE_NULL);
        let (engine, me) = (messages.engine, messages.endpoint);
        request.set(match matched {
            None => engine.nothing_received(me, MPI_COMM_SELF),
            // SAFETY: the caller promises the buffer until the request is complete.
            Some(matched) => unsafe { engine.imrecv(me, matched, data.buffer()) },
        });
        Ok(())
    };
    receive().map_err(|error: Error| error.on(comm))
}
