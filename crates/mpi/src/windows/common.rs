//! What the ranks of a process share of a window that is being created: what each of them brings, and the memory of a shared one.

use crate::communicators::communicator::Communicator;
use crate::environment::memory::Block;
use crate::jobs::{host_memory, nodes};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use weft_base::Result;
use weft_base::abi::Count;
use weft_comm::Group;
use weft_rma::Shared;
use weft_sync::Lock;

/// What a rank brings to a window.
#[derive(Clone, Copy)]
pub(super) struct Brought {
    /// The address of its memory; for shared windows 0 until the block is there.
    pub base: usize,
    pub size: usize,
    pub unit: Count,
    /// What the rank wants its shared memory aligned to.
    pub alignment: usize,
    /// Whether the rank allows gaps between the shared memory of ranks.
    pub gaps: bool,
    /// Whether the rank promised not to lock.
    pub no_locks: bool,
    /// Where its process is ([`host_memory::place`]).
    pub place: u64,
}

/// What the ranks of a window share.
pub(crate) struct Common {
    brought: Box<[OnceLock<Brought>]>,
    pub(super) rma: Arc<Shared>,
    /// The memory of a shared window all of whose ranks are here; the first rank that needs it allocates it.
    pub(super) block: OnceLock<Result<Block>>,
    /// What processes of the host map.
    pub(super) host: OnceLock<host_memory::Memory>,
}

impl Common {
    /// Finds what the ranks of the window with a context number share, or creates it.
    pub(super) fn join(context: u32, group: &Group, is_dynamic: bool) -> Arc<Self> {
        static LIVE: Lock<Option<HashMap<u32, Weak<Common>>>> = Lock::new(None);
        let mut live = LIVE.lock();
        let live = live.get_or_insert_default();
        if let Some(found) = live.get(&context).and_then(Weak::upgrade) {
            return found;
        }
        live.retain(|_, segments| segments.strong_count() > 0);
        let created = Arc::new(Self {
            brought: (0..group.size()).map(|_| OnceLock::new()).collect(),
            rma: Arc::new(Shared::new(context, group.size(), nodes::population_here(group), is_dynamic)),
            block: OnceLock::new(),
            host: OnceLock::new(),
        });
        live.insert(context, Arc::downgrade(&created));
        created
    }

    /// Notes what the calling rank brings, where all ranks are in this process: others may look after a barrier.
    pub(super) fn note(&self, rank: u32, mine: Brought) {
        let _ = self.brought[rank as usize].set(mine);
    }

    /// Tells the other ranks, wherever they are, what the calling rank brings, and notes what they do.
    pub(super) fn tell(&self, parent: &Communicator, mine: Brought) -> Result {
        let Brought { base, size, unit, alignment, gaps, no_locks, place } = mine;
        let flags = usize::from(gaps) | usize::from(no_locks) << 1;
        let words = [base, size, unit as usize, alignment, flags, place as usize].map(usize::to_ne_bytes);
        let mut all = vec![0; size_of_val(&words) * self.brought.len()];
        parent.team.allgather_bytes(words.as_flattened(), &mut all)?;
        for (entry, told) in self.brought.iter().zip(all.chunks_exact(size_of_val(&words))) {
            let word = |at: usize| usize::from_ne_bytes(told[8 * at..][..8].try_into().expect("eight bytes"));
            let (gaps, no_locks) = (word(4) & 1 != 0, word(4) & 2 != 0);
            let (base, size, unit, alignment) = (word(0), word(1), word(2) as Count, word(3));
            let place = word(5) as u64;
            let _ = entry.set(Brought { base, size, unit, alignment, gaps, no_locks, place });
        }
        Ok(())
    }

    /// Returns what a rank brings.
    pub(super) fn of(&self, rank: u32) -> Brought {
        *self.brought[rank as usize].get().expect("told when the window was created")
    }

    /// Tells whether any rank may lock. Hints may differ between ranks, but all see the same of them.
    pub(super) fn may_lock(&self) -> bool {
        (0..self.brought.len() as u32).any(|rank| !self.of(rank).no_locks)
    }
}
