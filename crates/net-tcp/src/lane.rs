//! Which of the connections between two processes: one for the messages of ranks, one for collectives, one for all other channels,
//! and further ones for parts of long messages of whichever channel. Each frame says of which channel it is, so connections are as
//! few as there are kinds of traffic, however many channels there are.

use weft_handshake::Expected;
use weft_transport::{Channel, Node};

/// How many further connections two processes may have.
pub const FURTHER: usize = 7;

/// One of the connections between two processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lane(u8);

/// Who wants to talk to whom.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Connection {
    /// Who has dialled.
    pub from: Node,
    /// Who has accepted.
    pub to: Node,
    /// Which of their connections it is.
    pub lane: Lane,
}

impl Connection {
    /// Returns what is proved of it.
    pub fn claim(self) -> weft_handshake::Connection {
        weft_handshake::Connection { from: self.from, to: self.to, lane: self.lane.0 }
    }

    /// Returns what a proof was about.
    pub fn of(claim: weft_handshake::Connection) -> Option<Self> {
        let lane = Lane::new(claim.lane.into())?;
        Some(Self { from: claim.from, to: claim.to, lane })
    }

    /// Says whom process `me` of so many lets in.
    pub fn expected(me: Node, processes: u32) -> Expected {
        Expected { me, processes, lanes: Lane::COUNT as u8 }
    }
}

impl Lane {
    /// How many there may be.
    pub const COUNT: usize = Self::MAIN + FURTHER;
    /// How many are for whole messages.
    const MAIN: usize = 3;

    /// Returns the one over which whole messages of a channel go.
    #[inline]
    pub const fn of(channel: Channel) -> Self {
        if channel.number() < Self::MAIN as u8 { Self(channel.number()) } else { Self(Self::MAIN as u8 - 1) }
    }

    /// Returns the one over which part `number` of a message goes: the first part's is that of the channel.
    pub const fn of_part(channel: Channel, number: u32) -> Self {
        match number as usize % (FURTHER + 1) {
            0 => Self::of(channel),
            further => Self((Self::MAIN + further - 1) as u8),
        }
    }

    /// Returns the one with a number below [`Lane::COUNT`].
    pub fn new(number: usize) -> Option<Self> {
        (number < Self::COUNT).then_some(Self(number as u8))
    }

    /// Returns its number.
    pub fn number(self) -> usize {
        usize::from(self.0)
    }

    /// Returns which part of a message goes over it.
    pub fn part(self) -> usize {
        (self.number() + 1).saturating_sub(Self::MAIN)
    }

    /// Tells whether whole messages go over it.
    pub fn is_main(self) -> bool {
        self.number() < Self::MAIN
    }
}

impl From<Channel> for Lane {
    fn from(channel: Channel) -> Self {
        Self::of(channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_go_over_lanes_of_their_own() {
        for channel in (0..=u8::MAX).map(Channel::new) {
            let of_part = |number| Lane::of_part(channel, number);
            let lanes: Vec<_> = (0..=FURTHER as u32).map(of_part).collect();
            assert_eq!(lanes[0], channel.into());
            for (number, lane) in lanes.iter().enumerate() {
                assert_eq!(lane.part(), number);
                assert_eq!(Lane::new(lane.number()), Some(*lane));
                assert_eq!(lane.is_main(), number == 0);
            }
            assert_eq!(of_part(FURTHER as u32 + 1), lanes[0]);
        }
        assert_eq!(Lane::new(Lane::COUNT), None);
    }

    #[test]
    fn what_ranks_send_shares_no_connection_with_anything_else() {
        let lanes: std::collections::HashSet<_> = (0..=u8::MAX).map(|n| Lane::of(Channel::new(n))).collect();
        assert_eq!(lanes.len(), Lane::MAIN);
        let alone = |own: Channel| {
            (0..=u8::MAX).map(Channel::new).all(|other| other == own || Lane::of(other) != own.into())
        };
        assert!(alone(Channel::POINT_TO_POINT) && alone(Channel::COLLECTIVE));
    }
}
