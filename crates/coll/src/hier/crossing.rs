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
//! A member that needs nothing of the others, as the root of a broadcast, would be any number of operations ahead of them, each of
//! which keeps its data for those who are still to come. So in each [`AHEAD`]-th that it waits for it waits for them, too.

use super::bytes::Bytes;
use super::exchange::{Message, Parcel};
use super::perform::Outcome;
use super::plan::{self, Choice};
use super::program::{Program, Run};
use super::spread::Spread;
use super::wire::{EVERYBODY, Header, Kind, OperationKey};
use crate::operation::Contribution;
use crate::operation::call::{Call, Description};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::constants::{MPI_ERR_OTHER, MPI_ERR_PROC_ABORTED};
use weft_base::{Error, Result};
use weft_post::Credit;
use weft_sched::Thread;
use weft_sync::{Lock, LockGuard};
use weft_transport::Node;

/// How many operations a member that waits for each may be ahead of others here.
const AHEAD: u32 = 64;

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

/// Which steps a thread does in the name of a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zeal {
    /// Those that others wait for; all until the member's part is over.
    Own,
    /// All that can be done.
    All,
    /// All but those that apply the operator.
    AllButFolds,
}

/// What has become of a message: nothing, or an offer that is to be fetched; or why it is wrong.
type Attached = core::result::Result<Option<(u32, Message)>, Box<(Error, Message)>>;

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
            let agree = if other.is_spectator || contribution.is_spectator {
                other.description.same_operation(contribution.description)
            } else {
                other.description == contribution.description
            };
            if !agree {
                state.other = contribution.description.without_bytes().0 as u32;
                let text = format!(
                    "rank {member} called {} while rank {first} called {}",
                    contribution.description, other.description
                );
                return self.fail(state, mismatch(&text), true);
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
            member => Arc::new(super::neighbors::program(spread, member, &part.contribution)),
        };
        let members = match self.key.member {
            EVERYBODY => plan::participants(&spread.layout, spread.me, &part.choice),
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

    /// Hands a message to its step. Returns an offer that is to be fetched.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if the sender is in another call.
    fn attach(&self, state: &mut State, message: Message) -> Attached {
        let under = state.run.as_mut().expect("it has begun");
        let Header { mut call, shape, key, .. } = message.header;
        let is_abort = matches!(message.parcel, Parcel::Abort);
        if is_abort && key == LOSS {
            return Err(Box::new((heard_of_loss(message.from), message)));
        }
        if is_abort && u64::from(call) == under.call.0 {
            // It tells of another one with which it differed.
            call = shape;
        }
        let differs = u64::from(call) != under.call.0;
        let theirs = Description(call.into());
        if is_abort || differs || shape != under.program.shape {
            let node = message.from;
            let (mine, what) = (under.call, if differs { "" } else { " of another length" });
            state.other = call;
            let error = mismatch(&format!(
                "ranks of node process {node} called {theirs}{what} while those of {} called {mine}",
                self.spread.exchange.nodes().node()
            ));
            return Err(Box::new((error, message)));
        }
        let from = self.spread.layout.index(message.from);
        let Some(step) = from.and_then(|from| under.program.receiver(from, key)) else {
            let text = format!("node process {} sent message {key:#x} of {theirs}", message.from);
            return Err(Box::new((mismatch(&text), message)));
        };
        if let Parcel::Offer(offer) = message.parcel
            && !offer.is_readable()
        {
            return Ok(Some((step, message)));
        }
        under.inbox.push((step, message));
        under.run.message(&under.program, step);
        Ok(None)
    }

    /// Lets go of messages, while no lock is held.
    fn discard(&self, messages: impl IntoIterator<Item = Message>) {
        messages.into_iter().for_each(|message| self.spread.exchange.discard(message));
    }

    fn fetch(self: &Arc<Self>, messages: Vec<(u32, Message)>) {
        for (step, message) in messages {
            if let Parcel::Offer(offer) = message.parcel {
                self.spread.exchange.fetch(message.from, &offer, self.clone(), step);
            }
        }
    }

    /// Keeps a message that came before anybody had begun.
    pub fn keep(&self, message: Message) {
        self.state.lock().early.push(message);
    }

    /// Takes a message for the operation.
    pub fn deliver(self: &Arc<Self>, message: Message) {
        let mut state = self.state.lock();
        if state.failed.is_some() {
            drop(state);
            return self.discard([message]);
        }
        if state.run.is_none() {
            state.early.push(message);
            return;
        }
        let echo = !matches!(message.parcel, Parcel::Abort);
        match self.attach(&mut state, message) {
            Ok(fetch) => {
                let mut wake = Wake::default();
                if fetch.is_none() {
                    self.changes.fetch_add(1, Ordering::Release);
                    wake.all(&mut state);
                }
                drop(state);
                self.ask_for_help(&wake);
                wake.now();
                self.fetch(fetch.into_iter().collect());
            }
            Err(refused) => {
                let (error, message) = *refused;
                self.fail(state, error, echo);
                self.discard([message]);
            }
        }
    }

    /// Takes what was fetched.
    pub fn fetched(self: &Arc<Self>, step: u32, data: Bytes) {
        let mut state = self.state.lock();
        if state.failed.is_some() {
            return;
        }
        let Some(under) = state.run.as_mut() else { return };
        let header = Header {
            kind: Kind::Data,
            team: self.spread.key,
            operation: self.key,
            key: 0,
            call: 0,
            shape: 0,
        };
        let from = self.spread.exchange.nodes().node();
        under.inbox.push((step, Message { from, header, parcel: Parcel::Here(data, Credit::default()) }));
        under.run.message(&under.program, step);
        self.stir(state);
    }

    /// Notes that a step is over that was waiting for a device.
    pub fn finished(self: &Arc<Self>, step: u32) {
        let mut state = self.state.lock();
        if state.failed.is_some() {
            return;
        }
        if let Some(under) = state.run.as_mut() {
            under.run.finish(&under.program, step);
        }
        self.stir(state);
    }

    fn stir(self: &Arc<Self>, mut state: LockGuard<'_, State>) {
        let mut wake = Wake::default();
        self.changes.fetch_add(1, Ordering::Release);
        wake.all(&mut state);
        self.close_if_finished(state);
        self.ask_for_help(&wake);
        wake.now();
    }

    /// Leaves the operation to whoever polls, if none of its members waits for it: they may be in other calls, which wait
    /// for what this operation gives to others.
    fn ask_for_help(self: &Arc<Self>, wake: &Wake) {
        if wake.0.is_empty() {
            self.spread.exchange.ask_for_help(self.clone());
        }
    }

    /// Does what can be done, for members that are elsewhere. Only a thread of a member's rank runs the user's function that
    /// the member has given; if the caller is none, they are told, and do it where they wait.
    pub fn help(self: &Arc<Self>) {
        let state = self.state.lock();
        let helps = state.run.is_some() && state.failed.is_none();
        let Some(member) = self.first_here(&state).filter(|_| helps) else { return };
        drop(state);
        if self.threads[self.place(member)].get().is_none() {
            self.work(member, None, Zeal::All);
        } else if let Some(member) = self.own_member() {
            self.work(member, None, Zeal::All);
        } else {
            self.work(member, None, Zeal::AllButFolds);
            let state = self.state.lock();
            if state.failed.is_some() || !self.leaves_work(&state) {
                return;
            }
            drop(state);
            for (place, thread) in self.threads.iter().enumerate() {
                if let Some(thread) = thread.get() {
                    let (crossing, member) = (self.clone(), self.members[place]);
                    thread.give_errand(move || _ = crossing.work(member, None, Zeal::All));
                }
            }
        }
    }

    /// Returns the member that has arrived, has a user's operator, and whose rank the calling thread belongs to.
    fn own_member(&self) -> Option<u32> {
        let rank = weft_sched::known().map(Thread::rank).filter(|&rank| rank != weft_sched::NO_RANK)?;
        let is_own = |thread: &OnceLock<&'static Thread>| thread.get().is_some_and(|t| t.rank() == rank);
        self.threads.iter().position(is_own).map(|place| self.members[place])
    }

    /// Returns a member that has arrived and takes part.
    fn first_here(&self, state: &State) -> Option<u32> {
        let under = state.run.as_ref()?;
        self.members.iter().copied().find(|&member| under.run.has_arrived(member))
    }

    /// Ends the operation for everybody. Tells other node processes if `tell`.
    fn fail(&self, mut state: LockGuard<'_, State>, error: Error, tell: bool) -> bool {
        let call = state.first.map_or(Description(0), |first| self.contribution(first).description);
        let is_loss = error.class == MPI_ERR_PROC_ABORTED;
        state.failed.get_or_insert(error);
        self.troubled.store(true, Ordering::Release);
        self.changes.fetch_add(1, Ordering::Release);
        let (is_over, other) = (state.busy == 0, state.other);
        let mut wake = Wake::default();
        wake.all(&mut state);
        wake.0.append(&mut state.company);
        let mut unused = core::mem::take(&mut state.early);
        if let Some(under) = &mut state.run {
            unused.extend(under.inbox.drain(..).map(|(_, message)| message));
        }
        self.close_if_finished(state);
        wake.now();
        self.discard(unused);
        let tell = tell && self.key.member == EVERYBODY;
        for index in (0..self.spread.layout.len()).filter(|&index| tell && index != self.spread.me) {
            let header = Header {
                kind: Kind::Abort,
                team: self.spread.key,
                operation: self.key,
                key: if is_loss { LOSS } else { 0 },
                call: call.without_bytes().0 as u32,
                shape: other,
            };
            self.spread.exchange.tell(self.spread.layout.node(index), header);
        }
        is_over
    }

    /// Takes the operation off the board when nothing more will come for it.
    fn close_if_finished(&self, mut state: LockGuard<'_, State>) {
        let all_here = state.present as usize == self.members.len();
        let done = match &state.run {
            _ if state.failed.is_some() => state.busy == 0,
            Some(under) => under.run.is_finished(),
            None => true,
        };
        if all_here && done && !state.is_closed {
            state.is_closed = true;
            let has_failed = state.failed.is_some();
            drop(state);
            self.threads.iter().filter_map(OnceLock::get).for_each(|thread| thread.release());
            self.spread.close(self.key, has_failed);
        }
    }

    /// Notes that a peer is gone.
    pub fn lost(&self, peer: Node, reason: &str) {
        let state = self.state.lock();
        let has_begun = state.run.is_some() || !state.waiting.is_empty();
        if has_begun && state.failed.is_none() {
            self.fail(state, unreachable_peer(peer, reason), true);
        }
    }

    fn is_over(&self, state: &State, member: u32) -> bool {
        if state.failed.is_some() {
            return state.busy == 0;
        }
        let is_spectator = self.contribution(member).is_spectator;
        is_spectator || state.run.as_ref().is_some_and(|under| under.run.is_over(member))
    }

    /// Does what can be done. Returns whether the member's part is over then; if not, `waiter` is woken when there is more
    /// to do.
    fn work(self: &Arc<Self>, member: u32, waiter: Option<&'static Thread>, zeal: Zeal) -> bool {
        let mut wake = Wake::default();
        let mut state = self.state.lock();
        loop {
            let over = self.is_over(&state, member);
            let mut step = None;
            if state.failed.is_none()
                && let Some(under) = &mut state.run
            {
                let all = !over || zeal != Zeal::Own || under.choice.is_light;
                step = under.run.take(&under.program, member, all, zeal != Zeal::AllButFolds);
            }
            let Some(step) = step else {
                let place = self.place(member);
                if over {
                    // Who helps does the steps in the name of a member that may be waiting on another thread.
                    let waiting = state.waiters[place].take();
                    wake.0.extend(waiting.filter(|&thread| !is_current(thread)));
                } else if waiter.is_some() {
                    // One who only looks does not take the place of one who waits.
                    state.waiters[place] = waiter;
                }
                if over && self.leaves_work(&state) {
                    wake.all(&mut state);
                }
                self.close_if_finished(state);
                wake.now();
                return over;
            };
            let under = state.run.as_mut().expect("the step is of it");
            let (program, choice, call) = (under.program.clone(), under.choice.clone(), under.call);
            let parcel = under.inbox.iter().position(|(s, _)| *s == step);
            let parcel = parcel.map(|place| under.inbox.swap_remove(place).1);
            state.busy += 1;
            drop(state);
            let mut errors = Vec::new();
            let outcome = self.perform(&program, step, call, &choice, member, parcel, &mut errors);
            let (failed, is_over) = match outcome {
                Outcome::Cells(data) => {
                    self.set_cells(program.action(step).outputs(), data);
                    (None, true)
                }
                Outcome::Nothing => (None, true),
                Outcome::Later => (None, false),
                Outcome::Failed(error) => (Some(error), true),
            };
            state = self.state.lock();
            state.busy -= 1;
            self.changes.fetch_add(1, Ordering::Release);
            if !errors.is_empty() {
                self.troubled.store(true, Ordering::Release);
                state.errors.extend(errors);
            }
            if let Some(error) = failed {
                self.fail(state, error, true);
                state = self.state.lock();
                continue;
            }
            if state.failed.is_some() {
                wake.all(&mut state);
                continue;
            }
            if !is_over {
                continue;
            }
            let under = state.run.as_mut().expect("it stays");
            let freed = under.run.finish(&program, step);
            let freed: Vec<u32> = freed.into_iter().filter(|&m| under.run.is_over(m)).collect();
            if !choice.is_light && self.leaves_work(&state) {
                wake.all(&mut state);
            }
            for other in freed {
                let place = self.place(other);
                wake.0.extend(state.waiters[place].take().filter(|&thread| !is_current(thread)));
            }
            if !wake.0.is_empty() {
                drop(state);
                core::mem::take(&mut wake).now();
                state = self.state.lock();
            }
        }
    }

    fn leaves_work(&self, state: &State) -> bool {
        state.run.as_ref().is_some_and(|under| under.run.has_ready())
    }

    /// Returns the header of messages that a step sends.
    pub fn header(&self, to: u32, part: u32, key: u64, call: Description, shape: u32) -> (Node, Header) {
        let operation = OperationKey { member: part, ..self.key };
        let header =
            Header { kind: Kind::Data, team: self.spread.key, operation, key, call: call.0 as u32, shape };
        (self.spread.layout.node(to), header)
    }

    fn result(&self, member: u32) -> Result {
        if !self.troubled.load(Ordering::Acquire) {
            return Ok(());
        }
        let state = self.state.lock();
        if let Some(error) = &state.failed
            && !self.contribution(member).is_spectator
        {
            return Err(error.clone());
        }
        match state.errors.iter().find(|(m, _)| *m == member) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }
}

fn is_current(thread: &'static Thread) -> bool {
    weft_sched::known().is_some_and(|known| core::ptr::eq(known, thread))
}

#[cold]
fn mismatch(text: &str) -> Error {
    Error::new(
        MPI_ERR_OTHER,
        format!(
            "collective calls on one communicator do not match: {text}; all its ranks must make the same collective calls \
             in the same order"
        ),
    )
}

/// In place of a key: the sender of an abort has lost a node process.
const LOSS: u64 = 1;

#[cold]
fn heard_of_loss(from: Node) -> Error {
    let text = format!("node process {from} has lost another that holds ranks of the communicator");
    Error::new(MPI_ERR_PROC_ABORTED, text)
}

#[cold]
pub(crate) fn unreachable_peer(node: Node, reason: &str) -> Error {
    Error::new(
        MPI_ERR_PROC_ABORTED,
        format!("node process {node}, which holds ranks of the communicator, is gone: {reason}"),
    )
}

/// One member's part in an operation.
pub(crate) struct Pending {
    crossing: Arc<Crossing>,
    member: u32,
    over: AtomicBool,
    /// The changes up to which the member has looked for something to do.
    seen: AtomicU32,
    /// Whether it has been registered as waiter since.
    waits: AtomicBool,
}

impl Pending {
    /// Starts a member's part.
    pub fn start(crossing: Arc<Crossing>, member: u32, part: &Part) -> Self {
        let over = crossing.arrive(member, part);
        Self {
            crossing,
            member,
            over: AtomicBool::new(over),
            seen: AtomicU32::new(u32::MAX),
            waits: AtomicBool::new(false),
        }
    }

    /// See [`crate::Pending::advance`].
    pub fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        let exchange = self.crossing.spread.exchange;
        let over = self.look(waiter);
        if over && exchange.has_debts() && !weft_sched::has_source() {
            // Nobody else would pay them.
            exchange.nodes().poll();
            return !exchange.has_debts();
        }
        over
    }

    fn look(&self, waiter: Option<&'static Thread>) -> bool {
        if self.over.load(Ordering::Relaxed) {
            return true;
        }
        self.crossing.spread.exchange.nodes().poll();
        let changes = self.crossing.changes.load(Ordering::Acquire);
        let registered = waiter.is_none() || self.waits.load(Ordering::Relaxed);
        if registered && self.seen.load(Ordering::Relaxed) == changes {
            return false;
        }
        let over = self.crossing.work(self.member, waiter, Zeal::Own);
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
        self.over.load(Ordering::Relaxed)
    }

    /// See [`crate::Pending::leave`].
    pub fn leave(&self) {
        // Registered or not: a look without a waiter says that it is to be registered again, and leaves it there.
        self.waits.store(false, Ordering::Relaxed);
        if !self.over.load(Ordering::Relaxed) {
            let place = self.crossing.place(self.member);
            self.crossing.state.lock().waiters[place] = None;
        }
    }

    /// See [`crate::Pending::wait`].
    pub fn wait(&self) -> Result {
        self.wait_until(|waiter| self.advance(waiter));
        if self.crossing.key.member == EVERYBODY {
            let ahead = &self.crossing.spread.ahead[self.crossing.place(self.member)];
            if ahead.fetch_add(1, Ordering::Relaxed) + 1 >= AHEAD {
                ahead.store(0, Ordering::Relaxed);
                self.wait_until(|waiter| {
                    self.crossing.spread.exchange.nodes().poll();
                    self.crossing.awaits_nobody(waiter)
                });
            }
        }
        self.result()
    }

    fn wait_until(&self, done: impl Fn(Option<&'static Thread>) -> bool) {
        if weft_sched::has_source() {
            let thread = weft_sched::current();
            weft_sched::wait_until(|| done(Some(thread)));
        } else {
            self.crossing.spread.exchange.wait(|| done(None));
        }
    }

    /// See [`crate::Pending::result`].
    pub fn result(&self) -> Result {
        self.crossing.result(self.member)
    }
}
