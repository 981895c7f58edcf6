//! Who has which bytes of a file in atomic mode: within this process by a list, towards others by locks of the open file.
//!
//! Ranks of a process share the open file, so that the kernel's locks do not hold them apart; and one that lets go of a range
//! would let go of another's lock on it. So within a process nobody shares a range, also not to read.
//! Who holds a range runs on a kernel thread of its own until it lets go, and waits for no other range; so waiting ends.

use std::fs::File;
use std::io::Result;
use std::os::fd::AsFd;
use std::sync::{Condvar, Mutex, PoisonError};
use weft_sys::file;

/// The ranges of a file that somebody has: their first bytes, and those behind them.
#[derive(Default)]
pub(crate) struct Ranges {
    held: Mutex<Vec<(u64, u64)>>,
    freed: Condvar,
}

/// A range somebody has.
pub(crate) struct Held<'a> {
    ranges: &'a Ranges,
    file: Option<&'a File>,
    range: (u64, u64),
}

impl Ranges {
    /// Waits for the bytes from `start` up to `end`; towards other processes, too, if there are any.
    pub(crate) fn take<'a>(
        &'a self,
        file: &'a File,
        (start, end): (u64, u64),
        reads: bool,
        is_apart: bool,
    ) -> Result<Held<'a>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        while held.iter().any(|&(first, behind)| first < end && start < behind) {
            held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        held.push((start, end));
        drop(held);
        let mut mine = Held { ranges: self, file: None, range: (start, end) };
        if is_apart {
            file::lock_range(file.as_fd(), start, end - start, reads)?;
            mine.file = Some(file);
        }
        Ok(mine)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let (start, end) = self.range;
        if let Some(file) = self.file {
            // Nothing else may be told of it here, and the lock goes with the file at the latest.
            let _ = file::unlock_range(file.as_fd(), start, end - start);
        }
        let mut held = self.ranges.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = held.iter().position(|range| *range == self.range) {
            held.swap_remove(index);
        }
        drop(held);
        self.ranges.freed.notify_all();
    }
}
