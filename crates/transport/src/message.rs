//! What every message has: whom it is for, its channel, and why a device may not take it.

use core::fmt;

/// The number of a node process in the job.
pub type Node = u32;

/// The longest header, in bytes.
pub const MAX_HEADER: usize = 64;

/// A separate ordered stream to the same peer. Devices carry messages of every number; those of [`Channel::ALL`] have somebody
/// who serves them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Channel(u8);

impl Channel {
    /// Messages of ranks.
    pub const POINT_TO_POINT: Self = Self(0);
    /// Steps of collectives, and what node processes agree on.
    pub const COLLECTIVE: Self = Self(1);
    /// Active messages: one-sided operations, and those of programs.
    pub const ACTIVE: Self = Self(2);
    /// The channels that have somebody who serves them, in the order of their numbers, which begin with 0. Who needs a further one
    /// adds it here.
    pub const ALL: [Self; 3] = [Self::POINT_TO_POINT, Self::COLLECTIVE, Self::ACTIVE];
    /// How many of them, the first ones, are served from the beginning of every job; the others from when something needs them.
    pub const FIRST: usize = 2;

    /// Returns the channel with a number.
    #[inline]
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Returns its number.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Tells whether messages sent with [`Device::send`](crate::Device::send) may be delivered before all of their payload is there.
    #[inline]
    pub const fn comes_in_parts(self) -> bool {
        self.0 == Self::POINT_TO_POINT.0
    }
}

/// Why a message was not taken. The caller still has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There is no room now. Poll, and try again.
    Full,
    /// The peer is gone; nothing will ever get there.
    Lost {
        /// What happened, in words: which peer, which cause.
        reason: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("no room for the message at present"),
            Self::Lost { reason } => f.write_str(reason),
        }
    }
}

impl std::error::Error for Refusal {}
