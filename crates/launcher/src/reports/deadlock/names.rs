//! What communicators are called in a report.

use crate::reports::ranks::intervals;
use std::collections::BTreeMap;
use weft_base::waiting::{Communicator, Key, Knowledge, Message, Peer};

/// The communicators that are mentioned.
pub(super) struct Names {
    known: BTreeMap<Key, Communicator>,
    /// What they are called.
    names: BTreeMap<Key, String>,
}

/// Unnamed communicators are called by letters, as long as there are letters.
fn letter(index: usize) -> String {
    match u8::try_from(index) {
        Ok(index) if index < 26 => format!("communicator {}", char::from(b'A' + index)),
        _ => format!("communicator number {}", index + 1),
    }
}

impl Names {
    pub(super) fn new<'a>(all: impl Iterator<Item = &'a Knowledge>) -> Self {
        let mut known: BTreeMap<Key, Communicator> = BTreeMap::new();
        for communicator in all.flat_map(|knowledge| &knowledge.communicators) {
            let said = known.entry(communicator.key).or_insert_with(|| communicator.clone());
            // Ranks may give it different names, or none; the smallest is as good as any, and always the same.
            let is_better = |new: &str| !new.is_empty() && (said.name.is_empty() || new < said.name.as_str());
            if is_better(&communicator.name) {
                said.name.clone_from(&communicator.name);
            }
        }
        let mut unnamed = 0;
        let mut names = BTreeMap::new();
        for (key, communicator) in &known {
            let name = if communicator.name.is_empty() {
                unnamed += 1;
                letter(unnamed - 1)
            } else {
                communicator.name.clone()
            };
            names.insert(*key, name);
        }
        Self { known, names }
    }

    /// Names a communicator, and says how large it is.
    pub(super) fn full(&self, key: Key) -> String {
        let Some(communicator) = self.known.get(&key) else { return "a communicator".into() };
        let (name, size) = (self.brief(key), communicator.size);
        let plural = if size == 1 { "" } else { "s" };
        let between = if communicator.remote.is_some() { " in two groups" } else { "" };
        match self.members(key) {
            Some(members) if communicator.name.is_empty() => {
                let mut members = members;
                members.sort_unstable();
                format!("{name} (rank{plural} {}{between})", intervals(&members))
            }
            _ => format!("{name} ({size} rank{plural}{between})"),
        }
    }

    /// Names a communicator.
    pub(super) fn brief(&self, key: Key) -> String {
        self.names.get(&key).cloned().unwrap_or_default()
    }

    /// Returns how many ranks a communicator has.
    pub(super) fn size(&self, key: Key) -> u32 {
        self.known.get(&key).map_or(0, |communicator| communicator.size)
    }

    /// Returns the ranks of a communicator, if they are known.
    pub(super) fn members(&self, key: Key) -> Option<Vec<u32>> {
        let runs = self.known.get(&key)?.members.as_ref()?;
        let run = |&(first, stride, count): &(u32, i64, u32)| {
            (0..i64::from(count)).map(move |i| (i64::from(first) + stride * i) as u32)
        };
        Some(runs.iter().flat_map(run).collect())
    }

    /// Says who the other side of a message is: `rank 3`.
    pub(super) fn peer(&self, message: &Message) -> String {
        match message.peer {
            Peer::Anybody => "any rank".into(),
            Peer::Nobody => "MPI_PROC_NULL".into(),
            Peer::Rank { local, world } if local == world => format!("rank {world}"),
            Peer::Rank { local, world } => format!("rank {world} (rank {local} of the communicator)"),
        }
    }
}

/// Says which tag.
pub(super) fn tag(tag: Option<i32>) -> String {
    tag.map_or_else(|| "any tag".into(), |tag| format!("tag {tag}"))
}

/// Says how much of which datatype.
pub(super) fn data(data: Option<&(u64, String)>) -> String {
    match data {
        Some((count, datatype)) if datatype == "bytes" => {
            format!(", {count} byte{}", if *count == 1 { "" } else { "s" })
        }
        Some((count, datatype)) if datatype.starts_with("a ") => format!(", {count} of {datatype}"),
        Some((count, datatype)) => format!(", {count} {datatype}"),
        None => String::new(),
    }
}
