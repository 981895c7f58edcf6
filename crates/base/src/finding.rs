//! Mistakes of the program that checking mode has found, on their way to the user.
//!
//! A program may make one mistake a million times. Findings that differ in numbers only, of the same calls, are of one kind: the
//! first of each rank is told at once, others are counted, and the count is told at its powers of two and by [`tell_rest`].

use crate::site::Site;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

/// One mistake.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rank that noticed it.
    pub rank: u32,
    /// What is wrong; nothing in it depends on who notices it, so that the same mistake of many ranks is shown once.
    pub message: String,
    /// The calls it concerns: what the call did (`sent by rank 3`), and the call.
    pub calls: Vec<(String, Option<&'static Site>)>,
    /// What its call says of a buffer: it is a mistake only if the program declares the buffer otherwise, which `mpirun` finds out.
    pub claim: Option<Claim>,
}

/// What a call says of its buffer, and what is known of the buffer in this process.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The datatype of its elements.
    pub datatype: &'static str,
    /// Whether they are floating-point numbers; else they are integers.
    pub is_floating: bool,
    /// The bytes of one, or of one part of a complex number.
    pub size: u64,
    /// The buffer.
    pub buffer: usize,
    /// The buffer, relative to the canonical frame address of the function that called, if it is in that function's frame.
    pub frame: Option<i64>,
    /// The words of its frame that hold the buffer's address, relative to that.
    pub words: Vec<i64>,
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

/// Tells of a finding that was made so often since it was told of last.
pub type Reporter = fn(&Finding, u64);

static REPORTER: OnceLock<Reporter> = OnceLock::new();

/// Says where findings go. Without it they go to standard error.
pub fn install(reporter: Reporter) {
    let _ = REPORTER.set(reporter);
}

/// Kinds that are kept apart; a program has few, and what it names in its messages must not take up the memory.
pub const MOST_KINDS: usize = 1000;

/// Says instead of its message that a finding is one too many to be kept apart.
const MORE: &str = "more findings, of other kinds than those that are shown";

/// Returns a message without its numbers: what differs in them only is of one kind.
pub fn without_numbers(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    for letter in message.chars() {
        match letter.is_ascii_digit() {
            true if text.ends_with('#') => {}
            true => text.push('#'),
            false => text.push(letter),
        }
    }
    text
}

/// What makes findings one: their message without its numbers, and their calls.
type Kind = (String, Vec<Option<usize>>);

/// Findings of one kind.
struct Count {
    /// The last one, once the first was told.
    last: Finding,
    ranks: BTreeSet<u32>,
    times: u64,
    /// How many of them were not told yet.
    untold: u64,
}

/// The findings of a process by their kinds.
#[derive(Default)]
struct Counts(HashMap<Kind, Count>);

impl Counts {
    /// Counts a finding; returns it if it is to be told now, and for how many it stands.
    fn add(&mut self, mut finding: Finding) -> Option<(Finding, u64)> {
        let mut kind = finding.kind();
        if self.0.len() >= MOST_KINDS && !self.0.contains_key(&kind) {
            finding = Finding::new(finding.rank, MORE);
            kind = finding.kind();
        }
        let rank = finding.rank;
        let count = self.0.entry(kind).or_insert_with(|| {
            let (ranks, times, untold) = (BTreeSet::new(), 0, 0);
            Count { last: finding.clone(), ranks, times, untold }
        });
        count.times += 1;
        count.untold += 1;
        let is_first = count.ranks.insert(rank);
        count.last.rank = rank;
        let is_told = is_first || count.times.is_power_of_two();
        is_told.then(|| (finding, std::mem::take(&mut count.untold)))
    }

    /// Returns what was counted and not told.
    fn rest(&mut self) -> Vec<(Finding, u64)> {
        let untold = self.0.values_mut().filter(|count| count.untold > 0);
        untold.map(|count| (count.last.clone(), std::mem::take(&mut count.untold))).collect()
    }
}

fn counts() -> MutexGuard<'static, Counts> {
    static COUNTS: LazyLock<Mutex<Counts>> = LazyLock::new(Mutex::default);
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell((finding, times): (Finding, u64)) {
    match REPORTER.get() {
        Some(reporter) => reporter(&finding, times),
        // Nobody finds out whether a claim is wrong.
        None if finding.claim.is_some() => {}
        None if times > 1 => crate::say!("weft check: {times} times more: {}", finding.message),
        None => crate::say::write(format_args!("{finding}")),
    }
}

/// Tells of the findings that were only counted. To be called when the process, or the job, ends.
pub fn tell_rest() {
    let rest = counts().rest();
    rest.into_iter().for_each(tell);
}

impl Finding {
    /// Starts a finding.
    pub fn new(rank: u32, message: impl Into<String>) -> Self {
        Self { rank, message: message.into(), calls: Vec::new(), claim: None }
    }

    /// Makes it depend on how the program declares a buffer.
    pub fn claiming(mut self, claim: Claim) -> Self {
        self.claim = Some(claim);
        self
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

    fn kind(&self) -> Kind {
        let calls = self.calls.iter().map(|(_, site)| site.map(|site| core::ptr::from_ref(site).addr()));
        (without_numbers(&self.message), calls.collect())
    }

    /// Reports it.
    #[cold]
    pub fn report(self) {
        // Whether a claim is a mistake is not known here.
        if self.claim.is_some() {
            return tell((self, 1));
        }
        // Not told under the lock.
        let told = counts().add(self);
        told.into_iter().for_each(tell);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_that_differ_in_numbers_only_are_counted_and_told_seldom() {
        let mut counts = Counts::default();
        let mut told = Vec::new();
        for number in 0..1_000_000u32 {
            let finding = Finding::new(number % 3, format!("a message of {number} bytes"));
            told.extend(counts.add(finding).map(|(finding, times)| (finding.message, times)));
        }
        assert_eq!(told[0], ("a message of 0 bytes".to_owned(), 1));
        assert!((3..30).contains(&told.len()), "{told:?}");
        let rest = counts.rest();
        let all = told.iter().map(|(_, times)| times).chain(rest.iter().map(|(_, times)| times));
        assert_eq!((all.sum::<u64>(), rest.len(), counts.rest().len()), (1_000_000, 1, 0));
    }

    #[test]
    fn kinds_are_bounded_and_none_is_lost() {
        let mut counts = Counts::default();
        // Letters, not numbers, keep them apart.
        let name = |number: u32| format!("{number:b}").replace('1', "x").replace('0', "y");
        let told: u64 = (0..5000).filter_map(|n| counts.add(Finding::new(0, name(n)))).map(|(_, n)| n).sum();
        let rest: u64 = counts.rest().iter().map(|(_, times)| times).sum();
        assert_eq!((told + rest, counts.0.len()), (5000, MOST_KINDS + 1));
    }

    #[test]
    fn numbers_are_left_out() {
        assert_eq!(without_numbers("12 bytes, tag 3 of 40"), "# bytes, tag # of #");
    }
}
