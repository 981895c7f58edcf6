//! What the ranks of one process share of a window: where everybody's memory lies, and what is needed to use that of the ranks
//! here.

use crate::exposure::Exposure;
use crate::gate::{Gate, Waiter};
use crate::target::Stripes;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use weft_sched::Thread;
use weft_sync::{CachePadded, Lock};

/// A thread of this process that waits.
pub struct Sleeper(&'static Thread);

impl Sleeper {
    /// Returns the calling thread.
    #[inline]
    pub(crate) fn me() -> Self {
        Self(weft_sched::current())
    }
}

impl Waiter for Sleeper {
    fn wake(self) {
        self.0.unpark();
    }
}

/// The number of a rank's control block where the rank is in another process.
const ELSEWHERE: u32 = u32::MAX;

/// The memory of one rank in a window.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Its address; 0 in a window without memory of its own.
    pub base: usize,
    /// How many bytes there are.
    pub size: usize,
    /// What displacements are multiplied by.
    pub unit: i64,
    control: u32,
}

/// What origins use of a rank of this process besides its memory.
pub struct Control {
    /// Who has locked its memory.
    pub(crate) gate: Gate<Sleeper>,
    /// Locks of elements.
    pub(crate) stripes: Stripes,
    /// Posts and completions.
    pub(crate) exposure: Exposure<Sleeper>,
    /// The rank that holds its memory alone, for reports; without meaning when none does.
    pub(crate) holder: AtomicU32,
    /// Memory that was attached to a dynamic window: address and length of each block.
    pub(crate) attached: Lock<Vec<(usize, usize)>>,
}

/// What the ranks of a process share of a window.
pub struct Shared {
    segments: Box<[OnceLock<Segment>]>,
    controls: Box<[CachePadded<Control>]>,
    /// How many control blocks have their rank.
    taken: AtomicU32,
    /// Held together by those that hold some rank's memory of this process alone, or by those that hold everything shared.
    pub(crate) everything: CachePadded<Gate<Sleeper>>,
}

impl Shared {
    /// Creates it for a window of so many ranks, of which `here` are in this process.
    pub fn new(ranks: u32, here: u32) -> Self {
        let control = || Control {
            gate: Gate::new(1),
            stripes: Stripes::default(),
            exposure: Exposure::default(),
            holder: AtomicU32::new(0),
            attached: Lock::default(),
        };
        Self {
            segments: (0..ranks).map(|_| OnceLock::new()).collect(),
            controls: (0..here).map(|_| CachePadded(control())).collect(),
            taken: AtomicU32::new(0),
            everything: CachePadded(Gate::new(u32::MAX)),
        }
    }

    /// Says where the memory of a rank of this process lies; the rank itself says so, once, before anybody asks.
    pub fn expose(&self, rank: u32, base: usize, size: usize, unit: i64) {
        let control = self.taken.fetch_add(1, Ordering::Relaxed);
        assert!(
            (control as usize) < self.controls.len(),
            "a window has more ranks here than it was created for"
        );
        let _ = self.segments[rank as usize].set(Segment { base, size, unit, control });
    }

    /// Says where the memory of a rank of another process lies there. The first one to say so decides.
    pub fn expose_elsewhere(&self, rank: u32, base: usize, size: usize, unit: i64) {
        let _ = self.segments[rank as usize].set(Segment { base, size, unit, control: ELSEWHERE });
    }

    /// Returns where a rank's memory lies.
    ///
    /// # Panics
    /// Before it was said.
    #[inline]
    pub fn segment(&self, rank: u32) -> &Segment {
        self.segments[rank as usize].get().expect("told when the window was created")
    }

    /// Returns what a rank's control block is, if it is a rank of this process.
    #[inline]
    pub(crate) fn control(&self, segment: &Segment) -> Option<&Control> {
        self.controls.get(segment.control as usize).map(|padded| &padded.0)
    }
}
