//! Collective operations of ranks that share no memory: what a rank hands to whoever works on a window of the file, and what that
//! one does with what all have handed over.

use crate::access::Access;
use crate::opened::Opened;
use crate::strides;
use crate::together::{Piece, carry};
use crate::transfer::Direction;
use weft_base::constants::MPI_ERR_OTHER;
use weft_base::{Error, Result};

/// Which of a rank's data lies in a window: from which byte on, and how much.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Share {
    first: u64,
    /// The number of bytes.
    pub length: u64,
}

impl Access {
    /// Returns what of its data lies in a window of the file.
    pub fn share(&self, (start, end): (u64, u64)) -> Share {
        let first = self.bytes_until(start);
        Share { first, length: self.bytes_until(end) - first }
    }

    /// Appends what tells where in the file a share lies.
    pub fn tell(&self, share: Share, out: &mut Vec<u8>) {
        let pieces = self.view.pieces(self.position + share.first, share.length);
        strides::write(pieces.into_iter().flatten(), out);
    }

    /// Copies a share's data out.
    pub fn take(&self, share: Share, out: &mut [u8]) {
        self.memory.take(share.first, out);
    }

    /// Copies a share's data in, as much of it as there was before the file's end, if reading has met that.
    pub fn put(&self, share: Share, bytes: &[u8], end: Option<u64>) {
        let there = end.map_or(share.length, |end| {
            self.bytes_until(end).clamp(share.first, share.first + share.length) - share.first
        });
        self.memory.put(share.first, &bytes[..there as usize]);
    }
}

/// The pieces of a window that are of any rank.
pub struct Window {
    pieces: Vec<Piece>,
}

impl Window {
    /// Puts together what all ranks have told, each with the length of its data.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if one has told what is not its data, or outside of the window.
    pub fn new<'a>((start, end): (u64, u64), told: impl Iterator<Item = (&'a [u8], u64)>) -> Result<Self> {
        let mut pieces = Vec::new();
        for (owner, (told, bytes)) in told.enumerate() {
            let mut position = 0;
            for (offset, length) in strides::read(told) {
                if offset < start || end - offset.min(end) < length {
                    let text = format!(
                        "rank {owner} of the file's group has told of bytes that are not in a window"
                    );
                    return Err(Error::new(MPI_ERR_OTHER, text));
                }
                pieces.push(Piece { offset, length, owner, position });
                position += length;
            }
            if position != bytes {
                let text =
                    format!("rank {owner} of the file's group has {bytes} bytes for pieces of {position}");
                return Err(Error::new(MPI_ERR_OTHER, text));
            }
        }
        // Of what several ranks write to one place the last one's stays.
        pieces.sort_by_key(|piece| piece.offset);
        Ok(Self { pieces })
    }

    /// Writes the ranks' data; the buffer is for what goes to the file.
    ///
    /// # Errors
    /// The class of what the system says.
    pub fn write(&self, opened: &Opened, data: &[&[u8]], buffer: &mut Vec<u8>) -> Result {
        let copy = &mut |piece: &Piece, bytes: &mut [u8]| {
            bytes.copy_from_slice(&data[piece.owner][piece.position as usize..][..piece.length as usize]);
        };
        carry(opened, Direction::Write, &self.pieces, buffer, copy).map(drop)
    }

    /// Reads the ranks' data. Returns where the file has ended, if its end was met.
    ///
    /// # Errors
    /// As [`Window::write`].
    pub fn read(&self, opened: &Opened, data: &mut [&mut [u8]], buffer: &mut Vec<u8>) -> Result<Option<u64>> {
        let copy = &mut |piece: &Piece, bytes: &mut [u8]| {
            data[piece.owner][piece.position as usize..][..bytes.len()].copy_from_slice(bytes);
        };
        carry(opened, Direction::Read, &self.pieces, buffer, copy)
    }
}
