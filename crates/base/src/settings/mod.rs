//! The settings: one table of names, defaults, ranges and meanings.
//!
//! A setting is a static that holds its value; reading one is a plain load, so that even code on the way of every message
//! may ask. Values are set once, before ranks run: `mpirun` gathers them from its command line, the environment and the
//! files ([`gather`]), and passes on what is not the default; a program that runs alone gathers them itself.

mod sources;

pub use sources::{FILES_HELP, Origin, Refused, Resolved, Source, gather, gather_alone};

use crate::Result;
use crate::collectives;
use crate::tools::{Category, watch};
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What values a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number from the first to the last bound.
    Number(u64, u64),
    /// A number of bytes within bounds; written plainly or with K, M or G.
    Bytes(u64, u64),
    /// One of these words; the value is its position.
    Choice(&'static [&'static str]),
    /// Any text; only looked into where it is needed.
    Text,
    /// Rows of the table of collectives.
    Rows,
    /// The name of a file of such rows.
    RowsFile,
}

/// One setting and its value.
#[derive(Debug)]
pub struct Setting {
    /// Its name; in the environment `WEFT_` and the name in capitals, with `_` for `-`.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// The value nobody has changed.
    pub default: u64,
    /// What it does, in a line.
    pub help: &'static str,
    /// What it is about.
    pub category: Category,
    /// Whether a change takes effect while ranks run: who uses it reads it each time, and each rank may have its own.
    pub is_live: bool,
    value: AtomicU64,
    text: OnceLock<String>,
}

impl Setting {
    const fn new(
        name: &'static str,
        category: Category,
        kind: Kind,
        default: u64,
        help: &'static str,
        is_live: bool,
    ) -> Self {
        let value = AtomicU64::new(default);
        Self { name, kind, default, help, category, is_live, value, text: OnceLock::new() }
    }

    /// Returns the value.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }

    /// Changes the value. Only before the first rank runs, unless the setting is live: what has read the old one keeps it.
    pub fn set(&self, value: u64) {
        self.value.store(value, Ordering::Relaxed);
    }

    /// Returns the text of a setting whose value is one, if it was given.
    pub fn text(&self) -> Option<&str> {
        self.text.get().map(String::as_str).filter(|text| !text.is_empty())
    }

    /// Gives a setting whose value is a text that text. Only before the first rank runs, and once.
    pub fn set_text(&self, text: &str) {
        let _ = self.text.set(text.to_owned());
    }

    /// Tells whether the value is a text.
    pub fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Text | Kind::Rows | Kind::RowsFile)
    }

    /// Returns the name of the environment's variable.
    pub fn variable(&self) -> String {
        format!("WEFT_{}", self.name.to_uppercase().replace('-', "_"))
    }

    /// Reads a value.
    ///
    /// # Errors
    /// Says which values are possible.
    pub fn parse(&self, text: &str) -> core::result::Result<u64, String> {
        let value = text.trim();
        match self.kind {
            Kind::Rows => collectives::parse_rows(value).map(drop).map_err(|(_, why)| why)?,
            Kind::RowsFile if !value.is_empty() => drop(collectives::read_file(Path::new(value))?),
            _ => {}
        }
        let found = match self.kind {
            Kind::Number(low, high) => value.parse().ok().filter(|number| (low..=high).contains(number)),
            Kind::Bytes(low, high) => bytes(value).filter(|number| (low..=high).contains(number)),
            Kind::Choice(words) => {
                let word = match value {
                    "0" | "no" | "false" => "off",
                    "1" | "yes" | "true" | "on" if words[0] == "off" => words[1],
                    word => word,
                };
                words.iter().position(|w| *w == word).map(|position| position as u64)
            }
            Kind::Text | Kind::Rows | Kind::RowsFile => Some(0),
        };
        found.ok_or_else(|| format!("{value:?} is no value for {}; possible is {}", self.name, self.range()))
    }

    /// Says which values are possible.
    pub fn range(&self) -> String {
        match self.kind {
            Kind::Number(low, u64::MAX) => format!("a number from {low}"),
            Kind::Number(low, high) => format!("a number from {low} to {high}"),
            Kind::Bytes(low, high) => format!("bytes from {} to {}", Bytes(low), Bytes(high)),
            Kind::Choice(words) => words.join(", "),
            Kind::Text => "text".into(),
            Kind::Rows => "rows like bcast: in-place @1K-, divided by semicolons".into(),
            Kind::RowsFile => "a file with a row on each line".into(),
        }
    }

    /// Writes a value as [`Setting::parse`] reads it.
    pub fn show(&self, value: u64) -> String {
        match self.kind {
            Kind::Choice(words) => words[value as usize].into(),
            Kind::Bytes(..) => Bytes(value).to_string(),
            Kind::Number(..) => value.to_string(),
            Kind::Text | Kind::Rows | Kind::RowsFile => String::new(),
        }
    }
}

/// A number of bytes, shown in the largest unit that divides it.
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(30, "G"), (20, "M"), (10, "K")] {
            if self.0 != 0 && self.0.is_multiple_of(1 << shift) {
                return write!(f, "{}{unit}", self.0 >> shift);
            }
        }
        write!(f, "{}", self.0)
    }
}

/// Reads a number of bytes: plain, or with K, M or G.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim_end_matches("iB").trim_end_matches('B');
    let shift = match text.chars().next_back()? {
        'k' | 'K' => 10,
        'm' | 'M' => 20,
        'g' | 'G' => 30,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    let number: u64 = digits.trim_end().parse().ok()?;
    number.checked_mul(1 << shift)
}

macro_rules! settings {
    ($($constant:ident $name:literal $category:ident $kind:expr, $default:expr, $help:literal $($live:ident)?;)*) => {
        $(#[doc = $help]
        pub static $constant: Setting = Setting::new(
            $name, Category::$category, $kind, $default, $help, !stringify!($($live)?).is_empty(),
        );)*
        /// All settings, in the order in which they are shown.
        pub static TABLE: &[&Setting] = &[$(&$constant),*];
    };
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

settings! {
    WORKERS "workers" Ranks Kind::Number(0, 65_536), 0, "How many processors run ranks; 0: all that may be used (mpirun --workers)";
    SCHEDULER "scheduler" Ranks Kind::Choice(&["user", "kernel"]), 0, "Who switches between ranks (mpirun --scheduler)";
    BIND "bind-to" Ranks Kind::Choice(&["auto", "core", "none"]), 0, "Bind workers to processors; auto: if the job uses all of them (mpirun --bind-to)";
    TIMEOUT "timeout" Jobs Kind::Number(0, 1_000_000_000), 0, "End a job after so many seconds; 0: never (mpirun --timeout)";
    STUCK "stuck-ranks" Jobs Kind::Choice(&["ignore", "report"]), 1, "What becomes of a job some of whose ranks can never go on: it ends with a report, or they are let be";
    START_TIMEOUT "start-timeout" Jobs Kind::Number(1, 1_000_000_000), 300, "How many seconds a rank that another launcher started waits for it and for the other ranks";
    CONNECT_TIMEOUT "connect-timeout" Jobs Kind::Number(0, 1_000_000_000), 180, "How many seconds MPI_Comm_connect waits to be accepted; 0: for ever (info key timeout)" live;
    HEARTBEAT "heartbeat" Jobs Kind::Number(1, 1_000_000), 10, "After how many seconds without a sign of life a host counts as lost, and the job with it";
    LAUNCH_WIDTH "launch-width" Jobs Kind::Number(1, 100_000), 32, "How many hosts one host starts; they start the others";
    STACK "stack" Ranks Kind::Bytes(0, 64 * GIB), 0, "The size of a rank's stack; 0: the soft limit of the system (ulimit -s)";
    CHECK "check" Checking Kind::Choice(&["off", "report", "error"]), 0, "Look for mistakes of the program; error: they fail the job (mpirun --check)";
    CHECK_SENDS "check-sends" Checking Kind::Choice(&["wait", "buffer"]), 0, "With --check, whether each standard send waits for its receive, or short ones are copied as without";
    EAGER "eager" Messages Kind::Bytes(0, MIB), 4 * KIB, "The longest message that is copied when no receive is posted for it";
    UNEXPECTED "unexpected" Messages Kind::Bytes(0, 64 * GIB), 4 * MIB, "How much a rank keeps of messages nobody receives yet, before senders wait";
    SHARE_FROM "share-from" Messages Kind::Bytes(8 * KIB, 64 * GIB), 48 * KIB, "From which length on sender and receiver copy a message together";
    RINGS "rings" Messages Kind::Number(0, 16), 16, "How many private rings for short messages may lead to one rank";
    SPINS "spins" Ranks Kind::Number(0, 1_000_000_000), 4000, "How many times a receive looks before it parks, where another processor may help";
    SPIN_US "spin-us" Ranks Kind::Number(0, 1_000_000), 30, "How long other waits spin before they park, in microseconds" live;
    POLL_US "poll-us" Ranks Kind::Number(0, 1_000_000), 30, "How long a worker without ranks to run looks for some before it sleeps, in microseconds" live;
    COLLECTIVE_TABLE "collective-table" Collectives Kind::RowsFile, 0, "Which algorithms collectives take: a file as weft tune writes it";
    COLLECTIVES "collectives" Collectives Kind::Rows, 0, "Which algorithms collectives take: rows that go before those of the file and the built-in ones";
    HOST_COLLECTIVES "host-collectives" Collectives Kind::Choice(&["memory", "messages"]), 0, "How blocking collectives go among processes of one host: through memory they share, or by messages as between hosts";
    NET_INCLUDE "net-include" Network Kind::Text, 0, "The interfaces between hosts, by name, address or network, divided by commas; all but loopback if none";
    NET_EXCLUDE "net-exclude" Network Kind::Text, 0, "The interfaces that are not used between hosts";
    NET_TIMEOUT "net-timeout" Network Kind::Number(1, 86_400), 20, "After how many seconds without an answer another host is lost";
    NET_EAGER "net-eager" Network Kind::Bytes(KIB, MIB), 64 * KIB, "The longest message between hosts that is copied when it is sent";
    NET_CONGESTION "net-congestion" Network Kind::Text, 0, "How connections between hosts avoid congestion, by the kernel's names; if none, as the system does, but not by bbr";
    NET_THREADS "net-threads" Network Kind::Number(0, 64), 1, "How many threads wait for other hosts while all ranks compute; 0, and where cores are few: one looks now and then";
    NET_STRIPES "net-stripes" Network Kind::Number(0, 8), 0, "Over how many connections a long message to another host goes; 0: over one per interface that leads there";
    NET_COUNTS "net-counts" Network Kind::Choice(&["off", "on"]), 0, "Say when the job has ended how many messages its hosts have sent to each other";
    FILE_THREADS "file-threads" Files Kind::Number(1, 1024), 8, "How many threads of a process read and write files at most, while ranks run" live;
    SIMD "simd" Ranks Kind::Choice(&["auto", "baseline", "avx2", "avx512"]), 0, "The vector instructions that reductions use at most, where the processor has them";
    CC "cc" Compilers Kind::Text, 0, "The compiler mpicc calls";
    CXX "cxx" Compilers Kind::Text, 0, "The compiler mpicxx calls";
    FC "fc" Compilers Kind::Text, 0, "The compiler mpifort calls";
}

/// Tells whether programs are checked; a rank asks wherever a check may be made.
#[inline(always)]
pub fn is_checking() -> bool {
    CHECK.get() != 0
}

/// Finds a setting by its name.
pub fn find(name: &str) -> Option<&'static Setting> {
    TABLE.iter().copied().find(|setting| setting.name == name)
}

/// Sets what `mpirun` has passed on.
///
/// # Errors
/// `MPI_ERR_ARG` for what is not in the table: `mpirun` is of another build.
pub fn apply(changed: &[(String, String)]) -> Result {
    for (name, value) in changed {
        let number =
            find(name).ok_or_else(|| "no such setting".to_owned()).and_then(|s| Ok((s, s.parse(value)?)));
        match number {
            Ok((setting, _)) if setting.is_text() => setting.set_text(value),
            Ok((setting, number)) => setting.set(number),
            Err(why) => {
                return Err(crate::Error::new(crate::constants::MPI_ERR_ARG, format!("{name}: {why}")));
            }
        }
    }
    watch::set_checking(is_checking());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_possible_values_and_names_differ() {
        for (index, setting) in TABLE.iter().enumerate() {
            if !setting.is_text() {
                assert_eq!(
                    setting.parse(&setting.show(setting.default)),
                    Ok(setting.default),
                    "{}",
                    setting.name
                );
            }
            assert!(TABLE[..index].iter().all(|other| other.name != setting.name), "{}", setting.name);
            assert!(setting.help.len() < 120, "{}", setting.name);
        }
    }

    #[test]
    fn values_are_read_with_units_and_checked_against_the_range() {
        assert_eq!(EAGER.parse("8K"), Ok(8192));
        assert_eq!(EAGER.parse(" 16 KiB "), Ok(16384));
        assert_eq!(EAGER.parse("0"), Ok(0));
        for wrong in ["2M", "-1", "K", "", "1.5K", "8Q", "99999999999999999999G"] {
            assert!(EAGER.parse(wrong).unwrap_err().contains("bytes from 0 to 1M"), "{wrong}");
        }
        assert_eq!(CHECK.parse("error"), Ok(2));
        assert_eq!(CHECK.parse("1"), Ok(1));
        assert_eq!(CHECK.parse("no"), Ok(0));
        assert!(SCHEDULER.parse("yes").unwrap_err().contains("user, kernel"));
        assert_eq!(RINGS.parse("16"), Ok(16));
        assert!(RINGS.parse("17").unwrap_err().contains("from 0 to 16"));
    }
}
