//! What goes between the services of two node processes: headers as values, with a codec that refuses whatever is not one.
//!
//! | bytes | meaning |
//! | --- | --- |
//! | 1 | kind |
//! | 1 | flags: 1 if a short message is free, or the sender of an offer waits |
//! | 2 | the credit that goes back with it |
//! | … | the client's header, or 8 bytes each of what the kind says |
//!
//! All words are little-endian.

use weft_transport::MAX_HEADER;

/// What precedes a client's header.
const HEAD: usize = 4;
/// The longest header of a client.
pub const MOST_HEADER: usize = MAX_HEADER - HEAD;

const SHORT: u8 = 1;
const OFFER: u8 = 2;
const ASK: u8 = 3;
const DATA: u8 = 4;
const DONE: u8 = 5;
const CREDIT: u8 = 6;

/// A message between services.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame<'a> {
    /// A message of the client's, with its data.
    Short {
        /// It has cost no credit.
        is_free: bool,
        /// The client's header.
        header: &'a [u8],
    },
    /// A message of the client's, whose data stays with the sender; the payload is an [`Offer`].
    Offer {
        /// The sender waits until the data is not needed any more.
        is_held: bool,
        /// The client's header.
        header: &'a [u8],
    },
    /// Asks for data.
    Ask {
        /// What it is called at its sender.
        lent: u64,
        /// What the memory for it is called where it is wanted.
        room: u64,
        /// How much there is.
        bytes: u64,
    },
    /// Data that was asked for; the payload.
    Data {
        /// The memory for it.
        room: u64,
        /// Where in the data the payload begins.
        offset: u64,
    },
    /// Data is not needed any more.
    Done {
        /// The data.
        lent: u64,
    },
    /// Nothing but credit.
    Credit,
}

/// What is no header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Malformed;

/// A header ready to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Encoded {
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
        self.bytes[2..4].copy_from_slice(&credit.to_le_bytes());
    }
}

fn long(header: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(core::array::from_fn(|byte| header[HEAD + 8 * index + byte]))
}

impl<'a> Frame<'a> {
    /// Writes the header, without credit.
    ///
    /// # Panics
    /// If the client's is longer than [`MOST_HEADER`].
    #[inline]
    pub fn encode(&self) -> Encoded {
        let (kind, flag, header, words) = match *self {
            Self::Short { is_free, header } => (SHORT, is_free, header, [0; 3]),
            Self::Offer { is_held, header } => (OFFER, is_held, header, [0; 3]),
            Self::Ask { lent, room, bytes } => (ASK, false, &[][..], [lent, room, bytes]),
            Self::Data { room, offset } => (DATA, false, &[][..], [room, offset, 0]),
            Self::Done { lent } => (DONE, false, &[][..], [lent, 0, 0]),
            Self::Credit => (CREDIT, false, &[][..], [0; 3]),
        };
        let mut out = Encoded { bytes: [0; MAX_HEADER], length: 0 };
        (out.bytes[0], out.bytes[1]) = (kind, flag.into());
        let length = match words_of(kind) {
            None => {
                out.bytes[HEAD..HEAD + header.len()].copy_from_slice(header);
                HEAD + header.len()
            }
            Some(count) => {
                let places = out.bytes[HEAD..].chunks_exact_mut(8);
                places
                    .zip(&words[..count])
                    .for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
                HEAD + 8 * count
            }
        };
        out.length = length as u8;
        out
    }

    /// Reads a header: the frame, and the credit that came with it.
    ///
    /// # Errors
    /// It is none.
    #[inline]
    pub fn decode(header: &'a [u8]) -> Result<(Self, u16), Malformed> {
        let Some((&[kind, flags, low, high], rest)) = header.split_first_chunk() else {
            return Err(Malformed);
        };
        let flag = match (kind, flags) {
            (_, 0) => false,
            (SHORT | OFFER, 1) => true,
            _ => return Err(Malformed),
        };
        if words_of(kind).is_some_and(|count| rest.len() != 8 * count) {
            return Err(Malformed);
        }
        let frame = match kind {
            SHORT => Self::Short { is_free: flag, header: rest },
            OFFER => Self::Offer { is_held: flag, header: rest },
            ASK => Self::Ask { lent: long(header, 0), room: long(header, 1), bytes: long(header, 2) },
            DATA => Self::Data { room: long(header, 0), offset: long(header, 1) },
            DONE => Self::Done { lent: long(header, 0) },
            CREDIT => Self::Credit,
            _ => return Err(Malformed),
        };
        Ok((frame, u16::from_le_bytes([low, high])))
    }
}

/// Returns how many words a kind of header has; none if it has the client's header instead.
#[inline]
fn words_of(kind: u8) -> Option<usize> {
    match kind {
        SHORT | OFFER => None,
        ASK => Some(3),
        DATA => Some(2),
        DONE => Some(1),
        _ => Some(0),
    }
}

/// Data that stays with its sender until it is fetched or declined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// What it is called at its sender.
    pub(crate) lent: u64,
    pub(crate) bytes: u64,
    /// Where it is, if it may be read from there, else 0.
    pub(crate) address: u64,
    pub(crate) is_held: bool,
}

/// The length of an offer.
pub(crate) const OFFER_BYTES: usize = 24;

impl Offer {
    /// Returns the length of the data.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Tells whether the data can be read without its sender's help.
    pub fn is_readable(&self) -> bool {
        self.address != 0
    }

    pub(crate) fn encode(&self) -> [u8; OFFER_BYTES] {
        let mut out = [0; OFFER_BYTES];
        let words = [self.lent, self.bytes, self.address];
        out.chunks_exact_mut(8)
            .zip(words)
            .for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
        out
    }

    pub(crate) fn decode(payload: &[u8], is_held: bool) -> Result<Self, Malformed> {
        let payload: &[u8; OFFER_BYTES] = payload.try_into().map_err(|_| Malformed)?;
        let word = |index: usize| u64::from_le_bytes(core::array::from_fn(|byte| payload[8 * index + byte]));
        Ok(Self { lent: word(0), bytes: word(1), address: word(2), is_held })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            kind in 0..6u8,
            flag in any::<bool>(),
            header in proptest::collection::vec(any::<u8>(), 0..=MOST_HEADER),
            [lent, room, bytes] in any::<[u64; 3]>(),
            credit in any::<u16>(),
        ) {
            let frame = match kind {
                0 => Frame::Short { is_free: flag, header: &header },
                1 => Frame::Offer { is_held: flag, header: &header },
                2 => Frame::Ask { lent, room, bytes },
                3 => Frame::Data { room, offset: bytes },
                4 => Frame::Done { lent },
                _ => Frame::Credit,
            };
            let mut encoded = frame.encode();
            encoded.set_credit(credit);
            prop_assert_eq!(Frame::decode(encoded.bytes()), Ok((frame, credit)));
            let offer = Offer { lent, bytes, address: room, is_held: flag };
            prop_assert_eq!(Offer::decode(&offer.encode(), flag), Ok(offer));
        }

        #[test]
        fn whatever_comes_is_a_frame_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..70), kind in 0..8u8, flags in 0..3u8) {
            let mut bytes = bytes;
            for (place, value) in bytes.iter_mut().zip([kind, flags]) {
                *place = value;
            }
            if let Ok((frame, credit)) = Frame::decode(&bytes[..bytes.len().min(MAX_HEADER)]) {
                let mut encoded = frame.encode();
                encoded.set_credit(credit);
                prop_assert_eq!(encoded.bytes(), &bytes[..bytes.len().min(MAX_HEADER)]);
            }
        }
    }
}
