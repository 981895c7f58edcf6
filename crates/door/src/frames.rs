//! Whole messages out of a stream of bytes: a length of four bytes, then as many.

/// The longest message.
pub(crate) const LONGEST: usize = 64 << 20;

/// What is left of a stream that has not become a message yet.
#[derive(Default)]
pub(crate) struct Frames {
    pending: Vec<u8>,
}

/// What goes over the stream for a message.
pub(crate) fn frame(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + message.len());
    out.extend_from_slice(&(message.len() as u32).to_le_bytes());
    out.extend_from_slice(message);
    out
}

impl Frames {
    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Takes the next message out. An error says that what comes is none.
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, ()> {
        let Some(head) = self.pending.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if length > LONGEST {
            return Err(());
        }
        if self.pending.len() < 4 + length {
            return Ok(None);
        }
        let rest = self.pending.split_off(4 + length);
        let mut message = core::mem::replace(&mut self.pending, rest);
        message.drain(..4);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_whole_however_they_are_cut() {
        let messages: [&[u8]; 3] = [b"", b"one", &[7; 300]];
        let stream: Vec<u8> = messages.iter().flat_map(|message| frame(message)).collect();
        for cut in 1..stream.len() {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for part in stream.chunks(cut) {
                frames.push(part);
                while let Some(message) = frames.next().unwrap() {
                    found.push(message);
                }
            }
            assert_eq!(found, messages);
        }
        let mut frames = Frames::default();
        frames.push(&[0xff; 4]);
        assert!(frames.next().is_err());
    }
}
