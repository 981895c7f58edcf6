//! Barrier: one round.

use crate::operation::Operation;
use crate::operation::call::{Call, Description};
use crate::team::Team;
use weft_base::Result;

impl Team {
    /// Returns when all ranks have called it.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls.
    #[inline]
    pub fn barrier(&self) -> Result {
        self.barrier_of(Call::Barrier)
    }

    /// As [`Team::barrier`], for another call that waits for all: it matches nobody's barrier.
    ///
    /// # Errors
    /// As [`Team::barrier`].
    #[inline]
    pub fn barrier_of(&self, call: Call) -> Result {
        let description = Description::new(call, None, 0);
        if self.spread().is_some() {
            let Some(common) = self.common() else {
                return self.run_spread(&Operation::new(call));
            };
            let result = common.synchronise(description);
            common.take_what_has_come(); // As after every operation there: see `in_common`.
            return result;
        }
        if self.size() == 1 {
            return Ok(());
        }
        self.synchronise(description)
    }
}
