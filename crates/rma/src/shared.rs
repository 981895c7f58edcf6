//! What the ranks of one process share of a window: where everybody's memory lies, and what is needed to use that of the ranks
//! here.

use crate::exposure::Exposure;
use crate::far::Far;
use crate::gate::Way;
use crate::gate::{Gate, Latch, Waiter};
use crate::mapped::{Mapped, Station};
use crate::way::{kind, pair, tell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use weft_am::When;
use weft_sched::Thread;
use weft_sync::{CachePadded, Lock};
use weft_transport::Node;

/// Who waits.
pub enum Sleeper {
    /// A thread of this process.
    Thread(&'static Thread),
    /// A rank of another one, for a lock.
    Far(FarWaiter),
}

/// A rank of another process that takes locks here, one after the other.
pub struct FarWaiter {
    pub(crate) shared: Arc<Shared>,
    /// Whose memory it locks, and how.
    pub(crate) rank: u32,
    pub(crate) way: Way,
    /// What it has still to pass.
    pub(crate) everything: bool,
    pub(crate) gate: bool,
    pub(crate) node: Node,
    pub(crate) origin: u32,
    pub(crate) name: u64,
}

impl FarWaiter {
    /// Goes on with the next gate, or says that all are passed.
    pub(crate) fn go_on(mut self) {
        let shared = self.shared.clone();
        loop {
            let (gate, latch, way) = if core::mem::replace(&mut self.everything, false) {
                let (gate, latch) = shared.everything();
                if !self.gate {
                    // Everything, shared, by one that holds other processes' already.
                    return gate.join(latch, Sleeper::Far(self));
                }
                // Who holds one rank's memory alone.
                (gate, latch, Way::Alone)
            } else {
                let found = shared.known(self.rank);
                let found = found.and_then(|segment| Some((shared.control(segment)?, segment)));
                let found = found.map(|(control, segment)| (control, shared.station(segment, control)));
                if core::mem::replace(&mut self.gate, false) {
                    let Some((control, station)) = found else { return };
                    (&control.gate, &station.latch, self.way)
                } else {
                    if let Some((_, station)) = found.filter(|_| self.way == Way::Alone) {
                        station.holder.store(self.origin, Ordering::Relaxed);
                    }
                    return self.tell_done();
                }
            };
            let mut me = Some(self);
            if gate.enter(latch, way, || Sleeper::Far(me.take().expect("called once"))).is_some() {
                return;
            }
            let Some(again) = me else { return };
            self = again;
        }
    }

    fn tell_done(&self) {
        let words = [pair(self.shared.number(), self.origin), pair(self.rank, 0), self.name];
        tell(self.node, kind::DONE, &words, &[], When::Now);
    }
}

impl Sleeper {
    /// Returns the calling thread.
    #[inline]
    pub(crate) fn me() -> Self {
        Self::Thread(weft_sched::current())
    }
}

impl Waiter for Sleeper {
    fn wake(self) {
        match self {
            Self::Thread(thread) => thread.unpark(),
            Self::Far(waiter) => waiter.go_on(),
        }
    }

    fn disturb(&self) {
        // Who waits in another process looks there.
        if let Self::Thread(thread) = self {
            thread.unpark();
        }
    }
}

/// The number of a rank's control block where the rank is in another process.
const ELSEWHERE: u32 = u32::MAX;
/// The place of a rank in memory that several processes have mapped where its memory does not lie there.
const NOT_MAPPED: u32 = u32::MAX;

/// The memory of one rank in a window.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Its address in this process if it is seen here, else in the rank's; 0 in a window without memory of its own.
    pub base: usize,
    /// How many bytes there are.
    pub size: usize,
    /// What displacements are multiplied by.
    pub unit: i64,
    control: u32,
    /// Its place in memory that several processes have mapped.
    mapped: u32,
    /// Its process, if that is another one.
    node: Node,
}

impl Segment {
    /// Returns the process of the rank, if that is another one.
    #[inline]
    pub(crate) fn node(&self) -> Option<Node> {
        (self.control == ELSEWHERE).then_some(self.node)
    }

    /// Tells whether this process sees the memory.
    #[inline]
    pub fn is_seen(&self) -> bool {
        self.control != ELSEWHERE || self.mapped != NOT_MAPPED
    }

    /// Returns its bit among those of ranks whose memory several processes have mapped: the first of them have one.
    #[inline]
    pub(crate) fn bit(&self) -> u64 {
        1u64.checked_shl(self.mapped).unwrap_or(0)
    }
}

/// What origins use of a rank of this process besides its memory.
pub struct Control {
    /// Its words, where no other process sees these.
    station: Station,
    /// Who waits for a lock on its memory.
    pub(crate) gate: Gate<Sleeper>,
    /// Posts and completions.
    pub(crate) exposure: Exposure<Sleeper>,
    /// Memory that was attached to a dynamic window: address and length of each block.
    pub(crate) attached: Lock<Vec<(usize, usize)>>,
    /// What the rank has under way at other processes.
    pub(crate) far: Far,
}

static LIVE: Lock<Option<HashMap<u32, Weak<Shared>>>> = Lock::new(None);

/// Returns the window with a number.
pub(crate) fn find(number: u32) -> Option<Arc<Shared>> {
    LIVE.lock().as_ref()?.get(&number)?.upgrade()
}

/// Returns all windows with ranks of other processes.
pub(crate) fn live() -> Vec<Arc<Shared>> {
    LIVE.lock().iter().flat_map(HashMap::values).filter_map(Weak::upgrade).collect()
}

/// What the ranks of a process share of a window.
pub struct Shared {
    /// What other processes call it.
    number: u32,
    is_dynamic: bool,
    has_far: AtomicBool,
    /// Memory of ranks here and elsewhere that this process sees.
    mapped: OnceLock<Mapped>,
    /// Whether there are ranks whose memory it does not see.
    has_unseen: AtomicBool,
    /// A process is lost in which the window may have ranks.
    pub(crate) is_torn: AtomicBool,
    segments: Box<[OnceLock<Segment>]>,
    controls: Box<[CachePadded<Control>]>,
    /// How many control blocks have their rank.
    taken: AtomicU32,
    /// Held together by those that hold some rank's memory of this process alone, or by those that hold everything shared. The word
    /// lies elsewhere if other processes see it.
    everything: CachePadded<(Gate<Sleeper>, Latch)>,
    /// A rank of this process whose memory several processes have mapped: its place there.
    mapped_here: OnceLock<u32>,
}

impl Shared {
    /// Creates it for a window of so many ranks, of which `here` are in this process.
    pub fn new(number: u32, ranks: u32, here: u32, is_dynamic: bool) -> Self {
        let control = || Control {
            station: Station::default(),
            gate: Gate::new(1),
            exposure: Exposure::default(),
            attached: Lock::default(),
            far: Far::default(),
        };
        Self {
            number,
            is_dynamic,
            has_far: AtomicBool::new(false),
            mapped: OnceLock::new(),
            has_unseen: AtomicBool::new(false),
            is_torn: AtomicBool::new(false),
            segments: (0..ranks).map(|_| OnceLock::new()).collect(),
            controls: (0..here).map(|_| CachePadded(control())).collect(),
            taken: AtomicU32::new(0),
            everything: CachePadded((Gate::new(u32::MAX), Latch::default())),
            mapped_here: OnceLock::new(),
        }
    }

    /// Says that memory of ranks of several processes is mapped here, before it is said of any where that lies. The first one to say
    /// so decides.
    pub fn map(&self, mapped: Mapped) {
        let _ = self.mapped.set(mapped);
    }

    fn place_in_mapped(&self, rank: u32) -> u32 {
        self.mapped.get().and_then(|mapped| mapped.place(rank)).unwrap_or(NOT_MAPPED)
    }

    /// Says where the memory of a rank of this process lies; the rank itself says so, once, before anybody asks.
    pub fn expose(&self, rank: u32, base: usize, size: usize, unit: i64) {
        let control = self.taken.fetch_add(1, Ordering::Relaxed);
        assert!(
            (control as usize) < self.controls.len(),
            "a window has more ranks here than it was created for"
        );
        let mapped = self.place_in_mapped(rank);
        if mapped != NOT_MAPPED {
            let _ = self.mapped_here.set(mapped);
        }
        let _ = self.segments[rank as usize].set(Segment { base, size, unit, control, mapped, node: 0 });
    }

    /// Says where the memory of a rank of another process lies there, or, if it is mapped here, here. The first one to say so decides.
    pub fn expose_elsewhere(self: &Arc<Self>, rank: u32, node: Node, base: usize, size: usize, unit: i64) {
        let mapped = self.place_in_mapped(rank);
        if mapped == NOT_MAPPED {
            self.has_unseen.store(true, Ordering::Relaxed);
        }
        let segment = Segment { base, size, unit, control: ELSEWHERE, mapped, node };
        let _ = self.segments[rank as usize].set(segment);
        if !self.has_far.swap(true, Ordering::AcqRel) {
            let mut live = LIVE.lock();
            let live = live.get_or_insert_default();
            live.retain(|_, shared| shared.strong_count() > 0);
            live.insert(self.number, Arc::downgrade(self));
        }
    }

    /// Returns what other processes call it.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Tells whether it has ranks of other processes.
    #[inline]
    pub fn has_far(&self) -> bool {
        self.has_far.load(Ordering::Relaxed)
    }

    /// Tells whether it has ranks whose memory this process does not see.
    #[inline]
    pub(crate) fn has_unseen(&self) -> bool {
        self.has_unseen.load(Ordering::Relaxed)
    }

    /// Tells whether a process has ranks of it.
    pub(crate) fn has_ranks_of(&self, node: Node) -> bool {
        self.segments.iter().filter_map(OnceLock::get).any(|segment| segment.node() == Some(node))
    }

    /// Returns where a rank's memory lies, if that was said.
    pub(crate) fn known(&self, rank: u32) -> Option<&Segment> {
        self.segments.get(rank as usize)?.get()
    }

    pub(crate) fn each_control(&self, visit: impl FnMut(&Control)) {
        self.controls.iter().map(|control| &control.0).for_each(visit);
    }

    /// Tells whether a rank of this process exposes so many bytes at an address.
    pub(crate) fn exposes(&self, rank: u32, address: u64, length: u64) -> bool {
        let Some(segment) = self.known(rank) else { return false };
        let Some(control) = self.control(segment) else { return false };
        let (mut from, Some(to)) = (address, address.checked_add(length)) else { return false };
        if !self.is_dynamic {
            let (base, size) = (segment.base as u64, segment.size as u64);
            return from >= base && to <= base + size;
        }
        let attached = control.attached.lock();
        while from < to {
            let holds =
                |&&(base, size): &&(usize, usize)| from >= base as u64 && from - (base as u64) < size as u64;
            let Some(&(base, size)) = attached.iter().find(holds) else { return false };
            from = (base + size) as u64;
        }
        true
    }

    /// Returns where a rank's memory lies.
    ///
    /// # Panics
    /// Before it was said.
    #[inline]
    pub fn segment(&self, rank: u32) -> &Segment {
        self.segments[rank as usize].get().expect("told when the window was created")
    }

    /// Returns the words of a rank of this process.
    #[inline]
    pub(crate) fn station<'a>(&'a self, segment: &Segment, control: &'a Control) -> &'a Station {
        self.mapped_station(segment).unwrap_or(&control.station)
    }

    /// Returns the words of a rank whose memory several processes see.
    #[inline]
    pub(crate) fn mapped_station(&self, segment: &Segment) -> Option<&Station> {
        if segment.mapped == NOT_MAPPED {
            return None;
        }
        self.mapped.get().map(|mapped| mapped.station(segment.mapped))
    }

    /// Returns the gate to everything in this process.
    #[inline]
    pub(crate) fn everything(&self) -> (&Gate<Sleeper>, &Latch) {
        let (gate, own) = &self.everything.0;
        let latch = self.mapped_here.get().and_then(|&place| Some(self.mapped.get()?.everything(place)));
        (gate, latch.unwrap_or(own))
    }

    /// Returns the word of the gate to everything in the process of a rank whose memory several processes see.
    #[inline]
    pub(crate) fn everything_there(&self, segment: &Segment) -> Option<&Latch> {
        if segment.mapped == NOT_MAPPED {
            return None;
        }
        self.mapped.get().map(|mapped| mapped.everything(segment.mapped))
    }

    /// Returns the word of the gate to everything in a process, if the memory of one of its ranks is seen by several processes.
    pub(crate) fn everything_at(&self, node: Node) -> Option<&Latch> {
        let its =
            self.segments.iter().filter_map(OnceLock::get).filter(|segment| segment.node() == Some(node));
        its.filter_map(|segment| self.everything_there(segment)).next()
    }

    /// Returns what a rank's control block is, if it is a rank of this process.
    #[inline]
    pub(crate) fn control(&self, segment: &Segment) -> Option<&Control> {
        self.controls.get(segment.control as usize).map(|padded| &padded.0)
    }
}
