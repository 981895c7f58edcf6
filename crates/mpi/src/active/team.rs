//! The ranks of a context: who belongs to it, and those of this process.

use super::member::Member;
use crate::jobs::nodes;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use weft_comm::Group;
use weft_sync::Lock;
use weft_transport::Node;

static LIVE: Lock<Option<HashMap<u32, Weak<Team>>>> = Lock::new(None);

/// What the ranks of this process share of a context.
pub(super) struct Team {
    group: Group,
    /// By rank, those that are here.
    members: Box<[OnceLock<Arc<Member>>]>,
}

/// Where a rank is.
pub(super) enum Whereabouts<'a> {
    /// In this process.
    Here(&'a Arc<Member>),
    /// In another one.
    There(Node),
}

impl Team {
    /// Finds what the ranks of the context with a number share, or creates it.
    pub fn join(number: u32, group: &Group) -> Arc<Self> {
        let mut live = LIVE.lock();
        let live = live.get_or_insert_default();
        if let Some(found) = live.get(&number).and_then(Weak::upgrade) {
            return found;
        }
        live.retain(|_, team| team.strong_count() > 0);
        let members = (0..group.size()).map(|_| OnceLock::new()).collect();
        let created = Arc::new(Self { group: group.clone(), members });
        live.insert(number, Arc::downgrade(&created));
        created
    }

    /// Adds a rank of this process, before anybody asks for it.
    pub fn add(&self, member: Arc<Member>) {
        let _ = self.members[member.rank as usize].set(member);
    }

    /// Returns how many ranks there are.
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// Tells where one of them is.
    #[inline]
    pub fn find(&self, rank: u32) -> Whereabouts<'_> {
        match self.members[rank as usize].get() {
            Some(member) => Whereabouts::Here(member),
            None => Whereabouts::There(nodes::node_of(self.group.world_rank(rank))),
        }
    }
}

/// Returns a rank of this process that belongs to the context with a number.
pub(super) fn member(number: u32, rank: u32) -> Option<Arc<Member>> {
    let live = LIVE.lock();
    let team = live.as_ref()?.get(&number)?.upgrade()?;
    team.members.get(rank as usize)?.get().cloned()
}

/// Returns all ranks of this process that belong to contexts.
pub(super) fn all_members() -> Vec<Arc<Member>> {
    let live = LIVE.lock();
    let teams = live.iter().flat_map(HashMap::values).filter_map(Weak::upgrade);
    teams.flat_map(|team| team.members.iter().filter_map(|m| m.get().cloned()).collect::<Vec<_>>()).collect()
}
