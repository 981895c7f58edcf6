//! How two groups of processes become the sides of an intercommunicator when not all are of one job.
//!
//! The ranks of each side have a communicator, and a leader in it; the leaders can talk ([`Talk`]). What one says to the
//! other all ranks of both sides learn. First they tell who is on their side. Then each node process says which of the
//! other side's it knows: where one of two does not know the other, both get a new way to each other, in memory that the
//! left leader makes and that the others fetch at its door. Last, all claim a context number that the left leader has
//! drawn, and if one cannot, the next. No rank returns before all know that all have what they need, or that there will be
//! no communicator.

use crate::communicators::Communicator;
use crate::contexts;
use crate::host::host;
use crate::nodes;
use crate::strangers::{self, NodeIdentity, NodeProcess, Side, Tie, system};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_comm::{Communicator as Values, Group};
use weft_local::{Options, Segment, SegmentDevice};
use weft_sync::Lock;

/// What the leaders of the two sides say to each other.
pub(crate) trait Talk {
    /// Sends a message.
    ///
    /// # Errors
    /// The other leader is gone.
    fn send(&self, message: &[u8]) -> Result;

    /// Waits for a message.
    ///
    /// # Errors
    /// The other leader is gone.
    fn receive(&self) -> Result<Vec<u8>>;
}

impl Talk for weft_door::Line {
    fn send(&self, message: &[u8]) -> Result {
        weft_door::Line::send(self, message).map_err(|error| gone(&error))
    }

    fn receive(&self) -> Result<Vec<u8>> {
        weft_door::Line::receive(self).map_err(|error| gone(&error))
    }
}

fn gone(error: &std::io::Error) -> Error {
    system(MPI_ERR_PORT, "the root process of the other side is gone, or its port was closed", error)
}

/// What a side's leader says first.
#[derive(Serialize, Deserialize)]
struct Greeting {
    /// Tells what belongs to this making of a communicator; the left leader's counts.
    attempt: u64,
    side: Side,
}

/// What the left leader offers to all.
#[derive(Serialize, Deserialize)]
struct Offer {
    /// Where to fetch the memory of a new way, if one is needed: the door and the ticket.
    memory: Option<(String, String)>,
    context: u32,
    agreement: u64,
}

/// How far a rank got with an offer, the worst last.
const DONE: u8 = 0;
const TAKEN: u8 = 1;
const FAILED: u8 = 2;

/// One side's part.
struct Shore<'a> {
    local: &'a Communicator,
    leader: u32,
    /// At the leader: the way to the other one, or why there is none.
    talk: Option<Result<&'a dyn Talk>>,
    is_left: bool,
}

/// Both leaders' messages, that of the left one first.
type Both = [Vec<u8>; 2];

impl Shore<'_> {
    /// Tells all ranks of the side what its leader has found.
    fn share(&self, found: Option<Result<Vec<u8>>>) -> Result<Vec<u8>> {
        let (class, mut bytes) = match &found {
            Some(Ok(bytes)) => (MPI_SUCCESS, bytes.clone()),
            Some(Err(error)) => (error.class, error.message.as_bytes().to_vec()),
            None => (MPI_SUCCESS, Vec::new()),
        };
        let mut head = [0; 8];
        head[..4].copy_from_slice(&class.to_ne_bytes());
        head[4..].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
        self.local.team.broadcast_bytes(self.leader, &mut head)?;
        let word = |at: usize| u32::from_ne_bytes(head[at..at + 4].try_into().expect("four bytes"));
        bytes.resize(word(4) as usize, 0);
        self.local.team.broadcast_bytes(self.leader, &mut bytes)?;
        match (word(0) as i32, found) {
            (MPI_SUCCESS, _) => Ok(bytes),
            (_, Some(Err(error))) => Err(error),
            (class, _) => {
                let text = format!("rank {} found: {}", self.leader, String::from_utf8_lossy(&bytes));
                Err(Error::new(class, text))
            }
        }
    }

    /// Exchanges messages with the other leader, and tells all ranks both.
    fn swap(&self, mine: impl FnOnce() -> Result<Vec<u8>>) -> Result<Both> {
        let found = self.talk.as_ref().map(|talk| {
            let talk = talk.as_ref().map_err(Error::clone)?;
            let mine = mine()?;
            // One speaks first: a message may be on its way until it is received.
            if self.is_left {
                talk.send(&mine)?;
                let theirs = talk.receive()?;
                return to_bytes(&(mine, theirs));
            }
            let theirs = talk.receive()?;
            talk.send(&mine)?;
            to_bytes(&(theirs, mine))
        });
        let (left, right) = from_bytes(&self.share(found)?)?;
        Ok([left, right])
    }
}

fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| system(MPI_ERR_INTERN, "cannot write a message", &error))
}

fn from_bytes<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T> {
    let what = "the other side says what makes no sense (is it of another version?)";
    serde_json::from_slice(bytes).map_err(|error| system(MPI_ERR_PORT, what, &error))
}

/// What the ranks of a side on one node process have in common.
struct Attempt {
    known: OnceLock<(Tie, Vec<bool>)>,
    linked: OnceLock<Result<Tie>>,
}

/// Attempts by their number and side, and how many ranks have yet to join them.
type Attempts = HashMap<(u64, bool), (Arc<Attempt>, usize)>;

static ATTEMPTS: Lock<Option<Attempts>> = Lock::new(None);

impl Attempt {
    /// Joins the attempt, as one of `ranks` ranks of this side on this node process.
    fn join(number: u64, is_left: bool, ranks: usize) -> Arc<Self> {
        let mut guard = ATTEMPTS.lock();
        let attempts = guard.get_or_insert_default();
        let fresh = || (Arc::new(Self { known: OnceLock::new(), linked: OnceLock::new() }), ranks);
        let (attempt, missing) = attempts.entry((number, is_left)).or_insert_with(fresh);
        *missing -= 1;
        let (attempt, is_last) = (attempt.clone(), *missing == 0);
        if is_last {
            attempts.remove(&(number, is_left));
        }
        attempt
    }
}

/// Which node processes of one side need a new way to which of the other.
struct Needs {
    sides: [Vec<NodeProcess>; 2],
    /// By node process of the left side and of the right one.
    missing: Vec<Vec<bool>>,
}

impl Needs {
    fn new(
        sides: [Vec<NodeProcess>; 2],
        left_knows: &[Vec<bool>],
        right_knows: &[Vec<bool>],
    ) -> Option<Self> {
        let [left, right] = &sides;
        let fits = |known: &[Vec<bool>], own: &[NodeProcess], other: &[NodeProcess]| {
            known.len() == own.len() && known.iter().all(|row| row.len() == other.len())
        };
        if !fits(left_knows, left, right) || !fits(right_knows, right, left) {
            return None;
        }
        let is_missing = |l: usize, r: usize| {
            left[l].identity() != right[r].identity() && !(left_knows[l][r] && right_knows[r][l])
        };
        let missing = (0..left.len()).map(|l| (0..right.len()).map(|r| is_missing(l, r)).collect()).collect();
        Some(Self { sides, missing })
    }

    fn any(&self) -> bool {
        self.missing.iter().flatten().any(|&missing| missing)
    }

    /// Returns the numbers in the new memory, and the names, of those that a node process needs a way to.
    fn of(&self, me: NodeIdentity, is_left: bool) -> (u32, Vec<(u32, NodeProcess)>) {
        let [left, right] = &self.sides;
        let place = |side: &[NodeProcess]| side.iter().position(|node| node.identity() == me);
        let (first, others, own) = match is_left {
            true => (left.len(), right, place(left)),
            false => (0, left, place(right)),
        };
        let own = own.unwrap_or(0);
        let is_missing = |other: usize| match is_left {
            true => self.missing[own][other],
            false => self.missing[other][own],
        };
        let needed = others.iter().enumerate().filter(|(other, _)| is_missing(*other));
        let slot = if is_left { own } else { left.len() + own };
        (slot as u32, needed.map(|(other, node)| ((first + other) as u32, node.clone())).collect())
    }
}

/// Makes an intercommunicator with `local`, an intracommunicator, as its caller's side. `talk` is what the leader has, rank
/// `leader` of `local`. Collective over both sides.
///
/// # Errors
/// What is wrong with `talk`; `MPI_ERR_COMM` if a process is on both sides; `MPI_ERR_PORT` when the other leader is gone
/// or on another host; `MPI_ERR_INTERN` with what the system refuses. All ranks of both sides get an error.
pub(crate) fn build(
    local: &Communicator,
    leader: u32,
    talk: Option<Result<&dyn Talk>>,
    is_left: bool,
) -> Result<(Values, Tie)> {
    let shore = Shore { local, leader, talk, is_left };
    let own = Side::of(&local.values.group);
    let (_, attempt) = contexts::draw();
    let greetings = shore.swap(|| to_bytes(&Greeting { attempt, side: own.clone() }))?;
    let [left, right]: [Greeting; 2] = [from_bytes(&greetings[0])?, from_bytes(&greetings[1])?];
    let number = left.attempt;
    let (mine, theirs) = if is_left { (&left.side, &right.side) } else { (&right.side, &left.side) };
    check(mine, theirs)?;

    let me = nodes::node_of(crate::process::Process::any().world_rank);
    let here = local.values.group.iter().filter(|&rank| nodes::node_of(rank) == me).count();
    let attempt = Attempt::join(number, is_left, here);
    let (_, known) = attempt.known.get_or_init(|| Tie::to_known(&theirs.nodes));
    let bits: Vec<u8> = known.iter().map(|&known| u8::from(known)).collect();
    let mut all = vec![0; bits.len() * local.values.size() as usize];
    local.team.allgather_bytes(&bits, &mut all)?;
    let row = |node: usize| -> Vec<bool> {
        let member = mine.members.iter().position(|&(place, _)| place as usize == node).unwrap_or(0);
        all[member * bits.len()..][..bits.len()].iter().map(|&bit| bit == 1).collect()
    };
    let rows = shore.swap(|| to_bytes(&(0..mine.nodes.len()).map(row).collect::<Vec<_>>()))?;
    let (left_knows, right_knows): (Vec<Vec<bool>>, Vec<Vec<bool>>) =
        (from_bytes(&rows[0])?, from_bytes(&rows[1])?);
    let sides = [left.side.nodes.clone(), right.side.nodes.clone()];
    let needs = Needs::new(sides, &left_knows, &right_knows)
        .ok_or_else(|| Error::new(MPI_ERR_PORT, "the other side says what makes no sense"))?;

    // What the left leader has made is kept until all have it.
    let mut ticket = None;
    loop {
        let offers = shore.swap(|| match is_left {
            true => to_bytes(&offer(&needs, &mut ticket)?),
            false => Ok(Vec::new()),
        })?;
        let Offer { memory, context, agreement } = from_bytes(&offers[0])?;
        let linked = attempt.linked.get_or_init(|| link(memory.as_ref(), &needs, is_left));
        let is_claimed = contexts::claim(context, agreement);
        let own_state = match (linked, is_claimed) {
            (Err(_), _) => FAILED,
            (Ok(_), false) => TAKEN,
            (Ok(_), true) => DONE,
        };
        let worst = agree_on_worst(&shore, own_state);
        if !matches!(worst, Ok(DONE)) && is_claimed {
            contexts::let_go(context);
        }
        match worst? {
            DONE => {
                let remote = theirs.group().ok_or_else(|| {
                    Error::new(MPI_ERR_INTERN, "a process of the other side has got no number here")
                })?;
                let values = &local.values;
                let remote: Group = remote.with_origin(values.group.origin());
                let values = Values {
                    context,
                    rank: values.rank,
                    group: values.group.clone(),
                    remote: Some(remote),
                    is_left,
                };
                let tie = Tie::of(&values).unwrap_or_default();
                return Ok((values, tie));
            }
            TAKEN => {}
            _ => {
                return Err(linked.as_ref().err().cloned().unwrap_or_else(|| {
                    Error::new(MPI_ERR_INTERN, "another process cannot take part; it says why")
                }));
            }
        }
    }
}

/// Looks whether the sides can be joined.
fn check(mine: &Side, theirs: &Side) -> Result {
    if !theirs.is_sound() {
        return Err(Error::new(MPI_ERR_PORT, "the other side says what makes no sense"));
    }
    let own: std::collections::HashSet<_> = mine.identities().collect();
    if let Some(both) = theirs.identities().find(|other| own.contains(other)) {
        let text = format!("rank {} of its job is on both sides; they must be disjoint", both.rank);
        return Err(Error::new(MPI_ERR_COMM, text));
    }
    if theirs.nodes.iter().any(|node| mine.nodes.iter().any(|own| own.host != node.host)) {
        let text = "the other side is on another host, or in another network name space; jobs on different hosts \
                    cannot be connected yet";
        return Err(Error::new(MPI_ERR_PORT, text));
    }
    Ok(())
}

/// Makes the left leader's offer; the memory for new ways is made once.
fn offer(needs: &Needs, ticket: &mut Option<weft_door::Ticket>) -> Result<Offer> {
    let (context, agreement) = contexts::draw();
    if !needs.any() {
        return Ok(Offer { memory: None, context, agreement });
    }
    let refused = |error| system(MPI_ERR_INTERN, "memory for messages to the other side", &error);
    let door = weft_door::door().map_err(refused)?;
    if ticket.is_none() {
        let (memory, _) = Segment::create(needs.sides.iter().map(|side| side.len() as u32).sum())?;
        *ticket = Some(door.offer(memory).map_err(refused)?);
    }
    let memory = ticket.as_ref().map(|ticket| (door.name().to_owned(), ticket.token().to_owned()));
    Ok(Offer { memory, context, agreement })
}

/// Makes the ways that this node process needs.
fn link(memory: Option<&(String, String)>, needs: &Needs, is_left: bool) -> Result<Tie> {
    let me = (host().job(), nodes::own_place().map_or(0, |(node, _)| node));
    let (slot, needed) = needs.of(me, is_left);
    let Some((door, ticket)) = memory.filter(|_| !needed.is_empty()) else { return Ok(Tie::default()) };
    let fetched = weft_door::fetch(door, ticket)
        .map_err(|error| system(MPI_ERR_INTERN, "memory for messages to the other side", &error))?;
    let options = Options { is_further: true, ..Options::default() };
    strangers::meet(SegmentDevice::attach_with(fetched, slot, options)?, &needed)
}

/// Finds out how far the rank got that got least far, of both sides.
fn agree_on_worst(shore: &Shore<'_>, own: u8) -> Result<u8> {
    let mut all = vec![0; shore.local.values.size() as usize];
    shore.local.team.allgather_bytes(&[own], &mut all)?;
    let worst = all.into_iter().max().unwrap_or(FAILED);
    let states = shore.swap(|| Ok(vec![worst]))?;
    Ok(states.iter().map(|state| state.first().copied().unwrap_or(FAILED)).max().unwrap_or(FAILED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(job: u64, node: u32) -> NodeProcess {
        NodeProcess { job, node, ranks: vec![node], host: String::new() }
    }

    #[test]
    fn a_way_is_made_where_one_of_two_does_not_know_the_other() {
        let sides = [vec![node(1, 0), node(1, 1)], vec![node(2, 0), node(1, 1)]];
        // The second left one is the second right one.
        let left_knows = [vec![true, true], vec![true, true]];
        let right_knows = [vec![true, false], vec![true, true]];
        let needs = Needs::new(sides.clone(), &left_knows, &right_knows).unwrap();
        assert!(needs.any());
        assert_eq!(needs.of((1, 0), true), (0, vec![]));
        assert_eq!(needs.of((1, 1), true), (1, vec![(2, node(2, 0))]));
        assert_eq!(needs.of((2, 0), false), (2, vec![(1, node(1, 1))]));
        assert_eq!(needs.of((1, 1), false), (3, vec![]));
        assert!(Needs::new(sides, &left_knows[..1], &right_knows).is_none());
    }

    #[test]
    fn ranks_of_a_node_process_join_one_attempt() {
        let first = Attempt::join(9, true, 2);
        assert!(!Arc::ptr_eq(&first, &Attempt::join(9, false, 1)));
        assert!(Arc::ptr_eq(&first, &Attempt::join(9, true, 2)));
        assert!(!Arc::ptr_eq(&first, &Attempt::join(9, true, 1)));
    }
}
