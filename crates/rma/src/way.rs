//! The way to ranks of other processes: what is told by active messages, in which order everything is carried out.

use std::sync::OnceLock;
use weft_am::{Active, Message, When};
use weft_transport::Node;

/// The number of one-sided operations among the services.
pub(crate) const NUMBER: usize = 1;

/// What a message is.
pub(crate) mod kind {
    pub const PUT: u32 = 1;
    pub const GET: u32 = 2;
    pub const ACCUMULATE: u32 = 3;
    pub const COMPARE_AND_SWAP: u32 = 4;
    pub const LOCK: u32 = 5;
    pub const UNLOCK: u32 = 6;
    pub const POST: u32 = 7;
    pub const COMPLETE: u32 = 8;
    pub const FLUSH: u32 = 9;
    /// What a get or an accumulate function returns.
    pub const DATA: u32 = 10;
    /// What was asked for is done: a lock, a flush.
    pub const DONE: u32 = 11;
    /// An operation was out of range.
    pub const FAULT: u32 = 12;
    /// Somebody has left a gate whose word it sees, and where others wait.
    pub const LET_IN: u32 = 13;
}

/// Of a [`kind::LOCK`], a [`kind::UNLOCK`] and a [`kind::LET_IN`]: the rank's own gate, alone or shared; and the gate to everything.
pub(crate) mod part {
    pub const GATE: u32 = 1;
    pub const ALONE: u32 = 2;
    pub const EVERYTHING: u32 = 4;
}

static ACTIVE: OnceLock<&'static Active> = OnceLock::new();

/// Says by which active messages ranks of other processes are reached, before a window has any.
pub fn use_active(active: &'static Active) {
    let _ = ACTIVE.set(active);
}

pub(crate) fn active() -> &'static Active {
    ACTIVE.get().expect("a window with ranks of other processes has active messages")
}

pub(crate) fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

pub(crate) fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

pub(crate) fn tell(to: Node, kind: u32, words: &[u64], data: &[u8], when: When) {
    active().tell(to, NUMBER, kind, Message { words, data }, when);
}
