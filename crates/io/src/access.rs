//! One operation on a file: which data, which pieces of the file, in which representation, atomic or not.

use crate::failure::failed;
use crate::memory::Memory;
use crate::opened::Opened;
use crate::pool;
use crate::transfer;
use crate::view::View;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use weft_base::constants::*;
use weft_base::{Error, Result};

pub use crate::transfer::Direction;

/// Up to how many bytes a rank moves itself although others wait for its core: that takes less than handing it on, where the data
/// is in memory. If it is not, the scheduler notices that the rank waits.
const BRIEF: u64 = 32 << 10;

/// An operation on a file, which needs nothing but a thread.
pub struct Access {
    pub(crate) opened: Arc<Opened>,
    pub(crate) view: Arc<View>,
    pub(crate) direction: Direction,
    pub(crate) memory: Memory,
    /// Where in the view's data it begins, and how many bytes it has in the file.
    pub(crate) position: u64,
    pub(crate) bytes: u64,
    /// The file's bytes that it touches.
    pub(crate) range: (u64, u64),
    pub(crate) is_atomic: bool,
}

impl Access {
    /// Makes an operation, from an etype of the view on.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` if the data is no whole number of etypes; `MPI_ERR_ARG` if it does not fit the file; what the representation's
    /// functions return.
    pub fn new(
        opened: &Arc<Opened>,
        view: &Arc<View>,
        direction: Direction,
        memory: Memory,
        offset: u64,
        is_atomic: bool,
    ) -> Result<Self> {
        let bytes = length(view, &memory)?;
        let beyond = || {
            let text =
                format!("offset is {offset}; {bytes} bytes from there on are beyond what the view can have");
            Error::new(MPI_ERR_ARG, text)
        };
        let position = offset.checked_mul(view.unit()).ok_or_else(beyond)?;
        if bytes > 0 && view.is_exhausted(position.saturating_add(bytes)) {
            let text = format!(
                "offset is {offset}; {bytes} bytes from there on need a second instance of the view's filetype, which has an extent \
                 shorter than its data, so that instances overlap; give the filetype a longer extent with MPI_Type_create_resized"
            );
            return Err(Error::new(MPI_ERR_ARG, text));
        }
        let mut pieces = view.pieces(position, bytes).ok_or_else(beyond)?;
        let overhang = if is_atomic && direction == Direction::Read { view.overhang() } else { 0 };
        let range = match pieces.next() {
            None => (0, 0),
            Some((first, _)) => (first, view.offset(position + bytes - 1).ok_or_else(beyond)? + 1 + overhang),
        };
        let (opened, view) = (opened.clone(), view.clone());
        Ok(Self { opened, view, direction, memory, position, bytes, range, is_atomic })
    }

    /// Tells whether the calling thread, which is one of the rank's, has to carry it out, because it calls the program's functions.
    pub fn is_own(&self) -> bool {
        self.view.representation().is_user()
    }

    /// Carries it out. Returns how many bytes of the program's data were moved.
    ///
    /// # Errors
    /// The class of what the system says; what the representation's functions return.
    pub fn carry_out(&self) -> Result<u64> {
        if self.bytes == 0 {
            return Ok(0);
        }
        let plain = self.view.representation().is_plain();
        let mut file = match (plain, self.direction) {
            (true, _) => Vec::new(),
            (false, Direction::Read) => vec![0; self.bytes as usize],
            (false, Direction::Write) => {
                self.view.representation().encode(&self.memory, self.bytes as usize)?
            }
        };
        let moved = {
            let _held = self.hold()?;
            match plain {
                true => transfer::data(&self.opened, &self.view, self.direction, &self.memory, self.position),
                false => transfer::bytes(&self.opened, &self.view, self.direction, &mut file, self.position),
            }
        };
        if self.direction == Direction::Write {
            // Also after an error: some of it may have been written. After the writing: what is synchronised then is all of it.
            self.opened.is_dirty.store(true, Ordering::Release);
        }
        let moved = moved?;
        match (plain, self.direction) {
            (true, _) => Ok(moved),
            (false, Direction::Write) => Ok(self.memory.bytes()),
            (false, Direction::Read) => {
                let size = self.bytes / self.memory.count();
                self.view.representation().decode(&self.memory, &mut file[..moved as usize], size)
            }
        }
    }

    fn hold(&self) -> Result<Option<crate::ranges::Held<'_>>> {
        if !self.is_atomic {
            return Ok(None);
        }
        let (opened, reads) = (&self.opened, self.direction == Direction::Read);
        let held = opened.ranges.take(&opened.file, self.range, reads, opened.is_apart);
        held.map(Some).map_err(|refusal| failed("locking", &opened.name, Some(self.range.0), &refusal))
    }

    /// As [`Access::carry_out`], for a rank that waits meanwhile and gives its core to others, if there are some.
    ///
    /// # Errors
    /// As [`Access::carry_out`].
    pub fn carry_out_aside(self) -> Result<u64> {
        let is_brief = self.bytes <= BRIEF && !self.is_atomic;
        if is_brief || self.is_own() || weft_sched::may_spin() {
            return self.carry_out();
        }
        pool::wait_for(move || self.carry_out())
    }
}

impl View {
    /// Returns how many etypes data has.
    ///
    /// # Errors
    /// As [`Access::new`].
    pub fn etypes(&self, memory: &Memory) -> Result<u64> {
        Ok(length(self, memory)? / self.unit())
    }
}

/// Returns how many bytes data has in a file, which must be a whole number of etypes.
fn length(view: &View, memory: &Memory) -> Result<u64> {
    let size = view.representation().in_file(memory.datatype())?.size();
    let bytes = size.checked_mul(memory.count()).filter(|&bytes| bytes <= i64::MAX as u64);
    let Some(bytes) = bytes else {
        let text = format!("count is {}; so many elements have more than 2^63 bytes", memory.count());
        return Err(Error::new(MPI_ERR_COUNT, text));
    };
    if bytes % view.unit() != 0 {
        let text = format!(
            "count and datatype make {bytes} bytes in the file, which is no whole number of the view's etype of {} bytes",
            view.unit()
        );
        return Err(Error::new(MPI_ERR_TYPE, text));
    }
    Ok(bytes)
}
