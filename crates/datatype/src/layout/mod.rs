//! The normal form of a type map: where the data bytes lie, in packing order.
//!
//! A layout knows nothing of element kinds. Neighbouring runs are merged, runs at equal distances become one
//! strided entry, loops whose iterations continue each other become one loop. What a kernel then sees is a small
//! tree whose leaves are long runs, strided blocks or lists of blocks.
//!
//! - `normalise`: how parts become one. `shared`: equal layouts are one in memory.

mod normalise;
mod shared;

use crate::offsets::{Ends, Offsets};
use normalise::Joined;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Nesting of layouts that packing will recurse through; deeper types are refused when they are made.
pub const MAX_DEPTH: u32 = 200;

/// Where the bytes of one instance of a type lie.
#[derive(Debug)]
pub struct Layout {
    /// Number of data bytes.
    pub size: u64,
    /// Levels of nesting below.
    pub depth: u32,
    /// Equal for equal layouts.
    pub hash: u64,
    /// Shape.
    pub kind: Kind,
}

impl PartialEq for Layout {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.size == other.size && self.kind == other.kind
    }
}

/// The shapes of a layout.
#[derive(Debug, PartialEq, Hash)]
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
        offsets: Offsets,
    },
    /// Runs of different lengths.
    Runs {
        /// Where each starts.
        offsets: Offsets,
        /// Data bytes up to and including each run.
        ends: Ends,
        /// Bytes of the longest.
        longest: u64,
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
        ends: Ends,
    },
}

impl Kind {
    /// Returns the length of its lists.
    fn listed(&self) -> usize {
        match self {
            Self::Blocks { offsets, .. } | Self::Runs { offsets, .. } => offsets.len(),
            Self::Sequence { parts, .. } => parts.len(),
            _ => 0,
        }
    }
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

impl Hash for Placed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.offset.hash(state);
        self.layout.hash.hash(state);
    }
}

impl Placed {
    pub(crate) fn new(offset: i64, size: u64, depth: u32, kind: Kind) -> Self {
        let mut hasher = std::hash::DefaultHasher::new();
        kind.hash(&mut hasher);
        let listed = kind.listed();
        let layout = Arc::new(Layout { size, depth, hash: hasher.finish(), kind });
        Self { offset, layout: if listed < shared::LISTED { layout } else { shared::find(layout) } }
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
        let mut joined = Joined::new();
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
