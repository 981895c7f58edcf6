//! Who is in which collective operation of a communicator, and who is not.

use super::{Job, ranks_of, wants};
use std::collections::{BTreeMap, BTreeSet};
use weft_base::waiting::{Key, Want};

/// The ranks that wait in a collective call, by communicator and call: name and root.
pub(super) type Gathered = BTreeMap<Key, BTreeMap<(String, Option<i32>), BTreeSet<u32>>>;

/// Finds who is in which collective call.
pub(super) fn gathered(job: &Job<'_>) -> Gathered {
    let mut found = Gathered::new();
    for &rank in job.ranks.keys() {
        for want in job.calls(rank).iter().flat_map(wants) {
            if let Want::Collective { comm, call, root, .. } = want {
                let calls = found.entry(*comm).or_default();
                calls.entry((call.clone(), *root)).or_default().insert(rank);
            }
        }
    }
    found
}

/// Returns a line for each communicator whose ranks are not all in the same operation.
pub(super) fn of(job: &Job<'_>) -> Vec<String> {
    let gathered = gathered(job);
    gathered.iter().filter_map(|(&comm, calls)| line(job, comm, calls)).collect()
}

fn line(job: &Job<'_>, comm: Key, calls: &BTreeMap<(String, Option<i32>), BTreeSet<u32>>) -> Option<String> {
    let there: BTreeSet<u32> = calls.values().flatten().copied().collect();
    let mut groups: Vec<(Vec<u32>, String)> = calls
        .iter()
        .map(|((call, root), ranks)| {
            let root = root
                .filter(|_| calls.len() > 1)
                .map_or_else(String::new, |root| format!(" with root {root}"));
            (ranks.iter().copied().collect(), format!("{call}{root}"))
        })
        .collect();
    groups.sort();
    let mut texts = Vec::new();
    for (index, (ranks, call)) in groups.iter().enumerate() {
        let verb = match (index, ranks.len()) {
            (0, 1) => " is",
            (0, _) => " are",
            _ => "",
        };
        texts.push(format!("{}{verb} in {call}", ranks_of(ranks)));
    }
    let mut text = format!("{}: {}", job.names.full(comm), texts.join(", "));
    match job.names.members(comm) {
        Some(members) => {
            let mut absent: BTreeMap<String, Vec<u32>> = BTreeMap::new();
            let mut missing: Vec<u32> = members.into_iter().filter(|rank| !there.contains(rank)).collect();
            missing.sort_unstable();
            if missing.is_empty() && groups.len() == 1 {
                return None;
            }
            for rank in missing {
                absent.entry(job.brief(rank)).or_default().push(rank);
            }
            let mut absent: Vec<(Vec<u32>, String)> =
                absent.into_iter().map(|(state, ranks)| (ranks, state)).collect();
            absent.sort();
            let absent: Vec<String> =
                absent.iter().map(|(ranks, state)| format!("{} ({state})", ranks_of(ranks))).collect();
            if !absent.is_empty() {
                text += &format!("; not there: {}", absent.join(", "));
            }
        }
        None => {
            let missing = (job.names.size(comm) as usize).saturating_sub(there.len());
            if missing == 0 && groups.len() == 1 {
                return None;
            }
            if missing > 0 {
                text += &format!("; {missing} ranks are not there");
            }
        }
    }
    Some(text)
}
