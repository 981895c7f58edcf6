//! Buffered sends: space the program attached, and messages waiting in it.
//!
//! A message takes its packed size and `MPI_BSEND_OVERHEAD` bytes of the attached buffer, as long as the receiver
//! has not taken it; space is found by first fit. `MPI_BUFFER_AUTOMATIC` takes memory of the library instead.
#![allow(unsafe_code)]

use crate::endpoint::Endpoint;
use crate::engine::{Engine, Mode};
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation};
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::{Error, Result, abi};
use weft_sched::Thread;
use weft_sync::Lock;

/// What a buffer is attached to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// `MPI_Buffer_attach`
    Process,
    /// `MPI_Comm_attach_buffer`
    Communicator(abi::Comm),
    /// `MPI_Session_attach_buffer`
    Session(abi::Session),
}

/// Where the space of a send may come from: its communicator's buffer, else its session's, else the process's.
#[derive(Clone, Copy, Debug)]
pub struct Scopes {
    /// The communicator of the send.
    pub comm: abi::Comm,
    /// The session the communicator comes from.
    pub session: Option<abi::Session>,
}

/// A message that still uses space.
struct Segment {
    offset: usize,
    length: usize,
    operation: Arc<Operation>,
    /// The data, for automatic buffers.
    _memory: Option<Box<[u8]>>,
}

struct Attached {
    scope: Scope,
    /// Null for automatic buffers.
    address: *mut u8,
    size: usize,
    automatic: bool,
    /// In order of offset.
    segments: Vec<Segment>,
}

// SAFETY: the address is used only under the lock of `Buffers`, by whatever thread of the rank sends.
unsafe impl Send for Attached {}

impl Attached {
    fn reclaim(&mut self) {
        self.segments.retain(|segment| !segment.operation.is_done());
    }

    /// Returns an offset where `length` bytes are free, and where in the list it goes.
    fn find(&self, length: usize) -> Option<(usize, usize)> {
        let mut offset = 0;
        for (i, segment) in self.segments.iter().enumerate() {
            if segment.offset - offset >= length {
                return Some((offset, i));
            }
            offset = segment.offset + segment.length;
        }
        (self.size - offset >= length).then_some((offset, self.segments.len()))
    }
}

/// The attached buffers of one rank.
#[derive(Default)]
pub struct Buffers(Lock<Vec<Attached>>);

impl Engine {
    /// Attaches a buffer.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if there is one already.
    ///
    /// # Safety
    /// `address` is valid for `size` bytes, or `automatic`, until the buffer is detached.
    pub unsafe fn attach_buffer(
        &self,
        me: &Endpoint,
        scope: Scope,
        address: *mut u8,
        size: usize,
        automatic: bool,
    ) -> Result {
        let mut buffers = me.buffers.0.lock();
        if buffers.iter().any(|b| b.scope == scope) {
            return Err(Error::new(
                MPI_ERR_BUFFER,
                "a buffer for buffered sends is attached already; detach it first",
            ));
        }
        buffers.push(Attached { scope, address, size, automatic, segments: Vec::new() });
        Ok(())
    }

    /// Waits until no message uses the buffer.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if none is attached.
    pub fn flush_buffer(&self, me: &Endpoint, scope: Scope) -> Result {
        while !self.is_buffer_free(me, scope)? {
            let oldest = {
                let buffers = me.buffers.0.lock();
                let found = buffers.iter().find(|b| b.scope == scope);
                found.and_then(|b| b.segments.first()).map(|s| s.operation.clone())
            };
            if let Some(operation) = oldest {
                self.wait(me, &operation);
            }
        }
        Ok(())
    }

    /// Tells whether no message uses the buffer.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if none is attached.
    pub fn is_buffer_free(&self, me: &Endpoint, scope: Scope) -> Result<bool> {
        let mut buffers = me.buffers.0.lock();
        let attached = buffers.iter_mut().find(|b| b.scope == scope).ok_or_else(nothing_attached)?;
        attached.reclaim();
        Ok(attached.segments.is_empty())
    }

    /// As [`Engine::is_buffer_free`]; if not, `waiter` will be woken when it may be.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if none is attached.
    pub fn poll_buffer(&self, me: &Endpoint, scope: Scope, waiter: Option<&'static Thread>) -> Result<bool> {
        if self.is_buffer_free(me, scope)? {
            return Ok(true);
        }
        if let Some(waiter) = waiter {
            let buffers = me.buffers.0.lock();
            let attached = buffers.iter().find(|b| b.scope == scope);
            let oldest = attached.and_then(|b| b.segments.first());
            if oldest.is_some_and(|segment| segment.operation.register(waiter)) {
                return Ok(false);
            }
            waiter.unpark();
        }
        Ok(false)
    }

    /// Detaches a buffer after waiting until no message uses it. Returns its address, size, and whether it is
    /// automatic.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if none is attached.
    pub fn detach_buffer(&self, me: &Endpoint, scope: Scope) -> Result<(*mut u8, usize, bool)> {
        self.flush_buffer(me, scope)?;
        let mut buffers = me.buffers.0.lock();
        let place = buffers.iter().position(|b| b.scope == scope).ok_or_else(nothing_attached)?;
        let attached = buffers.swap_remove(place);
        Ok((attached.address, attached.size, attached.automatic))
    }

    /// Sends from a copy in attached space, and returns at once.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if no buffer is attached or the message does not fit.
    ///
    /// # Safety
    /// As [`Engine::send`].
    pub unsafe fn send_buffered(
        &self,
        me: &Endpoint,
        target: u32,
        envelope: Envelope,
        data: Buffer,
        scopes: Scopes,
    ) -> Result {
        let mut buffers = me.buffers.0.lock();
        let order = [
            Some(Scope::Communicator(scopes.comm)),
            scopes.session.map(Scope::Session),
            Some(Scope::Process),
        ];
        let place = order.iter().flatten().find_map(|s| buffers.iter().position(|b| b.scope == *s));
        let attached = &mut buffers[place.ok_or_else(nothing_attached)?];
        attached.reclaim();
        let bytes = data.bytes() as usize;
        let length = bytes + MPI_BSEND_OVERHEAD as usize;
        let mut memory = None;
        let (offset, index, address) = if attached.automatic {
            let memory: &mut Box<[u8]> = memory.insert(vec![0; bytes].into());
            (0, attached.segments.len(), memory.as_mut_ptr())
        } else {
            let (offset, index) = attached.find(length).ok_or_else(|| does_not_fit(bytes, attached.size))?;
            (offset, index, attached.address.wrapping_add(offset))
        };
        // SAFETY: the data is as promised, and the space has room for it; the count keeps the operation in place.
        unsafe {
            data.pack_into(address);
            let operation = Arc::new(Operation::new(Buffer::dense(address, data.bytes())));
            if !self.start_send(me, target, envelope, &operation, Mode::Standard) {
                attached.segments.insert(index, Segment { offset, length, operation, _memory: memory });
            }
        }
        Ok(())
    }
}

#[cold]
fn nothing_attached() -> Error {
    Error::new(MPI_ERR_BUFFER, "no buffer for buffered sends is attached; call MPI_Buffer_attach first")
}

#[cold]
fn does_not_fit(bytes: usize, size: usize) -> Error {
    Error::new(
        MPI_ERR_BUFFER,
        format!(
            "a buffered send of {bytes} bytes does not fit into what is free of the attached buffer of {size} bytes; \
             each message also takes MPI_BSEND_OVERHEAD ({MPI_BSEND_OVERHEAD}) bytes"
        ),
    )
}
