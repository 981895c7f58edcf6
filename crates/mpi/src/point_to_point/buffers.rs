//! Buffers for buffered sends (chapter 3): of the process, of sessions, and of communicators.
#![allow(unsafe_code)] // Hands the caller's buffers to the engine.

use crate::arguments::check;
use crate::point_to_point::messages::Messages;
use crate::process::Process;
use core::ffi::c_void;
use std::sync::Arc;
use weft_base::abi::{self, Count, Status};
use weft_base::arguments::CountOut;
use weft_base::constants::*;
use weft_base::{Error, Out, Result};
use weft_p2p::{Scope, Work};
use weft_sched::Thread;

fn attach(messages: &Messages, scope: Scope, buffer: *mut c_void, size: Count) -> Result {
    let automatic = buffer as usize == MPI_BUFFER_AUTOMATIC;
    let size = usize::try_from(if automatic { 0 } else { size })
        .map_err(|_| Error::new(MPI_ERR_ARG, format!("size is {size}; it must not be negative")))?;
    if buffer.is_null() && size > 0 {
        return Err(Error::new(MPI_ERR_BUFFER, format!("buffer is a null pointer but size is {size}")));
    }
    // SAFETY: the caller promises the memory until the buffer is detached.
    unsafe { messages.engine.attach_buffer(messages.endpoint, scope, buffer.cast(), size, automatic) }
}

fn detach(messages: &Messages, scope: Scope, buffer_addr: *mut c_void, size: CountOut) -> Result {
    let address = check::pointer_output(buffer_addr, "buffer_addr")?;
    if size.is_null() {
        return Err(Error::new(MPI_ERR_ARG, "size is a null pointer; pass the address of a variable"));
    }
    let (buffer, bytes, automatic) = messages.engine.detach_buffer(messages.endpoint, scope)?;
    address.set(buffer.cast());
    size.set(if automatic { 0 } else { bytes as Count });
    Ok(())
}

/// A request that is complete when no message uses a buffer any more.
struct Flush {
    messages: &'static Messages,
    scope: Scope,
}

impl Work for Flush {
    fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        let (engine, me) = (self.messages.engine, self.messages.endpoint);
        // A buffer that was detached meanwhile is free.
        engine.poll_buffer(me, self.scope, waiter).unwrap_or(true)
    }

    fn leave(&self, waiter: &'static Thread) {
        self.messages.engine.leave_buffer(self.messages.endpoint, self.scope, waiter);
    }

    fn status(&self) -> (Status, Result) {
        (Status::empty(), Ok(()))
    }

    /// A request of point-to-point communication, and the buffer empties without it.
    fn is_freed_active(&self) -> bool {
        true
    }
}

fn iflush(messages: &'static Messages, scope: Scope, comm: abi::Comm, request: Out<abi::Request>) -> Result {
    check::output(request, "request")?;
    messages.engine.poll_buffer(messages.endpoint, scope, None)?;
    let work = Arc::new(Flush { messages, scope });
    request.set(messages.endpoint.requests().create_work(work, comm, true));
    Ok(())
}

fn of_communicator(comm: abi::Comm) -> Result<(&'static Messages, Scope)> {
    let process = Process::current()?;
    process.communicator(comm)?;
    Ok((process.messages(), Scope::Communicator(comm)))
}

fn of_session(session: abi::Session) -> Result<(&'static Messages, Scope)> {
    let process = Process::any();
    process.session(session)?;
    Ok((process.messages(), Scope::Session(session)))
}

/// `MPI_Buffer_attach`
///
/// # Errors
/// `MPI_ERR_BUFFER` if one is attached already, `MPI_ERR_ARG`
pub fn buffer_attach(buffer: *mut c_void, size: Count) -> Result {
    attach(Process::current()?.messages(), Scope::Process, buffer, size)
}

/// `MPI_Buffer_detach`
///
/// # Errors
/// `MPI_ERR_BUFFER` if none is attached, `MPI_ERR_ARG`
pub fn buffer_detach(buffer_addr: *mut c_void, size: CountOut) -> Result {
    detach(Process::current()?.messages(), Scope::Process, buffer_addr, size)
}

/// `MPI_Buffer_flush`
///
/// # Errors
/// `MPI_ERR_BUFFER` if none is attached.
pub fn buffer_flush() -> Result {
    let messages = Process::current()?.messages();
    messages.engine.flush_buffer(messages.endpoint, Scope::Process)
}

/// `MPI_Buffer_iflush`
///
/// # Errors
/// As [`buffer_flush`]; `MPI_ERR_ARG`
pub fn buffer_iflush(request: Out<abi::Request>) -> Result {
    iflush(Process::current()?.messages(), Scope::Process, MPI_COMM_SELF, request)
}

/// `MPI_Comm_attach_buffer`
///
/// # Errors
/// As [`buffer_attach`]; `MPI_ERR_COMM`
pub fn comm_attach_buffer(comm: abi::Comm, buffer: *mut c_void, size: Count) -> Result {
    let (messages, scope) = of_communicator(comm)?;
    attach(messages, scope, buffer, size)
}

/// `MPI_Comm_detach_buffer`
///
/// # Errors
/// As [`buffer_detach`]; `MPI_ERR_COMM`
pub fn comm_detach_buffer(comm: abi::Comm, buffer_addr: *mut c_void, size: CountOut) -> Result {
    let (messages, scope) = of_communicator(comm)?;
    detach(messages, scope, buffer_addr, size)
}

/// `MPI_Comm_flush_buffer`
///
/// # Errors
/// As [`buffer_flush`]; `MPI_ERR_COMM`
pub fn comm_flush_buffer(comm: abi::Comm) -> Result {
    let (messages, scope) = of_communicator(comm)?;
    messages.engine.flush_buffer(messages.endpoint, scope)
}

/// `MPI_Comm_iflush_buffer`
///
/// # Errors
/// As [`buffer_iflush`]; `MPI_ERR_COMM`
pub fn comm_iflush_buffer(comm: abi::Comm, request: Out<abi::Request>) -> Result {
    let (messages, scope) = of_communicator(comm)?;
    iflush(messages, scope, comm, request)
}

/// `MPI_Session_attach_buffer`
///
/// # Errors
/// As [`buffer_attach`]; `MPI_ERR_SESSION`
pub fn session_attach_buffer(session: abi::Session, buffer: *mut c_void, size: Count) -> Result {
    let (messages, scope) = of_session(session)?;
    attach(messages, scope, buffer, size)
}

/// `MPI_Session_detach_buffer`
///
/// # Errors
/// As [`buffer_detach`]; `MPI_ERR_SESSION`
pub fn session_detach_buffer(session: abi::Session, buffer_addr: *mut c_void, size: CountOut) -> Result {
    let (messages, scope) = of_session(session)?;
    detach(messages, scope, buffer_addr, size)
}

/// `MPI_Session_flush_buffer`
///
/// # Errors
/// As [`buffer_flush`]; `MPI_ERR_SESSION`
pub fn session_flush_buffer(session: abi::Session) -> Result {
    let (messages, scope) = of_session(session)?;
    messages.engine.flush_buffer(messages.endpoint, scope)
}

/// `MPI_Session_iflush_buffer`
///
/// # Errors
/// As [`buffer_iflush`]; `MPI_ERR_SESSION`
pub fn session_iflush_buffer(session: abi::Session, request: Out<abi::Request>) -> Result {
    let (messages, scope) = of_session(session)?;
    iflush(messages, scope, MPI_COMM_SELF, request)
}
