//! Prints what a node process reports, for people.

use crate::reports::deadlock;
use crate::reports::ranks::intervals;
use crate::reports::symbols::Symbols;
use crate::reports::variables::Variables;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use weft_base::finding::{MOST_KINDS, without_numbers};
use weft_base::job::{RankState, Report, StackFrame};
use weft_base::say;
use weft_base::site::Place;
use weft_diagnose::signals;

/// Prints reports on standard error.
#[derive(Default)]
pub struct Printer {
    symbols: Symbols,
    variables: Variables,
    in_crash: bool,
    /// The stack of the crash, as far as it has been printed.
    crash: Stack,
    /// Whether checking mode lets all standard sends wait.
    sends_wait: bool,
    /// What checking mode has found, by its message without numbers and its places.
    findings: HashMap<String, Found>,
    /// How many findings were made that are of none of these kinds.
    more_findings: u64,
    /// Places that were looked up, and what is said of them.
    places: HashMap<Place, String>,
    /// What the hosts have sent to each other, if they count: messages of ranks, of collectives, bytes.
    sent: BTreeMap<String, [u64; 3]>,
}

/// Findings of one kind.
struct Found {
    /// What the first of them says.
    text: String,
    /// Whether others have other numbers.
    differs: bool,
    ranks: BTreeSet<u32>,
    times: u64,
}

/// Returns a signal's name and number.
pub fn signal_name(signal: i32) -> String {
    match signals::name(signal) {
        Some(name) => format!("{name} (signal {signal})"),
        None => format!("signal {signal}"),
    }
}

/// Returns the name of this machine.
pub fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "localhost".into() } else { name.trim().into() }
}

/// A stack that is being printed, innermost function first, until `main`.
#[derive(Default)]
struct Stack {
    frames: usize,
    /// The line printed last, without its number, and how often it came again.
    last: (String, usize),
    past_main: bool,
}

impl Stack {
    /// Prints a frame; `is_return` says that its address is where a call returns to.
    fn print(&mut self, symbols: &mut Symbols, frame: &StackFrame, is_return: bool) {
        if self.past_main {
            return;
        }
        let StackFrame { address, offset, file } = frame;
        for frame in symbols.find(file, *offset, is_return) {
            let place = frame.place.unwrap_or_else(|| {
                let name = file.rsplit('/').next().unwrap_or_default();
                if name.is_empty() { String::new() } else { format!("{name}+{offset:#x}") }
            });
            let function = frame.function.unwrap_or_else(|| format!("{address:#x}"));
            let line = format!("{function}{}{place}", if place.is_empty() { "" } else { " at " });
            if line == self.last.0 && self.frames > 1 {
                self.last.1 += 1;
            } else {
                self.print_repetitions();
                say!("  #{} {line}", self.frames);
                self.last = (line, 0);
            }
            self.frames += 1;
            self.past_main |= function == "main";
        }
    }

    fn print_repetitions(&mut self) {
        if self.last.1 > 0 {
            say!("  … the same {} times", self.last.1);
        }
        self.last.1 = 0;
    }
}

fn who(rank: Option<u32>) -> String {
    rank.map_or_else(|| "a thread that belongs to no rank".into(), |rank| format!("rank {rank}"))
}

/// Lists ranks by what they are doing: `ranks 0, 3-7: waits in MPI_Recv`.
fn describe(ranks: &[RankState]) -> String {
    let mut groups: Vec<(&str, Vec<u32>)> = Vec::new();
    for state in ranks {
        match groups.iter_mut().find(|(text, _)| *text == state.state) {
            Some((_, members)) => members.push(state.rank),
            None => groups.push((&state.state, vec![state.rank])),
        }
    }
    let mut text = String::new();
    for (state, members) in groups {
        let word = if members.len() == 1 { "rank" } else { "ranks" };
        let _ = writeln!(text, "  {word} {}: {state}", intervals(&members));
    }
    text
}

impl Printer {
    /// Creates a printer; `sends_wait` if checking mode lets all standard sends wait.
    pub fn new(sends_wait: bool) -> Self {
        Self { sends_wait, ..Self::default() }
    }

    /// Prints one report of a node process on `host`.
    pub fn print(&mut self, report: &Report, host: &str) {
        match report {
            Report::Crash { rank, signal, code, address, stack } => {
                self.in_crash = true;
                let (who, name) = (who(*rank), signal_name(*signal));
                if let Some((_, size)) = stack {
                    say!(
                        "mpirun: {who} on {host}: stack overflow ({name} at address {address:#x}): its stack has {} KiB; \
                         raise it with ulimit -s, or put large arrays on the heap",
                        size / 1024
                    );
                } else {
                    let has_address = *code > 0 && *signal != libc::SIGABRT;
                    let place = if has_address { format!(" at address {address:#x}") } else { String::new() };
                    let cause = signals::cause(*signal, *code);
                    let cause = if cause.is_empty() { String::new() } else { format!(": {cause}") };
                    say!("mpirun: {who} on {host}: {name}{place}{cause}");
                }
            }
            Report::StackFrame(frame) => self.crash.print(&mut self.symbols, frame, self.crash.frames > 0),
            Report::CrashEnd => self.finish(),
            Report::Abort { rank, code, message, stack } => {
                let reason = if message.is_empty() { String::new() } else { format!(": {message}") };
                say!("mpirun: {} on {} aborted the job with code {code}{reason}", who(*rank), host);
                let mut printed = Stack::default();
                // Each is where a call returns to.
                stack.iter().for_each(|frame| printed.print(&mut self.symbols, frame, true));
                printed.print_repetitions();
            }
            Report::RankFailed { rank, code, message } => {
                say!("mpirun: rank {rank} on {host} {message}; the job ends with exit code {}", code & 0xff);
            }
            Report::Deadlock { ranks, stuck } => {
                let mut text = deadlock::describe(ranks, &mut |place| self.line(place));
                if self.sends_wait && deadlock::has_standard_sends(ranks) {
                    text += deadlock::SENDS_WAIT;
                }
                say::write(format_args!("mpirun: deadlock: {}\n{text}", deadlock::headline(ranks, stuck)));
            }
            Report::Ranks { ranks } => {
                let ranks = self.with_places(ranks);
                say::write(format_args!("{}", describe(&ranks)));
            }
            Report::Finding { rank, message, calls, times, claim: None } => {
                self.finding(*rank, message, "", calls, *times);
            }
            Report::Finding { rank, message, calls, times, claim: Some(claim) } => {
                let place = calls.first().map(|(_, place)| place);
                if let Some(declared) = place.and_then(|place| self.variables.contradiction(place, claim)) {
                    let text = format!("{message}: {declared}, not {}", claim.datatype);
                    self.finding(*rank, &text, &claim.datatype, calls, *times);
                }
            }
            Report::Failed { message } => say!("mpirun: {message}"),
            Report::Sent { messages, bytes } => {
                let sums = self.sent.entry(host.into()).or_default();
                sums.iter_mut().zip([messages[0], messages[1], *bytes]).for_each(|(sum, one)| *sum += one);
            }
            Report::Ended { .. }
            | Report::Attached
            | Report::Offers { .. }
            | Report::Rests
            | Report::Census { .. }
            | Report::Spawn { .. }
            | Report::Name { .. }
            | Report::Met { .. } => {}
        }
    }

    /// Says where a call is: `MPI_Send at main.c:12 (in exchange)`.
    fn place(&mut self, place: &Place) -> String {
        let call = if place.call.is_empty() { "a call that was not noted" } else { &place.call };
        if place.offset == 0 {
            return call.into();
        }
        let found = self.symbols.find(&place.file, place.offset, true);
        let Some(frame) = found.first() else { return call.into() };
        let at = frame.place.clone().unwrap_or_else(|| {
            let name = place.file.rsplit('/').next().unwrap_or_default();
            format!("{name}+{:#x}", place.offset)
        });
        let function = frame.function.as_ref().map_or_else(String::new, |name| format!(" (in {name})"));
        format!("{call} at {at}{function}")
    }

    /// Says where a call is, as far as that is known: `at main.c:12 (in exchange)`.
    fn line(&mut self, place: &Place) -> String {
        if place.offset == 0 {
            return String::new();
        }
        let found = self.symbols.find(&place.file, place.offset, true);
        let Some(frame) = found.first() else { return String::new() };
        let at = frame.place.as_ref().map(|at| format!("at {at}"));
        let function = frame.function.as_ref().map(|name| format!("(in {name})"));
        [at, function].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Returns what [`Printer::place`] does; a finding may be made at the same place a thousand times.
    fn known_place(&mut self, place: &Place) -> String {
        if let Some(text) = self.places.get(place) {
            return text.clone();
        }
        let text = self.place(place);
        self.places.insert(place.clone(), text.clone());
        text
    }

    /// Prints a finding, unless one like it is known: every rank may make the same mistake, and make it again. What differs in
    /// numbers only is alike, but not if it concerns another datatype: `MPI_INT32_T` is not `MPI_INT64_T`.
    fn finding(&mut self, rank: u32, message: &str, datatype: &str, calls: &[(String, Place)], times: u64) {
        let places: Vec<String> = calls.iter().map(|(_, place)| self.known_place(place)).collect();
        let places_in_line = places.join(", ");
        let text = format!("{message}: {places_in_line}");
        let kind = format!("{}: {datatype}: {places_in_line}", without_numbers(message));
        if let Some(found) = self.findings.get_mut(&kind) {
            found.differs |= found.text != text;
            found.ranks.insert(rank);
            found.times += times;
        } else if self.findings.len() == MOST_KINDS {
            self.more_findings += times;
        } else {
            let ranks = BTreeSet::from([rank]);
            self.findings.insert(kind, Found { text, differs: false, ranks, times });
            let mut text = format!("weft check: rank {rank}: {message}");
            for ((role, _), place) in calls.iter().zip(places) {
                text += &format!("\n  {role} in {place}");
            }
            say!("{text}");
        }
    }

    /// Returns the number of different findings.
    pub fn findings(&self) -> usize {
        self.findings.len()
    }

    /// Sums up what was counted and what was found, if anything was.
    pub fn sum_up(&self) {
        let line = |[ranks, collectives, bytes]: [u64; 3]| {
            format!("{ranks} messages of ranks and {collectives} of collectives, {bytes} bytes")
        };
        if self.sent.len() > 1 {
            let mut all = [0; 3];
            for (host, sums) in &self.sent {
                say!("mpirun: {host} has sent to other hosts: {}", line(*sums));
                all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
            }
            say!("mpirun: {} hosts have sent to each other: {}", self.sent.len(), line(all));
        }
        if self.findings.is_empty() {
            return;
        }
        let mut repeated: Vec<_> = self.findings.values().filter(|found| found.times > 1).collect();
        repeated.sort_unstable_by_key(|found| &found.text);
        for Found { text, differs, ranks, times } in repeated {
            let word = if ranks.len() == 1 { "rank" } else { "ranks" };
            let like = if *differs { " like this" } else { "" };
            let ranks: Vec<u32> = ranks.iter().copied().collect();
            say!("weft check: {times} times{like}, by {word} {}: {text}", intervals(&ranks));
        }
        if self.more_findings > 0 {
            say!("weft check: {} more findings, of other kinds than these", self.more_findings);
        }
        let plural = if self.findings.len() == 1 { "" } else { "s" };
        say!("weft check: {} finding{plural}", self.findings.len());
    }

    /// Adds to each rank's state where it is.
    fn with_places(&mut self, ranks: &[RankState]) -> Vec<RankState> {
        let with_place = |state: &RankState| {
            let text = match &state.place {
                Some(place) if state.state.ends_with(&place.call) => {
                    let call = state.state.len() - place.call.len();
                    format!("{}{}", &state.state[..call], self.place(place))
                }
                _ => state.state.clone(),
            };
            RankState { state: text, place: None, ..state.clone() }
        };
        ranks.iter().map(with_place).collect()
    }

    /// Ends a crash's list of frames.
    pub fn finish(&mut self) {
        self.crash.print_repetitions();
        if self.in_crash && self.crash.frames == 0 {
            say!("  (no backtrace: the stack could not be read)");
        }
        self.in_crash = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_with_the_same_state_are_listed_together() {
        let state = RankState::plain;
        let ranks =
            [state(0, "a"), state(1, "b"), state(2, "b"), state(3, "a"), state(4, "b"), state(5, "c")];
        assert_eq!(describe(&ranks), "  ranks 0, 3: a\n  ranks 1-2, 4: b\n  rank 5: c\n");
    }
}
