//! Checking mode, collective operations: before each, a rank compares call, root, operation and datatypes with those of
//! the ranks that have come to it already.
//!
//! The functions have the arguments of the blocking procedures, and stand before the nonblocking and persistent ones, too.
//! What they cannot make sense of they leave to the procedure's own checks.

use crate::communicators::Communicator;
use crate::process::Process;
use core::ffi::{c_int, c_void};
use std::sync::Arc;
use weft_base::abi::{self, Count};
use weft_base::constants::MPI_IN_PLACE;
use weft_base::finding::Finding;
use weft_base::site::{self, Site};
use weft_base::{Counts, In};
use weft_datatype::{Basic, Difference, Signature};

/// What one side of an operation is, for each rank.
enum Side {
    Nobody,
    /// The same for every rank.
    Everybody(Signature),
    /// For one rank only.
    One(u32, Signature),
    /// For each rank its own; none where an argument makes no sense.
    Each(Vec<Option<Signature>>),
}

impl Side {
    fn of(&self, rank: u32) -> Option<&Signature> {
        match self {
            Self::Nobody => None,
            Self::Everybody(signature) => Some(signature),
            Self::One(only, signature) => (*only == rank).then_some(signature),
            Self::Each(all) => all.get(rank as usize)?.as_ref(),
        }
    }
}

/// What a rank shows to the others.
struct Shown {
    call: &'static str,
    site: Option<&'static Site>,
    root: Option<c_int>,
    /// The operation of a reduction: its handle if it is predefined; whether it commutes.
    operation: Option<(usize, bool)>,
    /// What must be the same at all ranks.
    common: Option<Signature>,
    sends: Side,
    receives: Side,
}

impl Shown {
    fn new(call: &'static str, root: Option<c_int>) -> Self {
        let call = call.strip_suffix("_c").unwrap_or(call);
        let (sends, receives) = (Side::Nobody, Side::Nobody);
        Self { call, site: site::current(), root, operation: None, common: None, sends, receives }
    }
}

/// The rank and communicator of a call.
struct Caller {
    process: &'static Process,
    rank: u32,
    size: u32,
}

impl Caller {
    fn signature(&self, count: Count, datatype: abi::Datatype) -> Option<Signature> {
        Some(Signature::new(&*self.process.datatype(datatype).ok()?, u64::try_from(count).ok()?))
    }

    fn everybody(&self, count: Count, datatype: abi::Datatype) -> Side {
        self.signature(count, datatype).map_or(Side::Nobody, Side::Everybody)
    }

    fn each(&self, counts: Counts, datatype: impl Fn(usize) -> abi::Datatype) -> Side {
        if counts.is_null() {
            return Side::Nobody;
        }
        Side::Each((0..self.size as usize).map(|i| self.signature(counts.get(i), datatype(i))).collect())
    }

    fn to(&self, root: c_int, count: Count, datatype: abi::Datatype) -> Side {
        match (u32::try_from(root), self.signature(count, datatype)) {
            (Ok(root), Some(signature)) => Side::One(root, signature),
            _ => Side::Nobody,
        }
    }
}

fn is_in_place(buffer: *const c_void) -> bool {
    buffer.addr() == MPI_IN_PLACE
}

/// Compares a call with those of the other ranks of its communicator that have come to it.
fn compare(comm: abi::Comm, describe: impl FnOnce(&Caller) -> Shown) {
    let Ok(process) = Process::current() else { return };
    let Ok(communicator) = process.communicator(comm) else { return };
    let communicator: &Communicator = &communicator;
    if communicator.values.remote.is_some() {
        return;
    }
    let caller = Caller { process, rank: communicator.values.rank, size: communicator.values.size() };
    let mine = Arc::new(describe(&caller));
    let world_rank = |rank| communicator.values.group.world_rank(rank);
    let mut is_first = true;
    communicator.team.show(&mine, |rank, other: &Shown| {
        let report = |message: String, roles: [&str; 2]| {
            Finding::new(process.world_rank, message)
                .call(format!("rank {} {}", world_rank(rank), roles[0]), other.site)
                .call(format!("rank {} {}", process.world_rank, roles[1]), mine.site)
                .report();
        };
        // What must be the same at all ranks is compared with the first that came.
        if core::mem::take(&mut is_first) {
            same(other, &mine, report);
        }
        if other.call != mine.call {
            return;
        }
        let ways = [
            (other.sends.of(caller.rank), mine.receives.of(rank), ["sends", "receives"]),
            (mine.sends.of(rank), other.receives.of(caller.rank), ["receives", "sends"]),
        ];
        for (sent, expected, roles) in ways {
            if let (Some(sent), Some(expected)) = (sent, expected)
                && let Some(difference) = sent.differs(expected)
            {
                let message = format!(
                    "count or datatype of {} differ between sender and receiver: {}",
                    mine.call,
                    describe_difference(&difference, "sent", "received")
                );
                report(message, roles);
            }
        }
    });
}

/// Reports a difference in what must be the same.
fn same(other: &Shown, mine: &Shown, report: impl Fn(String, [&str; 2])) {
    if other.call != mine.call {
        report("ranks of one communicator are in different collective calls".into(), ["is", "is"]);
    } else if let (Some(theirs), Some(ours)) = (other.root, mine.root)
        && theirs != ours
    {
        let message = format!("ranks give different roots to {}", mine.call);
        report(message, [&format!("says {theirs}"), &format!("says {ours}")]);
    } else if other.operation != mine.operation {
        report(format!("ranks give different operations to {}", mine.call), ["calls it", "calls it"]);
    } else if let (Some(theirs), Some(ours)) = (&other.common, &mine.common)
        && let Some(difference) = theirs.differs(ours)
    {
        let difference = describe_difference(&difference, "at one", "at another");
        report(
            format!("count or datatype of {} differ between ranks: {difference}", mine.call),
            ["calls it", "calls it"],
        );
    }
}

fn describe_difference(difference: &Difference, first: &str, second: &str) -> String {
    let name = |basic: Option<Basic>| basic.map_or("nothing", Basic::name);
    let (one, other) = (name(difference.first), name(difference.second));
    format!("element {} is {one} where {first} and {other} where {second}", difference.at)
        .replace("where at", "at")
}

/// Stands before `MPI_Barrier`.
pub fn barrier(call: &'static str, comm: abi::Comm) {
    compare(comm, |_| Shown::new(call, None))
}

/// Stands before `MPI_Bcast`.
pub fn bcast(
    call: &'static str,
    _buffer: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) {
    compare(comm, |caller| {
        let mut shown = Shown::new(call, Some(root));
        if i64::from(caller.rank) == i64::from(root) {
            shown.sends = caller.everybody(count, datatype);
        } else {
            shown.receives = caller.to(root, count, datatype);
        }
        shown
    })
}

/// Stands before `MPI_Gather`.
pub fn gather(
    call: &'static str,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    _recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) {
    compare(comm, |caller| {
        let mut shown = Shown::new(call, Some(root));
        if !is_in_place(sendbuf) {
            shown.sends = caller.to(root, sendcount, sendtype);
        }
        if i64::from(caller.rank) == i64::from(root) {
            shown.receives = caller.everybody(recvcount, recvtype);
        }
        shown
    })
}

/// Stands before `MPI_Gatherv`.
pub fn gatherv(
    call: &'static str,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    _recvbuf: *mut c_void,
    recvcounts: Counts,
    _displs: Counts,
    recvtype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) {
    compare(comm, |caller| {
        let mut shown = Shown::new(call, Some(root));
        if !is_in_place(sendbuf) {
            shown.sends = caller.to(root, sendcount, sendtype);
        }
        if i64::from(caller.rank) == i64::from(root) {
            shown.receives = caller.each(recvcounts, |_| recvtype);
        }
        shown
    })
}

/// Stands before `MPI_Scatter`.
pub fn scatter(
    call: &'static str,
    _sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) {
    compare(comm, |caller| {
        let mut shown = Shown::new(call, Some(root));
        if i64::from(caller.rank) == i64::from(root) {
            shown.sends = caller.everybody(sendcount, sendtype);
        }
        if !is_in_place(recvbuf) {
            shown.receives = caller.to(root, recvcount, recvtype);
        }
        shown
    })
}

/// Stands before `MPI_Scatterv`.
pub fn scatterv(
    call: &'static str,
    _sendbuf: *const c_void,
    sendcounts: Counts,
    _displs: Counts,
    sendtype: abi::Datatype,
    recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    root: c_int,
    comm: abi::Comm,
) {
    compare(comm, |caller| {
        let mut shown = Shown::new(call, Some(root));
        if i64::from(caller.rank) == i64::from(root) {
            shown.sends = caller.each(sendcounts, |_| sendtype);
        }
        if !is_in_place(recvbuf) {
            shown.receives = caller.to(root, recvcount, recvtype);
        }
        shown
    })
}

/// Stands before `MPI_Allgather` and `MPI_Alltoall`: what a rank sends to one, it sends to all.
fn evenly(
    call: &'static str,
    sendbuf: *const c_void,
    send: (Count, abi::Datatype),
    receive: (Count, abi::Datatype),
    comm: abi::Comm,
) {
    compare(comm, |caller| {
        let mut shown = Shown::new(call, None);
        let (count, datatype) = if is_in_place(sendbuf) { receive } else { send };
        shown.sends = caller.everybody(count, datatype);
        shown.receives = caller.everybody(receive.0, receive.1);
        shown
    })
}

/// Stands before `MPI_Allgather`.
pub fn allgather(
    call: &'static str,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    _recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    comm: abi::Comm,
) {
    evenly(call, sendbuf, (sendcount, sendtype), (recvcount, recvtype), comm)
}

/// Stands before `MPI_Alltoall`.
pub fn alltoall(
    call: &'static str,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    _recvbuf: *mut c_void,
    recvcount: Count,
    recvtype: abi::Datatype,
    comm: abi::Comm,
) {
    evenly(call, sendbuf, (sendcount, sendtype), (recvcount, recvtype), comm)
}

/// Stands before `MPI_Allgatherv`.
pub fn allgatherv(
    call: &'static str,
    sendbuf: *const c_void,
    sendcount: Count,
    sendtype: abi::Datatype,
    _recvbuf: *mut c_void,
    recvcounts: Counts,
    _displs: Counts,
    recvtype: abi::Datatype,
    comm: abi::Comm,
) {
    compare(comm, |caller| {
        let mut shown = Shown::new(call, None);
        shown.receives = caller.each(recvcounts, |_| recvtype);
        shown.sends = match is_in_place(sendbuf) {
            true => shown.receives.of(caller.rank).cloned().map_or(Side::Nobody, Side::Everybody),
            false => caller.everybody(sendcount, sendtype),
        };
        shown
    })
}

/// Stands before `MPI_Alltoallv`.
pub fn alltoallv(
    call: &'static str,
    sendbuf: *const c_void,
    sendcounts: Counts,
    _sdispls: Counts,
    sendtype: abi::Datatype,
    _recvbuf: *mut c_void,
    recvcounts: Counts,
    _rdispls: Counts,
    recvtype: abi::Datatype,
    comm: abi::Comm,
) {
    compare(comm, |caller| {
        let mut shown = Shown::new(call, None);
        shown.receives = caller.each(recvcounts, |_| recvtype);
        shown.sends = match is_in_place(sendbuf) {
            true => caller.each(recvcounts, |_| recvtype),
            false => caller.each(sendcounts, |_| sendtype),
        };
        shown
    })
}

/// Stands before `MPI_Alltoallw`.
pub fn alltoallw(
    call: &'static str,
    sendbuf: *const c_void,
    sendcounts: Counts,
    _sdispls: Counts,
    sendtypes: In<abi::Datatype>,
    _recvbuf: *mut c_void,
    recvcounts: Counts,
    _rdispls: Counts,
    recvtypes: In<abi::Datatype>,
    comm: abi::Comm,
) {
    compare(comm, |caller| {
        let mut shown = Shown::new(call, None);
        let in_place = is_in_place(sendbuf);
        if recvtypes.is_null() || (sendtypes.is_null() && !in_place) {
            return shown;
        }
        shown.receives = caller.each(recvcounts, |i| recvtypes.get(i));
        shown.sends = match in_place {
            true => caller.each(recvcounts, |i| recvtypes.get(i)),
            false => caller.each(sendcounts, |i| sendtypes.get(i)),
        };
        shown
    })
}

/// Stands before a reduction of `count` elements.
fn reduction(
    call: &'static str,
    root: Option<c_int>,
    count: Count,
    datatype: abi::Datatype,
    op: abi::Op,
    comm: abi::Comm,
) {
    compare(comm, |caller| {
        let mut shown = Shown::new(call, root);
        // The handles of a user's operation differ between ranks.
        shown.operation = caller.process.operation(op).ok().map(|operation| {
            let handle = if op.0 < 4096 { op.0 } else { 0 };
            (handle, operation.is_commutative())
        });
        shown.common = caller.signature(count, datatype);
        shown
    })
}

/// Stands before `MPI_Reduce`.
pub fn reduce(
    call: &'static str,
    _sendbuf: *const c_void,
    _recvbuf: *mut c_void,
    count: Count,
    datatype: abi::Datatype,
    op: abi::Op,
    root: c_int,
    comm: abi::Comm,
) {
    reduction(call, Some(root), count, datatype, op, comm)
}

macro_rules! reductions {
    ($($name:ident $procedure:literal),*) => {$(
        #[doc = concat!("Stands before `", $procedure, "`.")]
        pub fn $name(
            call: &'static str,
            _sendbuf: *const c_void,
            _recvbuf: *mut c_void,
            count: Count,
            datatype: abi::Datatype,
            op: abi::Op,
            comm: abi::Comm,
        ) {
            reduction(call, None, count, datatype, op, comm)
        }
    )*};
}

reductions!(
    allreduce "MPI_Allreduce",
    scan "MPI_Scan",
    exscan "MPI_Exscan",
    reduce_scatter_block "MPI_Reduce_scatter_block"
);

/// Stands before `MPI_Reduce_scatter`.
pub fn reduce_scatter(
    call: &'static str,
    _sendbuf: *const c_void,
    _recvbuf: *mut c_void,
    recvcounts: Counts,
    datatype: abi::Datatype,
    op: abi::Op,
    comm: abi::Comm,
) {
    let size = Process::current().and_then(|process| Ok(process.communicator(comm)?.values.size()));
    let counts = size.map_or(Vec::new(), |size| {
        if recvcounts.is_null() { Vec::new() } else { recvcounts.to_vec(size as usize) }
    });
    let total = counts.iter().try_fold(0i64, |sum, count| sum.checked_add(*count));
    reduction(call, None, total.unwrap_or(-1), datatype, op, comm)
}
