//! Allreduce: small data through slots in one round; large data is reduced by all ranks, a segment each, into
//! everybody's buffer.

use crate::blocking::reduction::{Loan, Slotted, reduce_range, segment};
use crate::operation::buffer::{Data, Operator};
use crate::operation::call::{Call, Description};
use crate::stores::Stores;
use crate::team::Team;
use crate::team::selection::{self, Algorithm};
use core::ptr::null_mut;
use weft_base::Result;

impl Team {
    /// Reduces all ranks' `send` into all ranks' `receive`, which may be the same buffer as `send`.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn allreduce(&self, send: Data<'_>, receive: Data<'_>, operator: Operator<'_>) -> Result {
        if self.size() == 1 {
            return send.copy_to(&receive);
        }
        if send.count() == 0 {
            return Ok(());
        }
        let datatype = send.datatype();
        let call = Description::new(Call::Allreduce, None, send.bytes());
        match selection::reduction(self, Call::Allreduce, &send) {
            Algorithm::Slots => {
                let round = self.enter(call, null_mut());
                let slotted = Slotted::new(self, &round, operator, &send);
                slotted.put(self.rank(), &send);
                round.arrive(call.signature(), &slotted);
                round.wait_complete()?;
                slotted.take(0, send.count(), &receive)
            }
            Algorithm::InPlace if self.are_apart() => self.allreduce_in_pieces(send, receive, operator),
            Algorithm::InPlace => {
                self.exchange(call, &Loan { send, receive: Some(receive) }, |peers| {
                    let step = self.step(Call::Allreduce, send.bytes());
                    let range = segment(self, step, send.count(), datatype);
                    let piece = ((range.end - range.start) * datatype.size()).min(step.block.into());
                    let stores = Stores::of(receive.bytes() * u64::from(self.size()), piece);
                    reduce_range(self, step, peers, operator, range, |part, result| {
                        // A rank's segment of every buffer is read and written by that rank alone, so results may
                        // replace the contributions of ranks that receive in place.
                        for rank in 0..self.size() {
                            let target = peers.get(rank).receive.expect("every rank receives");
                            let _ = result.copy_by(stores, &target.part(part.start, part.end - part.start));
                        }
                    });
                    Ok(())
                })
            }
        }
    }
}
