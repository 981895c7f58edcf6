//! Where the memory of windows lies that allocate it: where all ranks are in one process, in blocks of that, else in memory that
//! the processes of a host map, as far as they can. Ranks of other processes reach the rest by active messages.
#![allow(unsafe_code)] // Says what lies in the memory it has mapped.

use crate::communicators::communicator::Communicator;
use crate::environment::memory::Block;
use crate::jobs::host_memory::{self, INVITATION, Lack, Memory, Offered};
use crate::jobs::nodes;
use crate::windows::common::{Brought, Common};
use std::ptr::NonNull;
use std::sync::Arc;
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_rma::Mapped;
use weft_sys::shared::Mapping;

/// What the parts of ranks are aligned to where they need not adjoin: what a processor fetches together.
const APART: usize = 128;
/// What the parts begin at a multiple of, after the words of ranks.
const PAGE: usize = 4096;

/// Where the parts of some ranks lie in memory that they share.
struct Layout {
    offsets: Vec<usize>,
    bytes: usize,
    alignment: usize,
}

impl Layout {
    /// Lays out the parts of ranks one after the other; with gaps, each at a multiple of the alignment.
    fn of(parts: impl Iterator<Item = Brought> + Clone, gaps: Option<usize>) -> Self {
        let alignment = parts.clone().map(|part| part.alignment).max().unwrap_or(1).max(gaps.unwrap_or(1));
        let mut bytes = 0usize;
        let offsets = parts.map(|part| {
            let offset = bytes;
            let size =
                if gaps.is_some() { part.size.checked_next_multiple_of(alignment) } else { Some(part.size) };
            bytes = bytes.saturating_add(size.unwrap_or(usize::MAX));
            offset
        });
        Self { offsets: offsets.collect(), bytes, alignment }
    }
}

/// What a rank tells when it has memory, or knows that there is none.
mod state {
    pub const NO_MEMORY: u64 = 0;
    pub const HAS_SOME: u64 = 1;
    /// It cannot map what its neighbours have made.
    pub const APART: u64 = 2;
}

/// Where the memory of a window's ranks lies.
pub(super) struct Arranged {
    /// For each rank, its address here if it is seen here, else there.
    pub bases: Vec<usize>,
    /// The calling rank's, if it has memory of its own.
    pub block: Option<Block>,
}

/// What a rank has.
enum Own {
    /// A part of what several processes see.
    Seen(Arc<Mapping>),
    /// Memory of its own.
    Block(Block),
}

/// The ranks of a window, of several processes, that are about to have memory.
pub(super) struct Arrangement<'a> {
    parent: &'a Communicator,
    common: &'a Common,
    rank: u32,
    is_shared: bool,
    /// The ranks at the calling one's place, ascending, and how their parts lie.
    circle: Vec<u32>,
    layout: Layout,
}

impl<'a> Arrangement<'a> {
    /// Begins: everybody knows what all bring.
    pub fn new(parent: &'a Communicator, common: &'a Common, is_shared: bool) -> Self {
        let rank = parent.values.rank;
        let own = common.of(rank).place;
        let circle: Vec<u32> =
            (0..parent.values.size()).filter(|&other| common.of(other).place == own).collect();
        let gaps = if is_shared { common.of(0).gaps.then_some(1) } else { Some(APART) };
        let layout = Layout::of(circle.iter().map(|&other| common.of(other)), gaps);
        Self { parent, common, rank, is_shared, circle, layout }
    }

    /// Tells all ranks some words, and returns those of all.
    fn tell<const WORDS: usize>(&self, words: [u64; WORDS]) -> Result<Vec<[u64; WORDS]>> {
        let bytes = words.map(u64::to_ne_bytes);
        let length = 8 * WORDS;
        let mut all = vec![0; length * self.parent.values.size() as usize];
        self.parent.team.allgather_bytes(bytes.as_flattened(), &mut all)?;
        let word =
            |row: &[u8], i: usize| u64::from_ne_bytes(row[8 * i..][..8].try_into().expect("eight bytes"));
        Ok(all.chunks_exact(length).map(|row| core::array::from_fn(|i| word(row, i))).collect())
    }

    /// Returns where the parts begin in the memory.
    fn begin(&self) -> usize {
        Mapped::bytes_of_words(self.circle.len()).next_multiple_of(self.layout.alignment.max(PAGE))
    }

    /// Makes the memory of the circle, and offers it.
    fn make(&self) -> core::result::Result<(Mapping, Offered), Lack> {
        let size = self.begin().checked_add(self.layout.bytes).ok_or(Lack::Memory)?;
        host_memory::make(size, self.layout.alignment)
    }

    /// Gets the memory of the circle, which its first rank makes; of each other process the first rank to get here fetches it for
    /// all. Others can do so as long as the maker keeps what it has offered.
    fn get(&self, is_alone: bool) -> Result<(Option<Memory>, Option<Offered>)> {
        let maker = self.circle[0];
        let mut offered = None;
        if self.rank == maker && !is_alone {
            let made = self.make().map(|(memory, offer)| {
                offered = Some(offer);
                Arc::new(memory)
            });
            let _ = self.common.host.set(made);
        }
        let told = offered.as_ref().map_or([0; INVITATION], |offered| offered.invitation);
        let mut invitations = vec![0; told.len() * self.parent.values.size() as usize];
        self.parent.team.allgather_bytes(&told, &mut invitations)?;
        if is_alone {
            return Ok((None, None));
        }
        let invitation = &invitations[told.len() * maker as usize..][..told.len()];
        let fetch = || host_memory::fetch(invitation, self.layout.alignment).map(Arc::new);
        Ok((Some(self.common.host.get_or_init(fetch).clone()), offered))
    }

    /// Allocates memory of the rank's own.
    fn allocate(&self) -> core::result::Result<Block, Lack> {
        let Brought { size, alignment, .. } = self.common.of(self.rank);
        Block::new(size, alignment).map_err(|_| Lack::Memory)
    }

    /// Gets memory for all ranks.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM`; `MPI_ERR_RMA_SHARED` for a shared window whose ranks cannot share memory.
    pub fn finish(self) -> Result<Arranged> {
        let node_of = |rank| nodes::node_of(self.parent.values.group.world_rank(rank));
        let ranks = 0..self.parent.values.size();
        let whereabouts: Vec<_> = ranks.map(|rank| (self.common.of(rank).place, node_of(rank))).collect();
        if self.is_shared
            && let Some(other) = whereabouts.iter().position(|at| at.0 != whereabouts[0].0)
        {
            return Err(cannot(&format!("ranks 0 and {other} are not on the same host")));
        }
        let is_alone = self.circle.iter().all(|&rank| node_of(rank) == node_of(self.rank));
        let (memory, offered) =
            if host_memory::are_neighbours(&whereabouts) { self.get(is_alone)? } else { (None, None) };
        let mut own = match memory {
            Some(memory) => memory.map(Own::Seen),
            None => self.allocate().map(Own::Block),
        };
        let mut all = self.tell(self.words(&own))?;
        drop(offered);
        let first = |all: &[[u64; 2]], state| all.iter().position(|row| row[0] == state);
        if first(&all, state::NO_MEMORY).is_none()
            && let Some(other) = first(&all, state::APART)
        {
            if self.is_shared {
                return Err(cannot(&match own {
                    Err(Lack::Sharing(why)) => why,
                    _ => format!("the process of rank {other} cannot map what another one has made"),
                }));
            }
            // Where not all can map the memory, each rank has some of its own.
            let is_whole = self.circle.iter().all(|&rank| all[rank as usize][0] == state::HAS_SOME);
            if !is_whole {
                own = self.allocate().map(Own::Block);
            }
            all = self.tell(self.words(&own))?;
        }
        if first(&all, state::NO_MEMORY).is_some() {
            let size = self.common.of(self.rank).size;
            let text = format!("size is {size}; there is no memory for what all ranks want");
            return Err(Error::new(MPI_ERR_NO_MEM, text));
        }
        let mut bases: Vec<usize> = all.iter().map(|row| row[1] as usize).collect();
        let block = match own {
            Ok(Own::Block(block)) => Some(block),
            Ok(Own::Seen(memory)) => {
                for (place, &rank) in self.circle.iter().enumerate() {
                    bases[rank as usize] = self.part(&memory, place);
                }
                let words = NonNull::new(memory.address()).expect("no mapping is at address 0");
                let members: Vec<_> = self.circle.iter().map(|&rank| (rank, node_of(rank))).collect();
                // SAFETY: the memory begins with the words, on a page; its maker has left it zero, and nobody uses it otherwise.
                self.common.rma.map(unsafe { Mapped::new(&members, words, memory) });
                None
            }
            Err(_) => unreachable!("all ranks have memory"),
        };
        Ok(Arranged { bases, block })
    }

    /// Returns where the part of the rank at a place of the circle lies.
    fn part(&self, memory: &Mapping, place: usize) -> usize {
        memory.address() as usize + self.begin() + self.layout.offsets[place]
    }

    /// Returns what the rank tells of its memory.
    fn words(&self, own: &core::result::Result<Own, Lack>) -> [u64; 2] {
        let address = |own: &Own| match own {
            Own::Block(block) => block.address() as usize,
            Own::Seen(memory) => {
                let place = self.circle.binary_search(&self.rank).expect("a rank is in its circle");
                self.part(memory, place)
            }
        };
        match own {
            Ok(own) => [state::HAS_SOME, address(own) as u64],
            Err(Lack::Memory) => [state::NO_MEMORY, 0],
            Err(Lack::Sharing(_)) => [state::APART, 0],
        }
    }
}

#[cold]
fn cannot(why: &str) -> Error {
    let text = format!(
        "the processes of the ranks of comm cannot share memory: {why}; split comm with MPI_COMM_TYPE_SHARED"
    );
    Error::new(MPI_ERR_RMA_SHARED, text)
}

/// Returns where the parts of the ranks of a shared window lie that are all in this process, in a block that the first rank to ask
/// for it allocates.
///
/// # Errors
/// `MPI_ERR_NO_MEM`
pub(super) fn here(common: &Common, ranks: u32, rank: u32) -> Result<usize> {
    let gaps = common.of(0).gaps.then_some(1);
    let layout = Layout::of((0..ranks).map(|other| common.of(other)), gaps);
    match common.block.get_or_init(|| Block::new(layout.bytes, layout.alignment)) {
        Ok(block) => Ok(block.address() as usize + layout.offsets[rank as usize]),
        Err(error) => Err(error.clone()),
    }
}
