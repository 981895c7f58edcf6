//! The normal form of a type map: where the data bytes lie, in packing order.
//!
//! A layout knows nothing of element kinds. Neighbouring runs are merged, runs at equal distances become one
//! strided entry, loops whose iterations continue each other become one loop. What a kernel then sees is a small
//! tree whose leaves are long runs, strided blocks or lists of blocks.

use std::sync::Arc;

/// Nesting of layouts that packing will recurse through; deeper types are refused when they are made.
pub const MAX_DEPTH: u32 = 200;

/// A list of at most this many runs is taken apart when it becomes part of a sequence.
const FLATTEN: usize = 16;

/// Where the bytes of one instance of a type lie.
#[derive(Debug, PartialEq)]
pub struct Layout {
    /// Number of data bytes.
    pub size: u64,
    /// Levels of nesting below.
    pub depth: u32,
    /// Shape.
    pub kind: Kind,
}

/// The shapes of a layout.
#[derive(Debug, PartialEq)]
pub enum Kind {
    /// `size` bytes at displacement 0.
    Run,
    /// `count` blocks of `block` bytes, `stride` bytes apart.
    Strided {
        /// Bytes of a block.
        block: u64,
        /// Number of blocks.
        count: u64,
        /// Distance of their starts.
        stride: i64,
    },
    /// Blocks of `block` bytes each.
    Blocks {
        /// Bytes of a block.
        block: u64,
        /// Where each starts.
        offsets: Box<[i64]>,
    },
    /// Runs of different lengths.
    Runs {
        /// Where each starts.
        offsets: Box<[i64]>,
        /// Data bytes up to and including each run.
        ends: Box<[u64]>,
    },
    /// `body` repeated `count` times, `stride` bytes apart.
    Loop {
        /// Iterations.
        count: u64,
        /// Distance of iterations.
        stride: i64,
        /// What is repeated.
        body: Placed,
    },
    /// Parts one after the other.
    Sequence {
        /// The parts.
        parts: Box<[Placed]>,
        /// Data bytes up to and including each part.
        ends: Box<[u64]>,
    },
}

/// A layout at a displacement.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Displacement in bytes.
    pub offset: i64,
    /// The layout.
    pub layout: Arc<Layout>,
}

impl PartialEq for Placed {
    fn eq(&self, other: &Self) -> bool {
        self.offset == other.offset
            && (Arc::ptr_eq(&self.layout, &other.layout) || self.layout == other.layout)
    }
}

impl Placed {
    fn new(offset: i64, size: u64, depth: u32, kind: Kind) -> Self {
        Self { offset, layout: Arc::new(Layout { size, depth, kind }) }
    }

    /// Creates a run of `size` bytes.
    pub fn run(offset: i64, size: u64) -> Self {
        Self::new(offset, size, 0, Kind::Run)
    }

    /// Creates a layout without data.
    pub fn empty() -> Self {
        Self::run(0, 0)
    }

    /// Returns the number of data bytes.
    pub fn size(&self) -> u64 {
        self.layout.size
    }

    /// Moves the layout by `by` bytes.
    pub fn moved(&self, by: i64) -> Self {
        Self { offset: self.offset.wrapping_add(by), layout: self.layout.clone() }
    }

    /// Tells whether the data is one run, and how long it is.
    pub fn as_run(&self) -> Option<u64> {
        matches!(self.layout.kind, Kind::Run).then_some(self.layout.size)
    }

    /// Repeats the layout `count` times at distances of `stride` bytes. The caller has checked that the total size
    /// fits.
    pub fn repeated(self, count: u64, stride: i64) -> Self {
        if count == 0 || self.size() == 0 {
            return Self::empty();
        }
        if count == 1 {
            return self;
        }
        let size = self.size() * count;
        let offset = self.offset;
        match self.layout.kind {
            Kind::Run if u64::try_from(stride) == Ok(self.layout.size) => return Self::run(offset, size),
            Kind::Run => {
                let kind = Kind::Strided { block: self.layout.size, count, stride };
                return Self::new(offset, size, 0, kind);
            }
            Kind::Strided { block, count: inner, stride: step } if continues(step, inner, stride) => {
                return Self::new(
                    offset,
                    size,
                    0,
                    Kind::Strided { block, count: inner * count, stride: step },
                );
            }
            Kind::Loop { count: inner, stride: step, ref body } if continues(step, inner, stride) => {
                let kind = Kind::Loop { count: inner * count, stride: step, body: body.clone() };
                return Self::new(offset, size, self.layout.depth, kind);
            }
            _ => {}
        }
        let depth = self.layout.depth + 1;
        let body = Self { offset: 0, layout: self.layout };
        Self::new(offset, size, depth, Kind::Loop { count, stride, body })
    }

    /// Puts layouts one after the other, in packing order.
    pub fn sequence(parts: impl IntoIterator<Item = Placed>) -> Self {
        let mut joined = Joined::default();
        for part in parts {
            joined.add(part);
        }
        joined.finish()
    }
}

/// Tells whether iterations `stride` apart continue an inner loop of `count` steps of `step` bytes.
fn continues(step: i64, count: u64, stride: i64) -> bool {
    i128::from(step) * i128::from(count) == i128::from(stride)
}

/// A sequence under construction: finished parts, and runs that are still being merged.
#[derive(Default)]
struct Joined {
    parts: Vec<Placed>,
    runs: Vec<(i64, u64)>,
}

impl Joined {
    fn add(&mut self, part: Placed) {
        match part.layout.kind {
            _ if part.size() == 0 => {}
            Kind::Run => self.run(part.offset, part.layout.size),
            Kind::Strided { block, count, stride } if count <= FLATTEN as u64 => {
                for i in 0..count as i64 {
                    self.run(part.offset.wrapping_add(stride.wrapping_mul(i)), block);
                }
            }
            Kind::Blocks { block, ref offsets } if offsets.len() <= FLATTEN => {
                offsets.iter().for_each(|o| self.run(part.offset.wrapping_add(*o), block));
            }
            Kind::Runs { ref offsets, ref ends } if offsets.len() <= FLATTEN => {
                let mut start = 0;
                for (o, end) in offsets.iter().zip(ends) {
                    self.run(part.offset.wrapping_add(*o), end - start);
                    start = *end;
                }
            }
            Kind::Sequence { ref parts, .. } if parts.len() <= FLATTEN => {
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
        let kind = if runs.iter().all(|r| r.1 == block) {
            let stride = runs[1].0.wrapping_sub(first);
            if runs.windows(2).all(|w| w[1].0.wrapping_sub(w[0].0) == stride) {
                Kind::Strided { block, count: runs.len() as u64, stride }
            } else {
                Kind::Blocks { block, offsets: runs.iter().map(|r| r.0.wrapping_sub(first)).collect() }
            }
        } else {
            let mut end = 0;
            Kind::Runs {
                offsets: runs.iter().map(|r| r.0.wrapping_sub(first)).collect(),
                ends: runs
                    .iter()
                    .map(|r| {
                        end += r.1;
                        end
                    })
                    .collect(),
            }
        };
        self.parts.push(Placed::new(first, size, 0, kind));
    }

    fn finish(mut self) -> Placed {
        self.flush();
        match self.parts.len() {
            0 => Placed::empty(),
            1 => self.parts.remove(0),
            _ => {
                let mut end = 0;
                let ends = self.parts.iter().map(|p| {
                    end += p.size();
                    end
                });
                let ends: Box<[u64]> = ends.collect();
                let depth = self.parts.iter().map(|p| p.layout.depth).max().unwrap_or(0) + 1;
                Placed::new(0, end, depth, Kind::Sequence { parts: self.parts.into(), ends })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_runs_merge() {
        let layout = Placed::sequence([Placed::run(4, 4), Placed::run(8, 2), Placed::run(10, 6)]);
        assert_eq!(layout, Placed::run(4, 12));
    }

    #[test]
    fn equal_distances_become_a_stride() {
        let layout = Placed::sequence((0..40).map(|i| Placed::run(i * 24, 8)));
        assert!(matches!(layout.layout.kind, Kind::Strided { block: 8, count: 40, stride: 24 }));
    }

    #[test]
    fn loops_that_continue_each_other_become_one() {
        let row = Placed::run(0, 8).repeated(10, 16);
        let all = row.repeated(5, 160);
        assert!(matches!(all.layout.kind, Kind::Strided { block: 8, count: 50, stride: 16 }));
    }
}
