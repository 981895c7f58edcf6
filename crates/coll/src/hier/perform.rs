//! What the steps of a program do with buffers, cells and messages.
#![allow(unsafe_code)] // Packs and unpacks, and describes cells as elements.

use super::bytes::{self, ALIGN, Building, Bytes};
use super::crossing::Crossing;
use super::exchange::{Message, Parcel};
use super::planner::Choice;
use super::program::{Action, Item, Piece, Program};
use crate::blocking::reduction::blocks;
use crate::operation::buffer::{Data, Scratch};
use crate::operation::call::Description;
use core::ops::Range;
use std::sync::Arc;
use weft_base::constants::MPI_ERR_OTHER;
use weft_base::{Error, Result};

/// What is reduced over all operands at a time, in bytes: it stays in the first-level cache.
const BLOCK_BYTES: u32 = 16 << 10;

/// How a step went.
pub(crate) enum Outcome {
    /// It has made cells.
    Cells(Vec<Bytes>),
    /// It is over.
    Nothing,
    /// It will be over when a device says so.
    Later,
    /// The operation cannot go on.
    Failed(Error),
}

/// What went wrong for whom.
pub(crate) type Failures = Vec<(u32, Error)>;

fn note(failures: &mut Failures, member: u32, result: Result) {
    if let Err(error) = result {
        failures.push((member, error));
    }
}

#[cold]
fn malformed(what: &str) -> Error {
    Error::new(
        MPI_ERR_OTHER,
        format!("{what} in a collective operation do not have the length they should have"),
    )
}

impl Crossing {
    /// Does a step; `member` is the one whose thread does it.
    #[expect(clippy::too_many_arguments, reason = "one call, and each is needed")]
    pub(crate) fn perform(
        self: &Arc<Self>,
        program: &Program,
        step: u32,
        call: Description,
        choice: &Choice,
        member: u32,
        message: Option<Message>,
        failures: &mut Failures,
    ) -> Outcome {
        match program.action(step) {
            Action::Join { .. } => Outcome::Cells(vec![Bytes::default()]),
            Action::Send { to, part, key, cells } => {
                let cells: Vec<&Bytes> = cells.iter().map(|&cell| self.cell(cell)).collect();
                let data = bytes::join(&cells);
                let (node, header) = self.header(*to, *part, *key, call, program.shape);
                let sent = self.spread.exchange.send(node, header, data, self, step);
                if sent { Outcome::Nothing } else { Outcome::Later }
            }
            Action::Receive { cells, .. } => {
                let message = message.expect("the step waits for it");
                let exchange = self.spread.exchange;
                let data = match message.parcel {
                    Parcel::Here(data, credit) => {
                        exchange.used(message.from, credit);
                        data
                    }
                    Parcel::Offer(offer) => match exchange.read(message.from, &offer) {
                        Ok(data) => data,
                        Err(refusal) => {
                            return Outcome::Failed(Error::new(MPI_ERR_OTHER, refusal.to_string()));
                        }
                    },
                    Parcel::Abort | Parcel::Common(_) => return Outcome::Failed(malformed("messages")),
                };
                match bytes::split(&data, cells.len()) {
                    Some(parts) => Outcome::Cells(parts),
                    None => Outcome::Failed(malformed("messages")),
                }
            }
            Action::Take { member, piece, .. } => Outcome::Cells(vec![self.take(choice, *member, piece)]),
            Action::Give { member, piece, cells, .. } => {
                let cells: Vec<&Bytes> = cells.iter().map(|&cell| self.cell(cell)).collect();
                let result = self.give(choice, *member, piece, &cells);
                note(failures, *member, result);
                Outcome::Nothing
            }
            Action::Collect { member, sources } => {
                for &source in sources {
                    self.copy(choice, source, *member, failures);
                }
                Outcome::Nothing
            }
            Action::Fold { items, range, .. } => match self.fold(items, range, member) {
                Ok(cell) => Outcome::Cells(vec![cell]),
                Err(error) => Outcome::Failed(error),
            },
        }
    }

    /// Returns the only buffer of a member: what it contributes, or where that is in place.
    fn value(&self, member: u32) -> Option<Data<'_>> {
        let contribution = self.contribution(member);
        contribution.send.piece(0).or_else(|| contribution.receive.piece(0))
    }

    fn outgoing(&self, member: u32, place: u32, in_place: u32) -> Option<Data<'_>> {
        let contribution = self.contribution(member);
        contribution.send.piece(place).or_else(|| contribution.receive.piece(in_place))
    }

    /// Copies what one member has for another of the same node process.
    fn copy(&self, choice: &Choice, from: u32, to: u32, failures: &mut Failures) {
        let members = &choice.members;
        let send = self.outgoing(from, members.rank(to), members.rank(from));
        let receive = self.contribution(to).receive.piece(members.rank(from));
        if let (Some(send), Some(receive)) = (send, receive) {
            note(failures, to, send.copy_to(&receive));
        }
    }

    fn take(&self, choice: &Choice, member: u32, piece: &Piece) -> Bytes {
        let members = &choice.members;
        match piece {
            Piece::Bytes(range) => {
                let Some(data) = self.value(member) else { return Bytes::default() };
                let range = range.start.min(data.bytes())..range.end.min(data.bytes());
                let mut building = Building::new((range.end - range.start) as usize);
                // SAFETY: the building has as many bytes.
                unsafe { data.pack_part(range.start, building.address(), range.end - range.start) };
                building.finish()
            }
            Piece::Peer { place, in_place } => pack(&[self.outgoing(member, *place, *in_place)]),
            Piece::ForNode(node) => {
                let peers = self.spread.layout.on(*node, &members.peers(member));
                let piece = |&peer: &u32| self.outgoing(member, members.rank(peer), members.rank(peer));
                pack(&peers.iter().map(piece).collect::<Vec<_>>())
            }
            Piece::FromNode(_) | Piece::FromNodeAt(..) | Piece::Mine(_) | Piece::Nothing => Bytes::default(),
        }
    }

    fn give(&self, choice: &Choice, member: u32, piece: &Piece, cells: &[&Bytes]) -> Result {
        let members = &choice.members;
        let receive = &self.contribution(member).receive;
        let sources = |node: u32| self.spread.layout.on(node, &members.peers(member));
        // All pieces are unpacked even if one does not fit.
        let mut result = Ok(());
        match piece {
            Piece::Bytes(range) => {
                if let (Some(data), Some(cell)) = (receive.piece(0), cells.first()) {
                    result = unpack(&data, range.start, cell.as_slice());
                }
            }
            Piece::Peer { place, .. } => {
                if let (Some(data), Some(cell)) = (receive.piece(*place), cells.first()) {
                    result = unpack(&data, 0, cell.as_slice());
                }
            }
            Piece::FromNode(node) => {
                for (&source, cell) in sources(*node).iter().zip(cells) {
                    if let Some(data) = receive.piece(members.rank(source)) {
                        result = result.and(unpack(&data, 0, cell.as_slice()));
                    }
                }
            }
            Piece::FromNodeAt(node, index) => {
                let count = self.spread.layout.on(self.spread.me, &members.group(member)).len();
                for (&source, cell) in sources(*node).iter().zip(cells) {
                    let Some(parts) = bytes::split(cell, count) else { return Err(malformed("messages")) };
                    if let Some(data) = receive.piece(members.rank(source)) {
                        result = result.and(unpack(&data, 0, parts[*index as usize].as_slice()));
                    }
                }
            }
            Piece::Mine(first) => {
                if let (Some(data), Some(cell)) = (receive.piece(0), cells.first()) {
                    let mine = &self.contribution(member).mine;
                    let element = data.datatype().size().max(1);
                    let last = first + cell.len() as u64 / element;
                    let (start, end) = (mine.start.max(*first), mine.end.min(last));
                    if start < end {
                        let inside = (start - first) * element..(end - first) * element;
                        let part = &cell.as_slice()[inside.start as usize..inside.end as usize];
                        result = unpack(&data, (start - mine.start) * element, part);
                    }
                }
            }
            Piece::ForNode(_) | Piece::Nothing => {}
        }
        result
    }

    /// Reduces a range of elements of some operands: `a0 op (a1 op (… op an))`.
    fn fold(&self, items: &[Item], range: &Range<u64>, member: u32) -> Result<Bytes> {
        let contribution = self.contribution(member);
        let operator = contribution.operator.as_ref().expect("reductions have an operator").operator();
        let like = self.value(member).ok_or_else(|| malformed("buffers"))?;
        let datatype = like.datatype();
        let size = datatype.size();
        let is_dense = datatype.is_dense();
        let count = range.end - range.start;
        let mut building = Building::new((count * size) as usize);
        let result = building.address();
        let operands = items.iter().map(|item| {
            Ok(match *item {
                Item::Member(member) => {
                    let data = self.value(member).filter(|data| data.count() >= range.end);
                    Operand::Buffer(data.ok_or_else(|| malformed("buffers"))?.part(range.start, count))
                }
                Item::Cell(cell) => {
                    let cell = self.cell(cell);
                    let (length, all) = (cell.len() as u64, count * size);
                    // A partial result has these elements only, a contribution that was copied aside has all.
                    let first = if length == all { 0 } else { range.start * size };
                    let part = cell.part(first as usize, all as usize);
                    Operand::Packed(part.ok_or_else(|| malformed("partial results"))?)
                }
            })
        });
        let operands = operands.collect::<Result<Vec<Operand<'_>>>>()?;
        let step = crate::blocking::reduction::block(BLOCK_BYTES, datatype);
        let scratch = |needed: bool| needed.then(|| Scratch::new(step.min(count), datatype));
        let (target, source) = (scratch(!is_dense), scratch(!is_dense));
        for part in blocks(0..count, BLOCK_BYTES, datatype) {
            let length = part.end - part.start;
            // SAFETY: `length` elements from `part.start` on lie in the building, which has `count`.
            let place = unsafe { result.add((part.start * size) as usize) };
            let into = match &target {
                Some(scratch) => scratch.data(length),
                // SAFETY: dense elements, as many as there is room for; only this thread knows the building.
                None => unsafe { Data::new(place.cast_const().cast(), length, datatype) },
            };
            for (index, operand) in operands.iter().rev().enumerate() {
                let data = match operand {
                    Operand::Buffer(data) => data.part(part.start, length),
                    Operand::Packed(cell) => {
                        let address = cell.address().wrapping_add((part.start * size) as usize);
                        match &source {
                            Some(scratch) => {
                                let data = scratch.data(length);
                                // SAFETY: the cell has `count` packed elements; the scratch has room for `length`.
                                unsafe { data.unpack(address, length * size)? };
                                data
                            }
                            // SAFETY: dense elements of the cell, which `operands` keeps; they are only read.
                            None => unsafe { Data::new(address.cast(), length, datatype) },
                        }
                    }
                };
                if index == 0 { data.copy_to(&into)? } else { operator.apply(&data, &into) }
            }
            if let Some(scratch) = &target {
                // SAFETY: as many packed bytes as the building has for these elements.
                unsafe { scratch.data(length).pack(place) };
            }
        }
        Ok(building.finish())
    }
}

enum Operand<'a> {
    Buffer(Data<'a>),
    Packed(Bytes),
}

/// Packs pieces as [`bytes::join`] would join them.
fn pack(pieces: &[Option<Data<'_>>]) -> Bytes {
    let length = |piece: &Option<Data<'_>>| piece.map_or(0, |data| data.bytes()) as usize;
    if let [one] = pieces {
        let mut building = Building::new(length(one));
        if let Some(data) = one {
            // SAFETY: the building has as many bytes.
            unsafe { data.pack(building.address()) };
        }
        return building.finish();
    }
    let table = (8 * pieces.len()).next_multiple_of(ALIGN);
    let total = table + pieces.iter().map(|piece| length(piece).next_multiple_of(ALIGN)).sum::<usize>();
    let mut building = Building::new(total);
    let mut place = table;
    for (index, piece) in pieces.iter().enumerate() {
        let length = length(piece);
        building.as_mut_slice()[8 * index..][..8].copy_from_slice(&(length as u64).to_le_bytes());
        if let Some(data) = piece {
            // SAFETY: from `place` on the building has `length` bytes, by the sum above.
            unsafe { data.pack(building.address().add(place)) };
        }
        place += length.next_multiple_of(ALIGN);
    }
    building.finish()
}

/// Unpacks bytes into a buffer, from a byte of its packed form on.
///
/// # Errors
/// `MPI_ERR_TRUNCATE` if they do not fit.
fn unpack(data: &Data<'_>, first: u64, bytes: &[u8]) -> Result {
    // SAFETY: the slice has as many bytes.
    unsafe { data.unpack_part(first, bytes.as_ptr(), bytes.len() as u64) }
}
