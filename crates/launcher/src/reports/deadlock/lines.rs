//! A line for ranks that wait alike.

use super::names::{data, tag};
use super::{Job, LINES, Locate, ranks_of};
use std::fmt::Write as _;
use weft_base::waiting::{Message, Peer, Request, Waiting, Want};

/// Stands for the peer in texts that are compared without it.
const PEER: char = '\u{1}';
/// The most requests that are said of a call.
const REQUESTS: usize = 4;
/// The most peers that are listed.
const PEERS: usize = 16;
/// From how many lines on that differ in the peer only they become one.
const MANY: usize = 3;

/// What is said of some ranks.
struct Group {
    /// The text, with [`PEER`] in place of the peer if there is one.
    text: String,
    peer: Option<String>,
    /// The peer's number, for lists.
    number: u32,
    ranks: Vec<u32>,
}

impl Group {
    fn whole(&self) -> String {
        self.text.replace(PEER, self.peer.as_deref().unwrap_or_default())
    }
}

fn message(job: &Job<'_>, way: &str, message: &Message, peer: &str) -> String {
    let (comm, data) = (job.names.full(message.comm), data(message.data.as_ref()));
    format!("{way} {peer} with {} on {comm}{data}", tag(message.tag))
}

fn want(job: &Job<'_>, want: &Want, peer: Option<&str>) -> String {
    let peer_of = |message: &Message| peer.map_or_else(|| job.names.peer(message), str::to_owned);
    match want {
        Want::Receive(about) => message(job, "from", about, &peer_of(about)),
        Want::Send(about) => message(job, "to", about, &peer_of(about)),
        Want::Collective { comm, root, data: elements, .. } => {
            let root = root.map_or_else(String::new, |root| match root {
                -3 => ", root here".into(),
                root if root < 0 => ", root elsewhere".into(),
                root => format!(", root {root}"),
            });
            format!("on {}{root}{}", job.names.full(*comm), data(elements.as_ref()))
        }
        Want::Other(words) => words.clone(),
    }
}

fn request(job: &Job<'_>, request: &Request) -> String {
    let note = if request.note.is_empty() { String::new() } else { format!(" ({})", request.note) };
    match &request.want {
        Want::Other(words) => format!("{} ({words})", request.made_by),
        about => format!("{} {}{note}", request.made_by, want(job, about, None)),
    }
}

fn requests(job: &Job<'_>, waiting: &Waiting) -> String {
    let all = waiting.requests.len() + waiting.more_requests as usize;
    let mut texts: Vec<(String, usize)> = Vec::new();
    for text in waiting.requests.iter().map(|one| request(job, one)) {
        match texts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, times)) => *times += 1,
            None => texts.push((text, 1)),
        }
    }
    let shown: Vec<String> = texts
        .iter()
        .take(REQUESTS)
        .map(|(text, times)| if *times == 1 { text.clone() } else { format!("{times} times {text}") })
        .collect();
    let said: usize = texts.iter().take(REQUESTS).map(|(_, times)| times).sum();
    let mut text = if waiting.any_request && all > 1 { "for one of " } else { "for " }.to_owned();
    text += &shown.join("; ");
    if all > said {
        let _ = write!(text, "; and {} more", all - said);
    }
    text
}

/// Says what a call waits for, with [`PEER`] for the peer if there is one.
fn call(job: &Job<'_>, waiting: &Waiting, locate: &mut Locate<'_>) -> (String, Option<(String, u32)>) {
    let place = waiting.place.as_ref().map_or_else(String::new, locate);
    let mut text = format!("waits in {}", waiting.call);
    if !place.is_empty() {
        text += &format!(" {place}");
    }
    if !waiting.requests.is_empty() {
        return (format!("{text}: {}", requests(job, waiting)), None);
    }
    match waiting.wants.as_slice() {
        [] => (text, None),
        [only @ (Want::Receive(about) | Want::Send(about))] => match about.peer {
            Peer::Rank { world, .. } => {
                let with = format!("{text}: {}", want(job, only, Some(&PEER.to_string())));
                (with, Some((job.names.peer(about), world)))
            }
            _ => (format!("{text}: {}", want(job, only, None)), None),
        },
        all => {
            let all: Vec<String> = all.iter().map(|one| want(job, one, None)).collect();
            (format!("{text}: {}", all.join(", and ")), None)
        }
    }
}

/// Returns the lines of all ranks.
pub(super) fn of(job: &Job<'_>, locate: &mut Locate<'_>) -> String {
    let mut groups: Vec<Group> = Vec::new();
    let mut found = std::collections::HashMap::new();
    for (&rank, state) in &job.ranks {
        let calls = job.calls(rank);
        let (text, peer) = match calls {
            [] => (state.state.clone(), None),
            [only] => call(job, only, locate),
            several => {
                let texts: Vec<String> = several
                    .iter()
                    .map(|one| {
                        let (text, peer) = call(job, one, locate);
                        text.replace(PEER, &peer.map_or_else(String::new, |(peer, _)| peer))
                    })
                    .collect();
                (texts.join("; a thread of it "), None)
            }
        };
        let (peer, number) = peer.unzip();
        let place = *found.entry((text.clone(), peer.clone())).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Group { text, peer, number: number.unwrap_or_default(), ranks: Vec::new() });
        }
        groups[place].ranks.push(rank);
    }
    let groups = joined(groups);
    let mut text = String::new();
    for (ranks, words) in groups.iter().take(LINES) {
        let _ = writeln!(text, "  {}: {words}", ranks_of(ranks));
    }
    if groups.len() > LINES {
        let ranks: usize = groups[LINES..].iter().map(|(ranks, _)| ranks.len()).sum();
        let _ = writeln!(text, "  … and {ranks} more ranks that wait in other ways");
    }
    text
}

/// Makes one line of those that differ only in the peer, where they are many.
fn joined(groups: Vec<Group>) -> Vec<(Vec<u32>, String)> {
    let mut alike: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    for group in groups.iter().filter(|group| group.peer.is_some()) {
        *alike.entry(group.text.clone()).or_default() += 1;
    }
    let mut lines: Vec<(Vec<u32>, String)> = Vec::new();
    let mut written: std::collections::HashMap<String, (usize, Vec<(u32, u32)>)> =
        std::collections::HashMap::new();
    for group in groups {
        if group.peer.is_none() || alike[&group.text] < MANY {
            let words = group.whole();
            lines.push((group.ranks, words));
            continue;
        }
        let entry = written.entry(group.text.clone()).or_insert_with(|| (lines.len(), Vec::new()));
        if entry.0 == lines.len() {
            lines.push((Vec::new(), group.text.clone()));
        }
        entry.1.extend(group.ranks.iter().map(|&rank| (rank, group.number)));
    }
    for (text, (line, mut pairs)) in written {
        pairs.sort_unstable();
        let ranks: Vec<u32> = pairs.iter().map(|(rank, _)| *rank).collect();
        let mut peers: Vec<String> = pairs.iter().take(PEERS).map(|(_, peer)| peer.to_string()).collect();
        if pairs.len() > PEERS {
            peers.push("…".into());
        }
        lines[line] = (ranks, text.replace(PEER, &format!("ranks {}, each its own,", peers.join(", "))));
    }
    lines
}
