//! Synchronisation: the beginning and the end of epochs.
//!
//! What goes to ranks whose memory this process sees is complete when its call returns, so that a flush only orders memory: what was written
//! before it is seen by whoever looks after it.

use crate::epoch::{Held, Summary};
use crate::exposure::Exposure;
use crate::gate::{Gate, Way};
use crate::shared::Sleeper;
use crate::window::{Target, Window};
use std::sync::atomic::{Ordering, fence};
use weft_base::Result;

/// In place of a process, for locks within this one.
const HERE: u32 = u32::MAX;

/// Enters a gate, waiting as long as it takes.
#[inline]
fn pass(gate: &Gate<Sleeper>, way: Way) {
    if let Some(ticket) = gate.enter(way, Sleeper::me) {
        weft_sched::wait_until(|| gate.has_admitted(ticket));
    }
}

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

    /// Locks a rank's memory. Who holds it alone holds the gate to everything with others that hold some other rank's.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    #[inline]
    pub fn lock(&self, rank: u32, held: Held) -> Result {
        let mut is_first = self.change(|epochs| epochs.lock(rank, held))?;
        let control = match self.target(rank) {
            Target::Here(_, control) => control,
            Target::Mapped(_, node, _) | Target::Elsewhere(_, node) => {
                return self.lock_there(rank, held, node);
            }
        };
        if held == Held::Exclusive && self.shared().has_far() {
            // Those at other processes are counted by themselves.
            is_first = self.own().far.count_alone(HERE, true);
        }
        match held {
            Held::Unchecked => {}
            Held::Shared => pass(&control.gate, Way::Shared),
            Held::Exclusive => {
                if is_first {
                    pass(&self.shared().everything.0, Way::Alone);
                }
                pass(&control.gate, Way::Alone);
                control.holder.store(self.rank, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Unlocks it.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    #[inline]
    pub fn unlock(&self, rank: u32) -> Result {
        let (held, mut is_last) = self.change(|epochs| epochs.unlock(rank))?;
        self.order();
        let control = match self.target(rank) {
            Target::Here(_, control) => control,
            Target::Mapped(_, node, _) | Target::Elsewhere(_, node) => {
                return self.unlock_there(rank, held, node);
            }
        };
        if held == Held::Exclusive && self.shared().has_far() {
            is_last = self.own().far.count_alone(HERE, false);
        }
        if held != Held::Unchecked {
            control.gate.leave();
        }
        if is_last {
            self.shared().everything.0.leave();
        }
        Ok(())
    }

    /// Locks all ranks' memory, together with others.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn lock_all(&self, is_checked: bool) -> Result {
        let held = if is_checked { Held::Shared } else { Held::Unchecked };
        self.change(|epochs| epochs.lock_all(held))?;
        self.reached.store(0, Ordering::Relaxed);
        if is_checked {
            pass(&self.shared().everything.0, Way::Shared);
        }
        Ok(())
    }

    /// Unlocks it.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    pub fn unlock_all(&self) -> Result {
        let held = self.change(|epochs| epochs.unlock_all())?;
        self.order();
        let flushed = self.unlock_all_there();
        self.reached.store(0, Ordering::Relaxed);
        if held != Held::Unchecked {
            self.shared().everything.0.leave();
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
        if self.shared().has_far() {
            // A program may do so until it sees at its own rank what another does there.
            self.progress();
            self.flush_there(rank)?;
        }
        Ok(())
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
