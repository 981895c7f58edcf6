//! Collective operations, merged: some ranks read or write all that lies in a part of the file, for all ranks of a process straight
//! from and to their memory, for those of several processes by an exchange.
#![allow(unsafe_code)] // Looks at operations of other ranks.

use crate::files::exchange::Exchange;
use crate::files::file::File;
use crate::files::hints::{Tuning, Way};
use crate::jobs::nodes;
use std::sync::atomic::Ordering;
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_coll::Team;
use weft_io::{Access, Direction, Domains, workers};

/// Carries out a collective operation, and returns how many bytes it has moved. A rank whose arguments are wrong takes part without
/// data.
///
/// # Errors
/// What was wrong with the arguments; what became of the operation, also at another rank where they were merged.
pub(super) fn carry_out(file: &File, direction: Direction, made: Result<Access>) -> Result<u64> {
    let is_alone = file.team.size() == 1 || file.is_atomic.load(Ordering::Relaxed);
    let tuning = file.hints.lock().tuning;
    if is_alone || !file.view().representation().is_plain() || tuning.way(direction) == Way::Apart {
        return made?.carry_out_aside();
    }
    let Some(merged) = merge(file, tuning, direction, made.as_ref().ok())? else {
        return made?.carry_out_aside();
    };
    let access = made?;
    Ok(merged?.map_or(access.bytes(), |end| access.bytes_until(end)))
}

/// Of how many bytes pieces are that each rank of several processes moves itself: then the exchange takes longer than the calls.
const LONG: u64 = 256 << 10;
/// How many ranks of each host work on a file that several processes have open, at most, unless the program says how many.
const WORKERS: u64 = 8;

/// What a rank tells of its operation, as bits of a word.
const MERGEABLE: u64 = 1;
const USELESS: u64 = 2;
const WRITES: u64 = 4;

/// Chooses the ranks of a file that work for all.
pub(super) fn choose_workers(tuning: &Tuning, hosts: &[u32], are_apart: bool) -> Vec<u32> {
    let each = if are_apart { WORKERS } else { 2 * weft_sched::workers().max(1) as u64 };
    workers(hosts, tuning.nodes, each)
}

/// Carries out the operations of all ranks, part of the file by part. Returns where the file has ended, if reading has met its end;
/// nothing if merging is of no use.
///
/// # Errors
/// `MPI_ERR_OTHER` if the ranks are in different calls. Within: that of any rank.
fn merge(
    file: &File,
    tuning: Tuning,
    direction: Direction,
    mine: Option<&Access>,
) -> Result<Option<Result<Option<u64>>>> {
    let team = &file.team;
    let are_apart = nodes::are_apart(&file.group);
    let (start, end) = mine.map_or((0, 0), Access::range);
    let is_useless = |access: &Access| match are_apart {
        false => access.is_one_piece(),
        true => access.has_pieces_of(LONG),
    };
    let mut flags = if direction == Direction::Write { WRITES } else { 0 };
    flags |= if mine.is_none_or(Access::is_mergeable) { MERGEABLE } else { 0 };
    flags |= if mine.is_none_or(is_useless) { USELESS } else { 0 };
    let address = mine.map_or(0, |access| core::ptr::from_ref(access).expose_provenance() as u64);
    let all = gather(team, [address, start, end, flags, u64::from(nodes::host())])?;
    let has = |told: &[u64; 5], flag: u64| told[3] & flag != 0;
    if let Some(rank) = all.iter().position(|told| has(told, WRITES) != has(&all[0], WRITES)) {
        let text =
            format!("rank {rank} of the file's group is in a collective operation of the other direction");
        return Err(Error::new(MPI_ERR_OTHER, text));
    }
    let is_useless = tuning.way(direction) != Way::Merged && all.iter().all(|told| has(told, USELESS));
    if is_useless || !all.iter().all(|told| has(told, MERGEABLE)) {
        return Ok(None);
    }
    let ranges = || all.iter().filter(|told| told[1] < told[2]);
    let first = ranges().map(|told| told[1]).min().unwrap_or(0);
    let behind = ranges().map(|told| told[2]).max().unwrap_or(0);
    let hosts: Vec<u32> = all.iter().map(|told| told[4] as u32).collect();
    let workers = choose_workers(&tuning, &hosts, are_apart);
    let domains = Domains::new(first, behind, workers.len() as u64, tuning.alignment(), tuning.buffer);
    let done = if are_apart {
        let writes = direction == Direction::Write;
        Exchange { team, opened: &file.opened, workers: &workers, domains, writes }.run(mine)?
    } else {
        let part = workers.iter().position(|&rank| rank == team.rank());
        part.map_or(Ok(None), |part| {
            // SAFETY: each rank's operation lives until all have told what became of their parts, and nobody changes it.
            let access = |told: &[u64; 5]| unsafe {
                core::ptr::with_exposed_provenance::<Access>(told[0] as usize).as_ref()
            };
            let accesses: Vec<&Access> = all.iter().filter_map(access).collect();
            Access::carry_out_between(&accesses, domains.part(part as u64), tuning.buffer)
        })
    };
    let class = done.as_ref().err().map_or(MPI_SUCCESS, |error| error.class);
    let over = done.as_ref().ok().copied().flatten().unwrap_or(u64::MAX);
    let all = gather(team, [class as u64, over])?;
    if let Err(error) = done {
        return Ok(Some(Err(error)));
    }
    if let Some(rank) = all.iter().position(|told| told[0] as i32 != MPI_SUCCESS) {
        let text = format!("rank {rank} of the file's group could not do its part of a collective operation");
        return Ok(Some(Err(Error::new(all[rank][0] as i32, text))));
    }
    let over = all.iter().map(|told| told[1]).min().filter(|&over| over != u64::MAX);
    Ok(Some(Ok(over)))
}

/// Collects words of all ranks.
pub(super) fn gather<const N: usize>(team: &Team, mine: [u64; N]) -> Result<Vec<[u64; N]>> {
    let mine = mine.map(u64::to_ne_bytes);
    let mut all = vec![[[0; 8]; N]; team.size() as usize];
    team.allgather_bytes(mine.as_flattened(), all.as_flattened_mut().as_flattened_mut())?;
    Ok(all.into_iter().map(|told| told.map(u64::from_ne_bytes)).collect())
}
