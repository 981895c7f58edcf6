//! Handles as integers (chapter 19): what `MPI_Comm_toint`, `MPI_Comm_c2f` and the like make of them.

use crate::process::Process;
use core::ffi::c_int;
use std::collections::HashMap;
use std::sync::{LazyLock, RwLock};

/// Handles too wide for an `int`, and their numbers.
///
/// A number belongs to a place in a rank's table of objects, not to an object: a handle of an object that came to a place
/// where another was freed takes over its entry. So entries are as many as there ever were objects at once, and nothing
/// need be done when an object is freed. The lowest digit of a number counts the objects of its place, so that the number
/// of a freed one is not taken for that of its successor.
#[derive(Default)]
struct Wide {
    /// By entry: the handle, and its number.
    entries: Vec<(usize, c_int)>,
    places: HashMap<(u32, usize), usize>,
}

static WIDE: LazyLock<RwLock<Wide>> = LazyLock::new(RwLock::default);

/// Numbers of wide handles count down from here, so they meet neither narrow handles nor small negative constants.
const FIRST_WIDE: c_int = -1_000_000;
/// How many numbers an entry has.
const NUMBERS: c_int = 16;

/// Returns the place in a table that a rank's handle means: that is in its lower half (`weft_base::handle`). The handle
/// of a request that was complete at once has a place of its own.
fn place(rank: u32, handle: usize) -> (u32, usize) {
    (
        rank,
        if weft_p2p::is_memoryless(weft_base::abi::Request(handle)) { handle } else { handle & 0xffff_ffff },
    )
}

impl Wide {
    fn number(&self, rank: u32, handle: usize) -> Option<c_int> {
        let (known, number) = self.entries[*self.places.get(&place(rank, handle))?];
        (known == handle).then_some(number)
    }

    fn add(&mut self, rank: u32, handle: usize) -> c_int {
        let next = self.entries.len();
        let index = *self.places.entry(place(rank, handle)).or_insert(next);
        if index == next {
            let first = c_int::try_from(index).ok().and_then(|index| index.checked_mul(NUMBERS));
            let first =
                first.and_then(|first| FIRST_WIDE.checked_sub(first)).expect("fewer than 2^27 handles");
            self.entries.push((handle, first));
        } else if self.entries[index].0 != handle {
            let used = FIRST_WIDE - self.entries[index].1;
            let number = FIRST_WIDE - (used - used % NUMBERS + (used + 1) % NUMBERS);
            self.entries[index] = (handle, number);
        }
        self.entries[index].1
    }

    /// Returns the handle of a number, or a value that every check of a handle refuses.
    fn handle(&self, number: c_int) -> usize {
        let index =
            usize::try_from((i64::from(FIRST_WIDE) - i64::from(number)).div_euclid(NUMBERS.into())).ok();
        let entry = index.and_then(|index| self.entries.get(index));
        entry.filter(|(_, current)| *current == number).map_or(0, |(handle, _)| *handle)
    }
}

/// Returns the integer of a handle of the calling rank.
pub fn to_int(handle: usize) -> c_int {
    if let Ok(narrow) = c_int::try_from(handle) {
        return narrow;
    }
    let rank = Process::any().world_rank;
    if let Some(number) = WIDE.read().unwrap_or_else(|e| e.into_inner()).number(rank, handle) {
        return number;
    }
    WIDE.write().unwrap_or_else(|e| e.into_inner()).add(rank, handle)
}

/// Returns the handle of an integer.
pub fn from_int(number: c_int) -> usize {
    match usize::try_from(number) {
        Ok(narrow) => narrow,
        Err(_) => WIDE.read().unwrap_or_else(|e| e.into_inner()).handle(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_belong_to_places_and_tell_a_freed_handle_from_its_successor() {
        let mut wide = Wide::default();
        let handle = |generation: usize, index: usize| generation << 48 | 3 << 32 | 0x6000_1000 | index;
        let numbers: Vec<c_int> = (1..40).map(|generation| wide.add(3, handle(generation, 0))).collect();
        assert_eq!(wide.entries.len(), 1);
        for (index, &number) in numbers.iter().enumerate() {
            let current = number == numbers[38];
            assert_eq!(wide.handle(number) == handle(39, 0), current, "{index}");
            assert_eq!(numbers[..index].contains(&number), index >= 16);
        }
        assert_eq!(wide.add(3, handle(39, 0)), numbers[38]);
        assert_eq!(wide.number(3, handle(39, 0)), Some(numbers[38]));
        assert_eq!(wide.number(3, handle(38, 0)), None);
        let (other, rank) = (wide.add(3, handle(1, 1)), wide.add(4, handle(39, 0)));
        let completed = wide.add(3, weft_p2p::COMPLETED_COLLECTIVE.0);
        let request = wide.add(3, 5 << 32 | weft_p2p::COMPLETED_COLLECTIVE.0 & 0xffff_ffff);
        assert_eq!(wide.handle(completed), weft_p2p::COMPLETED_COLLECTIVE.0);
        let all = [numbers[38], other, rank, completed, request];
        assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), all.len());
        assert!(all.iter().all(|&number| number <= FIRST_WIDE && wide.handle(number) != 0));
        for wrong in [FIRST_WIDE + 1, -1, FIRST_WIDE - 16 * 5, c_int::MIN] {
            assert_eq!(wide.handle(wrong), 0);
        }
    }
}
