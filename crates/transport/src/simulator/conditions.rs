//! What a network is like, and the numbers that follow from its seed.

use crate::Node;

/// What a network is like.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// The longest payload that is taken by copy.
    pub eager: usize,
    /// How many bytes a flow holds.
    pub memory: usize,
    /// Whether peers' memory can be read.
    pub remote_read: bool,
    /// How many steps a message is under way at most.
    pub delay: u64,
    /// How many of a hundred messages are refused for no reason.
    pub refused_percent: u64,
    /// A process that gets something only in one of so many polls.
    pub slow: Option<(Node, u64)>,
    /// Over how many flows parts of a long message go, at most [`PARTS`].
    pub parts: u32,
}

impl Conditions {
    /// Describes a network without surprises.
    pub fn calm(seed: u64) -> Self {
        Self {
            seed,
            eager: 4096,
            memory: 1 << 20,
            remote_read: true,
            delay: 0,
            refused_percent: 0,
            slow: None,
            parts: 1,
        }
    }

    /// Describes a network of `nodes` processes with conditions that follow from the seed.
    pub fn random(seed: u64, nodes: u32) -> Self {
        let mut random = Random::new(seed ^ 0x5eed);
        Self {
            seed,
            eager: [256, 1000, 4096, 16 << 10][random.below(4) as usize],
            memory: [300, 5000, 100_000, 10 << 20][random.below(4) as usize],
            remote_read: random.below(2) == 0,
            delay: [0, 3, 50][random.below(3) as usize],
            refused_percent: [0, 0, 10, 50][random.below(4) as usize],
            slow: (random.below(3) == 0)
                .then(|| (random.below(u64::from(nodes)) as Node, 1 + random.below(20))),
            parts: 1 + random.below(PARTS.into()) as u32,
        }
    }
}

/// Numbers that follow from a seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Begins a sequence.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below the bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % bound.max(1)
    }
}

/// How many flows there are for parts of long messages on a channel between two processes at most, that of all others included.
pub const PARTS: u32 = 3;
