//! All-to-all: ranks read their parts in place from each other's buffers; small ones through slots.
#![allow(unsafe_code)] // Copies to and from slots.

use crate::operation::buffer::Data;
use crate::operation::call::{Call, Description};
use crate::pattern;
use crate::rounds::counters::Nothing;
use crate::stores::Stores;
use crate::team::Team;
use crate::team::selection::{self, Algorithm};
use core::ptr::null_mut;
use weft_base::Result;

/// What a rank shows: a part for each rank.
struct Loan<'f, 'a> {
    part: &'f (dyn Fn(u32) -> Data<'a> + Sync),
}

impl Team {
    /// Sends equally much from every rank to every rank; both buffers hold a part for each rank in rank order.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if a part does not fit; `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn alltoall(&self, send: Data<'_>, receive: Data<'_>) -> Result {
        let size = u64::from(self.size());
        let (sent, received) = (send.count() / size, receive.count() / size);
        let part = |rank: u32| send.part(u64::from(rank) * sent, sent);
        let place = |rank: u32| receive.part(u64::from(rank) * received, received);
        let whole = send.bytes();
        if size == 1 || selection::contribution(self, Call::Alltoall, whole) == Algorithm::InPlace {
            return self.alltoallw(Call::Alltoall, &part, &place);
        }
        let slots = self.slots();
        let each = whole / size;
        let call = Description::new(Call::Alltoall, None, each);
        let round = self.enter(call, null_mut());
        let stride = slots.stride(whole as usize);
        let slot = |rank: u32| {
            round.in_line(rank, whole).unwrap_or_else(|| {
                // SAFETY: slots of this stride lie within the area.
                unsafe { slots.area(round.ring()).add(rank as usize * stride) }
            })
        };
        // SAFETY: the rank's own slot until it arrives; the selection says it is large enough.
        unsafe { send.pack(slot(self.rank())) };
        round.arrive(call.signature(), &Nothing);
        round.wait_complete()?;
        if receive.datatype().is_dense() && receive.bytes() == whole && round.in_line(0, whole).is_none() {
            // SAFETY: complete, so all pieces for this rank are written, a stride apart, and nobody writes there until this
            // rank has arrived in the next round. As much is received as each rank sends.
            unsafe {
                let first = slot(0).add(self.rank() as usize * each as usize);
                receive.collect(first, stride, size as usize, each as usize);
            }
            return Ok(());
        }
        pattern::rotation(self.rank(), self.size()).try_for_each(|rank| {
            // SAFETY: complete, and all send equally much: the part is written, and nobody writes there until this rank
            // has arrived in the next round.
            unsafe {
                let from = slot(rank).add(self.rank() as usize * each as usize);
                place(rank).unpack(from, each)
            }
        })
    }

    /// Sends every rank's `send(peer)` to the peer's `receive(rank)`. `call` names the variant.
    ///
    /// # Errors
    /// As [`Team::alltoall`].
    pub fn alltoallw<'a>(
        &self,
        call: Call,
        send: &(dyn Fn(u32) -> Data<'a> + Sync),
        receive: &dyn Fn(u32) -> Data<'a>,
    ) -> Result {
        if self.size() == 1 {
            return send(0).copy_to(&receive(0));
        }
        self.exchange(Description::new(call, None, 0), &Loan { part: send }, |peers| {
            let size = u64::from(self.size());
            let received: u64 = (0..self.size()).map(|rank| receive(rank).bytes()).sum();
            let stores = Stores::of(received * size, received / size);
            // All parts are copied even if one does not fit, so that others' errors do not depend on the order.
            let mut result = Ok(());
            for rank in pattern::rotation(self.rank(), self.size()) {
                result = result.and((peers.get(rank).part)(self.rank()).copy_by(stores, &receive(rank)));
            }
            result
        })
    }

    /// Exchanges every rank's `data(peer)` with the peer's `data(rank)`: of each pair one rank swaps both places, which
    /// nobody else touches.
    ///
    /// # Errors
    /// As [`Team::alltoall`].
    pub fn alltoall_in_place<'a>(&self, call: Call, data: &(dyn Fn(u32) -> Data<'a> + Sync)) -> Result {
        if self.size() == 1 {
            return Ok(());
        }
        let call = Description::new(call, None, 1);
        self.exchange(call, &Loan { part: data }, |peers| {
            let mut scratch = Vec::new();
            let mut result = Ok(());
            for rank in pattern::partners(self.rank(), self.size()) {
                let theirs = (peers.get(rank).part)(self.rank());
                result = result.and(data(rank).swap_with(&theirs, &mut scratch));
            }
            result
        })
    }
}
