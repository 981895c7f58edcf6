//! The way to ranks of other processes: words and kinds of what is told, and what is said about kept messages.

use crate::jobs::nodes;
use weft_am::{Active, Landing, Message as Told, When};
use weft_post::{Credit, Offer};
use weft_transport::Node;

/// The number of the service.
pub(super) const NUMBER: usize = 0;

pub(super) const SEND: u32 = 1;
pub(super) const PUT: u32 = 2;
pub(super) const GET: u32 = 3;
pub(super) const GOT: u32 = 4;
pub(super) const CHANGE: u32 = 5;
pub(super) const CHANGED: u32 = 6;
pub(super) const END: u32 = 7;

/// How a message ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum End {
    Done,
    NoHandler,
    Gone,
}

impl End {
    pub const ALL: [Self; 3] = [Self::Done, Self::NoHandler, Self::Gone];
}

pub(super) fn active() -> &'static Active {
    nodes::active().expect("another process that has sent something")
}

pub(super) fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

pub(super) fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

pub(super) fn tell(to: Node, kind: u32, words: &[u64], data: &[u8], when: When) {
    active().tell(to, NUMBER, kind, Told { words, data }, when);
}

/// Sends what waits to go together.
pub(super) fn push(to: Node) {
    active().push(to);
}

pub(super) fn used(from: Node, credit: Credit) {
    active().used(from, credit);
}

pub(super) fn decline(from: Node, offer: &Offer) {
    active().decline(from, offer);
}

pub(super) fn fetch(from: Node, offer: &Offer, landing: Landing) {
    active().fetch(from, offer, landing);
}

/// Tells an origin how what it calls so has ended.
pub(super) fn answer(to: Node, context: u32, name: u64, end: End, when: When) {
    tell(to, END, &[pair(context, end as u32), name], &[], when);
}
