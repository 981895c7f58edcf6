//! Waiting for operations: spin a little where that is sensible, then park.
//!
//! A thread that waits for anything of this crate also empties its rank's rings, because what it waits for may be in
//! one of them. It names itself in the words of its operations before it parks, so whoever completes one wakes it. [`signal`] is an event that is not a message.

pub(crate) mod signal;

use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::operation::Operation;
use crate::remote::Remote;
use crate::reports::told::Waited;
use crate::requests::{Completion, Ended, Kind, Slot, is_memoryless};
use weft_base::constants::MPI_REQUEST_NULL;
use weft_base::stuck::Wait;
use weft_base::{Result, abi};
use weft_sync::facade::pause;

/// Notes that a test or probe of the calling thread found nothing: after a few of them in a row, others run first.
#[inline]
pub fn note_failure() {
    weft_sched::poll_failed();
}

/// Notes that a test or probe of the calling thread found something.
#[inline]
pub fn note_success() {
    weft_sched::poll_succeeded();
}

impl Engine {
    /// Empties the rank's rings into matching, and polls. Returns whether anything came from other node processes.
    #[inline]
    pub fn progress(&self, me: &Endpoint) -> bool {
        if me.rings_ready() {
            me.drain_and_deliver();
        }
        self.poll_nodes()
    }

    /// Returns true once `done` does, false when it is time to park. `help` helps whoever is at work for this thread,
    /// and tells whether there was anything to help with.
    #[inline]
    pub(crate) fn spin(
        &self,
        me: &Endpoint,
        mut done: impl FnMut() -> bool,
        mut help: impl FnMut() -> bool,
    ) -> bool {
        // Alone in this process, a thread waits for what comes from others.
        let nodes = self.remote().filter(|_| self.endpoints().len() == 1).map(Remote::nodes);
        let mut spins = 0;
        loop {
            let moved = self.progress(me);
            if done() {
                return true;
            }
            // What has come may be for others of this worker, which would have to wait as long as more comes. Streams of 64 KiB
            // between two hosts of 8 ranks took a tenth longer so.
            if moved && !weft_sched::may_spin() {
                return false;
            }
            // A long message between processes may take longer than one looks in vain.
            if help() || moved {
                spins = 0;
                continue;
            }
            if !weft_sched::look_again(spins, self.limits().spins) {
                return false;
            }
            if let Some(nodes) = nodes {
                spins = nodes.linger(spins);
            } else {
                spins += 1;
                pause();
            }
        }
    }

    /// Waits for one operation.
    pub(crate) fn wait(&self, me: &Endpoint, operation: &Operation) {
        let _waited = Waited::begin(me.rank());
        self.look_and_wait(me, operation);
    }

    /// As [`Engine::wait`], within a call whose time counts already.
    pub(crate) fn look_and_wait(&self, me: &Endpoint, operation: &Operation) {
        if self.spin(me, || operation.is_done(), || operation.help()) {
            return;
        }
        self.wait_asleep(me, operation);
    }

    /// Waits for one operation, after looking in vain.
    pub(crate) fn wait_asleep(&self, me: &Endpoint, operation: &Operation) {
        let thread = weft_sched::current();
        // Registers again in every round: a second thread that waits for it wrongly may have taken the place.
        while !operation.is_done() && operation.register(thread) {
            me.park(thread);
            self.progress(me);
        }
    }

    fn is_complete(&self, me: &Endpoint, slot: &Slot) -> bool {
        me.requests().is_complete(slot, None)
    }

    /// Returns once `done` does, which says so when enough of the requests are complete.
    fn wait_until(&self, me: &Endpoint, slots: &[&Slot], mut done: impl FnMut() -> bool) {
        let _waited = Waited::begin(me.rank());
        let requests = me.requests();
        let help = || {
            let mut helped = false;
            slots.iter().for_each(|slot| requests.operations(slot, |operation| helped |= operation.help()));
            helped
        };
        if self.spin(me, &mut done, help) {
            return;
        }
        let thread = weft_sched::current();
        // While it names itself in some of the operations only, nobody takes one for all that it waits for.
        let said = weft_sched::Said::new(Wait::Opaque.word());
        loop {
            let mut open = 0;
            for slot in slots {
                requests.operations(slot, |operation| open += u32::from(operation.register(thread)));
                requests.is_complete(slot, Some(thread));
            }
            if done() {
                break;
            }
            if slots.iter().all(|slot| !matches!(slot.content().kind, Kind::Work(_))) {
                said.change(Wait::Operations(open).word());
            }
            me.park(thread);
            said.change(Wait::Opaque.word());
            self.progress(me);
        }
        for slot in slots {
            requests.operations(slot, |operation| operation.deregister(thread));
            if let Kind::Work(work) = &slot.content().kind {
                work.leave(thread);
            }
        }
        drop(said);
    }

    /// Waits for a request and ends it.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`; the operation's own error is in the completion.
    pub fn wait_request(&self, me: &Endpoint, handle: abi::Request) -> Result<Completion> {
        if is_memoryless(handle) {
            return Ok(Completion::at_once(MPI_REQUEST_NULL));
        }
        if handle == MPI_REQUEST_NULL {
            return Ok(Completion::empty(MPI_REQUEST_NULL));
        }
        let requests = me.requests();
        let Some(slot) = requests.find_active(handle)? else { return Ok(Completion::empty(handle)) };
        if !self.is_complete(me, slot) {
            match &slot.content().kind {
                Kind::Work(work) if work.is_independent() => {
                    let _waited = Waited::begin(me.rank());
                    work.wait();
                }
                _ => self.wait_until(me, &[slot], || self.is_complete(me, slot)),
            }
        }
        requests.end(slot, handle)
    }

    /// Tells whether a request is complete, after doing what can be done for it. True for null and inactive ones.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    pub fn is_request_complete(&self, me: &Endpoint, handle: abi::Request) -> Result<bool> {
        if handle == MPI_REQUEST_NULL || is_memoryless(handle) {
            return Ok(true);
        }
        let requests = me.requests();
        if !requests.is_active(handle)? {
            return Ok(true);
        }
        let slot = requests.find(handle)?;
        if self.is_complete(me, slot) {
            return Ok(true);
        }
        self.progress(me);
        Ok(self.is_complete(me, slot))
    }

    /// Waits until a request among `handles` is complete. All of them are active; there is at least one.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    pub fn wait_for_some(&self, me: &Endpoint, handles: &[abi::Request]) -> Result {
        if handles.iter().any(|&handle| is_memoryless(handle)) {
            return Ok(());
        }
        let requests = me.requests();
        let slots: Vec<&Slot> = handles.iter().map(|&h| requests.find(h)).collect::<Result<_>>()?;
        self.wait_until(me, &slots, || slots.iter().any(|slot| self.is_complete(me, slot)));
        Ok(())
    }

    /// Waits until all of `count` requests are complete; null and inactive ones are. Ends none.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    pub fn wait_for_all(&self, me: &Endpoint, count: usize, get: impl Fn(usize) -> abi::Request) -> Result {
        let mut open: Vec<&Slot> = Vec::new();
        for index in 0..count {
            open.extend(me.requests().find_active(get(index))?);
        }
        self.wait_for_others(me, &open);
        Ok(())
    }

    /// Waits until all of `count` requests are complete, and ends them in order; null and inactive ones give the empty
    /// completion. None is ended if one is not a request.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    #[inline]
    pub fn end_all(
        &self,
        me: &Endpoint,
        count: usize,
        get: impl Fn(usize) -> abi::Request,
        mut each: impl FnMut(usize, Ended),
    ) -> Result {
        let requests = me.requests();
        let mut open: Vec<&Slot> = Vec::new();
        for index in 0..count {
            let handle = get(index);
            if is_memoryless(handle) || requests.find_bare(handle).is_some() {
                continue;
            }
            open.extend(requests.find_active(handle)?);
        }
        if !open.is_empty() {
            self.wait_for_others(me, &open);
        }
        let mut ending = requests.ending();
        for index in 0..count {
            let handle = get(index);
            if is_memoryless(handle) {
                each(index, Ended::Otherwise(Completion::at_once(MPI_REQUEST_NULL)));
                continue;
            }
            let mut ended = ending.end_bare(handle);
            if ended.is_none() {
                // Ended while the next ones arrive. Who waits may need the list, and may call the program.
                ending.pause();
                if let Some(slot) = requests.find_bare(handle) {
                    self.wait(me, &slot.operation);
                    ended = ending.end_bare(handle);
                }
            }
            match ended {
                Some(ended) => each(index, ended),
                None => {
                    ending.pause();
                    each(index, Ended::Otherwise(self.wait_request(me, handle)?));
                }
            }
        }
        Ok(())
    }

    /// Waits for the messages of a request.
    #[inline]
    fn wait_for_messages(&self, me: &Endpoint, slot: &Slot) {
        me.requests().operations(slot, |operation| {
            if !operation.is_done() {
                self.wait(me, operation);
            }
        });
    }

    /// Waits for requests that own something or are other chapters' work.
    #[inline(never)]
    fn wait_for_others(&self, me: &Endpoint, open: &[&Slot]) {
        let is_dependent =
            |slot: &&Slot| matches!(&slot.content().kind, Kind::Work(work) if !work.is_independent());
        // Sends and receives go on by themselves; other chapters' work may need this thread to advance it, so all of
        // it is looked at in every round.
        if open.iter().any(is_dependent) {
            return self.wait_until(me, open, || {
                open.iter().filter(|slot| !self.is_complete(me, slot)).count() == 0
            });
        }
        // Waiting for one has mostly completed others, and each look costs calls of the kernel.
        for slot in open {
            match &slot.content().kind {
                Kind::Work(work) => {
                    let _waited = Waited::begin(me.rank());
                    work.wait();
                }
                _ => self.wait_for_messages(me, slot),
            }
        }
    }

    /// Returns how a complete request ended, and leaves it (`MPI_Request_get_status`).
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`
    pub fn peek_request(&self, me: &Endpoint, handle: abi::Request) -> Result<Completion> {
        if is_memoryless(handle) {
            return Ok(Completion::at_once(handle));
        }
        if handle == MPI_REQUEST_NULL || !me.requests().is_active(handle)? {
            return Ok(Completion::empty(handle));
        }
        Ok(me.requests().inquire(me.requests().find(handle)?))
    }
}
