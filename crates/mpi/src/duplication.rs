//! Duplicates of communicators (chapter 7), blocking and nonblocking.
//!
//! The ranks of a nonblocking duplication agree on the context number without waiting for each other
//! ([`crate::meetings`]), so its request is complete at once. The program may use the duplicate only after it has
//! completed the request: until then the handle is reserved, and using it is an error.

use crate::attributes::Attributes;
use crate::communicators::{Communicator, agree_on_context};
use crate::hints::Hints;
use crate::meetings::{self, Key};
use crate::process::Process;
use crate::{check, info};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use weft_base::abi::{self, Status};
use weft_base::constants::*;
use weft_base::{Out, Result};
use weft_comm::Communicator as Values;
use weft_p2p::Work;
use weft_sched::Thread;
use weft_sync::Lock;

/// A duplicate that is not published yet.
struct Duplicate {
    process: &'static Process,
    handle: abi::Comm,
    communicator: Arc<Communicator>,
}

impl Duplicate {
    /// Makes a duplicate of `parent`, which has handle `comm`; copies its attributes.
    ///
    /// # Errors
    /// The code of an attribute's copy function, and then nothing is left of the duplicate.
    fn new(
        process: &'static Process,
        parent: &Communicator,
        comm: abi::Comm,
        context: u32,
        hints: Hints,
    ) -> Result<Self> {
        process.drop_retired();
        let values = Values { context, ..parent.values.clone() };
        let mut communicator = Communicator::new(values, parent.error_handler());
        communicator.share_topology(parent);
        let communicator = Arc::new(communicator);
        *communicator.hints.lock() = hints;
        let handle = abi::Comm(process.communicators.reserve());
        communicator.set_handle(handle);
        let duplicate = Self { process, handle, communicator };
        match parent.attributes.copy_to(comm.0, duplicate.attributes()) {
            Ok(()) => Ok(duplicate),
            Err(error) => {
                duplicate.abandon();
                Err(error)
            }
        }
    }

    fn attributes(&self) -> &Attributes {
        &self.communicator.attributes
    }

    /// Makes the handle valid.
    fn publish(&self) {
        self.process.communicators.fill(self.handle.0, self.communicator.clone());
    }

    /// Deletes what was copied so far.
    fn abandon(self) {
        self.publish();
        // The copy function's error is the one to report.
        let _ = self.attributes().delete_at_end(self.handle.0);
        let _ = self.process.communicators.remove(self.handle.0);
    }
}

fn duplicate(comm: abi::Comm, info: Option<abi::Info>, newcomm: Out<abi::Comm>) -> Result {
    check::output(newcomm, "newcomm")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    let hints = hints_of(info)?;
    let context = agree_on_context(&parent)?;
    newcomm.set(MPI_COMM_NULL);
    let made = Duplicate::new(process, &parent, comm, context, hints)?;
    made.publish();
    newcomm.set(made.handle);
    Ok(())
}

/// Returns the hints of the duplicate: those given with the call. The parent's are not passed on.
fn hints_of(info: Option<abi::Info>) -> Result<Hints> {
    Ok(info.map(info::optional).transpose()?.map_or_else(Hints::default, |pairs| Hints::new(&pairs)))
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

/// The request of a nonblocking duplication: holds the duplicate until the program completes it.
struct Pending(Lock<Option<Duplicate>>);

impl Pending {
    fn finish(&self) {
        let duplicate = self.0.lock().take();
        if let Some(duplicate) = duplicate {
            duplicate.publish();
        }
    }
}

impl Work for Pending {
    fn advance(&self, _waiter: Option<&'static Thread>) -> bool {
        true
    }

    // Whoever sees the status knows that the operation is complete, also by MPI_Request_get_status.
    fn status(&self) -> (Status, Result) {
        self.finish();
        (Status::empty(), Ok(()))
    }

    fn free(&self) {
        self.finish();
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
        1 => crate::contexts::allocate(1),
        _ => meetings::join(key, process.world_rank, parties).context(parties),
    };
    newcomm.set(MPI_COMM_NULL);
    let made = Duplicate::new(process, &parent, comm, context, hints)?;
    newcomm.set(made.handle);
    let work = Arc::new(Pending(Lock::new(Some(made))));
    request.set(process.messages().endpoint.requests().create_work(work, comm, true));
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
