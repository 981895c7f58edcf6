//! Sends and receives, blocking, nonblocking and persistent (chapter 3).
#![allow(unsafe_code)] // Hands the caller's buffers to the engine.

use crate::arguments::check;
use crate::point_to_point::messages::{Call, Data, NO_PROC_STATUS, Peer, store_status};
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Count, Status};
use weft_base::{Named, Out, Result};
use weft_p2p::{Engine, Mode, Persistent, Scopes};

const NAMES: [&str; 2] = ["buf", "count"];
const SEND_NAMES: [&str; 2] = ["sendbuf", "sendcount"];
const RECEIVE_NAMES: [&str; 2] = ["recvbuf", "recvcount"];

#[inline(always)]
fn blocking(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
    mode: Mode,
) -> Result {
    let call = Call::new(comm)?;
    let data = Data::new(call.process, buf, count, datatype, NAMES)?;
    let envelope = call.envelope(tag)?;
    if let Peer::Rank(target) = call.destination(dest)? {
        // SAFETY: the caller promises the buffer for the call.
        return unsafe {
            call.messages.engine.send(call.messages.endpoint, target, envelope, data.buffer(), mode)
        };
    }
    Ok(())
}

/// `MPI_Send`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`, `MPI_ERR_TAG`, `MPI_ERR_RANK`
pub fn send(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
) -> Result {
    blocking(buf, count, datatype, dest, tag, comm, Mode::Standard)
}

/// `MPI_Rsend`: the promise that the receive is posted is of no use here, where a send finds out by itself.
///
/// # Errors
/// As [`send`].
pub fn rsend(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
) -> Result {
    blocking(buf, count, datatype, dest, tag, comm, Mode::Standard)
}

/// `MPI_Ssend`
///
/// # Errors
/// As [`send`].
pub fn ssend(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
) -> Result {
    blocking(buf, count, datatype, dest, tag, comm, Mode::Synchronous)
}

/// `MPI_Bsend`
///
/// # Errors
/// As [`send`]; `MPI_ERR_BUFFER` if the message does not fit the attached buffer.
pub fn bsend(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
) -> Result {
    let call = Call::new(comm)?;
    let data = Data::new(call.process, buf, count, datatype, NAMES)?;
    let envelope = call.envelope(tag)?;
    let Peer::Rank(target) = call.destination(dest)? else { return Ok(()) };
    let (engine, me) = (call.messages.engine, call.messages.endpoint);
    // SAFETY: the caller promises the buffer for the call.
    unsafe { engine.send_buffered(me, target, envelope, data.buffer(), scopes(&call, comm)) }
}

/// Says which buffers a buffered send may use: the communicator's, else that of the session it comes from, else the
/// process's.
fn scopes(call: &Call, comm: abi::Comm) -> Scopes {
    let origin = call.communicator.values.group.origin();
    Scopes { comm, session: (origin != 0).then_some(abi::Session(origin)) }
}

/// `MPI_Recv`
///
/// # Errors
/// As [`send`]; `MPI_ERR_TRUNCATE`
pub fn recv(
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    source: c_int,
    tag: c_int,
    comm: abi::Comm,
    status: Out<Status>,
) -> Result {
    let call = Call::new(comm)?;
    let data = Data::new(call.process, buf, count, datatype, NAMES)?;
    let pattern = call.pattern(source, tag)?;
    let from = match call.source(source)? {
        Peer::Nobody => {
            store_status(status, NO_PROC_STATUS);
            return Ok(());
        }
        Peer::Anybody => None,
        Peer::Rank(rank) => Some(rank),
    };
    // SAFETY: the caller promises the buffer for the call.
    let (found, result) =
        unsafe { call.messages.engine.receive(call.messages.endpoint, from, pattern, data.buffer()) };
    store_status(status, found);
    result
}

fn nonblocking(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
    mode: Mode,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(comm)?;
    let data = Data::new(call.process, buf, count, datatype, NAMES)?;
    let envelope = call.envelope(tag)?;
    let (engine, me) = (call.messages.engine, call.messages.endpoint);
    request.set(match call.destination(dest)? {
        // SAFETY: the caller promises the buffer until the request is complete.
        Peer::Rank(target) => unsafe {
            engine.isend(me, target, envelope, data.buffer(), data.kept(), mode, comm)
        },
        _ => Engine::nothing_sent(),
    });
    Ok(())
}

/// `MPI_Isend`
///
/// # Errors
/// As [`send`]; `MPI_ERR_ARG`
pub fn isend(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
) -> Result {
    nonblocking(buf, count, datatype, dest, tag, comm, request, Mode::Standard)
}

/// `MPI_Irsend`
///
/// # Errors
/// As [`isend`].
pub fn irsend(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
) -> Result {
    nonblocking(buf, count, datatype, dest, tag, comm, request, Mode::Standard)
}

/// `MPI_Issend`
///
/// # Errors
/// As [`isend`].
pub fn issend(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
) -> Result {
    nonblocking(buf, count, datatype, dest, tag, comm, request, Mode::Synchronous)
}

/// `MPI_Ibsend`: the copy is made in the call, so the request is complete.
///
/// # Errors
/// As [`bsend`]; `MPI_ERR_ARG`
pub fn ibsend(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    bsend(buf, count, datatype, dest, tag, comm)?;
    request.set(Engine::nothing_sent());
    Ok(())
}

/// `MPI_Irecv`
///
/// # Errors
/// As [`send`]; `MPI_ERR_ARG`
pub fn irecv(
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    source: c_int,
    tag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(comm)?;
    let data = Data::new(call.process, buf, count, datatype, NAMES)?;
    let pattern = call.pattern(source, tag)?;
    let (engine, me) = (call.messages.engine, call.messages.endpoint);
    request.set(match call.source(source)? {
        Peer::Nobody => engine.nothing_received(me, comm),
        // SAFETY: the caller promises the buffer until the request is complete.
        _ => unsafe { engine.irecv(me, pattern, data.buffer(), data.kept(), comm) },
    });
    Ok(())
}

/// `MPI_Sendrecv`
///
/// # Errors
/// As [`recv`].
pub fn sendrecv(
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    dest: c_int,
    sendtag: c_int,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    source: c_int,
    recvtag: c_int,
    comm: abi::Comm,
    status: Out<Status>,
) -> Result {
    let call = Call::new(comm)?;
    let data = Data::new(call.process, sendbuf, sendcount, sendtype, SEND_NAMES)?;
    let space = Data::new(call.process, recvbuf, recvcount, recvtype, RECEIVE_NAMES)?;
    let (envelope, pattern) = (call.envelope(sendtag)?, call.pattern(source, recvtag)?);
    let send = match call.destination(dest)? {
        Peer::Rank(target) => Some((target, envelope, data.buffer())),
        _ => None,
    };
    let receive = match call.source(source)? {
        Peer::Nobody => None,
        Peer::Anybody => Some((None, pattern, space.buffer())),
        Peer::Rank(rank) => Some((Some(rank), pattern, space.buffer())),
    };
    // SAFETY: the caller promises both buffers for the call.
    let (found, result) = unsafe { call.messages.engine.sendrecv(call.messages.endpoint, send, receive) };
    store_status(status, found);
    result
}

/// `MPI_Sendrecv_replace`
///
/// # Errors
/// As [`recv`].
pub fn sendrecv_replace(
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: abi::Comm,
    status: Out<Status>,
) -> Result {
    let call = Call::new(comm)?;
    let data = Data::new(call.process, buf, count, datatype, NAMES)?;
    let (envelope, pattern) = (call.envelope(sendtag)?, call.pattern(source, recvtag)?);
    let (destination, source) = (call.destination(dest)?, call.source(source)?);
    let packed;
    let send = match destination {
        Peer::Rank(target) => {
            packed = data.pack();
            // SAFETY: `packed` lives until the call ends.
            let buffer = unsafe { weft_p2p::Buffer::dense(packed.as_ptr().cast_mut(), packed.len() as u64) };
            Some((target, envelope, data.describe(buffer)))
        }
        _ => None,
    };
    let receive = match source {
        Peer::Nobody => None,
        Peer::Anybody => Some((None, pattern, data.buffer())),
        Peer::Rank(rank) => Some((Some(rank), pattern, data.buffer())),
    };
    // SAFETY: the caller promises the buffer for the call.
    let (found, result) = unsafe { call.messages.engine.sendrecv(call.messages.endpoint, send, receive) };
    store_status(status, found);
    result
}

/// `MPI_Isendrecv`
///
/// # Errors
/// As [`sendrecv`]; `MPI_ERR_ARG`
pub fn isendrecv(
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    dest: c_int,
    sendtag: c_int,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    source: c_int,
    recvtag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(comm)?;
    let data = Data::new(call.process, sendbuf, sendcount, sendtype, SEND_NAMES)?;
    let space = Data::new(call.process, recvbuf, recvcount, recvtype, RECEIVE_NAMES)?;
    let (envelope, pattern) = (call.envelope(sendtag)?, call.pattern(source, recvtag)?);
    let send = match call.destination(dest)? {
        Peer::Rank(target) => Some((target, envelope, data.buffer(), data.kept())),
        _ => None,
    };
    let receive = match call.source(source)? {
        Peer::Nobody => None,
        _ => Some((pattern, space.buffer(), space.kept())),
    };
    let (engine, me) = (call.messages.engine, call.messages.endpoint);
    // SAFETY: the caller promises both buffers until the request is complete.
    request.set(unsafe { engine.isendrecv(me, send, None, receive, comm) });
    Ok(())
}

/// `MPI_Isendrecv_replace`
///
/// # Errors
/// As [`sendrecv_replace`]; `MPI_ERR_ARG`
pub fn isendrecv_replace(
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(comm)?;
    let data = Data::new(call.process, buf, count, datatype, NAMES)?;
    let (envelope, pattern) = (call.envelope(sendtag)?, call.pattern(source, recvtag)?);
    let (destination, source) = (call.destination(dest)?, call.source(source)?);
    let (send, packed) = match destination {
        Peer::Rank(target) => (Some((target, envelope, data.buffer(), None)), Some(data.pack())),
        _ => (None, None),
    };
    let receive = match source {
        Peer::Nobody => None,
        _ => Some((pattern, data.buffer(), data.kept())),
    };
    let (engine, me) = (call.messages.engine, call.messages.endpoint);
    // SAFETY: the caller promises the buffer until the request is complete; the data to send is in `packed`.
    request.set(unsafe { engine.isendrecv(me, send, packed, receive, comm) });
    Ok(())
}

fn prepare(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
    mode: Option<Mode>,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(comm)?;
    let data = Data::new(call.process, buf, count, datatype, NAMES)?;
    let envelope = call.envelope(tag)?;
    let operation = match (call.destination(dest)?, mode) {
        (Peer::Rank(target), Some(mode)) => Persistent::Send { target, envelope, mode },
        (Peer::Rank(target), None) => Persistent::Buffered { target, envelope, scopes: scopes(&call, comm) },
        _ => Persistent::NothingSent,
    };
    let (engine, me) = (call.messages.engine, call.messages.endpoint);
    // SAFETY: the caller promises the buffer while the request is active.
    request.set(unsafe { engine.persistent(me, operation, data.buffer(), data.kept(), comm) });
    Ok(())
}

/// `MPI_Send_init`
///
/// # Errors
/// As [`isend`].
pub fn send_init(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
) -> Result {
    prepare(buf, count, datatype, dest, tag, comm, request, Some(Mode::Standard))
}

/// `MPI_Rsend_init`
///
/// # Errors
/// As [`isend`].
pub fn rsend_init(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
) -> Result {
    prepare(buf, count, datatype, dest, tag, comm, request, Some(Mode::Standard))
}

/// `MPI_Ssend_init`
///
/// # Errors
/// As [`isend`].
pub fn ssend_init(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
) -> Result {
    prepare(buf, count, datatype, dest, tag, comm, request, Some(Mode::Synchronous))
}

/// `MPI_Bsend_init`
///
/// # Errors
/// As [`isend`].
pub fn bsend_init(
    buf: *const c_void,
    count: Count,
    datatype: abi::Datatype,
    dest: c_int,
    tag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
) -> Result {
    prepare(buf, count, datatype, dest, tag, comm, request, None)
}

/// `MPI_Recv_init`
///
/// # Errors
/// As [`irecv`].
pub fn recv_init(
    buf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    source: c_int,
    tag: c_int,
    comm: abi::Comm,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let call = Call::new(comm)?;
    let data = Data::new(call.process, buf, count, datatype, NAMES)?;
    let pattern = call.pattern(source, tag)?;
    let operation = match call.source(source)? {
        Peer::Nobody => Persistent::NothingReceived,
        _ => Persistent::Receive { pattern },
    };
    let (engine, me) = (call.messages.engine, call.messages.endpoint);
    // SAFETY: the caller promises the buffer while the request is active.
    request.set(unsafe { engine.persistent(me, operation, data.buffer(), data.kept(), comm) });
    Ok(())
}

/// `MPI_Start`
///
/// # Errors
/// `MPI_ERR_REQUEST`, `MPI_ERR_BUFFER`
pub fn start(request: Out<abi::Request>) -> Result {
    check::output(request, "request")?;
    let messages = crate::process::Process::current()?.messages();
    messages.engine.start(messages.endpoint, request.get_at(0))
}

/// `MPI_Startall`
///
/// # Errors
/// As [`start`].
pub fn startall(count: c_int, requests: Out<abi::Request>) -> Result {
    let count = crate::point_to_point::requests::array(count, requests.is_null(), "count")?;
    let messages = crate::process::Process::current()?.messages();
    (0..count).try_for_each(|i| {
        messages.engine.start(messages.endpoint, requests.get_at(i)).named_at("array_of_requests", i)
    })
}
