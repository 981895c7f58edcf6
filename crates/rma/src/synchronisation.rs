//! Synchronisation: the beginning and the end of epochs.
//!
//! What goes to ranks whose memory this process sees is complete when its call returns, so that a flush only orders memory: what was written
//! before it is seen by whoever looks after it.

use crate::epoch::{Held, Summary};
use crate::exposure::Exposure;
use crate::gate::{Gate, Latch, Way};
use crate::shared::Sleeper;
use crate::window::{Target, Window};
use std::sync::atomic::{Ordering, fence};
use weft_base::Result;

/// After how many flushes of memory that all processes see to look what others have told.
const FLUSHES: u32 = 16;

/// Waits until `done`, which looks at what the rank was told, and gets who waits.
fn await_news(exposure: &Exposure<Sleeper>, mut done: impl FnMut(Sleeper) -> bool) {
    let mut seen = None;
    weft_sched::wait_until(|| {
        let news = exposure.news();
        seen.replace(news) != Some(news) && done(Sleeper::me())
    });
}

impl Window {
    /// Says that the rank goes from one fence to the next: the ranks then meet in a barrier. `succeeds` says that operations may
    /// follow.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn fence(&self, succeeds: bool) -> Result {
        self.change(|epochs| epochs.fence(succeeds))?;
        self.order();
        self.flush_there(None)
    }

    /// Exposes the rank's memory to `origins`. `announced` is false if these need not be told.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn post(&self, origins: &[u32], announced: bool) -> Result {
        self.change(|epochs| epochs.post(origins.len() as u64))?;
        fence(Ordering::SeqCst);
        for &origin in origins.iter().filter(|_| announced) {
            match self.target(origin) {
                Target::Here(_, control) => control.exposure.post(self.rank),
                Target::Mapped(segment, ..) | Target::Elsewhere(segment, _) => {
                    self.post_there(origin, segment)
                }
            }
        }
        Ok(())
    }

    /// Returns an error if a process is lost that the rank may wait for.
    fn check_whole(&self) -> Result {
        if self.shared().is_torn.load(Ordering::SeqCst) { self.own().far.check() } else { Ok(()) }
    }

    /// Begins an access epoch to `targets`, and waits until they expose their memory; `checked` is false if they are known to.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn start(&self, targets: Vec<u32>, checked: bool) -> Result {
        let wanted = if checked { targets.clone() } else { Vec::new() };
        self.change(|epochs| epochs.start(targets))?;
        if wanted.is_empty() {
            return Ok(());
        }
        let exposure = &self.own().exposure;
        *self.missing.lock() = wanted;
        await_news(exposure, |me| {
            let mut missing = self.missing.lock();
            exposure.take_posts(&mut missing, Some(me));
            missing.is_empty() || self.shared().is_torn.load(Ordering::SeqCst)
        });
        if self.missing.lock().is_empty() { Ok(()) } else { self.check_whole() }
    }

    /// Ends the access epoch that a start has begun.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn complete(&self) -> Result {
        let targets = self.change(|epochs| epochs.complete())?;
        self.order();
        for target in targets {
            match self.target(target) {
                Target::Here(_, control) => control.exposure.complete(),
                Target::Mapped(segment, ..) | Target::Elsewhere(segment, _) => {
                    self.complete_there(target, segment)
                }
            }
        }
        self.flush_there(None)
    }

    /// Ends the exposure epoch that a post has begun, when all its origins have completed.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn wait(&self) -> Result {
        let origins = self.epochs().exposed()?;
        let exposure = &self.own().exposure;
        let mut is_over = false;
        await_news(exposure, |me| {
            is_over = exposure.take_completions(origins, Some(me));
            is_over || self.shared().is_torn.load(Ordering::SeqCst)
        });
        if !is_over {
            self.check_whole()?;
        }
        self.end_exposure()
    }

    /// Ends the exposure epoch if all its origins have completed; returns whether they have.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn test(&self) -> Result<bool> {
        let origins = self.epochs().exposed()?;
        self.progress();
        if !self.own().exposure.take_completions(origins, None) {
            self.check_whole()?;
            weft_sched::poll_failed();
            return Ok(false);
        }
        weft_sched::poll_succeeded();
        self.end_exposure()?;
        Ok(true)
    }

    fn end_exposure(&self) -> Result {
        self.change(|epochs| {
            epochs.unexpose();
            Ok(())
        })?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Enters a gate of this process, waiting as long as it takes.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED` if it must wait and a process of the window is lost.
    #[inline(always)]
    fn pass(&self, (gate, latch): (&Gate<Sleeper>, &Latch), way: Way) -> Result {
        match gate.enter(latch, way, Sleeper::me) {
            None => Ok(()),
            Some(ticket) => self.await_turn(gate, ticket),
        }
    }

    #[cold]
    fn await_turn(&self, gate: &Gate<Sleeper>, ticket: u64) -> Result {
        weft_sched::wait_until(|| gate.has_admitted(ticket) || self.shared().is_torn.load(Ordering::SeqCst));
        if gate.has_admitted(ticket) { Ok(()) } else { self.check_whole() }
    }

    /// Tells whether two ranks are in one process, which has one gate to everything.
    #[inline]
    fn are_together(&self, one: u32, other: u32) -> bool {
        let shared = self.shared();
        !shared.has_far() || shared.segment(one).node() == shared.segment(other).node()
    }

    /// Locks a rank's memory. Who holds it alone holds the gate to everything with others that hold some other rank's.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`, `MPI_ERR_PROC_ABORTED`
    #[inline]
    pub fn lock(&self, rank: u32, held: Held) -> Result {
        let is_first =
            self.change(|epochs| epochs.lock(rank, held, |other| self.are_together(rank, other)))?;
        let locked = match (held, self.target(rank)) {
            (Held::Unchecked, _) => Ok(()),
            (_, Target::Here(segment, control)) => {
                let station = self.shared().station(segment, control);
                let gate = (&control.gate, &station.latch);
                if held == Held::Shared {
                    self.pass(gate, Way::Shared)
                } else {
                    let everything =
                        if is_first { self.pass(self.shared().everything(), Way::Alone) } else { Ok(()) };
                    everything.and_then(|()| self.pass(gate, Way::Alone)).map(|()| {
                        station.holder.store(self.rank, Ordering::Relaxed);
                    })
                }
            }
            (_, Target::Mapped(segment, node, station)) => {
                self.lock_mapped(rank, (held, is_first), (segment, node, station))
            }
            (_, Target::Elsewhere(_, node)) => self.lock_there(rank, held, is_first, node),
        };
        if locked.is_err() {
            // A process is lost: what was entered on the way here stays so, and whoever comes next hears the same.
            self.change(|epochs| epochs.unlock(rank, |_| true).map(drop))?;
        }
        locked
    }

    /// Unlocks it.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`, `MPI_ERR_PROC_ABORTED`
    #[inline]
    pub fn unlock(&self, rank: u32) -> Result {
        let (held, is_last) =
            self.change(|epochs| epochs.unlock(rank, |other| self.are_together(rank, other)))?;
        self.order();
        match self.target(rank) {
            Target::Here(segment, control) => {
                if held != Held::Unchecked {
                    control.gate.leave(&self.shared().station(segment, control).latch);
                }
                if is_last {
                    let (gate, latch) = self.shared().everything();
                    gate.leave(latch);
                }
                Ok(())
            }
            Target::Mapped(segment, node, station) => {
                self.unlock_mapped(rank, (held, is_last), (segment, node, station))
            }
            Target::Elsewhere(_, node) => self.unlock_there(rank, held, is_last, node),
        }
    }

    /// Locks all ranks' memory, together with others.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`, `MPI_ERR_PROC_ABORTED`
    pub fn lock_all(&self, is_checked: bool) -> Result {
        let held = if is_checked { Held::Shared } else { Held::Unchecked };
        self.change(|epochs| epochs.lock_all(held))?;
        self.reached.store(0, Ordering::Relaxed);
        let locked = if is_checked { self.pass(self.shared().everything(), Way::Shared) } else { Ok(()) };
        if locked.is_err() {
            self.change(|epochs| epochs.unlock_all().map(drop))?;
        }
        locked
    }

    /// Unlocks it.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`, `MPI_ERR_PROC_ABORTED`
    pub fn unlock_all(&self) -> Result {
        let held = self.change(|epochs| epochs.unlock_all())?;
        self.order();
        let flushed = self.unlock_all_there();
        self.reached.store(0, Ordering::Relaxed);
        if held != Held::Unchecked {
            let (gate, latch) = self.shared().everything();
            gate.leave(latch);
        }
        flushed
    }

    /// Checks that operations may be completed at a rank, or at all.
    #[inline]
    fn check_flush(&self, rank: Option<u32>) -> Result {
        let summary = self.summary.load(Ordering::Relaxed);
        let is_plain = summary == Summary::LockAll.word()
            || rank.is_some_and(|rank| summary == Summary::Lock(rank).word());
        if is_plain { Ok(()) } else { self.epochs().flush(rank) }
    }

    /// Completes operations at a rank, or at all.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    #[inline]
    pub fn flush(&self, rank: Option<u32>) -> Result {
        self.check_flush(rank)?;
        self.order();
        if self.shared().has_far() { self.flush_far(rank) } else { Ok(()) }
    }

    /// Completes operations of other processes' ranks. A program may do so until it sees at its own rank what another does there.
    #[inline]
    fn flush_far(&self, rank: Option<u32>) -> Result {
        // What others do to memory that all see is seen without messages; who is to be let in by this process waits for one.
        let flushes = self.flushes.load(Ordering::Relaxed).wrapping_add(1);
        self.flushes.store(flushes, Ordering::Relaxed);
        if self.shared().has_unseen() || flushes.is_multiple_of(FLUSHES) {
            self.progress();
        }
        self.flush_there(rank)
    }

    /// Completes operations at a rank, or at all, as far as the rank's own buffers go.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    #[inline]
    pub fn flush_local(&self, rank: Option<u32>) -> Result {
        self.check_flush(rank)?;
        // What comes from other processes is here after a flush only.
        self.flush_there(rank)
    }

    /// Completes what was begun at a rank with a request.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_RANGE`, `MPI_ERR_PROC_ABORTED`
    pub fn settle(&self, rank: u32) -> Result {
        self.flush_there(Some(rank))
    }

    /// Lets others see what was written, and then sees what they have written.
    ///
    /// Without that, of two ranks that each write for the other and then look for what the other has written, neither might see
    /// it. Who has written nothing, or by instructions that are ordered by themselves, need not wait for its own writes.
    #[inline]
    fn order(&self) {
        if self.has_written.load(Ordering::Relaxed) {
            if cfg!(target_arch = "x86_64") {
                // The instruction is a barrier, and a cheaper one than the fence.
                self.has_written.swap(false, Ordering::SeqCst);
            } else {
                self.has_written.store(false, Ordering::Relaxed);
                fence(Ordering::SeqCst);
            }
        } else {
            fence(Ordering::AcqRel);
        }
    }

    /// Makes what this rank and others have written to its memory visible to each other. A program may do so until it sees what it
    /// waits for, so others get their turn, and what other processes have told is carried out.
    pub fn sync(&self) {
        self.progress();
        weft_sched::poll_failed();
        fence(Ordering::SeqCst);
    }

    /// Checks that no epoch of the rank is open, so that the window may be freed.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn free(&self) -> Result {
        self.epochs().free()
    }

    /// Attaches memory of the rank to a dynamic window. Returns the block it would overlap, if there is one.
    pub fn attach(&self, base: usize, size: usize) -> Option<(usize, usize)> {
        let mut attached = self.own().attached.lock();
        let overlaps = |&&(other, length): &&(usize, usize)| base < other + length && other < base + size;
        let found = attached.iter().find(overlaps).copied();
        if found.is_none() {
            attached.push((base, size));
        }
        found
    }

    /// Detaches the memory at an address. Returns whether there was some.
    pub fn detach(&self, base: usize) -> bool {
        let mut attached = self.own().attached.lock();
        let found = attached.iter().position(|&(start, _)| start == base);
        found.map(|index| attached.swap_remove(index)).is_some()
    }
}
