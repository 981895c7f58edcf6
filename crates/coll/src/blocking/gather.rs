//! Gather: small contributions are left in slots, large ones are copied from their owners' buffers by the root.
//!
//! Each rank decides for its own contribution, so sizes may differ (`MPI_Gatherv`).
#![allow(unsafe_code)] // Copies to and from slots and reads contributors' loans.

use crate::operation::buffer::Data;
use crate::operation::call::{Call, Description};
use crate::pattern;
use crate::rounds::counters::Nothing;
use crate::team::Team;
use crate::team::selection::{self, Algorithm};
use core::ptr::{from_ref, null_mut};
use weft_base::Result;

impl Team {
    /// Gathers every rank's `send` into the root's `receive(rank)`. The root passes no `send` if its contribution is in
    /// place; the others' `receive` is not called. `call` names the variant.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` at the root if a contribution does not fit; `MPI_ERR_OTHER` if the ranks are in different
    /// calls.
    pub fn gather<'a>(
        &self,
        call: Call,
        root: u32,
        send: Option<Data<'_>>,
        receive: impl Fn(u32) -> Data<'a>,
    ) -> Result {
        if self.size() == 1 {
            return send.map_or(Ok(()), |send| send.copy_to(&receive(0)));
        }
        let (name, call) = (call, Description::new(call, Some(root), 0));
        let slots = self.slots();
        if self.rank() == root {
            let round = self.enter(call, null_mut());
            round.arrive(call.signature(), &Nothing);
            let mut result = send.map_or(Ok(()), |send| send.copy_to(&receive(root)));
            round.wait_complete()?;
            let mut in_place = false;
            for rank in pattern::rotation(root, self.size()).skip(1) {
                let loan = round.loan(rank);
                let copied = if loan.is_null() {
                    // SAFETY: a slot of this rank, where it has packed that many bytes; nobody writes there until the
                    // root has arrived in the next round.
                    unsafe {
                        let place = slots.area(round.ring()).add(rank as usize * slots.capacity());
                        receive(rank).unpack(place, round.call(rank).bytes())
                    }
                } else {
                    in_place = true;
                    // SAFETY: in this call a loan is the contributor's `Data`, which it keeps until the root publishes.
                    unsafe { &*loan.cast::<Data<'_>>() }.copy_to(&receive(rank))
                };
                result = result.and(copied);
            }
            if in_place {
                round.publish();
            }
            return result;
        }
        let send = send.expect("only a root's contribution may be in place");
        match selection::contribution(self, name, send.bytes()) {
            Algorithm::Slots => {
                let round = self.enter(call.with_bytes(send.bytes()), null_mut());
                // SAFETY: this rank's slot, large enough by the selection, and its own until it arrives.
                unsafe { send.pack(slots.area(round.ring()).add(self.rank() as usize * slots.capacity())) };
                round.arrive(call.signature(), &Nothing);
                Ok(())
            }
            Algorithm::InPlace => {
                let round = self.enter(call.exchanging(), from_ref(&send).cast_mut().cast());
                round.arrive(call.signature(), &Nothing);
                round.wait_published(root).map(drop)
            }
        }
    }
}
