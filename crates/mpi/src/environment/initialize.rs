//! Starting and ending the library (chapter 11), thread levels, abort.

use crate::arguments::{callbacks, check};
use crate::communicators::communicator;
use crate::jobs::nodes;
use crate::jobs::spawning;
use crate::point_to_point::messages::Messages;
use crate::process::host;
use crate::process::{FINALIZED, INITIALIZED, NOT_INITIALIZED, Process};
use crate::reports::{checking, thread_levels};
use core::ffi::{c_char, c_int};
use weft_base::constants::*;
use weft_base::{Error, Out, Result, abi};
use weft_coll::Call;

/// `MPI_Init`: the arguments are left alone.
///
/// # Errors
/// `MPI_ERR_OTHER` when MPI was initialised before.
pub fn init(_argc: Out<c_int>, _argv: Out<*mut *mut c_char>) -> Result {
    start(MPI_THREAD_SINGLE)
}

/// `MPI_Init_thread`: `MPI_THREAD_MULTIPLE` is granted whatever is asked for.
///
/// # Errors
/// As [`init`]; `MPI_ERR_ARG` for a level that does not exist.
pub fn init_thread(
    _argc: Out<c_int>,
    _argv: Out<*mut *mut c_char>,
    required: c_int,
    provided: Out<c_int>,
) -> Result {
    if !thread_levels::exists(required) {
        let text = format!("required is {required}; use an MPI_THREAD_… constant");
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    start(required)?;
    provided.set(MPI_THREAD_MULTIPLE);
    Ok(())
}

fn start(level: c_int) -> Result {
    let process = Process::any();
    match process.phase() {
        NOT_INITIALIZED => {}
        INITIALIZED => {
            return Err(Error::new(
                MPI_ERR_OTHER,
                "MPI is initialised already; call MPI_Init or MPI_Init_thread once",
            ));
        }
        _ => return Err(Error::new(MPI_ERR_OTHER, "MPI was finalised and cannot be initialised again")),
    }
    if process.initializer.set(weft_sched::current()).is_err() {
        return Err(Error::new(MPI_ERR_OTHER, "MPI is being initialised by another thread"));
    }
    communicator::create_predefined(process);
    process.messages.get_or_init(|| Messages::connect(process));
    thread_levels::require(process, level);
    process.set_phase(INITIALIZED);
    spawning::meet_parent(process)
}

/// `MPI_Initialized`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn initialized(flag: Out<c_int>) -> Result {
    check::output(flag, "flag")?;
    flag.set(c_int::from(Process::any().phase() != NOT_INITIALIZED));
    Ok(())
}

/// `MPI_Finalized`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn finalized(flag: Out<c_int>) -> Result {
    check::output(flag, "flag")?;
    flag.set(c_int::from(Process::any().phase() == FINALIZED));
    Ok(())
}

/// `MPI_Finalize`: runs the delete functions of `MPI_COMM_SELF`'s attributes, then waits for all ranks. A delete function
/// that fails stops nothing, because the other ranks wait.
///
/// # Errors
/// `MPI_ERR_OTHER` when MPI is not initialised; the code of the first delete function that fails.
pub fn finalize() -> Result {
    let process = in_world_model()?;
    let deleted = process.communicator(MPI_COMM_SELF)?.attributes.delete_at_end(MPI_COMM_SELF.0);
    // An error goes to MPI_COMM_SELF's handler, which stays for it.
    if deleted.is_ok() {
        process.itself.clear();
    }
    let world = process.communicator(MPI_COMM_WORLD)?;
    let deleted = deleted.and(world.attributes.delete_at_end(MPI_COMM_WORLD.0));
    let parted = communicator::part(process);
    nodes::await_heard();
    // Peers may still need this rank's buffers (a rendezvous send whose request was freed).
    world.team.barrier_of(Call::Finalize)?;
    checking::report_left(process);
    crate::active::end(process);
    process.world.clear();
    process.discard_derived(0);
    process.set_phase(FINALIZED);
    if process.has_finished() {
        host::host().finished(process.world_rank);
    }
    deleted.and(parted)
}

/// Returns the calling rank, which must be between `MPI_Init` and `MPI_Finalize`; a session is not enough.
fn in_world_model() -> Result<&'static Process> {
    let process = Process::any();
    match process.phase() {
        INITIALIZED => Ok(process),
        NOT_INITIALIZED => Err(Error::new(MPI_ERR_OTHER, "called before MPI_Init, which comes first")),
        _ => Err(Error::new(MPI_ERR_OTHER, "called after MPI_Finalize")),
    }
}

/// `MPI_Query_thread`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn query_thread(provided: Out<c_int>) -> Result {
    check::output(provided, "provided")?;
    Process::current()?;
    provided.set(MPI_THREAD_MULTIPLE);
    Ok(())
}

/// `MPI_Is_thread_main`
///
/// # Errors
/// `MPI_ERR_ARG`
pub fn is_thread_main(flag: Out<c_int>) -> Result {
    check::output(flag, "flag")?;
    let process = in_world_model()?;
    let main = process.initializer.get();
    flag.set(c_int::from(main.is_some_and(|&main| core::ptr::eq(main, weft_sched::current()))));
    Ok(())
}

/// `MPI_Abort`: ends the whole job, whatever the communicator.
///
/// # Errors
/// Does not return.
pub fn abort(comm: abi::Comm, errorcode: c_int) -> Result {
    let process = Process::any();
    let name = process.communicator(comm).map(|c| c.name()).unwrap_or_default();
    let on = if name.is_empty() { "a communicator" } else { &name };
    let (rank, size, machine) = (process.world_rank, process.world_size, host::host().name());
    let text =
        format!("weft: rank {rank} of {size} on {machine}: MPI_Abort on {on} with error code {errorcode}");
    // A handler that aborts tells by itself neither where nor of which call the error was.
    let stack =
        if callbacks::is_in_error_handler() { crate::errors::handling::program_stack() } else { Vec::new() };
    host::host().abort(process.world_rank, errorcode, &text, &stack)
}
