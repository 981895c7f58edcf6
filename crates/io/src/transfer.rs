//! Moving bytes between memory and pieces of a file.
//!
//! Data that lies in one block goes between the program's memory and the file without a copy. Other data is gathered in a buffer, a
//! part at a time. Small pieces that lie near each other are read together with what is between them; written they are one by one,
//! because others may write what is between them.
#![allow(unsafe_code)] // Reads into, and writes from, memory whose owners vouch for it.

use crate::failure::failed;
use crate::memory::Memory;
use crate::opened::Opened;
use crate::view::View;
use std::io;
use std::os::fd::AsFd;
use weft_base::Result;
use weft_sys::file::{Piece, read_at, write_at};

/// The most that is gathered at a time.
const PART: u64 = 4 << 20;
/// How far pieces that are read together reach at most, how long each is at most, and how much of what is read is wanted: one in so
/// many bytes at least.
const REACH: u64 = 512 << 10;
const SHORT: u64 = 8 << 10;
const USEFUL: u64 = 8;

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the file.
    Read,
    /// To the file.
    Write,
}

/// Reads or writes all bytes of a piece; of one that ends behind the end of the file, as many as there are.
///
/// # Safety
/// The memory is valid for `length` bytes: for writes if the file is read, for reads if it is written.
unsafe fn whole(
    opened: &Opened,
    direction: Direction,
    address: *mut u8,
    offset: u64,
    length: u64,
) -> Result<u64> {
    let mut done = 0;
    while done < length {
        let rest = usize::try_from(length - done).unwrap_or(usize::MAX);
        let piece = Piece { address: address.wrapping_add(done as usize), length: rest };
        let fd = opened.file.as_fd();
        // SAFETY: the rest of what the caller vouches for.
        let moved = unsafe {
            match direction {
                Direction::Read => read_at(fd, &[piece], offset + done),
                Direction::Write => write_at(fd, &[piece], offset + done),
            }
        };
        match (moved, direction) {
            (Ok(0), Direction::Read) => break,
            // Nothing may be reported as written that the file system has not taken.
            (Ok(0), Direction::Write) => {
                let none = io::Error::from(io::ErrorKind::WriteZero);
                return Err(failed("writing", &opened.name, Some(offset + done), &none));
            }
            (Ok(bytes), _) => done += bytes as u64,
            (Err(refusal), _) => {
                let doing = if direction == Direction::Read { "reading" } else { "writing" };
                return Err(failed(doing, &opened.name, Some(offset + done), &refusal));
            }
        }
    }
    Ok(done)
}

/// Pieces near each other that are read together, with what is between them.
#[derive(Default)]
struct Together {
    pieces: Vec<(u64, u64)>,
    wanted: u64,
    buffer: Vec<u8>,
}

impl Together {
    /// Tells whether a further piece may be read with those there are.
    fn takes(&self, (start, length): (u64, u64)) -> bool {
        let Some(&(first, _)) = self.pieces.first() else { return length <= SHORT };
        let reach = start + length - first;
        length <= SHORT && reach <= REACH && reach <= USEFUL * (self.wanted + length)
    }

    fn add(&mut self, piece: (u64, u64)) {
        self.pieces.push(piece);
        self.wanted += piece.1;
    }

    /// Reads the pieces to where they go, one behind the other. Returns how many bytes there were.
    ///
    /// # Safety
    /// There is room for all of them.
    unsafe fn read(&mut self, opened: &Opened, to: *mut u8) -> Result<u64> {
        let pieces = core::mem::take(&mut self.pieces);
        self.wanted = 0;
        let (Some(&(first, length)), Some(&(last, last_length))) = (pieces.first(), pieces.last()) else {
            return Ok(0);
        };
        if pieces.len() == 1 {
            // SAFETY: the caller's promise.
            return unsafe { whole(opened, Direction::Read, to, first, length) };
        }
        self.buffer.resize((last + last_length - first) as usize, 0);
        let buffer = self.buffer.as_mut_ptr();
        // SAFETY: the buffer was just made so long.
        let found = unsafe { whole(opened, Direction::Read, buffer, first, self.buffer.len() as u64) }?;
        let mut done = 0;
        for (start, length) in pieces {
            let there = found.saturating_sub(start - first).min(length);
            let from = &self.buffer[(start - first) as usize..][..there as usize];
            // SAFETY: the caller's promise; so much of it is filled.
            unsafe { to.add(done as usize).copy_from_nonoverlapping(from.as_ptr(), from.len()) };
            done += there;
            if there < length {
                break;
            }
        }
        Ok(done)
    }
}

/// Moves `length` bytes between memory, where they lie one behind the other, and the data of a view from `position` on. Returns
/// how many were moved: less than all where the file ends.
///
/// # Safety
/// As [`whole`].
unsafe fn block(
    opened: &Opened,
    view: &View,
    direction: Direction,
    address: *mut u8,
    position: u64,
    length: u64,
) -> Result<u64> {
    let pieces = view.pieces(position, length).expect("checked before");
    let mut done = 0;
    if direction == Direction::Write {
        for (offset, length) in pieces {
            // SAFETY: pieces make up the data that the caller vouches for.
            done += unsafe { whole(opened, direction, address.wrapping_add(done as usize), offset, length) }?;
        }
        return Ok(done);
    }
    let mut together = Together::default();
    // SAFETY: whatever is read follows what was read before, and all of it makes up the caller's data.
    unsafe {
        for piece in pieces {
            if !together.takes(piece) {
                let wanted = together.wanted;
                let found = together.read(opened, address.wrapping_add(done as usize))?;
                done += found;
                if found < wanted {
                    return Ok(done);
                }
            }
            if piece.1 > SHORT {
                let found = whole(opened, direction, address.wrapping_add(done as usize), piece.0, piece.1)?;
                done += found;
                if found < piece.1 {
                    return Ok(done);
                }
            } else {
                together.add(piece);
            }
        }
        done += together.read(opened, address.wrapping_add(done as usize))?;
    }
    Ok(done)
}

/// Moves bytes that lie one behind the other on both sides. Returns how many there were.
pub(crate) fn at(opened: &Opened, direction: Direction, bytes: &mut [u8], offset: u64) -> Result<u64> {
    // SAFETY: the slice is valid for reads and writes.
    unsafe { whole(opened, direction, bytes.as_mut_ptr(), offset, bytes.len() as u64) }
}

/// Moves bytes that lie one behind the other in memory.
pub(crate) fn bytes(
    opened: &Opened,
    view: &View,
    direction: Direction,
    bytes: &mut [u8],
    position: u64,
) -> Result<u64> {
    // SAFETY: the slice is valid for reads and writes.
    unsafe { block(opened, view, direction, bytes.as_mut_ptr(), position, bytes.len() as u64) }
}

/// Moves the program's data. Returns how many bytes of it were moved.
pub(crate) fn data(
    opened: &Opened,
    view: &View,
    direction: Direction,
    memory: &Memory,
    position: u64,
) -> Result<u64> {
    let all = memory.bytes();
    if let Some(address) = memory.block() {
        // SAFETY: `Memory` was promised its data, in this direction.
        return unsafe { block(opened, view, direction, address, position, all) };
    }
    let mut buffer = vec![0; all.min(PART) as usize];
    let mut done = 0;
    while done < all {
        let part = &mut buffer[..(all - done).min(PART) as usize];
        if direction == Direction::Write {
            memory.take(done, part);
        }
        let moved = bytes(opened, view, direction, part, position + done)?;
        if direction == Direction::Read {
            memory.put(done, &part[..moved as usize]);
        }
        done += moved;
        if moved < part.len() as u64 {
            break;
        }
    }
    Ok(done)
}
