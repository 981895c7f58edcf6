//! One collective operation that outlives its calls: where its members meet, and who does what when.
//!
//! A member that starts the operation publishes its [`Contribution`] and arrives. From then on anybody may read its
//! send buffer and write its receive buffer, so a member that computes elsewhere delays nobody. Whoever is in the
//! library for this operation (it arrives, tests or waits) takes steps that can be done from the schedule's
//! [`Progress`], its own first, until its part is over or nothing can be done.
//!
//! Who may touch what
//!
//! - `contributions[m]`: written once by member `m` before it arrives (under the lock); read by whoever does a step that
//!   waits for `m`, and by nobody before.
//! - the buffers: as the schedule says. Steps that touch the same bytes are ordered by it; a member's part is over when
//!   no step is left that touches its buffers.
//! - `finished` and `troubled`: set under the lock, never cleared. One who sees `finished` needs no look at the state: all
//!   steps are done and their writes are visible (release and acquire).
//! - everything else is under the lock, which nobody holds while moving data or waking others.
//!
//! Nobody sleeps while there is something to do: a member registers as waiter under the lock, having found no step that
//! can be done; whoever leaves the lock with such a step and does not do it wakes all waiters.

use crate::operation::mismatch::mismatch_of_started;
use crate::operation::{Contribution, NOBODY};
use crate::started::plan::{Choice, Members};
use crate::started::schedule::{Freed, Progress, Schedule};
use crate::team::grouping::Shards;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::{Error, Result};
use weft_sched::Thread;
use weft_sync::{Lock, LockGuard};

/// The data of an operation, in bytes, up to which whoever can do a step does it at once instead of leaving it to the
/// member whose step it is: waking that one would take longer.
const LIGHT_BYTES: u64 = 32 << 10;

/// An operation that several members start and complete, each at its own time.
pub(crate) struct Meeting {
    pub members: Members,
    /// What the ranks of the communicator share, unless there is only one.
    pub shards: Option<Arc<Shards>>,
    contributions: Box<[OnceLock<Arc<Contribution>>]>,
    state: Lock<State>,
    /// Grows with every change of the state that may matter to one who waits.
    changes: AtomicU32,
    /// Everybody's part is over.
    finished: AtomicBool,
    /// Somebody's part failed.
    troubled: AtomicBool,
    /// Results that wait for their place, by member.
    pub aside: Lock<Vec<(u32, Vec<u8>)>>,
}

struct State {
    /// There is none before the first member that takes part has arrived.
    run: Option<Run>,
    /// Members that have arrived, spectators included.
    present: u32,
    /// Whose call the others are compared with.
    first: Option<u32>,
    /// Two members whose calls differ.
    mismatch: Option<(u32, u32)>,
    /// Steps under way.
    busy: u32,
    waiters: Vec<Option<&'static Thread>>,
    errors: Vec<(u32, Error)>,
}

struct Run {
    progress: Progress,
    schedule: Arc<Schedule>,
    choice: Choice,
    is_light: bool,
}

/// Which steps a member does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zeal {
    /// All that can be done.
    All,
    /// Its own.
    Own,
    /// All that can be done until its part is over.
    UntilOver,
}

/// What comes of an arrival.
pub(crate) struct Arrival {
    /// Whether the member was the last of all.
    pub is_last: bool,
    /// Whether its part is over already.
    is_over: bool,
    /// The changes up to which it has looked for something to do.
    seen: u32,
}

impl State {
    fn is_over(&self, member: u32, contribution: &Contribution) -> bool {
        if self.mismatch.is_some() {
            return self.busy == 0;
        }
        contribution.is_spectator || self.run.as_ref().is_some_and(|run| run.progress.is_over(member))
    }
}

/// Threads to wake once the lock is released.
#[derive(Default)]
struct Wake(Vec<&'static Thread>);

impl Wake {
    fn all(&mut self, state: &mut State) {
        self.0.extend(state.waiters.iter_mut().filter_map(Option::take));
    }

    fn these(&mut self, state: &mut State, members: &[u32]) {
        self.0.extend(members.iter().filter_map(|&m| state.waiters[m as usize].take()));
    }

    fn now(self, state: LockGuard<'_, State>) {
        drop(state);
        self.0.into_iter().for_each(Thread::unpark);
    }
}

impl Meeting {
    pub fn new(members: Members, shards: Option<Arc<Shards>>) -> Self {
        let size = members.size as usize;
        Self {
            members,
            shards,
            contributions: (0..size).map(|_| OnceLock::new()).collect(),
            state: Lock::new(State {
                run: None,
                present: 0,
                first: None,
                mismatch: None,
                busy: 0,
                waiters: vec![None; size],
                errors: Vec::new(),
            }),
            changes: AtomicU32::new(0),
            finished: AtomicBool::new(false),
            troubled: AtomicBool::new(false),
            aside: Lock::default(),
        }
    }

    /// Returns what a member has published.
    pub fn contribution(&self, member: u32) -> &Contribution {
        self.contributions[member as usize].get().expect("steps wait for the members they concern")
    }

    /// Returns what a member has published, if it has.
    pub fn published(&self, member: u32) -> Option<&Contribution> {
        self.contributions[member as usize].get().map(|c| &**c)
    }

    /// Arrives: `member`'s buffers may be used from now on. Does what can be done at once. `choose` says how, and gives
    /// the schedule of that choice.
    pub fn arrive(
        &self,
        member: u32,
        contribution: &Arc<Contribution>,
        choose: impl FnOnce() -> (Choice, Arc<Schedule>),
    ) -> Arrival {
        let mut wake = Wake::default();
        let mut state = self.state.lock();
        state.present += 1;
        let is_last = state.present == self.members.size;
        let set = self.contributions[member as usize].set(contribution.clone());
        debug_assert!(set.is_ok(), "a member arrives once");
        if let Some(first) = state.first
            && !contribution.agrees_with(self.contribution(first))
        {
            state.mismatch.get_or_insert((first, member));
            self.troubled.store(true, Ordering::Release);
            if let Some(run) = &mut state.run {
                run.progress.abandon();
            }
        }
        if !contribution.is_spectator && state.mismatch.is_none() {
            let run = state.run.get_or_insert_with(|| {
                let (choice, schedule) = choose();
                let bytes = contribution.send.bytes().max(contribution.receive.bytes());
                let is_light = bytes.saturating_mul(u64::from(self.members.size)) <= LIGHT_BYTES;
                Run { progress: Progress::new(schedule.clone()), schedule, choice, is_light }
            });
            match &contribution.neighbors {
                None => run.progress.arrive(member, contribution.is_root),
                Some(neighbors) => run.progress.arrive_among(
                    member,
                    neighbors.sources.iter().copied().filter(|&m| m != NOBODY).collect(),
                    neighbors.destinations.iter().copied().filter(|&m| m != NOBODY).collect(),
                ),
            }
            state.first = Some(member);
        }
        if state.first.is_none() {
            state.first = Some(member);
        }
        let seen = self.changes.fetch_add(1, Ordering::Release) + 1;
        let is_over = if state.mismatch.is_some() {
            wake.all(&mut state);
            wake.now(state);
            false
        } else {
            let is_light = state.run.as_ref().is_some_and(|run| run.is_light);
            self.work(state, member, if is_light { Zeal::All } else { Zeal::Own }, None)
        };
        // Who is told of a mismatch looks again.
        Arrival { is_last, is_over, seen: if self.is_troubled() { seen.wrapping_sub(1) } else { seen } }
    }

    fn is_troubled(&self) -> bool {
        self.troubled.load(Ordering::Acquire)
    }

    /// Does what can be done for a member whose part is not over. Returns whether it is over then; if not, `waiter` is
    /// woken when there is more to do.
    fn work<'a>(
        &'a self,
        mut state: LockGuard<'a, State>,
        member: u32,
        zeal: Zeal,
        waiter: Option<&'static Thread>,
    ) -> bool {
        let contribution = self.contribution(member);
        let mut wake = Wake::default();
        loop {
            let over = state.is_over(member, contribution);
            if over {
                state.waiters[member as usize] = None;
            }
            // A spectator has neither data nor an operation to reduce with.
            let takes =
                (!over || zeal == Zeal::All) && state.mismatch.is_none() && !contribution.is_spectator;
            let run = state.run.as_mut().filter(|_| takes);
            let step = run.and_then(|run| run.progress.take(member, zeal == Zeal::Own));
            let Some(step) = step else {
                let left = state.run.as_mut().is_some_and(|run| run.progress.has_ready());
                if left && state.mismatch.is_none() {
                    wake.all(&mut state);
                } else if !over && waiter.is_some() {
                    state.waiters[member as usize] = waiter;
                }
                wake.now(state);
                return over;
            };
            let run = state.run.as_ref().expect("the step is of it");
            let action = run.schedule.action(step);
            let choice = run.choice;
            state.busy += 1;
            drop(state);
            let errors = self.perform(action, &choice, member);
            state = self.state.lock();
            state.busy -= 1;
            if !errors.is_empty() {
                self.troubled.store(true, Ordering::Release);
                state.errors.extend(errors);
            }
            self.changes.fetch_add(1, Ordering::Release);
            if state.mismatch.is_some() {
                wake.all(&mut state);
                continue;
            }
            let run = state.run.as_mut().expect("it stays");
            let freed = run.progress.finish(step);
            if run.progress.is_finished() {
                self.finished.store(true, Ordering::Release);
            }
            let new_work = !run.is_light && run.progress.has_ready();
            match freed {
                _ if new_work => wake.all(&mut state),
                Freed::All => wake.all(&mut state),
                Freed::These(members) => wake.these(&mut state, &members),
            }
        }
    }

    fn result(&self, member: u32) -> Result {
        if !self.is_troubled() {
            return Ok(());
        }
        let state = self.state.lock();
        if let Some((first, second)) = state.mismatch {
            let other = if member == first { second } else { first };
            let (mine, theirs) = (self.contribution(member), self.contribution(other));
            return Err(mismatch_of_started((member, mine.description), (other, theirs.description)));
        }
        match state.errors.iter().find(|(m, _)| *m == member) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }
}

/// One member's part in a meeting.
pub(crate) struct Joined {
    meeting: Arc<Meeting>,
    member: u32,
    over: AtomicBool,
    /// The changes up to which the member has looked for something to do.
    seen: AtomicU32,
    /// Whether it has been registered as waiter since.
    waits: AtomicBool,
}

impl Joined {
    pub(crate) fn new(meeting: Arc<Meeting>, member: u32, arrival: &Arrival) -> Self {
        let over = AtomicBool::new(arrival.is_over);
        Self { meeting, member, over, seen: AtomicU32::new(arrival.seen), waits: AtomicBool::new(false) }
    }

    /// Does what can be done. Returns whether the member's part is over: its buffers are its own again.
    ///
    /// If not, `waiter` is unparked as soon as another call could get further; it stays registered until
    /// [`Joined::leave`].
    pub fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        let meeting = &*self.meeting;
        if self.over.load(Ordering::Relaxed) || meeting.finished.load(Ordering::Acquire) {
            return true;
        }
        let changes = meeting.changes.load(Ordering::Acquire);
        let registered = waiter.is_none() || self.waits.load(Ordering::Relaxed);
        if registered && self.seen.load(Ordering::Relaxed) == changes {
            return false;
        }
        let over = meeting.work(meeting.state.lock(), self.member, Zeal::UntilOver, waiter);
        if over {
            self.over.store(true, Ordering::Relaxed);
        } else {
            self.waits.store(waiter.is_some(), Ordering::Relaxed);
            self.seen.store(changes, Ordering::Relaxed);
        }
        over
    }

    /// See [`crate::Pending::is_over`].
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.meeting.finished.load(Ordering::Acquire)
    }

    /// Forgets the waiter.
    pub fn leave(&self) {
        if self.waits.swap(false, Ordering::Relaxed) && !self.meeting.finished.load(Ordering::Acquire) {
            self.meeting.state.lock().waiters[self.member as usize] = None;
        }
    }

    /// Waits until the member's part is over.
    ///
    /// # Errors
    /// As [`Joined::result`].
    pub fn wait(&self) -> Result {
        let thread = weft_sched::current();
        weft_sched::wait_until(|| self.advance(Some(thread)));
        self.result()
    }

    /// Returns how the member's part ended.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if it received more than fits; `MPI_ERR_OTHER` if the ranks made different calls.
    pub fn result(&self) -> Result {
        self.meeting.result(self.member)
    }
}
