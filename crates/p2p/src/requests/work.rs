//! Work that is neither a send nor a receive, behind a request.

use core::any::Any;
use weft_base::abi::Status;
use weft_base::constants::MPI_ERR_REQUEST;
use weft_base::{Error, Result};
use weft_sched::Thread;

/// A request that is not a send or a receive: a generalized request, a nonblocking collective.
pub trait Work: Send + Sync {
    /// Does what can be done now. Returns whether the request is complete.
    ///
    /// `waiter` is a thread that will park when the answer is no: unpark it as soon as another call could get
    /// further. It stays registered until [`Work::leave`].
    fn advance(&self, waiter: Option<&'static Thread>) -> bool;
    /// Forgets a waiter.
    fn leave(&self, _waiter: &'static Thread) {}
    /// Tells whether the request completes without [`Work::advance`] being called on others, and [`Work::wait`] waits for
    /// it.
    fn is_independent(&self) -> bool {
        false
    }
    /// Waits until the request is complete, if it is independent.
    fn wait(&self) {}
    /// Returns the status of the complete request.
    fn status(&self) -> (Status, Result);
    /// Marks the request for cancellation.
    fn cancel(&self) -> Result {
        Ok(())
    }
    /// Starts a persistent request.
    fn start(&self) -> Result {
        Err(Error::new(MPI_ERR_REQUEST, "request is not persistent; only persistent requests are started"))
    }
    /// Tells whether the request becomes inactive, not freed, when it is complete.
    fn is_persistent(&self) -> bool {
        false
    }
    /// Called once, when the handle is gone.
    fn free(&self) {}
    /// Ends the request, if it is not persistent, for the call that completes it: [`Work::status`] and [`Work::free`].
    fn finish(&self) -> (Status, Result) {
        let ended = self.status();
        self.free();
        ended
    }
    /// Frees a request for `MPI_Request_free`: [`Work::free`], which may fail.
    fn discard(&self) -> Result {
        self.free();
        Ok(())
    }
    /// Tells whether `MPI_Request_free` may be called while the request is active.
    fn is_freed_active(&self) -> bool {
        false
    }
    /// Called when the program frees the active request. Returns whether it is complete; if not, whoever completes it
    /// ends it with [`Requests::release_abandoned`].
    fn abandon(&self) -> bool {
        true
    }
    /// Tells whether it is complete, as far as one can see without doing anything for it.
    fn is_known_complete(&self) -> bool {
        false
    }
    /// Says what it is, for reports: which call made it and what that waits for.
    fn describe(&self) -> WorkDescription {
        WorkDescription::default()
    }
    /// Returns itself, for calls that concern one kind of work only.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// What a report says of work.
#[derive(Clone, Debug, Default)]
pub struct WorkDescription {
    /// The call that made it; may be empty.
    pub made_by: String,
    /// The blocking form's name, for a collective operation.
    pub collective: Option<String>,
    /// Its root.
    pub root: Option<u32>,
    /// The message of a partitioned operation.
    pub message: Option<PartitionedMessage>,
    /// What it is, in words, for everything else.
    pub words: String,
}

/// What a partitioned operation sends or receives.
#[derive(Clone, Copy, Debug)]
pub struct PartitionedMessage {
    /// Whether it sends.
    pub is_send: bool,
    /// The other rank in the job.
    pub world: u32,
    /// The tag.
    pub tag: i32,
    /// How many parts there are.
    pub partitions: u32,
    /// How many of them the sender has not made ready, as far as it is the rank's own to do so.
    pub not_ready: u32,
}
