//! Large data of ranks on several processes that share memory: through slots, piece by piece, so that one rank fills what
//! another empties.
//!
//! Each piece has a round. A rank puts its next piece into its slot before it looks at the results of the one before, so that
//! nobody waits while others copy. The rule of the rounds, that a rank has done its reading in round `r` when it arrives in
//! `r + 1`, then holds for `r + 2` only. Within an operation that is enough: whoever enters round `r + 4` has waited for
//! `r + 2`. At the end nobody waits any more, so there the last piece but one is read before the rank arrives with the last.
#![allow(unsafe_code)] // Copies to and from slots.

use crate::blocking::reduction::Slotted;
use crate::operation::buffer::{Data, Operator};
use crate::operation::call::{Call, Description};
use crate::pattern;
use crate::rounds::counters::{DEPTH, Nothing};
use crate::team::slots::WHOLE;
use crate::team::{Round, Team};
use core::ops::Range;
use core::ptr::{null_mut, without_provenance_mut};
use weft_base::Result;
use weft_datatype::Datatype;

// See above.
const _: () = assert!(DEPTH >= 4 || cfg!(loom));

/// Tells whether data to be reduced can be cut so that the pieces fit slots of `capacity` bytes: elements stay whole.
pub(crate) fn fit(datatype: &Datatype, capacity: usize) -> bool {
    capacity as u64 >= PIECE && datatype.extent() <= capacity as i64
}

/// In slots of fewer bytes nothing is cut.
pub(crate) const PIECE: u64 = 4 << 10;
/// Into how many pieces longer data is cut at least, and how long they are at most.
const PIECES: u64 = 4;
const LONGEST: u64 = 64 << 10;

/// Returns the bytes of a piece of `bytes` bytes in places for `room` bytes.
fn piece(bytes: u64, room: usize) -> u64 {
    bytes.div_ceil(PIECES).clamp(WHOLE, LONGEST).next_multiple_of(64).min(room as u64)
}

/// Cuts `bytes` bytes.
fn cut(bytes: u64, piece: u64) -> impl Iterator<Item = Range<u64>> {
    (0..bytes.div_ceil(piece)).map(move |index| index * piece..bytes.min((index + 1) * piece))
}

impl Team {
    /// Cuts data to be reduced into ranges of elements.
    fn cut_elements(&self, data: &Data<'_>) -> impl Iterator<Item = Range<u64>> + use<> {
        let extent = data.datatype().extent().max(1) as u64;
        let piece = piece(data.count() * extent, self.slots().capacity());
        pattern::blocks(0..data.count(), (piece / extent).max(1))
    }

    fn spot_for_all(&self, round: &Round<'_>, range: &Range<u64>) -> *mut u8 {
        self.slots().spot_for_all(round.number(), (range.end - range.start) as usize)
    }

    /// See [`Team::allreduce`].
    pub(crate) fn allreduce_in_pieces(
        &self,
        send: Data<'_>,
        receive: Data<'_>,
        operator: Operator<'_>,
    ) -> Result {
        let call = Description::new(Call::Allreduce, None, send.bytes());
        let mut before: Option<(Round<'_>, Range<u64>)> = None;
        let finish = |before: Option<(Round<'_>, Range<u64>)>| {
            let Some((round, range)) = before else { return Ok(()) };
            round.wait_complete()?;
            let mine = send.part(range.start, range.end - range.start);
            let slotted = Slotted::new(self, &round, operator, &mine);
            slotted.take(0, mine.count(), &receive.part(range.start, mine.count()))
        };
        let mut ranges = self.cut_elements(&send).peekable();
        while let Some(range) = ranges.next() {
            let mine = send.part(range.start, range.end - range.start);
            let round = self.enter(call, null_mut());
            {
                let slotted = Slotted::new(self, &round, operator, &mine);
                slotted.put(self.rank(), &mine);
                if ranges.peek().is_none() {
                    finish(before.take())?;
                }
                round.arrive(call.signature(), &slotted);
            }
            finish(before.replace((round, range)))?;
        }
        finish(before)
    }

    /// See [`Team::reduce`].
    pub(crate) fn reduce_in_pieces(
        &self,
        root: u32,
        send: Data<'_>,
        receive: Option<Data<'_>>,
        operator: Operator<'_>,
    ) -> Result {
        let call = Description::new(Call::Reduce, Some(root), send.bytes());
        for range in self.cut_elements(&send) {
            let count = range.end - range.start;
            let mine = send.part(range.start, count);
            let round = self.enter(call, null_mut());
            let slotted = Slotted::new(self, &round, operator, &mine);
            slotted.put(self.rank(), &mine);
            round.arrive(call.signature(), &slotted);
            if let Some(receive) = receive.filter(|_| self.rank() == root) {
                round.wait_complete()?;
                slotted.take(0, count, &receive.part(range.start, count))?;
            }
        }
        Ok(())
    }

    /// Hands out the root's data; see [`Team::broadcast`]. What the root posts in place of a loan is the length of all.
    pub(crate) fn broadcast_in_pieces(&self, call: Description, data: &Data<'_>) {
        let bytes = data.bytes();
        for range in cut(bytes, piece(bytes, self.slots().total())) {
            let round = self.enter(call.exchanging(), without_provenance_mut(bytes as usize));
            // SAFETY: a piece fits the area, and only the root writes in this round.
            unsafe {
                let place = self.spot_for_all(&round, &range);
                data.pass_part(&self.shared().passing, range.start, place, range.end - range.start)
            };
            round.arrive_with_data(call.signature());
        }
    }

    /// Takes the root's data, of which the first piece is there in `round`.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if it does not fit; `MPI_ERR_OTHER` if the ranks are in different calls.
    pub(crate) fn receive_in_pieces(
        &self,
        call: Description,
        root: u32,
        round: Round<'_>,
        bytes: u64,
        data: &Data<'_>,
    ) -> Result {
        let mut first = Some(round);
        let mut result = Ok(());
        for range in cut(bytes, piece(bytes, self.slots().total())) {
            let round = match first.take() {
                Some(round) => round,
                None => {
                    let round = self.enter(call, null_mut());
                    round.arrive(call.signature(), &Nothing);
                    round.wait_for_data(root)?;
                    round
                }
            };
            // SAFETY: the root has packed that many bytes there, and nobody writes there until this rank has arrived in the
            // next round.
            let taken = unsafe {
                data.unpack_part(range.start, self.spot_for_all(&round, &range), range.end - range.start)
            };
            result = result.and(taken);
        }
        result
    }

    /// See [`Team::allgather`]: `mine` goes to all ranks' `receive(rank)`.
    pub(crate) fn allgather_in_pieces<'a>(
        &self,
        call: Description,
        mine: Data<'_>,
        is_in_place: bool,
        receive: impl Fn(u32) -> Data<'a>,
    ) -> Result {
        let bytes = mine.bytes();
        let mut result = if is_in_place { Ok(()) } else { mine.copy_to(&receive(self.rank())) };
        let slots = self.slots();
        let place = |round: &Round<'_>, rank: u32, range: &Range<u64>| {
            let near = slots.spot(round.number(), rank, (range.end - range.start) as usize);
            // SAFETY: a slot of this rank.
            near.unwrap_or_else(|| unsafe { slots.area(round.ring()).add(rank as usize * slots.capacity()) })
        };
        let mut before: Option<(Round<'_>, Range<u64>)> = None;
        let mut finish = |before: Option<(Round<'_>, Range<u64>)>| {
            let Some((round, range)) = before else { return Ok(()) };
            round.wait_complete()?;
            for rank in pattern::rotation(self.rank(), self.size()).filter(|&rank| rank != self.rank()) {
                // SAFETY: a slot of this rank, where a piece of as many bytes is, for all send equally much; nobody writes there
                // before this rank has gone on, see the module's page.
                let taken = unsafe {
                    let place = place(&round, rank, &range);
                    receive(rank).unpack_part(range.start, place, range.end - range.start)
                };
                result = core::mem::replace(&mut result, Ok(())).and(taken);
            }
            Ok(())
        };
        let mut ranges = cut(bytes, piece(bytes, slots.capacity())).peekable();
        while let Some(range) = ranges.next() {
            let round = self.enter(call, null_mut());
            // SAFETY: the rank's own slot, and a piece fits.
            unsafe {
                let place = place(&round, self.rank(), &range);
                mine.pass_part(&self.shared().passing, range.start, place, range.end - range.start);
            }
            if ranges.peek().is_none() {
                finish(before.take())?;
            }
            round.arrive(call.signature(), &Nothing);
            finish(before.replace((round, range)))?;
        }
        finish(before)?;
        result
    }
}
