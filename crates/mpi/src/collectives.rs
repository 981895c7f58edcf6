//! Collective operations (chapter 6): the arguments of each, checked once for its blocking, nonblocking and persistent
//! form.
//!
//! A function here checks arguments, describes the operation as a value, and hands it to the [`Form`]. On an
//! intercommunicator a rank's peers are the ranks of the other group.
#![allow(unsafe_code)] // States that buffers are what the caller of the MPI function promises.

use crate::check;
use crate::collective_forms::Form;
use crate::communicators::Communicator;
use crate::messages::not_committed;
pub(crate) use crate::neighborhoods::{
    neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw,
};
use crate::process::{Process, Ref};
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Count};
use weft_base::constants::*;
use weft_base::{Counts, Error, In, Named, Result};
use weft_coll::{Buffers, Call, Data, Operation, Operator, Root};
use weft_datatype::Datatype;
use weft_op::Op;

/// A type argument, kept alive for the call.
type Type<'a> = Ref<'a, Datatype>;

pub(crate) fn is_in_place(buffer: *const c_void) -> bool {
    buffer.addr() == MPI_IN_PLACE
}

/// Returns the rank's state and a communicator.
pub(crate) fn enter(comm: abi::Comm) -> Result<(&'static Process, Ref<'static, Communicator>)> {
    let process = Process::current()?;
    Ok((process, process.communicator(comm)?))
}

/// Refuses an intercommunicator.
fn one_group(communicator: &Communicator, call: &'static str) -> Result {
    if communicator.values.remote.is_some() {
        let text = format!("{call} is not defined on an intercommunicator; pass an intracommunicator");
        return Err(Error::new(MPI_ERR_COMM, text));
    }
    Ok(())
}

/// Refuses data in place on an intercommunicator, where no rank receives what it contributes.
fn refuse_in_place(communicator: &Communicator, buffer: *const c_void) -> Result {
    if is_in_place(buffer) && communicator.values.remote.is_some() {
        let text = "MPI_IN_PLACE is not defined on an intercommunicator; pass a buffer";
        return Err(Error::new(MPI_ERR_BUFFER, text));
    }
    Ok(())
}

/// Returns the number of ranks that the caller exchanges data with.
fn peers(communicator: &Communicator) -> u32 {
    communicator.values.peers().size()
}

/// Takes a root argument.
fn root(communicator: &Communicator, value: c_int) -> Result<Root> {
    match value {
        MPI_ROOT if communicator.values.remote.is_some() => Ok(Root::Here),
        MPI_PROC_NULL if communicator.values.remote.is_some() => Ok(Root::Elsewhere),
        _ => check::root(value, peers(communicator)).map(Root::Rank),
    }
}

/// Tells whether the caller is the root.
fn is_root(communicator: &Communicator, root: Root) -> bool {
    match root {
        Root::Rank(rank) => rank == communicator.values.rank && communicator.values.remote.is_none(),
        Root::Here => true,
        Root::None | Root::Elsewhere => false,
    }
}

/// Returns a datatype that may be used in communication.
pub(crate) fn datatype(process: &'static Process, handle: abi::Datatype) -> Result<Type<'static>> {
    let datatype = process.datatype(handle)?;
    if !datatype.is_committed() {
        return Err(not_committed(handle));
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
pub(crate) fn data<'a>(
    buffer: *const c_void,
    count: Count,
    datatype: &'a Datatype,
    name: &str,
) -> Result<Data<'a>> {
    let count = check::count(count, "count")?;
    check::buffer(buffer, count, datatype, name)?;
    if is_in_place(buffer) {
        return Err(Error::new(
            MPI_ERR_BUFFER,
            format!("{name} is MPI_IN_PLACE, which this call does not allow there"),
        ));
    }
    // SAFETY: the caller of the MPI function promises such a buffer until the operation is complete.
    Ok(unsafe { Data::new(buffer, count, datatype) })
}

/// Describes a buffer of `parts` times `count` elements.
pub(crate) fn parts<'a>(
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
            format!("{count} elements in {name} for each of {parts} ranks are more than fit memory"),
        )
    })?;
    data(buffer, whole, datatype, name)
}

/// The names of a buffer argument and of the arrays that say how many elements are where in it.
type Names = [&'static str; 3];

/// Describes a buffer's parts of different lengths at displacements in elements.
pub(crate) fn pieces<'a>(
    buffer: *const c_void,
    counts: Counts,
    displacements: Counts,
    size: u32,
    datatype: &'a Datatype,
    names: Names,
) -> Result<Vec<Data<'a>>> {
    arrays(counts, displacements, size, names)?;
    (0..size as usize)
        .map(|rank| {
            let offset = displacements.get(rank).wrapping_mul(datatype.extent());
            piece(buffer, offset, counts.get(rank), datatype, names[0]).named_at(names[1], rank)
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
    let at = if is_in_place(buffer) { buffer } else { buffer.wrapping_byte_offset(offset as isize) };
    // A null buffer and the displacement of an empty piece may make any address, even that of MPI_IN_PLACE.
    if count == 0 && !is_in_place(buffer) {
        // SAFETY: there is nothing.
        return Ok(unsafe { Data::new(at, 0, datatype) });
    }
    // With MPI_BOTTOM, displacement and datatype make the address together: only where the data begins tells.
    if buffer.is_null() && !check::is_low(at.wrapping_byte_offset(datatype.true_lb() as isize)) {
        let count = check::count(count, "count")?;
        // SAFETY: as in `data`.
        return Ok(unsafe { Data::new(at, count, datatype) });
    }
    data(at, count, datatype, name)
}

fn arrays(counts: Counts, displacements: Counts, size: u32, names: Names) -> Result {
    check::array(counts.is_null(), size as usize, names[1])?;
    check::array(displacements.is_null(), size as usize, names[2])
}

/// Refuses buffers that share memory.
#[inline]
fn distinct(send: &Data<'_>, receive: &Data<'_>) -> Result {
    if send.overlaps(receive) { Err(aliased(send.is_at(receive))) } else { Ok(()) }
}

#[cold]
fn aliased(same: bool) -> Error {
    let how = if same { "are the same" } else { "overlap" };
    let text = format!(
        "sendbuf and recvbuf {how}; pass separate buffers, or MPI_IN_PLACE for the one that only repeats the other"
    );
    Error::new(MPI_ERR_BUFFER, text)
}

/// `MPI_Barrier`
pub(crate) fn barrier(form: Form, comm: abi::Comm) -> Result {
    form.run(&enter(comm)?.1, &Operation::new(Call::Barrier))
}

/// `MPI_Bcast`
pub(crate) fn bcast(
    form: Form,
    buffer: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    let root = self::root(&communicator, root)?;
    let mut operation = Operation { root, ..Operation::new(Call::Broadcast) };
    if root == Root::Elsewhere {
        return form.run(&communicator, &operation);
    }
    let datatype = self::datatype(process, datatype)?;
    let data = Buffers::Whole(data(buffer, count, &datatype, "buffer")?);
    if is_root(&communicator, root) {
        operation.send = data;
    } else {
        operation.receive = data;
    }
    form.run(&communicator, &operation)
}

/// Tells which parts the caller takes in a rooted operation: that of the many (who send in a gather, receive in a
/// scatter), and the root's.
fn sides(communicator: &Communicator, root: Root) -> (bool, bool) {
    match root {
        Root::Rank(_) => (true, is_root(communicator, root)),
        Root::Here => (false, true),
        Root::None | Root::Elsewhere => (false, false),
    }
}

/// `MPI_Gather`
#[expect(clippy::too_many_arguments)]
pub(crate) fn gather(
    form: Form,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    let root = self::root(&communicator, root)?;
    let mut operation = Operation { root, ..Operation::new(Call::Gather) };
    let (sends, receives) = sides(&communicator, root);
    let in_place = receives && sends && is_in_place(sendbuf);
    let sendtype = (sends && !in_place).then(|| datatype(process, sendtype)).transpose()?;
    let recvtype = receives.then(|| datatype(process, recvtype)).transpose()?;
    if let Some(recvtype) = &recvtype {
        let peers = peers(&communicator);
        operation.receive = Buffers::Even(parts(recvbuf, recvcount, peers, recvtype, "recvbuf")?, peers);
    }
    if let Some(sendtype) = &sendtype {
        let send = data(sendbuf, sendcount, sendtype, "sendbuf")?;
        if receives {
            distinct(&send, &operation.receive.piece(communicator.values.rank))?;
        }
        operation.send = Buffers::Whole(send);
    }
    form.run(&communicator, &operation)
}

/// `MPI_Gatherv`
#[expect(clippy::too_many_arguments)]
pub(crate) fn gatherv(
    form: Form,
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
    let (process, communicator) = enter(comm)?;
    let root = self::root(&communicator, root)?;
    let mut operation = Operation { root, ..Operation::new(Call::Gatherv) };
    let (sends, receives) = sides(&communicator, root);
    let in_place = receives && sends && is_in_place(sendbuf);
    let sendtype = (sends && !in_place).then(|| datatype(process, sendtype)).transpose()?;
    let recvtype = receives.then(|| datatype(process, recvtype)).transpose()?;
    if let Some(recvtype) = &recvtype {
        let peers = peers(&communicator);
        operation.receive = Buffers::Pieces(pieces(
            recvbuf,
            recvcounts,
            displs,
            peers,
            recvtype,
            ["recvbuf", "recvcounts", "displs"],
        )?);
    }
    if let Some(sendtype) = &sendtype {
        let send = data(sendbuf, sendcount, sendtype, "sendbuf")?;
        if receives {
            distinct(&send, &operation.receive.piece(communicator.values.rank))?;
        }
        operation.send = Buffers::Whole(send);
    }
    form.run(&communicator, &operation)
}

/// `MPI_Scatter`
#[expect(clippy::too_many_arguments)]
pub(crate) fn scatter(
    form: Form,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    let root = self::root(&communicator, root)?;
    let mut operation = Operation { root, ..Operation::new(Call::Scatter) };
    let (receives, sends) = sides(&communicator, root);
    let in_place = receives && sends && is_in_place(recvbuf);
    let sendtype = sends.then(|| datatype(process, sendtype)).transpose()?;
    let recvtype = (receives && !in_place).then(|| datatype(process, recvtype)).transpose()?;
    if let Some(sendtype) = &sendtype {
        let peers = peers(&communicator);
        operation.send = Buffers::Even(parts(sendbuf, sendcount, peers, sendtype, "sendbuf")?, peers);
    }
    if let Some(recvtype) = &recvtype {
        let receive = data(recvbuf, recvcount, recvtype, "recvbuf")?;
        if sends {
            distinct(&operation.send.piece(communicator.values.rank), &receive)?;
        }
        operation.receive = Buffers::Whole(receive);
    }
    form.run(&communicator, &operation)
}

/// `MPI_Scatterv`
#[expect(clippy::too_many_arguments)]
pub(crate) fn scatterv(
    form: Form,
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
    let (process, communicator) = enter(comm)?;
    let root = self::root(&communicator, root)?;
    let mut operation = Operation { root, ..Operation::new(Call::Scatterv) };
    let (receives, sends) = sides(&communicator, root);
    let in_place = receives && sends && is_in_place(recvbuf);
    let sendtype = sends.then(|| datatype(process, sendtype)).transpose()?;
    let recvtype = (receives && !in_place).then(|| datatype(process, recvtype)).transpose()?;
    if let Some(sendtype) = &sendtype {
        let peers = peers(&communicator);
        operation.send = Buffers::Pieces(pieces(
            sendbuf,
            sendcounts,
            displs,
            peers,
            sendtype,
            ["sendbuf", "sendcounts", "displs"],
        )?);
    }
    if let Some(recvtype) = &recvtype {
        let receive = data(recvbuf, recvcount, recvtype, "recvbuf")?;
        if sends {
            distinct(&operation.send.piece(communicator.values.rank), &receive)?;
        }
        operation.receive = Buffers::Whole(receive);
    }
    form.run(&communicator, &operation)
}

/// `MPI_Allgather`
#[expect(clippy::too_many_arguments)]
pub(crate) fn allgather(
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
    refuse_in_place(&communicator, sendbuf)?;
    let peers = peers(&communicator);
    let recvtype = datatype(process, recvtype)?;
    let mut operation = Operation::new(Call::Allgather);
    operation.receive = Buffers::Even(parts(recvbuf, recvcount, peers, &recvtype, "recvbuf")?, peers);
    if is_in_place(sendbuf) {
        return form.run(&communicator, &operation);
    }
    let sendtype = datatype(process, sendtype)?;
    let send = data(sendbuf, sendcount, &sendtype, "sendbuf")?;
    if communicator.values.remote.is_none() {
        distinct(&send, &operation.receive.piece(communicator.values.rank))?;
    }
    operation.send = Buffers::Whole(send);
    form.run(&communicator, &operation)
}

/// `MPI_Allgatherv`
#[expect(clippy::too_many_arguments)]
pub(crate) fn allgatherv(
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
    refuse_in_place(&communicator, sendbuf)?;
    let peers = peers(&communicator);
    let recvtype = datatype(process, recvtype)?;
    let mut operation = Operation::new(Call::Allgatherv);
    operation.receive = Buffers::Pieces(pieces(
        recvbuf,
        recvcounts,
        displs,
        peers,
        &recvtype,
        ["recvbuf", "recvcounts", "displs"],
    )?);
    if is_in_place(sendbuf) {
        return form.run(&communicator, &operation);
    }
    let sendtype = datatype(process, sendtype)?;
    let send = data(sendbuf, sendcount, &sendtype, "sendbuf")?;
    if communicator.values.remote.is_none() {
        distinct(&send, &operation.receive.piece(communicator.values.rank))?;
    }
    operation.send = Buffers::Whole(send);
    form.run(&communicator, &operation)
}

/// `MPI_Alltoall`
#[expect(clippy::too_many_arguments)]
pub(crate) fn alltoall(
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
    refuse_in_place(&communicator, sendbuf)?;
    let peers = peers(&communicator);
    let recvtype = datatype(process, recvtype)?;
    let receive = parts(recvbuf, recvcount, peers, &recvtype, "recvbuf")?;
    let mut operation = Operation::new(Call::Alltoall);
    operation.receive = Buffers::Even(receive, peers);
    if is_in_place(sendbuf) {
        return form.run(&communicator, &operation);
    }
    let sendtype = datatype(process, sendtype)?;
    let send = parts(sendbuf, sendcount, peers, &sendtype, "sendbuf")?;
    distinct(&send, &receive)?;
    operation.send = Buffers::Even(send, peers);
    form.run(&communicator, &operation)
}

/// `MPI_Alltoallv`
#[expect(clippy::too_many_arguments)]
pub(crate) fn alltoallv(
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
    refuse_in_place(&communicator, sendbuf)?;
    let peers = peers(&communicator);
    let recvtype = datatype(process, recvtype)?;
    let mut operation = Operation::new(Call::Alltoallv);
    operation.receive = Buffers::Pieces(pieces(
        recvbuf,
        recvcounts,
        rdispls,
        peers,
        &recvtype,
        ["recvbuf", "recvcounts", "rdispls"],
    )?);
    if is_in_place(sendbuf) {
        return form.run(&communicator, &operation);
    }
    let sendtype = datatype(process, sendtype)?;
    operation.send = Buffers::Pieces(pieces(
        sendbuf,
        sendcounts,
        sdispls,
        peers,
        &sendtype,
        ["sendbuf", "sendcounts", "sdispls"],
    )?);
    form.run(&communicator, &operation)
}

/// The datatypes of a call with one for each rank.
pub(crate) fn datatypes(
    process: &'static Process,
    handles: In<abi::Datatype>,
    size: u32,
    name: &str,
) -> Result<Vec<Type<'static>>> {
    check::array(handles.is_null(), size as usize, name)?;
    (0..size as usize).map(|rank| datatype(process, handles.get(rank)).named_at(name, rank)).collect()
}

/// Describes a buffer's parts of different datatypes at displacements in bytes.
pub(crate) fn typed_pieces<'a>(
    buffer: *const c_void,
    counts: Counts,
    displacements: Counts,
    types: &'a [Type<'static>],
    names: Names,
) -> Result<Vec<Data<'a>>> {
    arrays(counts, displacements, types.len() as u32, names)?;
    let each = types.iter().enumerate();
    each.map(|(rank, datatype)| {
        piece(buffer, displacements.get(rank), counts.get(rank), datatype, names[0]).named_at(names[1], rank)
    })
    .collect()
}

/// `MPI_Alltoallw`
#[expect(clippy::too_many_arguments)]
pub(crate) fn alltoallw(
    form: Form,
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
    let (process, communicator) = enter(comm)?;
    refuse_in_place(&communicator, sendbuf)?;
    let peers = peers(&communicator);
    let recvtypes = datatypes(process, recvtypes, peers, "recvtypes")?;
    let mut operation = Operation::new(Call::Alltoallw);
    operation.receive = Buffers::Pieces(typed_pieces(
        recvbuf,
        recvcounts,
        rdispls,
        &recvtypes,
        ["recvbuf", "recvcounts", "rdispls"],
    )?);
    if is_in_place(sendbuf) {
        return form.run(&communicator, &operation);
    }
    let sendtypes = datatypes(process, sendtypes, peers, "sendtypes")?;
    operation.send = Buffers::Pieces(typed_pieces(
        sendbuf,
        sendcounts,
        sdispls,
        &sendtypes,
        ["sendbuf", "sendcounts", "sdispls"],
    )?);
    form.run(&communicator, &operation)
}

/// `MPI_Reduce`
#[expect(clippy::too_many_arguments)]
pub(crate) fn reduce(
    form: Form,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    op: abi::Op,
    root: c_int,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    let root = self::root(&communicator, root)?;
    let mut operation = Operation { root, ..Operation::new(Call::Reduce) };
    if root == Root::Elsewhere {
        return form.run(&communicator, &operation);
    }
    let (handle, datatype) = (datatype, self::datatype(process, datatype)?);
    let op = self::operation(process, op, &datatype)?;
    operation.operator = Some(Operator { op: &op, handle });
    if !is_root(&communicator, root) {
        operation.send = Buffers::Whole(data(sendbuf, count, &datatype, "sendbuf")?);
        return form.run(&communicator, &operation);
    }
    let receive = data(recvbuf, count, &datatype, "recvbuf")?;
    operation.receive = Buffers::Whole(receive);
    if root != Root::Here {
        operation.send = Buffers::Whole(contribution(sendbuf, receive)?);
    }
    form.run(&communicator, &operation)
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
pub(crate) fn allreduce(
    form: Form,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    op: abi::Op,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    refuse_in_place(&communicator, sendbuf)?;
    let (handle, datatype) = (datatype, self::datatype(process, datatype)?);
    let op = self::operation(process, op, &datatype)?;
    let receive = data(recvbuf, count, &datatype, "recvbuf")?;
    let operation = Operation {
        send: Buffers::Whole(contribution(sendbuf, receive)?),
        receive: Buffers::Whole(receive),
        operator: Some(Operator { op: &op, handle }),
        ..Operation::new(Call::Allreduce)
    };
    form.run(&communicator, &operation)
}

/// `MPI_Scan`
pub(crate) fn scan(
    form: Form,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    op: abi::Op,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    one_group(&communicator, "MPI_Scan")?;
    let (handle, datatype) = (datatype, self::datatype(process, datatype)?);
    let op = self::operation(process, op, &datatype)?;
    let receive = data(recvbuf, count, &datatype, "recvbuf")?;
    let operation = Operation {
        send: Buffers::Whole(contribution(sendbuf, receive)?),
        receive: Buffers::Whole(receive),
        operator: Some(Operator { op: &op, handle }),
        ..Operation::new(Call::Scan)
    };
    form.run(&communicator, &operation)
}

/// `MPI_Exscan`
pub(crate) fn exscan(
    form: Form,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    op: abi::Op,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    one_group(&communicator, "MPI_Exscan")?;
    let (handle, datatype) = (datatype, self::datatype(process, datatype)?);
    let op = self::operation(process, op, &datatype)?;
    let mut operation =
        Operation { operator: Some(Operator { op: &op, handle }), ..Operation::new(Call::Exscan) };
    if communicator.values.rank == 0 {
        // Rank 0 receives nothing: its receive buffer means nothing and may be anything, unless it holds what it sends.
        let source = if is_in_place(sendbuf) { recvbuf } else { sendbuf.cast_mut() };
        operation.send = Buffers::Whole(data(source, count, &datatype, "sendbuf")?);
    } else {
        let receive = data(recvbuf, count, &datatype, "recvbuf")?;
        operation.send = Buffers::Whole(contribution(sendbuf, receive)?);
        operation.receive = Buffers::Whole(receive);
    }
    form.run(&communicator, &operation)
}

/// `MPI_Reduce_scatter_block`
pub(crate) fn reduce_scatter_block(
    form: Form,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: Count,
    datatype: abi::Datatype,
    op: abi::Op,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    refuse_in_place(&communicator, sendbuf)?;
    let (handle, datatype) = (datatype, self::datatype(process, datatype)?);
    let op = self::operation(process, op, &datatype)?;
    let receive = data(recvbuf, recvcount, &datatype, "recvbuf")?;
    let in_place = is_in_place(sendbuf);
    let send = if in_place { recvbuf.cast_const() } else { sendbuf };
    let send = parts(send, recvcount, communicator.values.size(), &datatype, "sendbuf")?;
    if !in_place {
        distinct(&send, &receive)?;
    }
    let first = u64::from(communicator.values.rank) * receive.count();
    let operation = Operation {
        send: Buffers::Whole(send),
        receive: Buffers::Whole(receive),
        operator: Some(Operator { op: &op, handle }),
        mine: first..first + receive.count(),
        ..Operation::new(Call::ReduceScatterBlock)
    };
    form.run(&communicator, &operation)
}

/// `MPI_Reduce_scatter`
pub(crate) fn reduce_scatter(
    form: Form,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Counts,
    datatype: abi::Datatype,
    op: abi::Op,
    comm: abi::Comm,
) -> Result {
    let (process, communicator) = enter(comm)?;
    refuse_in_place(&communicator, sendbuf)?;
    let (handle, datatype) = (datatype, self::datatype(process, datatype)?);
    let op = self::operation(process, op, &datatype)?;
    check::array(recvcounts.is_null(), communicator.values.size() as usize, "recvcounts")?;
    let (mut total, mut mine) = (0u64, 0..0);
    for rank in 0..communicator.values.size() {
        let count =
            check::count(recvcounts.get(rank as usize), "count").named_at("recvcounts", rank as usize)?;
        let end = total
            .checked_add(count)
            .filter(|&end| Count::try_from(end).is_ok())
            .ok_or_else(|| Error::new(MPI_ERR_COUNT, "recvcounts add up to more elements than fit memory"))?;
        if rank == communicator.values.rank {
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
    let operation = Operation {
        send: Buffers::Whole(send),
        receive: Buffers::Whole(receive),
        operator: Some(Operator { op: &op, handle }),
        mine,
        ..Operation::new(Call::ReduceScatter)
    };
    form.run(&communicator, &operation)
}
