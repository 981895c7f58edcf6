//! What goes between the services of two node processes: headers as values, with a codec that refuses whatever is not one.
//!
//! A header is made of whole words of 8 bytes, little-endian, which are written and read as such: who reads a word that was written in
//! pieces waits until the pieces have reached the cache. The first word:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 8 | kind |
//! | 8 | flags: 1 if a short message is free, the sender of an offer waits, or data must come in pieces |
//! | 16 | the credit that goes back with it |
//! | 32 | the first of the client's words, or of a withdrawal where the offer went |
//!
//! Then follow the client's other words, or what the kind says. So header and payload of a client's short message share a line of the
//! cache with what a device adds, if the client has two words.

use weft_transport::MAX_HEADER;

/// How many words of 8 bytes a client's header may have beside its first one.
pub const MOST_WORDS: usize = MAX_HEADER / 8 - 1;

pub(crate) const SHORT: u8 = 1;
pub(crate) const OFFER: u8 = 2;
const ASK: u8 = 3;
const DATA: u8 = 4;
const DONE: u8 = 5;
const WITHDRAW: u8 = 6;
const WITHDRAWN: u8 = 7;
const CREDIT: u8 = 8;

/// A header ready to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    bytes: [u8; MAX_HEADER],
    length: u8,
}

fn long(header: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(header[place..place + 8].try_into().expect("eight bytes"))
}

impl Header {
    /// Writes a client's words.
    ///
    /// # Panics
    /// If there are more than [`MOST_WORDS`] besides the first one.
    #[inline(always)]
    pub fn new(word: u32, words: &[u64]) -> Self {
        let mut header = Self { bytes: [0; MAX_HEADER], length: (8 + 8 * words.len()) as u8 };
        header.set(0, u64::from(word) << 32);
        for (index, &word) in words.iter().enumerate() {
            header.set(8 + 8 * index, word);
        }
        header
    }

    #[inline(always)]
    fn set(&mut self, place: usize, word: u64) {
        self.bytes[place..place + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// Says what the header is of.
    #[inline(always)]
    pub(crate) fn set_kind(&mut self, kind: u8, flag: bool) {
        let first = long(&self.bytes, 0) & !0xffff;
        self.set(0, first | u64::from(kind) | u64::from(flag) << 8);
    }

    #[inline(always)]
    pub(crate) fn of_kind(mut self, kind: u8, flag: bool) -> Self {
        self.set_kind(kind, flag);
        self
    }

    /// Sets the credit that goes with it.
    #[inline(always)]
    pub fn set_credit(&mut self, credit: u16) {
        let first = long(&self.bytes, 0) & !(0xffff << 16);
        self.set(0, first | u64::from(credit) << 16);
    }

    /// Returns the client's words.
    pub fn words(&self) -> Words<'_> {
        Words { first: (long(&self.bytes, 0) >> 32) as u32, rest: &self.bytes()[8..] }
    }

    /// Returns its bytes.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length as usize]
    }
}

/// A client's header that has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Words<'a> {
    /// The first word.
    pub first: u32,
    rest: &'a [u8],
}

impl Words<'_> {
    /// Returns the other words, if there are so many.
    #[inline(always)]
    pub fn rest<const COUNT: usize>(&self) -> Option<[u64; COUNT]> {
        (self.rest.len() == 8 * COUNT).then(|| core::array::from_fn(|index| long(self.rest, 8 * index)))
    }
}

/// A message between services.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// A message of the client's, with its data.
    Short {
        /// It has cost no credit.
        is_free: bool,
        /// The client's header.
        header: Words<'a>,
    },
    /// A message of the client's, whose data stays with the sender; the payload is an [`Offer`], and what goes with it.
    Offer {
        /// The sender waits until the data is not needed any more.
        is_held: bool,
        /// The client's header.
        header: Words<'a>,
    },
    /// Asks for data.
    Ask {
        /// It must come in pieces.
        in_pieces: bool,
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
    /// The sender wants an offer back that nobody uses yet.
    Withdraw {
        /// Where the offer went.
        word: u32,
        /// The data.
        lent: u64,
    },
    /// The offer is given back.
    Withdrawn {
        /// The data.
        lent: u64,
    },
    /// Nothing but credit.
    Credit,
}

/// What is no header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

/// The first word of a header, and the others.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    first: u64,
    rest: &'a [u8],
}

impl<'a> Head<'a> {
    #[inline(always)]
    pub fn of(header: &'a [u8]) -> Result<Self, Malformed> {
        let (first, rest) = header.split_first_chunk().ok_or(Malformed)?;
        Ok(Self { first: u64::from_le_bytes(*first), rest })
    }

    #[inline(always)]
    pub fn credit(&self) -> u16 {
        (self.first >> 16) as u16
    }

    /// Tells whether it is that of a short message which has cost credit.
    #[inline(always)]
    pub fn is_short(&self) -> bool {
        self.first as u16 == u16::from(SHORT)
    }

    /// Tells whether it is that of a short message which has cost none.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.first as u16 == u16::from(SHORT) | 1 << 8
    }

    /// Returns the client's words.
    #[inline(always)]
    pub fn words(&self) -> Words<'a> {
        Words { first: (self.first >> 32) as u32, rest: self.rest }
    }

    pub fn frame(&self) -> Result<Frame<'a>, Malformed> {
        if !self.rest.len().is_multiple_of(8) || self.rest.len() > 8 * MOST_WORDS {
            return Err(Malformed);
        }
        let (kind, word, header) = (self.first as u8, (self.first >> 32) as u32, self.words());
        let flag = match (self.first >> 8) as u8 {
            0 => false,
            1 => true,
            _ => return Err(Malformed),
        };
        let ([one, two, three], count) = match *self.rest {
            [] => ([0; 3], 0),
            _ => {
                let mut words = self.rest.chunks_exact(8).map(|word| long(word, 0));
                (core::array::from_fn(|_| words.next().unwrap_or(0)), self.rest.len() / 8)
            }
        };
        Ok(match (kind, flag, word, count) {
            (SHORT, is_free, ..) => Frame::Short { is_free, header },
            (OFFER, is_held, ..) => Frame::Offer { is_held, header },
            (ASK, in_pieces, 0, 3) => Frame::Ask { in_pieces, lent: one, room: two, bytes: three },
            (DATA, false, 0, 2) => Frame::Data { room: one, offset: two },
            (DONE, false, 0, 1) => Frame::Done { lent: one },
            (WITHDRAW, false, word, 1) => Frame::Withdraw { word, lent: one },
            (WITHDRAWN, false, 0, 1) => Frame::Withdrawn { lent: one },
            (CREDIT, false, 0, 0) => Frame::Credit,
            _ => return Err(Malformed),
        })
    }
}

impl<'a> Frame<'a> {
    /// Writes the header, without credit.
    pub fn encode(&self) -> Header {
        match *self {
            Self::Short { is_free, header } => header.written().of_kind(SHORT, is_free),
            Self::Offer { is_held, header } => header.written().of_kind(OFFER, is_held),
            Self::Ask { in_pieces, lent, room, bytes } => {
                Header::new(0, &[lent, room, bytes]).of_kind(ASK, in_pieces)
            }
            Self::Data { room, offset } => Header::new(0, &[room, offset]).of_kind(DATA, false),
            Self::Done { lent } => Header::new(0, &[lent]).of_kind(DONE, false),
            Self::Withdraw { word, lent } => Header::new(word, &[lent]).of_kind(WITHDRAW, false),
            Self::Withdrawn { lent } => Header::new(0, &[lent]).of_kind(WITHDRAWN, false),
            Self::Credit => Header::new(0, &[]).of_kind(CREDIT, false),
        }
    }

    /// Reads a header: the frame, and the credit that came with it.
    ///
    /// # Errors
    /// It is none.
    pub fn decode(header: &'a [u8]) -> Result<(Self, u16), Malformed> {
        let head = Head::of(header)?;
        Ok((head.frame()?, head.credit()))
    }
}

impl Words<'_> {
    /// Returns the other words, however many they are.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> {
        self.rest.chunks_exact(8).map(|word| long(word, 0))
    }

    /// Writes them again.
    fn written(&self) -> Header {
        let mut header = Header::new(self.first, &[]);
        header.bytes[8..][..self.rest.len()].copy_from_slice(self.rest);
        header.length += self.rest.len() as u8;
        header
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

    /// Returns what its sender calls it.
    pub fn name(&self) -> u64 {
        self.lent
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

    /// Reads one, and what goes with it.
    pub(crate) fn decode(payload: &[u8], is_held: bool) -> Result<(Self, &[u8]), Malformed> {
        let (offer, note) = payload.split_first_chunk::<OFFER_BYTES>().ok_or(Malformed)?;
        let word = |index: usize| long(offer, 8 * index);
        Ok((Self { lent: word(0), bytes: word(1), address: word(2), is_held }, note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            kind in 0..8u8,
            flag in any::<bool>(),
            word in any::<u32>(),
            words in proptest::collection::vec(any::<u64>(), 0..=MOST_WORDS),
            [lent, room, bytes] in any::<[u64; 3]>(),
            credit in any::<u16>(),
            note in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let written = Header::new(word, &words);
            let header = Words { first: word, rest: &written.bytes()[8..] };
            let frame = match kind {
                0 => Frame::Short { is_free: flag, header },
                1 => Frame::Offer { is_held: flag, header },
                2 => Frame::Ask { in_pieces: flag, lent, room, bytes },
                3 => Frame::Data { room, offset: bytes },
                4 => Frame::Done { lent },
                5 => Frame::Withdraw { word, lent },
                6 => Frame::Withdrawn { lent },
                _ => Frame::Credit,
            };
            let mut encoded = frame.encode();
            encoded.set_credit(credit);
            prop_assert_eq!(Frame::decode(encoded.bytes()), Ok((frame, credit)));
            if words.len() == 2 {
                prop_assert_eq!(header.rest::<2>().map(Vec::from), Some(words));
            }
            prop_assert_eq!(header.rest::<{ MOST_WORDS + 1 }>(), None);
            let offer = Offer { lent, bytes, address: room, is_held: flag };
            let payload = [&offer.encode()[..], &note].concat();
            prop_assert_eq!(Offer::decode(&payload, flag), Ok((offer, &note[..])));
        }

        #[test]
        fn whatever_comes_is_a_frame_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80), kind in 0..10u8, flags in 0..3u8) {
            let mut bytes = bytes;
            for (place, value) in bytes.iter_mut().zip([kind, flags]) {
                *place = value;
            }
            if let Ok((frame, credit)) = Frame::decode(&bytes) {
                let mut encoded = frame.encode();
                encoded.set_credit(credit);
                prop_assert_eq!(encoded.bytes(), &bytes[..]);
            }
        }
    }

    #[test]
    fn the_header_of_a_client_with_two_words_leaves_room_in_the_line() {
        assert_eq!(Header::new(1, &[2, 3]).bytes().len(), 24);
    }
}
