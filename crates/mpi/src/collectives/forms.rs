//! The three forms of a collective operation: blocking, nonblocking, persistent.

use crate::arguments::check;
use crate::communicators::communicator::Communicator;
use crate::environment::info;
use crate::process::Process;
use crate::reports::told::{self, Later};
use std::sync::Arc;
use weft_base::abi::{self, Status};
use weft_base::settings::is_checking;
use weft_base::{Out, Result};
use weft_coll::{Call, Operation, Pending, Prepared, Root};
use weft_p2p::{COMPLETED_COLLECTIVE, Work, WorkDescription, collective_cancelled};
use weft_sched::Thread;
use weft_sync::Lock;

/// How a call wants its operation done.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// Before the call returns.
    Blocking,
    /// Started; the request completes it.
    Nonblocking(Out<abi::Request>),
    /// Whenever the request is started.
    Persistent(abi::Info, Out<abi::Request>),
}

impl Form {
    /// Does, starts or prepares an operation whose arguments have been checked.
    #[inline(always)]
    pub fn run(self, communicator: &Communicator, operation: &Operation<'_>) -> Result {
        match self {
            Self::Blocking => {
                told::collective(&communicator.values, operation.call, || communicator.team.run(operation))
            }
            Self::Nonblocking(request) => start(communicator, operation, request),
            Self::Persistent(info, request) => prepare(communicator, operation, info, request),
        }
    }
}

fn start(communicator: &Communicator, operation: &Operation<'_>, request: Out<abi::Request>) -> Result {
    check::output(request, "request")?;
    let told = Later::new(&communicator.values, operation.call);
    told.begin();
    let pending = communicator.team.start(operation);
    // Checking mode wants to know of every request.
    if pending.is_over_at_once() && !is_checking() {
        told.end();
        request.set(COMPLETED_COLLECTIVE);
        return Ok(());
    }
    let work = Started { pending, call: operation.call, root: root_of(operation), told };
    request.set(give(communicator, Arc::new(work), true)?);
    Ok(())
}

fn prepare(
    communicator: &Communicator,
    operation: &Operation<'_>,
    hints: abi::Info,
    request: Out<abi::Request>,
) -> Result {
    check::output(request, "request")?;
    let prepared = communicator.team.prepare(operation, &info::optional(hints)?);
    let (call, root) = (operation.call, root_of(operation));
    let told = Later::new(&communicator.values, call);
    let work = Startable { prepared, pending: Lock::new(None), call, root, told };
    request.set(give(communicator, Arc::new(work), false)?);
    Ok(())
}

fn give(communicator: &Communicator, work: Arc<dyn Work>, active: bool) -> Result<abi::Request> {
    let requests = Process::current()?.messages().endpoint.requests();
    Ok(requests.create_work(work, communicator.handle(), active))
}

/// Returns the root, if it is a rank of the communicator.
fn root_of(operation: &Operation<'_>) -> Option<u32> {
    match operation.root {
        Root::Rank(root) => Some(root),
        _ => None,
    }
}

/// Says what a request is for. `made_by` makes the name of the call that made it of the blocking form's.
fn describe(call: Call, root: Option<u32>, made_by: impl FnOnce(&str) -> String) -> WorkDescription {
    let name = call.name();
    WorkDescription {
        made_by: made_by(name),
        collective: Some(name.into()),
        root,
        ..WorkDescription::default()
    }
}

/// A nonblocking operation.
struct Started {
    pending: Pending,
    call: Call,
    root: Option<u32>,
    told: Later,
}

impl Work for Started {
    fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        self.pending.advance(waiter)
    }

    fn leave(&self, _waiter: &'static Thread) {
        self.pending.leave();
    }

    fn is_independent(&self) -> bool {
        self.pending.is_independent()
    }

    fn is_known_complete(&self) -> bool {
        self.pending.is_over()
    }

    fn describe(&self) -> WorkDescription {
        let made_by = |name: &str| {
            let name = name.strip_prefix("MPI_").unwrap_or(name);
            format!("MPI_I{}", name.to_ascii_lowercase())
        };
        describe(self.call, self.root, made_by)
    }

    fn wait(&self) {
        // The result is asked for by whoever ends the request.
        let _ = self.pending.wait();
    }

    fn status(&self) -> (Status, Result) {
        self.told.end();
        (Status::empty(), self.pending.result())
    }

    fn cancel(&self) -> Result {
        Err(collective_cancelled())
    }
}

/// A persistent operation and its last start.
struct Startable {
    prepared: Prepared,
    pending: Lock<Option<Arc<Pending>>>,
    call: Call,
    root: Option<u32>,
    told: Later,
}

impl Startable {
    fn last(&self) -> Option<Arc<Pending>> {
        self.pending.lock().clone()
    }
}

impl Work for Startable {
    fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        self.last().is_none_or(|pending| pending.advance(waiter))
    }

    fn leave(&self, _waiter: &'static Thread) {
        if let Some(pending) = self.last() {
            pending.leave();
        }
    }

    fn is_known_complete(&self) -> bool {
        self.last().is_none_or(|pending| pending.is_over())
    }

    fn describe(&self) -> WorkDescription {
        describe(self.call, self.root, |name| format!("{name}_init"))
    }

    fn status(&self) -> (Status, Result) {
        self.told.end();
        (Status::empty(), self.last().map_or(Ok(()), |pending| pending.result()))
    }

    fn cancel(&self) -> Result {
        Err(collective_cancelled())
    }

    fn start(&self) -> Result {
        self.told.begin();
        let pending = Arc::new(self.prepared.start());
        let last = self.pending.lock().replace(pending);
        drop(last);
        Ok(())
    }

    fn is_persistent(&self) -> bool {
        true
    }
}

/// Hands the table of collective operations to a macro: the names of each in its three forms, its arguments, and their
/// description.
macro_rules! with_collectives {
    ($make:ident) => {
        $make! {
            barrier "MPI_Barrier", ibarrier "MPI_Ibarrier", barrier_init "MPI_Barrier_init" (comm: abi::Comm)
            = Barrier { comm };
            bcast "MPI_Bcast", ibcast "MPI_Ibcast", bcast_init "MPI_Bcast_init"
            (buffer: *mut c_void, count: Count, datatype: abi::Datatype, root: c_int, comm: abi::Comm)
            = Broadcast { buffer, count, datatype, root, comm };
            gather "MPI_Gather", igather "MPI_Igather", gather_init "MPI_Gather_init"
            (
                sendbuf: *const c_void, sendcount: Count, sendtype: abi::Datatype,
                recvbuf: *mut c_void, recvcount: Count, recvtype: abi::Datatype, root: c_int, comm: abi::Comm
            )
            = Rooted {
                call: Call::Gather, send: Argument::send(sendbuf, Elements::Block(sendcount, sendtype)),
                receive: Argument::receive(recvbuf, Elements::Block(recvcount, recvtype)), root, comm
            };
            gatherv "MPI_Gatherv", igatherv "MPI_Igatherv", gatherv_init "MPI_Gatherv_init"
            (
                sendbuf: *const c_void, sendcount: Count, sendtype: abi::Datatype,
                recvbuf: *mut c_void, recvcounts: Counts, displs: Counts, recvtype: abi::Datatype,
                root: c_int, comm: abi::Comm
            )
            = Rooted {
                call: Call::Gatherv, send: Argument::send(sendbuf, Elements::Block(sendcount, sendtype)),
                receive: Argument::receive(recvbuf, Elements::Pieces(recvcounts, displs, recvtype)).displs(), root, comm
            };
            scatter "MPI_Scatter", iscatter "MPI_Iscatter", scatter_init "MPI_Scatter_init"
            (
                sendbuf: *const c_void, sendcount: Count, sendtype: abi::Datatype,
                recvbuf: *mut c_void, recvcount: Count, recvtype: abi::Datatype, root: c_int, comm: abi::Comm
            )
            = Rooted {
                call: Call::Scatter, send: Argument::send(sendbuf, Elements::Block(sendcount, sendtype)),
                receive: Argument::receive(recvbuf, Elements::Block(recvcount, recvtype)), root, comm
            };
            scatterv "MPI_Scatterv", iscatterv "MPI_Iscatterv", scatterv_init "MPI_Scatterv_init"
            (
                sendbuf: *const c_void, sendcounts: Counts, displs: Counts, sendtype: abi::Datatype,
                recvbuf: *mut c_void, recvcount: Count, recvtype: abi::Datatype, root: c_int, comm: abi::Comm
            )
            = Rooted {
                call: Call::Scatterv, send: Argument::send(sendbuf, Elements::Pieces(sendcounts, displs, sendtype)).displs(),
                receive: Argument::receive(recvbuf, Elements::Block(recvcount, recvtype)), root, comm
            };
            allgather "MPI_Allgather", iallgather "MPI_Iallgather", allgather_init "MPI_Allgather_init"
            (
                sendbuf: *const c_void, sendcount: Count, sendtype: abi::Datatype,
                recvbuf: *mut c_void, recvcount: Count, recvtype: abi::Datatype, comm: abi::Comm
            )
            = Everywhere {
                call: Call::Allgather, send: Argument::send(sendbuf, Elements::Block(sendcount, sendtype)),
                receive: Argument::receive(recvbuf, Elements::Block(recvcount, recvtype)), comm
            };
            allgatherv "MPI_Allgatherv", iallgatherv "MPI_Iallgatherv", allgatherv_init "MPI_Allgatherv_init"
            (
                sendbuf: *const c_void, sendcount: Count, sendtype: abi::Datatype,
                recvbuf: *mut c_void, recvcounts: Counts, displs: Counts, recvtype: abi::Datatype, comm: abi::Comm
            )
            = Everywhere {
                call: Call::Allgatherv, send: Argument::send(sendbuf, Elements::Block(sendcount, sendtype)),
                receive: Argument::receive(recvbuf, Elements::Pieces(recvcounts, displs, recvtype)).displs(), comm
            };
            alltoall "MPI_Alltoall", ialltoall "MPI_Ialltoall", alltoall_init "MPI_Alltoall_init"
            (
                sendbuf: *const c_void, sendcount: Count, sendtype: abi::Datatype,
                recvbuf: *mut c_void, recvcount: Count, recvtype: abi::Datatype, comm: abi::Comm
            )
            = Everywhere {
                call: Call::Alltoall, send: Argument::send(sendbuf, Elements::Block(sendcount, sendtype)),
                receive: Argument::receive(recvbuf, Elements::Block(recvcount, recvtype)), comm
            };
            alltoallv "MPI_Alltoallv", ialltoallv "MPI_Ialltoallv", alltoallv_init "MPI_Alltoallv_init"
            (
                sendbuf: *const c_void, sendcounts: Counts, sdispls: Counts, sendtype: abi::Datatype,
                recvbuf: *mut c_void, recvcounts: Counts, rdispls: Counts, recvtype: abi::Datatype, comm: abi::Comm
            )
            = Everywhere {
                call: Call::Alltoallv, send: Argument::send(sendbuf, Elements::Pieces(sendcounts, sdispls, sendtype)),
                receive: Argument::receive(recvbuf, Elements::Pieces(recvcounts, rdispls, recvtype)), comm
            };
            alltoallw "MPI_Alltoallw", ialltoallw "MPI_Ialltoallw", alltoallw_init "MPI_Alltoallw_init"
            (
                sendbuf: *const c_void, sendcounts: Counts, sdispls: Counts, sendtypes: In<abi::Datatype>,
                recvbuf: *mut c_void, recvcounts: Counts, rdispls: Counts, recvtypes: In<abi::Datatype>,
                comm: abi::Comm
            )
            = Everywhere {
                call: Call::Alltoallw, send: Argument::send(sendbuf, Elements::Typed(sendcounts, sdispls, sendtypes)),
                receive: Argument::receive(recvbuf, Elements::Typed(recvcounts, rdispls, recvtypes)), comm
            };
            reduce "MPI_Reduce", ireduce "MPI_Ireduce", reduce_init "MPI_Reduce_init"
            (
                sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: abi::Datatype, op: abi::Op,
                root: c_int, comm: abi::Comm
            )
            = Reduction { call: Call::Reduce, sendbuf, recvbuf, amount: Amount::Count(count), datatype, op, root: Some(root), comm };
            allreduce "MPI_Allreduce", iallreduce "MPI_Iallreduce", allreduce_init "MPI_Allreduce_init"
            (
                sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: abi::Datatype, op: abi::Op,
                comm: abi::Comm
            )
            = Reduction { call: Call::Allreduce, sendbuf, recvbuf, amount: Amount::Count(count), datatype, op, root: None, comm };
            reduce_scatter_block "MPI_Reduce_scatter_block", ireduce_scatter_block "MPI_Ireduce_scatter_block",
            reduce_scatter_block_init "MPI_Reduce_scatter_block_init"
            (
                sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: Count, datatype: abi::Datatype,
                op: abi::Op, comm: abi::Comm
            )
            = Reduction { call: Call::ReduceScatterBlock, sendbuf, recvbuf, amount: Amount::Count(recvcount), datatype, op, root: None, comm };
            reduce_scatter "MPI_Reduce_scatter", ireduce_scatter "MPI_Ireduce_scatter",
            reduce_scatter_init "MPI_Reduce_scatter_init"
            (
                sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: Counts, datatype: abi::Datatype,
                op: abi::Op, comm: abi::Comm
            )
            = Reduction { call: Call::ReduceScatter, sendbuf, recvbuf, amount: Amount::Counts(recvcounts), datatype, op, root: None, comm };
            scan "MPI_Scan", iscan "MPI_Iscan", scan_init "MPI_Scan_init"
            (
                sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: abi::Datatype, op: abi::Op,
                comm: abi::Comm
            )
            = Reduction { call: Call::Scan, sendbuf, recvbuf, amount: Amount::Count(count), datatype, op, root: None, comm };
            exscan "MPI_Exscan", iexscan "MPI_Iexscan", exscan_init "MPI_Exscan_init"
            (
                sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: abi::Datatype, op: abi::Op,
                comm: abi::Comm
            )
            = Reduction { call: Call::Exscan, sendbuf, recvbuf, amount: Amount::Count(count), datatype, op, root: None, comm };
        }
    };
}
pub(crate) use with_collectives;

/// Hands the table of collective operations among neighbors to a macro: the names of each in its three forms, its arguments, and
/// their description.
macro_rules! with_neighborhoods {
    ($make:ident) => {
        $make! {
            neighbor_allgather "MPI_Neighbor_allgather", ineighbor_allgather "MPI_Ineighbor_allgather",
            neighbor_allgather_init "MPI_Neighbor_allgather_init"
            (
                sendbuf: *const c_void, sendcount: Count, sendtype: abi::Datatype,
                recvbuf: *mut c_void, recvcount: Count, recvtype: abi::Datatype, comm: abi::Comm
            )
            = Neighborhood {
                call: Call::NeighborAllgather, send: Argument::send(sendbuf, Elements::Block(sendcount, sendtype)),
                receive: Argument::receive(recvbuf, Elements::Block(recvcount, recvtype)), comm
            };
            neighbor_allgatherv "MPI_Neighbor_allgatherv", ineighbor_allgatherv "MPI_Ineighbor_allgatherv",
            neighbor_allgatherv_init "MPI_Neighbor_allgatherv_init"
            (
                sendbuf: *const c_void, sendcount: Count, sendtype: abi::Datatype,
                recvbuf: *mut c_void, recvcounts: Counts, displs: Counts, recvtype: abi::Datatype, comm: abi::Comm
            )
            = Neighborhood {
                call: Call::NeighborAllgatherv, send: Argument::send(sendbuf, Elements::Block(sendcount, sendtype)),
                receive: Argument::receive(recvbuf, Elements::Pieces(recvcounts, displs, recvtype)).displs(), comm
            };
            neighbor_alltoall "MPI_Neighbor_alltoall", ineighbor_alltoall "MPI_Ineighbor_alltoall",
            neighbor_alltoall_init "MPI_Neighbor_alltoall_init"
            (
                sendbuf: *const c_void, sendcount: Count, sendtype: abi::Datatype,
                recvbuf: *mut c_void, recvcount: Count, recvtype: abi::Datatype, comm: abi::Comm
            )
            = Neighborhood {
                call: Call::NeighborAlltoall, send: Argument::send(sendbuf, Elements::Block(sendcount, sendtype)),
                receive: Argument::receive(recvbuf, Elements::Block(recvcount, recvtype)), comm
            };
            neighbor_alltoallv "MPI_Neighbor_alltoallv", ineighbor_alltoallv "MPI_Ineighbor_alltoallv",
            neighbor_alltoallv_init "MPI_Neighbor_alltoallv_init"
            (
                sendbuf: *const c_void, sendcounts: Counts, sdispls: Counts, sendtype: abi::Datatype,
                recvbuf: *mut c_void, recvcounts: Counts, rdispls: Counts, recvtype: abi::Datatype, comm: abi::Comm
            )
            = Neighborhood {
                call: Call::NeighborAlltoallv, send: Argument::send(sendbuf, Elements::Pieces(sendcounts, sdispls, sendtype)),
                receive: Argument::receive(recvbuf, Elements::Pieces(recvcounts, rdispls, recvtype)), comm
            };
            neighbor_alltoallw "MPI_Neighbor_alltoallw", ineighbor_alltoallw "MPI_Ineighbor_alltoallw",
            neighbor_alltoallw_init "MPI_Neighbor_alltoallw_init"
            (
                sendbuf: *const c_void, sendcounts: Counts, sdispls: In<Aint>, sendtypes: In<abi::Datatype>,
                recvbuf: *mut c_void, recvcounts: Counts, rdispls: In<Aint>, recvtypes: In<abi::Datatype>,
                comm: abi::Comm
            )
            = Neighborhood {
                call: Call::NeighborAlltoallw, send: Argument::send(sendbuf, Elements::Typed(sendcounts, Counts::Aint(sdispls), sendtypes)),
                receive: Argument::receive(recvbuf, Elements::Typed(recvcounts, Counts::Aint(rdispls), recvtypes)), comm
            };
        }
    };
}
pub(crate) use with_neighborhoods;
