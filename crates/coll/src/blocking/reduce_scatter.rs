//! Reduce-scatter: small data through slots like allreduce, each rank takes its part; with large data each rank reduces
//! its part over all buffers.

use crate::blocking::reduction::{Loan, Slotted, reduce_range};
use crate::operation::buffer::{Data, Operator, Scratch};
use crate::operation::call::{Call, Description};
use crate::team::Team;
use crate::team::selection::{self, Algorithm};
use core::ops::Range;
use core::ptr::null_mut;
use weft_base::Result;

impl Team {
    /// Reduces all ranks' `send`, and leaves elements `mine` of the result in `receive`, which may be the same buffer as
    /// `send`. The ranks' ranges follow each other in rank order. `call` names the variant.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn reduce_scatter(
        &self,
        call: Call,
        send: Data<'_>,
        mine: Range<u64>,
        receive: Data<'_>,
        operator: Operator<'_>,
    ) -> Result {
        let own = mine.end - mine.start;
        let receive = receive.part(0, own);
        if self.size() == 1 {
            return send.copy_to(&receive);
        }
        if send.count() == 0 {
            return Ok(());
        }
        let datatype = send.datatype();
        let (name, call) = (call, Description::new(call, None, send.bytes()));
        match selection::reduction(self, name, &send) {
            Algorithm::Slots => {
                let round = self.enter(call, null_mut());
                let slotted = Slotted::new(self, &round, operator, &send);
                slotted.put(self.rank(), &send);
                round.arrive(call.signature(), &slotted);
                round.wait_complete()?;
                slotted.take(mine.start, own, &receive)
            }
            Algorithm::InPlace => {
                // What is received in place would overwrite contributions that peers still read: keep it aside.
                let aside = send.is_at(&receive).then(|| Scratch::new(own, datatype));
                let target = aside.as_ref().map_or(receive, |aside| aside.data(own));
                self.exchange(call, &Loan { send, receive: None }, |peers| {
                    let step = self.step(name, send.bytes());
                    reduce_range(self, step, peers, operator, mine.clone(), |part, result| {
                        let place = target.part(part.start - mine.start, part.end - part.start);
                        let _ = result.copy_to(&place);
                    });
                    Ok(())
                })?;
                if aside.is_some() { target.copy_to(&receive) } else { Ok(()) }
            }
        }
    }
}
