//! What goes between node processes: headers as values, with a codec that refuses whatever is not one.
//!
//! All words are little-endian. A header begins with its kind, a byte of flags, and the credit that goes back with it. That
//! of an eager message has 24 bytes, so header and payload of a short message share a cache line with what a device adds. Its
//! last four are zero: it is made of whole words, which are written and read as such.

use crate::matching::Envelope;
use weft_transport::MAX_HEADER;

/// A message between node processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// A message of a rank, whose data is the payload.
    Eager {
        /// The receiving rank's number on its node process.
        target: u32,
        /// The envelope.
        envelope: Envelope,
        /// Whether the payload begins with what checking mode says of the message.
        described: bool,
    },
    /// A message of a rank, whose data stays with the sender until the receiver asks for it.
    Request {
        /// The receiving rank's number on its node process.
        target: u32,
        /// The envelope.
        envelope: Envelope,
        /// Names the send at its sender.
        send: u64,
        /// The length of the data.
        bytes: u64,
        /// Where the data is if it may be read from there, else 0.
        address: u64,
        /// Whether the payload is what checking mode says of the message.
        described: bool,
    },
    /// Asks for the data of a send.
    Clear {
        /// The send.
        send: u64,
        /// Names the receive at its receiver.
        receive: u64,
        /// How much of the data is wanted.
        bytes: u64,
        /// Whether it must come in pieces.
        pieces: bool,
    },
    /// Data of a send; it is the payload.
    Data {
        /// The receive.
        receive: u64,
        /// Where in the data the payload begins.
        offset: u64,
    },
    /// The receiver needs nothing more of a send.
    Done {
        /// The send.
        send: u64,
    },
    /// The sender wants a send back that nobody has received.
    Cancel {
        /// The receiving rank's number on its node process.
        target: u32,
        /// The send.
        send: u64,
    },
    /// The send is cancelled.
    Cancelled {
        /// The send.
        send: u64,
    },
    /// Nothing but credit.
    Credit,
}

/// What is wrong with a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// It has a length that none of its kind has.
    Length,
    /// It is of no kind, or has flags that its kind does not have.
    Kind,
    /// It says something where its kind says nothing.
    Excess,
}

/// A header ready to be sent.
#[derive(Clone, Copy)]
pub struct Encoded {
    bytes: [u8; MAX_HEADER],
    length: u8,
}

impl Encoded {
    /// Returns the header.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length as usize]
    }

    /// Sets the credit that goes with it.
    #[inline]
    pub fn set_credit(&mut self, credit: u16) {
        // As a word: who reads the word next gets it from this store, and need not wait until two have gone by.
        let first = long(&self.bytes, 0) & !(0xffff << 16);
        self.long(0, first | u64::from(credit) << 16);
    }

    #[inline]
    fn long(&mut self, place: usize, long: u64) {
        self.bytes[place..place + 8].copy_from_slice(&long.to_le_bytes());
    }

    /// Writes what the headers of messages begin with, in whole words.
    #[inline]
    fn message(&mut self, kind: u8, described: bool, target: u32, envelope: &Envelope) {
        let (context, source, tag) = (envelope.context, envelope.source(), envelope.tag());
        self.long(0, u64::from(kind) | u64::from(described) << 8 | u64::from(target) << 32);
        self.long(8, u64::from(context) | u64::from(source as u32) << 32);
        self.long(16, u64::from(tag as u32));
    }
}

const EAGER: u8 = 1;
const REQUEST: u8 = 2;
const CLEAR: u8 = 3;
const DATA: u8 = 4;
const DONE: u8 = 5;
const CANCEL: u8 = 6;
const CANCELLED: u8 = 7;
const CREDIT: u8 = 8;

fn long(header: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(header[place..place + 8].try_into().expect("eight bytes"))
}

fn word(header: &[u8], place: usize) -> u32 {
    u32::from_le_bytes(header[place..place + 4].try_into().expect("four bytes"))
}

impl Frame {
    /// Writes the header, without credit.
    #[inline]
    pub fn encode(&self) -> Encoded {
        let mut out = Encoded { bytes: [0; MAX_HEADER], length: 0 };
        let (kind, length) = match *self {
            Self::Eager { target, envelope, described } => {
                out.message(EAGER, described, target, &envelope);
                out.length = 24;
                return out;
            }
            Self::Request { target, envelope, send, bytes, address, described } => {
                out.message(REQUEST, described, target, &envelope);
                out.long(24, send);
                out.long(32, bytes);
                out.long(40, address);
                out.length = 48;
                return out;
            }
            Self::Clear { send, receive, bytes, pieces } => {
                out.bytes[1] = u8::from(pieces);
                out.long(8, send);
                out.long(16, receive);
                out.long(24, bytes);
                (CLEAR, 32)
            }
            Self::Data { receive, offset } => {
                out.long(8, receive);
                out.long(16, offset);
                (DATA, 24)
            }
            Self::Done { send } => {
                out.long(8, send);
                (DONE, 16)
            }
            Self::Cancel { target, send } => {
                out.long(0, u64::from(target) << 32);
                out.long(8, send);
                (CANCEL, 16)
            }
            Self::Cancelled { send } => {
                out.long(8, send);
                (CANCELLED, 16)
            }
            Self::Credit => (CREDIT, 4),
        };
        out.bytes[0] = kind;
        out.length = length;
        out
    }

    /// Reads a header: the frame, and the credit that came with it.
    ///
    /// # Errors
    /// What is wrong with it.
    #[inline]
    pub fn decode(header: &[u8]) -> Result<(Self, u16), Malformed> {
        let envelope = || Envelope::new(word(header, 8), word(header, 12) as i32, word(header, 16) as i32);
        // What most are, with one comparison of its first two bytes and one of its last four.
        if header.len() == 24 && long(header, 0) & 0xffff == u64::from(EAGER) && word(header, 20) == 0 {
            let frame = Self::Eager { target: word(header, 4), envelope: envelope(), described: false };
            return Ok((frame, (long(header, 0) >> 16) as u16));
        }
        let &[kind, flags, low, high, ..] = header else { return Err(Malformed::Length) };
        let length = match kind {
            EAGER => 24,
            REQUEST => 48,
            CLEAR => 32,
            DATA => 24,
            DONE | CANCEL | CANCELLED => 16,
            CREDIT => 4,
            _ => return Err(Malformed::Kind),
        };
        if header.len() != length {
            return Err(Malformed::Length);
        }
        if flags > u8::from(matches!(kind, EAGER | REQUEST | CLEAR)) {
            return Err(Malformed::Kind);
        }
        let frame = match kind {
            EAGER => Self::Eager { target: word(header, 4), envelope: envelope(), described: flags != 0 },
            REQUEST => Self::Request {
                target: word(header, 4),
                envelope: envelope(),
                send: long(header, 24),
                bytes: long(header, 32),
                address: long(header, 40),
                described: flags != 0,
            },
            CLEAR => Self::Clear {
                send: long(header, 8),
                receive: long(header, 16),
                bytes: long(header, 24),
                pieces: flags != 0,
            },
            DATA => Self::Data { receive: long(header, 8), offset: long(header, 16) },
            DONE => Self::Done { send: long(header, 8) },
            CANCEL => Self::Cancel { target: word(header, 4), send: long(header, 8) },
            CANCELLED => Self::Cancelled { send: long(header, 8) },
            _ => Self::Credit,
        };
        let credit = u16::from_le_bytes([low, high]);
        let mut written = frame.encode();
        written.set_credit(credit);
        if written.bytes() == header { Ok((frame, credit)) } else { Err(Malformed::Excess) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames() -> impl Strategy<Value = Frame> {
        let envelope = (any::<u32>(), any::<i32>(), any::<i32>())
            .prop_map(|(context, source, tag)| Envelope::new(context, source, tag));
        (0..8u8, envelope, any::<[u32; 2]>(), any::<[u64; 3]>()).prop_map(
            |(kind, envelope, [target, flag], longs)| {
                let [send, other, more] = longs;
                let flag = flag % 2 == 1;
                match kind {
                    0 => Frame::Eager { target, envelope, described: flag },
                    1 => Frame::Request {
                        target,
                        envelope,
                        send,
                        bytes: other,
                        address: more,
                        described: flag,
                    },
                    2 => Frame::Clear { send, receive: other, bytes: more, pieces: flag },
                    3 => Frame::Data { receive: send, offset: other },
                    4 => Frame::Done { send },
                    5 => Frame::Cancel { target, send },
                    6 => Frame::Cancelled { send },
                    _ => Frame::Credit,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(frame in frames(), credit in any::<u16>()) {
            let mut encoded = frame.encode();
            encoded.set_credit(credit);
            prop_assert_eq!(Frame::decode(encoded.bytes()), Ok((frame, credit)));
        }

        #[test]
        fn whatever_comes_is_a_frame_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80), kind in 0..10u8) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            if let Ok((frame, credit)) = Frame::decode(&bytes) {
                let mut encoded = frame.encode();
                encoded.set_credit(credit);
                prop_assert_eq!(encoded.bytes(), &bytes[..]);
            }
        }

        #[test]
        fn what_says_more_than_its_kind_is_refused(frame in frames(), place in 0..64usize, more in 1..=u8::MAX) {
            let mut bytes = frame.encode().bytes().to_vec();
            let place = place % bytes.len();
            bytes[place] ^= more;
            match Frame::decode(&bytes) {
                Ok((other, credit)) => prop_assert!(other != frame || credit != 0, "{bytes:?} is read as {other:?}"),
                Err(malformed) => prop_assert!(matches!(malformed, Malformed::Kind | Malformed::Excess | Malformed::Length)),
            }
        }

        #[test]
        fn a_header_cut_short_is_refused(frame in frames(), cut in 0..64usize) {
            let encoded = frame.encode();
            let whole = encoded.bytes();
            let cut = cut % whole.len();
            prop_assert_eq!(Frame::decode(&whole[..cut]), Err(Malformed::Length));
        }
    }

    #[test]
    fn an_eager_header_whose_last_word_is_not_zero_is_refused() {
        let envelope = Envelope::new(1, 2, 3);
        for described in [false, true] {
            let mut bytes = Frame::Eager { target: 0, envelope, described }.encode().bytes().to_vec();
            bytes[23] = 1;
            assert_eq!(Frame::decode(&bytes), Err(Malformed::Excess));
        }
    }

    #[test]
    fn an_eager_header_leaves_room_in_the_line() {
        let envelope = Envelope::new(1, 2, 3);
        assert!(Frame::Eager { target: 0, envelope, described: true }.encode().bytes().len() <= 24);
    }
}
