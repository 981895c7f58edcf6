//! Which algorithm runs: the table of collectives for the number of ranks of a communicator, with its hints.
//!
//! A [`Selection`] is settled once for a number of ranks and some hints, and lives for ever; every rank's team points to
//! one. All ranks of a communicator point to the same at the same place of their program, whatever hints they gave: the
//! first of them to come to a change decides for all ([`Team::hint`]). Programs must give the same hints at all ranks
//! (MPI 5.0, section 7.4.4), so nobody loses by that, and hints that differ cannot make ranks choose differently.
#![allow(unsafe_code)] // A team points to a selection, which is never freed.

use crate::operation::Operation;
use crate::operation::buffer::Data;
use crate::operation::call::Call;
use crate::team::Team;
use crate::team::slots::Slots as Memory;
use crate::team::slots::WHOLE;
use collectives::Algorithm::{InPlace, Schedule, Slots};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;
pub(crate) use weft_base::collectives::Step;
use weft_base::collectives::{self, Collective, Level, Resolved, Table};
use weft_base::settings::Source;
use weft_sync::Lock;

/// How the blocking form of an operation moves its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Algorithm {
    /// Through slots: one round, nobody waits who needs nothing.
    Slots,
    /// Ranks show each other their buffers and read them in place: two rounds.
    InPlace,
}

/// Info keys and their values, sorted by key.
type Hints = Vec<(String, String)>;

/// What holds for a number of ranks and some hints.
#[derive(Debug)]
pub(crate) struct Selection {
    ranks: Resolved,
    hints: Hints,
    /// A bit per [`Call`]: its blocking form may have to go by a schedule.
    scheduled: u32,
}

static KNOWN: Lock<Vec<&'static Selection>> = Lock::new(Vec::new());
static BETWEEN_NODES: Lock<Vec<(Hints, &'static Resolved)>> = Lock::new(Vec::new());

/// Returns the table with the rows of hints.
fn table(hints: &Hints) -> Table {
    let mut table = collectives::current().clone();
    for (key, value) in hints {
        if let Some(rows) = understood(key, value) {
            table.extend(rows, &Source::Option(key.clone()));
        }
    }
    table
}

/// Returns the rows of a hint, if it is one and makes sense.
fn understood(key: &str, value: &str) -> Option<Vec<collectives::Row>> {
    let (collective, level) = collectives::of_key(key)?;
    let parts = value.split(';').map(str::trim).filter(|part| !part.is_empty());
    let rows: Vec<_> =
        parts.map(|part| collectives::parse_tail(collective, level, part).ok()).collect::<Option<_>>()?;
    (!rows.is_empty()).then_some(rows)
}

impl Selection {
    /// Returns what holds for a number of ranks without hints.
    pub fn of(size: u32) -> &'static Self {
        Self::find(size, Vec::new())
    }

    /// Returns what holds for ranks of several processes that share memory: slots wherever data fits.
    pub fn of_commons() -> &'static Self {
        static ONLY: OnceLock<Selection> = OnceLock::new();
        ONLY.get_or_init(|| {
            let mut table = Table::default();
            let rows = collectives::parse_rows("all: slots").expect("a row that is right");
            table.extend(rows.into_iter().map(|(_, row)| row), &Source::Default);
            Self { ranks: table.resolve(Level::Ranks, 2), hints: Vec::new(), scheduled: 0 }
        })
    }

    fn find(size: u32, hints: Hints) -> &'static Self {
        let known = || {
            let known = KNOWN.lock();
            known.iter().copied().find(|s| s.ranks.members.contains(&size) && s.hints == hints)
        };
        known().unwrap_or_else(|| {
            let ranks = table(&hints).resolve(Level::Ranks, size);
            let by_schedule = |call: &Call| {
                let of = call.collective().map(|collective| ranks.of(collective));
                of.is_some_and(|of| of.all().any(|(_, step)| step.algorithm == Schedule))
            };
            let scheduled =
                Call::ALL.iter().filter(|call| by_schedule(call)).map(|call| 1 << *call as u32).sum();
            let made: &'static Self = Box::leak(Box::new(Self { ranks, hints, scheduled }));
            KNOWN.lock().push(made);
            made
        })
    }

    /// Returns what holds after a change of hints; what is not understood changes nothing.
    fn with(&'static self, size: u32, pairs: &[(String, String)]) -> &'static Self {
        let mut hints = self.hints.clone();
        for (key, value) in pairs.iter().filter(|(key, value)| understood(key, value).is_some()) {
            hints.retain(|(k, _)| k != key);
            hints.push((key.clone(), value.clone()));
        }
        hints.sort();
        if hints == self.hints { self } else { Self::find(size, hints) }
    }

    /// Returns what to do in a call with `bytes` bytes.
    #[inline]
    pub fn step(&self, call: Call, bytes: u64) -> Step {
        self.ranks.of(call.collective().unwrap_or(Collective::Barrier)).at(bytes)
    }
}

/// The selection of a rank's team, and how often it was changed.
pub(crate) struct Chosen {
    selection: AtomicPtr<Selection>,
    /// The same as the selection's, where every call looks.
    scheduled: AtomicU32,
    changes: AtomicU64,
}

impl Chosen {
    /// Begins with a selection.
    pub fn new(selection: &'static Selection) -> Self {
        Self {
            selection: AtomicPtr::new(core::ptr::from_ref(selection).cast_mut()),
            scheduled: AtomicU32::new(selection.scheduled),
            changes: AtomicU64::new(0),
        }
    }

    fn set(&self, selection: &'static Selection) {
        self.scheduled.store(selection.scheduled, Ordering::Relaxed);
        self.selection.store(core::ptr::from_ref(selection).cast_mut(), Ordering::Release);
    }

    #[inline]
    fn get(&self) -> &'static Selection {
        // SAFETY: only selections that live for ever are stored.
        unsafe { &*self.selection.load(Ordering::Acquire) }
    }
}

/// A change that not all ranks have come to.
pub(crate) struct Change {
    number: u64,
    taken: u32,
    selection: &'static Selection,
}

impl Team {
    /// Returns what the rank's operations take.
    #[inline]
    pub(crate) fn selection(&self) -> &'static Selection {
        self.chosen.get()
    }

    /// Returns what to do in a call with `bytes` bytes.
    #[inline]
    pub(crate) fn step(&self, call: Call, bytes: u64) -> Step {
        self.selection().step(call, bytes)
    }

    /// Tells whether the blocking form of an operation goes by a schedule.
    #[inline]
    pub(crate) fn goes_by_schedule(&self, operation: &Operation<'_>) -> bool {
        self.chosen.scheduled.load(Ordering::Relaxed) & 1 << operation.call as u32 != 0
            && self.is_scheduled(operation)
    }

    #[cold]
    fn is_scheduled(&self, operation: &Operation<'_>) -> bool {
        let Operation { call, send, receive, .. } = operation;
        let own = self.rank();
        let bytes = match call {
            Call::Broadcast if send.is_none() => receive.piece(0).bytes(),
            Call::Gather if send.is_none() => receive.piece(own).bytes(),
            Call::Scatter if receive.is_none() => send.piece(own).bytes(),
            Call::Scatter => receive.piece(0).bytes(),
            Call::Allgather => receive.piece(0).bytes(),
            Call::Allgatherv => (0..self.size()).map(|rank| receive.piece(rank).bytes()).max().unwrap_or(0),
            Call::Alltoall => receive.piece_of_all().bytes(),
            // Not all ranks know; the choice does not depend on it.
            Call::Barrier | Call::Finalize | Call::Disconnect => 0,
            Call::Gatherv | Call::Scatterv | Call::Alltoallv | Call::Alltoallw => 0,
            _ => send.piece(0).bytes(),
        };
        self.size() > 1 && self.step(*call, bytes).algorithm == Schedule
    }

    /// Returns what a request with hints of its own takes.
    pub(crate) fn selection_with(&self, pairs: &[(String, String)]) -> &'static Selection {
        self.selection().with(self.size(), pairs)
    }

    /// Takes over hints, of which those that are not understood are ignored. The ranks of a communicator make this call
    /// at the same places among its collective operations; the first to come to one decides for all. Waits for nobody:
    /// on a communicator of several node processes, which would have to talk to agree, each rank takes its own.
    pub fn hint(&self, pairs: &[(String, String)]) {
        if self.spread().is_some() {
            return self.chosen.set(self.selection_with(pairs));
        }
        let number = self.chosen.changes.fetch_add(1, Ordering::Relaxed);
        let make = || self.selection_with(pairs);
        let selection = match self.shared_by_all() {
            None => make(),
            Some(shared) => {
                let take = |made: Option<&'static Selection>| {
                    let mut changes = shared.changes.lock();
                    let place = changes.iter().position(|change| change.number == number);
                    let place = match (place, made) {
                        (Some(place), _) => place,
                        (None, Some(selection)) => {
                            changes.push(Change { number, taken: 0, selection });
                            changes.len() - 1
                        }
                        (None, None) => return None,
                    };
                    changes[place].taken += 1;
                    let selection = changes[place].selection;
                    if changes[place].taken == self.size() {
                        changes.swap_remove(place);
                    }
                    Some(selection)
                };
                // Settling is too long for the lock.
                take(None).or_else(|| take(Some(make()))).expect("made if nobody had")
            }
        };
        self.chosen.set(selection);
    }

    /// Returns the hints in effect: keys and values.
    pub fn hints(&self) -> &'static [(String, String)] {
        &self.selection().hints
    }

    /// Returns what holds between so many node processes.
    #[cfg(test)]
    pub fn between_nodes(&self, nodes: u32) -> &'static Resolved {
        self.selection().between_nodes(nodes)
    }
}

impl Selection {
    /// Returns what holds between so many node processes.
    pub fn between_nodes(&self, nodes: u32) -> &'static Resolved {
        let hints = &self.hints;
        let mut known = BETWEEN_NODES.lock();
        if let Some((_, resolved)) = known.iter().find(|(h, r)| h == hints && r.members.contains(&nodes)) {
            return resolved;
        }
        let made: &'static Resolved = Box::leak(Box::new(table(hints).resolve(Level::Nodes, nodes)));
        known.push((hints.clone(), made));
        made
    }
}

/// Returns how data goes that takes `bytes` bytes in slots with room for `room`.
#[inline]
fn way(team: &Team, call: Call, bytes: u64, room: usize) -> Algorithm {
    // Ranks that are apart cut what is longer, so that all of them copy at a time.
    let room = if team.are_apart() { room.min(WHOLE as usize) } else { room };
    if bytes <= room as u64 && team.step(call, bytes).algorithm == Slots {
        Algorithm::Slots
    } else {
        Algorithm::InPlace
    }
}

/// Returns how a root hands out the same `bytes` bytes to all.
#[inline]
pub(crate) fn broadcast(team: &Team, bytes: u64) -> Algorithm {
    way(team, Call::Broadcast, bytes, team.slots().total())
}

/// Returns how ranks contribute at most `bytes` bytes each.
#[inline]
pub(crate) fn contribution(team: &Team, call: Call, bytes: u64) -> Algorithm {
    way(team, call, bytes, team.slots().capacity())
}

/// Returns how ranks reduce what they contribute.
#[inline]
pub(crate) fn reduction(team: &Team, call: Call, send: &Data<'_>) -> Algorithm {
    send.span().map_or(Algorithm::InPlace, |span| {
        let step = team.step(call, send.bytes());
        let room = team.slots().capacity();
        let room = if team.are_apart() { room.min(WHOLE as usize) } else { room };
        if span <= room as u64 && step.algorithm == Slots { Algorithm::Slots } else { Algorithm::InPlace }
    })
}

/// Tells whether a reduction among `size` ranks whose data takes `span` bytes in a slot, if it can be in one, is done in
/// one step: when the blocking form goes through slots, so that both give the same result.
pub(crate) fn is_small(step: Step, size: u32, span: Option<u64>) -> bool {
    step.algorithm != InPlace && span.is_some_and(|span| span <= Memory::capacity_for(size as usize) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.into(), value.into())
    }

    #[test]
    fn hints_change_what_they_name_and_nothing_else() {
        let plain = Selection::of(5);
        assert!(core::ptr::eq(plain, Selection::of(5)));
        assert_eq!(plain.step(Call::Broadcast, 8).algorithm, Slots);
        let hinted = plain.with(5, &[pair("weft_bcast_algorithm", "in-place; slots @64-")]);
        assert_eq!(hinted.step(Call::Broadcast, 8).algorithm, InPlace);
        assert_eq!(hinted.step(Call::Broadcast, 64).algorithm, Slots);
        assert_eq!(hinted.step(Call::Reduce, 8).algorithm, Slots);
        let again = hinted.with(5, &[pair("weft_bcast_algorithm", "ring"), pair("colour", "red")]);
        assert!(core::ptr::eq(hinted, again));
        assert_eq!(again.hints, [pair("weft_bcast_algorithm", "in-place; slots @64-")]);
    }

    #[test]
    fn the_first_to_come_decides_for_all() {
        let teams: Vec<_> = (0..3).map(|rank| Team::join_at(1 << 21, 3, rank, |_| 0)).collect();
        let of = |team: &Team| team.step(Call::Allreduce, 8).algorithm;
        let first = [pair("weft_allreduce_algorithm", "in-place")];
        let second = [pair("weft_allreduce_algorithm", "schedule")];
        teams[2].hint(&first);
        assert_eq!(of(&teams[0]), Slots);
        teams[2].hint(&second);
        teams[0].hint(&second);
        assert_eq!((of(&teams[0]), of(&teams[2])), (InPlace, Schedule));
        teams[0].hint(&[]);
        teams[1].hint(&[]);
        teams[1].hint(&first);
        assert!(teams.iter().all(|team| of(team) == Schedule && team.hints() == second));
        assert!(teams[0].shared_by_all().unwrap().changes.lock().is_empty());
    }

    #[test]
    fn rows_between_nodes_come_from_the_same_hints() {
        let team = Team::join_at((1 << 21) + 1, 1, 0, |_| 0);
        let of = || team.between_nodes(7).of(Collective::Bcast).at(8).algorithm;
        assert_eq!(of(), collectives::Algorithm::Binary);
        team.hint(&[pair("weft_bcast_nodes_algorithm", "chain segment=8K")]);
        assert_eq!(of(), collectives::Algorithm::Chain);
        assert_eq!(team.between_nodes(7).of(Collective::Bcast).at(8).segment, 8 << 10);
    }
}
