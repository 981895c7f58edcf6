//! Scan and exscan: small data through slots, where the last rank to arrive forms all prefixes (among few each its own); with large data each rank
//! forms the prefixes of a segment, going from rank to rank.
#![allow(unsafe_code)] // Combines slots.

use crate::blocking::reduction::{Loan, Slotted, block, blocks, segment};
use crate::operation::buffer::{Data, Operator, Scratch};
use crate::operation::call::{Call, Description};
use crate::rounds::counters::Combine;
use crate::team::selection::{self, Algorithm, Step};
use crate::team::{Peers, Team};
use core::ptr::null_mut;
use weft_base::Result;

/// Turns the slots into prefixes, in rank order.
struct Prefixes<'a>(Slotted<'a>);

impl Combine for Prefixes<'_> {
    fn all(&self) {
        let it = &self.0;
        for rank in 1..it.shared.size {
            // SAFETY: slots of this round with `count` elements each; all have arrived, and only the last one, the
            // caller, touches them now.
            unsafe {
                it.operator.apply_in_slots(it.datatype, it.place(rank - 1), it.place(rank), it.count);
            }
        }
    }
}

impl Prefixes<'_> {
    /// Forms the prefix that ends with a rank's contribution.
    fn form(&self, source: u32, receive: &Data<'_>) -> Result {
        let it = &self.0;
        let (mut below, mut with) =
            (Scratch::new(it.count, it.datatype), Scratch::new(it.count, it.datatype));
        it.slot(it.place(0)).copy_to(&below.data(it.count))?;
        for rank in 1..=source {
            it.slot(it.place(rank)).copy_to(&with.data(it.count))?;
            it.operator.apply(&below.data(it.count), &with.data(it.count));
            core::mem::swap(&mut below, &mut with);
        }
        below.data(it.count).copy_to(receive)
    }
}

impl Team {
    /// Reduces the `send` of ranks up to and including the caller into `receive`, which may be the same buffer.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn scan(&self, send: Data<'_>, receive: Data<'_>, operator: Operator<'_>) -> Result {
        if self.size() == 1 {
            return send.copy_to(&receive);
        }
        self.prefixes(Call::Scan, send, receive, operator)
    }

    /// Reduces the `send` of ranks below the caller into `receive`, which may be the same buffer. Rank 0's `receive` is
    /// left alone.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn exscan(&self, send: Data<'_>, receive: Data<'_>, operator: Operator<'_>) -> Result {
        if self.size() == 1 {
            return Ok(());
        }
        self.prefixes(Call::Exscan, send, receive, operator)
    }

    fn prefixes(&self, call: Call, send: Data<'_>, receive: Data<'_>, operator: Operator<'_>) -> Result {
        if send.count() == 0 {
            return Ok(());
        }
        let inclusive = call == Call::Scan;
        let description = Description::new(call, None, send.bytes());
        match selection::reduction(self, call, &send) {
            Algorithm::Slots => {
                let round = self.enter(description, null_mut());
                let prefixes = Prefixes(Slotted::new(self, &round, operator, &send));
                prefixes.0.put(self.rank(), &send);
                round.arrive(description.signature(), &prefixes);
                round.wait_complete()?;
                let source = if inclusive { Some(self.rank()) } else { self.rank().checked_sub(1) };
                let Some(source) = source else { return Ok(()) };
                if self.are_few() {
                    return prefixes.form(source, &receive);
                }
                prefixes.0.take_from(prefixes.0.place(source), 0, send.count(), &receive)
            }
            Algorithm::InPlace => {
                self.exchange(description, &Loan { send, receive: Some(receive) }, |peers| {
                    let step = self.step(call, send.bytes());
                    if inclusive {
                        self.scan_segment(step, peers, operator, send)
                    } else {
                        self.exscan_segment(step, peers, operator, send)
                    }
                })
            }
        }
    }

    /// Forms the prefixes of the rank's segment, in the buffers that receive them.
    fn scan_segment(
        &self,
        step: Step,
        peers: &Peers<'_, Loan<'_>>,
        operator: Operator<'_>,
        like: Data<'_>,
    ) -> Result {
        for part in blocks(segment(self, step, like.count(), like.datatype()), step.block, like.datatype()) {
            let count = part.end - part.start;
            let mut below: Option<Data<'_>> = None;
            for rank in 0..self.size() {
                let loan = peers.get(rank);
                let target = loan.receive.expect("every rank receives").part(part.start, count);
                loan.send.part(part.start, count).copy_to(&target)?;
                if let Some(below) = below {
                    operator.apply(&below, &target);
                }
                below = Some(target);
            }
        }
        Ok(())
    }

    /// As [`Team::scan_segment`], but each rank's buffer receives what is below it; what it sends, perhaps from the same
    /// place, is taken first.
    fn exscan_segment(
        &self,
        step: Step,
        peers: &Peers<'_, Loan<'_>>,
        operator: Operator<'_>,
        like: Data<'_>,
    ) -> Result {
        let range = segment(self, step, like.count(), like.datatype());
        let length = block(step.block, like.datatype()).min(range.end - range.start);
        let mut below = Scratch::new(length, like.datatype());
        let mut with = Scratch::new(length, like.datatype());
        for part in blocks(range, step.block, like.datatype()) {
            let count = part.end - part.start;
            peers.get(0).send.part(part.start, count).copy_to(&below.data(count))?;
            for rank in 1..self.size() {
                let loan = peers.get(rank);
                loan.send.part(part.start, count).copy_to(&with.data(count))?;
                let target = loan.receive.expect("every rank receives").part(part.start, count);
                below.data(count).copy_to(&target)?;
                operator.apply(&below.data(count), &with.data(count));
                core::mem::swap(&mut below, &mut with);
            }
        }
        Ok(())
    }
}
