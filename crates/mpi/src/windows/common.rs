//! What the ranks of a process share of a window that is being created: what each of them brings, and the memory of a shared one.

use crate::communicators::communicator::Communicator;
use crate::environment::memory::Block;
use crate::jobs::nodes;
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
}

/// What the ranks of a window share.
pub(crate) struct Common {
    brought: Box<[OnceLock<Brought>]>,
    pub(super) rma: Arc<Shared>,
    /// The memory of a shared window; the first rank that needs it allocates it.
    block: OnceLock<Result<Block>>,
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
        let Brought { base, size, unit, alignment, gaps, no_locks } = mine;
        let flags = usize::from(gaps) | usize::from(no_locks) << 1;
        let words = [base, size, unit as usize, alignment, flags].map(usize::to_ne_bytes);
        let mut all = vec![0; size_of_val(&words) * self.brought.len()];
        parent.team.allgather_bytes(words.as_flattened(), &mut all)?;
        for (entry, told) in self.brought.iter().zip(all.chunks_exact(size_of_val(&words))) {
            let word = |at: usize| usize::from_ne_bytes(told[8 * at..][..8].try_into().expect("eight bytes"));
            let (gaps, no_locks) = (word(4) & 1 != 0, word(4) & 2 != 0);
            let (base, size, unit, alignment) = (word(0), word(1), word(2) as Count, word(3));
            let _ = entry.set(Brought { base, size, unit, alignment, gaps, no_locks });
        }
        Ok(())
    }

    /// Returns what a rank brings.
    pub(super) fn of(&self, rank: u32) -> Brought {
        *self.brought[rank as usize].get().expect("told when the window was created")
    }

    /// Returns where a rank's part of the shared block begins, the size of the whole, and its alignment.
    fn layout(&self, rank: u32) -> (usize, usize, usize) {
        let ranks = self.brought.len() as u32;
        let alignment = (0..ranks).map(|r| self.of(r).alignment).max().unwrap_or(1);
        let gaps = self.of(0).gaps;
        let (mut offset, mut total) = (0, 0usize);
        for r in 0..ranks {
            if r == rank {
                offset = total;
            }
            let size = self.of(r).size;
            total = total.saturating_add(if gaps { size.next_multiple_of(alignment) } else { size });
        }
        (offset, total, alignment)
    }

    /// Returns where a rank's part of the shared block lies.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM`
    pub(super) fn shared_base(&self, rank: u32) -> Result<usize> {
        let (offset, total, alignment) = self.layout(rank);
        match self.block.get_or_init(|| Block::new(total, alignment)) {
            Ok(block) => Ok(block.address() as usize + offset),
            Err(error) => Err(error.clone()),
        }
    }

    /// Tells whether any rank may lock. Hints may differ between ranks, but all see the same of them.
    pub(super) fn may_lock(&self) -> bool {
        (0..self.brought.len() as u32).any(|rank| !self.of(rank).no_locks)
    }
}
