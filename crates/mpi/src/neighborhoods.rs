//! Neighborhood collectives (chapter 8): the arguments of each, checked once for its blocking, nonblocking and persistent
//! form. The pieces of the buffers belong to the neighbors in the order of the communicator's topology.

use crate::collective_forms::Form;
use crate::collectives::{data, datatype, datatypes, enter, parts, pieces, typed_pieces};
use crate::communicators::Communicator;
use core::ffi::c_void;
use weft_base::abi::{self, Aint, Count};
use weft_base::constants::*;
use weft_base::{Counts, Error, In, Result};
use weft_coll::{Buffers, Call, NOBODY, Neighbors, Operation};
use weft_comm::topology::Topology;

/// Returns the caller's neighbors.
fn neighbors(communicator: &Communicator) -> Result<Neighbors> {
    let topology = communicator.topology().ok_or_else(|| {
        let text =
            "comm has no topology; make one with MPI_Cart_create, MPI_Graph_create or MPI_Dist_graph_create";
        Error::new(MPI_ERR_TOPOLOGY, text)
    })?;
    let all = topology.neighbors(communicator.values.rank);
    let number = |rank: Option<u32>| rank.unwrap_or(NOBODY);
    Ok(Neighbors {
        sources: all.sources.into_iter().map(number).collect(),
        destinations: all.destinations.into_iter().map(number).collect(),
        grid: matches!(topology, Topology::Cartesian(_)),
    })
}

/// Begins the description of an operation; returns the number of sources and of destinations, too.
fn begin(communicator: &Communicator, call: Call) -> Result<(Operation<'static>, u32, u32)> {
    let neighbors = neighbors(communicator)?;
    let degrees = (neighbors.sources.len() as u32, neighbors.destinations.len() as u32);
    let operation = Operation { neighbors: Some(neighbors), ..Operation::new(call) };
    Ok((operation, degrees.0, degrees.1))
}

/// `MPI_Neighbor_allgather`
#[expect(clippy::too_many_arguments)]
pub(crate) fn neighbor_allgather(
    form: Form,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    let (operation, sources, _) = begin(&communicator, Call::NeighborAllgather)?;
    let (sendtype, recvtype) = (datatype(process, sendtype)?, datatype(process, recvtype)?);
    let operation = Operation {
        send: Buffers::Whole(data(sendbuf, sendcount, &sendtype, "sendbuf")?),
        receive: Buffers::Even(parts(recvbuf, recvcount, sources, &recvtype, "recvbuf")?, sources),
        ..operation
    };
    form.run(&communicator, &operation)
}

/// `MPI_Neighbor_allgatherv`
#[expect(clippy::too_many_arguments)]
pub(crate) fn neighbor_allgatherv(
    form: Form,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Counts,
    recvtype: abi::Datatype,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    let (operation, sources, _) = begin(&communicator, Call::NeighborAllgatherv)?;
    let (sendtype, recvtype) = (datatype(process, sendtype)?, datatype(process, recvtype)?);
    let operation = Operation {
        send: Buffers::Whole(data(sendbuf, sendcount, &sendtype, "sendbuf")?),
        receive: Buffers::Pieces(pieces(
            recvbuf,
            recvcounts,
            displs,
            sources,
            &recvtype,
            ["recvbuf", "recvcounts", "displs"],
        )?),
        ..operation
    };
    form.run(&communicator, &operation)
}

/// `MPI_Neighbor_alltoall`
#[expect(clippy::too_many_arguments)]
pub(crate) fn neighbor_alltoall(
    form: Form,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    let (operation, sources, destinations) = begin(&communicator, Call::NeighborAlltoall)?;
    let (sendtype, recvtype) = (datatype(process, sendtype)?, datatype(process, recvtype)?);
    let operation = Operation {
        send: Buffers::Even(parts(sendbuf, sendcount, destinations, &sendtype, "sendbuf")?, destinations),
        receive: Buffers::Even(parts(recvbuf, recvcount, sources, &recvtype, "recvbuf")?, sources),
        ..operation
    };
    form.run(&communicator, &operation)
}

/// `MPI_Neighbor_alltoallv`
#[expect(clippy::too_many_arguments)]
pub(crate) fn neighbor_alltoallv(
    form: Form,
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: Counts,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: Counts,
    recvtype: abi::Datatype,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    let (operation, sources, destinations) = begin(&communicator, Call::NeighborAlltoallv)?;
    let (sendtype, recvtype) = (datatype(process, sendtype)?, datatype(process, recvtype)?);
    let operation = Operation {
        send: Buffers::Pieces(pieces(
            sendbuf,
            sendcounts,
            sdispls,
            destinations,
            &sendtype,
            ["sendbuf", "sendcounts", "sdispls"],
        )?),
        receive: Buffers::Pieces(pieces(
            recvbuf,
            recvcounts,
            rdispls,
            sources,
            &recvtype,
            ["recvbuf", "recvcounts", "rdispls"],
        )?),
        ..operation
    };
    form.run(&communicator, &operation)
}

/// `MPI_Neighbor_alltoallw`
#[expect(clippy::too_many_arguments)]
pub(crate) fn neighbor_alltoallw(
    form: Form,
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: In<Aint>,
    sendtypes: In<abi::Datatype>,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: In<Aint>,
    recvtypes: In<abi::Datatype>,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    let (operation, sources, destinations) = begin(&communicator, Call::NeighborAlltoallw)?;
    let sendtypes = datatypes(process, sendtypes, destinations, "sendtypes")?;
    let recvtypes = datatypes(process, recvtypes, sources, "recvtypes")?;
    let operation = Operation {
        send: Buffers::Pieces(typed_pieces(
            sendbuf,
            sendcounts,
            Counts::Aint(sdispls),
            &sendtypes,
            ["sendbuf", "sendcounts", "sdispls"],
        )?),
        receive: Buffers::Pieces(typed_pieces(
            recvbuf,
            recvcounts,
            Counts::Aint(rdispls),
            &recvtypes,
            ["recvbuf", "recvcounts", "rdispls"],
        )?),
        ..operation
    };
    form.run(&communicator, &operation)
}
