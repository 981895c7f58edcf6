//! What the reductions share: combining slots, and reducing a segment over all ranks' buffers.
//!
//! The order of combination depends on ranks and shards only, never on who arrives when: within a shard, and then among
//! the shards, from the highest rank down (`a0 op (a1 op (… op an))`). Where a shard is not a range of ranks and the
//! operation does not commute, all slots are combined in rank order at the end. Segments of large data are always
//! reduced in rank order. Ranks of several processes are combined process by process (`Groups`).
#![allow(unsafe_code)] // Combines slots.

use crate::operation::buffer::{Data, Operator, Scratch};
use crate::pattern;
use crate::rounds::counters::Combine;
use crate::team::selection::Step;
use crate::team::shared::Shared;
use crate::team::slots::Slots;
use crate::team::{Peers, Round, Team};
use core::ops::Range;
use weft_base::Result;
use weft_datatype::Datatype;
use weft_sync::Passing;

/// What a rank shows in a reduction of large data.
pub(crate) struct Loan<'a> {
    pub send: Data<'a>,
    pub receive: Option<Data<'a>>,
}

/// How many bytes each of few ranks takes from the others' slots at a time.
const TAKEN: u32 = 8 << 10;

/// Combines `count` elements of a datatype in all ranks' slots of one round.
pub(crate) struct Slotted<'a> {
    round: &'a Round<'a>,
    pub shared: &'a Shared,
    slots: &'a Slots,
    ring: usize,
    pub operator: Operator<'a>,
    pub datatype: &'a Datatype,
    pub count: u64,
    pub bytes: usize,
    pub stride: usize,
    /// The calling rank, and what it contributes.
    rank: u32,
    mine: Data<'a>,
}

impl<'a> Slotted<'a> {
    /// Describes the reduction of contributions like `data`, which is that of the calling rank, in a round.
    pub fn new(team: &'a Team, round: &'a Round<'a>, operator: Operator<'a>, data: &Data<'a>) -> Self {
        let (slots, bytes) = (team.slots(), data.span().unwrap_or(0) as usize);
        let (datatype, count) = (data.datatype(), data.count());
        Self {
            round,
            shared: team.shared(),
            slots,
            ring: round.ring(),
            operator,
            datatype,
            count,
            bytes,
            stride: slots.stride(bytes),
            rank: team.rank(),
            mine: *data,
        }
    }

    /// Returns a rank's slot.
    pub fn place(&self, rank: u32) -> *mut u8 {
        let near = self.round.in_line(rank, self.bytes as u64);
        near.or_else(|| self.slots.spot(self.round.number(), rank, self.bytes)).unwrap_or_else(|| {
            // SAFETY: slots of this stride lie within the area.
            unsafe { self.slots.area(self.ring).add(rank as usize * self.stride) }
        })
    }

    /// Puts the rank's contribution into its slot.
    pub fn put(&self, rank: u32, send: &Data<'_>) {
        let place = self.place(rank);
        if send.bytes() >= Passing::LEAST && self.shared.apart.is_some() && send.datatype().is_dense() {
            // SAFETY: the rank's own slot until it arrives, large enough by the selection.
            return unsafe { send.pass_part(&self.shared.passing, 0, place, send.bytes()) };
        }
        // Likewise. The same count and datatype on both sides: this cannot be cut off.
        let _ = send.copy_to(&self.slot(place));
    }

    /// Takes elements of the result.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if they do not fit.
    pub fn take(&self, first: u64, count: u64, receive: &Data<'_>) -> Result {
        if self.shared.lines.is_some() {
            let last = self.shared.size - 1;
            // What this rank contributes is read where it comes from, unless the result takes its place: its slot has gone to
            // other caches.
            let is_near = self.mine.part(first, count).is_apart(receive);
            // What is combined with more than one rank's is still in the first-level cache then.
            for range in blocks(first..first + count, TAKEN, self.datatype) {
                let length = range.end - range.start;
                let target = receive.part(range.start - first, length);
                let part = |rank| {
                    let all =
                        if is_near && rank == self.rank { self.mine } else { self.slot(self.place(rank)) };
                    all.part(range.start, length)
                };
                if let Some(groups) = self.groups() {
                    self.take_by_group(groups, part, &target)?;
                    continue;
                }
                self.operator.combine(&part(last - 1), &part(last), &target)?;
                (0..last - 1).rev().for_each(|rank| self.operator.apply(&part(rank), &target));
            }
            return Ok(());
        }
        self.take_from(self.slots.result(self.ring), first, count, receive)
    }

    /// Takes elements that are in the slot at `place`.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if they do not fit.
    pub fn take_from(&self, place: *mut u8, first: u64, count: u64, receive: &Data<'_>) -> Result {
        self.slot(place).part(first, count).copy_to(receive)
    }

    /// Describes the contents of the slot at `place`.
    pub fn slot(&self, place: *mut u8) -> Data<'a> {
        // SAFETY: a slot of this round. Before the rank arrives it takes its own only; the others when the round is
        // complete, and nobody writes there until this rank has arrived in the next round.
        unsafe { Data::new(place.cast(), self.count, self.datatype) }
    }

    /// Returns the groups of ranks to be combined first, if there are some.
    fn groups(&self) -> Option<&'a [Vec<u32>]> {
        self.shared.groups.of(self.operator.op.is_commutative())
    }

    /// Combines the groups' ranks, of which `part` gives what each has.
    fn take_by_group(
        &self,
        groups: &[Vec<u32>],
        part: impl Fn(u32) -> Data<'a>,
        target: &Data<'_>,
    ) -> Result {
        let mut scratch = None;
        for (place, group) in groups.iter().enumerate().rev() {
            let [before @ .., last] = &group[..] else { continue };
            let combine = |into: &Data<'_>| {
                part(*last).copy_to(into)?;
                before.iter().rev().for_each(|&rank| self.operator.apply(&part(rank), into));
                Ok(())
            };
            if place + 1 == groups.len() {
                combine(target)?;
            } else if before.is_empty() {
                self.operator.apply(&part(*last), target);
            } else {
                let scratch = scratch.get_or_insert_with(|| Scratch::new(target.count(), self.datatype));
                let aside = scratch.data(target.count());
                combine(&aside)?;
                self.operator.apply(&aside, target);
            }
        }
        Ok(())
    }

    /// Combines the groups' ranks in the slots, with the shard's aside.
    fn fold_groups(&self, groups: &[Vec<u32>], target: *mut u8) {
        let aside = self.slots.shard(self.ring, 0);
        for (place, group) in groups.iter().enumerate().rev() {
            let is_first = place + 1 == groups.len();
            let into = if is_first { target } else { aside };
            self.fold(group.iter().rev().map(|&rank| self.place(rank)), into);
            if !is_first {
                // SAFETY: as in `fold`.
                unsafe { self.operator.apply_in_slots(self.datatype, aside, target, self.count) };
            }
        }
    }

    fn by_shard(&self) -> bool {
        self.shared.shards.are_contiguous || self.operator.op.is_commutative()
    }

    /// Combines places, given from the highest down, into `target`.
    fn fold(&self, mut places: impl Iterator<Item = *mut u8>, target: *mut u8) {
        let Some(last) = places.next() else { return };
        // SAFETY: all places are slots of this round with `bytes` bytes of `count` elements, aligned as slots are. Their
        // writers have arrived, and only the caller, the last to arrive, touches them now.
        unsafe {
            weft_sys::copy::bytes(last, target, self.bytes);
            for place in places {
                self.operator.apply_in_slots(self.datatype, place, target, self.count);
            }
        }
    }
}

impl Combine for Slotted<'_> {
    fn shard(&self, shard: usize) {
        if self.groups().is_none() && self.by_shard() {
            let places = self.shared.shards.members[shard].iter().rev().map(|&rank| self.place(rank));
            self.fold(places, self.slots.shard(self.ring, shard));
        }
    }

    fn all(&self) {
        let result = self.slots.result(self.ring);
        if let Some(groups) = self.groups() {
            self.fold_groups(groups, result);
        } else if self.by_shard() {
            let shards = (0..self.shared.shards.members.len()).rev();
            self.fold(shards.map(|shard| self.slots.shard(self.ring, shard)), result);
        } else {
            self.fold((0..self.shared.size).rev().map(|rank| self.place(rank)), result);
        }
    }
}

/// How many segments each worker should have at least: with one, whoever is late would delay all.
const TURNS: u64 = 2;

/// Returns the caller's segment of `count` elements.
///
/// Where many ranks share few workers, not every rank needs one: long segments are read and written faster.
pub(crate) fn segment(team: &Team, step: Step, count: u64, datatype: &Datatype) -> Range<u64> {
    let (least, workers) = (granule(step.segment, datatype), team.shared().shards.members.len() as u64);
    let most = block(step.block, datatype);
    let wanted = if workers > 1 { (count / (TURNS * workers)).min(most) } else { 0 };
    pattern::segment(count, least.max(wanted), team.rank(), team.size())
}

/// Returns the number of elements that are worth a rank's turn: those of a segment of `bytes` bytes.
pub(crate) fn granule(bytes: u32, datatype: &Datatype) -> u64 {
    u64::from(bytes).div_ceil(datatype.size().max(1))
}

/// Cuts a range of elements into blocks of at most `bytes` bytes, which stay in the cache.
pub(crate) fn blocks(range: Range<u64>, bytes: u32, datatype: &Datatype) -> impl Iterator<Item = Range<u64>> {
    pattern::blocks(range, block(bytes, datatype))
}

/// Returns the number of elements of a block of `bytes` bytes.
pub(crate) fn block(bytes: u32, datatype: &Datatype) -> u64 {
    (u64::from(bytes) / datatype.size().max(1)).max(1)
}

/// Reduces a range of elements over the `send` of all ranks, at least two, in rank order, block by block; hands each result to
/// `store` with its range.
pub(crate) fn reduce_range<'a>(
    team: &Team,
    step: Step,
    peers: &Peers<'_, Loan<'a>>,
    operator: Operator<'_>,
    range: Range<u64>,
    mut store: impl FnMut(Range<u64>, Data<'a>),
) {
    if range.is_empty() {
        return;
    }
    let datatype = peers.get(team.rank()).send.datatype();
    let scratch = Scratch::new(block(step.block, datatype).min(range.end - range.start), datatype);
    for part in blocks(range, step.block, datatype) {
        let count = part.end - part.start;
        let result = scratch.data(count);
        let of = |rank: u32| peers.get(rank).send.part(part.start, count);
        let last = team.size() - 1;
        // The same count and datatype on both sides: this cannot be cut off.
        let _ = operator.combine(&of(last - 1), &of(last), &result);
        for rank in (0..last - 1).rev() {
            operator.apply(&of(rank), &result);
        }
        store(part, result);
    }
}
