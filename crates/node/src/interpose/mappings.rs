//! `mmap` and its relatives: a rank that maps over another rank's memory ends the job with a report.
//!
//! These functions stand in the copies' tables instead of libc's (`redirects.list`).

use super::descriptors::real;
use core::ffi::{c_int, c_void};
use weft_base::say;
use weft_node::{RankState, mappings, state};

const PAGE: usize = 4096;

fn owner(rank: &RankState) -> mappings::Owner {
    core::ptr::from_ref(rank).addr()
}

/// Returns the pages that a mapping takes.
fn pages(address: *mut c_void, length: usize) -> core::ops::Range<usize> {
    let start = address.addr();
    start..start.saturating_add(length).checked_next_multiple_of(PAGE).unwrap_or(usize::MAX)
}

/// Ends the job if what is about to be replaced belongs to another rank.
fn refuse_others(call: &str, address: *mut c_void, length: usize) {
    let Some(rank) = state::current() else { return };
    let wanted = pages(address, length);
    if let Some(found) = mappings::with(|all| all.of_others(&wanted, owner(rank))) {
        say!(
            "weft: {call} at the fixed address {:#x}, {length} bytes: another rank has mapped {:#x} to {:#x}, and ranks that \
             are threads share their addresses; run with --ranks-as processes, or let mmap choose the address",
            wanted.start,
            found.start,
            found.end
        );
        // SAFETY: ends the process, with a report that names the rank and where it is.
        unsafe { libc::abort() }
    }
}

fn note(address: *mut c_void, length: usize) {
    if let Some(rank) = state::current() {
        mappings::with(|all| all.map(pages(address, length), owner(rank)));
    }
}

/// Forgets what a rank that ends has mapped.
pub fn end(rank: &RankState) {
    mappings::with(|all| all.forget(owner(rank)));
}

/// Maps memory or a file.
#[unsafe(export_name = "rank_mmap")]
unsafe extern "C" fn mmap(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    at: i64,
) -> *mut c_void {
    let is_fixed =
        flags & libc::MAP_FIXED != 0 && flags & libc::MAP_FIXED_NOREPLACE != libc::MAP_FIXED_NOREPLACE;
    if is_fixed {
        refuse_others("mmap", address, length);
    }
    // Without a file the number says nothing.
    let fd = if flags & libc::MAP_ANONYMOUS != 0 { fd } else { real(fd) };
    // SAFETY: the caller's own arguments, with the rank's descriptor.
    let mapped = unsafe { libc::mmap(address, length, protection, flags, fd, at) };
    if mapped != libc::MAP_FAILED {
        note(mapped, length);
    }
    mapped
}

/// Maps memory or a file.
#[unsafe(export_name = "rank_mmap64")]
unsafe extern "C" fn mmap64(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    at: i64,
) -> *mut c_void {
    // SAFETY: the same function; offsets have 64 bits in both.
    unsafe { mmap(address, length, protection, flags, fd, at) }
}

/// Gives memory back.
#[unsafe(export_name = "rank_munmap")]
unsafe extern "C" fn munmap(address: *mut c_void, length: usize) -> c_int {
    // Before the memory is free: another rank may be given the same addresses at once.
    if state::current().is_some() && address.addr().is_multiple_of(PAGE) {
        mappings::with(|all| all.unmap(&pages(address, length)));
    }
    // SAFETY: the caller's own arguments.
    unsafe { libc::munmap(address, length) }
}

/// Resizes or moves a mapping. The last argument counts only with `MREMAP_FIXED`.
#[unsafe(export_name = "rank_mremap")]
unsafe extern "C" fn mremap(
    address: *mut c_void,
    length: usize,
    new_length: usize,
    flags: c_int,
    target: *mut c_void,
) -> *mut c_void {
    if flags & libc::MREMAP_FIXED != 0 {
        refuse_others("mremap", target, new_length);
    }
    // As in `munmap`. A length of 0 makes a second mapping of shared memory, and with the flag the first one stays.
    let moves = length > 0 && flags & libc::MREMAP_DONTUNMAP == 0 && state::current().is_some();
    if moves {
        mappings::with(|all| all.unmap(&pages(address, length)));
    }
    // SAFETY: the caller's own arguments.
    let mapped = unsafe { libc::mremap(address, length, new_length, flags, target) };
    if mapped != libc::MAP_FAILED {
        note(mapped, new_length);
    } else if moves {
        note(address, length);
    }
    mapped
}
