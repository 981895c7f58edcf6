//! Collective operations of the ranks of one process: what all of them read or write is merged.
//!
//! The ranks know of each other's operations, and some ranks carry out all that lies in a part of the file, whosever it is: pieces
//! that lie next to each other in the file become one, although their data is of several ranks. A part of the file is gone through
//! window by window, whose bytes are gathered from the ranks' memory, or go there.

use crate::access::Access;
use crate::transfer::{Direction, at};
use weft_base::Result;

/// The bytes of a window.
const WINDOW: u64 = 4 << 20;
/// What is read between two pieces although nobody wants it, at most.
const GAP: u64 = 16 << 10;

/// A piece of a window: where it lies in the file, how long it is, whose it is, and where in that one's data.
struct Piece {
    offset: u64,
    length: u64,
    owner: usize,
    position: u64,
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

    /// Carries out what of several operations in one direction, on one file, lies between two bytes of the file. Returns where the
    /// file has ended, if reading has met its end.
    ///
    /// # Errors
    /// The class of what the system says.
    pub fn carry_out_between(all: &[&Self], start: u64, end: u64) -> Result<Option<u64>> {
        let (mut from, mut buffer) = (start, Vec::new());
        // Where nobody has anything, nothing is looked at.
        while let Some(next) =
            all.iter().filter_map(|access| access.next_from(from)).min().filter(|&next| next < end)
        {
            let to = (next + WINDOW).min(end);
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
    let pieces = pieces(all, start, end);
    let (opened, direction) = (&all[0].opened, all[0].direction);
    let gap = if direction == Direction::Read { GAP } else { 0 };
    buffer.resize((end - start) as usize, 0);
    let mut rest = &pieces[..];
    while let Some(first) = rest.first() {
        let (mut behind, mut count) = (first.offset + first.length, 1);
        while let Some(next) = rest.get(count).filter(|next| next.offset <= behind + gap) {
            behind = behind.max(next.offset + next.length);
            count += 1;
        }
        let (run, others) = rest.split_at(count);
        rest = others;
        let bytes = &mut buffer[(first.offset - start) as usize..(behind - start) as usize];
        let place = |piece: &Piece| {
            let begin = (piece.offset - first.offset) as usize;
            begin..begin + piece.length as usize
        };
        if direction == Direction::Write {
            for piece in run {
                all[piece.owner].memory.take(piece.position, &mut bytes[place(piece)]);
            }
            let done = at(opened, direction, bytes, first.offset);
            opened.is_dirty.store(true, std::sync::atomic::Ordering::Release);
            done?;
            continue;
        }
        let there = at(opened, direction, bytes, first.offset)? as usize;
        for piece in run {
            let place = place(piece);
            let found = place.start.min(there)..place.end.min(there);
            all[piece.owner].memory.put(piece.position, &bytes[found]);
        }
        if there < bytes.len() {
            return Ok(Some(first.offset + there as u64));
        }
    }
    Ok(None)
}
