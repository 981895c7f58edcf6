//! Starting operations that outlive their calls, whether all ranks of the communicator are on one node process or not.

use crate::blocking::pieces::{self, PIECE};
use crate::hier;
use crate::operation::call::Call;
use crate::operation::{Buffers, Operation};
use crate::started::nonblocking;
use crate::started::pending::Pending;
use crate::started::plan::Members;
use crate::team::Team;
use crate::team::slots::WHOLE;
use weft_base::Result;

/// A rank's part in an operation that can be started again and again (a persistent one).
pub struct Prepared(Ready);

enum Ready {
    Here(nonblocking::Prepared),
    Spread(hier::Prepared),
}

impl Prepared {
    /// Starts the operation: the rank's buffers are in use until its part is over.
    pub fn start(&self) -> Pending {
        match &self.0 {
            Ready::Here(prepared) => prepared.start(),
            Ready::Spread(prepared) => prepared.start().into(),
        }
    }
}

impl Team {
    /// Starts an operation. Ranks' calls of this and of [`Team::prepare`] match in their order.
    pub fn start(&self, operation: &Operation<'_>) -> Pending {
        match self.prepare_spread(self.members(), operation, &[]) {
            None => self.start_here(operation),
            Some(prepared) => prepared.start_once().into(),
        }
    }

    /// Prepares an operation that can be started again and again. Waits for nobody. Of ranks with different `hints` the
    /// first to start decides for all.
    pub fn prepare(&self, operation: &Operation<'_>, hints: &[(String, String)]) -> Prepared {
        Prepared(match self.prepare_spread(self.members(), operation, hints) {
            None => Ready::Here(self.prepare_here(operation, hints)),
            Some(prepared) => Ready::Spread(prepared),
        })
    }

    fn prepare_spread(
        &self,
        members: Members,
        operation: &Operation<'_>,
        hints: &[(String, String)],
    ) -> Option<hier::Prepared> {
        let spread = self.spread()?;
        let selection = if hints.is_empty() { self.selection() } else { self.selection_with(hints) };
        let part = spread.part(self.rank(), selection, members, operation);
        Some(hier::Prepared::new(spread.clone(), self.rank(), self.next_call(), part))
    }

    /// Does an operation of all ranks as one group, on a communicator that is spread over node processes.
    ///
    /// # Errors
    /// As [`Pending::result`].
    ///
    /// # Panics
    /// If the communicator is not spread.
    pub(crate) fn run_spread(&self, operation: &Operation<'_>) -> Result {
        self.in_common(operation).unwrap_or_else(|| {
            let members = Members { size: self.size(), split: 0 };
            let prepared = self.prepare_spread(members, operation, &[]).expect("it is spread");
            prepared.start_once().wait()
        })
    }

    /// Does an operation in memory that the ranks' processes share, if they do and the operation goes that way; all ranks
    /// come to the same answer.
    ///
    /// What was sent before a collective call is there after it, as programs like to believe: whatever a rank has sent to
    /// another before it came here is in that one's memory before either goes on, and is taken from there then, or by the call
    /// that asks for it: all that may say that nothing has come poll before.
    pub(crate) fn in_common(&self, operation: &Operation<'_>) -> Option<Result> {
        if self.spread().is_none() || !may_be_in_common(operation) {
            return None;
        }
        let common = self.common().filter(|common| common.takes(operation))?;
        let result = common.run(operation);
        common.take_what_has_come();
        Some(result)
    }

    /// Tells whether an operation of this kind goes through memory that processes share, for its length.
    fn takes(&self, operation: &Operation<'_>) -> bool {
        let Operation { call, send, receive, .. } = operation;
        let slots = self.slots();
        let cuts = slots.capacity() as u64 >= PIECE;
        let most = (slots.capacity() as u64).min(WHOLE);
        let fits = |buffers: &Buffers<'_>, most: u64| buffers.whole().is_none_or(|data| data.bytes() <= most);
        match call {
            Call::Broadcast => {
                let most = (slots.total() as u64).min(WHOLE);
                cuts || (fits(send, most) && fits(receive, most))
            }
            Call::Allgather => cuts || fits(receive, most * u64::from(self.size())),
            Call::Reduce | Call::Allreduce if pieces::fit(send.piece(0).datatype(), slots.capacity()) => true,
            Call::Alltoall => fits(send, most) && fits(receive, most),
            _ => !call.is_reduction() || send.piece(0).span().is_some_and(|span| span <= most),
        }
    }
}

/// Tells whether an operation goes through memory that processes share if it is short enough: one whose ranks all know how
/// much data there is, in elements that follow each other if it reduces.
fn may_be_in_common(operation: &Operation<'_>) -> bool {
    let Operation { call, send, .. } = operation;
    match call {
        Call::Barrier | Call::Finalize | Call::Disconnect | Call::Broadcast | Call::Allgather => true,
        Call::Alltoall => !send.is_none(),
        _ => call.is_reduction() && send.piece(0).span().is_some(),
    }
}
