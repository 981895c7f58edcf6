//! Reductions (chapter 6): each call's arguments, checked once for all its forms.

use crate::arguments::check;
use crate::collectives::arguments::{
    Arguments, data, datatype, distinct, enter, is_in_place, parts, refuse_in_place,
};
use crate::collectives::checks::{Caller, Shown};
use crate::collectives::forms::Form;
use crate::collectives::movement::{self, is_root};
use crate::communicators::communicator::Communicator;
use crate::process::{Process, Ref};
use crate::reports::checking;
use core::ffi::{c_int, c_void};
use core::ops::Range;
use weft_base::abi::{self, Count};
use weft_base::constants::*;
use weft_base::settings::is_checking;
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
#[inline]
fn operation(process: &'static Process, handle: abi::Op, datatype: &Datatype) -> Result<Ref<'static, Op>> {
    let op = process.operation(handle)?;
    op.check(datatype)?;
    if is_checking() {
        checking::report_operation(process, &op, datatype);
    }
    Ok(op)
}

/// Describes what a rank contributes to a reduction with as many results, perhaps in place.
#[inline]
fn contribution<'a>(sendbuf: *const c_void, receive: Data<'a>) -> Result<Data<'a>> {
    if is_in_place(sendbuf) {
        return Ok(receive);
    }
    let send = data(sendbuf, receive.count() as Count, receive.datatype(), "sendbuf")?;
    distinct(&send, &receive)?;
    Ok(send)
}

/// What a rank contributes, what it receives, and which elements of the result those are.
type Described<'a> = (Buffers<'a>, Buffers<'a>, Range<u64>);

impl Reduction {
    fn count(&self) -> Count {
        match self.amount {
            Amount::Count(count) => count,
            Amount::Counts(_) => 0,
        }
    }

    /// Describes the data of a rooted reduction.
    fn rooted<'a>(
        &self,
        communicator: &Communicator,
        root: Root,
        datatype: &'a Datatype,
    ) -> Result<Described<'a>> {
        if !is_root(communicator, root) {
            let send = data(self.sendbuf, self.count(), datatype, "sendbuf")?;
            return Ok((Buffers::Whole(send), Buffers::None, 0..0));
        }
        let receive = data(self.recvbuf, self.count(), datatype, "recvbuf")?;
        let send = match root {
            Root::Here => Buffers::None,
            _ => Buffers::Whole(contribution(self.sendbuf, receive)?),
        };
        Ok((send, Buffers::Whole(receive), 0..0))
    }

    /// Describes the data where every rank, or every rank but 0, receives as much as it contributes.
    #[inline(always)]
    fn everywhere<'a>(&self, communicator: &Communicator, datatype: &'a Datatype) -> Result<Described<'a>> {
        if self.call == Call::Exscan && communicator.values.rank == 0 {
            // Rank 0 receives nothing: its receive buffer means nothing and may be anything, unless it holds what it
            // sends.
            let source = if is_in_place(self.sendbuf) { self.recvbuf } else { self.sendbuf.cast_mut() };
            let send = data(source, self.count(), datatype, "sendbuf")?;
            return Ok((Buffers::Whole(send), Buffers::None, 0..0));
        }
        let receive = data(self.recvbuf, self.count(), datatype, "recvbuf")?;
        let send = contribution(self.sendbuf, receive)?;
        Ok((Buffers::Whole(send), Buffers::Whole(receive), 0..0))
    }

    /// Describes the data where every rank receives a part of the result.
    fn scattered<'a>(&self, communicator: &Communicator, datatype: &'a Datatype) -> Result<Described<'a>> {
        let (rank, size) = (communicator.values.rank, communicator.values.size());
        let in_place = is_in_place(self.sendbuf);
        let source = if in_place { self.recvbuf.cast_const() } else { self.sendbuf };
        let (send, receive, mine) = match self.amount {
            Amount::Count(count) => {
                let receive = data(self.recvbuf, count, datatype, "recvbuf")?;
                let send = parts(source, count, size, datatype, "sendbuf")?;
                let first = u64::from(rank) * receive.count();
                (send, receive, first..first + receive.count())
            }
            Amount::Counts(counts) => {
                let (total, mine) = divide(counts, rank, size)?;
                let receive = data(self.recvbuf, (mine.end - mine.start) as Count, datatype, "recvbuf")?;
                (data(source, total as Count, datatype, "sendbuf")?, receive, mine)
            }
        };
        if !in_place {
            distinct(&send, &receive)?;
        }
        Ok((Buffers::Whole(send), Buffers::Whole(receive), mine))
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
    // Which of the ways below a call goes is known where it is made.
    #[inline(always)]
    fn run(&self, form: Form) -> Result {
        let (process, communicator) = enter(self.comm)?;
        let mut root = Root::None;
        match (self.root, self.call) {
            (Some(rank), _) => {
                root = movement::root(&communicator, rank)?;
                if root == Root::Elsewhere {
                    return form.run(&communicator, &Operation { root, ..Operation::new(self.call) });
                }
            }
            (None, Call::Scan | Call::Exscan) => one_group(&communicator, self.call)?,
            (None, _) => refuse_in_place(&communicator, self.sendbuf)?,
        }
        let datatype = datatype(process, self.datatype)?;
        let op = operation(process, self.op, &datatype)?;
        let (send, receive, mine) = match self.call {
            Call::Reduce => self.rooted(&communicator, root, &datatype)?,
            Call::ReduceScatter | Call::ReduceScatterBlock => self.scattered(&communicator, &datatype)?,
            _ => self.everywhere(&communicator, &datatype)?,
        };
        let operator = Some(Operator { op: &op, handle: self.datatype });
        form.run(
            &communicator,
            &Operation { root, send, receive, operator, mine, ..Operation::new(self.call) },
        )
    }

    fn comm(&self) -> abi::Comm {
        self.comm
    }

    fn show(&self, caller: &Caller, shown: &mut Shown) {
        shown.root = self.root;
        if caller.stands_by(self.root) {
            return;
        }
        // The handles of a user's operation differ between ranks.
        shown.operation = caller.process.operation(self.op).ok().map(|operation| {
            let handle = if self.op.0 < 4096 { self.op.0 } else { 0 };
            (handle, operation.is_commutative())
        });
        let size = caller.size();
        let count = match self.amount {
            // Two groups of different sizes contribute as much.
            Amount::Count(count) if self.call == Call::ReduceScatterBlock => {
                count.checked_mul(Count::from(size)).unwrap_or(-1)
            }
            Amount::Count(count) => count,
            Amount::Counts(counts) => {
                let counts = if counts.is_null() { Vec::new() } else { counts.to_vec(size as usize) };
                counts.iter().try_fold(0i64, |sum, count| sum.checked_add(*count)).unwrap_or(-1)
            }
        };
        shown.common = caller.signature(count, self.datatype);
    }
}
