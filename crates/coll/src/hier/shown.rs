//! What ranks show in checking mode, from process to process.
//!
//! It goes in pieces that every device takes, and costs no credit: a rank in front of all others shows no more calls than it
//! can be in front. Whoever ends asks first whether all has been heard ([`Exchange::await_heard`]), since memory that
//! processes share lets ranks pass a barrier before their messages.

use super::exchange::{Exchange, TeamKey, plain};
use super::spread::Spread;
use super::wire::{Header, Kind, OperationKey};
use crate::team::checking::{Board, Shown};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use weft_sync::Lock;
use weft_transport::{Device, Node};

/// Reads what [`Shown::write`] has written in another process; returns nothing if it is not that.
pub type Read = fn(&[u8]) -> Option<Arc<dyn Shown>>;

/// The most bytes that a rank may show of one call.
const MOST: u64 = 1 << 26;

/// What is there of what a rank shows.
struct Partial {
    bytes: Vec<u8>,
    missing: u64,
}

/// What is shown here, and what this process has shown others.
#[derive(Default)]
pub(crate) struct Shows {
    board: Board,
    read: OnceLock<Read>,
    partial: Lock<HashMap<(Node, TeamKey, u32, u64), Partial>>,
    /// To whom something was shown.
    to: Lock<BTreeSet<Node>>,
    /// Questions that have no answer yet.
    asked: Lock<HashSet<u64>>,
}

impl Exchange {
    /// Begins to look at what ranks of other processes show.
    pub fn look_at_shown(&self, read: Read) {
        let _ = self.shows.read.set(read);
    }

    /// Waits until all that ranks here have shown to other processes of the job has been looked at there, or never will be.
    pub fn await_heard(&self) {
        let known: Vec<Node> = self.shows.to.lock().iter().copied().filter(|&to| to < self.of_job).collect();
        for to in known {
            let token = self.token();
            self.shows.asked.lock().insert(token);
            self.tell(to, Header { key: token, ..plain(Kind::Ask) });
            self.wait(|| {
                self.nodes().poll();
                !self.shows.asked.lock().contains(&token) || self.loss(to).is_some()
            });
        }
    }

    /// Takes a piece of what a rank shows.
    pub(super) fn take_shown(&self, from: Node, header: &Header, piece: &[u8]) {
        let Some(read) = self.shows.read.get() else { return };
        let Header {
            team, operation: OperationKey { number, member, .. }, key, call: population, shape, ..
        } = *header;
        let bytes = u64::from(shape);
        let Some(end) = key.checked_add(piece.len() as u64).filter(|&end| end <= bytes && bytes <= MOST)
        else {
            return;
        };
        let mut partial = self.shows.partial.lock();
        let place = (from, team, member, number);
        let known = partial
            .entry(place)
            .or_insert_with(|| Partial { bytes: vec![0; bytes as usize], missing: bytes });
        if known.bytes.len() as u64 != bytes {
            return;
        }
        weft_sys::copy::slice(piece, &mut known.bytes[key as usize..end as usize]);
        known.missing = known.missing.saturating_sub(piece.len() as u64);
        if known.missing > 0 {
            return;
        }
        let whole = partial.remove(&place);
        drop(partial);
        if let Some(shown) = whole.and_then(|whole| read(&whole.bytes)).filter(|_| member < population) {
            shown.look_at(&self.shows.board.show(team, number, member, population, shown.clone()));
        }
    }

    /// Answers who asks whether what it has shown before has been heard.
    pub(super) fn answer(&self, from: Node, token: u64) {
        self.tell(from, Header { key: token, ..plain(Kind::Answer) });
    }

    /// Takes such an answer.
    pub(super) fn take_answer(&self, token: u64) {
        self.shows.asked.lock().remove(&token);
    }
}

impl Spread {
    /// Shows what call `number` of a member of `size` is.
    pub fn show(&self, number: u64, member: u32, size: u32, mine: Arc<dyn Shown>) {
        let (exchange, to) = (self.exchange, self.layout.node(0));
        if to == exchange.nodes().node() {
            let earlier = exchange.shows.board.show(self.key, number, member, size, mine.clone());
            return mine.look_at(&earlier);
        }
        exchange.shows.to.lock().insert(to);
        let written = mine.write();
        let bytes = written.len() as u64;
        if bytes > MOST {
            return;
        }
        let most = exchange.nodes().device().capabilities(to).eager.max(1);
        let operation = OperationKey { number, start: 0, member };
        for (index, piece) in written.chunks(most).enumerate() {
            let (key, shape) = ((index * most) as u64, bytes as u32);
            let header = Header { team: self.key, operation, key, call: size, shape, ..plain(Kind::Shown) };
            exchange.show(to, header, piece);
        }
    }
}
