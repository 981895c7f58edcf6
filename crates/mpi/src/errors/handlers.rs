//! Error handlers of sessions, windows and files (chapter 10), and which handler an error goes to.

use crate::arguments::check;
use crate::communicators::communicator::Communicator;
use crate::errors::failures;
use crate::errors::handling;
use crate::errors::handling::{Action, ErrorHandler, HandlerKind, Object};
use crate::process::host;
use crate::process::{Process, Ref};
use core::ffi::c_int;
use weft_base::constants::*;
use weft_base::{Out, Result, abi};
use weft_sync::Lock;

/// The info key, and `mpirun`'s option, for the handler of errors that no object can take.
pub const INITIAL_HANDLER_KEY: &str = "mpi_initial_errhandler";

/// The handler that an error goes to, and what it is told.
pub struct Destination {
    /// The handler.
    pub handler: ErrorHandler,
    /// The handle a user's function gets to see.
    pub object: usize,
    /// What reports call the object, if the error is one of an object.
    pub title: Option<String>,
}

impl Destination {
    fn new(handler: ErrorHandler, object: usize) -> Self {
        Self { handler, object, title: None }
    }

    fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    fn communicator(communicator: &Communicator) -> Self {
        Self::new(communicator.error_handler(), communicator.handle().0)
    }

    fn session(process: &Process, handle: abi::Session) -> Option<Self> {
        let session = process.session(handle).ok()?;
        Some(Self::new(session.error_handler.lock().clone(), handle.0).titled("a session"))
    }

    /// Finds where an error on `object` goes: to the object's handler; where there is none, to that of `MPI_COMM_SELF`;
    /// outside the world model to the initial one.
    pub fn of(process: &Process, object: Object) -> Self {
        let found = match object {
            Object::Communicator(handle) => {
                let retired = || process.retired(handle).map(Ref::Owned);
                let found = process.communicator(handle).ok().or_else(retired);
                found.map(|c| Self::communicator(&c).titled(failures::title(&c)))
            }
            Object::Session(handle) => Self::session(process, handle),
            Object::File(handle) => Some(match process.file(handle) {
                Ok(file) => Self::new(file.error_handler.lock().clone(), handle.0).titled(file.title.clone()),
                Err(_) => Self::new(process.default_file_handler.lock().clone(), MPI_FILE_NULL.0),
            }),
            Object::Group(handle) => {
                let group = process.groups.get(handle.0).ok();
                group.and_then(|group| Self::session(process, abi::Session(group.origin())))
            }
            Object::Argument(handle, kind) => {
                let null = if kind == HandlerKind::Session { MPI_SESSION_NULL.0 } else { MPI_COMM_NULL.0 };
                handling::handler(process, handle, kind).ok().map(|handler| Self::new(handler, null))
            }
            Object::Window(handle) => process.window(handle).ok().map(|window| {
                Self::new(window.error_handler.lock().clone(), handle.0).titled(window.title())
            }),
            Object::None => None,
        };
        found
            .or_else(|| process.itself.get().map(Self::communicator))
            .unwrap_or_else(|| Self::new(initial(process), MPI_COMM_NULL.0))
    }
}

/// Returns the handler of errors outside the world model, with which `MPI_COMM_WORLD` and `MPI_COMM_SELF` begin.
pub fn initial(process: &Process) -> ErrorHandler {
    let launch = host::host().launch_info(process.world_rank);
    let named = launch.iter().find(|(key, _)| key == INITIAL_HANDLER_KEY).map(|(_, value)| value.as_str());
    match named {
        Some("mpi_errors_return") => ErrorHandler::RETURN,
        Some("mpi_errors_abort") => ErrorHandler { handle: MPI_ERRORS_ABORT, action: Action::Abort },
        _ => ErrorHandler::FATAL,
    }
}

fn set(process: &Process, slot: &Lock<ErrorHandler>, handle: abi::Errhandler, kind: HandlerKind) -> Result {
    let handler = handling::handler(process, handle, kind)?;
    *slot.lock() = handler;
    Ok(())
}

/// `MPI_Session_create_errhandler`
///
/// # Errors
/// `MPI_ERR_ARG` for a null function or output pointer.
pub fn session_create_errhandler(function: abi::Callback, errhandler: Out<abi::Errhandler>) -> Result {
    handling::create(function, errhandler, HandlerKind::Session)
}

/// `MPI_Session_set_errhandler`
///
/// # Errors
/// `MPI_ERR_SESSION`, `MPI_ERR_ERRHANDLER`
pub fn session_set_errhandler(session: abi::Session, errhandler: abi::Errhandler) -> Result {
    let process = Process::any();
    set(process, &process.session(session)?.error_handler, errhandler, HandlerKind::Session)
}

/// `MPI_Session_get_errhandler`
///
/// # Errors
/// `MPI_ERR_SESSION`, `MPI_ERR_ARG`
pub fn session_get_errhandler(session: abi::Session, errhandler: Out<abi::Errhandler>) -> Result {
    check::output(errhandler, "errhandler")?;
    let found = Process::any().session(session)?;
    handling::give(&found.error_handler.lock().clone(), errhandler);
    Ok(())
}

/// `MPI_Session_call_errhandler`
///
/// # Errors
/// `MPI_ERR_SESSION`; the code itself is raised on the session.
pub fn session_call_errhandler(session: abi::Session, errorcode: c_int) -> Result {
    Process::any().session(session)?;
    handling::call("MPI_Session_call_errhandler", Object::Session(session), errorcode);
    Ok(())
}

/// `MPI_Win_create_errhandler`
///
/// # Errors
/// `MPI_ERR_ARG` for a null function or output pointer.
pub fn win_create_errhandler(function: abi::Callback, errhandler: Out<abi::Errhandler>) -> Result {
    handling::create(function, errhandler, HandlerKind::Window)
}

/// `MPI_Win_set_errhandler`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_ERRHANDLER`
pub fn win_set_errhandler(win: abi::Win, errhandler: abi::Errhandler) -> Result {
    let process = Process::current()?;
    set(process, &process.window(win)?.error_handler, errhandler, HandlerKind::Window)
}

/// `MPI_Win_get_errhandler`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_ARG`
pub fn win_get_errhandler(win: abi::Win, errhandler: Out<abi::Errhandler>) -> Result {
    check::output(errhandler, "errhandler")?;
    let window = Process::current()?.window(win)?;
    handling::give(&window.error_handler.lock().clone(), errhandler);
    Ok(())
}

/// `MPI_Win_call_errhandler`
///
/// # Errors
/// `MPI_ERR_WIN`; the code itself is raised on the window.
pub fn win_call_errhandler(win: abi::Win, errorcode: c_int) -> Result {
    Process::current()?.window(win)?;
    handling::call("MPI_Win_call_errhandler", Object::Window(win), errorcode);
    Ok(())
}

/// `MPI_File_create_errhandler`
///
/// # Errors
/// `MPI_ERR_ARG` for a null function or output pointer.
pub fn file_create_errhandler(function: abi::Callback, errhandler: Out<abi::Errhandler>) -> Result {
    handling::create(function, errhandler, HandlerKind::File)
}

/// Does something with the handler of a file, or, for `MPI_FILE_NULL`, with that of files opened later.
fn with_file_handler<T>(
    process: &Process,
    file: abi::File,
    then: impl FnOnce(&Lock<ErrorHandler>) -> Result<T>,
) -> Result<T> {
    if file == MPI_FILE_NULL {
        return then(&process.default_file_handler);
    }
    then(&process.file(file)?.error_handler)
}

/// `MPI_File_set_errhandler`: `MPI_FILE_NULL` stands for the default of files opened later.
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ERRHANDLER`
pub fn file_set_errhandler(file: abi::File, errhandler: abi::Errhandler) -> Result {
    let process = Process::current()?;
    with_file_handler(process, file, |slot| set(process, slot, errhandler, HandlerKind::File))
}

/// `MPI_File_get_errhandler`
///
/// # Errors
/// `MPI_ERR_FILE`, `MPI_ERR_ARG`
pub fn file_get_errhandler(file: abi::File, errhandler: Out<abi::Errhandler>) -> Result {
    check::output(errhandler, "errhandler")?;
    let process = Process::current()?;
    let found = with_file_handler(process, file, |slot| Ok(slot.lock().clone()))?;
    handling::give(&found, errhandler);
    Ok(())
}

/// `MPI_File_call_errhandler`
///
/// # Errors
/// `MPI_ERR_FILE`; the code itself is raised on the file.
pub fn file_call_errhandler(fh: abi::File, errorcode: c_int) -> Result {
    with_file_handler(Process::current()?, fh, |_| Ok(()))?;
    handling::call("MPI_File_call_errhandler", Object::File(fh), errorcode);
    Ok(())
}
