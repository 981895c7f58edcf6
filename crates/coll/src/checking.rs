//! Checking mode: before an operation begins, ranks look at each other's arguments.

use crate::call::{Call, Description};
use crate::team::Team;
use weft_base::Result;

impl Team {
    /// Shows `mine` to all ranks and calls `look` with each rank's, in rank order. Waits for all.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn show<F: Sync>(&self, mine: &F, mut look: impl FnMut(u32, &F)) -> Result {
        if self.size() == 1 {
            look(0, mine);
            return Ok(());
        }
        self.exchange(Description::new(Call::Checked, None, 0), mine, |peers| {
            (0..self.size()).for_each(|rank| look(rank, peers.get(rank)));
            Ok(())
        })
    }
}
