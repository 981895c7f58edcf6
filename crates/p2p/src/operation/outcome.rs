//! What became of an operation, and what a caller is told of it.

use std::sync::OnceLock;
use weft_base::abi::Status;
use weft_base::constants::{MPI_ERR_PROC_ABORTED, MPI_ERR_TRUNCATE};
use weft_base::{Error, Result};

/// What became of an operation: two words, so that it is written, read and handed on as such. One core that writes it in pieces
/// and reads it as a whole soon after waits for the pieces to reach its cache.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Source and tag.
    from: u64,
    /// The length of the message, which may be more than the buffer holds; with `CANCELLED` or `FAILED`.
    length: u64,
}

/// The operation was cancelled.
const CANCELLED: u64 = 1 << 63;
/// It ended because a node process was lost.
const FAILED: u64 = 1 << 62;

impl Outcome {
    /// That of a send.
    pub const SENT: Self = Self { from: 0, length: 0 };

    /// That of a receive.
    #[inline]
    pub const fn received(source: i32, tag: i32, bytes: u64) -> Self {
        debug_assert!(bytes < FAILED);
        Self { from: source as u32 as u64 | (tag as u32 as u64) << 32, length: bytes }
    }

    /// That of a cancelled operation.
    pub const fn cancelled(source: i32, tag: i32) -> Self {
        Self { length: CANCELLED, ..Self::received(source, tag, 0) }
    }

    /// That of an operation whose node process is lost.
    pub const fn failed(source: i32, tag: i32) -> Self {
        Self { length: FAILED, ..Self::received(source, tag, 0) }
    }

    /// Returns the sender's rank in the communicator.
    #[inline]
    pub fn source(&self) -> i32 {
        self.from as u32 as i32
    }

    /// Returns the message's tag.
    #[inline]
    pub fn tag(&self) -> i32 {
        (self.from >> 32) as u32 as i32
    }

    /// Returns the length of the message.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.length & !(CANCELLED | FAILED)
    }

    /// Tells whether the operation was cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.length & CANCELLED != 0
    }

    /// Tells whether it ended because a node process was lost.
    #[inline]
    pub fn is_failed(&self) -> bool {
        self.length & FAILED != 0
    }

    /// Returns the length of a message that went whole into a buffer of `capacity` bytes.
    #[inline]
    pub(crate) fn fits(&self, capacity: u64) -> Option<u64> {
        // What ended otherwise has a length that no buffer has.
        (self.length <= capacity.min(FAILED - 1)).then_some(self.length)
    }

    /// Returns the result of a send.
    pub fn sent(&self) -> Result {
        if self.is_failed() { Err(lost()) } else { Ok(()) }
    }
}

/// Makes a status of the outcome of a receive into a buffer of `capacity` bytes. Its error field says nothing; the result does.
#[inline(always)]
pub(crate) fn received(outcome: &Outcome, capacity: u64) -> (Status, Result) {
    let bytes = outcome.bytes().min(capacity);
    // At once, not by changes: whoever copies what was just changed in parts waits for them.
    let status =
        Status { source: outcome.source(), tag: outcome.tag(), ..Status::of(bytes, outcome.is_cancelled()) };
    let result = match outcome.fits(capacity) {
        Some(_) => Ok(()),
        None => received_otherwise(outcome, capacity),
    };
    (status, result)
}

#[cold]
fn received_otherwise(outcome: &Outcome, capacity: u64) -> Result {
    if outcome.is_cancelled() {
        return Ok(());
    }
    Err(if outcome.is_failed() { lost() } else { truncated(outcome, capacity) })
}

/// Why operations fail, once a peer is lost.
static REASON: OnceLock<String> = OnceLock::new();

/// Notes why a peer is lost. The first reason is kept: the others follow from it.
#[cold]
pub(crate) fn note_loss(reason: &str) {
    REASON.get_or_init(|| reason.into());
}

/// Makes the error of an operation whose peer is lost.
#[cold]
pub(crate) fn lost() -> Error {
    let reason = REASON.get().map_or("a node process is gone", String::as_str);
    Error::new(MPI_ERR_PROC_ABORTED, format!("the message cannot get through: {reason}"))
}

fn truncated(outcome: &Outcome, capacity: u64) -> Error {
    let (source, tag, bytes) = (outcome.source(), outcome.tag(), outcome.bytes());
    Error::new(
        MPI_ERR_TRUNCATE,
        format!(
            "message of {bytes} bytes from rank {source} with tag {tag} does not fit the receive buffer of \
             {capacity} bytes; the rest was dropped"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_tells_what_it_was_made_of() {
        for (source, tag) in [(0, 0), (-1, -2), (i32::MIN, i32::MAX), (i32::MAX, i32::MIN), (7, -1)] {
            for bytes in [0, 1, u64::from(u32::MAX) + 1, FAILED - 1] {
                let outcome = Outcome::received(source, tag, bytes);
                assert_eq!((outcome.source(), outcome.tag(), outcome.bytes()), (source, tag, bytes));
                assert!(!outcome.is_cancelled() && !outcome.is_failed());
                for capacity in [bytes, bytes + 1, u64::MAX] {
                    let (status, result) = received(&outcome, capacity);
                    assert_eq!((status.source, status.tag, status.bytes()), (source, tag, bytes));
                    assert!(result.is_ok() && !status.cancelled());
                }
            }
            let (status, result) = received(&Outcome::received(source, tag, 10), 9);
            assert_eq!(status.bytes(), 9);
            assert_eq!(result.unwrap_err().class, MPI_ERR_TRUNCATE);
        }
    }

    #[test]
    fn what_ended_otherwise_is_no_message_however_much_fits() {
        for capacity in [0, 100, FAILED, CANCELLED, u64::MAX] {
            let (status, result) = received(&Outcome::cancelled(3, 4), capacity);
            assert!(status.cancelled() && result.is_ok());
            assert_eq!((status.source, status.tag, status.bytes()), (3, 4, 0));
            let (status, result) = received(&Outcome::failed(3, 4), capacity);
            assert!(!status.cancelled() && status.bytes() == 0);
            assert_eq!(result.unwrap_err().class, MPI_ERR_PROC_ABORTED);
        }
    }
}
