//! Buffered sends: space the program attached, and messages waiting in it.
//!
//! A message takes its packed size and `MPI_BSEND_OVERHEAD` bytes of the attached buffer, as long as the receiver
//! has not taken it. Space is taken behind the newest message, else at the start of the buffer: the standard's circular
//! policy, on which programs may count, so that no choice of ours may leave a hole too small for what would fit with
//! it. Where that fails, any gap will do. `MPI_BUFFER_AUTOMATIC` takes memory of the library instead.
#![allow(unsafe_code)]

use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation};
use crate::reports::checking;
use crate::way::Mode;
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::settings::is_checking;
use weft_base::site::{self, Site};
use weft_base::{Error, Result, abi};
use weft_datatype::Datatype;
use weft_sched::Thread;
use weft_sync::Lock;
use weft_sys::clock;

/// How long a send that finds no room looks for it among several processes: a thread waits as long for a core of a loaded
/// machine.
const PATIENCE_US: u64 = 20_000;

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

impl Scopes {
    /// Returns the buffer that a send uses.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if there is none.
    fn attached<'a>(&self, buffers: &'a mut [Attached]) -> Result<&'a mut Attached> {
        let order =
            [Some(Scope::Communicator(self.comm)), self.session.map(Scope::Session), Some(Scope::Process)];
        let place = order.iter().flatten().find_map(|s| buffers.iter().position(|b| b.scope == *s));
        Ok(&mut buffers[place.ok_or_else(nothing_attached)?])
    }
}

/// A message that still uses space.
struct Segment {
    offset: usize,
    length: usize,
    operation: Arc<Operation>,
    /// The data, for automatic buffers.
    _memory: Option<Box<[u8]>>,
    /// What the data was before it was packed, in checking mode.
    _datatype: Option<Box<Datatype>>,
}

struct Attached {
    scope: Scope,
    /// Null for automatic buffers.
    address: *mut u8,
    size: usize,
    automatic: bool,
    /// The call that attached it, in checking mode.
    site: Option<&'static Site>,
    /// In order of offset.
    segments: Vec<Segment>,
    /// Where the newest message ends.
    tail: usize,
    /// Threads that wait for the buffer to be empty. The first one is registered with the oldest message and wakes the
    /// others when that is gone; one operation can wake one thread only.
    watchers: Vec<&'static Thread>,
}

// SAFETY: the address is used only under the lock of `Buffers`, by whatever thread of the rank sends.
unsafe impl Send for Attached {}

impl Attached {
    fn reclaim(&mut self) {
        let before = self.segments.len();
        self.segments.retain(|segment| !segment.operation.is_done());
        if self.segments.len() < before {
            self.stir();
        }
    }

    /// Has all watchers look again.
    fn stir(&mut self) {
        self.watchers.drain(..).for_each(Thread::unpark);
    }

    /// Tells whether a message of `length` bytes fits, or can never.
    fn has_room(&mut self, length: usize) -> bool {
        self.reclaim();
        self.automatic || self.segments.is_empty() || self.find(length).is_some()
    }

    /// Returns an offset where `length` bytes are free, and where in the list it goes.
    fn find(&self, length: usize) -> Option<(usize, usize)> {
        find_space(self.segments.iter().map(|s| (s.offset, s.length)), self.size, self.tail, length)
    }
}

/// Returns an offset where `length` of `size` bytes are free, and before which of the `taken` pieces (offset and length,
/// in order) that is. `tail` is the end of the newest piece.
fn find_space(
    taken: impl ExactSizeIterator<Item = (usize, usize)>,
    size: usize,
    tail: usize,
    length: usize,
) -> Option<(usize, usize)> {
    let tail = if taken.len() == 0 { 0 } else { tail };
    let (mut end, mut first, mut behind) = (0, None, None);
    for (i, (start, extent)) in taken.chain([(size, 0)]).enumerate() {
        // The gap `end..start`, before piece `i`; behind the newest piece it begins at the tail.
        if first.is_none() && start - end >= length {
            first = Some((end, i));
        }
        if (end..=start).contains(&tail) && start - tail >= length {
            behind = Some((tail, i));
        }
        end = start + extent;
    }
    behind.or(first)
}

/// The attached buffers of one rank.
#[derive(Default)]
pub struct Buffers(Lock<Vec<Attached>>);

impl Buffers {
    /// Lists the calls that attached the buffers there are.
    pub(crate) fn left(&self) -> Vec<Option<&'static Site>> {
        self.0.lock().iter().map(|attached| attached.site).collect()
    }
}

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
        buffers.push(Attached {
            scope,
            address,
            size,
            automatic,
            site: site::current(),
            segments: Vec::new(),
            tail: 0,
            watchers: Vec::new(),
        });
        Ok(())
    }

    /// Waits until no message uses the buffer.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if none is attached.
    pub fn flush_buffer(&self, me: &Endpoint, scope: Scope) -> Result {
        if self.poll_buffer(me, scope, None)? {
            return Ok(());
        }
        let mut free = Ok(false);
        let thread = weft_sched::current();
        let spun = self.spin(
            me,
            || {
                free = self.poll_buffer(me, scope, None);
                !matches!(free, Ok(false))
            },
            || false,
        );
        while !spun && matches!(free, Ok(false)) {
            free = self.poll_buffer(me, scope, Some(thread));
            if matches!(free, Ok(false)) {
                me.park(thread);
                self.progress(me);
            }
        }
        free.map(|_| ())
    }

    /// Tells whether no message uses the buffer; if one does, `waiter` will be woken when it may be free, unless it
    /// leaves before.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if none is attached.
    pub fn poll_buffer(&self, me: &Endpoint, scope: Scope, waiter: Option<&'static Thread>) -> Result<bool> {
        let mut buffers = me.buffers.0.lock();
        let attached = buffers.iter_mut().find(|b| b.scope == scope).ok_or_else(nothing_attached)?;
        loop {
            attached.reclaim();
            let (Some(waiter), Some(oldest)) = (waiter, attached.segments.first()) else {
                return Ok(attached.segments.is_empty());
            };
            let place = attached.watchers.iter().position(|thread| core::ptr::eq(*thread, waiter));
            let leads = match place {
                None => {
                    attached.watchers.push(waiter);
                    attached.watchers.len() == 1
                }
                Some(place) => place == 0,
            };
            if !leads || oldest.operation.register(waiter) {
                return Ok(false);
            }
        }
    }

    /// Forgets a thread that waited for a buffer.
    pub fn leave_buffer(&self, me: &Endpoint, scope: Scope, waiter: &'static Thread) {
        let mut buffers = me.buffers.0.lock();
        let Some(attached) = buffers.iter_mut().find(|b| b.scope == scope) else { return };
        attached.watchers.retain(|thread| !core::ptr::eq(*thread, waiter));
        attached.stir();
    }

    /// Detaches a buffer after waiting until no message uses it. Returns its address, size, and whether it is
    /// automatic.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if none is attached.
    pub fn detach_buffer(&self, me: &Endpoint, scope: Scope) -> Result<(*mut u8, usize, bool)> {
        loop {
            self.flush_buffer(me, scope)?;
            let mut buffers = me.buffers.0.lock();
            let place = buffers.iter().position(|b| b.scope == scope).ok_or_else(nothing_attached)?;
            // Another thread may have sent in between.
            if buffers[place].segments.is_empty() {
                let attached = buffers.swap_remove(place);
                return Ok((attached.address, attached.size, attached.automatic));
            }
        }
    }

    /// Looks for a while whether there is room by now. What is in the way may have been received in another process, as the
    /// rank may know, and that be heard when somebody looks, or a moment later: a thread that was about to say so may have
    /// lost its core.
    #[cold]
    fn look_for_room(&self, me: &Endpoint, scopes: Scopes, length: usize) {
        let has_room =
            || scopes.attached(&mut me.buffers.0.lock()).is_ok_and(|attached| attached.has_room(length));
        let end = clock::ticks() + PATIENCE_US * clock::ticks_per_us();
        while !self.spin(me, has_room, || false) && self.remote().is_some() && clock::ticks() < end {
            crate::waiting::note_failure();
        }
    }

    /// Sends from a copy in attached space, and returns at once, or after some milliseconds without room for it.
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
        checking::before_send(me, &data);
        let datatype = if is_checking() { data.kept_datatype() } else { None };
        let bytes = data.bytes() as usize;
        let length = bytes + MPI_BSEND_OVERHEAD as usize;
        if !scopes.attached(&mut me.buffers.0.lock())?.has_room(length) {
            self.look_for_room(me, scopes, length);
        }
        let mut buffers = me.buffers.0.lock();
        let attached = scopes.attached(&mut buffers)?;
        attached.reclaim();
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
            let mut packed = Buffer::dense(address, data.bytes());
            if let Some(datatype) = &datatype {
                packed = packed.copy_of(data.count, datatype);
            }
            let operation = Arc::new(Operation::new(packed));
            if !self.start_send(me, target, envelope, &operation, Mode::Standard) {
                attached.segments.insert(
                    index,
                    Segment { offset, length, operation, _memory: memory, _datatype: datatype },
                );
                attached.tail = offset + length;
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

#[cfg(test)]
mod tests {
    use super::find_space;
    use proptest::prelude::*;

    const SIZE: usize = 1000;

    /// The standard's model: entries in the order of their sends, freed from the oldest on, placed behind the newest or
    /// at the start of the buffer.
    fn model(queue: &[(usize, usize)], length: usize) -> Option<usize> {
        let (Some(oldest), Some(newest)) = (queue.first(), queue.last()) else {
            return (length <= SIZE).then_some(0);
        };
        let (head, tail) = (oldest.0, newest.0 + newest.1);
        if tail > head {
            return if SIZE - tail >= length { Some(tail) } else { (head >= length).then_some(0) };
        }
        (head - tail >= length).then_some(tail)
    }

    proptest! {
        /// Whatever completes when, a message that fits in the model fits here.
        #[test]
        fn never_worse_than_the_model(steps in proptest::collection::vec((1usize..400, any::<u64>()), 1..200)) {
            // Offset, length, complete; oldest first.
            let mut sent: Vec<(usize, usize, bool)> = Vec::new();
            let mut tail = 0;
            for (length, choice) in steps {
                if !sent.is_empty() && choice % 3 != 0 {
                    let place = (choice / 3) as usize % sent.len();
                    sent[place].2 = true;
                }
                let done = sent.iter().take_while(|s| s.2).count();
                sent.drain(..done);
                let expected = model(&sent.iter().map(|s| (s.0, s.1)).collect::<Vec<_>>(), length);
                let mut live: Vec<_> = sent.iter().filter(|s| !s.2).map(|s| (s.0, s.1)).collect();
                live.sort_unstable();
                let found = find_space(live.iter().copied(), SIZE, tail, length);
                prop_assert!(found.is_some() || expected.is_none(), "{length} bytes fit at {expected:?}");
                if let Some(expected) = expected {
                    let (offset, index) = found.expect("checked");
                    let free = live.iter().all(|&(o, l)| o + l <= offset || offset + length <= o);
                    prop_assert!(free && offset + length <= SIZE);
                    prop_assert!(live[..index].iter().all(|s| s.0 < offset));
                    prop_assert_eq!(offset, expected);
                    sent.push((offset, length, false));
                    tail = offset + length;
                }
            }
        }
    }
}
