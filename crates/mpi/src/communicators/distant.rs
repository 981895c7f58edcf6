//! Agreement on new communicators among ranks of several node processes, by messages: what [`crate::communicators::meetings`] is for
//! ranks that share memory.
//!
//! One rank allocates the context number, which is its node process's own, and sends it to the others. Where the ranks have
//! no communicator in common the messages bear a tag made from what the agreement is about, and a second number from
//! there, which is compared: two agreements that begin at once do not get each other's messages.

use crate::communicators::agreement;
use crate::communicators::contexts;
use crate::communicators::meetings::{Agreement, Key};
use crate::jobs::nodes::nodes;
use crate::jobs::strangers;
use crate::point_to_point::messages::Purpose;
use crate::process::Process;
use core::ffi::c_int;
use std::hash::{Hash, Hasher};
use weft_base::constants::MPI_ERR_OTHER;
use weft_base::{Error, Result};
use weft_comm::{Communicator as Values, Group};
use weft_p2p::Envelope;

/// Tells whether a rank of the job is on this node process.
pub(crate) fn is_here(rank: u32) -> bool {
    nodes().is_none_or(|nodes| nodes.places().of(rank).node == nodes.node())
}

/// Tells whether a group has members on other node processes.
pub(crate) fn spans(group: &Group) -> bool {
    nodes().is_some() && !group.iter().all(is_here)
}

/// Agrees on the context number of a duplicate that ranks begin without blocking. The first ones of a communicator have
/// numbers that need no word; for later ones the first rank is waited for.
///
/// # Errors
/// `MPI_ERR_OTHER` when a node process is lost.
pub(crate) fn duplicate(process: &Process, parent: &Values, number: u64) -> Result<u32> {
    if let Some(spare) = contexts::spare(parent.context, number) {
        return Ok(spare);
    }
    let (everyone, place) = parent.everyone();
    let envelope = Purpose::Duplicate.envelope(parent, 0, (number & 0x7fff_ffff) as c_int);
    let mut word = [0];
    if strangers::are_among(parent) {
        let tag = (number & 0x7fff_ffff) as c_int;
        return agreement::among(process, &everyone, |member| {
            Purpose::Duplicate.envelope(parent, member, tag)
        });
    }
    if place == 0 {
        word[0] = contexts::allocate(everyone.size());
        tell(process, &everyone, envelope, &word)?;
    } else {
        process.messages().receive_words(everyone.world_rank(0), envelope, &mut word)?;
    }
    contexts::usable(word[0])
}

/// Sends words to all other members of a group.
fn tell(process: &Process, group: &Group, envelope: Envelope, words: &[u32]) -> Result {
    let messages = process.messages();
    let mut others = group.iter().filter(|&member| member != process.world_rank);
    others.try_for_each(|member| messages.send_words(member, envelope, words))
}

/// The same on all node processes, which run one program.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        // Every bit of the state decides about every bit of both halves.
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        }
    }
}

/// Makes the tag and the number to compare of an agreement.
fn marks(key: &Key) -> (c_int, u32) {
    let mut mix = Mix(0xcbf2_9ce4_8422_2325);
    key.hash(&mut mix);
    let hash = mix.finish();
    ((hash & 0x7fff_ffff) as c_int, (hash >> 32) as u32)
}

#[cold]
fn mixed_up() -> Error {
    let text = "two groups that agree on a communicator at the same time have tags that cannot be told apart; use \
                another stringtag for one of them";
    Error::new(MPI_ERR_OTHER, text)
}

/// Agrees on the context number of an intracommunicator of a group: its first member allocates it.
///
/// # Errors
/// `MPI_ERR_OTHER` when a node process is lost.
pub(crate) fn of_group(process: &Process, key: &Key, group: &Group) -> Result<u32> {
    let (tag, mark) = marks(key);
    let first = group.world_rank(0);
    let envelope = Purpose::FromGroup.without_communicator(first, tag);
    if first == process.world_rank {
        let context = contexts::allocate(group.size());
        tell(process, group, envelope, &[mark, context])?;
        return contexts::usable(context);
    }
    receive_context(process, first, envelope, mark)
}

/// Agrees on the context number of an intercommunicator of `holders` ranks with the leader of the other side, rank `other` of
/// the job: the lower of both allocates it.
///
/// # Errors
/// `MPI_ERR_OTHER` when a node process is lost.
pub(crate) fn of_leaders(process: &Process, key: &Key, other: u32, holders: u32) -> Result<u32> {
    let (tag, mark) = marks(key);
    let lower = other.min(process.world_rank);
    let envelope = Purpose::Leaders.without_communicator(lower, tag);
    if lower == process.world_rank {
        let context = contexts::allocate(holders);
        process.messages().send_words(other, envelope, &[mark, context])?;
        return contexts::usable(context);
    }
    receive_context(process, other, envelope, mark)
}

fn receive_context(process: &Process, from: u32, envelope: Envelope, mark: u32) -> Result<u32> {
    let mut words = [0; 2];
    process.messages().receive_words(from, envelope, &mut words)?;
    if words[0] == mark { contexts::usable(words[1]) } else { Err(mixed_up()) }
}

/// Tells the other members of a side what its leader, the caller, has found out.
///
/// # Errors
/// `MPI_ERR_OTHER` when a node process is lost.
pub(crate) fn say(process: &Process, key: &Key, side: &Group, told: &Result<Option<Agreement>>) -> Result {
    let (tag, mark) = marks(key);
    let envelope = Purpose::Side.without_communicator(process.world_rank, tag);
    let (mut head, mut ranks) = ([mark, 0, 0, 0, 0], Vec::new());
    match told {
        Err(error) => head[1] = error.class as u32,
        Ok(None) => {}
        Ok(Some(agreed)) => {
            ranks = agreed.remote.iter().flat_map(Group::iter).collect();
            head = [mark, 0, 1, agreed.context, ranks.len() as u32];
        }
    }
    tell(process, side, envelope, &head)?;
    if ranks.is_empty() { Ok(()) } else { tell(process, side, envelope, &ranks) }
}

/// Waits for what the leader of the caller's side, its rank `leader`, has found out.
///
/// # Errors
/// The class of the leader's error; `MPI_ERR_OTHER` when a node process is lost.
pub(crate) fn listen(process: &Process, key: &Key, side: &Group, leader: u32) -> Result<Option<Agreement>> {
    let (tag, mark) = marks(key);
    let leader = side.world_rank(leader);
    let envelope = Purpose::Side.without_communicator(leader, tag);
    let mut head = [0; 5];
    let messages = process.messages();
    messages.receive_words(leader, envelope, &mut head)?;
    let [found, class, is_made, context, length] = head;
    if found != mark {
        return Err(mixed_up());
    }
    if class != 0 {
        let text = format!("the local leader, rank {leader} of the job, found an error in its arguments");
        return Err(Error::new(class as i32, text));
    }
    if is_made == 0 {
        return Ok(None);
    }
    let mut ranks = vec![0; length as usize];
    messages.receive_words(leader, envelope, &mut ranks)?;
    Ok(Some(Agreement { context, remote: Some(Group::from_ranks(&ranks).with_origin(side.origin())) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn agreements_have_marks_of_their_own() {
        let mut seen = HashSet::new();
        let mut tags = HashSet::new();
        for first in 0..40u32 {
            for length in 2..20 {
                for tag in ["", "a", "b", "ab"] {
                    let members: Vec<u32> = (first..first + length).collect();
                    let group = Key::Group { tag: tag.into(), members: members.clone() };
                    let side =
                        Key::Side { tag: tag.into(), members: members.clone(), leader: first % length };
                    let (left, right) = (members.clone(), vec![first + 100]);
                    let leaders = Key::Leaders { tag: tag.into(), left, right };
                    for key in [group, side, leaders] {
                        let marks = marks(&key);
                        assert!(marks.0 >= 0);
                        assert!(seen.insert(marks), "{key:?}");
                        tags.insert(marks.0);
                    }
                }
            }
        }
        assert!(tags.len() + 3 > seen.len(), "tags alone tell nearly all apart");
    }
}
