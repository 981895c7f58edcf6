//! Collective operations (chapter 6) of intracommunicators, blocking forms.
//!
//! Checks arguments, turns them into descriptions of buffers, and hands over to the communicator's team.
#![allow(unsafe_code)] // States that buffers are what the caller of the MPI function promises.

use crate::check;
use crate::communicators::Communicator;
use crate::process::{Process, Ref};
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Count};
use weft_base::constants::*;
use weft_base::{Counts, Error, In, Result};
use weft_coll::{Call, Data, Operator};
use weft_datatype::Datatype;
use weft_op::Op;

/// A type argument, kept alive for the call.
type Type<'a> = Ref<'a, Datatype>;

fn is_in_place(buffer: *const c_void) -> bool {
    buffer.addr() == MPI_IN_PLACE
}

/// Returns the rank's state and an intracommunicator.
fn enter(comm: abi::Comm, call: &'static str) -> Result<(&'static Process, Ref<'static, Communicator>)> {
    let process = Process::current()?;
    let communicator = process.communicator(comm)?;
    if communicator.values.remote.is_some() {
        return Err(Error::new(
            MPI_ERR_UNSUPPORTED_OPERATION,
            format!("{call} on an intercommunicator is not done yet"),
        ));
    }
    Ok((process, communicator))
}

/// Returns a datatype that may be used in communication.
fn datatype(process: &'static Process, handle: abi::Datatype) -> Result<Type<'static>> {
    let datatype = process.datatype(handle)?;
    if !datatype.is_committed() {
        return Err(Error::new(
            MPI_ERR_TYPE,
            format!("datatype {:#x} is not committed; call MPI_Type_commit before using it", handle.0),
        ));
    }
    Ok(datatype)
}

/// Returns an operation that is defined for the datatype.
fn operation(process: &'static Process, handle: abi::Op, datatype: &Datatype) -> Result<Ref<'static, Op>> {
    let op = process.operation(handle)?;
    op.check(datatype)?;
    Ok(op)
}

/// Describes `count` elements at `buffer`.
fn data<'a>(buffer: *const c_void, count: Count, datatype: &'a Datatype, name: &str) -> Result<Data<'a>> {
    let count = check::count(count, "count")?;
    if buffer.is_null()
        && count > 0
        && datatype.size() > 0
        && datatype.lb() == datatype.true_lb()
        && is_plain(datatype)
    {
        return Err(Error::new(
            MPI_ERR_BUFFER,
            format!("{name} is a null pointer, but {count} elements are to be there"),
        ));
    }
    if is_in_place(buffer) {
        return Err(Error::new(
            MPI_ERR_BUFFER,
            format!("{name} is MPI_IN_PLACE, which this call does not allow there"),
        ));
    }
    // SAFETY: the caller of the MPI function promises such a buffer until the call returns.
    Ok(unsafe { Data::new(buffer, count, datatype) })
}

/// Tells whether elements at address 0 cannot be meant: not a derived type with absolute addresses.
fn is_plain(datatype: &Datatype) -> bool {
    datatype.as_predefined().is_some()
}

/// Describes a buffer of `parts` times `count` elements.
fn parts<'a>(
    buffer: *const c_void,
    count: Count,
    parts: u32,
    datatype: &'a Datatype,
    name: &str,
) -> Result<Data<'a>> {
    let count = check::count(count, "count")?;
    let whole = Count::try_from(count).ok().and_then(|count| count.checked_mul(i64::from(parts)));
    let whole = whole.ok_or_else(|| {
        Error::new(
            MPI_ERR_COUNT,
            format!("{count} elements for each of {parts} ranks are more than fit memory"),
        )
    })?;
    data(buffer, whole, datatype, name)
}

/// Returns a closure that gives each rank's part of an evenly divided buffer.
fn evenly<'a>(whole: Data<'a>, size: u32) -> impl Fn(u32) -> Data<'a> + Sync {
    let each = whole.count() / u64::from(size);
    move |rank| whole.part(u64::from(rank) * each, each)
}

/// Describes a buffer's parts of different lengths at displacements in elements.
fn pieces<'a>(
    buffer: *const c_void,
    counts: Counts,
    displacements: Counts,
    size: u32,
    datatype: &'a Datatype,
    name: &str,
) -> Result<Vec<Data<'a>>> {
    arrays(counts, displacements)?;
    (0..size as usize)
        .map(|rank| {
            let offset = displacements.get(rank).wrapping_mul(datatype.extent());
            piece(buffer, offset, counts.get(rank), datatype, name)
        })
        .collect()
}

/// Describes `count` elements `offset` bytes after `buffer`.
fn piece<'a>(
    buffer: *const c_void,
    offset: i64,
    count: Count,
    datatype: &'a Datatype,
    name: &str,
) -> Result<Data<'a>> {
    // The base address is what is checked.
    let whole = data(buffer, count, datatype, name)?;
    // SAFETY: as in `data`; the caller's displacement says where the part is.
    Ok(unsafe { Data::new(buffer.wrapping_byte_offset(offset as isize), whole.count(), datatype) })
}

fn arrays(counts: Counts, displacements: Counts) -> Result {
    if counts.is_null() || displacements.is_null() {
        return Err(Error::new(
            MPI_ERR_ARG,
            "the array of counts or of displacements is a null pointer; pass one element for each rank",
        ));
    }
    Ok(())
}

/// Refuses the same address for both buffers.
fn distinct(send: &Data<'_>, receive: &Data<'_>) -> Result {
    if send.is_at(receive) && send.bytes() > 0 && receive.bytes() > 0 {
        return Err(Error::new(
            MPI_ERR_BUFFER,
            "the send and the receive buffer are the same; pass MPI_IN_PLACE as the send buffer to reduce or \
             collect in place",
        ));
    }
    Ok(())
}

/// `MPI_Barrier`
///
/// # Errors
/// `MPI_ERR_COMM`
pub fn barrier(comm: abi::Comm) -> Result {
    enter(comm, "MPI_Barrier")?.1.team.barrier()
}

/// `MPI_Bcast`
///
/// # Errors
/// `MPI_ERR_COMM`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`, `MPI_ERR_ROOT`, `MPI_ERR_TRUNCATE`
pub fn bcast(
    buffer: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Bcast")?;
    let root = check::root(root, communicator.team.size())?;
    let datatype = self::datatype(process, datatype)?;
    communicator.team.broadcast(root, data(buffer, count, &datatype, "buffer")?)
}

/// `MPI_Gather`
///
/// # Errors
/// As [`bcast`].
#[expect(clippy::too_many_arguments)]
pub fn gather(
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Gather")?;
    let team = &communicator.team;
    let root = check::root(root, team.size())?;
    if team.rank() != root {
        let sendtype = datatype(process, sendtype)?;
        let send = data(sendbuf, sendcount, &sendtype, "sendbuf")?;
        return team.gather(Call::Gather, root, Some(send), |_| send);
    }
    let recvtype = datatype(process, recvtype)?;
    let receive = parts(recvbuf, recvcount, team.size(), &recvtype, "recvbuf")?;
    let place = evenly(receive, team.size());
    if is_in_place(sendbuf) {
        return team.gather(Call::Gather, root, None, place);
    }
    let sendtype = datatype(process, sendtype)?;
    let send = data(sendbuf, sendcount, &sendtype, "sendbuf")?;
    distinct(&send, &place(root))?;
    team.gather(Call::Gather, root, Some(send), place)
}

/// `MPI_Gatherv`
///
/// # Errors
/// As [`bcast`], and `MPI_ERR_ARG`.
#[expect(clippy::too_many_arguments)]
pub fn gatherv(
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Counts,
    recvtype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Gatherv")?;
    let team = &communicator.team;
    let root = check::root(root, team.size())?;
    if team.rank() != root {
        let sendtype = datatype(process, sendtype)?;
        let send = data(sendbuf, sendcount, &sendtype, "sendbuf")?;
        return team.gather(Call::Gatherv, root, Some(send), |_| send);
    }
    let recvtype = datatype(process, recvtype)?;
    let receive = pieces(recvbuf, recvcounts, displs, team.size(), &recvtype, "recvbuf")?;
    let place = |rank: u32| receive[rank as usize];
    if is_in_place(sendbuf) {
        return team.gather(Call::Gatherv, root, None, place);
    }
    let sendtype = datatype(process, sendtype)?;
    let send = data(sendbuf, sendcount, &sendtype, "sendbuf")?;
    distinct(&send, &place(root))?;
    team.gather(Call::Gatherv, root, Some(send), place)
}

/// `MPI_Scatter`
///
/// # Errors
/// As [`bcast`].
#[expect(clippy::too_many_arguments)]
pub fn scatter(
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Scatter")?;
    let team = &communicator.team;
    let root = check::root(root, team.size())?;
    if team.rank() != root {
        let recvtype = datatype(process, recvtype)?;
        let receive = data(recvbuf, recvcount, &recvtype, "recvbuf")?;
        return team.scatter(Call::Scatter, root, &|_| receive, Some(receive));
    }
    let sendtype = datatype(process, sendtype)?;
    let send = parts(sendbuf, sendcount, team.size(), &sendtype, "sendbuf")?;
    let part = evenly(send, team.size());
    if is_in_place(recvbuf) {
        return team.scatter(Call::Scatter, root, &part, None);
    }
    let recvtype = datatype(process, recvtype)?;
    let receive = data(recvbuf, recvcount, &recvtype, "recvbuf")?;
    distinct(&part(root), &receive)?;
    team.scatter(Call::Scatter, root, &part, Some(receive))
}

/// `MPI_Scatterv`
///
/// # Errors
/// As [`gatherv`].
#[expect(clippy::too_many_arguments)]
pub fn scatterv(
    sendbuf: *const c_void,
    sendcounts: Counts,
    displs: Counts,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Scatterv")?;
    let team = &communicator.team;
    let root = check::root(root, team.size())?;
    if team.rank() != root {
        let recvtype = datatype(process, recvtype)?;
        let receive = data(recvbuf, recvcount, &recvtype, "recvbuf")?;
        return team.scatter(Call::Scatterv, root, &|_| receive, Some(receive));
    }
    let sendtype = datatype(process, sendtype)?;
    let send = pieces(sendbuf, sendcounts, displs, team.size(), &sendtype, "sendbuf")?;
    let part = |rank: u32| send[rank as usize];
    if is_in_place(recvbuf) {
        return team.scatter(Call::Scatterv, root, &part, None);
    }
    let recvtype = datatype(process, recvtype)?;
    let receive = data(recvbuf, recvcount, &recvtype, "recvbuf")?;
    distinct(&part(root), &receive)?;
    team.scatter(Call::Scatterv, root, &part, Some(receive))
}

/// `MPI_Allgather`
///
/// # Errors
/// As [`bcast`].
pub fn allgather(
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Allgather")?;
    let team = &communicator.team;
    let recvtype = datatype(process, recvtype)?;
    let receive = parts(recvbuf, recvcount, team.size(), &recvtype, "recvbuf")?;
    if is_in_place(sendbuf) {
        return team.allgather(None, receive);
    }
    let sendtype = datatype(process, sendtype)?;
    let send = data(sendbuf, sendcount, &sendtype, "sendbuf")?;
    distinct(&send, &evenly(receive, team.size())(team.rank()))?;
    team.allgather(Some(send), receive)
}

/// `MPI_Allgatherv`
///
/// # Errors
/// As [`gatherv`].
#[expect(clippy::too_many_arguments)]
pub fn allgatherv(
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    displs: Counts,
    recvtype: abi::Datatype,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Allgatherv")?;
    let team = &communicator.team;
    let recvtype = datatype(process, recvtype)?;
    let receive = pieces(recvbuf, recvcounts, displs, team.size(), &recvtype, "recvbuf")?;
    let place = |rank: u32| receive[rank as usize];
    if is_in_place(sendbuf) {
        return team.allgatherv(None, place);
    }
    let sendtype = datatype(process, sendtype)?;
    let send = data(sendbuf, sendcount, &sendtype, "sendbuf")?;
    distinct(&send, &place(team.rank()))?;
    team.allgatherv(Some(send), place)
}

/// `MPI_Alltoall`
///
/// # Errors
/// As [`bcast`].
pub fn alltoall(
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Alltoall")?;
    let team = &communicator.team;
    let recvtype = datatype(process, recvtype)?;
    let receive = parts(recvbuf, recvcount, team.size(), &recvtype, "recvbuf")?;
    if is_in_place(sendbuf) {
        return team.alltoall_in_place(Call::Alltoall, &evenly(receive, team.size()));
    }
    let sendtype = datatype(process, sendtype)?;
    let send = parts(sendbuf, sendcount, team.size(), &sendtype, "sendbuf")?;
    distinct(&send, &receive)?;
    team.alltoall(send, receive)
}

/// `MPI_Alltoallv`
///
/// # Errors
/// As [`gatherv`].
#[expect(clippy::too_many_arguments)]
pub fn alltoallv(
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
    let (process, communicator) = enter(comm, "MPI_Alltoallv")?;
    let team = &communicator.team;
    let recvtype = datatype(process, recvtype)?;
    let receive = pieces(recvbuf, recvcounts, rdispls, team.size(), &recvtype, "recvbuf")?;
    let place = |rank: u32| receive[rank as usize];
    if is_in_place(sendbuf) {
        return team.alltoall_in_place(Call::Alltoallv, &place);
    }
    let sendtype = datatype(process, sendtype)?;
    let send = pieces(sendbuf, sendcounts, sdispls, team.size(), &sendtype, "sendbuf")?;
    team.alltoallw(Call::Alltoallv, &|rank| send[rank as usize], &place)
}

/// The datatypes of a call with one for each rank.
fn datatypes(process: &'static Process, handles: In<abi::Datatype>, size: u32) -> Result<Vec<Type<'static>>> {
    if handles.is_null() {
        return Err(Error::new(
            MPI_ERR_ARG,
            "the array of datatypes is a null pointer; pass one datatype for each rank",
        ));
    }
    (0..size as usize).map(|rank| datatype(process, handles.get(rank))).collect()
}

/// Describes a buffer's parts of different datatypes at displacements in bytes.
fn typed_pieces<'a>(
    buffer: *const c_void,
    counts: Counts,
    displacements: Counts,
    types: &'a [Type<'static>],
    name: &str,
) -> Result<Vec<Data<'a>>> {
    arrays(counts, displacements)?;
    let each = types.iter().enumerate();
    each.map(|(rank, datatype)| piece(buffer, displacements.get(rank), counts.get(rank), datatype, name))
        .collect()
}

/// `MPI_Alltoallw`
///
/// # Errors
/// As [`gatherv`].
#[expect(clippy::too_many_arguments)]
pub fn alltoallw(
    sendbuf: *const c_void,
    sendcounts: Counts,
    sdispls: Counts,
    sendtypes: In<abi::Datatype>,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    rdispls: Counts,
    recvtypes: In<abi::Datatype>,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Alltoallw")?;
    let team = &communicator.team;
    let recvtypes = datatypes(process, recvtypes, team.size())?;
    let receive = typed_pieces(recvbuf, recvcounts, rdispls, &recvtypes, "recvbuf")?;
    let place = |rank: u32| receive[rank as usize];
    if is_in_place(sendbuf) {
        return team.alltoall_in_place(Call::Alltoallw, &place);
    }
    let sendtypes = datatypes(process, sendtypes, team.size())?;
    let send = typed_pieces(sendbuf, sendcounts, sdispls, &sendtypes, "sendbuf")?;
    team.alltoallw(Call::Alltoallw, &|rank| send[rank as usize], &place)
}

/// `MPI_Reduce`
///
/// # Errors
/// As [`bcast`], and `MPI_ERR_OP`.
pub fn reduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    op: abi::Op,
    root: c_int,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Reduce")?;
    let team = &communicator.team;
    let root = check::root(root, team.size())?;
    let (handle, datatype) = (datatype, self::datatype(process, datatype)?);
    let op = operation(process, op, &datatype)?;
    let operator = Operator { op: &op, handle };
    if team.rank() != root {
        return team.reduce(root, data(sendbuf, count, &datatype, "sendbuf")?, None, operator);
    }
    let receive = data(recvbuf, count, &datatype, "recvbuf")?;
    let send = contribution(sendbuf, receive)?;
    team.reduce(root, send, Some(receive), operator)
}

/// Describes what a rank contributes to a reduction with as many results, perhaps in place.
fn contribution<'a>(sendbuf: *const c_void, receive: Data<'a>) -> Result<Data<'a>> {
    if is_in_place(sendbuf) {
        return Ok(receive);
    }
    let send = data(sendbuf, receive.count() as Count, receive.datatype(), "sendbuf")?;
    distinct(&send, &receive)?;
    Ok(send)
}

/// `MPI_Allreduce`
///
/// # Errors
/// As [`reduce`].
pub fn allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    op: abi::Op,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Allreduce")?;
    let (handle, datatype) = (datatype, self::datatype(process, datatype)?);
    let op = operation(process, op, &datatype)?;
    let receive = data(recvbuf, count, &datatype, "recvbuf")?;
    communicator.team.allreduce(contribution(sendbuf, receive)?, receive, Operator { op: &op, handle })
}

/// `MPI_Scan`
///
/// # Errors
/// As [`reduce`].
pub fn scan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    op: abi::Op,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Scan")?;
    let (handle, datatype) = (datatype, self::datatype(process, datatype)?);
    let op = operation(process, op, &datatype)?;
    let receive = data(recvbuf, count, &datatype, "recvbuf")?;
    communicator.team.scan(contribution(sendbuf, receive)?, receive, Operator { op: &op, handle })
}

/// `MPI_Exscan`
///
/// # Errors
/// As [`reduce`].
pub fn exscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    op: abi::Op,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Exscan")?;
    let team = &communicator.team;
    let (handle, datatype) = (datatype, self::datatype(process, datatype)?);
    let op = operation(process, op, &datatype)?;
    let operator = Operator { op: &op, handle };
    if team.rank() == 0 && !is_in_place(sendbuf) {
        // Rank 0 receives nothing: its receive buffer means nothing and may be anything.
        let send = data(sendbuf, count, &datatype, "sendbuf")?;
        return team.exscan(send, send, operator);
    }
    let receive = data(recvbuf, count, &datatype, "recvbuf")?;
    team.exscan(contribution(sendbuf, receive)?, receive, operator)
}

/// `MPI_Reduce_scatter_block`
///
/// # Errors
/// As [`reduce`].
pub fn reduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: Count,
    datatype: abi::Datatype,
    op: abi::Op,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Reduce_scatter_block")?;
    let team = &communicator.team;
    let (handle, datatype) = (datatype, self::datatype(process, datatype)?);
    let op = operation(process, op, &datatype)?;
    let receive = data(recvbuf, recvcount, &datatype, "recvbuf")?;
    let in_place = is_in_place(sendbuf);
    let send = if in_place { recvbuf.cast_const() } else { sendbuf };
    let send = parts(send, recvcount, team.size(), &datatype, "sendbuf")?;
    if !in_place {
        distinct(&send, &receive)?;
    }
    let first = u64::from(team.rank()) * receive.count();
    let mine = first..first + receive.count();
    team.reduce_scatter(Call::ReduceScatterBlock, send, mine, receive, Operator { op: &op, handle })
}

/// `MPI_Reduce_scatter`
///
/// # Errors
/// As [`reduce`], and `MPI_ERR_ARG`.
pub fn reduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    datatype: abi::Datatype,
    op: abi::Op,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm, "MPI_Reduce_scatter")?;
    let team = &communicator.team;
    arrays(recvcounts, recvcounts)?;
    let (handle, datatype) = (datatype, self::datatype(process, datatype)?);
    let op = operation(process, op, &datatype)?;
    let (mut total, mut mine) = (0u64, 0..0);
    for rank in 0..team.size() {
        let count = check::count(recvcounts.get(rank as usize), "an element of recvcounts")?;
        let end = total
            .checked_add(count)
            .filter(|&end| Count::try_from(end).is_ok())
            .ok_or_else(|| Error::new(MPI_ERR_COUNT, "the sum of recvcounts is more than fits memory"))?;
        if rank == team.rank() {
            mine = total..end;
        }
        total = end;
    }
    let receive = data(recvbuf, (mine.end - mine.start) as Count, &datatype, "recvbuf")?;
    let in_place = is_in_place(sendbuf);
    let send = if in_place { recvbuf.cast_const() } else { sendbuf };
    let send = data(send, total as Count, &datatype, "sendbuf")?;
    if !in_place {
        distinct(&send, &receive)?;
    }
    team.reduce_scatter(Call::ReduceScatter, send, mine, receive, Operator { op: &op, handle })
}
