//! Mistakes of the program that checking mode has found, on their way to the user.

use crate::site::Site;
use std::fmt::Write as _;
use std::sync::OnceLock;

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
