//! Joining layouts that follow each other: neighbouring runs become one run, runs at equal distances one strided entry,
//! other runs one list; short lists are taken apart so that their runs take part in this.

use crate::layout::{Kind, Placed};
use crate::offsets::{Ends, Offsets};

/// A list of at most this many runs is taken apart when it becomes part of a sequence.
const FLATTEN: usize = 16;

/// Runs of different lengths that are multiples of one length are listed as blocks of that length if there are not
/// many more of those: a loop over equal blocks has no branch that depends on the data.
const UNITS_OF_RUN: u64 = 4;
const SMALLEST_UNIT: u64 = 4;

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// A sequence nested deeper than this is taken apart wherever its lists are not longer than `FLATTEN_DEEP`.
const DEEP: u32 = 24;
const FLATTEN_DEEP: usize = 1 << 16;

/// A sequence under construction: finished parts, and runs that are still being merged.
pub(crate) struct Joined {
    parts: Vec<Placed>,
    runs: Vec<(i64, u64)>,
    flatten: usize,
}

impl Joined {
    pub(crate) fn new() -> Self {
        Self { parts: Vec::new(), runs: Vec::new(), flatten: FLATTEN }
    }

    pub(crate) fn add(&mut self, part: Placed) {
        match part.layout.kind {
            _ if part.size() == 0 => {}
            Kind::Run => self.run(part.offset, part.layout.size),
            Kind::Strided { block, count, stride } if count <= self.flatten as u64 => {
                for i in 0..count as i64 {
                    self.run(part.offset.wrapping_add(stride.wrapping_mul(i)), block);
                }
            }
            Kind::Blocks { block, ref offsets } if offsets.len() <= self.flatten => {
                offsets.iter().for_each(|o| self.run(part.offset.wrapping_add(o), block));
            }
            Kind::Runs { ref offsets, ref ends, .. } if offsets.len() <= self.flatten => {
                for (i, o) in offsets.iter().enumerate() {
                    self.run(part.offset.wrapping_add(o), ends.length(i));
                }
            }
            Kind::Sequence { ref parts, .. } if parts.len() <= self.flatten => {
                parts.iter().for_each(|p| self.add(p.moved(part.offset)));
            }
            _ => {
                self.flush();
                self.parts.push(part);
            }
        }
    }

    fn run(&mut self, offset: i64, length: u64) {
        match self.runs.last_mut() {
            Some((o, l)) if i128::from(*o) + i128::from(*l) == i128::from(offset) => *l += length,
            _ => self.runs.push((offset, length)),
        }
    }

    /// Turns the collected runs into the simplest layout that describes them.
    fn flush(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        let Some(&(first, block)) = runs.first() else { return };
        if runs.len() == 1 {
            return self.parts.push(Placed::run(first, block));
        }
        let size = runs.iter().map(|r| r.1).sum();
        let offsets = || Offsets::new(runs.iter().map(|r| r.0.wrapping_sub(first)));
        let unit = runs.iter().fold(0, |unit, r| greatest_common_divisor(unit, r.1));
        let kind = if runs.iter().all(|r| r.1 == block) {
            let stride = runs[1].0.wrapping_sub(first);
            if runs.windows(2).all(|w| w[1].0.wrapping_sub(w[0].0) == stride) {
                Kind::Strided { block, count: runs.len() as u64, stride }
            } else {
                Kind::Blocks { block, offsets: offsets() }
            }
        } else if runs.len() > FLATTEN
            && unit >= SMALLEST_UNIT
            && size / unit <= UNITS_OF_RUN * runs.len() as u64
        {
            let units = runs.iter().flat_map(|r| (0..r.1 / unit).map(move |i| r.0 + (i * unit) as i64));
            Kind::Blocks { block: unit, offsets: Offsets::new(units.map(|at| at.wrapping_sub(first))) }
        } else {
            let longest = runs.iter().map(|r| r.1).max().unwrap_or(0);
            Kind::Runs { offsets: offsets(), ends: Ends::new(runs.iter().map(|r| r.1)), longest }
        };
        self.parts.push(Placed::new(first, size, 0, kind));
    }

    /// Returns the simplest layout that describes all that was added.
    pub(crate) fn finish(mut self) -> Placed {
        self.flush();
        match self.parts.len() {
            0 => Placed::empty(),
            1 => self.parts.remove(0),
            _ => {
                let depth = self.parts.iter().map(|p| p.layout.depth).max().unwrap_or(0) + 1;
                if depth > DEEP && self.flatten == FLATTEN {
                    let mut flat = Self { flatten: FLATTEN_DEEP, ..Self::new() };
                    self.parts.into_iter().for_each(|part| flat.add(part));
                    return flat.finish();
                }
                let size = self.parts.iter().map(Placed::size).sum();
                let ends = Ends::new(self.parts.iter().map(Placed::size));
                Placed::new(0, size, depth, Kind::Sequence { parts: self.parts.into(), ends })
            }
        }
    }
}
