//! Completing requests: wait, test, status, free, cancel (chapter 3).

use crate::check;
use crate::failures::{story, title};
use crate::messages::{Messages, store_status, store_status_at};
use crate::process::Process;
use core::ffi::c_int;
use weft_base::abi::{self, Status};
use weft_base::constants::*;
use weft_base::{Error, In, Named, Out, Result};
use weft_p2p::{Completion, note_failure, note_success};

const REQUESTS: &str = "array_of_requests";

/// Says which element of an array of requests an error is about.
#[cold]
fn place(error: Error, handles: &[abi::Request]) -> Error {
    let found =
        error.unnamed.and_then(|(_, value)| handles.iter().position(|handle| handle.0 as i64 == value));
    match found {
        Some(index) => error.named(&format!("{REQUESTS}[{index}]")),
        None => error,
    }
}

/// Checks the length of an array of requests and that there is an array.
pub(crate) fn array(count: c_int, is_null: bool, name: &str) -> Result<usize> {
    let length = check::length(count, name)?;
    check::array(is_null, length, REQUESTS)?;
    Ok(length)
}

/// The rank's requests as one call sees them.
struct Call {
    messages: &'static Messages,
}

impl Call {
    fn new() -> Result<Self> {
        Ok(Self { messages: Process::current()?.messages() })
    }

    fn is_complete(&self, handle: abi::Request) -> Result<bool> {
        self.messages.engine.is_request_complete(self.messages.endpoint, handle)
    }

    fn is_active(&self, handle: abi::Request) -> Result<bool> {
        self.messages.endpoint.requests().is_active(handle)
    }

    /// Tells whether any request is active, and which of the complete ones was created first.
    ///
    /// Receives match in the order they were posted, so the program sees messages in the order they came, as it does
    /// with implementations that complete one message at a time. Programs that post several wildcard receives and
    /// stop at a last message (HPCC's RandomAccess does) lose what came before it otherwise.
    fn first_complete(
        &self,
        count: usize,
        get: impl Fn(usize) -> abi::Request,
    ) -> Result<(bool, Option<usize>)> {
        let mut active = false;
        let mut first: Option<(u64, usize)> = None;
        // The second look: what was posted earlier may have been completed after the first look at it, but before
        // what was found.
        for look in 0..2 {
            for i in 0..count {
                let handle = get(i);
                if !self.is_active(handle).named_at(REQUESTS, i)? {
                    continue;
                }
                active = true;
                let order = self.messages.endpoint.requests().order(handle)?;
                if first.is_none_or(|(least, _)| order < least) && self.is_complete(handle)? {
                    first = Some((order, i));
                }
            }
            if first.is_none() || look == 1 {
                break;
            }
        }
        Ok((active, first.map(|(_, i)| i)))
    }

    /// Waits for a request and ends it.
    fn wait(&self, handle: abi::Request) -> Result<Completion> {
        self.messages.engine.wait_request(self.messages.endpoint, handle)
    }

    /// Returns the active requests and their places in the array.
    fn active(
        &self,
        count: usize,
        get: impl Fn(usize) -> abi::Request,
    ) -> Result<(Vec<usize>, Vec<abi::Request>)> {
        let mut found = (Vec::new(), Vec::new());
        for i in 0..count {
            let handle = get(i);
            if self.is_active(handle).named_at(REQUESTS, i)? {
                found.0.push(i);
                found.1.push(handle);
            }
        }
        Ok(found)
    }
}

/// Gives an operation's error to the communicator of its request.
fn error_of(completion: Completion) -> Result {
    match completion.error {
        Some(error) => Err(error.on(completion.comm)),
        None => Ok(()),
    }
}

/// Ends request `index` of an array, where the standard wants the status of one operation.
fn end_one(call: &Call, request: Out<abi::Request>, index: usize, status: Out<Status>) -> Result {
    let completion = call.wait(request.get_at(index))?;
    request.set_at(index, completion.handle);
    store_completion(status, &completion);
    error_of(completion)
}

/// Stores the status of one completion: the error field stays as it is, but for the empty status, which is defined as
/// one whose error field says success.
fn store_completion(status: Out<Status>, completion: &Completion) {
    if completion.is_empty { status.set(completion.status) } else { store_status(status, completion.status) }
}

/// Stores several completions, and reports errors as the standard wants it: every status says how its operation ended.
fn store_all(completions: Vec<Completion>, statuses: Out<Status>) -> Result {
    let failed = completions.iter().find_map(|c| Some((c.comm, c.error.as_ref()?.class)));
    for (i, completion) in completions.iter().enumerate() {
        if failed.is_some() || completion.is_empty {
            statuses.set_at(i, completion.status);
        } else {
            store_status_at(statuses, i, completion.status);
        }
    }
    let Some((comm, code)) = failed else { return Ok(()) };
    let text =
        format!("{}; MPI_ERROR in each status says how its operation ended", all_failures(&completions));
    Err(Error::new(MPI_ERR_IN_STATUS, text).on(comm).in_status(code))
}

/// Tells the first of several failures, and remembers each for `MPI_Error_string` of the statuses' codes.
#[cold]
fn all_failures(completions: &[Completion]) -> String {
    let (process, call) = (Process::any(), weft_sched::current().call());
    let mut failed = completions.iter().enumerate().filter_map(|(i, c)| Some((i, c.comm, c.error.as_ref()?)));
    for (_, comm, error) in failed.clone().collect::<Vec<_>>().into_iter().rev() {
        let communicator = process.communicator(comm).ok();
        let on = communicator.as_deref().map(title);
        process.failures.record(error.class, story(process, call, on.as_deref(), error));
    }
    let first = failed.next().map(|(i, _, error)| format!("the operation of status {i} failed: {error}"));
    let others = match failed.count() {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    first.unwrap_or_default() + &others
}

/// `MPI_Wait`
///
/// # Errors
/// `MPI_ERR_REQUEST`, and what the operation ended with.
pub fn wait(request: Out<abi::Request>, status: Out<Status>) -> Result {
    check::output(request, "request")?;
    end_one(&Call::new()?, request, 0, status)
}

/// `MPI_Test`
///
/// # Errors
/// As [`wait`].
pub fn test(request: Out<abi::Request>, flag: Out<c_int>, status: Out<Status>) -> Result {
    check::output(request, "request")?;
    check::output(flag, "flag")?;
    let call = Call::new()?;
    if !call.is_complete(request.get_at(0))? {
        flag.set(0);
        note_failure();
        return Ok(());
    }
    note_success();
    flag.set(1);
    end_one(&call, request, 0, status)
}

/// `MPI_Waitall`
///
/// # Errors
/// `MPI_ERR_REQUEST`; `MPI_ERR_IN_STATUS` if an operation failed.
pub fn waitall(count: c_int, requests: Out<abi::Request>, statuses: Out<Status>) -> Result {
    let count = array(count, requests.is_null(), "count")?;
    let call = Call::new()?;
    let handles: Vec<_> = (0..count).map(|i| requests.get_at(i)).collect();
    call.messages.engine.wait_for_all(call.messages.endpoint, &handles).map_err(|e| place(e, &handles))?;
    end_all(&call, &handles, requests, statuses)
}

/// Ends requests that are complete.
fn end_all(
    call: &Call,
    handles: &[abi::Request],
    requests: Out<abi::Request>,
    statuses: Out<Status>,
) -> Result {
    let mut completions = Vec::with_capacity(handles.len());
    for (i, &handle) in handles.iter().enumerate() {
        let completion = call.wait(handle)?;
        requests.set_at(i, completion.handle);
        completions.push(completion);
    }
    store_all(completions, statuses)
}

/// `MPI_Testall`
///
/// # Errors
/// As [`waitall`].
pub fn testall(count: c_int, requests: Out<abi::Request>, flag: Out<c_int>, statuses: Out<Status>) -> Result {
    check::output(flag, "flag")?;
    let count = array(count, requests.is_null(), "count")?;
    let call = Call::new()?;
    let handles: Vec<_> = (0..count).map(|i| requests.get_at(i)).collect();
    for (i, &handle) in handles.iter().enumerate() {
        if !call.is_complete(handle).named_at(REQUESTS, i)? {
            flag.set(0);
            note_failure();
            return Ok(());
        }
    }
    note_success();
    flag.set(1);
    end_all(&call, &handles, requests, statuses)
}

/// `MPI_Waitany`
///
/// # Errors
/// As [`wait`].
pub fn waitany(count: c_int, requests: Out<abi::Request>, index: Out<c_int>, status: Out<Status>) -> Result {
    check::output(index, "index")?;
    let count = array(count, requests.is_null(), "count")?;
    let call = Call::new()?;
    loop {
        match call.first_complete(count, |i| requests.get_at(i))? {
            (_, Some(place)) => {
                index.set(place as c_int);
                return end_one(&call, requests, place, status);
            }
            (false, None) => {
                index.set(MPI_UNDEFINED);
                status.set(Status::empty());
                return Ok(());
            }
            (true, None) => {
                let (_, handles) = call.active(count, |i| requests.get_at(i))?;
                call.messages.engine.wait_for_some(call.messages.endpoint, &handles)?;
            }
        }
    }
}

/// `MPI_Testany`
///
/// # Errors
/// As [`wait`].
pub fn testany(
    count: c_int,
    requests: Out<abi::Request>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: Out<Status>,
) -> Result {
    check::output(index, "index")?;
    check::output(flag, "flag")?;
    let count = array(count, requests.is_null(), "count")?;
    let call = Call::new()?;
    let (active, first) = call.first_complete(count, |i| requests.get_at(i))?;
    if let Some(i) = first {
        note_success();
        index.set(i as c_int);
        flag.set(1);
        return end_one(&call, requests, i, status);
    }
    index.set(MPI_UNDEFINED);
    flag.set(c_int::from(!active));
    if active {
        note_failure();
    } else {
        status.set(Status::empty());
    }
    Ok(())
}

/// `MPI_Waitsome`
///
/// # Errors
/// As [`waitall`].
pub fn waitsome(
    incount: c_int,
    requests: Out<abi::Request>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: Out<Status>,
) -> Result {
    check::output(outcount, "outcount")?;
    let count = array(incount, requests.is_null(), "incount")?;
    let call = Call::new()?;
    let (places, handles) = call.active(count, |i| requests.get_at(i))?;
    if handles.is_empty() {
        outcount.set(MPI_UNDEFINED);
        return Ok(());
    }
    check::output(indices, "array_of_indices")?;
    call.messages.engine.wait_for_some(call.messages.endpoint, &handles)?;
    end_some(&call, &places, requests, outcount, indices, statuses)
}

fn end_some(
    call: &Call,
    places: &[usize],
    requests: Out<abi::Request>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: Out<Status>,
) -> Result {
    let mut completions = Vec::new();
    for &place in places {
        if call.is_complete(requests.get_at(place))? {
            let completion = call.wait(requests.get_at(place))?;
            requests.set_at(place, completion.handle);
            indices.set_at(completions.len(), place as c_int);
            completions.push(completion);
        }
    }
    outcount.set(completions.len() as c_int);
    if completions.is_empty() {
        note_failure();
    } else {
        note_success();
    }
    store_all(completions, statuses)
}

/// `MPI_Testsome`
///
/// # Errors
/// As [`waitall`].
pub fn testsome(
    incount: c_int,
    requests: Out<abi::Request>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: Out<Status>,
) -> Result {
    check::output(outcount, "outcount")?;
    let count = array(incount, requests.is_null(), "incount")?;
    let call = Call::new()?;
    let (places, _) = call.active(count, |i| requests.get_at(i))?;
    if places.is_empty() {
        outcount.set(MPI_UNDEFINED);
        return Ok(());
    }
    check::output(indices, "array_of_indices")?;
    end_some(&call, &places, requests, outcount, indices, statuses)
}

/// Looks at a request and leaves it; says how it ended if it is complete.
fn peek(call: &Call, handle: abi::Request) -> Result<Option<Completion>> {
    if !call.is_complete(handle)? {
        return Ok(None);
    }
    call.messages.engine.peek_request(call.messages.endpoint, handle).map(Some)
}

/// `MPI_Request_get_status`
///
/// # Errors
/// `MPI_ERR_REQUEST`, `MPI_ERR_ARG`; the code of a generalized request's query function.
pub fn request_get_status(request: abi::Request, flag: Out<c_int>, status: Out<Status>) -> Result {
    check::output(flag, "flag")?;
    let found = peek(&Call::new()?, request)?;
    flag.set(c_int::from(found.is_some()));
    let Some(found) = found else {
        note_failure();
        return Ok(());
    };
    note_success();
    store_completion(status, &found);
    error_of(found)
}

/// `MPI_Request_get_status_any`
///
/// # Errors
/// As [`request_get_status`].
pub fn request_get_status_any(
    count: c_int,
    requests: In<abi::Request>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: Out<Status>,
) -> Result {
    check::output(index, "index")?;
    check::output(flag, "flag")?;
    let count = array(count, requests.is_null(), "count")?;
    let call = Call::new()?;
    let mut active = false;
    for i in 0..count {
        if !call.is_active(requests.get(i)).named_at(REQUESTS, i)? {
            continue;
        }
        active = true;
        if let Some(found) = peek(&call, requests.get(i))? {
            note_success();
            index.set(i as c_int);
            flag.set(1);
            store_completion(status, &found);
            return error_of(found);
        }
    }
    index.set(MPI_UNDEFINED);
    flag.set(c_int::from(!active));
    if active {
        note_failure();
    } else {
        status.set(Status::empty());
    }
    Ok(())
}

/// `MPI_Request_get_status_all`
///
/// # Errors
/// As [`request_get_status`], but `MPI_ERR_IN_STATUS` for query functions that fail.
pub fn request_get_status_all(
    count: c_int,
    requests: In<abi::Request>,
    flag: Out<c_int>,
    statuses: Out<Status>,
) -> Result {
    check::output(flag, "flag")?;
    let count = array(count, requests.is_null(), "count")?;
    let call = Call::new()?;
    // All first: the query functions of generalized requests are for calls that return statuses.
    for i in 0..count {
        if !call.is_complete(requests.get(i)).named_at(REQUESTS, i)? {
            flag.set(0);
            note_failure();
            return Ok(());
        }
    }
    note_success();
    flag.set(1);
    let (engine, me) = (call.messages.engine, call.messages.endpoint);
    let found = (0..count).map(|i| engine.peek_request(me, requests.get(i))).collect::<Result<_>>()?;
    store_all(found, statuses)
}

/// `MPI_Request_get_status_some`
///
/// # Errors
/// As [`request_get_status_all`].
pub fn request_get_status_some(
    incount: c_int,
    requests: In<abi::Request>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: Out<Status>,
) -> Result {
    check::output(outcount, "outcount")?;
    let count = array(incount, requests.is_null(), "incount")?;
    let call = Call::new()?;
    let (places, handles) = call.active(count, |i| requests.get(i))?;
    if places.is_empty() {
        outcount.set(MPI_UNDEFINED);
        return Ok(());
    }
    check::output(indices, "array_of_indices")?;
    let mut completions = Vec::new();
    for (&place, &handle) in places.iter().zip(&handles) {
        if let Some(found) = peek(&call, handle)? {
            indices.set_at(completions.len(), place as c_int);
            completions.push(found);
        }
    }
    outcount.set(completions.len() as c_int);
    if completions.is_empty() {
        note_failure();
    } else {
        note_success();
    }
    store_all(completions, statuses)
}

/// `MPI_Request_free`
///
/// # Errors
/// `MPI_ERR_REQUEST`, `MPI_ERR_ARG`
pub fn request_free(request: Out<abi::Request>) -> Result {
    check::output(request, "request")?;
    Process::current()?.messages().endpoint.requests().free(request.get_at(0))?;
    request.set(MPI_REQUEST_NULL);
    Ok(())
}

/// `MPI_Cancel`
///
/// # Errors
/// `MPI_ERR_REQUEST`, `MPI_ERR_ARG`
pub fn cancel(request: Out<abi::Request>) -> Result {
    check::output(request, "request")?;
    let messages = Process::current()?.messages();
    messages.engine.cancel(messages.endpoint, request.get_at(0))
}
