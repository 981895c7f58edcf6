//! The headers of messages between node processes.

use weft_transport::MAX_HEADER;

/// What a message is for.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Cells of an operation, which the receiver keeps until it needs them; costs credit.
    Eager = 1,
    /// Cells of an operation are ready: `token` names them; they can be read at `address` if that is not 0.
    Offer,
    /// The receiver has memory for what was offered with `token`; `address` names that.
    Ready,
    /// The cells for which `token` names the memory.
    Placed,
    /// What was offered with `token` has been read.
    Done,
    /// The receiver has used `bytes` of eager messages.
    Credit,
    /// The operation has failed on a node process, whose call `description` is.
    Abort,
    /// A word for the layer above: `token`.
    Note,
    /// Where the memory is in which the ranks of the communicator meet: in `token`, counted from 1, in that of the sender;
    /// 0 if there is none.
    Common,
    /// In checking mode, a piece of the `bytes` bytes that a member shows of its call, from byte `key` on; `address` says how many
    /// members there are.
    Shown,
    /// Has all been heard that was sent before?
    Ask,
    /// Yes.
    Answer,
}

impl Kind {
    const ALL: [Self; 12] = [
        Self::Eager,
        Self::Offer,
        Self::Ready,
        Self::Placed,
        Self::Done,
        Self::Credit,
        Self::Abort,
        Self::Note,
        Self::Common,
        Self::Shown,
        Self::Ask,
        Self::Answer,
    ];
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
    /// Which message of the operation.
    pub key: u64,
    pub bytes: u64,
    /// For messages of an operation: what is being called; for others a token.
    pub token: u64,
    /// For messages of an operation without address: the shape of the sender's program.
    pub address: u64,
    /// What the sender calls, without its length, and the shape of its program.
    pub call: u32,
    pub shape: u32,
}

/// The length of a header.
pub(crate) const LENGTH: usize = 64;

const _: () = assert!(LENGTH <= MAX_HEADER);

impl Header {
    /// Writes it.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut out = [0; LENGTH];
        let words = [
            // An operation's key leaves the upper bytes free for its phase, which is below 2^8.
            self.key | (self.kind as u64) << 56,
            u64::from(self.team.0) | u64::from(self.team.1) << 32,
            self.operation.number,
            u64::from(self.operation.start) | u64::from(self.operation.member) << 32,
            self.bytes,
            self.token,
            self.address,
            u64::from(self.call) | u64::from(self.shape) << 32,
        ];
        for (place, word) in out.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    /// Reads one. Returns nothing if it is none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        let word = |index: usize| u64::from_le_bytes(core::array::from_fn(|byte| bytes[8 * index + byte]));
        let kind = Kind::ALL.into_iter().find(|&kind| kind as u64 == word(0) >> 56)?;
        Some(Self {
            kind,
            key: word(0) & ((1 << 56) - 1),
            team: (word(1) as u32, (word(1) >> 32) as u32),
            operation: OperationKey {
                number: word(2),
                start: word(3) as u32,
                member: (word(3) >> 32) as u32,
            },
            bytes: word(4),
            token: word(5),
            address: word(6),
            call: word(7) as u32,
            shape: (word(7) >> 32) as u32,
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
                key: (1 << 56) - 1,
                bytes: 5,
                token: 6,
                address: u64::MAX,
                call: 9,
                shape: 10,
            };
            assert_eq!(Header::decode(&header.encode()), Some(header));
        }
        assert_eq!(Header::decode(&[0; LENGTH]), None);
        assert_eq!(Header::decode(&[1; 7]), None);
    }
}
