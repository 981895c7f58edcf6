//! How an operation ends: when all is done, or when something is wrong.

use super::{Crossing, State, Wake};
use crate::hier::loss::unreachable_peer;
use crate::hier::wire::{EVERYBODY, Header, Kind, LOSS};
use crate::operation::call::Description;
use core::sync::atomic::Ordering;
use std::sync::OnceLock;
use weft_base::constants::MPI_ERR_PROC_ABORTED;
use weft_base::{Error, Result};
use weft_sync::LockGuard;
use weft_transport::Node;

impl Crossing {
    /// Ends the operation for everybody. Tells other node processes if `tell`.
    pub(super) fn fail(&self, mut state: LockGuard<'_, State>, error: Error, tell: bool) -> bool {
        let call = state.first.map_or(Description(0), |first| self.contribution(first).description);
        let is_loss = error.class == MPI_ERR_PROC_ABORTED;
        state.failed.get_or_insert(error);
        self.troubled.store(true, Ordering::Release);
        self.changes.fetch_add(1, Ordering::Release);
        let (is_over, other) = (state.busy == 0, state.other);
        let mut wake = Wake::default();
        wake.all(&mut state);
        wake.0.append(&mut state.company);
        let mut unused = core::mem::take(&mut state.early);
        if let Some(under) = &mut state.run {
            unused.extend(under.inbox.drain(..).map(|(_, message)| message));
        }
        self.close_if_finished(state);
        wake.now();
        self.discard(unused);
        let tell = tell && self.key.member == EVERYBODY;
        for index in (0..self.spread.layout.len()).filter(|&index| tell && index != self.spread.me) {
            let header = Header {
                kind: Kind::Abort,
                team: self.spread.key,
                operation: self.key,
                key: if is_loss { LOSS } else { 0 },
                call: call.without_bytes().0 as u32,
                shape: other,
            };
            self.spread.exchange.tell(self.spread.layout.node(index), header);
        }
        is_over
    }

    /// Takes the operation off the board when nothing more will come for it.
    pub(super) fn close_if_finished(&self, mut state: LockGuard<'_, State>) {
        let all_here = state.present as usize == self.members.len();
        let done = match &state.run {
            _ if state.failed.is_some() => state.busy == 0,
            Some(under) => under.run.is_finished(),
            None => true,
        };
        if all_here && done && !state.is_closed {
            state.is_closed = true;
            let has_failed = state.failed.is_some();
            drop(state);
            self.threads.iter().filter_map(OnceLock::get).for_each(|thread| thread.release());
            self.spread.close(self.key, has_failed);
        }
    }

    /// Notes that a peer is gone.
    pub fn lost(&self, peer: Node, reason: &str) {
        let state = self.state.lock();
        let has_begun = state.run.is_some() || !state.waiting.is_empty();
        if has_begun && state.failed.is_none() {
            self.fail(state, unreachable_peer(peer, reason), true);
        }
    }

    pub(super) fn is_over(&self, state: &State, member: u32) -> bool {
        if state.failed.is_some() {
            return state.busy == 0;
        }
        let is_spectator = self.contribution(member).is_spectator;
        is_spectator || state.run.as_ref().is_some_and(|under| under.run.is_over(member))
    }

    pub(super) fn result(&self, member: u32) -> Result {
        if !self.troubled.load(Ordering::Acquire) {
            return Ok(());
        }
        let state = self.state.lock();
        if let Some(error) = &state.failed
            && !self.contribution(member).is_spectator
        {
            return Err(error.clone());
        }
        match state.errors.iter().find(|(m, _)| *m == member) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }
}
