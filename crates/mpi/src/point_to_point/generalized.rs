//! Generalized requests: operations of the program behind a request of MPI (chapter 13).

use crate::arguments::callbacks::{self, from_callback};
use crate::arguments::check;
use crate::process::Process;
use core::any::Any;
use core::ffi::c_void;
use std::sync::Arc;
use weft_base::abi::{self, Callback, Status};
use weft_base::constants::*;
use weft_base::handle::Kind;
use weft_base::{Error, Out, Result};
use weft_p2p::{Signal, Work, WorkDescription};
use weft_sched::Thread;
use weft_sync::Lock;

/// What the program has said about a request so far.
#[derive(Clone, Copy, Default)]
struct State {
    complete: bool,
    /// The program has freed it before it was complete.
    abandoned: bool,
}

/// The program's functions, and whether its operation is complete.
struct Generalized {
    query: usize,
    free: usize,
    cancel: usize,
    extra_state: usize,
    state: Lock<State>,
    /// Set when the program says that the operation is complete.
    completed: Signal,
}

impl Generalized {
    /// Notes that the operation is complete. Returns whether the program has freed the request before.
    fn complete(&self) -> Result<bool> {
        let before = {
            let mut state = self.state.lock();
            let before = *state;
            state.complete = true;
            before
        };
        if before.complete {
            let text = "the generalized request is complete already; it is completed once";
            return Err(Error::new(MPI_ERR_REQUEST, text));
        }
        self.completed.set();
        Ok(before.abandoned)
    }
}

impl Work for Generalized {
    fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        self.completed.watch(waiter)
    }

    fn is_known_complete(&self) -> bool {
        self.completed.is_set()
    }

    fn describe(&self) -> WorkDescription {
        let words = "which MPI_Grequest_complete ends".into();
        WorkDescription { made_by: "MPI_Grequest_start".into(), words, ..WorkDescription::default() }
    }

    fn leave(&self, waiter: &'static Thread) {
        self.completed.leave(waiter);
    }

    fn status(&self) -> (Status, Result) {
        let mut status = Status::empty();
        let code = callbacks::query(self.query, self.extra_state, &mut status);
        (status, from_callback(code, "the query function of a generalized request"))
    }

    /// Ends with the error of the last callback that had one. The standard wants what the last returned, the free function;
    /// but where that has worked, the error of the query function would be lost.
    fn finish(&self) -> (Status, Result) {
        let (status, queried) = self.status();
        (status, self.discard().and(queried))
    }

    fn discard(&self) -> Result {
        from_callback(
            callbacks::free(self.free, self.extra_state),
            "the free function of a generalized request",
        )
    }

    fn cancel(&self) -> Result {
        let complete = self.state.lock().complete;
        let code = callbacks::cancel(self.cancel, self.extra_state, complete);
        from_callback(code, "the cancel function of a generalized request")
    }

    fn is_freed_active(&self) -> bool {
        true
    }

    fn abandon(&self) -> bool {
        let mut state = self.state.lock();
        state.abandoned = true;
        state.complete
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// `MPI_Grequest_start`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn grequest_start(
    query_fn: Callback,
    free_fn: Callback,
    cancel_fn: Callback,
    extra_state: *mut c_void,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    for (function, name) in [(query_fn, "query_fn"), (free_fn, "free_fn"), (cancel_fn, "cancel_fn")] {
        if function.is_null() {
            return Err(Error::new(MPI_ERR_ARG, format!("{name} is a null pointer; pass a function")));
        }
    }
    let work = Generalized {
        query: query_fn as usize,
        free: free_fn as usize,
        cancel: cancel_fn as usize,
        extra_state: extra_state as usize,
        state: Lock::default(),
        completed: Signal::new(false),
    };
    let requests = Process::current()?.messages().endpoint.requests();
    request.set(requests.create_work(Arc::new(work), MPI_COMM_SELF, true));
    Ok(())
}

/// `MPI_Grequest_complete`: also ends the request if the program has freed it already.
///
/// # Errors
/// `MPI_ERR_REQUEST` if it is not a generalized request or complete already; the code of the free function.
pub fn grequest_complete(request: abi::Request) -> Result {
    let requests = Process::current()?.messages().endpoint.requests();
    let work = requests.unfinished_work(request)?;
    let Some(generalized) = work.as_ref().and_then(|work| work.as_any()?.downcast_ref::<Generalized>())
    else {
        let text = format!("is {:#x}, which is not a generalized request", request.0);
        return Err(Error::handle(Kind::Request, request.0, text));
    };
    if !generalized.complete()? {
        return Ok(());
    }
    let freed = generalized.discard();
    requests.release_abandoned(request);
    freed
}
