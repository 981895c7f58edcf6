//! Starting operations that outlive their calls, whether all ranks of the communicator are on one node process or not.

use crate::hier;
use crate::nonblocking;
use crate::operation::Operation;
use crate::pending::Pending;
use crate::plan::Members;
use crate::team::Team;
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
        let part = spread.part(self, selection, members, operation);
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
        let members = Members { size: self.size(), split: 0 };
        let prepared = self.prepare_spread(members, operation, &[]).expect("it is spread");
        prepared.start_once().wait()
    }
}
