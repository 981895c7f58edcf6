//! Where things are in the segment: arithmetic only.
//!
//! ```text
//! header | area of process 0 | … | pairs to process 0 | pairs to process 1 | … | blocks of process 0 | … | shuttles | commons of process 0 | …
//! ```
//!
//! A *pair* leads from one process to another; each process has a pool of them that lead to it. *Blocks* belong to their
//! sender, for the payloads of those who got no pair. A *shuttle* lies between two processes, for payloads that answer each
//! other. *Commons* are for the layers above: memory that a process gives parts
//! of to all. Nothing is allocated before it is touched, so the numbers below are
//! bounds, not costs.

use core::ops::RangeInclusive;
use weft_transport::{MAX_HEADER, MOST_ANSWER, Node};

use super::shared::{Area, BlockHead, Header, Pair};

/// The most node processes on a host.
pub(crate) const MAX_NODES: u32 = 4096;
const _: () = assert!(MAX_NODES <= weft_sync::mailbox::PRODUCERS as u32);
/// What everything begins at a multiple of.
const PAGE: u64 = 4096;

/// The numbers from which all places follow. The same for all processes of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// How many processes there are.
    pub nodes: u32,
    /// How many pairs lead to a process at most.
    pub pairs: u32,
    /// Bytes for payloads in a pair; a power of two.
    pub pair_bytes: u64,
    /// How many blocks a process has.
    pub blocks: u32,
    /// Bytes for header and payload in a block.
    pub block_bytes: u64,
    /// The longest payload that is sent at once.
    pub eager: u64,
    /// Bytes of a shuttle; none where there are many processes.
    pub shuttle: u64,
    /// Bytes that a process may give parts of to all; none where there are many processes.
    pub commons: u64,
}

impl Shape {
    /// Returns the shape for so many processes.
    pub fn of(nodes: u32) -> Self {
        // The bytes of few pairs exceed a second-level cache on purpose: so a sender writes lines that its peer's cache has let
        // go of. Taking them from there costs twice to three times as much (measured on a Zen 4: 1 MiB takes 120 µs through
        // 64 KiB, 60 µs through 512 KiB, 35 µs through 1.4 MiB). Many pairs share a bound of some hundred megabytes.
        let (pairs, pair_bytes, eager, shuttle, commons) = match nodes {
            0..=8 => (7, 2 << 20, 64 << 10, Self::SHUTTLE, 64 << 20),
            9..=33 => (32, 128 << 10, 16 << 10, 0, 8 << 20),
            34..=128 => (32, 64 << 10, 8 << 10, 0, 1 << 20),
            129..=256 => (16, 32 << 10, 4 << 10, 0, 128 << 10),
            // What the bound leaves would hold no communicator of all.
            _ => (16, 32 << 10, 4 << 10, 0, 0),
        };
        let pairs = pairs.min(nodes.saturating_sub(1));
        // Where everybody has a pair to everybody, no block is ever used.
        let blocks = if pairs + 1 >= nodes { 0 } else { 16 };
        let block_bytes = eager + MAX_HEADER as u64;
        Self { nodes, pairs, pair_bytes, blocks, block_bytes, eager, shuttle, commons }
    }

    /// Tells whether each process has a pair for everybody.
    pub fn has_pairs_for_all(&self) -> bool {
        self.pairs + 1 >= self.nodes
    }

    /// Returns the longest part of a message of so many bytes that travels in one piece: the receiver copies one while the
    /// sender copies the next. But each part costs its line and the news that it is copied.
    ///
    /// Measured with two processes of a Zen 5, copies alone, through 2 MiB per pair: 8 KiB take 392 ns in parts of 2 KiB, 337 in parts
    /// of 4 and 345 whole, 16 KiB 556 in parts of 4 KiB and 522 in parts of 8, 64 KiB 1.4 us in parts of 16 KiB and 1.5 in parts of
    /// 32. Where cores are far from each other (300 ns from core to core) 1 MiB takes 60 us in parts of 8 KiB, 37 in parts of
    /// 32, and 2 MiB 87 us in parts of 32 KiB and 70 in parts of 128; where they are near, messages of 1 to 8 MiB that go to and
    /// fro take 4 to 7 % longer in 16 parts than in parts of 32 KiB, because one side waits while the other copies the first and
    /// the last. A Zen 4 gained from parts of 2 KiB, too: 4 KiB took 220 ns so and 610 whole.
    pub fn chunk(&self, by_pair: bool, bytes: u64) -> u64 {
        let wanted = if bytes > Self::LONG {
            (bytes / 64).clamp(Self::LONG / 2, Self::LONGEST_PART)
        } else {
            (bytes / 2).clamp(Self::PART, Self::LONG / 4)
        };
        let wanted = wanted.next_multiple_of(64);
        if by_pair { wanted.min(self.pair_bytes / 16) } else { self.eager }
    }

    /// Returns how much of a pair's bytes may be in use for a message of so many bytes to be sent, or part of it.
    ///
    /// A sender who is quicker than its receiver would fill all of them with a long message, and be so far ahead that what it has
    /// written has left its second-level cache when the receiver gets to it. Two processes of a Zen 5, caches of 1 MiB: a
    /// stream of 2 MiB takes 52 us a message so, 41 to 42 when the sender is at most 256 KiB to 1 MiB ahead, and one of 1 MiB
    /// 22 and 20.
    pub fn room(&self, bytes: u64) -> u64 {
        if bytes > Self::LONG { self.pair_bytes.min(Self::AHEAD) } else { self.pair_bytes }
    }

    /// The shortest such part, but for the last.
    pub const PART: u64 = 4 << 10;
    const LONGEST_PART: u64 = 128 << 10;
    /// Longer messages travel in longer parts.
    const LONG: u64 = 64 << 10;
    /// How far the sender of one is ahead of the receiver at most.
    const AHEAD: u64 = 512 << 10;
    /// Longer messages are more than a second-level cache holds, and would gain little where cores are near each other.
    const SHUTTLE: u64 = MOST_ANSWER as u64;

    fn area_size(&self) -> u64 {
        (size_of::<Area>() as u64).next_multiple_of(PAGE)
    }

    fn pair_size(&self) -> u64 {
        (size_of::<Pair>() as u64 + self.pair_bytes).next_multiple_of(PAGE)
    }

    fn block_size(&self) -> u64 {
        (size_of::<BlockHead>() as u64 + self.block_bytes).next_multiple_of(128)
    }

    fn blocks_size(&self) -> u64 {
        (self.block_size() * u64::from(self.blocks)).next_multiple_of(PAGE)
    }

    /// Returns where the area of a process is.
    pub fn area(&self, node: Node) -> u64 {
        (size_of::<Header>() as u64).next_multiple_of(PAGE) + self.area_size() * u64::from(node)
    }

    /// Returns where the `index`-th pair that leads to a process is.
    pub fn pair(&self, node: Node, index: u32) -> u64 {
        self.area(self.nodes)
            + self.pair_size() * (u64::from(node) * u64::from(self.pairs) + u64::from(index))
    }

    /// Returns where the `index`-th block of a process is.
    pub fn block(&self, node: Node, index: u32) -> u64 {
        self.pair(self.nodes, 0) + self.blocks_size() * u64::from(node) + self.block_size() * u64::from(index)
    }

    /// Returns where the shuttle between two different processes is.
    pub fn shuttle(&self, one: Node, other: Node) -> u64 {
        let (low, high) = (u64::from(one.min(other)), u64::from(one.max(other)));
        self.block(self.nodes, 0) + self.shuttle * (high * high.saturating_sub(1) / 2 + low)
    }

    /// Returns where the commons of a process are.
    pub fn commons(&self, node: Node) -> u64 {
        self.shuttle(0, self.nodes) + self.commons * u64::from(node)
    }

    /// Returns the size of the segment.
    pub fn size(&self) -> u64 {
        self.commons(self.nodes)
    }
}

/// What the device takes at once among some numbers of processes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// The numbers.
    pub nodes: RangeInclusive<u32>,
    /// The longest payload of [`Device::send`](weft_transport::Device::send).
    pub eager: u64,
    /// Whether [`Tuning::answer`](weft_transport::Tuning::answer) takes any.
    pub answers: bool,
}

impl Sizes {
    /// Lists them for all numbers of processes from 2 on.
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for nodes in 2..=MAX_NODES {
            let Shape { eager, shuttle, .. } = Shape::of(nodes);
            let answers = shuttle > 0;
            match all.last_mut() {
                Some(last) if (last.eager, last.answers) == (eager, answers) => {
                    last.nodes = *last.nodes.start()..=nodes;
                }
                _ => all.push(Self { nodes: nodes..=nodes, eager, answers }),
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_for_every_number_of_processes() {
        let all = Sizes::all();
        assert_eq!((*all[0].nodes.start(), *all[all.len() - 1].nodes.end()), (2, MAX_NODES));
        assert!(all.windows(2).all(|pair| pair[0].nodes.end() + 1 == *pair[1].nodes.start()));
        for Sizes { nodes, eager, answers } in &all {
            for shape in [Shape::of(*nodes.start()), Shape::of(*nodes.end())] {
                assert_eq!((shape.eager, shape.shuttle > 0), (*eager, *answers), "{nodes:?}");
            }
        }
        assert!(all[0].answers && !all[1].answers);
    }

    #[test]
    fn parts_do_not_overlap_and_end_with_the_segment() {
        for nodes in [1, 2, 3, 8, 9, 33, 34, 128, 129, 256, 512, MAX_NODES] {
            let shape = Shape::of(nodes);
            let mut end = size_of::<Header>() as u64;
            let mut next = |at: u64, size: u64| {
                assert!(at >= end && at.is_multiple_of(128), "{shape:?}");
                end = at + size;
            };
            for node in 0..nodes {
                next(shape.area(node), size_of::<Area>() as u64);
            }
            for node in 0..nodes {
                for index in 0..shape.pairs {
                    next(shape.pair(node, index), size_of::<Pair>() as u64 + shape.pair_bytes);
                }
            }
            for node in 0..nodes {
                for index in 0..shape.blocks {
                    next(shape.block(node, index), size_of::<BlockHead>() as u64 + shape.block_bytes);
                }
            }
            for (high, low) in (0..nodes.min(9)).flat_map(|high| (0..high).map(move |low| (high, low))) {
                next(shape.shuttle(low, high), shape.shuttle);
                assert_eq!(shape.shuttle(low, high), shape.shuttle(high, low));
            }
            for node in 0..nodes {
                assert!(shape.commons(node).is_multiple_of(PAGE));
                next(shape.commons(node), shape.commons);
            }
            assert!(end <= shape.size());
            assert!(shape.pair_bytes.is_power_of_two());
            assert!(
                shape.eager + 64 <= shape.pair_bytes && shape.chunk(true, u64::MAX) + 64 <= shape.pair_bytes
            );
            for bytes in [1, 100_000, 1 << 20, u64::MAX] {
                // What is left before the end of a pair's bytes may be lost.
                assert!(2 * (shape.chunk(true, bytes) + 64) <= shape.room(bytes), "{shape:?}");
                assert!(shape.room(bytes) <= shape.pair_bytes);
            }
            assert!(shape.chunk(false, 1) + MAX_HEADER as u64 <= shape.block_bytes);
        }
    }

    #[test]
    fn memory_is_bounded_where_there_are_many() {
        assert!(Shape::of(512).size() < 400 << 20);
        assert!(Shape::of(256).size() < 400 << 20);
        assert!(Shape::of(33).size() < 420 << 20);
    }
}
