//! Collective operations that move data (chapter 6): each call's arguments, checked once for all its forms.
//!
//! What is here checks arguments, describes the operation as a value, and hands it to the [`Form`]. On an
//! intercommunicator a rank's peers are the ranks of the other group.

use crate::arguments::check;
use crate::collectives::arguments::{
    Argument, Arguments, Elements, data, datatype, distinct, enter, peers, refuse_in_place,
};
use crate::collectives::checks::{Caller, Shown, Side};
use crate::collectives::forms::Form;
use crate::communicators::communicator::Communicator;
use core::ffi::{c_int, c_void};
use weft_base::Result;
use weft_base::abi::{self, Count};
use weft_base::constants::*;
use weft_coll::{Buffers, Call, Operation, Root};

/// Takes a root argument.
pub(crate) fn root(communicator: &Communicator, value: c_int) -> Result<Root> {
    match value {
        MPI_ROOT if communicator.values.remote.is_some() => Ok(Root::Here),
        MPI_PROC_NULL if communicator.values.remote.is_some() => Ok(Root::Elsewhere),
        _ => check::root(value, peers(communicator)).map(Root::Rank),
    }
}

/// Tells whether the caller is the root.
pub(crate) fn is_root(communicator: &Communicator, root: Root) -> bool {
    match root {
        Root::Rank(rank) => rank == communicator.values.rank && communicator.values.remote.is_none(),
        Root::Here => true,
        Root::None | Root::Elsewhere => false,
    }
}

/// `MPI_Barrier`
pub(crate) struct Barrier {
    pub comm: abi::Comm,
}

impl Arguments for Barrier {
    #[inline]
    fn run(&self, form: Form) -> Result {
        form.run(&enter(self.comm)?.1, &Operation::new(Call::Barrier))
    }

    fn comm(&self) -> abi::Comm {
        self.comm
    }

    fn show(&self, _caller: &Caller, _shown: &mut Shown) {}
}

/// `MPI_Bcast`
pub(crate) struct Broadcast {
    pub buffer: *mut c_void,
    pub count: Count,
    pub datatype: abi::Datatype,
    pub root: c_int,
    pub comm: abi::Comm,
}

impl Arguments for Broadcast {
    #[inline]
    fn run(&self, form: Form) -> Result {
        let (process, communicator) = enter(self.comm)?;
        let root = root(&communicator, self.root)?;
        let mut operation = Operation { root, ..Operation::new(Call::Broadcast) };
        if root == Root::Elsewhere {
            return form.run(&communicator, &operation);
        }
        let datatype = datatype(process, self.datatype)?;
        let data = Buffers::Whole(data(self.buffer, self.count, &datatype, "buffer")?);
        if is_root(&communicator, root) {
            operation.send = data;
        } else {
            operation.receive = data;
        }
        form.run(&communicator, &operation)
    }

    fn comm(&self) -> abi::Comm {
        self.comm
    }

    fn show(&self, caller: &Caller, shown: &mut Shown) {
        shown.root = Some(self.root);
        if caller.is(self.root) {
            shown.sends = caller.everybody(self.count, self.datatype);
        } else {
            shown.receives = caller.to(self.root, self.count, self.datatype);
        }
    }
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

/// A gather or scatter, where a root has a piece from or for each.
pub(crate) struct Rooted {
    pub call: Call,
    pub send: Argument,
    pub receive: Argument,
    pub root: c_int,
    pub comm: abi::Comm,
}

impl Rooted {
    fn scatters(&self) -> bool {
        matches!(self.call, Call::Scatter | Call::Scatterv)
    }
}

impl Arguments for Rooted {
    fn run(&self, form: Form) -> Result {
        let (process, communicator) = enter(self.comm)?;
        let root = root(&communicator, self.root)?;
        let scatters = self.scatters();
        let (one, all) = if scatters { (&self.receive, &self.send) } else { (&self.send, &self.receive) };
        let (among_many, at_root) = sides(&communicator, root);
        let among_many = among_many && !(at_root && one.is_in_place());
        let (sends, receives) = if scatters { (at_root, among_many) } else { (among_many, at_root) };
        let peers = peers(&communicator);
        let sendtypes = sends.then(|| self.send.types(process, peers)).transpose()?;
        let recvtypes = receives.then(|| self.receive.types(process, peers)).transpose()?;
        let (one_types, all_types) =
            if scatters { (&recvtypes, &sendtypes) } else { (&sendtypes, &recvtypes) };
        let all = all_types.as_ref().map(|types| all.buffers(types, peers, true)).transpose()?;
        let one = one_types.as_ref().map(|types| one.buffers(types, peers, false)).transpose()?;
        if let (Some(all), Some(one)) = (&all, &one) {
            distinct(&one.piece(0), &all.piece(communicator.values.rank))?;
        }
        let (one, all) = (one.unwrap_or(Buffers::None), all.unwrap_or(Buffers::None));
        let (send, receive) = if scatters { (all, one) } else { (one, all) };
        form.run(&communicator, &Operation { root, send, receive, ..Operation::new(self.call) })
    }

    fn comm(&self) -> abi::Comm {
        self.comm
    }

    fn show(&self, caller: &Caller, shown: &mut Shown) {
        shown.root = Some(self.root);
        let side = |argument: &Argument, of_root: bool| match argument.elements {
            _ if of_root && !caller.is(self.root) => Side::Nobody,
            _ if of_root => caller.all(argument),
            _ if argument.is_in_place() => Side::Nobody,
            Elements::Block(count, datatype) => caller.to(self.root, count, datatype),
            Elements::Pieces(..) | Elements::Typed(..) => Side::Nobody,
        };
        shown.sends = side(&self.send, self.scatters());
        shown.receives = side(&self.receive, !self.scatters());
    }
}

/// An allgather or all-to-all, where every rank receives from all.
pub(crate) struct Everywhere {
    pub call: Call,
    pub send: Argument,
    pub receive: Argument,
    pub comm: abi::Comm,
}

impl Everywhere {
    /// Tells whether a rank sends the same to all.
    fn gathers(&self) -> bool {
        matches!(self.call, Call::Allgather | Call::Allgatherv)
    }
}

impl Arguments for Everywhere {
    fn run(&self, form: Form) -> Result {
        let (process, communicator) = enter(self.comm)?;
        refuse_in_place(&communicator, self.send.buffer)?;
        let peers = peers(&communicator);
        let recvtypes = self.receive.types(process, peers)?;
        let mut operation = Operation::new(self.call);
        operation.receive = self.receive.buffers(&recvtypes, peers, true)?;
        if self.send.is_in_place() {
            return form.run(&communicator, &operation);
        }
        let sendtypes = self.send.types(process, peers)?;
        operation.send = self.send.buffers(&sendtypes, peers, !self.gathers())?;
        match (&operation.send, &operation.receive) {
            (Buffers::Whole(send), receive) if communicator.values.remote.is_none() => {
                distinct(send, &receive.piece(communicator.values.rank))?;
            }
            (Buffers::Even(send, _), Buffers::Even(receive, _)) => distinct(send, receive)?,
            // Of many pieces only the two of the rank itself are compared: they tell when one buffer is passed twice.
            (send, receive) if communicator.values.remote.is_none() => {
                let rank = communicator.values.rank;
                distinct(&send.piece(rank), &receive.piece(rank))?;
            }
            _ => {}
        }
        form.run(&communicator, &operation)
    }

    fn comm(&self) -> abi::Comm {
        self.comm
    }

    fn show(&self, caller: &Caller, shown: &mut Shown) {
        shown.receives = caller.all(&self.receive);
        shown.sends = match (self.send.is_in_place(), self.gathers()) {
            (false, _) => caller.all(&self.send),
            (true, true) => shown.receives.of(caller.rank, 0).cloned().map_or(Side::Nobody, Side::Everybody),
            (true, false) => caller.all(&self.receive),
        };
    }
}
