//! Reduce: only the root waits for small data; large data is reduced by all ranks, a segment each, into the root's
//! buffer.

use crate::blocking::reduction::{Loan, Slotted, reduce_range, segment};
use crate::operation::buffer::{Data, Operator};
use crate::operation::call::{Call, Description};
use crate::team::Team;
use crate::team::selection::{self, Algorithm};
use core::ptr::null_mut;
use weft_base::Result;

impl Team {
    /// Reduces all ranks' `send` into the root's `receive`, which may be the same buffer as its `send`.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn reduce(
        &self,
        root: u32,
        send: Data<'_>,
        receive: Option<Data<'_>>,
        operator: Operator<'_>,
    ) -> Result {
        if self.size() == 1 {
            return receive.map_or(Ok(()), |receive| send.copy_to(&receive));
        }
        if send.count() == 0 {
            return Ok(());
        }
        let datatype = send.datatype();
        let call = Description::new(Call::Reduce, Some(root), send.bytes());
        match selection::reduction(self, Call::Reduce, &send) {
            Algorithm::Slots => {
                let round = self.enter(call, null_mut());
                let slotted = Slotted::new(self, &round, operator, &send);
                slotted.put(self.rank(), &send);
                round.arrive(call.signature(), &slotted);
                let Some(receive) = receive.filter(|_| self.rank() == root) else { return Ok(()) };
                round.wait_complete()?;
                slotted.take(0, send.count(), &receive)
            }
            Algorithm::InPlace if self.are_apart() => self.reduce_in_pieces(root, send, receive, operator),
            Algorithm::InPlace => self.exchange(call, &Loan { send, receive }, |peers| {
                let target = peers.get(root).receive.expect("a root has a buffer for the result");
                let step = self.step(Call::Reduce, send.bytes());
                let range = segment(self, step, send.count(), datatype);
                reduce_range(self, step, peers, operator, range, |part, result| {
                    let _ = result.copy_to(&target.part(part.start, part.end - part.start));
                });
                Ok(())
            }),
        }
    }
}
