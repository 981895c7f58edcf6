//! Completing requests: wait, test, status, free, cancel (chapter 3).

use crate::arguments::check;
use crate::errors::failures::{story, title};
use crate::point_to_point::messages::{Messages, store_status, store_status_at};
use crate::process::Process;
use core::ffi::c_int;
use weft_base::abi::{self, Status};
use weft_base::constants::*;
use weft_base::{Error, In, Named, Out, Result};
use weft_p2p::{Completion, Ended, note_failure, note_success};

const REQUESTS: &str = "array_of_requests";

/// Says which element of an array of requests an error is about.
#[cold]
fn place(error: Error, count: usize, get: impl Fn(usize) -> abi::Request) -> Error {
    let found = error.unnamed.and_then(|(_, value)| (0..count).find(|&i| get(i).0 as i64 == value));
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

    /// Notes that a test has found its requests complete, if any was active: who tests what is over again and again, along with
    /// what is not, waits.
    fn note_end(&self, count: usize, get: impl Fn(usize) -> abi::Request) -> Result {
        for i in 0..count {
            if self.is_active(get(i))? {
                note_success();
                break;
            }
        }
        Ok(())
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

/// A failed operation of a call that completes several: the place of its status, its communicator, its error.
type Failure = (usize, abi::Comm, Error);

/// The statuses of a call that completes several operations, one after the other.
struct Statuses {
    array: Out<Status>,
    count: usize,
    failures: Vec<Failure>,
}

impl Statuses {
    fn new(array: Out<Status>) -> Self {
        Self { array, count: 0, failures: Vec::new() }
    }

    /// Stores the next completion: the error field stays as it is, but for the empty status.
    #[inline]
    fn add(&mut self, completion: Completion) {
        if completion.is_empty {
            self.array.set_at(self.count, completion.status);
        } else {
            store_status_at(self.array, self.count, completion.status);
        }
        if let Some(error) = completion.error {
            self.failures.push((self.count, completion.comm, error));
        }
        self.count += 1;
    }

    /// Stores the status of a message that went well.
    #[inline]
    fn add_message(&mut self, source: c_int, tag: c_int, bytes: u64) {
        store_status_at(self.array, self.count, Status { source, tag, ..Status::of(bytes, false) });
        self.count += 1;
    }

    /// Reports errors as the standard wants it: if there is one, every status says how its operation ended.
    fn end(self) -> Result {
        if self.failures.is_empty() { Ok(()) } else { Err(self.in_status()) }
    }

    #[cold]
    fn in_status(self) -> Error {
        let Self { array, count, failures } = self;
        for i in (0..count).filter(|_| !array.is_null()) {
            let class =
                failures.iter().find(|(at, ..)| *at == i).map_or(MPI_SUCCESS, |(.., error)| error.class);
            array.set_at(i, Status { error: class, ..array.get_at(i) });
        }
        let (_, comm, ref first) = failures[0];
        let class = first.class;
        let text = format!("{}; MPI_ERROR in each status says how its operation ended", tell(&failures));
        let error = Error::new(MPI_ERR_IN_STATUS, text).on(comm).in_status(class);
        if let Some(file) = first.file { error.of_file(file) } else { error }
    }
}

/// Tells the first of several failures, and remembers each for `MPI_Error_string` of the statuses' codes.
fn tell(failures: &[Failure]) -> String {
    let (process, call) = (Process::any(), weft_sched::current().call());
    for (_, comm, error) in failures.iter().rev() {
        let communicator = process.communicator(*comm).ok();
        let on = communicator.as_deref().map(title);
        process.failures.record(error.class, story(process, call, on.as_deref(), error));
    }
    let (i, _, error) = &failures[0];
    let others = match failures.len() - 1 {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    format!("the operation of status {i} failed: {error}{others}")
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
    call.note_end(1, |i| request.get_at(i))?;
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
    end_all(&call, count, requests, statuses)
}

/// Waits for requests and ends them.
#[inline]
fn end_all(call: &Call, count: usize, requests: Out<abi::Request>, statuses: Out<Status>) -> Result {
    let mut statuses = Statuses::new(statuses);
    let (engine, me) = (call.messages.engine, call.messages.endpoint);
    let get = |i| requests.get_at(i);
    let ended = engine.end_all(me, count, get, |i, ended| match ended {
        Ended::Well { source, tag, bytes } => {
            requests.set_at(i, MPI_REQUEST_NULL);
            statuses.add_message(source, tag, bytes);
        }
        Ended::Otherwise(completion) => {
            requests.set_at(i, completion.handle);
            statuses.add(completion);
        }
    });
    ended.map_err(|error| place(error, count, get))?;
    statuses.end()
}

/// `MPI_Testall`
///
/// # Errors
/// As [`waitall`].
pub fn testall(count: c_int, requests: Out<abi::Request>, flag: Out<c_int>, statuses: Out<Status>) -> Result {
    check::output(flag, "flag")?;
    let count = array(count, requests.is_null(), "count")?;
    let call = Call::new()?;
    for i in 0..count {
        if !call.is_complete(requests.get_at(i)).named_at(REQUESTS, i)? {
            flag.set(0);
            note_failure();
            return Ok(());
        }
    }
    call.note_end(count, |i| requests.get_at(i))?;
    flag.set(1);
    end_all(&call, count, requests, statuses)
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
    let mut statuses = Statuses::new(statuses);
    for &place in places {
        if call.is_complete(requests.get_at(place))? {
            let completion = call.wait(requests.get_at(place))?;
            requests.set_at(place, completion.handle);
            indices.set_at(statuses.count, place as c_int);
            statuses.add(completion);
        }
    }
    outcount.set(statuses.count as c_int);
    if statuses.count == 0 {
        note_failure();
    } else {
        note_success();
    }
    statuses.end()
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
    let found: Vec<_> =
        (0..count).map(|i| engine.peek_request(me, requests.get(i))).collect::<Result<_>>()?;
    let mut statuses = Statuses::new(statuses);
    found.into_iter().for_each(|completion| statuses.add(completion));
    statuses.end()
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
    let mut statuses = Statuses::new(statuses);
    for (&place, &handle) in places.iter().zip(&handles) {
        if let Some(found) = peek(&call, handle)? {
            indices.set_at(statuses.count, place as c_int);
            statuses.add(found);
        }
    }
    outcount.set(statuses.count as c_int);
    if statuses.count == 0 {
        note_failure();
    } else {
        note_success();
    }
    statuses.end()
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
