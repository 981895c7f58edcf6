//! How a message looks in a line: its mark and its words.
//!
//! | kind | words of the line |
//! | --- | --- |
//! | `SHORT` | the header, padded to a multiple of 8, and the payload |
//! | `WHOLE` | place of the bytes, their number, the header |
//! | `BEGIN` | place and number of the first bytes, number of all bytes, the header |
//! | `MORE`  | place and number of the next bytes |
//!
//! `WHOLE` with the place [`INLINE`] has its bytes in the lines: from the third word of the first one on the header, padded
//! to a multiple of 8, and the payload, as in one piece.
//!
//! A header that does not fit lies before the bytes, padded to a multiple of 8. The place is a position in the bytes of a
//! pair, or in the shuttle if it is [`ABOARD`], or the number of a block. The mark is, from the lowest bit, kind (2 bits), length of the header (7), and channel (8, from
//! bit 16 on); that of a short message holds the length of the payload between (6), that of a message in lines how many they are. In a mailbox a `MORE` on no bytes announces
//! a pair, whose index is the place.
#![allow(unsafe_code)] // Copies by address.

use crate::words::copy_short;
use weft_sync::ring::{PAYLOAD, Payload};
use weft_transport::Channel;

pub(crate) const SHORT: u32 = 0;
pub(crate) const WHOLE: u32 = 1;
pub(crate) const BEGIN: u32 = 2;
pub(crate) const MORE: u32 = 3;

/// Where the length of the header begins in a mark.
const HEADER: u32 = 2;
/// Where the length of a short payload, or the number of lines, begins.
const COUNT: u32 = 9;
/// Where the channel begins.
const CHANNEL: u32 = 16;

/// Returns the kind of a mark.
#[inline]
pub(crate) fn kind(mark: u32) -> u32 {
    mark & 3
}

/// Returns the channel of a mark.
#[inline]
pub(crate) fn channel(mark: u32) -> Channel {
    Channel::new((mark >> CHANNEL) as u8)
}

#[inline]
fn channel_bits(channel: Channel) -> u32 {
    u32::from(channel.number()) << CHANNEL
}

/// In a place: it is one in the shuttle.
pub(crate) const ABOARD: u64 = 1 << 63;
/// In place of a place: the bytes are in the lines.
pub(crate) const INLINE: u64 = u64::MAX;
/// The most lines of a message that lies in lines: 128 bytes of data. Longer ones cost less through the pair's bytes, from
/// where they are copied once.
const MOST_LINES: usize = 3;
/// Bytes of header and payload in the first of several lines.
const FIRST_LINE: usize = PAYLOAD - 16;
/// Room for header and payload in lines.
pub(crate) const INLINE_BYTES: usize = FIRST_LINE + (MOST_LINES - 1) * PAYLOAD;

/// Returns how many lines header and payload take, if they may lie in lines.
#[inline]
pub(crate) fn lines_for(header: usize, payload: usize) -> Option<u32> {
    let bytes = header.next_multiple_of(8).checked_add(payload)?;
    (bytes <= INLINE_BYTES).then(|| 1 + bytes.saturating_sub(FIRST_LINE).div_ceil(PAYLOAD) as u32)
}

/// Writes one of the lines of a message that lies in lines.
#[inline]
pub(crate) fn fill_line(line: u32, to: &mut Payload, header: &[u8], payload: &[u8]) {
    let mut out = to.as_mut_ptr().cast::<u8>();
    let mut room = PAYLOAD;
    if line == 0 {
        (to[0], to[1]) = (INLINE, payload.len() as u64);
        (out, room) = (out.wrapping_add(16), FIRST_LINE);
    }
    if line > 0 && header.len() <= FIRST_LINE {
        // As most lines are: data alone.
        let from = FIRST_LINE + (line as usize - 1) * PAYLOAD - header.len().next_multiple_of(8);
        let data = &payload[from..];
        // SAFETY: words need no alignment in the slice, which has a line's bytes or is copied as far as it goes.
        return unsafe {
            match data.len() {
                PAYLOAD.. => *to = data.as_ptr().cast::<Payload>().read_unaligned(),
                rest => copy_short(data.as_ptr(), out, rest),
            }
        };
    }
    let padded = header.len().next_multiple_of(8);
    let mut at = if line == 0 { 0 } else { FIRST_LINE + (line as usize - 1) * PAYLOAD };
    // SAFETY: `out` has `room` bytes left, in a line nobody else has; sources are within the slices.
    unsafe {
        if at < padded {
            let bytes = (padded - at).min(room);
            // The padding is whatever the line held.
            let written = header.len().saturating_sub(at).min(bytes);
            copy_short(header.as_ptr().wrapping_add(at), out, written);
            (out, room, at) = (out.add(bytes), room - bytes, at + bytes);
        }
        let from = at - padded.min(at);
        let bytes = payload.len().saturating_sub(from).min(room);
        copy_short(payload.as_ptr().wrapping_add(from), out, bytes);
    }
}

/// Returns the mark of a message whose line holds all of it.
#[inline]
pub(crate) fn short(channel: Channel, header: usize, payload: usize) -> u32 {
    SHORT | channel_bits(channel) | (header as u32) << HEADER | (payload as u32) << COUNT
}

/// Returns the lengths of header and payload in a short mark, if they fit.
#[inline]
pub(crate) fn short_lengths(mark: u32) -> Option<(usize, usize)> {
    let (header, payload) = (header_length(mark), (mark >> COUNT & 63) as usize);
    fits(header, payload).then_some((header, payload))
}

/// Returns the mark of another kind.
#[inline]
pub(crate) fn long(kind: u32, channel: Channel, header: usize) -> u32 {
    kind | channel_bits(channel) | (header as u32) << HEADER
}

/// Returns the mark of a message that lies in so many lines.
#[inline]
pub(crate) fn in_lines(channel: Channel, header: usize, lines: u32) -> u32 {
    long(WHOLE, channel, header) | lines << COUNT
}

/// Returns how many lines a message lies in, as its mark says: a hint, for its first line tells, too.
#[inline]
pub(crate) fn lines_hint(mark: u32) -> u32 {
    if kind(mark) == WHOLE { mark >> COUNT & 63 } else { 0 }
}

/// Returns the length of the header in such a mark.
#[inline]
pub(crate) fn header_length(mark: u32) -> usize {
    (mark >> HEADER & 127) as usize
}

/// Returns how many words of a line come before the header.
#[inline]
pub(crate) fn words_before_header(kind: u32) -> usize {
    if kind == BEGIN { 3 } else { 2 }
}

/// Tells whether the header fits into the line beside the words of that kind.
#[inline]
pub(crate) fn header_fits(kind: u32, header: usize) -> bool {
    words_before_header(kind) * 8 + header <= PAYLOAD
}

/// Tells whether header and payload fit into one line.
#[inline]
pub(crate) fn fits(header: usize, payload: usize) -> bool {
    header <= PAYLOAD && header.next_multiple_of(8) + payload <= PAYLOAD
}

/// Writes header and payload into a line.
#[inline(always)]
pub(crate) fn fill_short(line: &mut Payload, header: &[u8], payload: &[u8]) {
    debug_assert!(fits(header.len(), payload.len()));
    let to = line.as_mut_ptr().cast::<u8>();
    // SAFETY: both fit, as the caller has found out; nobody else has the line.
    unsafe {
        copy_short(header.as_ptr(), to, header.len());
        copy_short(payload.as_ptr(), to.add(header.len().next_multiple_of(8)), payload.len());
    }
}

/// Returns the bytes of a line from a word on.
#[inline]
pub(crate) fn bytes_of(line: &Payload, first_word: usize) -> &[u8] {
    let words = &line[first_word..];
    // SAFETY: words are bytes.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_say_what_was_put_in() {
        for channel_ in (0..=u8::MAX).map(Channel::new) {
            for header in 0..=64 {
                for payload in 0..=PAYLOAD {
                    if fits(header, payload) {
                        let mark = short(channel_, header, payload);
                        assert_eq!((kind(mark), channel(mark), mark >> 24), (SHORT, channel_, 0));
                        assert_eq!(short_lengths(mark), Some((header, payload)));
                    }
                }
                for lines in 0..=MOST_LINES as u32 {
                    let mark = in_lines(channel_, header, lines);
                    assert_eq!((kind(mark), channel(mark), header_length(mark)), (WHOLE, channel_, header));
                    assert_eq!(lines_hint(mark), lines);
                }
                for kind_ in [WHOLE, BEGIN, MORE] {
                    let mark = long(kind_, channel_, header);
                    assert_eq!((kind(mark), channel(mark), header_length(mark)), (kind_, channel_, header));
                    assert_eq!(lines_hint(mark), 0);
                }
            }
        }
    }

    #[test]
    fn several_lines_hold_header_and_payload_in_one_piece() {
        let source: Vec<u8> = (0..600u32).map(|i| (i * 7 % 251) as u8).collect();
        for header in 0..=64usize {
            let padded = header.next_multiple_of(8);
            for payload in 0..=INLINE_BYTES {
                let Some(lines) = lines_for(header, payload) else {
                    assert!(padded + payload > INLINE_BYTES);
                    continue;
                };
                let mut gathered = Vec::new();
                for line in 0..lines {
                    let mut one = Payload::default();
                    fill_line(line, &mut one, &source[..header], &source[..payload]);
                    if line == 0 {
                        assert_eq!(one[..2], [INLINE, payload as u64]);
                    }
                    gathered.extend_from_slice(bytes_of(&one, if line == 0 { 2 } else { 0 }));
                }
                assert!(gathered.len() < padded + payload + PAYLOAD, "no line too many");
                assert_eq!(gathered[..header], source[..header]);
                assert_eq!(gathered[padded..][..payload], source[..payload]);
            }
        }
    }

    #[test]
    fn lines_hold_header_and_payload() {
        let source: Vec<u8> = (0..64).collect();
        for header in 0..=PAYLOAD {
            for payload in (0..=PAYLOAD).filter(|&payload| fits(header, payload)) {
                let mut line = Payload::default();
                fill_short(&mut line, &source[..header], &source[..payload]);
                let bytes = bytes_of(&line, 0);
                assert_eq!(bytes[..header], source[..header]);
                assert_eq!(bytes[header.next_multiple_of(8)..][..payload], source[..payload]);
            }
        }
    }
}
