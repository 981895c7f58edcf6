//! Broadcast: small data waits in the root's slots for whoever comes; large data is copied from the root's buffer.
#![allow(unsafe_code)] // Copies to and from slots and reads the root's frame.

use crate::buffer::Data;
use crate::call::{Call, Description};
use crate::rendezvous::Nothing;
use crate::selection::{self, Algorithm};
use crate::team::Team;
use core::ptr::{from_ref, null_mut};
use weft_base::Result;

impl Team {
    /// Copies the root's data to all ranks. With small data the root waits for nobody (unless it is several operations
    /// ahead), and ranks wait for none but the root.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if the root's data does not fit; `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn broadcast(&self, root: u32, data: Data<'_>) -> Result {
        if self.size() == 1 {
            return Ok(());
        }
        let call = Description::new(Call::Broadcast, Some(root), 0);
        if self.rank() != root {
            let round = self.enter(call, null_mut());
            round.arrive(call.signature(), &Nothing);
            let posted = round.wait_published(root)?;
            let frame = round.frame(root);
            if frame.is_null() {
                // SAFETY: the root has packed that many bytes there, and nobody writes there until this rank has
                // arrived in the next round.
                return unsafe { data.unpack(self.slots().area(round.ring()), posted.bytes()) };
            }
            // SAFETY: in this call a frame is the root's `Data`; the root keeps it until this rank has arrived in the
            // closing round.
            let source = unsafe { &*frame.cast::<Data<'_>>() };
            let result = source.copy_to(&data);
            self.close(false)?;
            return result;
        }
        match selection::broadcast(self, data.bytes()) {
            Algorithm::Slots => {
                let round = self.enter(call.with_bytes(data.bytes()), null_mut());
                // SAFETY: it fits the area, by the selection; only the root writes there in this round.
                unsafe { data.pack(self.slots().area(round.ring())) };
                round.publish();
                round.arrive(call.signature(), &Nothing);
                Ok(())
            }
            Algorithm::InPlace => {
                let round = self.enter(call.exchanging(), from_ref(&data).cast_mut().cast());
                round.publish();
                round.arrive(call.signature(), &Nothing);
                self.close(true)
            }
        }
    }
}
