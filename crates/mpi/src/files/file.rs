//! A file as the library keeps it for one rank.

use crate::communicators::contexts::Held;
use crate::errors::classes::describe;
use crate::files::hints::Hints;
use crate::files::requests::Begun;
use core::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_coll::Team;
use weft_comm::Group;
use weft_io::{Opened, Pointer, View};
use weft_sync::Lock;

/// A file as the library keeps it for one rank.
pub struct File {
    /// Its ranks.
    pub group: Group,
    pub(super) team: Team,
    /// The open file, which the ranks of this process share.
    pub(super) opened: Arc<Opened>,
    /// The bits of `MPI_MODE_…` that it was opened with.
    pub(super) modes: c_int,
    pub(super) view: Lock<Arc<View>>,
    /// The individual file pointer, in etypes of the view.
    pub(super) position: AtomicU64,
    pub(super) pointer: Pointer,
    pub(super) is_atomic: AtomicBool,
    /// The split collective operation that has begun and not ended.
    pub(super) split: Lock<Option<Begun>>,
    pub(super) hints: Lock<Hints>,
    /// Let go last: the number of the team's context.
    pub(super) _context: Held,
}

impl File {
    /// Tells whether a mode was given when it was opened.
    pub(super) fn has(&self, mode: c_int) -> bool {
        self.modes & mode != 0
    }

    /// Returns the rank's view.
    pub(super) fn view(&self) -> Arc<View> {
        self.view.lock().clone()
    }

    /// Takes hints, of those that all ranks must agree on the first rank's.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if a rank is lost or in another call.
    pub(super) fn update_hints(&self, pairs: Vec<(String, String)>) -> Result {
        let mut hints = self.hints.lock().clone();
        hints.update(pairs, false);
        hints.tuning.agree(&self.team, self.opened.block().unwrap_or(1))?;
        *self.hints.lock() = hints;
        Ok(())
    }

    /// Ends a part of a collective operation with the same outcome at all ranks: an error of one is an error of all.
    ///
    /// # Errors
    /// The rank's own; else the class of that of the first rank that has one.
    pub(super) fn agree(&self, mine: Result) -> Result {
        agree(&self.team, mine)
    }
}

/// As [`File::agree`], for ranks that have no file yet.
pub(super) fn agree(team: &Team, mine: Result) -> Result {
    let class = mine.as_ref().err().map_or(MPI_SUCCESS, |error| error.class);
    let mut all = vec![0; 4 * team.size() as usize];
    team.allgather_bytes(&class.to_ne_bytes(), &mut all)?;
    mine?;
    let classes = all.chunks_exact(4).map(|four| i32::from_ne_bytes(four.try_into().expect("four bytes")));
    match classes.enumerate().find(|(_, class)| *class != MPI_SUCCESS) {
        None => Ok(()),
        Some((rank, class)) => {
            let name = describe(class).map_or("an error of the program's own", |(name, _)| name);
            Err(Error::new(class, format!("rank {rank} of the file's group could not do its part: {name}")))
        }
    }
}

/// Tells all ranks what one of them has to say, which may be an error.
///
/// # Errors
/// That one.
pub(super) fn tell(team: &Team, root: u32, mine: Result<u64>) -> Result<u64> {
    let mut head = [0; 16];
    let text = mine.as_ref().err().map_or(String::new(), |error| error.message.to_string());
    if team.rank() == root {
        let (class, value) = match &mine {
            Ok(value) => (MPI_SUCCESS, *value),
            Err(error) => (error.class, text.len() as u64),
        };
        head[..8].copy_from_slice(&u64::from(class as u32).to_ne_bytes());
        head[8..].copy_from_slice(&value.to_ne_bytes());
    }
    team.broadcast_bytes(root, &mut head)?;
    let word = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let (class, value) = (word(0) as u32 as i32, word(8));
    if class == MPI_SUCCESS {
        return Ok(value);
    }
    let mut said = vec![0; value as usize];
    said[..text.len()].copy_from_slice(text.as_bytes());
    team.broadcast_bytes(root, &mut said)?;
    mine.and_then(|_| Err(Error::new(class, String::from_utf8_lossy(&said).into_owned())))
}
