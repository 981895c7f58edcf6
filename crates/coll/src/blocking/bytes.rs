//! Plain bytes from rank to rank, for the library's own use (creation of communicators and the like).
#![allow(unsafe_code)] // Copies between the caller's slices and slots.

use crate::operation::call::{Call, Description};
use crate::rounds::counters::Nothing;
use crate::team::Team;
use core::ptr::null_mut;
use weft_base::Result;

impl Team {
    /// Collects equally long contributions from all ranks, in rank order.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls or their lengths differ.
    ///
    /// # Panics
    /// If `all` is not `size` times as long as `mine`.
    pub fn allgather_bytes(&self, mine: &[u8], all: &mut [u8]) -> Result {
        let length = mine.len();
        assert_eq!(all.len(), length * self.size() as usize);
        if self.spread().is_some() {
            return self.spread_allgather_bytes(mine, all);
        }
        if self.size() == 1 {
            all.copy_from_slice(mine);
            return Ok(());
        }
        let call = Description::new(Call::Internal, None, length as u64);
        if length > self.slots().capacity() {
            return self.exchange(call, &mine, |peers| {
                for (rank, part) in all.chunks_exact_mut(length).enumerate() {
                    weft_sys::copy::slice(peers.get(rank as u32), part);
                }
                Ok(())
            });
        }
        let round = self.enter(call, null_mut());
        let area = self.slots().area(round.ring());
        // SAFETY: `length` is at most a slot, so all ranks' parts lie within the area; between entering and arriving
        // this part of the ring index is this rank's alone.
        unsafe {
            let place = area.add(self.rank() as usize * length);
            weft_sys::copy::bytes(mine.as_ptr(), place, length);
        }
        round.arrive(call.signature(), &Nothing);
        round.wait_complete()?;
        // SAFETY: the round is complete and its lengths agree: every part is written, and nobody writes there until
        // this rank has arrived in the next round.
        unsafe { weft_sys::copy::bytes(area, all.as_mut_ptr(), all.len()) };
        Ok(())
    }

    /// Copies the root's bytes to all ranks, which pass slices of the same length. The root waits for nobody unless it
    /// is several operations ahead, or the data is long.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls or their lengths differ.
    pub fn broadcast_bytes(&self, root: u32, data: &mut [u8]) -> Result {
        if self.spread().is_some() {
            return self.spread_broadcast_bytes(root, data);
        }
        if self.size() == 1 {
            return Ok(());
        }
        for part in data.chunks_mut(self.slots().total()) {
            let call = Description::new(Call::Internal, Some(root), part.len() as u64);
            let round = self.enter(call, null_mut());
            let area = self.slots().area(round.ring());
            if self.rank() == root {
                // SAFETY: a part fits the area, and only the root writes in this round.
                unsafe { weft_sys::copy::bytes(part.as_ptr(), area, part.len()) };
                round.arrive_with_data(call.signature());
            } else {
                round.arrive(call.signature(), &Nothing);
                round.wait_for_data(root)?;
                // SAFETY: the root has written, and nobody writes there until this rank has arrived in the next round.
                unsafe { weft_sys::copy::bytes(area, part.as_mut_ptr(), part.len()) };
            }
        }
        Ok(())
    }
}
