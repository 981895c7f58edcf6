//! Pieces of a file in few words: pieces of one length at one distance from each other are one stride.

/// Pieces of one length at one distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stride {
    offset: u64,
    length: u64,
    /// From the begin of one piece to that of the next.
    step: u64,
    count: u64,
}

/// The bytes of a stride on its way.
const BYTES: usize = 32;

impl Stride {
    /// Takes a further piece, if it fits.
    fn takes(&mut self, (offset, length): (u64, u64)) -> bool {
        if length != self.length {
            return false;
        }
        if self.count == 1 && offset > self.offset {
            self.step = offset - self.offset;
        } else if self.count == 1 || self.offset + self.count * self.step != offset {
            return false;
        }
        self.count += 1;
        true
    }

    fn write(&self, out: &mut Vec<u8>) {
        for word in [self.offset, self.length, self.step, self.count] {
            out.extend_from_slice(&word.to_ne_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Self {
        let word = |at: usize| u64::from_ne_bytes(bytes[8 * at..8 * at + 8].try_into().expect("eight bytes"));
        Self { offset: word(0), length: word(1), step: word(2), count: word(3) }
    }
}

/// Appends what tells of pieces, which are in the order of the file.
pub(crate) fn write(pieces: impl Iterator<Item = (u64, u64)>, out: &mut Vec<u8>) {
    let mut open: Option<Stride> = None;
    for piece in pieces {
        if !open.as_mut().is_some_and(|stride| stride.takes(piece)) {
            open.iter().for_each(|stride| stride.write(out));
            open = Some(Stride { offset: piece.0, length: piece.1, step: 0, count: 1 });
        }
    }
    open.iter().for_each(|stride| stride.write(out));
}

/// Returns the pieces that [`write`] has told of.
pub(crate) fn read(told: &[u8]) -> impl Iterator<Item = (u64, u64)> + '_ {
    told.chunks_exact(BYTES).map(Stride::read).flat_map(|stride| {
        (0..stride.count).map(move |number| (stride.offset + number * stride.step, stride.length))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_trials::rounds;

    #[test]
    fn what_is_told_comes_back_and_what_is_regular_is_short() {
        let regular: Vec<_> = (0..1000).map(|number| (number * 50, 8)).collect();
        let mut told = Vec::new();
        write(regular.iter().copied(), &mut told);
        assert_eq!(told.len(), BYTES);
        assert!(read(&told).eq(regular));
        let mut seed = 3u64;
        let mut below = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % limit
        };
        for _ in 0..rounds(200) {
            let (mut at, mut pieces) = (0, Vec::new());
            for _ in 0..below(30) {
                at += below(3) * 4;
                let length = 1 + below(2) * 3;
                pieces.push((at, length));
                at += length;
            }
            told.clear();
            write(pieces.iter().copied(), &mut told);
            assert!(read(&told).eq(pieces.iter().copied()), "{pieces:?}");
        }
    }
}
