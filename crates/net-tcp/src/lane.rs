//! Which of the connections between two processes: one per channel, and further ones for parts of long messages.

use weft_handshake::Expected;
use weft_transport::{Channel, Node};

/// How many further connections a pair may have.
pub const FURTHER: usize = 7;

/// One of the connections between two processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lane(u8);

/// Who wants to talk to whom.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pair {
    /// Who has dialled.
    pub from: Node,
    /// Who has accepted.
    pub to: Node,
    /// Which of their connections it is.
    pub lane: Lane,
}

impl Pair {
    /// Returns what is proved of it.
    pub fn claim(self) -> weft_handshake::Pair {
        weft_handshake::Pair { from: self.from, to: self.to, lane: self.lane.0 }
    }

    /// Returns what a proof was about.
    pub fn of(claim: weft_handshake::Pair) -> Option<Self> {
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
    pub const COUNT: usize = Channel::ALL.len() + FURTHER;

    /// Returns the one over which part `number` of a message of ranks goes: the first part's is that of the channel.
    pub const fn of_part(number: u32) -> Self {
        match number as usize % (FURTHER + 1) {
            0 => Self(Channel::PointToPoint as u8),
            further => Self((Channel::ALL.len() + further - 1) as u8),
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

    /// Returns the channel whose messages it carries.
    pub fn channel(self) -> Channel {
        Channel::ALL.get(self.number()).copied().unwrap_or(Channel::PointToPoint)
    }

    /// Returns which part of a message goes over it.
    pub fn part(self) -> usize {
        (self.number() + 1).saturating_sub(Channel::ALL.len())
    }

    /// Tells whether it is a channel's own.
    pub fn is_main(self) -> bool {
        self.number() < Channel::ALL.len()
    }
}

impl From<Channel> for Lane {
    fn from(channel: Channel) -> Self {
        Self(channel as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_go_over_lanes_of_their_own() {
        let lanes: Vec<_> = (0..=FURTHER as u32).map(Lane::of_part).collect();
        assert_eq!(lanes[0], Channel::PointToPoint.into());
        for (number, lane) in lanes.iter().enumerate() {
            assert_eq!((lane.part(), lane.channel()), (number, Channel::PointToPoint));
            assert_eq!(Lane::new(lane.number()), Some(*lane));
            assert_eq!(lane.is_main(), number == 0);
        }
        assert_eq!(Lane::of_part(FURTHER as u32 + 1), lanes[0]);
        assert_eq!(Lane::from(Channel::Collective).part(), 0);
        assert_eq!(Lane::new(Lane::COUNT), None);
    }
}
