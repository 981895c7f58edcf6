//! Communicators of parts of a communicator's ranks (chapter 7): `MPI_Comm_split` and `MPI_Comm_create`.
//!
//! All ranks show each other a color and a key. On an intercommunicator those of both sides do; the ranks of one color on
//! the left and on the right become the sides of a new intercommunicator.

use crate::arguments::check;
use crate::communicators::agreement;
use crate::communicators::communicator::{Communicator, publish};
use crate::communicators::contexts;
use crate::communicators::groups::one_origin;
use crate::jobs::strangers;
use crate::process::Process;
use core::ffi::c_int;
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::{Error, Out, Result, abi};
use weft_comm::{Communicator as Values, Group};

/// Which part a rank goes to; none for ranks that get no communicator. Equal ones become one part.
pub(crate) type Color = Option<u64>;

/// What one rank says in a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    color: Color,
    key: c_int,
}

const ENTRY: usize = 16;

impl Entry {
    fn encode(self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&self.color.unwrap_or(0).to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.key.to_ne_bytes());
        bytes[12] = u8::from(self.color.is_some());
        bytes
    }

    fn decode(bytes: &[u8]) -> Self {
        let color = u64::from_ne_bytes(bytes[..8].try_into().expect("eight bytes"));
        let key = c_int::from_ne_bytes(bytes[8..12].try_into().expect("four bytes"));
        Self { color: (bytes[12] != 0).then_some(color), key }
    }
}

/// How everyone splits. Ranks are places in `Values::everyone`; the left side comes first, an intracommunicator has no
/// other.
struct Plan {
    entries: Vec<Entry>,
    left: usize,
    is_inter: bool,
}

impl Plan {
    /// Returns the places of one side's ranks of a color, in the order of their keys.
    fn side(&self, color: u64, places: std::ops::Range<usize>) -> Vec<u32> {
        let mut found: Vec<(c_int, u32)> = places
            .filter(|&place| self.entries[place].color == Some(color))
            .map(|place| (self.entries[place].key, place as u32))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, place)| place).collect()
    }

    fn left_side(&self, color: u64) -> Vec<u32> {
        self.side(color, 0..self.left)
    }

    fn right_side(&self, color: u64) -> Vec<u32> {
        self.side(color, self.left..self.entries.len())
    }

    /// Returns the colors that get a communicator, and the number of ranks of each.
    fn colors(&self) -> Vec<(u64, u32)> {
        let colors_of = |entries: &[Entry]| {
            let mut colors: Vec<u64> = entries.iter().filter_map(|entry| entry.color).collect();
            colors.sort_unstable();
            let mut counted: Vec<(u64, u32)> = Vec::new();
            for color in colors {
                match counted.last_mut() {
                    Some((last, count)) if *last == color => *count += 1,
                    _ => counted.push((color, 1)),
                }
            }
            counted
        };
        let left = colors_of(&self.entries[..self.left]);
        if !self.is_inter {
            return left;
        }
        let right = colors_of(&self.entries[self.left..]);
        let on_both = |(color, count): (u64, u32)| {
            let there = right.binary_search_by_key(&color, |&(c, _)| c).ok()?;
            Some((color, count + right[there].1))
        };
        left.into_iter().filter_map(on_both).collect()
    }
}

/// Splits `parent` by color and key. Returns the new communicator's values, without a communicator for `None` and, on an
/// intercommunicator, for colors that only one side has.
pub(crate) fn split_values(parent: &Communicator, color: Color, key: c_int) -> Result<Option<Values>> {
    let team = &parent.team;
    let mut all = vec![0; ENTRY * team.size() as usize];
    team.allgather_bytes(&Entry { color, key }.encode(), &mut all)?;
    let values = &parent.values;
    let left = match &values.remote {
        Some(remote) if !values.is_left => remote.size(),
        _ => values.size(),
    };
    let entries = all.chunks_exact(ENTRY).map(Entry::decode).collect();
    let plan = Plan { entries, left: left as usize, is_inter: values.is_inter() };
    let colors = plan.colors();
    let counts: Vec<u32> = colors.iter().map(|&(_, count)| count).collect();
    let numbers = agreement::on_numbers(parent, &counts)?;
    let mine = color.and_then(|color| colors.binary_search_by_key(&color, |&(c, _)| c).ok());
    if strangers::are_among(values) {
        // The other parts' numbers were claimed, too.
        let others = numbers.iter().enumerate().filter(|&(place, _)| Some(place) != mine);
        others.for_each(|(_, &number)| contexts::let_go(number));
    }
    let (Some(color), Some(mine)) = (color, mine) else { return Ok(None) };
    let context = numbers[mine];
    let (everyone, me) = values.everyone();
    let group_of = |places: &[u32]| {
        let ranks: Vec<u32> = places.iter().map(|&place| everyone.world_rank(place)).collect();
        Group::from_ranks(&ranks).with_origin(values.group.origin())
    };
    let (left, right) = (plan.left_side(color), plan.right_side(color));
    let (own, other) = if (me as usize) < plan.left { (left, right) } else { (right, left) };
    let rank = own.iter().position(|&place| place == me).expect("a rank with a color is among its members");
    let remote = plan.is_inter.then(|| group_of(&other));
    Ok(Some(Values { context, rank: rank as u32, group: group_of(&own), remote, is_left: values.is_left }))
}

/// Splits `parent` and stores the handle of the new communicator, or `MPI_COMM_NULL`.
pub(crate) fn split(
    process: &Process,
    parent: &Communicator,
    color: Color,
    key: c_int,
    newcomm: Out<abi::Comm>,
) -> Result<Option<Arc<Communicator>>> {
    let Some(values) = split_values(parent, color, key)? else {
        newcomm.set(MPI_COMM_NULL);
        return Ok(None);
    };
    Ok(Some(publish(process, Communicator::new(values, parent.error_handler()), newcomm)))
}

/// `MPI_Comm_split`
///
/// # Errors
/// `MPI_ERR_COMM`; `MPI_ERR_ARG` for a negative color that is not `MPI_UNDEFINED`.
pub fn comm_split(comm: abi::Comm, color: c_int, key: c_int, newcomm: Out<abi::Comm>) -> Result {
    check::output(newcomm, "newcomm")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    if color < 0 && color != MPI_UNDEFINED {
        let text = format!("color is {color}; it must not be negative (or be MPI_UNDEFINED)");
        return Err(Error::new(MPI_ERR_ARG, text));
    }
    split(process, &parent, u64::try_from(color).ok(), key, newcomm)?;
    Ok(())
}

/// Checks that all members of a group argument are in the communicator's own group.
pub(crate) fn all_within(members: &Group, parent: &Group) -> Result {
    match members.iter().find(|&rank| parent.rank_of(rank).is_none()) {
        None => Ok(()),
        Some(stranger) => {
            let text = format!("group has rank {stranger} of MPI_COMM_WORLD, which is not in comm's group");
            Err(Error::new(MPI_ERR_GROUP, text))
        }
    }
}

/// `MPI_Comm_create`
///
/// # Errors
/// `MPI_ERR_COMM`; `MPI_ERR_GROUP` when the group has members that are not in `comm`, or when its members have passed
/// different groups.
pub fn comm_create(comm: abi::Comm, group: abi::Group, newcomm: Out<abi::Comm>) -> Result {
    check::output(newcomm, "newcomm")?;
    let process = Process::current()?;
    let parent = process.communicator(comm)?;
    let members = process.group(group)?;
    one_origin(&parent.values.group, &members, ["comm", "group"], MPI_ERR_GROUP)?;
    all_within(&members, &parent.values.group)?;
    let (color, key) = match members.rank_of(process.world_rank) {
        None => (None, 0),
        // One group for each side of an intercommunicator.
        Some(rank) if parent.values.is_inter() => (Some(0), rank),
        // Ranks may pass different, disjoint groups: the first member tells them apart.
        Some(rank) => (parent.values.group.rank_of(members.world_rank(0)).map(u64::from), rank),
    };
    newcomm.set(MPI_COMM_NULL);
    let Some(values) = split_values(&parent, color, key as c_int)? else { return Ok(()) };
    let created = Communicator::new(values, parent.error_handler());
    if !created.values.group.iter().eq(members.iter()) {
        let text = "the ranks of group passed different groups; all its members must pass the same, in the same order";
        return Err(Error::new(MPI_ERR_GROUP, text));
    }
    publish(process, created, newcomm);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(left: &[(i64, c_int)], right: &[(i64, c_int)]) -> Plan {
        let entry = |&(color, key): &(i64, c_int)| Entry { color: u64::try_from(color).ok(), key };
        Plan {
            entries: left.iter().chain(right).map(entry).collect(),
            left: left.len(),
            is_inter: !right.is_empty(),
        }
    }

    #[test]
    fn entries_survive_the_way() {
        for entry in [
            Entry { color: None, key: -5 },
            Entry { color: Some(0), key: c_int::MIN },
            Entry { color: Some(u64::MAX), key: c_int::MAX },
        ] {
            assert_eq!(Entry::decode(&entry.encode()), entry);
        }
    }

    #[test]
    fn keys_order_and_places_break_ties() {
        let plan = plan(&[(3, 9), (3, -1), (-1, 0), (0, 0), (3, 9)], &[]);
        assert_eq!(plan.colors(), [(0, 1), (3, 3)]);
        assert_eq!(plan.left_side(3), [1, 0, 4]);
        assert!(plan.right_side(3).is_empty());
    }

    #[test]
    fn a_color_needs_both_sides() {
        let plan = plan(&[(1, 0), (2, 0), (2, -1)], &[(2, 5), (4, 0), (-1, 0), (2, 4)]);
        assert_eq!(plan.colors(), [(2, 4)]);
        assert_eq!(plan.left_side(2), [2, 1]);
        assert_eq!(plan.right_side(2), [6, 3]);
    }
}
