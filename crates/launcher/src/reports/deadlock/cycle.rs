//! Ranks that wait for each other in a circle.

use super::Job;
use super::together::{Gathered, gathered};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use weft_base::waiting::{Peer, Waiting, Want};

/// From how many ranks a cycle is looked for, and the most of those that a rank in a collective operation waits for that are
/// followed.
const STARTS: usize = 200;
const FOLLOWED: usize = 8;
/// The most ranks of a cycle that are named.
const NAMED: usize = 8;

/// Returns whom a call waits for: each of these must act before it goes on.
fn awaited(job: &Job<'_>, rank: u32, waiting: &Waiting, gathered: &Gathered) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    if waiting.any_request && waiting.requests.len() + waiting.more_requests as usize > 1 {
        return found;
    }
    // What a note says is the rank's own to do comes before what others do.
    let others =
        waiting.requests.iter().filter(|request| request.note.is_empty()).map(|request| &request.want);
    for want in waiting.wants.iter().chain(others) {
        match want {
            Want::Receive(message) | Want::Send(message) => {
                if let Peer::Rank { world, .. } = message.peer {
                    found.insert(world);
                }
            }
            Want::Collective { comm, call, root, .. } => {
                let there = gathered.get(comm).and_then(|calls| calls.get(&(call.clone(), *root)));
                let is_missing = |rank: &u32| there.is_none_or(|there| !there.contains(rank));
                let Some(members) = job.names.members(*comm) else { continue };
                // Who receives from the root waits for nobody else.
                let from_root = call == "MPI_Bcast" || call.starts_with("MPI_Scatter");
                if let (true, Some(root)) = (from_root, root) {
                    let root = usize::try_from(*root).ok().and_then(|root| members.get(root));
                    found.extend(root.filter(|&&root| is_missing(&root) && root != rank));
                    continue;
                }
                found.extend(members.into_iter().filter(is_missing).take(FOLLOWED));
            }
            Want::Other(_) => {}
        }
    }
    found
}

/// Returns a line for a shortest cycle, if there is one.
pub(super) fn of(job: &Job<'_>) -> Option<String> {
    let gathered = gathered(job);
    let mut edges: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for &rank in job.ranks.keys() {
        // Where several threads wait, each may be what another one waits for.
        if let [only] = job.calls(rank) {
            edges.insert(rank, awaited(job, rank, only, &gathered));
        }
    }
    let mut best: Option<Vec<u32>> = None;
    for &start in edges.keys().take(STARTS) {
        if let Some(cycle) = shortest(&edges, start)
            && best.as_ref().is_none_or(|best| cycle.len() < best.len())
        {
            best = Some(cycle);
        }
    }
    best.map(|cycle| words(&cycle))
}

/// Finds a shortest way from a rank to itself.
fn shortest(edges: &BTreeMap<u32, BTreeSet<u32>>, start: u32) -> Option<Vec<u32>> {
    let mut from: HashMap<u32, u32> = HashMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(rank) = queue.pop_front() {
        for &next in edges.get(&rank).into_iter().flatten() {
            if next == start {
                let mut way = vec![rank];
                while let Some(&before) =
                    way.last().filter(|&&last| last != start).and_then(|last| from.get(last))
                {
                    way.push(before);
                }
                way.reverse();
                return Some(way);
            }
            if let std::collections::hash_map::Entry::Vacant(place) = from.entry(next) {
                place.insert(rank);
                queue.push_back(next);
            }
        }
    }
    None
}

fn words(cycle: &[u32]) -> String {
    let first = cycle[0];
    if cycle.len() == 1 {
        return format!("cycle: rank {first} waits for itself");
    }
    let mut text = format!("cycle: rank {first} waits for rank {}", cycle[1]);
    for rank in cycle.iter().skip(2).take(NAMED - 2) {
        text += &format!(", which waits for rank {rank}");
    }
    if cycle.len() > NAMED {
        text += &format!(", which waits for … ({} ranks in all)", cycle.len());
    }
    text + &format!(", which waits for rank {first}")
}
