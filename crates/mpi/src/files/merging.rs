//! Collective operations of ranks of one process: merged, so that some ranks read or write all that lies in a part of the file.
#![allow(unsafe_code)] // Looks at operations of other ranks.

use crate::files::file::File;
use crate::jobs::nodes;
use std::sync::atomic::Ordering;
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_coll::Team;
use weft_io::Access;

/// Carries out a collective operation, and returns how many bytes it has moved. A rank whose arguments are wrong takes part without
/// data.
///
/// # Errors
/// What was wrong with the arguments; what became of the operation, also at another rank where they were merged.
pub(super) fn carry_out(file: &File, made: Result<Access>) -> Result<u64> {
    let is_alone = file.team.size() == 1 || file.is_atomic.load(Ordering::Relaxed);
    if is_alone || !file.view().representation().is_plain() || nodes::are_apart(&file.group) {
        return made?.carry_out_aside();
    }
    let Some(merged) = merge(&file.team, made.as_ref().ok())? else {
        return made?.carry_out_aside();
    };
    let access = made?;
    Ok(merged?.map_or(access.bytes(), |end| access.bytes_until(end)))
}

/// Parts of a file that ranks carry out begin at multiples of so many bytes.
const ALIGNMENT: u64 = 64 << 10;

/// Carries out the operations of all ranks of a team, all of which are in this process, part of the file by part. Returns where the
/// file has ended, if reading has met its end; nothing if merging is of no use.
///
/// # Errors
/// `MPI_ERR_OTHER` if the ranks are in different calls. Within: that of any rank.
fn merge(team: &Team, mine: Option<&Access>) -> Result<Option<Result<Option<u64>>>> {
    let (start, end) = mine.map_or((0, 0), Access::range);
    let is_mergeable = mine.is_none_or(Access::is_mergeable);
    let is_one_piece = mine.is_none_or(Access::is_one_piece);
    let address = mine.map_or(0, |access| core::ptr::from_ref(access).expose_provenance() as u64);
    let flags = u64::from(is_mergeable) | u64::from(is_one_piece) << 1;
    let all = gather(team, [address, start, end, flags])?;
    if all.iter().any(|told| told[3] & 1 == 0) || all.iter().all(|told| told[3] & 2 != 0) {
        return Ok(None);
    }
    let ranges = || all.iter().filter(|told| told[1] < told[2]);
    let first = ranges().map(|told| told[1]).min().unwrap_or(0) / ALIGNMENT * ALIGNMENT;
    let behind = ranges().map(|told| told[2]).max().unwrap_or(0);
    let (ranks, rank) = (u64::from(team.size()), u64::from(team.rank()));
    let parts = ranks.min(2 * weft_sched::workers().max(1) as u64);
    let length = (behind - first).div_ceil(parts).next_multiple_of(ALIGNMENT);
    // Those who work are far from each other, so that they are on several workers.
    let part = (0..parts).find(|part| part * ranks / parts == rank);
    let done = part.map_or(Ok(None), |part| {
        // SAFETY: each rank's operation lives until all have told what became of their parts, and nobody changes it.
        let access = |told: &[u64; 4]| unsafe {
            core::ptr::with_exposed_provenance::<Access>(told[0] as usize).as_ref()
        };
        let accesses: Vec<&Access> = all.iter().filter_map(access).collect();
        let from = first + part * length;
        Access::carry_out_between(&accesses, from, (from + length).min(behind))
    });
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
