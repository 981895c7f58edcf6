//! Operations on files behind a request: a thread of the pool carries them out.

use std::sync::Arc;
use weft_base::abi::{self, Status};
use weft_base::{Error, Result};
use weft_io::{Access, Direction};
use weft_p2p::{Signal, Work, WorkDescription};
use weft_sched::Thread;
use weft_sync::Lock;

/// An operation under way.
pub(super) struct Operation {
    call: &'static str,
    file: abi::File,
    done: Signal,
    outcome: Lock<Option<Result<u64>>>,
}

impl Operation {
    fn end(&self, outcome: Result<u64>) {
        *self.outcome.lock() = Some(outcome);
        self.done.set();
    }

    /// Returns how many bytes the complete operation has moved, or why it has failed.
    pub fn outcome(&self) -> Result<u64> {
        self.outcome.lock().clone().unwrap_or(Ok(0))
    }
}

/// Which operation it is; the beginning and the end of a split one must be of the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Form(pub Direction, pub Where);

/// Where an operation begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Where {
    Explicit,
    Individual,
    Shared,
    Ordered,
}

/// A split operation that has begun.
pub(super) struct Begun {
    pub form: Form,
    pub buffer: usize,
    pub operation: Arc<Operation>,
}

/// Begins an operation on a file; one that calls the program's functions is complete when this returns.
pub(super) fn start(access: Access, file: abi::File, call: &'static str) -> Arc<Operation> {
    let operation = Arc::new(Operation { call, file, done: Signal::new(false), outcome: Lock::new(None) });
    if access.is_own() {
        operation.end(access.carry_out());
        return operation;
    }
    let ended = operation.clone();
    weft_io::start(move || ended.end(access.carry_out()));
    operation
}

impl Work for Operation {
    fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        self.done.watch(waiter)
    }

    fn leave(&self, waiter: &'static Thread) {
        self.done.leave(waiter);
    }

    fn is_independent(&self) -> bool {
        true
    }

    fn wait(&self) {
        let me = weft_sched::current();
        weft_sched::wait_until(|| self.done.watch(Some(me)));
        self.done.leave(me);
    }

    fn status(&self) -> (Status, Result) {
        match self.outcome() {
            Ok(bytes) => (Status::of(bytes, false), Ok(())),
            Err(error) => (Status::empty(), Err(Error::of_file(error, self.file))),
        }
    }

    fn is_known_complete(&self) -> bool {
        self.done.is_set()
    }

    fn is_freed_active(&self) -> bool {
        true
    }

    fn describe(&self) -> WorkDescription {
        let words = "which the file system carries out".into();
        WorkDescription { made_by: self.call.into(), words, ..WorkDescription::default() }
    }
}
