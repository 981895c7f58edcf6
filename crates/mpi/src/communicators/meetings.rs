//! Where ranks meet that agree on a new communicator without waiting for each other in a collective operation: by key,
//! in the memory all ranks of the process share.
//!
//! Who comes first to a key makes the meeting, who comes last removes it from the list. A rank that comes again with the
//! same key before all others came once begins the next meeting of that key: the standard lets it run ahead.

use crate::communicators::contexts;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, OnceLock};
use weft_base::{Error, Result};
use weft_comm::Group;
use weft_sched::WaitSet;
use weft_sync::Lock;

/// What a meeting is about; all its parties come with an equal key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// The duplicate number `number` that a communicator's ranks begin without blocking.
    Duplicate { context: u32, number: u64 },
    /// An intracommunicator of these ranks of the job, in this order.
    Group { tag: String, members: Vec<u32> },
    /// One side of an intercommunicator: its leader says who is on the other side.
    Side { tag: String, members: Vec<u32>, leader: u32 },
    /// The leaders of both sides of an intercommunicator.
    Leaders { tag: String, left: Vec<u32>, right: Vec<u32> },
}

/// What the parties learn.
#[derive(Clone)]
pub(crate) struct Agreement {
    /// The context number of the new communicator.
    pub context: u32,
    /// The other side, where not everybody knows it.
    pub remote: Option<Group>,
}

/// One meeting.
pub(crate) struct Meeting {
    said: OnceLock<Result<Option<Agreement>>>,
    waiting: WaitSet,
}

impl Meeting {
    /// Returns the context number that the first of `holders` ranks allocates.
    pub fn context(&self, holders: u32) -> u32 {
        let agreed = self
            .said
            .get_or_init(|| Ok(Some(Agreement { context: contexts::allocate(holders), remote: None })));
        agreed.as_ref().ok().and_then(Option::as_ref).map_or(0, |agreed| agreed.context)
    }

    /// Tells everybody what there is to know: the agreement, that there will be no communicator, or an error.
    pub fn say(&self, outcome: Result<Option<Agreement>>) {
        let _ = self.said.set(outcome);
        self.waiting.wake_all();
    }

    /// Waits until somebody has said it.
    ///
    /// # Errors
    /// What was said.
    pub fn listen(&self) -> Result<Option<Agreement>> {
        self.waiting.wait(|| self.said.get().is_some());
        self.said.get().expect("waited for it").clone()
    }
}

struct Entry {
    meeting: Arc<Meeting>,
    arrived: HashSet<u32>,
}

static MEETINGS: Lock<Option<HashMap<Key, VecDeque<Entry>>>> = Lock::new(None);

/// Joins a meeting of `parties` ranks as rank `me` of the job.
pub(crate) fn join(key: Key, me: u32, parties: u32) -> Arc<Meeting> {
    let mut guard = MEETINGS.lock();
    let meetings = guard.get_or_insert_default();
    let queue = meetings.entry(key.clone()).or_default();
    let place = queue.iter().position(|entry| !entry.arrived.contains(&me)).unwrap_or_else(|| {
        let meeting = Arc::new(Meeting { said: OnceLock::new(), waiting: WaitSet::new() });
        queue.push_back(Entry { meeting, arrived: HashSet::new() });
        queue.len() - 1
    });
    let entry = &mut queue[place];
    entry.arrived.insert(me);
    let meeting = entry.meeting.clone();
    if entry.arrived.len() as u32 == parties {
        queue.remove(place);
        if queue.is_empty() {
            meetings.remove(&key);
        }
    }
    meeting
}

/// Makes the error of an argument that only the leader of a side can check.
pub(crate) fn refused(error: &Error) -> Result<Option<Agreement>> {
    Err(Error::new(error.class, format!("the local leader found: {}", error.message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Key {
        Key::Duplicate { context: 1 << 20, number }
    }

    fn is_listed(number: u64) -> bool {
        MEETINGS.lock().as_ref().is_some_and(|meetings| meetings.contains_key(&key(number)))
    }

    #[test]
    fn all_parties_get_one_meeting_and_leave_nothing_behind() {
        let first: Vec<u32> = (0..3).map(|rank| join(key(1), rank, 3).context(3)).collect();
        assert!(first.iter().all(|&context| context == first[0]));
        assert!(!is_listed(1));
    }

    #[test]
    fn a_rank_may_run_ahead() {
        let ahead: Vec<u32> = (0..3).map(|_| join(key(2), 0, 2).context(2)).collect();
        assert!(ahead[0] != ahead[1] && ahead[1] != ahead[2]);
        let behind: Vec<u32> = (0..3).map(|_| join(key(2), 1, 2).context(2)).collect();
        assert_eq!(ahead, behind);
        assert!(!is_listed(2));
    }

    #[test]
    fn what_a_leader_says_reaches_those_who_wait() {
        let leader = join(key(3), 0, 2);
        let other = std::thread::spawn(|| join(key(3), 1, 2).listen().map(|said| said.map(|a| a.context)));
        leader.say(Ok(Some(Agreement { context: 77, remote: Some(Group::range(0, 1)) })));
        assert_eq!(other.join().expect("no panic").unwrap(), Some(77));
    }
}
