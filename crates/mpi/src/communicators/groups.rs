//! Groups (chapter 7).

use crate::arguments::check;
use crate::process::Process;
use core::ffi::c_int;
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::{Error, In, Out, Result, abi};
use weft_comm::{Comparison, Group};

/// Gives out a handle for `group`; the empty group has a predefined one.
pub(crate) fn give(process: &Process, group: Group, newgroup: Out<abi::Group>) {
    let empty = group.size() == 0;
    newgroup.set(if empty { MPI_GROUP_EMPTY } else { abi::Group(process.groups.insert(Arc::new(group))) });
}

fn with_two(
    group1: abi::Group,
    group2: abi::Group,
    newgroup: Out<abi::Group>,
    f: impl FnOnce(&Group, &Group) -> Group,
) -> Result {
    check::output(newgroup, "newgroup")?;
    let process = Process::current()?;
    let (one, other) = (process.group(group1)?, process.group(group2)?);
    one_origin(&one, &other, ["group1", "group2"], MPI_ERR_GROUP)?;
    give(process, f(&one, &other), newgroup);
    Ok(())
}

/// Refuses, with an error of `class`, two objects in one call that come from different sessions, or from a session and the
/// world model. An empty group may come from anywhere.
pub(crate) fn one_origin(one: &Group, other: &Group, names: [&str; 2], class: i32) -> Result {
    if one.origin() == other.origin() || one.size() == 0 || other.size() == 0 {
        return Ok(());
    }
    let from = |group: &Group| if group.origin() == 0 { "the world model" } else { "a session" };
    let other_one = if from(one) == from(other) { "another session" } else { from(other) };
    let [first, second] = names;
    let text = format!(
        "{second} comes from {other_one} and {first} from {}; objects of one call must come from the same session",
        from(one)
    );
    Err(Error::new(class, text))
}

/// `MPI_Group_size`
///
/// # Errors
/// `MPI_ERR_GROUP`, `MPI_ERR_ARG`
pub fn group_size(group: abi::Group, size: Out<c_int>) -> Result {
    check::output(size, "size")?;
    size.set(Process::current()?.group(group)?.size() as c_int);
    Ok(())
}

/// `MPI_Group_rank`
///
/// # Errors
/// `MPI_ERR_GROUP`, `MPI_ERR_ARG`
pub fn group_rank(group: abi::Group, rank: Out<c_int>) -> Result {
    check::output(rank, "rank")?;
    let process = Process::current()?;
    let found = process.group(group)?.rank_of(process.world_rank);
    rank.set(found.map_or(MPI_UNDEFINED, |r| r as c_int));
    Ok(())
}

/// `MPI_Group_translate_ranks`: `ranks1` and `ranks2` have `n` elements each.
///
/// # Errors
/// `MPI_ERR_GROUP`, `MPI_ERR_ARG`, `MPI_ERR_RANK`
pub fn group_translate_ranks(
    group1: abi::Group,
    n: c_int,
    ranks1: In<c_int>,
    group2: abi::Group,
    ranks2: Out<c_int>,
) -> Result {
    let process = Process::current()?;
    let (from, to) = (process.group(group1)?, process.group(group2)?);
    one_origin(&from, &to, ["group1", "group2"], MPI_ERR_GROUP)?;
    let n = check::length(n, "n")?;
    check::array(ranks1.is_null(), n, "ranks1")?;
    check::array(ranks2.is_null(), n, "ranks2")?;
    for i in 0..n {
        let rank = ranks1.get(i);
        let translated = match rank {
            MPI_PROC_NULL => MPI_PROC_NULL,
            _ if rank >= 0 && (rank as u32) < from.size() => {
                to.rank_of(from.world_rank(rank as u32)).map_or(MPI_UNDEFINED, |r| r as c_int)
            }
            _ => return Err(bad_rank(rank, &format!("ranks1[{i}]"), from.size())),
        };
        ranks2.set_at(i, translated);
    }
    Ok(())
}

#[cold]
fn bad_rank(rank: impl std::fmt::Display, name: &str, size: u32) -> Error {
    Error::new(MPI_ERR_RANK, format!("{name} is {rank}; the group has {size} ranks, each may occur once"))
}

/// Maps a comparison to the standard's constant.
pub(crate) fn comparison(comparison: Comparison) -> c_int {
    match comparison {
        Comparison::Identical => MPI_IDENT,
        Comparison::Similar => MPI_SIMILAR,
        Comparison::Unequal => MPI_UNEQUAL,
    }
}

/// `MPI_Group_compare`
///
/// # Errors
/// `MPI_ERR_GROUP`, `MPI_ERR_ARG`
pub fn group_compare(group1: abi::Group, group2: abi::Group, result: Out<c_int>) -> Result {
    check::output(result, "result")?;
    let process = Process::current()?;
    let (one, other) = (process.group(group1)?, process.group(group2)?);
    one_origin(&one, &other, ["group1", "group2"], MPI_ERR_GROUP)?;
    result.set(comparison(one.compare(&other)));
    Ok(())
}

/// `MPI_Group_union`
///
/// # Errors
/// `MPI_ERR_GROUP`, `MPI_ERR_ARG`
pub fn group_union(group1: abi::Group, group2: abi::Group, newgroup: Out<abi::Group>) -> Result {
    with_two(group1, group2, newgroup, Group::union)
}

/// `MPI_Group_intersection`
///
/// # Errors
/// `MPI_ERR_GROUP`, `MPI_ERR_ARG`
pub fn group_intersection(group1: abi::Group, group2: abi::Group, newgroup: Out<abi::Group>) -> Result {
    with_two(group1, group2, newgroup, Group::intersection)
}

/// `MPI_Group_difference`
///
/// # Errors
/// `MPI_ERR_GROUP`, `MPI_ERR_ARG`
pub fn group_difference(group1: abi::Group, group2: abi::Group, newgroup: Out<abi::Group>) -> Result {
    with_two(group1, group2, newgroup, Group::difference)
}

/// Reads `n` ranks of a group.
fn indices(n: c_int, ranks: In<c_int>) -> Result<Vec<i64>> {
    let n = check::length(n, "n")?;
    check::array(ranks.is_null(), n, "ranks")?;
    Ok((0..n).map(|i| i64::from(ranks.get(i))).collect())
}

/// Expands `n` triplets (first, last, stride) of ranks of a group of `size`.
fn ranges(n: c_int, ranges: In<[c_int; 3]>, size: u32) -> Result<Vec<i64>> {
    let n = check::length(n, "n")?;
    check::array(ranges.is_null(), n, "ranges")?;
    let mut indices = Vec::new();
    for i in 0..n {
        let [first, last, stride] = ranges.get(i).map(i64::from);
        if stride == 0 || (last - first) * stride < 0 {
            let text = format!(
                "ranges[{i}] is ({first}, {last}, {stride}); the stride must lead from first to last"
            );
            return Err(Error::new(MPI_ERR_ARG, text));
        }
        // What is between two valid ranks is valid; a range that is wrong may be too long to be expanded.
        let steps = (last - first) / stride;
        for end in [first, first + steps * stride] {
            if !(0..i64::from(size)).contains(&end) {
                return Err(bad_rank(
                    end,
                    &format!("a rank of ranges[{i}], ({first}, {last}, {stride}),"),
                    size,
                ));
            }
        }
        if indices.len() as i64 + steps >= i64::from(size) {
            return Err(Error::new(MPI_ERR_RANK, format!("ranges[{i}] repeats ranks; each may occur once")));
        }
        indices.extend((0..=steps).map(|k| first + k * stride));
    }
    Ok(indices)
}

fn select(
    group: abi::Group,
    newgroup: Out<abi::Group>,
    name: &str,
    indices: impl FnOnce(u32) -> Result<Vec<i64>>,
    f: fn(&Group, &[i64]) -> std::result::Result<Group, i64>,
) -> Result {
    check::output(newgroup, "newgroup")?;
    let process = Process::current()?;
    let group = process.group(group)?;
    let indices = indices(group.size())?;
    let result = f(&group, &indices).map_err(|bad| {
        // The last of those that repeat each other is one too many.
        let at = indices.iter().rposition(|&index| index == bad).unwrap_or(0);
        let name = if name == "ranks" { format!("ranks[{at}]") } else { format!("a rank in {name}") };
        bad_rank(bad, &name, group.size())
    })?;
    give(process, result, newgroup);
    Ok(())
}

/// `MPI_Group_incl`
///
/// # Errors
/// `MPI_ERR_GROUP`, `MPI_ERR_ARG`, `MPI_ERR_RANK` for one out of range or repeated.
pub fn group_incl(group: abi::Group, n: c_int, ranks: In<c_int>, newgroup: Out<abi::Group>) -> Result {
    select(group, newgroup, "ranks", |_| indices(n, ranks), Group::include)
}

/// `MPI_Group_excl`
///
/// # Errors
/// As [`group_incl`].
pub fn group_excl(group: abi::Group, n: c_int, ranks: In<c_int>, newgroup: Out<abi::Group>) -> Result {
    select(group, newgroup, "ranks", |_| indices(n, ranks), Group::exclude)
}

/// `MPI_Group_range_incl`
///
/// # Errors
/// As [`group_incl`]; `MPI_ERR_ARG` for a stride that leads away from the last rank.
pub fn group_range_incl(
    group: abi::Group,
    n: c_int,
    triplets: In<[c_int; 3]>,
    newgroup: Out<abi::Group>,
) -> Result {
    select(group, newgroup, "ranges", |size| ranges(n, triplets, size), Group::include)
}

/// `MPI_Group_range_excl`
///
/// # Errors
/// As [`group_range_incl`].
pub fn group_range_excl(
    group: abi::Group,
    n: c_int,
    triplets: In<[c_int; 3]>,
    newgroup: Out<abi::Group>,
) -> Result {
    select(group, newgroup, "ranges", |size| ranges(n, triplets, size), Group::exclude)
}

/// `MPI_Group_free`
///
/// # Errors
/// `MPI_ERR_GROUP`, `MPI_ERR_ARG`
pub fn group_free(group: Out<abi::Group>) -> Result {
    check::output(group, "group")?;
    let handle = group.get_at(0);
    // MPI_GROUP_EMPTY is what the constructors above return for no members, so programs free it as they free others.
    if handle != MPI_GROUP_EMPTY {
        Process::current()?.groups.remove(handle.0)?;
    }
    group.set(MPI_GROUP_NULL);
    Ok(())
}
