//! An operation between processes, in pieces: where each piece's data lies at the target, as blocks at regular distances, and, for
//! accumulate functions, of which elements it is made. So the target needs to know no datatypes.
//!
//! A piece is told as numbers of 8 bytes: how many kinds of elements and rows of blocks there are; of each kind its code and how many
//! there are; of each row the address of the first block, the length of one, the distance, and their number. Then comes the data.

use crate::target::Elements;

/// How much longer than its limit a piece may become, to end with a whole element.
const SLACK: u64 = 64;
/// The most rows and kinds of a piece.
const MOST: usize = 64;

/// The longest that all but the data of a piece becomes.
pub const OVERHEAD: u64 = 8 * (1 + 6 * MOST as u64) + SLACK;

/// Blocks at regular distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    pub address: u64,
    pub block: u64,
    pub stride: u64,
    pub count: u64,
}

/// A piece.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Piece {
    /// Codes of elements, and how many there are of each in turn; none where it does not matter.
    pub kinds: Vec<(u32, u64)>,
    pub rows: Vec<Row>,
    /// How much data there is.
    pub bytes: u64,
}

impl Piece {
    fn add(&mut self, address: u64, length: u64) {
        self.bytes += length;
        if let Some(row) = self.rows.last_mut() {
            if row.count == 1 && row.address.wrapping_add(row.block) == address {
                row.block += length;
                return;
            }
            if row.block == length {
                if row.count == 1 {
                    (row.stride, row.count) = (address.wrapping_sub(row.address), 2);
                    return;
                }
                if row.address.wrapping_add(row.stride.wrapping_mul(row.count)) == address {
                    row.count += 1;
                    return;
                }
            }
        }
        self.rows.push(Row { address, block: length, stride: 0, count: 1 });
    }

    fn note(&mut self, code: u32, count: u64) {
        match self.kinds.last_mut() {
            Some((last, number)) if *last == code => *number += count,
            _ => self.kinds.push((code, count)),
        }
    }

    /// Writes it, with nothing of its data.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut put = |word: u64| out.extend_from_slice(&word.to_le_bytes());
        put(self.kinds.len() as u64 | (self.rows.len() as u64) << 32);
        self.kinds.iter().for_each(|&(code, count)| [u64::from(code), count].into_iter().for_each(&mut put));
        for row in &self.rows {
            [row.address, row.block, row.stride, row.count].into_iter().for_each(&mut put);
        }
    }

    /// Reads one, and returns what follows. Returns nothing if it is none.
    pub fn read(input: &[u8]) -> Option<(Self, &[u8])> {
        let mut rest = input;
        let mut take = || {
            let (word, further) = rest.split_first_chunk::<8>()?;
            rest = further;
            Some(u64::from_le_bytes(*word))
        };
        let head = take()?;
        let (kinds, rows) = (head as u32 as usize, (head >> 32) as usize);
        if kinds > MOST + 1 || rows > MOST + 1 {
            return None;
        }
        let mut piece = Self::default();
        for _ in 0..kinds {
            piece.kinds.push((u32::try_from(take()?).ok()?, take()?));
        }
        for _ in 0..rows {
            let row = Row { address: take()?, block: take()?, stride: take()?, count: take()? };
            piece.bytes =
                piece.bytes.checked_add(row.block.checked_mul(row.count).filter(|&all| all > 0)?)?;
            piece.rows.push(row);
        }
        Some((piece, rest))
    }

    /// Calls `visit` for each block.
    pub fn for_each(&self, mut visit: impl FnMut(u64, u64)) {
        for row in &self.rows {
            for number in 0..row.count {
                visit(row.address.wrapping_add(row.stride.wrapping_mul(number)), row.block);
            }
        }
    }
}

/// Makes pieces of an operation's runs of bytes.
pub struct Cutter<'a, E> {
    /// The most data of a piece.
    limit: u64,
    elements: Option<Elements<'a>>,
    /// How much of an element has come whose bytes come in several runs.
    begun: u64,
    piece: Piece,
    emit: E,
}

impl<'a, E: FnMut(Piece)> Cutter<'a, E> {
    /// Begins. With `elements` pieces end with whole ones.
    pub fn new(limit: u64, elements: Option<Elements<'a>>, emit: E) -> Self {
        Self { limit, elements, begun: 0, piece: Piece::default(), emit }
    }

    fn cut(&mut self) {
        if self.piece.bytes > 0 {
            (self.emit)(core::mem::take(&mut self.piece));
        }
    }

    /// Adds a run.
    pub fn run(&mut self, mut address: u64, mut length: u64) {
        while length > 0 {
            let (code, size, most) = self.elements.as_ref().map_or((0, 1, u64::MAX), Elements::coming);
            let is_full = self.piece.bytes + size > self.limit
                || self.piece.rows.len() >= MOST
                || self.piece.kinds.len() >= MOST;
            if self.begun == 0 && is_full {
                self.cut();
            }
            let whole = (length / size).min(most).min((self.limit.max(size) - self.piece.bytes) / size);
            let done = if self.begun > 0 || whole == 0 {
                let part = (size - self.begun).min(length);
                if self.begun == 0 {
                    self.piece.note(code, 1);
                }
                self.begun = (self.begun + part) % size;
                if self.begun == 0
                    && let Some(elements) = &mut self.elements
                {
                    elements.skip(1);
                }
                part
            } else {
                if let Some(elements) = &mut self.elements {
                    self.piece.note(code, whole);
                    elements.skip(whole);
                }
                whole * size
            };
            self.piece.add(address, done);
            address = address.wrapping_add(done);
            length -= done;
        }
    }

    /// Ends.
    pub fn finish(mut self) {
        self.cut();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_base::constants as c;
    use weft_datatype::{Basic, Datatype};

    fn cut(limit: u64, ty: &Datatype, count: u64, has_elements: bool) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let elements = has_elements.then(|| Elements::of(ty));
        let mut cutter = Cutter::new(limit, elements, |piece| pieces.push(piece));
        weft_datatype::for_each_run(ty, count, |offset, bytes| cutter.run(offset as u64, bytes));
        cutter.finish();
        pieces
    }

    fn runs(pieces: &[Piece]) -> Vec<u64> {
        let mut bytes = Vec::new();
        for piece in pieces {
            piece.for_each(|address, length| bytes.extend(address..address + length));
        }
        bytes
    }

    fn basic(handle: weft_base::abi::Datatype) -> Datatype {
        Datatype::of(Basic::from_handle(handle).unwrap()).clone()
    }

    #[test]
    fn pieces_have_all_bytes_in_order_and_are_read_as_written() {
        let pair = basic(c::MPI_DOUBLE_INT);
        let types = [basic(c::MPI_DOUBLE), basic(c::MPI_CHAR), pair, basic(c::MPI_SHORT_INT)];
        for ty in &types {
            let mut expected = Vec::new();
            weft_datatype::for_each_run(ty, 100, |offset, bytes| {
                expected.extend(offset as u64..offset as u64 + bytes);
            });
            for (limit, has_elements) in [(1, false), (16, true), (100, true), (100, false), (1 << 20, true)]
            {
                let pieces = cut(limit, ty, 100, has_elements);
                assert_eq!(runs(&pieces), expected);
                for piece in &pieces {
                    assert!(piece.bytes <= limit.max(ty.size()) && piece.bytes > 0);
                    assert!(!has_elements || piece.bytes.is_multiple_of(ty.size()));
                    let mut written = Vec::new();
                    piece.write(&mut written);
                    assert!(written.len() as u64 <= OVERHEAD);
                    written.extend_from_slice(b"data");
                    assert_eq!(Piece::read(&written), Some((piece.clone(), &b"data"[..])));
                    assert!(Piece::read(&written[..written.len() - 5]).is_none());
                }
            }
        }
        assert_eq!(cut(1 << 20, &types[0], 1000, true).len(), 1);
    }
}
