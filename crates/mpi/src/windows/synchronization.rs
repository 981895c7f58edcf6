//! Synchronization: fences, general active target, locks, flushes.

use crate::arguments::check;
use crate::process::Process;
use crate::windows::arguments::Call;
use core::ffi::c_int;
use weft_base::constants::*;
use weft_base::{Error, Out, Result, abi};
use weft_rma::Held;

/// The assertions, by name.
const ASSERTIONS: [(c_int, &str); 5] = [
    (MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"),
    (MPI_MODE_NOSTORE, "MPI_MODE_NOSTORE"),
    (MPI_MODE_NOPUT, "MPI_MODE_NOPUT"),
    (MPI_MODE_NOPRECEDE, "MPI_MODE_NOPRECEDE"),
    (MPI_MODE_NOSUCCEED, "MPI_MODE_NOSUCCEED"),
];

/// Checks that only assertions are made that mean something for the call.
///
/// # Errors
/// `MPI_ERR_ASSERT`
#[inline]
fn assertions(assert: c_int, allowed: c_int) -> Result {
    if assert & !allowed == 0 { Ok(()) } else { Err(wrong_assertion(assert, allowed)) }
}

#[cold]
fn wrong_assertion(assert: c_int, allowed: c_int) -> Error {
    let names = |bits: c_int| {
        let names = ASSERTIONS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    let known = ASSERTIONS.iter().fold(0, |bits, (bit, _)| bits | bit);
    let wrong = if assert & !known == 0 {
        format!("assert has {}", names(assert & !allowed))
    } else {
        format!("assert is {assert}")
    };
    let text = format!("{wrong}; this call takes 0 or a combination of {}", names(allowed));
    Error::new(MPI_ERR_ASSERT, text)
}

/// `MPI_Win_fence`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_ASSERT`, `MPI_ERR_RMA_SYNC`
pub fn win_fence(assert: c_int, win: abi::Win) -> Result {
    let call = Call::new(win)?;
    assertions(assert, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED)?;
    call.window.rma.fence(assert & MPI_MODE_NOSUCCEED == 0)?;
    call.window.team.barrier()
}

/// Translates a group's ranks into those of the window.
fn ranks(call: &Call, group: abi::Group) -> Result<Vec<u32>> {
    let group = call.process.group(group)?;
    let members = &call.window.group;
    let of_window = |(index, rank): (usize, u32)| {
        members.rank_of(rank).ok_or_else(|| {
            let text = format!("group has rank {index}, which is process {rank} of the job and not in win");
            Error::new(MPI_ERR_GROUP, text)
        })
    };
    group.iter().enumerate().map(of_window).collect()
}

/// `MPI_Win_post`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_GROUP`, `MPI_ERR_ASSERT`, `MPI_ERR_RMA_SYNC`
pub fn win_post(group: abi::Group, assert: c_int, win: abi::Win) -> Result {
    let call = Call::new(win)?;
    assertions(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT)?;
    call.window.rma.post(&ranks(&call, group)?, assert & MPI_MODE_NOCHECK == 0)
}

/// `MPI_Win_start`: waits until all of the group have posted.
///
/// # Errors
/// As [`win_post`].
pub fn win_start(group: abi::Group, assert: c_int, win: abi::Win) -> Result {
    let call = Call::new(win)?;
    assertions(assert, MPI_MODE_NOCHECK)?;
    call.window.rma.start(ranks(&call, group)?, assert & MPI_MODE_NOCHECK == 0)
}

/// `MPI_Win_complete`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_RMA_SYNC`
pub fn win_complete(win: abi::Win) -> Result {
    Call::new(win)?.window.rma.complete()
}

/// `MPI_Win_wait`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_RMA_SYNC`
pub fn win_wait(win: abi::Win) -> Result {
    Call::new(win)?.window.rma.wait()
}

/// `MPI_Win_test`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_ARG`, `MPI_ERR_RMA_SYNC`
pub fn win_test(win: abi::Win, flag: Out<c_int>) -> Result {
    check::output(flag, "flag")?;
    let is_over = Call::new(win)?.window.rma.test()?;
    flag.set(is_over.into());
    Ok(())
}

/// `MPI_Win_lock`: there is nothing to lock at `MPI_PROC_NULL`.
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_LOCKTYPE`, `MPI_ERR_RANK`, `MPI_ERR_ASSERT`, `MPI_ERR_RMA_SYNC`
pub fn win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: abi::Win) -> Result {
    let call = Call::new(win)?;
    let held = match lock_type {
        MPI_LOCK_SHARED => Held::Shared,
        MPI_LOCK_EXCLUSIVE => Held::Exclusive,
        _ => {
            let text = format!("lock_type is {lock_type}; use MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE");
            return Err(Error::new(MPI_ERR_LOCKTYPE, text));
        }
    };
    assertions(assert, MPI_MODE_NOCHECK)?;
    let held = if assert & MPI_MODE_NOCHECK == 0 { held } else { Held::Unchecked };
    match call.rank(rank, "rank")? {
        Some(rank) => call.window.rma.lock(rank, held),
        None => Ok(()),
    }
}

/// `MPI_Win_unlock`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_RANK`, `MPI_ERR_RMA_SYNC`
pub fn win_unlock(rank: c_int, win: abi::Win) -> Result {
    let call = Call::new(win)?;
    match call.rank(rank, "rank")? {
        Some(rank) => call.window.rma.unlock(rank),
        None => Ok(()),
    }
}

/// `MPI_Win_lock_all`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_ASSERT`, `MPI_ERR_RMA_SYNC`
pub fn win_lock_all(assert: c_int, win: abi::Win) -> Result {
    let call = Call::new(win)?;
    assertions(assert, MPI_MODE_NOCHECK)?;
    call.window.rma.lock_all(assert & MPI_MODE_NOCHECK == 0)
}

/// `MPI_Win_unlock_all`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_RMA_SYNC`
pub fn win_unlock_all(win: abi::Win) -> Result {
    Call::new(win)?.window.rma.unlock_all()
}

/// `MPI_Win_flush`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_RANK`, `MPI_ERR_RMA_SYNC`
pub fn win_flush(rank: c_int, win: abi::Win) -> Result {
    let call = Call::new(win)?;
    match call.rank(rank, "rank")? {
        Some(rank) => call.window.rma.flush(Some(rank)),
        None => Ok(()),
    }
}

/// `MPI_Win_flush_all`
///
/// # Errors
/// `MPI_ERR_WIN`, `MPI_ERR_RMA_SYNC`
pub fn win_flush_all(win: abi::Win) -> Result {
    Call::new(win)?.window.rma.flush(None)
}

/// `MPI_Win_flush_local`
///
/// # Errors
/// As [`win_flush`].
pub fn win_flush_local(rank: c_int, win: abi::Win) -> Result {
    let call = Call::new(win)?;
    match call.rank(rank, "rank")? {
        Some(rank) => call.window.rma.flush_local(Some(rank)),
        None => Ok(()),
    }
}

/// `MPI_Win_flush_local_all`
///
/// # Errors
/// As [`win_flush_all`].
pub fn win_flush_local_all(win: abi::Win) -> Result {
    Call::new(win)?.window.rma.flush_local(None)
}

/// `MPI_Win_sync`
///
/// # Errors
/// `MPI_ERR_WIN`
pub fn win_sync(win: abi::Win) -> Result {
    Process::current()?.window(win)?.rma.sync();
    Ok(())
}
