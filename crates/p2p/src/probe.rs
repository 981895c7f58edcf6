//! Probes, and messages matched by a probe.

use crate::endpoint::{Endpoint, Message, Payload};
use crate::engine::{Engine, outcome};
use crate::matching::Envelope;
use crate::operation::{Buffer, Outcome, received};
use crate::remote::Far;
use weft_base::abi::Status;
use weft_base::stuck::Wait;
use weft_base::{Result, abi};

/// A message taken out of matching by `MPI_Mprobe`, until `MPI_Mrecv`.
pub struct Matched {
    envelope: Envelope,
    message: Message,
    /// The communicator whose error handler an error of the receive goes to.
    pub comm: abi::Comm,
}

impl Matched {
    pub(crate) fn outcome(&self) -> Outcome {
        outcome(&self.envelope, self.message.bytes)
    }

    /// Compares the message with its receive, if it says what it is, and takes that off.
    pub(crate) fn undescribe(&mut self, me: &Endpoint, buffer: &Buffer) {
        self.message.undescribe(me.rank(), &self.envelope, buffer);
    }

    /// Returns what to fetch into the buffer of a receive if the data is still with a sender on another node process.
    pub(crate) fn far(&self) -> Option<(Envelope, u64, Far)> {
        let Payload::Far(far) = self.message.payload else { return None };
        Some((self.envelope, self.message.bytes, far))
    }
}

impl Engine {
    /// Returns the status of the oldest message that matches, and leaves it.
    pub fn iprobe(&self, me: &Endpoint, pattern: &Envelope) -> Option<Status> {
        self.poll_nodes();
        if !me.unexpected_hint() && !me.rings_ready() {
            return None;
        }
        let mut state = me.lock();
        me.drain_rings(&mut state);
        let (envelope, message) = state.unexpected.peek(pattern)?;
        Some(status_of(&envelope, message.bytes))
    }

    /// Takes the oldest message that matches out of matching.
    pub fn improbe(&self, me: &Endpoint, pattern: &Envelope, comm: abi::Comm) -> Option<(Matched, Status)> {
        self.poll_nodes();
        if !me.unexpected_hint() && !me.rings_ready() {
            return None;
        }
        let mut state = me.lock();
        me.drain_rings(&mut state);
        let (envelope, message) = state.unexpected.take(pattern)?;
        me.note_unexpected(&state);
        let status = status_of(&envelope, message.bytes);
        Some((Matched { envelope, message, comm }, status))
    }

    /// Waits for a message that matches, and leaves it.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED`: a node process is lost, and the message may not come any more.
    pub fn probe(&self, me: &Endpoint, pattern: &Envelope) -> Result<Status> {
        self.until(me, pattern, || self.iprobe(me, pattern))
    }

    /// Waits for a message that matches, and takes it out of matching.
    ///
    /// # Errors
    /// As [`Engine::probe`].
    pub fn mprobe(&self, me: &Endpoint, pattern: &Envelope, comm: abi::Comm) -> Result<(Matched, Status)> {
        self.until(me, pattern, || self.improbe(me, pattern, comm))
    }

    fn until<R>(&self, me: &Endpoint, pattern: &Envelope, mut look: impl FnMut() -> Option<R>) -> Result<R> {
        let mut found = look();
        if let Some(found) = found {
            return Ok(found);
        }
        let mut seen = me.arrivals();
        let spun = self.spin(
            me,
            || {
                let now = me.arrivals();
                if now != seen {
                    seen = now;
                    found = look();
                }
                found.is_some()
            },
            || false,
        );
        if spun {
            return Ok(found.expect("the spin ended with a message"));
        }
        let thread = weft_sched::current();
        let _said = weft_sched::Said::new(Wait::Probe.word());
        me.lock().probers.push((*pattern, thread));
        let found = loop {
            // After the registration: whoever adds a message from now on wakes this thread.
            if let Some(found) = look() {
                break Ok(found);
            }
            if self.is_in_vain(pattern) {
                break Err(crate::operation::lost());
            }
            me.park(thread);
        };
        let mut state = me.lock();
        if let Some(place) = state.probers.iter().position(|(p, t)| p == pattern && core::ptr::eq(*t, thread))
        {
            state.probers.swap_remove(place);
        }
        found
    }

    /// Receives a message taken out of matching.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE`, beside the status.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`], for writing.
    #[allow(unsafe_code)] // Passes its caller's promise on.
    pub unsafe fn mrecv(&self, me: &Endpoint, matched: Matched, buffer: &Buffer) -> (Status, Result) {
        let Matched { envelope, message, .. } = matched;
        // SAFETY: the caller's promise.
        let outcome = unsafe { me.take_message(self, me.lock(), envelope, message, buffer) };
        received(&outcome, buffer.bytes)
    }
}

fn status_of(envelope: &Envelope, bytes: u64) -> Status {
    received(&outcome(envelope, bytes), bytes).0
}
