//! Reductions (chapter 6): each call's arguments, checked once for all its forms.

use crate::check;
use crate::collective_arguments::{
    Arguments, data, datatype, distinct, enter, is_in_place, parts, refuse_in_place,
};
use crate::collective_checks::{Caller, Shown};
use crate::collective_forms::Form;
use crate::collectives::{is_root, root};
use crate::communicators::Communicator;
use crate::process::{Process, Ref};
use core::ffi::{c_int, c_void};
use core::ops::Range;
use weft_base::abi::{self, Count};
use weft_base::constants::*;
use weft_base::{Counts, Error, Named, Result};
use weft_coll::{Buffers, Call, Data, Operation, Operator, Root};
use weft_datatype::Datatype;
use weft_op::Op;

/// How many elements are reduced.
#[derive(Clone, Copy)]
pub(crate) enum Amount {
    /// So many; in a reduce-scatter, for each rank.
    Count(Count),
    /// For each rank its own number.
    Counts(Counts),
}

/// A reduction.
pub(crate) struct Reduction {
    pub call: Call,
    pub sendbuf: *const c_void,
    pub recvbuf: *mut c_void,
    pub amount: Amount,
    pub datatype: abi::Datatype,
    pub op: abi::Op,
    /// The root argument of a call that has one.
    pub root: Option<c_int>,
    pub comm: abi::Comm,
}

/// Refuses an intercommunicator.
fn one_group(communicator: &Communicator, call: Call) -> Result {
    if communicator.values.remote.is_some() {
        let text =
            format!("{} is not defined on an intercommunicator; pass an intracommunicator", call.name());
        return Err(Error::new(MPI_ERR_COMM, text));
    }
    Ok(())
}

/// Returns an operation that is defined for the datatype.
fn operation(process: &'static Process, handle: abi::Op, datatype: &Datatype) -> Result<Ref<'static, Op>> {
    let op = process.operation(handle)?;
    op.check(datatype)?;
    Ok(op)
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

impl Reduction {
    fn count(&self) -> Count {
        match self.amount {
            Amount::Count(count) => count,
            Amount::Counts(_) => 0,
        }
    }

    /// Completes the description for a rooted reduction.
    fn rooted<'a>(
        &self,
        communicator: &Communicator,
        datatype: &'a Datatype,
        operation: &mut Operation<'a>,
    ) -> Result {
        if !is_root(communicator, operation.root) {
            operation.send = Buffers::Whole(data(self.sendbuf, self.count(), datatype, "sendbuf")?);
            return Ok(());
        }
        let receive = data(self.recvbuf, self.count(), datatype, "recvbuf")?;
        operation.receive = Buffers::Whole(receive);
        if operation.root != Root::Here {
            operation.send = Buffers::Whole(contribution(self.sendbuf, receive)?);
        }
        Ok(())
    }

    /// Completes the description where every rank, or every rank but 0, receives as much as it contributes.
    #[inline]
    fn everywhere<'a>(
        &self,
        communicator: &Communicator,
        datatype: &'a Datatype,
        operation: &mut Operation<'a>,
    ) -> Result {
        if self.call == Call::Exscan && communicator.values.rank == 0 {
            // Rank 0 receives nothing: its receive buffer means nothing and may be anything, unless it holds what it
            // sends.
            let source = if is_in_place(self.sendbuf) { self.recvbuf } else { self.sendbuf.cast_mut() };
            operation.send = Buffers::Whole(data(source, self.count(), datatype, "sendbuf")?);
            return Ok(());
        }
        let receive = data(self.recvbuf, self.count(), datatype, "recvbuf")?;
        operation.send = Buffers::Whole(contribution(self.sendbuf, receive)?);
        operation.receive = Buffers::Whole(receive);
        Ok(())
    }

    /// Completes the description where every rank receives a part of the result.
    fn scattered<'a>(
        &self,
        communicator: &Communicator,
        datatype: &'a Datatype,
        operation: &mut Operation<'a>,
    ) -> Result {
        let (rank, size) = (communicator.values.rank, communicator.values.size());
        let in_place = is_in_place(self.sendbuf);
        let source = if in_place { self.recvbuf.cast_const() } else { self.sendbuf };
        let (send, receive);
        match self.amount {
            Amount::Count(count) => {
                receive = data(self.recvbuf, count, datatype, "recvbuf")?;
                send = parts(source, count, size, datatype, "sendbuf")?;
                let first = u64::from(rank) * receive.count();
                operation.mine = first..first + receive.count();
            }
            Amount::Counts(counts) => {
                let (total, mine) = divide(counts, rank, size)?;
                receive = data(self.recvbuf, (mine.end - mine.start) as Count, datatype, "recvbuf")?;
                send = data(source, total as Count, datatype, "sendbuf")?;
                operation.mine = mine;
            }
        }
        if !in_place {
            distinct(&send, &receive)?;
        }
        operation.send = Buffers::Whole(send);
        operation.receive = Buffers::Whole(receive);
        Ok(())
    }
}

/// Returns how many elements the ranks receive together, and which of them the caller does.
fn divide(counts: Counts, own: u32, size: u32) -> Result<(u64, Range<u64>)> {
    check::array(counts.is_null(), size as usize, "recvcounts")?;
    let (mut total, mut mine) = (0u64, 0..0);
    for rank in 0..size {
        let count = check::count(counts.get(rank as usize), "count").named_at("recvcounts", rank as usize)?;
        let end = total
            .checked_add(count)
            .filter(|&end| Count::try_from(end).is_ok())
            .ok_or_else(|| Error::new(MPI_ERR_COUNT, "recvcounts add up to more elements than fit memory"))?;
        if rank == own {
            mine = total..end;
        }
        total = end;
    }
    Ok((total, mine))
}

impl Arguments for Reduction {
    #[inline]
    fn run(&self, form: Form) -> Result {
        let (process, communicator) = enter(self.comm)?;
        let mut described = Operation::new(self.call);
        match (self.root, self.call) {
            (Some(rank), _) => {
                described.root = root(&communicator, rank)?;
                if described.root == Root::Elsewhere {
                    return form.run(&communicator, &described);
                }
            }
            (None, Call::Scan | Call::Exscan) => one_group(&communicator, self.call)?,
            (None, _) => refuse_in_place(&communicator, self.sendbuf)?,
        }
        let datatype = datatype(process, self.datatype)?;
        let op = operation(process, self.op, &datatype)?;
        described.operator = Some(Operator { op: &op, handle: self.datatype });
        match self.call {
            Call::Reduce => self.rooted(&communicator, &datatype, &mut described)?,
            Call::ReduceScatter | Call::ReduceScatterBlock => {
                self.scattered(&communicator, &datatype, &mut described)?;
            }
            _ => self.everywhere(&communicator, &datatype, &mut described)?,
        }
        form.run(&communicator, &described)
    }

    fn comm(&self) -> abi::Comm {
        self.comm
    }

    fn show(&self, caller: &Caller, shown: &mut Shown) {
        shown.root = self.root;
        // The handles of a user's operation differ between ranks.
        shown.operation = caller.process.operation(self.op).ok().map(|operation| {
            let handle = if self.op.0 < 4096 { self.op.0 } else { 0 };
            (handle, operation.is_commutative())
        });
        let count = match self.amount {
            Amount::Count(count) => count,
            Amount::Counts(counts) => {
                let counts = if counts.is_null() { Vec::new() } else { counts.to_vec(caller.size as usize) };
                counts.iter().try_fold(0i64, |sum, count| sum.checked_add(*count)).unwrap_or(-1)
            }
        };
        shown.common = caller.signature(count, self.datatype);
    }
}
