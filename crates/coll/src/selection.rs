//! Which algorithm runs, by size: one table for all operations.

use crate::shared::Slots;

/// How an operation moves its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Algorithm {
    /// Through slots: one round, nobody waits who needs nothing.
    Slots,
    /// Ranks show each other their buffers and read them in place: two rounds.
    InPlace,
}

/// The largest broadcast, in bytes, that goes through the root's slots although every receiver then copies a copy: below
/// it the root's freedom to go on is worth more.
const BROADCAST_BYTES: u64 = 8 << 10;

/// The smallest part of a large reduction, in bytes, that is worth a rank's turn.
pub(crate) const SEGMENT_BYTES: u64 = 2 << 10;

/// The part of a segment that is reduced over all ranks at a time, in bytes: it stays in the first-level cache.
pub(crate) const BLOCK_BYTES: u64 = 16 << 10;

/// Returns how a root hands out the same `bytes` bytes to all.
pub(crate) fn broadcast(slots: &Slots, bytes: u64) -> Algorithm {
    if bytes <= BROADCAST_BYTES.min(slots.total() as u64) { Algorithm::Slots } else { Algorithm::InPlace }
}

/// Returns how ranks contribute at most `bytes` bytes each.
pub(crate) fn contribution(slots: &Slots, bytes: u64) -> Algorithm {
    if bytes <= slots.capacity() as u64 { Algorithm::Slots } else { Algorithm::InPlace }
}

/// Tells whether a reduction among `size` ranks whose data takes `span` bytes in a slot, if it can be in one, is done in
/// one step: when the blocking form goes through slots, so that both give the same result.
pub(crate) fn is_small(size: u32, span: Option<u64>) -> bool {
    span.is_some_and(|span| span <= Slots::capacity_for(size as usize) as u64)
}

/// Returns how ranks reduce data that takes `span` bytes in a slot, if it can be in one.
pub(crate) fn reduction(slots: &Slots, span: Option<u64>) -> Algorithm {
    span.map_or(Algorithm::InPlace, |span| contribution(slots, span))
}
