//! How two groups of processes become the sides of an intercommunicator when not all are of one job.
//!
//! The ranks of each side have a communicator, and a leader in it; the leaders can talk ([`Talk`]). What one says to the
//! other all ranks of both sides learn. First they tell who is on their side. Then each node process says which of the
//! other side's it knows: where one of two does not know the other, both get a new way to each other ([`Needs`]). Last, all claim a context number that the left leader has
//! drawn, and if one cannot, the next. No rank returns before all know that all have what they need, or that there will be
//! no communicator.

use crate::communicators::communicator::Communicator;
use crate::communicators::contexts;
use crate::jobs::nodes;
use crate::jobs::strangers::{self, Side, Tie, system};
use crate::jobs::ways::{Made, Needs};
use crate::process::host::host;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_comm::{Communicator as Values, Group};
use weft_fabric::Card;
use weft_handshake::Secret;
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

    /// Returns what both leaders know and nobody else, if there is something.
    fn secret(&self) -> Option<&Secret> {
        None
    }
}

impl Talk for weft_door::Line {
    fn send(&self, message: &[u8]) -> Result {
        weft_door::Line::send(self, message).map_err(|error| gone(&error))
    }

    fn receive(&self) -> Result<Vec<u8>> {
        weft_door::Line::receive(self).map_err(|error| gone(&error))
    }

    fn secret(&self) -> Option<&Secret> {
        Some(weft_door::Line::secret(self))
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

impl Shore<'_> {
    /// Draws a secret for the network between the sides and tells it to all, hidden by what those who tell it to each other
    /// know already: of two leaders the secret of the port, of a side's ranks that of their job. Only where ranks of several
    /// jobs are one side, or leaders met in a communicator, there is nothing of the kind, and it goes over the connections
    /// that they have.
    fn confide(&self) -> Result<Secret> {
        let no_random = |error: std::io::Error| system(MPI_ERR_INTERN, "no random numbers", &error);
        let wrap = |key: Option<&Secret>, secret: &Secret| match key {
            Some(key) => weft_handshake::seal(key, secret).map(Vec::from).map_err(no_random),
            None => Ok(secret.to_vec()),
        };
        let unwrap = |key: Option<&Secret>, bytes: &[u8]| {
            let opened = match key {
                Some(key) => bytes.try_into().ok().map(|sealed| weft_handshake::unseal(key, sealed)),
                None => bytes.try_into().ok(),
            };
            opened.ok_or_else(|| Error::new(MPI_ERR_PORT, "the other side says what makes no sense"))
        };
        let is_mixed = strangers::are_in(&self.local.values.group);
        let own = host().secret().filter(|_| !is_mixed).map(|secret| secret.0);
        let found = self.talk.as_ref().map(|talk| {
            let talk = talk.as_ref().map_err(Error::clone)?;
            let secret = if self.is_left {
                let secret = weft_handshake::draw().map_err(no_random)?;
                talk.send(&wrap(talk.secret(), &secret)?)?;
                secret
            } else {
                unwrap(talk.secret(), &talk.receive()?)?
            };
            wrap(own.as_ref(), &secret)
        });
        unwrap(own.as_ref(), &self.share(found)?)
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
    /// The new ways.
    linked: OnceLock<Tie>,
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

/// Makes an intercommunicator with `local`, an intracommunicator, as its caller's side. `talk` is what the leader has, rank
/// `leader` of `local`. Collective over both sides.
///
/// # Errors
/// What is wrong with `talk`; `MPI_ERR_COMM` if a process is on both sides; `MPI_ERR_PORT` when the other leader is gone;
/// `MPI_ERR_INTERN` with what the system refuses. All ranks of both sides get an error.
pub(crate) fn build(
    local: &Communicator,
    leader: u32,
    talk: Option<Result<&dyn Talk>>,
    is_left: bool,
) -> Result<(Values, Tie)> {
    let shore = Shore { local, leader, talk, is_left };
    let mut hosts = vec![0; 8 * local.values.size() as usize];
    local.team.allgather_bytes(&strangers::own_host().to_ne_bytes(), &mut hosts)?;
    let hosts: Vec<u64> =
        hosts.chunks_exact(8).map(|h| u64::from_ne_bytes(h.try_into().expect("eight bytes"))).collect();
    let own = Side::of(&local.values.group, &hosts);
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
    // The first member on each of the side's node processes speaks for it.
    let speaker =
        |node: usize| mine.members.iter().position(|&(place, _)| place as usize == node).unwrap_or(0);
    let row = |node: usize| -> Vec<bool> {
        all[speaker(node) * bits.len()..][..bits.len()].iter().map(|&bit| bit == 1).collect()
    };
    let rows = shore.swap(|| to_bytes(&(0..mine.nodes.len()).map(row).collect::<Vec<_>>()))?;
    let (left_knows, right_knows): (Vec<Vec<bool>>, Vec<Vec<bool>>) =
        (from_bytes(&rows[0])?, from_bytes(&rows[1])?);
    let sides = [left.side.nodes.clone(), right.side.nodes.clone()];
    let needs = Needs::new(sides, &left_knows, &right_knows)
        .ok_or_else(|| Error::new(MPI_ERR_PORT, "the other side says what makes no sense"))?;

    let secret = if needs.needs_secret() { Some(shore.confide()?) } else { None };
    // One rank of each node process sees to its ways; the others wait for it where all look how far they got.
    let rank = local.values.rank as usize;
    let speaks = mine.members.get(rank).is_some_and(|&(place, _)| speaker(place as usize) == rank);
    let made = (speaks && needs.any()).then(|| needs.make(is_left));
    let cards = if needs.any() { cards(&shore, made.as_ref(), &speaker, mine)? } else { Vec::new() };

    let mut failure = None;
    loop {
        let offers = shore.swap(|| match is_left {
            true => {
                let (context, agreement) = contexts::draw();
                to_bytes(&Offer { context, agreement })
            }
            false => Ok(Vec::new()),
        })?;
        let Offer { context, agreement } = from_bytes(&offers[0])?;
        if let (Some(made), None, None) = (&made, attempt.linked.get(), &failure) {
            let linked = match made {
                Ok(made) => needs.link(made, &cards, secret),
                Err(error) => Err(error.clone()),
            };
            match linked {
                Ok(tie) => _ = attempt.linked.set(tie),
                Err(error) => failure = Some(error),
            }
        }
        let is_claimed = contexts::claim(context, agreement);
        let own_state = match (&failure, is_claimed) {
            (Some(_), _) => FAILED,
            (None, false) => TAKEN,
            (None, true) => DONE,
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
                return Err(failure.unwrap_or_else(|| {
                    Error::new(MPI_ERR_INTERN, "another process cannot take part; it says why")
                }));
            }
        }
    }
}

/// Tells all what a rank has made for its node process, if it has, and returns what all have made.
fn cards(
    shore: &Shore<'_>,
    made: Option<&Result<Made>>,
    speaker: &dyn Fn(usize) -> usize,
    mine: &Side,
) -> Result<Vec<Card>> {
    // Who could not make it says so when all look how far they got.
    let own = made.and_then(|made| made.as_ref().ok()).map(|made| made.card.clone()).unwrap_or_default();
    let all = gather(shore.local, &to_bytes(&own)?)?;
    let row = |node: usize| from_bytes::<Card>(&all[speaker(node)]);
    let rows = shore.swap(|| to_bytes(&(0..mine.nodes.len()).map(row).collect::<Result<Vec<_>>>()?))?;
    let sides: [Vec<Card>; 2] = [from_bytes(&rows[0])?, from_bytes(&rows[1])?];
    Ok(sides.concat())
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
    Ok(())
}

/// Tells all ranks of a side what each has, by rank.
fn gather(local: &Communicator, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
    let size = local.values.size() as usize;
    let mut lengths = vec![0; 4 * size];
    local.team.allgather_bytes(&(mine.len() as u32).to_ne_bytes(), &mut lengths)?;
    let lengths: Vec<usize> = lengths
        .chunks_exact(4)
        .map(|four| u32::from_ne_bytes(four.try_into().expect("four bytes")) as usize)
        .collect();
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let mut padded = mine.to_vec();
    padded.resize(longest, 0);
    let mut all = vec![0; longest * size];
    local.team.allgather_bytes(&padded, &mut all)?;
    Ok(lengths.iter().enumerate().map(|(rank, &length)| all[rank * longest..][..length].to_vec()).collect())
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

    #[test]
    fn ranks_of_a_node_process_join_one_attempt() {
        let first = Attempt::join(9, true, 2);
        assert!(!Arc::ptr_eq(&first, &Attempt::join(9, false, 1)));
        assert!(Arc::ptr_eq(&first, &Attempt::join(9, true, 2)));
        assert!(!Arc::ptr_eq(&first, &Attempt::join(9, true, 1)));
    }
}
