//! Error handling (chapter 9): handlers, classes, codes, strings; and the way of an error out of the library.

use crate::arguments::callbacks;
use crate::arguments::check;
use crate::arguments::strings;
use crate::communicators::communicator::Communicator;
use crate::errors::classes::describe;
use crate::errors::failures;
use crate::errors::handlers::Destination;
use crate::process::Process;
use crate::process::host;
use core::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use weft_base::constants::*;
use weft_base::handle::Kind;
use weft_base::{Error, In, Out, Result, abi};
use weft_sys::caller;

/// The object whose error handler an error goes to.
#[derive(Clone, Copy, Debug)]
pub enum Object {
    /// A communicator argument.
    Communicator(abi::Comm),
    /// A session argument.
    Session(abi::Session),
    /// A window argument.
    Window(abi::Win),
    /// A file argument.
    File(abi::File),
    /// A group argument: the session it comes from.
    Group(abi::Group),
    /// An error handler argument, of a procedure that makes an object of the kind.
    Argument(abi::Errhandler, HandlerKind),
    /// No object: the handler of `MPI_COMM_SELF`.
    None,
}

/// What an error handler does.
#[derive(Clone, Debug)]
pub enum Action {
    /// `MPI_ERRORS_ARE_FATAL`: end the job (all connected processes).
    Fatal,
    /// `MPI_ERRORS_ABORT`: end the processes of the communicator; here the job, too.
    Abort,
    /// `MPI_ERRORS_RETURN`: return the code.
    Return,
    /// A user's function for objects of one kind.
    User(Arc<UserHandler>),
}

/// A user's function and the kind of object it was created for.
#[derive(Debug)]
pub struct UserHandler {
    address: usize,
    /// The word that comes with a function of another language.
    word: Option<usize>,
    kind: HandlerKind,
    /// How many times the program holds the handle and has to free it: once from creating it, once from each inquiry.
    /// At zero the handle is invalid, until an inquiry on an object that still uses the handler brings it back.
    references: AtomicUsize,
}

impl UserHandler {
    /// Tells whether the program still holds the handle.
    pub(crate) fn is_held(&self) -> bool {
        self.references.load(Ordering::Relaxed) > 0
    }
}

/// The kind of object an error handler was created for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerKind {
    /// `MPI_Comm_create_errhandler`
    Communicator,
    /// `MPI_Win_create_errhandler`
    Window,
    /// `MPI_File_create_errhandler`
    File,
    /// `MPI_Session_create_errhandler`
    Session,
}

/// An error handler with the handle it was given out under.
#[derive(Clone, Debug)]
pub struct ErrorHandler {
    /// The handle.
    pub handle: abi::Errhandler,
    /// What it does.
    pub action: Action,
}

impl ErrorHandler {
    /// The handler of a communicator nobody has set one for.
    pub const FATAL: Self = Self { handle: MPI_ERRORS_ARE_FATAL, action: Action::Fatal };
    /// The handler of files.
    pub const RETURN: Self = Self { handle: MPI_ERRORS_RETURN, action: Action::Return };
}

/// Hands an error of the procedure `call` to the handler of `object` and returns the code for the caller.
///
/// Does not return when the handler ends the job.
#[cold]
pub fn raise(call: &'static str, object: Object, error: Error) -> c_int {
    let process = Process::any();
    let request = error.file.map(Object::File).or(error.comm.map(Object::Communicator));
    let object = request.unwrap_or(object);
    let destination = Destination::of(process, object);
    let story = failures::story(process, call, destination.title.as_deref(), &error);
    process.failures.record(error.class, story.clone());
    let Some(code) = error.code_in_status else {
        return handle(process, &destination, error.class, &story);
    };
    // A user's function is told the code in the status; the call says that it is there.
    handle(process, &destination, code, &story);
    error.class
}

/// Lets the handler of `object` act on a code that the program raises, in the procedure `call`.
pub(crate) fn call(call: &'static str, object: Object, code: c_int) {
    let process = Process::any();
    let destination = Destination::of(process, object);
    let story = process.failures.latest(code).unwrap_or_else(|| {
        let error = Error::new(code, format!("errorcode is {code}, raised by the program"));
        failures::story(process, call, destination.title.as_deref(), &error)
    });
    handle(process, &destination, code, &story);
}

/// Lets an error handler act on a code and returns what the caller gets.
fn handle(process: &Process, destination: &Destination, code: c_int, story: &str) -> c_int {
    match &destination.handler.action {
        Action::Return => code,
        Action::User(function) => match function.word {
            None => callbacks::error_handler(function.address, destination.object, code),
            Some(word) => callbacks::foreign_error_handler(function.address, word, destination.object, code),
        },
        Action::Fatal | Action::Abort => {
            let (class, meaning) = describe(code).unwrap_or(("a user's error code", "see its string"));
            let which = match &destination.handler.action {
                Action::Abort => "MPI_ERRORS_ABORT",
                _ => "MPI_ERRORS_ARE_FATAL",
            };
            let text = format!(
                "weft: error on {}: {story} [{class}: {meaning}]. The job ends because the error handler is {which}.",
                host::host().name(),
            );
            host::host().abort(process.world_rank, code, &text, &program_stack())
        }
    }
}

/// The most calls of a stack that are reported.
const DEPTH: usize = 64;

/// Returns the addresses in the program, and in what is not the library, to which the calls of the calling thread return,
/// innermost first.
pub(crate) fn program_stack() -> Vec<usize> {
    let mut found = Vec::new();
    caller::walk(&mut |address| {
        if caller::is_program(address) {
            found.push(address);
        }
        found.len() < DEPTH
    });
    found
}

/// Returns the user's handler of a handle that the program still holds.
fn live(process: &Process, handle: abi::Errhandler) -> Result<Arc<UserHandler>> {
    let found = process.error_handlers.get(handle.0)?;
    if found.references.load(Ordering::Relaxed) == 0 {
        return Err(Kind::Errhandler.refuse(handle.0, process.world_rank, true));
    }
    Ok(found)
}

/// Returns the handler of a handle, for an object of a kind.
///
/// # Errors
/// `MPI_ERR_ERRHANDLER`
pub(crate) fn handler(process: &Process, handle: abi::Errhandler, kind: HandlerKind) -> Result<ErrorHandler> {
    let action = match handle {
        MPI_ERRORS_ARE_FATAL => Action::Fatal,
        MPI_ERRORS_ABORT => Action::Abort,
        MPI_ERRORS_RETURN => Action::Return,
        _ => {
            let found = live(process, handle)?;
            if found.kind != kind {
                let text = format!("is {:#x}, created for a {:?}, not for a {kind:?}", handle.0, found.kind);
                return Err(Error::handle(Kind::Errhandler, handle.0, text));
            }
            Action::User(found)
        }
    };
    Ok(ErrorHandler { handle, action })
}

/// `MPI_Comm_create_errhandler`
///
/// # Errors
/// `MPI_ERR_ARG` for a null function or output pointer.
pub fn comm_create_errhandler(function: abi::Callback, errhandler: Out<abi::Errhandler>) -> Result {
    create(function, errhandler, HandlerKind::Communicator)
}

pub(crate) fn create(function: abi::Callback, errhandler: Out<abi::Errhandler>, kind: HandlerKind) -> Result {
    create_with(function, None, errhandler, kind)
}

/// Creates an error handler of another language: `function` gets `word`, the object's handle and the address of the code.
///
/// # Errors
/// `MPI_ERR_ARG` for a null function or output pointer.
pub fn create_foreign(
    function: abi::Callback,
    word: usize,
    errhandler: Out<abi::Errhandler>,
    kind: HandlerKind,
) -> Result {
    create_with(function, Some(word), errhandler, kind)
}

fn create_with(
    function: abi::Callback,
    word: Option<usize>,
    errhandler: Out<abi::Errhandler>,
    kind: HandlerKind,
) -> Result {
    check::output(errhandler, "errhandler")?;
    if function.is_null() {
        let name = match kind {
            HandlerKind::Communicator => "comm_errhandler_fn",
            HandlerKind::Window => "win_errhandler_fn",
            HandlerKind::File => "file_errhandler_fn",
            HandlerKind::Session => "session_errhandler_fn",
        };
        return Err(Error::new(MPI_ERR_ARG, format!("{name} is a null pointer; pass a function")));
    }
    let process = Process::any();
    drop_unused(process);
    let handler = UserHandler { address: function as usize, word, kind, references: AtomicUsize::new(1) };
    errhandler.set(abi::Errhandler(process.error_handlers.insert(Arc::new(handler))));
    Ok(())
}

/// Forgets handlers that the program has freed and no object uses any more; every now and then.
fn drop_unused(process: &Process) {
    const INTERVAL: usize = 64;
    if !process.created_handlers.fetch_add(1, Ordering::Relaxed).is_multiple_of(INTERVAL) {
        return;
    }
    for (handle, handler) in process.error_handlers.live() {
        // The table and this loop hold it, and nobody else.
        if handler.references.load(Ordering::Relaxed) == 0 && Arc::strong_count(&handler) == 2 {
            let _ = process.error_handlers.remove(handle);
        }
    }
}

/// `MPI_Comm_set_errhandler`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ERRHANDLER`
pub fn comm_set_errhandler(comm: abi::Comm, errhandler: abi::Errhandler) -> Result {
    let process = Process::current()?;
    let communicator = process.communicator(comm)?;
    communicator.set_error_handler(handler(process, errhandler, HandlerKind::Communicator)?);
    Ok(())
}

/// `MPI_Comm_get_errhandler`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`
pub fn comm_get_errhandler(comm: abi::Comm, errhandler: Out<abi::Errhandler>) -> Result {
    check::output(errhandler, "errhandler")?;
    let process = Process::current()?;
    give(&process.communicator(comm)?.error_handler(), errhandler);
    Ok(())
}

/// Gives out the handle of a handler; the program has to free it.
pub(crate) fn give(handler: &ErrorHandler, errhandler: Out<abi::Errhandler>) {
    if let Action::User(user) = &handler.action {
        user.references.fetch_add(1, Ordering::Relaxed);
    }
    errhandler.set(handler.handle);
}

/// `MPI_Errhandler_free`
///
/// # Errors
/// `MPI_ERR_ERRHANDLER` for a handle that is not the user's; `MPI_ERR_ARG`
pub fn errhandler_free(errhandler: Out<abi::Errhandler>) -> Result {
    check::output(errhandler, "errhandler")?;
    let handle = errhandler.get_at(0);
    // Programs free what MPI_Comm_get_errhandler gave them, also where that is predefined.
    if ![MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN].contains(&handle) {
        let process = Process::any();
        let found = live(process, handle)?;
        let last = found.references.fetch_sub(1, Ordering::Relaxed) == 1;
        // The table and this function hold it; nobody else means that no object uses it.
        if last && Arc::strong_count(&found) == 2 {
            process.error_handlers.remove(handle.0)?;
        }
    }
    errhandler.set(MPI_ERRHANDLER_NULL);
    Ok(())
}

/// `MPI_Comm_call_errhandler`
///
/// # Errors
/// None of its own: the code is raised on the communicator, and success is returned if the handler returns.
pub fn comm_call_errhandler(comm: abi::Comm, errorcode: c_int) -> Result {
    let process = Process::current()?;
    process.communicator(comm)?;
    call("MPI_Comm_call_errhandler", Object::Communicator(comm), errorcode);
    Ok(())
}

fn known(process: &Process, code: c_int, name: &str) -> Result<i32> {
    process.error_codes.class_of(code).ok_or_else(|| {
        Error::new(
            MPI_ERR_ARG,
            format!("{name} is {code}, which is neither a predefined error class nor one the program added"),
        )
    })
}

/// `MPI_Error_class`
///
/// # Errors
/// `MPI_ERR_ARG` for a code that does not exist.
pub fn error_class(errorcode: c_int, errorclass: Out<c_int>) -> Result {
    check::output(errorclass, "errorclass")?;
    errorclass.set(known(Process::any(), errorcode, "errorcode")?);
    Ok(())
}

/// `MPI_Error_string`: for a predefined class, its name and meaning and, if a call has raised it, the latest such error
/// in full. See `failures`.
///
/// # Errors
/// `MPI_ERR_ARG` for a code that does not exist.
pub fn error_string(errorcode: c_int, string: Out<c_char>, resultlen: Out<c_int>) -> Result {
    check::output(string, "string")?;
    check::output(resultlen, "resultlen")?;
    let process = Process::any();
    known(process, errorcode, "errorcode")?;
    let mut text = match describe(errorcode) {
        Some((name, meaning)) => match process.failures.latest(errorcode) {
            Some(story) => format!("{name}: {meaning}; last raised by {story}"),
            None => format!("{name}: {meaning}"),
        },
        None => process.error_codes.text(errorcode).unwrap_or_default(),
    };
    failures::shorten(&mut text, MPI_MAX_ERROR_STRING as usize - 1);
    strings::write(&text, string, MPI_MAX_ERROR_STRING as usize, resultlen);
    Ok(())
}

/// `MPI_Add_error_class`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn add_error_class(errorclass: Out<c_int>) -> Result {
    check::output(errorclass, "errorclass")?;
    errorclass.set(Process::any().error_codes.add(None)?);
    Ok(())
}

/// `MPI_Add_error_code`
///
/// # Errors
/// `MPI_ERR_ARG` for a class that does not exist.
pub fn add_error_code(errorclass: c_int, errorcode: Out<c_int>) -> Result {
    check::output(errorcode, "errorcode")?;
    let process = Process::any();
    if known(process, errorclass, "errorclass")? != errorclass {
        return Err(Error::new(
            MPI_ERR_ARG,
            format!("errorclass is {errorclass}, which is a code; pass its class"),
        ));
    }
    errorcode.set(process.error_codes.add(Some(errorclass))?);
    Ok(())
}

/// `MPI_Add_error_string`
///
/// # Errors
/// `MPI_ERR_ARG` for a predefined code, one that does not exist, or a string that is too long.
pub fn add_error_string(errorcode: c_int, string: In<c_char>) -> Result {
    let text = strings::read(string, "string")?;
    let length = strings::length(&text);
    if length > MPI_MAX_ERROR_STRING as usize {
        let text = format!("string has {length} characters; {MPI_MAX_ERROR_STRING} fit");
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    Process::any().error_codes.set_text(errorcode, text)
}

/// `MPI_Remove_error_class`
///
/// # Errors
/// `MPI_ERR_ARG` for a class the program did not add, or one that still has codes or a string.
pub fn remove_error_class(errorclass: c_int) -> Result {
    Process::any().error_codes.remove_class(errorclass)
}

/// `MPI_Remove_error_code`
///
/// # Errors
/// `MPI_ERR_ARG` for a code the program did not add, or one that still has a string.
pub fn remove_error_code(errorcode: c_int) -> Result {
    Process::any().error_codes.remove_code(errorcode)
}

/// `MPI_Remove_error_string`
///
/// # Errors
/// `MPI_ERR_ARG` for a code to which the program did not give a string.
pub fn remove_error_string(errorcode: c_int) -> Result {
    Process::any().error_codes.remove_text(errorcode)
}

impl Communicator {
    /// Returns the error handler that is set.
    pub fn error_handler(&self) -> ErrorHandler {
        self.error_handler.lock().clone()
    }

    fn set_error_handler(&self, handler: ErrorHandler) {
        *self.error_handler.lock() = handler;
    }
}
