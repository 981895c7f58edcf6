//! Frames between `mpirun` and its agents on other hosts, over the pipes of the command that starts them.
//!
//! A frame is a kind, a number (of a node process or host), a value, and as many bytes as its length says. Lengths are
//! checked before anything is kept. An agent begins with [`PREAMBLE`]: what shells print before is skipped.

/// What an agent writes first.
pub const PREAMBLE: &[u8] = b"\nweft-agent-1\n";
/// How much may come before the preamble.
const MOST_NOISE: usize = 64 << 10;
/// The longest payload of an order.
pub const MOST_ORDER: usize = 256 << 20;
/// The longest payload of anything else.
pub const MOST: usize = 16 << 20;
const HEADER: usize = 13;

/// Stands for all node processes.
pub const ALL: u32 = u32::MAX;

/// Added to the number of a node process: its own output, where its ranks have theirs.
pub const ITSELF: u32 = 1 << 31;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// To an agent: what to start. The payload is an [`Errand`](crate::agents::errand::Errand).
    Order = 1,
    /// To an agent: standard input of rank 0; an empty payload is its end.
    Input,
    /// To an agent: send the signal `value` to node process `number`, or [`ALL`].
    Signal,
    /// To an agent: a request, as a line for node process `number`, or [`ALL`].
    Request,
    /// To an agent: kill all node processes.
    Kill,
    /// To an agent: `value` bytes of output of host `number` have been written.
    Written,
    /// Both ways: I am here.
    Beat,
    /// From an agent, first: the payload is its version.
    Hello,
    /// From an agent: a report of node process `number`, a line.
    Report,
    /// From an agent: node process `number` is gone; `value` is its wait status.
    Ended,
    /// From an agent: output of node process `number`, or of that rank, where the output of ranks in one process is told
    /// apart, or of [`ITSELF`] and a node process there; `value` is 1 for standard error.
    Output,
    /// From an agent: `value` bytes of standard input have been taken.
    Taken,
    /// From an agent: host `number` cannot do its part; the payload says why.
    Failed,
    /// From an agent: host `number` is lost; the payload says how that was noticed.
    Lost,
    /// From an agent: all node processes of host `number` are gone, and all they wrote is sent.
    Done,
}

impl Kind {
    const TABLE: [Self; 15] = [
        Self::Order,
        Self::Input,
        Self::Signal,
        Self::Request,
        Self::Kill,
        Self::Written,
        Self::Beat,
        Self::Hello,
        Self::Report,
        Self::Ended,
        Self::Output,
        Self::Taken,
        Self::Failed,
        Self::Lost,
        Self::Done,
    ];

    fn of(byte: u8) -> Option<Self> {
        Self::TABLE.get(usize::from(byte).checked_sub(1)?).copied()
    }

    fn most(self) -> usize {
        if self == Self::Order { MOST_ORDER } else { MOST }
    }
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: Kind,
    /// Whom it concerns.
    pub number: u32,
    /// What its kind says.
    pub value: i32,
    /// The rest.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Creates a frame.
    pub fn new(kind: Kind, number: u32, value: i32, payload: impl Into<Vec<u8>>) -> Self {
        Self { kind, number, value, payload: payload.into() }
    }

    /// Appends the frame's bytes.
    pub fn write(&self, target: &mut impl Extend<u8>) {
        target.extend([self.kind as u8]);
        target.extend(self.number.to_le_bytes());
        target.extend(self.value.to_le_bytes());
        target.extend((self.payload.len() as u32).to_le_bytes());
        target.extend(self.payload.iter().copied());
    }

    /// Returns the payload as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.payload).into_owned()
    }
}

/// Makes frames out of the bytes that arrive.
#[derive(Debug, Default)]
pub struct Frames {
    pending: Vec<u8>,
    /// The start of the bytes in `pending` that have not been read.
    read: usize,
    has_begun: bool,
}

impl Frames {
    /// Reads what an agent writes, which begins with a preamble.
    pub fn of_agent() -> Self {
        Self::default()
    }

    /// Reads what an agent gets.
    pub fn of_starter() -> Self {
        Self { has_begun: true, ..Self::default() }
    }

    /// Takes what has arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.drain(..std::mem::take(&mut self.read));
        self.pending.extend_from_slice(bytes);
    }

    /// Returns the next whole frame.
    ///
    /// # Errors
    /// Says what is wrong; nothing that follows can be read then.
    pub fn take(&mut self) -> Result<Option<Frame>, String> {
        if !self.has_begun && !self.begin()? {
            return Ok(None);
        }
        let rest = &self.pending[self.read..];
        let Some((header, rest)) = rest.split_at_checked(HEADER) else { return Ok(None) };
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let kind = Kind::of(header[0]).ok_or_else(|| format!("a frame of unknown kind {}", header[0]))?;
        let (number, value, length) = (word(1), word(5) as i32, word(9) as usize);
        if length > kind.most() {
            return Err(format!("a frame of {length} bytes; {:?} has {} at most", kind, kind.most()));
        }
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let frame = Frame { kind, number, value, payload: payload.to_vec() };
        self.read += HEADER + length;
        Ok(Some(frame))
    }

    /// Looks for the preamble.
    fn begin(&mut self) -> Result<bool, String> {
        match self.pending.windows(PREAMBLE.len()).position(|bytes| bytes == PREAMBLE) {
            Some(at) => {
                self.read = at + PREAMBLE.len();
                self.has_begun = true;
                Ok(true)
            }
            None if self.pending.len() > MOST_NOISE => Err(format!(
                "it printed {} bytes that are not the agent's, beginning with {:?}",
                self.pending.len(),
                self.noise()
            )),
            None => Ok(false),
        }
    }

    /// Returns the begin of what came instead of the preamble.
    pub fn noise(&self) -> String {
        if self.has_begun {
            return String::new();
        }
        String::from_utf8_lossy(&self.pending[..self.pending.len().min(200)]).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kind_has_its_byte() {
        for (index, kind) in Kind::TABLE.into_iter().enumerate() {
            assert_eq!(kind as usize, index + 1);
            assert_eq!(Kind::of(kind as u8), Some(kind));
        }
        assert_eq!((Kind::of(0), Kind::of(16)), (None, None));
    }

    #[test]
    fn nonsense_is_refused_before_it_is_kept() {
        let mut frames = Frames::of_starter();
        frames.push(&[77; HEADER]);
        assert!(frames.take().unwrap_err().contains("unknown kind 77"));
        let mut frames = Frames::of_starter();
        let mut bytes = vec![Kind::Output as u8, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend(u32::MAX.to_le_bytes());
        frames.push(&bytes);
        assert!(frames.take().unwrap_err().contains("4294967295 bytes"));
        let mut frames = Frames::of_agent();
        frames.push(&[b'x'; MOST_NOISE + 1]);
        assert!(frames.take().unwrap_err().contains("not the agent's"));
    }

    proptest! {
        #[test]
        fn frames_survive_any_cut_and_noise_before_them(
            noise in "[a-z\n]{0,40}",
            frames in prop::collection::vec((1u8..16, any::<u32>(), any::<i32>(), prop::collection::vec(any::<u8>(), 0..50)), 0..8),
            cut in 1usize..40,
        ) {
            let frames: Vec<Frame> = frames.into_iter()
                .map(|(kind, number, value, payload)| Frame { kind: Kind::of(kind).unwrap(), number, value, payload }).collect();
            let mut bytes = noise.into_bytes();
            bytes.extend_from_slice(PREAMBLE);
            frames.iter().for_each(|frame| frame.write(&mut bytes));
            let (mut reader, mut found) = (Frames::of_agent(), Vec::new());
            for piece in bytes.chunks(cut) {
                reader.push(piece);
                while let Some(frame) = reader.take().unwrap() {
                    found.push(frame);
                }
            }
            prop_assert_eq!(found, frames);
        }
    }
}
