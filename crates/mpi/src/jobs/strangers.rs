//! Processes of other jobs: who they are, and the numbers by which this node process knows them.
//!
//! A process is known everywhere by its [`Identity`]: its job and its rank there. Groups and devices work with numbers: a
//! rank of the own job has its rank, and processes of other jobs get the numbers that follow, in the order in which this
//! node process meets them. So no number of a stranger may be told to another process; identities may.
//!
//! A node process of another job is known as long as a communicator joins its ranks with some here ([`Tie`]). If it is met
//! again later it gets another number.

use crate::jobs::nodes;
use crate::process::host::host;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use weft_base::{Error, Result};
use weft_comm::{Communicator as Values, Comparison, Group};
use weft_p2p::Envelope;
use weft_sync::Lock;
use weft_transport::{Device, Node};

/// A process, as all jobs know it.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Identity {
    /// The job's number.
    pub job: u64,
    /// The rank in the job.
    pub rank: u32,
}

/// A node process, as all jobs know it.
pub(crate) type NodeIdentity = (u64, u32);

/// A node process and its ranks.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct NodeProcess {
    pub job: u64,
    /// Its number in its job.
    pub node: u32,
    /// All ranks of the job that it holds, ascending.
    pub ranks: Vec<u32>,
    /// What tells hosts apart.
    pub host: u64,
    /// What it has in common with others that collectives take to be on one host. All processes must say the same of it,
    /// whomever they know: so those of a job on several hosts are on hosts of that job's own.
    pub place: u64,
}

impl NodeProcess {
    pub fn identity(&self) -> NodeIdentity {
        (self.job, self.node)
    }
}

/// The members of a group, and the node processes they are on.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Side {
    pub nodes: Vec<NodeProcess>,
    /// The place of a member's node process in `nodes`, and the member's rank in its job.
    pub members: Vec<(u32, u32)>,
}

#[derive(Default)]
struct State {
    /// The newest number of each stranger's node process.
    nodes: HashMap<NodeIdentity, Node>,
    known: HashMap<Node, Known>,
    numbers: HashMap<Identity, u32>,
    identities: HashMap<u32, Identity>,
    /// The numbers that places have here, as far as they are not this node process's own.
    places: HashMap<u64, u32>,
    /// Of each communicator with strangers, by its context: who may send there.
    senders: HashMap<u32, Senders>,
}

/// Who may send messages in a context.
#[derive(Default)]
struct Senders {
    /// The group, or both if ranks here are on both sides.
    groups: Vec<Group>,
    /// How many ties there are with the context.
    ties: usize,
}

struct Known {
    process: NodeProcess,
    /// How many ties there are to it.
    ties: usize,
}

static STATE: Lock<Option<State>> = Lock::new(None);
/// Whether there ever was a stranger.
static ANY: AtomicBool = AtomicBool::new(false);

fn is_stranger(number: u32) -> bool {
    number >= host().size()
}

/// Tells whether a group has processes of other jobs.
pub(crate) fn are_in(group: &Group) -> bool {
    ANY.load(Ordering::Acquire) && group.iter().any(is_stranger)
}

/// Tells whether a communicator joins processes of several jobs.
pub(crate) fn are_among(values: &Values) -> bool {
    are_in(&values.group) || values.remote.as_ref().is_some_and(are_in)
}

/// Returns who a process is that has a number here.
pub(crate) fn identity(number: u32) -> Identity {
    let known = if is_stranger(number) {
        STATE.lock().as_ref().and_then(|state| state.identities.get(&number).copied())
    } else {
        None
    };
    known.unwrap_or(Identity { job: host().job(), rank: number })
}

fn number_of(identity: Identity) -> Option<u32> {
    if identity.job == host().job() {
        return Some(identity.rank);
    }
    STATE.lock().as_ref()?.numbers.get(&identity).copied()
}

/// The first number for a place of another job. Those of the own job's hosts are smaller.
const PLACES: u32 = 1 << 24;

/// Returns what tells hosts apart, and what a host's processes cannot find each other across.
pub(crate) fn own_host() -> u64 {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    hash(&(boot.trim(), network))
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Returns the place of a node process of this job.
fn own_place(node: Node, own_host: u64) -> u64 {
    if nodes::are_spread() { hash(&(host().job(), nodes::host_of(node))) } else { own_host }
}

/// Returns the number that a place has for this process's collectives.
fn number_of_place(state: &mut State, place: u64) -> u32 {
    let (own, _) = nodes::own_place().unwrap_or_default();
    if place == own_place(own, own_host()) {
        return nodes::host();
    }
    let next = PLACES + state.places.len() as u32;
    *state.places.entry(place).or_insert(next)
}

fn node_process(node: Node, on: u64) -> NodeProcess {
    let stranger = STATE.lock().as_ref().and_then(|state| state.known.get(&node).map(|k| k.process.clone()));
    stranger.unwrap_or_else(|| {
        let ranks = match nodes::nodes() {
            Some(nodes) => nodes.places().ranks(node).to_vec(),
            None => (0..host().size()).collect(),
        };
        NodeProcess { job: host().job(), node, ranks, host: on, place: own_place(node, on) }
    })
}

impl Side {
    /// Describes the members of a group, given the host of each.
    pub fn of(group: &Group, hosts: &[u64]) -> Self {
        let (mut found, mut nodes) = (Vec::new(), Vec::new());
        let member = |(number, &on): (u32, &u64)| {
            let node = nodes::node_of(number);
            let place = found.iter().position(|&known| known == node).unwrap_or_else(|| {
                found.push(node);
                nodes.push(node_process(node, on));
                found.len() - 1
            });
            (place as u32, identity(number).rank)
        };
        let members = group.iter().zip(hosts).map(member).collect();
        Self { nodes, members }
    }

    /// Returns who its members are.
    pub fn identities(&self) -> impl Iterator<Item = Identity> + '_ {
        self.members.iter().filter_map(|&(place, rank)| {
            self.nodes.get(place as usize).map(|node| Identity { job: node.job, rank })
        })
    }

    /// Tells whether it makes sense: whether each member is on the node process that it is said to be on.
    pub fn is_sound(&self) -> bool {
        let is_there = |&(place, rank): &(u32, u32)| {
            self.nodes.get(place as usize).is_some_and(|node| node.ranks.binary_search(&rank).is_ok())
        };
        let is_ascending = |node: &NodeProcess| node.ranks.windows(2).all(|pair| pair[0] < pair[1]);
        self.nodes.iter().all(is_ascending) && self.members.iter().all(is_there) && !self.members.is_empty()
    }

    /// Returns the members as a group of numbers of this node process, which knows them.
    pub fn group(&self) -> Option<Group> {
        let numbers: Option<Vec<u32>> = self.identities().map(number_of).collect();
        Some(Group::from_ranks(&numbers?))
    }
}

/// Keeps node processes of other jobs known.
#[derive(Debug, Default)]
pub(crate) struct Tie {
    nodes: Vec<Node>,
    /// That of the communicator which needs them, if it is one.
    context: Option<u32>,
}

/// Tells whether a receive may wait for a message of a node process of another job.
fn may_wait_for(pattern: &Envelope, node: Node) -> bool {
    let guard = STATE.lock();
    let senders = guard.as_ref().and_then(|state| state.senders.get(&(pattern.context / 2)));
    // The others join only processes of this job.
    let Some(senders) = senders else { return false };
    let is_there = |number: u32| nodes::node_of(number) == node;
    senders.groups.iter().any(|group| match u32::try_from(pattern.source()) {
        Ok(source) if source < group.size() => is_there(group.world_rank(source)),
        _ => group.iter().any(is_there),
    })
}

impl Tie {
    /// Ties those on whose node processes the members of a communicator are; nothing if all are of this job.
    pub fn of(values: &Values) -> Option<Self> {
        if !are_among(values) {
            return None;
        }
        let (everyone, _) = values.everyone();
        let mut found: Vec<Node> =
            everyone.iter().filter(|&number| is_stranger(number)).map(nodes::node_of).collect();
        found.sort_unstable();
        found.dedup();
        let mut guard = STATE.lock();
        let state = guard.get_or_insert_default();
        for node in &found {
            if let Some(known) = state.known.get_mut(node) {
                known.ties += 1;
            }
        }
        let senders = state.senders.entry(values.context).or_default();
        let group = values.remote.as_ref().unwrap_or(&values.group);
        if !senders.groups.iter().any(|known| known.compare(group) == Comparison::Identical) {
            senders.groups.push(group.clone());
        }
        senders.ties += 1;
        Some(Self { nodes: found, context: Some(values.context) })
    }

    /// Ties those of some node processes that are known; tells which that is. Those of the own job always are.
    pub fn to_known(processes: &[NodeProcess]) -> (Self, Vec<bool>) {
        let own = host().job();
        let mut tied = Vec::new();
        let mut guard = STATE.lock();
        let state = guard.get_or_insert_default();
        let is_known = |process: &NodeProcess| {
            let Some(&node) = state.nodes.get(&process.identity()) else { return process.job == own };
            if let Some(known) = state.known.get_mut(&node) {
                known.ties += 1;
                tied.push(node);
            }
            true
        };
        let known = processes.iter().map(is_known).collect();
        (Self { nodes: tied, context: None }, known)
    }
}

impl Tie {
    /// Takes over what another one keeps.
    pub fn add(&mut self, mut other: Tie) {
        self.nodes.append(&mut other.nodes);
    }
}

impl Drop for Tie {
    fn drop(&mut self) {
        let mut gone = Vec::new();
        let is_alone;
        {
            let mut guard = STATE.lock();
            let Some(state) = guard.as_mut() else { return };
            if let Some(context) = self.context
                && let Some(senders) = state.senders.get_mut(&context)
            {
                senders.ties -= 1;
                if senders.ties == 0 {
                    state.senders.remove(&context);
                }
            }
            for node in &self.nodes {
                let Some(known) = state.known.get_mut(node) else { continue };
                known.ties -= 1;
                if known.ties == 0
                    && let Some(known) = state.known.remove(node)
                {
                    state.forget(*node, &known.process);
                    let is_last = state.known.values().all(|other| other.process.job != known.process.job);
                    gone.push((*node, known.process.job, is_last));
                }
            }
            is_alone = !gone.is_empty() && state.known.is_empty();
        }
        for (node, job, is_last) in gone {
            nodes::forget(node);
            if is_last {
                host().met(job, false);
            }
        }
        if is_alone {
            // From now on nobody but the job's own processes wakes ranks.
            weft_sched::expect_events(false);
        }
    }
}

impl State {
    fn forget(&mut self, node: Node, process: &NodeProcess) {
        if self.nodes.get(&process.identity()) == Some(&node) {
            self.nodes.remove(&process.identity());
        }
        for &rank in &process.ranks {
            let identity = Identity { job: process.job, rank };
            if let Some(&number) = self.numbers.get(&identity)
                && nodes::node_of(number) == node
            {
                self.numbers.remove(&identity);
                self.identities.remove(&number);
            }
        }
    }
}

/// Gives numbers to node processes of other jobs that a device reaches under the numbers that stand beside them, and to
/// their ranks. The tie keeps them until communicators do.
///
/// # Errors
/// What the system says where the first device of this process cannot be made.
pub(crate) fn meet(device: Box<dyn Device>, processes: &[(u32, NodeProcess)]) -> Result<Tie> {
    static MEETING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = MEETING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let nodes = nodes::or_begin()?;
    let numbers: Vec<Node> = processes.iter().map(|(number, _)| *number).collect();
    let hosts: Vec<u32> = {
        let mut guard = STATE.lock();
        let state = guard.get_or_insert_default();
        processes.iter().map(|(_, process)| number_of_place(state, process.place)).collect()
    };
    let begin = nodes.add(device, &numbers, &hosts);
    let node_of: Vec<Node> = (begin..)
        .zip(processes)
        .flat_map(|(node, (_, process))| core::iter::repeat_n(node, process.ranks.len()))
        .collect();
    let first = nodes.places().add(&node_of);
    let mut fresh = Vec::new();
    let was_alone;
    {
        let mut guard = STATE.lock();
        let state = guard.get_or_insert_default();
        was_alone = state.known.is_empty() && !processes.is_empty();
        let mut next = first;
        for (node, (_, process)) in (begin..).zip(processes) {
            if state.known.values().all(|known| known.process.job != process.job) {
                fresh.push(process.job);
            }
            for &rank in &process.ranks {
                let identity = Identity { job: process.job, rank };
                state.numbers.insert(identity, next);
                state.identities.insert(next, identity);
                next += 1;
            }
            state.nodes.insert(process.identity(), node);
            state.known.insert(node, Known { process: process.clone(), ties: 1 });
        }
    }
    if was_alone {
        // A census of the job's processes does not see those of others, who may wake any rank.
        weft_sched::expect_events(true);
    }
    if !ANY.swap(true, Ordering::AcqRel) {
        weft_p2p::remote::ask_about_losses(may_wait_for);
    }
    fresh.into_iter().for_each(|job| host().met(job, true));
    Ok(Tie { nodes: (begin..).take(processes.len()).collect(), context: None })
}

/// Makes the error of something that the processes of two jobs need and the system refuses.
#[cold]
pub(crate) fn system(class: i32, what: &str, error: &dyn core::fmt::Display) -> Error {
    Error::new(class, format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_that_contradicts_itself_is_noticed() {
        let node =
            |node, ranks: &[u32]| NodeProcess { job: 7, node, ranks: ranks.to_vec(), host: 0, place: 0 };
        let side = |members: &[(u32, u32)]| Side {
            nodes: vec![node(0, &[0, 2]), node(1, &[1])],
            members: members.to_vec(),
        };
        assert!(side(&[(0, 2), (1, 1)]).is_sound());
        assert!(!side(&[(0, 1)]).is_sound());
        assert!(!side(&[(2, 1)]).is_sound());
        assert!(!side(&[]).is_sound());
        let identities: Vec<_> = side(&[(1, 1), (0, 0)]).identities().collect();
        assert_eq!(identities, [Identity { job: 7, rank: 1 }, Identity { job: 7, rank: 0 }]);
    }
}
