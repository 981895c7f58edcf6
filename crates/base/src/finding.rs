//! Mistakes of the program that checking mode has found, on their way to the user.

use crate::site::Site;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

/// One mistake.
#[derive(Debug)]
pub struct Finding {
    /// The rank that noticed it.
    pub rank: u32,
    /// What is wrong; nothing in it depends on who notices it, so that the same mistake of many ranks is shown once.
    pub message: String,
    /// The calls it concerns: what the call did (`sent by rank 3`), and the call.
    pub calls: Vec<(String, Option<&'static Site>)>,
}

/// The names of communicators, by a rank that has them and their context numbers.
type Names = HashMap<(u32, u32), String>;

fn names() -> MutexGuard<'static, Names> {
    static NAMES: LazyLock<Mutex<Names>> = LazyLock::new(Mutex::default);
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes what a rank calls the communicator with a context number; the empty name is none.
pub fn name_communicator(rank: u32, context: u32, name: &str) {
    match name {
        "" => names().remove(&(rank, context)),
        name => names().insert((rank, context), name.into()),
    };
}

/// Returns what a rank calls a communicator, or its number if it has no name.
pub fn communicator(rank: u32, context: u32) -> String {
    let name = names().get(&(rank, context)).cloned();
    name.unwrap_or_else(|| format!("the communicator with context number {context}"))
}

static REPORTER: OnceLock<fn(&Finding)> = OnceLock::new();

/// Says where findings go. Without it they go to standard error.
pub fn install(reporter: fn(&Finding)) {
    let _ = REPORTER.set(reporter);
}

impl Finding {
    /// Starts a finding.
    pub fn new(rank: u32, message: impl Into<String>) -> Self {
        Self { rank, message: message.into(), calls: Vec::new() }
    }

    /// Adds the communicator it concerns, as [`communicator`] returns it.
    pub fn on(mut self, communicator: &str) -> Self {
        let _ = write!(self.message, " (on {communicator})");
        self
    }

    /// Adds a call it concerns.
    pub fn call(mut self, role: impl Into<String>, site: Option<&'static Site>) -> Self {
        self.calls.push((role.into(), site));
        self
    }

    /// Reports it.
    #[cold]
    pub fn report(&self) {
        match REPORTER.get() {
            Some(reporter) => reporter(self),
            None => crate::say::write(format_args!("{self}")),
        }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = format!("weft check: rank {}: {}\n", self.rank, self.message);
        for (role, site) in &self.calls {
            let (call, address) =
                site.map_or(("a call that was not noted", 0), |site| (site.call, site.address));
            let _ = writeln!(text, "  {role} in {call} at {address:#x}");
        }
        f.write_str(&text)
    }
}
