//! Which ranks of this process can never go on although others run: they wait for each other, or for ranks that have ended.
//!
//! # Why what is found is certain
//! A wait is taken into account only if it is known what alone ends it: a receive or probe that nothing has matched (of a
//! definite source, or of any rank of the communicator), a send that nobody has received, a round of a collective operation that
//! a rank has not come to. All other waits, and all that does not wait, count as going on: nonblocking collective operations,
//! generalized requests, what other processes do, threads outside of MPI. A rank acts if one of its threads does, so all of
//! them must wait; who has finalized MPI never acts on a communicator that there was.
//!
//! The waits are looked at one after another, twice. A wait has a number that no other wait of its thread has, or of the queue it
//! lies in. So if the ranks that are stuck are the same ones, in the same waits, there was a moment between the two looks at which
//! all of them were in these waits, and at which no message for one of them was on its way, since it would have been
//! matched by the second look. Of these ranks none can be the first to go on, for only others of them could let it. Before
//! anything is said, the kernel is asked whether there is a thread that nobody knows.

use crate::communicators::communicator::Communicator;
use crate::process::{NOT_INITIALIZED, Process};
use std::collections::HashMap;
use std::sync::Arc;
use weft_base::constants::MPI_ANY_SOURCE;
use weft_base::stuck::{Graph, Needs, Wait};
use weft_coll::rounds::counters::before_entry;
use weft_comm::{Group, WORLD_CONTEXT};
use weft_p2p::{Blocked, For};
use weft_sched::{Life, Thread};

/// Somebody of whom nothing is known.
const SOMEBODY: u32 = u32::MAX;

/// Returns those of this process's ranks, which are given ascending, that can never go on.
pub fn find(own: &[u32]) -> Vec<u32> {
    let waits = |&rank: &u32| {
        weft_sched::thread_of(rank).is_some_and(|thread| thread.life() == Life::Alive && !thread.is_running())
    };
    if !own.iter().any(waits) {
        return Vec::new();
    }
    let (first, second) = match (Look::take(own), Look::take(own)) {
        (Some(first), Some(second)) => (first.stuck(), second.stuck()),
        _ => return Vec::new(),
    };
    if first.is_empty() || first != second || !weft_sched::knows_all_threads() {
        return Vec::new();
    }
    let mut ranks: Vec<u32> = first.iter().map(|wait| wait.rank).collect();
    ranks.dedup();
    ranks
}

/// A wait of a thread of a rank, which no other wait of that thread is equal to.
#[derive(PartialEq, Eq)]
struct Known {
    rank: u32,
    thread: usize,
    number: [u64; 3],
}

struct Look<'a> {
    own: &'a [u32],
    graph: Graph,
    known: Vec<Known>,
    /// What threads said of their waits before anything was looked at. One that says something else meanwhile goes on: else it
    /// might have been seen half in one wait and half in another.
    said: HashMap<usize, (u64, u32)>,
    /// Where threads are named that wait for messages.
    blocked: HashMap<usize, Vec<Blocked>>,
    /// Sets of ranks that were made: of a communicator, by its number and first rank, and of those who are missing in a round.
    sets: HashMap<(u32, u32, u64), u32>,
}

impl<'a> Look<'a> {
    fn take(own: &'a [u32]) -> Option<Self> {
        let foreign = weft_sched::foreign_threads()?;
        let mut look = Self {
            own,
            graph: Graph::default(),
            known: Vec::new(),
            said: HashMap::new(),
            blocked: HashMap::new(),
            sets: HashMap::new(),
        };
        let threads =
            own.iter().filter_map(|&rank| weft_sched::thread_of(rank)).chain(foreign.iter().copied());
        look.said =
            threads.map(|thread| (core::ptr::from_ref(thread) as usize, thread.said_wait())).collect();
        let mut found = Vec::new();
        for &rank in own {
            if let Some(messages) = process_of(rank).and_then(|process| process.messages.get()) {
                messages.engine.blocked_at(rank, &mut found);
            }
        }
        for blocked in found {
            look.blocked.entry(blocked.thread).or_default().push(blocked);
        }
        for &rank in own {
            let needs = look.rank(rank, &foreign);
            look.graph.ranks.push(needs);
        }
        Some(look)
    }

    /// Returns what a rank's threads need; nothing if it never acts any more.
    fn rank(&mut self, rank: u32, foreign: &[&'static Thread]) -> Vec<Needs> {
        let Some(own) = weft_sched::thread_of(rank) else { return vec![Needs::Nothing] };
        let process = process_of(rank);
        if process.is_some_and(Process::has_finished) {
            return Vec::new();
        }
        let threads = std::iter::once(own).filter(|own| own.life() != Life::Ended);
        let threads: Vec<_> =
            threads.chain(foreign.iter().copied().filter(|thread| thread.rank() == rank)).collect();
        let needs =
            |thread: &'static Thread| process.map_or(Needs::Nothing, |process| self.thread(process, thread));
        threads.into_iter().map(needs).collect()
    }

    /// Returns what a thread needs.
    fn thread(&mut self, process: &'static Process, thread: &'static Thread) -> Needs {
        let address = core::ptr::from_ref(thread) as usize;
        let blocked = self.blocked.get(&address).cloned().unwrap_or_default();
        let is_probe = |blocked: &Blocked| matches!(blocked.waits_for, For::Probe(_));
        let (word, count) = self.said.get(&address).copied().unwrap_or_default();
        let count = u64::from(count);
        let (needs, number) = match (Wait::read(word), &blocked[..]) {
            // Its operation is in matching until somebody ends the wait, and has a number of its own there.
            (Wait::Unsaid, [one]) if !is_probe(one) => {
                let is_send = matches!(one.waits_for, For::Send(_));
                (self.message(process, one), [u64::from(is_send), one.at.into(), one.number])
            }
            (Wait::Probe, [one]) if is_probe(one) => (self.message(process, one), [2, count, 0]),
            (Wait::Operations(open), all)
                if open > 0 && all.len() == open as usize && !all.iter().any(is_probe) =>
            {
                (self.any_of(process, all), [3, count, 0])
            }
            (wait @ (Wait::All(context) | Wait::Entry(context) | Wait::Root(context, _)), []) => {
                let (needs, round) = self.round(process, wait, context);
                (needs, [4, count, round])
            }
            _ => (Needs::Nothing, [0; 3]),
        };
        if needs == Needs::Nothing || (word, count) != (thread.said_wait().0, thread.said_wait().1.into()) {
            return Needs::Nothing;
        }
        self.known.push(Known { rank: process.world_rank, thread: address, number });
        needs
    }

    fn index(&self, rank: u32) -> u32 {
        self.own.binary_search(&rank).map_or(SOMEBODY, |index| index as u32)
    }

    fn message(&mut self, process: &'static Process, blocked: &Blocked) -> Needs {
        let pattern = match blocked.waits_for {
            For::Send(target) => return self.one(target),
            For::Receive(pattern) | For::Probe(pattern) => pattern,
        };
        let is_it =
            |communicator: &Communicator| communicator.values.point_to_point_context() == pattern.context;
        let Some(communicator) = find_communicator(process, is_it) else { return Needs::Nothing };
        let peers = communicator.get().values.peers();
        match u32::try_from(pattern.source()) {
            Ok(source) if source < peers.size() => self.one(peers.world_rank(source)),
            _ if pattern.source() == MPI_ANY_SOURCE => Needs::Any(self.everybody(pattern.context, peers)),
            _ => Needs::Nothing,
        }
    }

    fn one(&self, rank: u32) -> Needs {
        match self.index(rank) {
            SOMEBODY => Needs::Nothing,
            index => Needs::One(index),
        }
    }

    /// Returns what one needs for whom any of some operations, or all, is enough.
    fn any_of(&mut self, process: &'static Process, all: &[Blocked]) -> Needs {
        let mut ranks = Vec::new();
        for blocked in all {
            match self.message(process, blocked) {
                Needs::One(index) => ranks.push(index),
                Needs::Any(set) => ranks.extend_from_slice(&self.graph.sets[set as usize]),
                Needs::Nothing | Needs::All(_) => return Needs::Nothing,
            }
        }
        ranks.sort_unstable();
        ranks.dedup();
        self.graph.sets.push(ranks);
        Needs::Any(self.graph.sets.len() as u32 - 1)
    }

    /// Returns the set of all ranks of a group, whose communicator has this context for messages.
    fn everybody(&mut self, context: u32, group: &Group) -> u32 {
        let key = (context, group.world_rank(0), u64::MAX);
        self.set(key, |look| group.iter().map(|rank| look.index(rank)).collect())
    }

    fn set(&mut self, key: (u32, u32, u64), make: impl FnOnce(&Self) -> Vec<u32>) -> u32 {
        if let Some(&set) = self.sets.get(&key) {
            return set;
        }
        let ranks = make(self);
        self.graph.sets.push(ranks);
        let set = self.graph.sets.len() as u32 - 1;
        self.sets.insert(key, set);
        set
    }

    /// Returns what a thread needs that waits in a round of a communicator, and the last round that its rank has entered.
    fn round(&mut self, process: &'static Process, wait: Wait, context: u32) -> (Needs, u64) {
        let free = (Needs::Nothing, 0);
        let is_it = |communicator: &Communicator| communicator.values.context == context;
        let Some(communicator) = find_communicator(process, is_it) else { return free };
        let communicator = communicator.get();
        let entered = communicator.team.entered();
        let round = if matches!(wait, Wait::Entry(_)) { before_entry(entered) } else { entered };
        let everyone = communicator.values.everyone().0;
        if let Wait::Root(_, root) = wait {
            if root >= everyone.size() {
                return free;
            }
            let root = everyone.world_rank(root);
            let needs = if is_missing(root, context, round) { self.one(root) } else { Needs::Nothing };
            return (needs, entered);
        }
        let key = (context, everyone.world_rank(0), round);
        let missing = |look: &Self| {
            let missing = |&rank: &u32| look.index(rank) == SOMEBODY || is_missing(rank, context, round);
            everyone.iter().filter(missing).map(|rank| look.index(rank)).collect()
        };
        (Needs::All(self.set(key, missing)), entered)
    }

    /// Returns the waits of the ranks that can never go on.
    fn stuck(mut self) -> Vec<Known> {
        let stuck = self.graph.stuck();
        let is_stuck = |rank: u32| self.own.binary_search(&rank).is_ok_and(|index| stuck[index]);
        self.known.retain(|known| is_stuck(known.rank));
        self.known
    }
}

/// Returns the state of a rank of this process, if it has one.
fn process_of(rank: u32) -> Option<&'static Process> {
    let thread = weft_sched::thread_of(rank)?;
    let process = state_of(thread)?;
    (process.phase() != NOT_INITIALIZED || process.live_sessions() > 0).then_some(process)
}

#[allow(unsafe_code)] // The scheduler keeps the state as an address.
fn state_of(thread: &'static Thread) -> Option<&'static Process> {
    // SAFETY: null, or a process, which lives for ever.
    unsafe { thread.process().cast::<Process>().as_ref() }
}

/// A communicator of a rank.
enum Found {
    Predefined(&'static Communicator),
    Created(Arc<Communicator>),
}

impl Found {
    fn get(&self) -> &Communicator {
        match self {
            Self::Predefined(communicator) => communicator,
            Self::Created(communicator) => communicator,
        }
    }
}

fn find_communicator(process: &'static Process, is_it: impl Fn(&Communicator) -> bool) -> Option<Found> {
    let predefined =
        [process.world.get(), process.itself.get()].into_iter().flatten().find(|found| is_it(found));
    if let Some(found) = predefined {
        return Some(Found::Predefined(found));
    }
    let mut live = process.communicators.live().into_iter().map(|(_, communicator)| communicator);
    live.find(|communicator| is_it(communicator)).map(Found::Created)
}

/// Tells whether a rank of this process has certainly not come to a round of a communicator.
fn is_missing(rank: u32, context: u32, round: u64) -> bool {
    let Some(process) = process_of(rank) else {
        // Before MPI_Init nobody has come to anything.
        return context == WORLD_CONTEXT;
    };
    let found = find_communicator(process, |communicator| communicator.values.context == context);
    found.is_some_and(|communicator| communicator.get().team.entered() < round)
}
