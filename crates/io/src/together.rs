//! Collective operations of the ranks of one process: what all of them read or write is merged.
//!
//! The ranks know of each other's operations, and some ranks carry out all that lies in a part of the file, whosever it is: pieces
//! that lie next to each other in the file become one, although their data is of several ranks. A part of the file is gone through
//! window by window, whose bytes are gathered from the ranks' memory, or go there.

use crate::access::Access;
use crate::opened::Opened;
use crate::transfer::{Direction, at};
use std::sync::atomic::Ordering;
use weft_base::Result;

/// What is read between two pieces although nobody wants it, at most.
const GAP: u64 = 16 << 10;

/// A piece of a window: where it lies in the file, how long it is, whose it is, and where in that one's data.
pub(crate) struct Piece {
    pub offset: u64,
    pub length: u64,
    pub owner: usize,
    pub position: u64,
}

impl Access {
    /// Tells whether it may be merged with others: its pieces are in order, and conversions call none of the program's functions.
    pub fn is_mergeable(&self) -> bool {
        self.view.representation().is_plain() && !self.is_atomic && !self.view.overlaps()
    }

    /// Tells whether merging it with others would gain nothing, because it is one piece on both sides.
    pub fn is_one_piece(&self) -> bool {
        self.bytes == 0 || (self.range.1 - self.range.0 == self.bytes && self.memory.block().is_some())
    }

    /// Tells whether its pieces of the file have so many bytes on average, so that moving them needs few calls.
    pub fn has_pieces_of(&self, bytes: u64) -> bool {
        self.bytes == 0 || self.range.1 - self.range.0 == self.bytes || self.view.usual_piece() >= bytes
    }

    /// Tells whether it writes.
    pub fn writes(&self) -> bool {
        self.direction == Direction::Write
    }

    /// Returns how many bytes of the program's data it has.
    pub fn bytes(&self) -> u64 {
        self.memory.bytes()
    }

    /// Returns the bytes of the file that it touches: the first one, and the one behind the last.
    pub fn range(&self) -> (u64, u64) {
        self.range
    }

    /// Returns how many of its bytes lie before a byte of the file.
    pub fn bytes_until(&self, offset: u64) -> u64 {
        self.view.bytes_before(offset).clamp(self.position, self.position + self.bytes) - self.position
    }

    /// Carries out what of several operations in one direction, on one file, lies between two bytes of the file, in windows of so many
    /// bytes. Returns where the file has ended, if reading has met its end.
    ///
    /// # Errors
    /// The class of what the system says.
    pub fn carry_out_between(all: &[&Self], (start, end): (u64, u64), length: u64) -> Result<Option<u64>> {
        let (mut from, mut buffer) = (start, Vec::new());
        // Where nobody has anything, nothing is looked at.
        while let Some(next) =
            all.iter().filter_map(|access| access.next_from(from)).min().filter(|&next| next < end)
        {
            let to = next.saturating_add(length).min(end);
            if let Some(over) = window(all, next, to, &mut buffer)? {
                return Ok(Some(over));
            }
            from = to;
        }
        Ok(None)
    }

    /// Returns where its first byte from a byte of the file on lies.
    fn next_from(&self, offset: u64) -> Option<u64> {
        let done = self.bytes_until(offset);
        (done < self.bytes).then(|| self.view.offset(self.position + done)).flatten()
    }
}

/// Returns what of several operations lies in a window, in the order of the file.
fn pieces(all: &[&Access], start: u64, end: u64) -> Vec<Piece> {
    let mut found = Vec::new();
    for (owner, access) in all.iter().enumerate() {
        let (first, behind) = (access.bytes_until(start), access.bytes_until(end));
        let mut position = first;
        let cut = access.view.pieces(access.position + first, behind - first);
        for (offset, length) in cut.into_iter().flatten() {
            found.push(Piece { offset, length, owner, position });
            position += length;
        }
    }
    found.sort_unstable_by_key(|piece| piece.offset);
    found
}

/// Carries out a window. Returns where the file has ended, if reading has met its end.
fn window(all: &[&Access], start: u64, end: u64, buffer: &mut Vec<u8>) -> Result<Option<u64>> {
    let direction = all[0].direction;
    let copy = &mut |piece: &Piece, bytes: &mut [u8]| match direction {
        Direction::Write => all[piece.owner].memory.take(piece.position, bytes),
        Direction::Read => all[piece.owner].memory.put(piece.position, bytes),
    };
    carry(&all[0].opened, direction, &pieces(all, start, end), buffer, copy)
}

/// Moves pieces, which are in the order of the file, between it and their owners' data: `copy` copies one, or what there was of one
/// that is read. Those that lie next to each other go through the buffer together. Returns where the file has ended, if reading has
/// met its end.
///
/// # Errors
/// The class of what the system says.
pub(crate) fn carry(
    opened: &Opened,
    direction: Direction,
    pieces: &[Piece],
    buffer: &mut Vec<u8>,
    copy: &mut dyn FnMut(&Piece, &mut [u8]),
) -> Result<Option<u64>> {
    let gap = if direction == Direction::Read { GAP } else { 0 };
    let mut rest = pieces;
    while let Some(first) = rest.first() {
        let (mut behind, mut count) = (first.offset + first.length, 1);
        while let Some(next) = rest.get(count).filter(|next| next.offset <= behind + gap) {
            behind = behind.max(next.offset + next.length);
            count += 1;
        }
        let (run, others) = rest.split_at(count);
        rest = others;
        let length = (behind - first.offset) as usize;
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        let bytes = &mut buffer[..length];
        let place = |piece: &Piece| {
            let begin = (piece.offset - first.offset) as usize;
            begin..begin + piece.length as usize
        };
        if direction == Direction::Write {
            for piece in run {
                copy(piece, &mut bytes[place(piece)]);
            }
            let done = at(opened, direction, bytes, first.offset);
            opened.is_dirty.store(true, Ordering::Release);
            done?;
            continue;
        }
        let there = at(opened, direction, bytes, first.offset)? as usize;
        for piece in run {
            let place = place(piece);
            copy(piece, &mut bytes[place.start.min(there)..place.end.min(there)]);
        }
        if there < length {
            return Ok(Some(first.offset + there as u64));
        }
    }
    Ok(None)
}
