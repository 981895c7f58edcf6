//! Where the memory of a window's ranks lies, for programs that use it directly.

use crate::arguments::check;
use crate::jobs::nodes;
use crate::process::Process;
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Aint};
use weft_base::arguments::CountOut;
use weft_base::constants::*;
use weft_base::{Error, Out, Result};

/// `MPI_Win_shared_query`: `baseptr` is the address of a pointer variable. Memory that this process does not see has size 0. Of windows
/// that are not dynamic it sees that of its own ranks, and what was allocated with the window by ranks of the host.
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_RANK`, `MPI_ERR_ARG`; `MPI_ERR_RMA_FLAVOR` for a dynamic window.
pub fn win_shared_query(
    win: abi::Win,
    rank: c_int,
    size: Out<Aint>,
    disp_unit: CountOut,
    baseptr: *mut c_void,
) -> Result {
    check::output(size, "size")?;
    let baseptr = check::pointer_output(baseptr, "baseptr")?;
    if disp_unit.is_null() {
        return Err(Error::new(MPI_ERR_ARG, "disp_unit is a null pointer; pass the address of a variable"));
    }
    let window = Process::current()?.window(win)?;
    if window.predefined.flavor == MPI_WIN_FLAVOR_DYNAMIC {
        return Err(Error::new(MPI_ERR_RMA_FLAVOR, "win was created by MPI_Win_create_dynamic"));
    }
    let shared = window.rma.shared();
    let ranks = window.group.size();
    let rank = match u32::try_from(rank) {
        Ok(rank) if rank < ranks => rank,
        // The first rank of the host with memory, if there is one; all ranks of a host get the same answer.
        _ if rank == MPI_PROC_NULL => {
            let host_of = |rank| nodes::host_of(nodes::node_of(window.group.world_rank(rank)));
            let is_near = |rank| shared.segment(rank).is_seen() || host_of(rank) == nodes::host();
            (0..ranks).find(|&rank| shared.segment(rank).size > 0 && is_near(rank)).unwrap_or(0)
        }
        _ => {
            let text = format!("rank is {rank}; use a rank from 0 to {}, or MPI_PROC_NULL", ranks - 1);
            return Err(Error::new(MPI_ERR_RANK, text));
        }
    };
    let segment = shared.segment(rank);
    let (extent, base) = if segment.is_seen() { (segment.size, segment.base) } else { (0, 0) };
    size.set(extent as Aint);
    disp_unit.set(segment.unit);
    baseptr.set(base as *mut c_void);
    Ok(())
}
