//! Allgather: small contributions are packed side by side in slots, large ones are read in place.
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

impl Team {
    /// Collects equally much from every rank into all ranks' `receive`, which holds all parts in rank order. Without
    /// `send` a rank's contribution is in its place in `receive`.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if a contribution does not fit; `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn allgather(&self, send: Option<Data<'_>>, receive: Data<'_>) -> Result {
        let each = receive.count() / u64::from(self.size());
        let part = |rank: u32| receive.part(u64::from(rank) * each, each);
        if self.size() == 1 {
            return send.map_or(Ok(()), |send| send.copy_to(&part(0)));
        }
        let slots = self.slots();
        let mine = send.unwrap_or_else(|| part(self.rank()));
        let bytes = mine.bytes();
        if selection::contribution(self, Call::Allgather, bytes) == Algorithm::InPlace {
            if self.are_apart() {
                let call = Description::new(Call::Allgather, None, bytes);
                return self.allgather_in_pieces(call, mine, send.is_none(), part);
            }
            return self.allgather_in_place(Call::Allgather, bytes, mine, part);
        }
        let call = Description::new(Call::Allgather, None, bytes);
        let round = self.enter(call, null_mut());
        if let Some(place) = round.in_line(self.rank(), bytes) {
            // SAFETY: it fits, and is the rank's own until it arrives.
            unsafe { mine.pack(place) };
            round.arrive(call.signature(), &Nothing);
            round.wait_complete()?;
            return (0..self.size()).try_for_each(|rank| {
                let place = round.in_line(rank, bytes).expect("all send equally much");
                // SAFETY: complete: it is written, and not again until this rank has arrived in the next round.
                unsafe { part(rank).unpack(place, bytes) }
            });
        }
        let area = slots.area(round.ring());
        // SAFETY: parts of at most a slot each lie within the area; this one is the rank's own until it arrives.
        unsafe { mine.pack(area.add(self.rank() as usize * bytes as usize)) };
        round.arrive(call.signature(), &Nothing);
        round.wait_complete()?;
        // SAFETY: the round is complete and all sent equally much: every part is written, and nobody writes there until
        // this rank has arrived in the next round.
        unsafe { receive.unpack(area, bytes * u64::from(self.size())) }
    }

    /// Collects every rank's `send` into all ranks' `receive(rank)`; see [`Team::allgather`].
    ///
    /// # Errors
    /// As [`Team::allgather`].
    pub fn allgatherv<'a>(&self, send: Option<Data<'_>>, receive: impl Fn(u32) -> Data<'a>) -> Result {
        if self.size() == 1 {
            return send.map_or(Ok(()), |send| send.copy_to(&receive(0)));
        }
        let slots = self.slots();
        let largest = (0..self.size()).map(|r| receive(r).bytes()).max().unwrap_or(0);
        let mine = send.unwrap_or_else(|| receive(self.rank()));
        if selection::contribution(self, Call::Allgatherv, largest) == Algorithm::InPlace {
            return self.allgather_in_place(Call::Allgatherv, largest, mine, receive);
        }
        // A contribution larger than its receivers expect is cut off there; one larger than a slot must not get that far.
        let fits = mine.bytes() <= slots.capacity() as u64;
        let call = Description::new(Call::Allgatherv, None, largest);
        let round = self.enter(call.with_bytes(mine.bytes()), null_mut());
        let place = |rank: u32| {
            // SAFETY: a slot of this rank.
            unsafe { slots.area(round.ring()).add(rank as usize * slots.capacity()) }
        };
        if fits {
            // SAFETY: the rank's own slot until it arrives.
            unsafe { mine.pack(place(self.rank())) };
        }
        round.arrive(call.signature(), &Nothing);
        round.wait_complete()?;
        (0..self.size()).try_for_each(|rank| {
            let bytes = round.call(rank).bytes();
            // SAFETY: complete, so `bytes` bytes are written there (what exceeds a slot exceeds the room, and is not
            // read); nobody writes there until this rank has arrived in the next round.
            unsafe { receive(rank).unpack(place(rank), bytes) }
        })
    }

    fn allgather_in_place<'a>(
        &self,
        call: Call,
        bytes: u64,
        mine: Data<'_>,
        receive: impl Fn(u32) -> Data<'a>,
    ) -> Result {
        let size = u64::from(self.size());
        let stores = Stores::of(bytes * size * size, bytes);
        self.exchange(Description::new(call, None, bytes), &mine, |peers| {
            pattern::rotation(self.rank(), self.size())
                .try_for_each(|rank| peers.get(rank).copy_by(stores, &receive(rank)))
        })
    }
}
