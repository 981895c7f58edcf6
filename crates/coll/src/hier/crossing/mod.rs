//! One operation on one node process: its members there, the messages for it, and who does what when.
//!
//! As in a [`meeting`](crate::started::meeting), a member that arrives publishes its contribution, and whoever is in the library for
//! the operation does the steps that can be done, so a member that computes elsewhere delays nobody once it has arrived.
//! The first to arrive makes the [`Run`] and so leads: it takes what has come already and does the steps between node
//! processes, while the others read in shared memory what these give. Where the root of a broadcast is, the root makes it:
//! what it sends counts, not what a member that came before it expects.
//!
//! Who may touch what
//!
//! - `contributions`: each is written once, before its member arrives (under the lock).
//! - `cells`: each is set once, by whoever does its step, before the step is noted as finished (under the lock); steps that
//!   use it begin after that.
//! - the members' buffers: by steps that wait for the member, and while they hold it.
//! - everything else: under the lock, which nobody holds while moving data, sending, or waking others.
//!
//! - `messages`: what comes for the operation. `work`: who does which step. `ending`: how it ends, well or not.
//! - `pending`: one member's part.

mod ending;
mod messages;
mod pending;
mod work;

pub(crate) use pending::Pending;

use super::bytes::Bytes;
use super::exchange::Message;
use super::loss::unreachable_peer;
use super::planner::{self, Choice};
use super::program::{Program, Run};
use super::spread::Spread;
use super::wire::{EVERYBODY, OperationKey};
use crate::operation::Contribution;
use crate::operation::call::{Call, Description};
use crate::operation::mismatch::{Both, mismatch};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::Error;
use weft_sched::Thread;
use weft_sync::Lock;
use work::Zeal;

/// An operation on this node process.
pub(crate) struct Crossing {
    pub spread: Arc<Spread>,
    pub key: OperationKey,
    /// The members here, ascending: all of them, or the one whose part it is.
    pub members: Box<[u32]>,
    contributions: Box<[OnceLock<Arc<Contribution>>]>,
    /// The threads of members that have arrived, where only they may apply the operator because it is the user's.
    threads: Box<[OnceLock<&'static Thread>]>,
    cells: OnceLock<Box<[OnceLock<Bytes>]>>,
    state: Lock<State>,
    /// Grows with every change of the state that may matter to one who waits.
    changes: AtomicU32,
    /// Somebody's part failed.
    troubled: AtomicBool,
    /// Somebody waits until all members are here.
    is_awaited: AtomicBool,
}

struct State {
    /// There is none before the first member that takes part has arrived.
    run: Option<Under>,
    present: u32,
    first: Option<u32>,
    /// Members that have arrived before the one that can begin.
    waiting: Vec<u32>,
    early: Vec<Message>,
    busy: u32,
    failed: Option<Error>,
    /// The call that differs from that of `first`, without its length.
    other: u32,
    errors: Vec<(u32, Error)>,
    waiters: Vec<Option<&'static Thread>>,
    /// Threads that wait until all members are here.
    company: Vec<&'static Thread>,
    is_closed: bool,
}

/// What is under way.
struct Under {
    run: Run,
    program: Arc<Program>,
    choice: Arc<Choice>,
    call: Description,
    /// Messages whose steps have not been done.
    inbox: Vec<(u32, Message)>,
}

/// Threads to wake once the lock is released.
#[derive(Default)]
struct Wake(Vec<&'static Thread>);

impl Wake {
    fn all(&mut self, state: &mut State) {
        self.0.extend(state.waiters.iter_mut().filter_map(Option::take));
    }

    fn now(self) {
        self.0.into_iter().for_each(Thread::unpark);
    }
}

/// What one member does in an operation.
pub(crate) struct Part {
    pub contribution: Arc<Contribution>,
    pub choice: Arc<Choice>,
}

impl Crossing {
    pub fn new(spread: Arc<Spread>, key: OperationKey) -> Self {
        let members: Box<[u32]> = match key.member {
            EVERYBODY => spread.layout.all_on(spread.me).into(),
            member => [member].into(),
        };
        Self {
            contributions: members.iter().map(|_| OnceLock::new()).collect(),
            threads: members.iter().map(|_| OnceLock::new()).collect(),
            cells: OnceLock::new(),
            state: Lock::new(State {
                run: None,
                present: 0,
                first: None,
                waiting: Vec::new(),
                early: Vec::new(),
                busy: 0,
                failed: None,
                other: 0,
                errors: Vec::new(),
                waiters: vec![None; members.len()],
                company: Vec::new(),
                is_closed: false,
            }),
            changes: AtomicU32::new(0),
            troubled: AtomicBool::new(false),
            is_awaited: AtomicBool::new(false),
            spread,
            key,
            members,
        }
    }

    fn place(&self, member: u32) -> usize {
        self.members.binary_search(&member).expect("a member of this node process")
    }

    /// Returns what a member has published.
    pub fn contribution(&self, member: u32) -> &Contribution {
        self.contributions[self.place(member)].get().expect("steps wait for the members they concern")
    }

    /// Returns a cell.
    pub fn cell(&self, cell: u32) -> &Bytes {
        let cells = self.cells.get().expect("made with the run");
        cells[cell as usize].get().expect("steps wait for the cells they use")
    }

    fn set_cells(&self, numbers: &[u32], data: Vec<Bytes>) {
        let cells = self.cells.get().expect("made with the run");
        for (&number, data) in numbers.iter().zip(data) {
            let _ = cells[number as usize].set(data);
        }
    }

    /// Arrives: the member's buffers may be used from now on. Does what can be done at once.
    pub fn arrive(self: &Arc<Self>, member: u32, part: &Part) -> bool {
        let is_over = self.take_part(member, part);
        if self.is_awaited.load(Ordering::Acquire) {
            self.end_wait();
        }
        is_over
    }

    fn is_complete(&self, state: &State) -> bool {
        state.present as usize == self.members.len() || state.failed.is_some()
    }

    /// Tells whether all members are here, or none will do more; if not, the thread is woken when they are.
    fn awaits_nobody(&self, waiter: Option<&'static Thread>) -> bool {
        let mut state = self.state.lock();
        let is_complete = self.is_complete(&state);
        if let Some(waiter) = waiter.filter(|_| !is_complete) {
            if !state.company.iter().any(|thread| core::ptr::eq(*thread, waiter)) {
                state.company.push(waiter);
            }
            // Under the lock, under which a member says that it is here before it looks at this.
            self.is_awaited.store(true, Ordering::Release);
        }
        is_complete
    }

    /// Wakes those who wait for all members, if these are here.
    #[cold]
    fn end_wait(&self) {
        let mut state = self.state.lock();
        if self.is_complete(&state) {
            let wake = Wake(core::mem::take(&mut state.company));
            drop(state);
            wake.now();
        }
    }

    fn take_part(self: &Arc<Self>, member: u32, part: &Part) -> bool {
        let contribution = &part.contribution;
        let mut state = self.state.lock();
        state.present += 1;
        let place = self.place(member);
        let set = self.contributions[place].set(contribution.clone());
        debug_assert!(set.is_ok(), "a member arrives once");
        if contribution.has_users_operator() {
            let thread = weft_sched::current();
            thread.engage();
            let _ = self.threads[place].set(thread);
        }
        self.changes.fetch_add(1, Ordering::Release);
        if let Some(first) = state.first
            && state.failed.is_none()
        {
            let other = self.contribution(first);
            if !other.agrees_with(contribution) {
                state.other = contribution.description.without_bytes().0 as u32;
                let both = Both((member, contribution.description), (first, other.description));
                return self.fail(state, mismatch(both), true);
            }
        }
        state.first.get_or_insert(member);
        if contribution.is_spectator || state.failed.is_some() {
            self.close_if_finished(state);
            return true;
        }
        if state.run.is_none() {
            if self.waits_for_root(&part.choice, member) {
                state.waiting.push(member);
                return false;
            }
            self.begin(&mut state, part);
        }
        let early = core::mem::take(&mut state.early);
        let waiting = core::mem::take(&mut state.waiting);
        let under = state.run.as_mut().expect("just begun");
        for member in [member].into_iter().chain(waiting.iter().copied()) {
            under.run.arrive(&under.program, member);
        }
        let mut wake = Wake::default();
        if !waiting.is_empty() {
            wake.all(&mut state);
        }
        let mut fetches = Vec::new();
        let mut early = early.into_iter();
        while let Some(message) = early.next() {
            match self.attach(&mut state, message) {
                Ok(fetch) => fetches.extend(fetch),
                Err(refused) => {
                    let (error, message) = *refused;
                    let is_over = self.fail(state, error, true);
                    let fetches = fetches.into_iter().map(|(_, message)| message);
                    self.discard(fetches.chain([message]).chain(early));
                    return is_over;
                }
            }
        }
        let lost = (0..self.spread.layout.len()).find_map(|index| {
            let node = self.spread.layout.node(index);
            self.spread.exchange.loss(node).map(|reason| unreachable_peer(node, &reason))
        });
        if let Some(error) = lost {
            return self.fail(state, error, true);
        }
        drop(state);
        wake.now();
        self.fetch(fetches);
        self.work(member, None, Zeal::Own)
    }

    /// Tells whether only a member that has not arrived can say what the operation is: how much a broadcast sends, where
    /// its root is here.
    fn waits_for_root(&self, choice: &Choice, member: u32) -> bool {
        let root = choice.root.filter(|_| choice.call == Call::Broadcast);
        root.is_some_and(|root| root != member && self.members.binary_search(&root).is_ok())
    }

    fn begin(self: &Arc<Self>, state: &mut State, part: &Part) {
        let spread = &self.spread;
        let program = match self.key.member {
            EVERYBODY => spread.program(&part.choice),
            member => Arc::new(super::neighbors::program(&spread.layout, member, &part.contribution)),
        };
        let members = match self.key.member {
            EVERYBODY => planner::participants(&spread.layout, spread.me, &part.choice),
            member => vec![member],
        };
        let cells = (0..program.cell_count()).map(|_| OnceLock::new()).collect();
        let _ = self.cells.set(cells);
        state.run = Some(Under {
            run: Run::new(&program, members),
            program,
            choice: part.choice.clone(),
            call: part.contribution.description.without_bytes(),
            inbox: Vec::new(),
        });
    }
}
