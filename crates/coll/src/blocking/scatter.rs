//! Scatter: small parts wait in slots for whoever comes; large ones are copied from the root's buffer.
#![allow(unsafe_code)] // Copies to and from slots and reads the root's loan.

use crate::operation::buffer::Data;
use crate::operation::call::{Call, Description};
use crate::rounds::counters::Nothing;
use crate::team::Team;
use crate::team::selection::{self, Algorithm};
use core::ptr::{from_ref, null_mut};
use weft_base::Result;

/// What the root shows: a part for each rank.
struct Loan<'f, 'a> {
    part: &'f (dyn Fn(u32) -> Data<'a> + Sync),
}

impl Team {
    /// Hands the root's `send(rank)` to every rank's `receive`. The root passes no `receive` if its part stays in
    /// place; the others' `send` is not called. `call` names the variant.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if a rank's part does not fit; `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn scatter<'a>(
        &self,
        call: Call,
        root: u32,
        send: &(dyn Fn(u32) -> Data<'a> + Sync),
        receive: Option<Data<'_>>,
    ) -> Result {
        if self.size() == 1 {
            return receive.map_or(Ok(()), |receive| send(0).copy_to(&receive));
        }
        let (name, call) = (call, Description::new(call, Some(root), 0));
        let slots = self.slots();
        if self.rank() != root {
            let receive = receive.expect("only the root's part may stay in place");
            let round = self.enter(call, null_mut());
            round.arrive(call.signature(), &Nothing);
            let posted = round.wait_for_data(root)?;
            let loan = round.loan(root);
            if loan.is_null() {
                let stride = slots.stride(posted.bytes() as usize);
                // SAFETY: the root has packed this rank's part there; nobody writes there until this rank has arrived
                // in the next round.
                return unsafe {
                    let place = slots.area(round.ring()).add(self.rank() as usize * stride);
                    receive.unpack(place, posted.bytes().min(receive.bytes()))
                };
            }
            // SAFETY: in this call a loan is the root's `Loan`; the root keeps it until this rank has arrived in the
            // closing round.
            let part = unsafe { &*loan.cast::<Loan<'_, '_>>() }.part;
            let result = part(self.rank()).copy_to(&receive);
            self.close(false)?;
            return result;
        }
        let others = || (0..self.size()).filter(|&r| r != root);
        let largest = others().map(|r| send(r).bytes()).max().unwrap_or(0);
        let own = || receive.map_or(Ok(()), |receive| send(root).copy_to(&receive));
        match selection::contribution(self, name, largest) {
            Algorithm::Slots => {
                let round = self.enter(call.with_bytes(largest), null_mut());
                let stride = slots.stride(largest as usize);
                for rank in others() {
                    // SAFETY: the part is at most `largest` bytes, which is at most the stride and a slot; only the root
                    // writes in this round.
                    unsafe { send(rank).pack(slots.area(round.ring()).add(rank as usize * stride)) };
                }
                round.arrive_with_data(call.signature());
                own()
            }
            Algorithm::InPlace => {
                let loan = Loan { part: send };
                let round = self.enter(call.exchanging(), from_ref(&loan).cast_mut().cast());
                round.arrive_with_data(call.signature());
                let result = own();
                self.close(true)?;
                result
            }
        }
    }
}
