//! What comes for an operation: messages, data that was asked for, word that something is out.

use super::{Crossing, State, Wake};
use crate::hier::bytes::Bytes;
use crate::hier::exchange::{Message, Parcel};
use crate::hier::loss::heard_of_loss;
use crate::hier::wire::{Header, Kind, LOSS, OperationKey};
use crate::operation::call::Description;
use crate::operation::mismatch::mismatch;
use core::sync::atomic::Ordering;
use std::sync::Arc;
use weft_base::Error;
use weft_post::Credit;
use weft_sync::LockGuard;
use weft_transport::Node;

/// What has become of a message: nothing, or an offer that is to be fetched; or why it is wrong.
pub(super) type Attached = core::result::Result<Option<(u32, Message)>, Box<(Error, Message)>>;

impl Crossing {
    /// Hands a message to its step. Returns an offer that is to be fetched.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the sender is in another call.
    pub(super) fn attach(&self, state: &mut State, message: Message) -> Attached {
        let under = state.run.as_mut().expect("it has begun");
        let Header { mut call, shape, key, .. } = message.header;
        let is_abort = matches!(message.parcel, Parcel::Abort);
        if is_abort && key == LOSS {
            return Err(Box::new((heard_of_loss(message.from), message)));
        }
        if is_abort && u64::from(call) == under.call.0 {
            // It tells of another one with which it differed.
            call = shape;
        }
        let differs = u64::from(call) != under.call.0;
        let theirs = Description(call.into());
        if is_abort || differs || shape != under.program.shape {
            let node = message.from;
            let (mine, what) = (under.call, if differs { "" } else { " of another length" });
            state.other = call;
            let error = mismatch(format_args!(
                "ranks of node process {node} called {theirs}{what} while those of {} called {mine}",
                self.spread.exchange.nodes().node()
            ));
            return Err(Box::new((error, message)));
        }
        let from = self.spread.layout.index(message.from);
        let Some(step) = from.and_then(|from| under.program.receiver(from, key)) else {
            let text = format!("node process {} sent message {key:#x} of {theirs}", message.from);
            return Err(Box::new((mismatch(text), message)));
        };
        if let Parcel::Offer(offer) = message.parcel
            && !offer.is_readable()
        {
            return Ok(Some((step, message)));
        }
        under.inbox.push((step, message));
        under.run.message(&under.program, step);
        Ok(None)
    }

    /// Lets go of messages, while no lock is held.
    pub(super) fn discard(&self, messages: impl IntoIterator<Item = Message>) {
        messages.into_iter().for_each(|message| self.spread.exchange.discard(message));
    }

    pub(super) fn fetch(self: &Arc<Self>, messages: Vec<(u32, Message)>) {
        for (step, message) in messages {
            if let Parcel::Offer(offer) = message.parcel {
                self.spread.exchange.fetch(message.from, &offer, self.clone(), step);
            }
        }
    }

    /// Keeps a message that came before anybody had begun.
    pub fn keep(&self, message: Message) {
        self.state.lock().early.push(message);
    }

    /// Takes a message for the operation.
    pub fn deliver(self: &Arc<Self>, message: Message) {
        let mut state = self.state.lock();
        if state.failed.is_some() {
            drop(state);
            return self.discard([message]);
        }
        if state.run.is_none() {
            state.early.push(message);
            return;
        }
        let echo = !matches!(message.parcel, Parcel::Abort);
        match self.attach(&mut state, message) {
            Ok(fetch) => {
                let mut wake = Wake::default();
                if fetch.is_none() {
                    self.changes.fetch_add(1, Ordering::Release);
                    wake.all(&mut state);
                }
                drop(state);
                self.ask_for_help(&wake);
                wake.now();
                self.fetch(fetch.into_iter().collect());
            }
            Err(refused) => {
                let (error, message) = *refused;
                self.fail(state, error, echo);
                self.discard([message]);
            }
        }
    }

    /// Takes what was fetched.
    pub fn fetched(self: &Arc<Self>, step: u32, data: Bytes) {
        let mut state = self.state.lock();
        if state.failed.is_some() {
            return;
        }
        let Some(under) = state.run.as_mut() else { return };
        let header = Header {
            kind: Kind::Data,
            team: self.spread.key,
            operation: self.key,
            key: 0,
            call: 0,
            shape: 0,
        };
        let from = self.spread.exchange.nodes().node();
        under.inbox.push((step, Message { from, header, parcel: Parcel::Here(data, Credit::default()) }));
        under.run.message(&under.program, step);
        self.stir(state);
    }

    /// Notes that a step is over that was waiting for a device.
    pub fn finished(self: &Arc<Self>, step: u32) {
        let mut state = self.state.lock();
        if state.failed.is_some() {
            return;
        }
        if let Some(under) = state.run.as_mut() {
            under.run.finish(&under.program, step);
        }
        self.stir(state);
    }

    pub(super) fn stir(self: &Arc<Self>, mut state: LockGuard<'_, State>) {
        let mut wake = Wake::default();
        self.changes.fetch_add(1, Ordering::Release);
        wake.all(&mut state);
        self.close_if_finished(state);
        self.ask_for_help(&wake);
        wake.now();
    }

    /// Leaves the operation to whoever polls, if none of its members waits for it: they may be in other calls, which wait
    /// for what this operation gives to others.
    pub(super) fn ask_for_help(self: &Arc<Self>, wake: &Wake) {
        if wake.0.is_empty() {
            self.spread.exchange.ask_for_help(self.clone());
        }
    }

    /// Returns the header of messages that a step sends.
    pub fn header(&self, to: u32, part: u32, key: u64, call: Description, shape: u32) -> (Node, Header) {
        let operation = OperationKey { member: part, ..self.key };
        let header =
            Header { kind: Kind::Data, team: self.spread.key, operation, key, call: call.0 as u32, shape };
        (self.spread.layout.node(to), header)
    }
}
