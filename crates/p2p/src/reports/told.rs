//! What is counted and told of messages, where tools look (`weft_base::tools`). While none does, each function is a load and a
//! branch. Odd contexts are the library's own: their messages are counted by way, but are no business of a tool otherwise.

use crate::matching::Envelope;
use crate::way::Way;
use weft_base::tools::counters::Counter;
use weft_base::tools::events::Event;
use weft_base::tools::{ranks, watch};

impl<Ring, R> Way<Ring, R> {
    /// Returns what counts messages that went this way, and their bytes.
    const fn counters(&self) -> Option<(Counter, Counter)> {
        Some(match self {
            Self::Ring(_) => (Counter::RingMessages, Counter::RingBytes),
            Self::Offer(_) => (Counter::OfferMessages, Counter::OfferBytes),
            Self::Direct(_) => (Counter::DirectMessages, Counter::DirectBytes),
            Self::Copy => (Counter::CopyMessages, Counter::CopyBytes),
            Self::Reference => (Counter::ReferenceMessages, Counter::ReferenceBytes),
            Self::Eager => (Counter::EagerMessages, Counter::EagerBytes),
            Self::Answer => (Counter::AnswerMessages, Counter::AnswerBytes),
            Self::Request => (Counter::RequestMessages, Counter::RequestBytes),
            Self::Lock | Self::Later => return None,
        })
    }
}

/// Tells whether a context is one of the program's communicators.
fn is_of_program(envelope: &Envelope) -> bool {
    envelope.context.is_multiple_of(2)
}

/// Counts a message that rank `rank` has sent.
#[inline(always)]
pub(crate) fn sent<Ring, R>(rank: u32, envelope: &Envelope, way: &Way<Ring, R>, bytes: u64) {
    if watch::is_counting()
        && let Some(counters) = way.counters()
    {
        count_sent(rank, envelope, counters, bytes);
    }
}

#[cold]
#[inline(never)]
fn count_sent(rank: u32, envelope: &Envelope, (messages, sums): (Counter, Counter), bytes: u64) {
    ranks::count(rank, messages, 1);
    ranks::count(rank, sums, bytes);
    if is_of_program(envelope) {
        let context = u64::from(envelope.context);
        ranks::count_of(rank, Counter::SentMessages, context, 1);
        ranks::count_of(rank, Counter::SentBytes, context, bytes);
    }
}

/// Counts a partition that rank `rank` has made ready; its envelope has the odd context of the program's communicator.
#[inline(always)]
pub(crate) fn made_ready(rank: u32, context: u32, bytes: u64) {
    if watch::is_counting() {
        let communicator = u64::from(context & !1);
        ranks::count_of(rank, Counter::Partitions, communicator, 1);
        ranks::count_of(rank, Counter::PartitionBytes, communicator, bytes);
    }
}

/// Counts a short message that has to ask first, as there was no credit.
#[inline(always)]
pub(crate) fn lacked_credit(rank: u32) {
    if watch::is_counting() {
        ranks::count(rank, Counter::CreditWaits, 1);
    }
}

/// Notes that a message for rank `rank` has met its receive. Holding locks is no obstacle.
#[inline(always)]
pub(crate) fn met(rank: u32, envelope: &Envelope, bytes: u64) {
    if watch::is_watched() {
        tell_met(rank, envelope, bytes);
    }
}

#[cold]
#[inline(never)]
fn tell_met(rank: u32, envelope: &Envelope, bytes: u64) {
    if !is_of_program(envelope) {
        return;
    }
    if watch::is_counting() {
        let context = u64::from(envelope.context);
        ranks::count_of(rank, Counter::MatchedMessages, context, 1);
        ranks::count_of(rank, Counter::MatchedBytes, context, bytes);
    }
    tell(rank, Event::MessageMatched, envelope, bytes);
}

/// Notes that a message for rank `rank` has come before its receive, so that `length` are queued. Holding locks is no obstacle.
#[inline(always)]
pub(crate) fn queued(rank: u32, envelope: &Envelope, bytes: u64, length: usize) {
    if watch::is_watched() {
        tell_queued(rank, envelope, bytes, length);
    }
}

#[cold]
#[inline(never)]
fn tell_queued(rank: u32, envelope: &Envelope, bytes: u64, length: usize) {
    if watch::is_counting() {
        ranks::count(rank, Counter::UnexpectedMessages, 1);
        ranks::of(rank).cells.note_unexpected(length as u64);
    }
    if is_of_program(envelope) {
        tell(rank, Event::MessageUnexpected, envelope, bytes);
    }
}

fn tell(rank: u32, event: Event, envelope: &Envelope, bytes: u64) {
    if watch::has_listeners_of(event) {
        let words = [envelope.source().into(), envelope.tag().into(), bytes as i64];
        ranks::tell(rank, event, envelope.context.into(), &words);
    }
}

/// A wait of a rank, from its beginning to its end, if waits are counted.
pub(crate) struct Waited(Option<(u32, u64)>);

impl Waited {
    #[inline(always)]
    pub(crate) fn begin(rank: u32) -> Self {
        Self(if watch::is_counting() { Some((rank, weft_sys::clock::now_ns())) } else { None })
    }
}

impl Drop for Waited {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some((rank, since)) = self.0 {
            ranks::count(rank, Counter::WaitingTime, weft_sys::clock::now_ns().saturating_sub(since));
        }
    }
}
