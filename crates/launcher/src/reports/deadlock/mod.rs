//! The text of a report on a job that cannot go on, from what its processes say of their ranks ([`weft_base::waiting`]): what
//! each rank waits for, what lies unmatched and almost fits, who is in which collective operation and who is not, and a cycle
//! if there is one. Pure: the same knowledge gives the same text, however the ranks are run. However many ranks there are, the
//! text stays short: ranks that wait alike share a line, and what is too much is counted.

mod cycle;
mod lines;
mod names;
mod nearly;
#[cfg(test)]
mod tests;
mod together;

use names::Names;
use std::collections::BTreeMap;
use weft_base::job::RankState;
use weft_base::site::Place;
use weft_base::waiting::{Knowledge, Waiting, Want};

/// The most lines of each kind.
const LINES: usize = 24;

/// Finds where a call is in the program: `at main.c:12 (in exchange)`; empty if that is not known.
pub type Locate<'a> = dyn FnMut(&Place) -> String + 'a;

/// What is known of the job.
struct Job<'a> {
    ranks: BTreeMap<u32, &'a RankState>,
    names: Names,
}

impl<'a> Job<'a> {
    fn new(ranks: &'a [RankState]) -> Self {
        let names = Names::new(ranks.iter().filter_map(|state| state.waits.as_deref()));
        Self { ranks: ranks.iter().map(|state| (state.rank, state)).collect(), names }
    }

    fn knowledge(&self, rank: u32) -> Option<&'a Knowledge> {
        self.ranks.get(&rank).and_then(|state| state.waits.as_deref())
    }

    /// Returns the calls that threads of a rank wait in.
    fn calls(&self, rank: u32) -> &'a [Waiting] {
        self.knowledge(rank).map_or(&[], |knowledge| &knowledge.calls)
    }

    /// Says briefly what a rank does.
    fn brief(&self, rank: u32) -> String {
        match self.calls(rank).first() {
            Some(waiting) => {
                let comm = match waiting.wants.as_slice() {
                    [Want::Collective { comm, .. }] if waiting.call != "MPI_Finalize" => {
                        format!(" on {}", self.names.brief(*comm))
                    }
                    _ => String::new(),
                };
                format!("waits in {}{comm}", waiting.call)
            }
            None => self.ranks.get(&rank).map_or_else(|| "is not known".into(), |state| state.state.clone()),
        }
    }

    fn has_ended(&self, rank: u32) -> bool {
        self.ranks.get(&rank).is_some_and(|state| state.state == "has ended")
    }
}

/// Returns all that a call waits for, its requests' part included.
fn wants(waiting: &Waiting) -> impl Iterator<Item = &Want> {
    waiting.wants.iter().chain(waiting.requests.iter().map(|request| &request.want))
}

/// Says who cannot go on: all, or those that are `stuck`.
pub fn headline(ranks: &[RankState], stuck: &[u32]) -> String {
    if stuck.is_empty() {
        return "every rank waits, and nothing can wake any of them".into();
    }
    let others = ranks.iter().filter(|state| state.state != "has ended" && !stuck.contains(&state.rank));
    let others: Vec<u32> = others.map(|state| state.rank).collect();
    let first = format!("{} can never go on", ranks_of(stuck));
    match others.len() {
        0 => first,
        1 => format!("{first}; {} still runs", ranks_of(&others)),
        _ => format!("{first}; {} still run", ranks_of(&others)),
    }
}

/// What a report ends with if standard sends wait that checking mode has not copied.
pub const SENDS_WAIT: &str = "  with --check every standard send waits for its receive, as MPI allows: a program that goes on \
                              without --check needs MPI\n  to keep its short messages, which no MPI must do; receive first, or \
                              use MPI_Sendrecv (--set check-sends=buffer copies them\n  here, too)\n";

/// Tells whether a rank waits in a standard send, or for one.
pub fn has_standard_sends(ranks: &[RankState]) -> bool {
    let calls =
        ranks.iter().filter_map(|state| state.waits.as_deref()).flat_map(|knowledge| &knowledge.calls);
    calls.into_iter().any(|waiting| {
        let is_standard = |call: &str| ["MPI_Send", "MPI_Isend", "MPI_Send_init"].contains(&call);
        let is_send = |want: &Want| matches!(want, Want::Send(_));
        let call = waiting.call.strip_suffix("_c").unwrap_or(&waiting.call);
        is_standard(call) && waiting.wants.iter().any(is_send)
            || waiting.requests.iter().any(|request| is_standard(&request.made_by) && is_send(&request.want))
    })
}

/// Returns the lines that say what ranks wait for.
pub fn describe(ranks: &[RankState], locate: &mut Locate<'_>) -> String {
    let job = Job::new(ranks);
    let mut text = lines::of(&job, locate);
    text += &limited(together::of(&job));
    text += &limited(nearly::of(&job));
    text += &limited(cycle::of(&job).into_iter().collect());
    text
}

/// Joins lines, as many as are allowed.
fn limited(lines: Vec<String>) -> String {
    let mut text: String = lines.iter().take(LINES).map(|line| format!("  {line}\n")).collect();
    if lines.len() > LINES {
        text += &format!("  … and {} lines like these\n", lines.len() - LINES);
    }
    text
}

/// Writes ranks with their word: `rank 0`, `ranks 1-3`.
fn ranks_of(ranks: &[u32]) -> String {
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}", crate::reports::ranks::intervals(ranks))
}
