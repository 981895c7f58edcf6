//! The headers of messages between ranks: to whom, the envelope, and whether the message says what it is.
//!
//! There are two words beside the first one, so header and payload of a short message share a line of the cache with what a device
//! adds. What is not used of the last word is zero.

use crate::matching::Envelope;
use weft_post::{Header, Nonsense, Words};

/// In the upper half of the last word: what checking mode says goes in front of the data.
const DESCRIBED: u32 = 1;

/// What a header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    /// The receiving rank's number on its node process.
    pub target: u32,
    /// The envelope.
    pub envelope: Envelope,
    /// Whether the payload begins with what checking mode says of the message.
    pub is_described: bool,
}

impl Address {
    /// Writes it.
    #[inline(always)]
    pub fn encode(&self) -> Header {
        let (context, source, tag) = (self.envelope.context, self.envelope.source(), self.envelope.tag());
        let flags = if self.is_described { DESCRIBED } else { 0 };
        let words = [
            u64::from(context) | u64::from(source as u32) << 32,
            u64::from(tag as u32) | u64::from(flags) << 32,
        ];
        Header::new(self.target, &words)
    }

    /// Reads one.
    ///
    /// # Errors
    /// It is none.
    #[inline(always)]
    pub fn decode(header: Words<'_>) -> Result<Self, Nonsense> {
        let Some([one, two]) = header.rest::<2>() else { return Err(Nonsense("a malformed header")) };
        let flags = (two >> 32) as u32;
        if flags > DESCRIBED {
            return Err(Nonsense("a malformed header"));
        }
        let envelope = Envelope::new(one as u32, (one >> 32) as i32, two as i32);
        Ok(Self { target: header.first, envelope, is_described: flags != 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            (context, source, tag) in any::<(u32, i32, i32)>(),
            target in any::<u32>(),
            is_described in any::<bool>(),
        ) {
            let address = Address { target, envelope: Envelope::new(context, source, tag), is_described };
            let header = address.encode();
            prop_assert_eq!(header.bytes().len(), 24, "it leaves room in the line");
            prop_assert_eq!(Address::decode(header.words()), Ok(address));
        }

        #[test]
        fn whatever_comes_is_written_as_it_was_read_or_refused(
            first in any::<u32>(),
            words in proptest::collection::vec(any::<u64>(), 0..4),
            is_small in any::<bool>(),
        ) {
            let mut words = words;
            if is_small && let Some(last) = words.last_mut() {
                *last &= 0x3_ffff_ffff;
            }
            let header = Header::new(first, &words);
            if let Ok(address) = Address::decode(header.words()) {
                let written = address.encode();
                prop_assert_eq!(written.bytes(), header.bytes());
            } else {
                prop_assert!(words.len() != 2 || words[1] >> 33 != 0);
            }
        }
    }
}
