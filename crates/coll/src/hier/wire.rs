//! The headers of messages between node processes.

use weft_post::{MOST_WORDS, Words};

/// What a message is for.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Cells of an operation, which the receiver keeps until it needs them, or fetches then.
    Data = 1,
    /// The operation has failed on a node process, whose call `call` is; `shape` is one that differs from it. `key` says whether a
    /// node process is lost.
    Abort,
    /// A word for the layer above: `key`.
    Note,
    /// Where the memory is in which the ranks of the communicator meet: in `key`, counted from 1, in that of the sender;
    /// 0 if there is none.
    Common,
    /// In checking mode, a piece of the `shape` bytes that a member shows of its call, from byte `key` on; `call` says how many
    /// members there are.
    Shown,
    /// Has all been heard that was sent before? `key` names the question.
    Ask,
    /// Yes.
    Answer,
}

/// In place of the key of an [`Kind::Abort`]: its sender has lost a node process.
pub(crate) const LOSS: u64 = 1;

impl Kind {
    const ALL: [Self; 7] =
        [Self::Data, Self::Abort, Self::Note, Self::Common, Self::Shown, Self::Ask, Self::Answer];
}

/// Which operation of a communicator: of all members, or the part of one member in a neighborhood operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct OperationKey {
    /// The number of the call that started or prepared it.
    pub number: u64,
    /// Which start of a persistent operation; 0 for others.
    pub start: u32,
    /// The member, [`EVERYBODY`] if it is not one alone.
    pub member: u32,
}

/// In place of a member: the operation is of all.
pub(crate) const EVERYBODY: u32 = u32::MAX;

/// The header of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub kind: Kind,
    /// The communicator: its number and [`Layout::signature`](super::layout::Layout).
    pub team: (u32, u32),
    pub operation: OperationKey,
    /// Which message of the operation, or what the kind says.
    pub key: u64,
    /// What the sender calls, without its length, and the shape of its program.
    pub call: u32,
    pub shape: u32,
}

/// How many words follow the kind.
const WORDS: usize = 5;

const _: () = assert!(WORDS <= MOST_WORDS);

impl Header {
    /// Writes it.
    pub fn encode(&self) -> weft_post::Header {
        let words: [u64; WORDS] = [
            self.key,
            u64::from(self.team.0) | u64::from(self.team.1) << 32,
            self.operation.number,
            u64::from(self.operation.start) | u64::from(self.operation.member) << 32,
            u64::from(self.call) | u64::from(self.shape) << 32,
        ];
        weft_post::Header::new(self.kind as u32, &words)
    }

    /// Reads one. Returns nothing if it is none.
    pub fn decode(header: Words<'_>) -> Option<Self> {
        let [key, team, number, operation, call] = header.rest::<WORDS>()?;
        let kind = Kind::ALL.into_iter().find(|&kind| kind as u32 == header.first)?;
        Some(Self {
            kind,
            key,
            team: (team as u32, (team >> 32) as u32),
            operation: OperationKey { number, start: operation as u32, member: (operation >> 32) as u32 },
            call: call as u32,
            shape: (call >> 32) as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_written() {
        for kind in Kind::ALL {
            let header = Header {
                kind,
                team: (7, 0xffff_fff0),
                operation: OperationKey { number: 1 << 40, start: 3, member: EVERYBODY },
                key: u64::MAX - 5,
                call: 9,
                shape: 10,
            };
            assert_eq!(Header::decode(header.encode().words()), Some(header));
        }
        let none = [(0, WORDS), (1, WORDS - 1), (1, WORDS + 1), (8, WORDS)];
        for (kind, words) in none {
            let header = weft_post::Header::new(kind, &vec![0; words]);
            assert_eq!(Header::decode(header.words()), None, "kind {kind}, {words} words");
        }
    }
}
