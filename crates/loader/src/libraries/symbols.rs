//! What is known of the symbols of the libraries that all ranks of a process share.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Whether a rank can tell that others use a symbol, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// The host gives each rank its own, or the library keeps it per thread.
    Private,
    /// Shared, but no rank can tell.
    Harmless,
    /// Shared, and a rank can tell.
    Processes,
}

impl Standing {
    /// Reads the word the table uses.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "private" => Some(Standing::Private),
            "harmless" => Some(Standing::Harmless),
            "processes" => Some(Standing::Processes),
            _ => None,
        }
    }
}

/// A line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// Names the symbol.
    pub name: &'static str,
    /// Judges it.
    pub standing: Standing,
    /// Says why; for [`Standing::Processes`] what it does to the other ranks.
    pub why: &'static str,
}

const TABLE: &str = include_str!("../../symbols/judged.txt");

/// Iterates over the lines of the table in its order. A line that is not understood is left out; a test finds it.
pub fn judged() -> impl Iterator<Item = Judged> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (name, rest) = line.split_once(' ')?;
        let (standing, why) = rest.trim_start().split_once(' ')?;
        Some(Judged { name, standing: Standing::parse(standing)?, why: why.trim_start() })
    })
}

/// Returns the judgement on a symbol; none if there is nothing to know about it.
pub fn judge(name: &str) -> Option<Judged> {
    static BY_NAME: LazyLock<HashMap<&str, Judged>> =
        LazyLock::new(|| judged().map(|line| (line.name, line)).collect());
    BY_NAME.get(name).copied()
}
