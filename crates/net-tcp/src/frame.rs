//! What travels on a connection after the handshake: frames.
//!
//! | bytes | meaning |
//! | --- | --- |
//! | 1 | kind: 1 short, 2 long, 3 end |
//! | 1 | length of the header |
//! | 1 | the channel |
//! | 1 | zero |
//! | 8 | length of the payload, little endian |
//! | … | the header, then the payload |
//!
//! A *short* message may be as long as the job's `net-eager`, and where its channel wants that it is delivered when
//! all of it is there; a *long* one is when its header is, and its payload goes straight to where the handler wants it. *End* says that the sender ends in order, so that what follows on the connection, which is
//! nothing, is no loss.

use weft_transport::{Channel, MAX_HEADER};

/// The length of what precedes the header.
pub const HEAD: usize = 12;

/// The longest payload of a short message, whatever a peer is set to send.
pub const MAX_SHORT: u64 = 1 << 20;
/// The longest payload of a long message: no memory is longer.
pub const MAX_LONG: u64 = 1 << 47;

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A message that is delivered whole.
    Short,
    /// A message that is delivered as it comes.
    Long,
    /// The sender ends in order.
    End,
}

/// What no peer of ours sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// No such kind of frame.
    Kind,
    /// A header longer than there are, or a payload longer than its kind may have.
    Length,
}

/// What precedes the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// What the frame is.
    pub kind: Kind,
    /// Of which channel it is; the first one's if it says that the sender ends.
    pub channel: Channel,
    /// The length of the header.
    pub header: usize,
    /// The length of the payload.
    pub bytes: u64,
}

impl Head {
    /// Writes it.
    pub fn encode(&self) -> [u8; HEAD] {
        let mut out = [0; HEAD];
        out[0] = match self.kind {
            Kind::Short => 1,
            Kind::Long => 2,
            Kind::End => 3,
        };
        out[1] = self.header as u8;
        out[2] = self.channel.number();
        out[4..].copy_from_slice(&self.bytes.to_le_bytes());
        out
    }

    /// Reads it.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn decode(head: &[u8; HEAD]) -> Result<Self, Malformed> {
        let [kind, header, channel, zero, bytes @ ..] = *head;
        let (bytes, header) = (u64::from_le_bytes(bytes), usize::from(header));
        let (kind, longest) = match (kind, zero, channel) {
            (1, 0, _) => (Kind::Short, MAX_SHORT),
            (2, 0, _) => (Kind::Long, MAX_LONG),
            (3, 0, 0) => (Kind::End, 0),
            _ => return Err(Malformed::Kind),
        };
        if header > MAX_HEADER || bytes > longest || (kind == Kind::End && header > 0) {
            return Err(Malformed::Length);
        }
        Ok(Self { kind, channel: Channel::new(channel), header, bytes })
    }
}

/// A frame at the beginning of what has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// What it is.
    pub kind: Kind,
    /// Of which channel it is.
    pub channel: Channel,
    /// Its header.
    pub header: &'a [u8],
    /// The length of the whole payload.
    pub bytes: u64,
    /// What of the payload is there.
    pub present: &'a [u8],
}

/// Takes a frame off what has arrived, if its header is there, with what is there of its payload. No short message may be
/// longer than `eager`.
///
/// # Errors
/// Says what is wrong with what has arrived.
pub fn take<'a>(input: &mut &'a [u8], eager: u64) -> Result<Option<Frame<'a>>, Malformed> {
    let Some((head, rest)) = input.split_first_chunk() else { return Ok(None) };
    let Head { kind, channel, header, bytes } = Head::decode(head)?;
    if kind == Kind::Short && bytes > eager {
        return Err(Malformed::Length);
    }
    let Some((header, rest)) = rest.split_at_checked(header) else { return Ok(None) };
    let (present, rest) = rest.split_at(bytes.min(rest.len() as u64) as usize);
    *input = rest;
    Ok(Some(Frame { kind, channel, header, bytes, present }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Parts = (Kind, Channel, Vec<u8>, Vec<u8>);

    fn frames() -> impl Strategy<Value = Parts> {
        let data = |most| proptest::collection::vec(any::<u8>(), 0..most);
        (0..3, any::<u8>().prop_map(Channel::new), data(MAX_HEADER + 1), data(300)).prop_map(
            |(kind, channel, header, payload)| match kind {
                0 => (Kind::Short, channel, header, payload),
                1 => (Kind::Long, channel, header, payload),
                _ => (Kind::End, Channel::new(0), Vec::new(), Vec::new()),
            },
        )
    }

    proptest! {
        /// Frames cut into pieces anywhere come out as they were put in.
        #[test]
        fn what_is_sent_is_taken(frames in proptest::collection::vec(frames(), 0..20), cuts in proptest::collection::vec(1..200usize, 1..50)) {
            let mut wire = Vec::new();
            for (kind, channel, header, payload) in &frames {
                let head = Head { kind: *kind, channel: *channel, header: header.len(), bytes: payload.len() as u64 };
                wire.extend([&head.encode()[..], header, payload].concat());
            }
            let (mut seen, mut kept, mut left) = (Vec::new(), Vec::new(), 0u64);
            let (mut rest, mut cuts) = (&wire[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, more) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                rest = more;
                kept.extend_from_slice(piece);
                let mut input = &kept[..];
                loop {
                    if left > 0 {
                        let taken = left.min(input.len() as u64);
                        let (data, more) = input.split_at(taken as usize);
                        let (.., payload): &mut Parts = seen.last_mut().unwrap();
                        payload.extend_from_slice(data);
                        (left, input) = (left - taken, more);
                        if left > 0 { break }
                    }
                    let Some(frame) = take(&mut input, 300).unwrap() else { break };
                    seen.push((frame.kind, frame.channel, frame.header.to_vec(), frame.present.to_vec()));
                    left = frame.bytes - frame.present.len() as u64;
                }
                kept = input.to_vec();
            }
            prop_assert_eq!(seen, frames);
            prop_assert!(kept.is_empty());
        }

        #[test]
        fn whatever_comes_is_a_frame_or_refused(input in proptest::collection::vec(any::<u8>(), 0..200), kind in 0..5u8) {
            let mut input = input;
            if let Some(first) = input.first_mut() {
                *first = kind;
            }
            let mut rest = &input[..];
            while let Ok(Some(frame)) = take(&mut rest, 100) {
                prop_assert!(frame.header.len() <= MAX_HEADER && frame.present.len() as u64 <= frame.bytes);
            }
        }
    }

    #[test]
    fn lengths_beyond_what_is_allowed_are_refused() {
        for (kind, header, bytes) in [
            (Kind::Short, MAX_HEADER + 1, 0),
            (Kind::Short, 0, MAX_SHORT + 1),
            (Kind::Long, 0, MAX_LONG + 1),
            (Kind::Long, 255, 0),
        ] {
            let head = Head { kind, channel: Channel::new(7), header, bytes }.encode();
            assert_eq!(Head::decode(&head), Err(Malformed::Length), "{kind:?} {header} {bytes}");
        }
        for (header, bytes) in [(1, 0), (0, 1)] {
            let head = Head { kind: Kind::End, channel: Channel::new(0), header, bytes }.encode();
            assert_eq!(Head::decode(&head), Err(Malformed::Length), "an end of {header} and {bytes} bytes");
        }
        let short = Head { kind: Kind::Short, channel: Channel::new(0), header: 0, bytes: 0 };
        let head = Head { bytes: 101, ..short }.encode();
        assert_eq!(take(&mut &head[..], 100), Err(Malformed::Length), "before it is kept");
        for (kind, place) in [(Kind::Short, 0), (Kind::Short, 3), (Kind::End, 2)] {
            let mut head = Head { kind, ..short }.encode();
            head[place] = 9;
            assert_eq!(Head::decode(&head), Err(Malformed::Kind));
        }
    }
}
