//! Sessions and handles of performance variables.
//!
//! What is counted goes on as long as any session of the process exists. A handle keeps what its variable was when it was
//! started, so handles and sessions do not disturb each other.

use crate::process::Process;
use crate::tools::variables::Variable;
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::tools::counters::Mark;
use weft_base::tools::ranks;
use weft_base::tools::watch::{self, Sight};
use weft_base::{Error, Result};
use weft_sync::Lock;

/// A performance experiment session. As long as it lives, counters count.
pub(super) struct Session(());

impl Session {
    /// Begins to count.
    pub fn new() -> Self {
        watch::begin(Sight::Counters);
        Self(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        watch::end(Sight::Counters);
    }
}

/// What a handle remembers of a variable that is started and stopped.
struct Kept {
    /// What it came to before it was started last.
    before: u64,
    /// What the variable was then, if it has not been stopped.
    since: Option<u64>,
}

/// A handle of a performance variable.
pub(super) struct Handle {
    pub session: usize,
    variable: Variable,
    process: &'static Process,
    object: u64,
    kept: Lock<Kept>,
    mark: Arc<Mark>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        ranks::of(self.process.world_rank).cells.forget(&self.mark);
    }
}

impl Handle {
    /// Makes a handle of a session, of a variable for an object of a rank.
    pub fn new(session: usize, variable: Variable, process: &'static Process, object: u64) -> Self {
        let kept = Lock::new(Kept { before: 0, since: None });
        Self { session, variable, process, object, kept, mark: Arc::new(Mark::new(0)) }
    }

    fn now(&self) -> u64 {
        self.variable.now(self.process, self.object)
    }

    fn is_mark(&self) -> bool {
        self.variable == Variable::UnexpectedMark
    }

    fn value(&self, kept: &Kept) -> u64 {
        match kept.since {
            _ if !self.variable.is_controlled() => self.now(),
            _ if self.is_mark() => self.mark.get(),
            Some(since) => kept.before.wrapping_add(self.now().wrapping_sub(since)),
            None => kept.before,
        }
    }

    /// Starts the variable, unless it is started.
    pub fn start(&self) {
        let mut kept = self.kept.lock();
        if kept.since.is_some() {
            return;
        }
        kept.since = Some(self.now());
        if self.is_mark() {
            self.mark.set(0);
            ranks::of(self.process.world_rank).cells.follow(self.mark.clone());
            // What comes from here on is followed, and what is there is seen now.
            self.mark.raise(self.now());
        }
    }

    /// Stops the variable, which keeps its value.
    pub fn stop(&self) {
        let mut kept = self.kept.lock();
        kept.before = self.value(&kept);
        kept.since = None;
        if self.is_mark() {
            ranks::of(self.process.world_rank).cells.forget(&self.mark);
        }
    }

    /// Returns the value.
    pub fn read(&self) -> u64 {
        self.value(&self.kept.lock())
    }

    /// Sets the value.
    pub fn write(&self, value: u64) {
        let mut kept = self.kept.lock();
        kept.before = value;
        if self.is_mark() {
            self.mark.set(value);
        }
        if kept.since.is_some() {
            kept.since = Some(self.now());
        }
    }

    /// Sets the value to where it starts.
    pub fn reset(&self) {
        self.write(if self.is_mark() { self.now() } else { 0 });
    }

    /// Returns the value, and resets it. What is counted meanwhile is in this value or in the next.
    ///
    /// # Errors
    /// `MPI_T_ERR_PVAR_NO_ATOMIC`
    pub fn take(&self) -> Result<u64> {
        if !self.variable.is_controlled() {
            return Err(self.refuse(MPI_T_ERR_PVAR_NO_ATOMIC, "can only be read"));
        }
        let mut kept = self.kept.lock();
        let now = self.now();
        let value = match kept.since {
            _ if self.is_mark() => self.mark.swap(now),
            Some(since) => kept.before.wrapping_add(now.wrapping_sub(since)),
            None => kept.before,
        };
        kept.before = 0;
        if kept.since.is_some() {
            kept.since = Some(now);
        }
        Ok(value)
    }

    fn refuse(&self, class: i32, why: &str) -> Error {
        Error::new(class, format!("handle is of {}, which {why}", self.variable.name()))
    }

    /// Refuses what cannot be started and stopped.
    ///
    /// # Errors
    /// `MPI_T_ERR_PVAR_NO_STARTSTOP`
    pub fn startable(&self) -> Result {
        if !self.variable.is_controlled() {
            return Err(
                self.refuse(MPI_T_ERR_PVAR_NO_STARTSTOP, "is continuous, neither started nor stopped")
            );
        }
        Ok(())
    }

    /// Refuses what can only be read.
    ///
    /// # Errors
    /// `MPI_T_ERR_PVAR_NO_WRITE`
    pub fn writable(&self) -> Result {
        if !self.variable.is_controlled() {
            return Err(self.refuse(MPI_T_ERR_PVAR_NO_WRITE, "can only be read"));
        }
        Ok(())
    }
}
