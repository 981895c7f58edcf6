//! Duplicates of communicators (chapter 7), blocking and nonblocking.
//!
//! The ranks of a nonblocking duplication agree on the context number without waiting for each other
//! ([`crate::communicators::meetings`]; [`crate::communicators::distant`] where there are several node processes), so the duplicate is there and its request complete at once. By the standard, a program
//! uses the duplicate only after it has completed the request; many set an error handler or a name before.

use crate::arguments::check;
use crate::communicators::communicator::{Communicator, agree_on_context, publish};
use crate::communicators::distant;
use crate::communicators::meetings::{self, Key};
use crate::environment::info;
use crate::process::Process;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use weft_base::abi::{self, Status};
use weft_base::constants::*;
use weft_base::{Out, Result};
use weft_comm::Communicator as Values;
use weft_p2p::Work;
use weft_sched::Thread;

/// Makes a duplicate of `parent`, which has handle `comm`, with the attributes that its copy functions pass on.
///
/// # Errors
/// The code of an attribute's copy function, and then nothing is left of the duplicate.
fn make(
    process: &'static Process,
    parent: &Communicator,
    comm: abi::Comm,
    context: u32,
    hints: &[(String, String)],
    newcomm: Out<abi::Comm>,
) -> Result {
    let values = Values { context, ..parent.values.clone() };
    let mut duplicate = Communicator::new(values, parent.error_handler());
    duplicate.share_topology(parent);
    duplicate.hint(hints);
    let duplicate = publish(process, duplicate, newcomm);
    let Err(error) = parent.attributes.copy_to(comm.0, &duplicate.attributes) else { return Ok(()) };
    let handle = newcomm.get_at(0).0;
    newcomm.set(MPI_COMM_NULL);
    // The copy function's error is the one to report.
    let _ = duplicate.attributes.delete_at_end(handle);
    let _ = process.communicators.remove(handle);
    Err(error)
}

fn duplicate(comm: abi::Comm, info: Option<abi::Info>, newcomm: Out<abi::Comm>) -> Result {
    check::output(newcomm, "newcomm")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    let hints = hints_of(info)?;
    let context = agree_on_context(&parent)?;
    make(process, &parent, comm, context, &hints, newcomm)
}

/// Returns the hints of the duplicate: those given with the call. The parent's are not passed on.
fn hints_of(info: Option<abi::Info>) -> Result<Vec<(String, String)>> {
    info.map_or(Ok(Vec::new()), info::optional)
}

/// `MPI_Comm_dup`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`, or the code of an attribute's copy function.
pub fn comm_dup(comm: abi::Comm, newcomm: Out<abi::Comm>) -> Result {
    duplicate(comm, None, newcomm)
}

/// `MPI_Comm_dup_with_info`
///
/// # Errors
/// As [`comm_dup`]; `MPI_ERR_INFO`
pub fn comm_dup_with_info(comm: abi::Comm, info: abi::Info, newcomm: Out<abi::Comm>) -> Result {
    duplicate(comm, Some(info), newcomm)
}

/// The request of a nonblocking duplication, which has nothing left to do.
struct Done;

impl Work for Done {
    fn is_known_complete(&self) -> bool {
        true
    }

    fn advance(&self, _waiter: Option<&'static Thread>) -> bool {
        true
    }

    fn status(&self) -> (Status, Result) {
        (Status::empty(), Ok(()))
    }
}

fn begin(
    comm: abi::Comm,
    info: Option<abi::Info>,
    newcomm: Out<abi::Comm>,
    request: Out<abi::Request>,
) -> Result {
    check::output(newcomm, "newcomm")?;
    check::output(request, "request")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    let hints = hints_of(info)?;
    let number = parent.duplicates.fetch_add(1, Ordering::Relaxed);
    let parties = parent.values.population();
    let key = Key::Duplicate { context: parent.values.context, number };
    // MPI_COMM_SELF has one context number on all ranks, but each rank is alone in its own.
    let context = match parties {
        1 => crate::communicators::contexts::allocate(1),
        _ if distant::spans(&parent.values.everyone().0) => {
            distant::duplicate(process, &parent.values, number)?
        }
        _ => meetings::join(key, process.world_rank, parties).context(parties),
    };
    make(process, &parent, comm, context, &hints, newcomm)?;
    request.set(process.messages().endpoint.requests().create_work(Arc::new(Done), comm, true));
    Ok(())
}

/// `MPI_Comm_idup`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_ARG`, or the code of an attribute's copy function.
pub fn comm_idup(comm: abi::Comm, newcomm: Out<abi::Comm>, request: Out<abi::Request>) -> Result {
    begin(comm, None, newcomm, request)
}

/// `MPI_Comm_idup_with_info`
///
/// # Errors
/// As [`comm_idup`]; `MPI_ERR_INFO`
pub fn comm_idup_with_info(
    comm: abi::Comm,
    info: abi::Info,
    newcomm: Out<abi::Comm>,
    request: Out<abi::Request>,
) -> Result {
    begin(comm, Some(info), newcomm, request)
}
