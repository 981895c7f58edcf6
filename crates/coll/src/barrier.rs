//! Barrier: one round.

use crate::call::{Call, Description};
use crate::operation::Operation;
use crate::team::Team;
use weft_base::Result;

impl Team {
    /// Returns when all ranks have called it.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls.
    #[inline]
    pub fn barrier(&self) -> Result {
        if self.spread().is_some() {
            return self.run_spread(&Operation::new(Call::Barrier));
        }
        if self.size() == 1 {
            return Ok(());
        }
        self.synchronise(Description::new(Call::Barrier, None, 0))
    }
}
