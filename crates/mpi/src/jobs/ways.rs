//! New ways between node processes of two sides that do not know each other: memory where they share a host, a network
//! where they do not.
//!
//! Node processes have a number among those of both sides, the left ones first. The first on a host makes the memory that the
//! others there fetch at its door; each that needs a way to another host listens. What that comes to, its [`Paper`], all
//! learn. The network's secret is drawn for this meeting, and no process uses it for anything else.
//!
//! Over a network all greet each other before they go on. So a host that cannot be reached is an error of the call that
//! connects; and there is a connection whose end tells of a process's end, also to who only waits for it.

use crate::jobs::nodes;
use crate::jobs::strangers::{self, NodeIdentity, NodeProcess, Tie, system};
use crate::process::host::host;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use weft_base::constants::{MPI_ERR_INTERN, MPI_ERR_PORT};
use weft_base::{Error, Result};
use weft_door::Ticket;
use weft_handshake::Secret;
use weft_local::{Options, Segment, SegmentDevice};
use weft_net_tcp::{Card, Listener, Machine, NetConfig};
use weft_sync::Lock;
use weft_transport::{Arriving, Channel, Device, Handler, Node, Placement};

/// How long the others may take until they are connected.
const GREETING: Duration = Duration::from_secs(30);
/// How long a look at the network sleeps in which nothing has happened.
const GLANCE: Duration = Duration::from_millis(1);

/// Which node processes of one side need a new way to which of the other.
pub(crate) struct Needs {
    /// Of both sides, the left one first.
    nodes: Vec<NodeProcess>,
    /// How many are of the left one.
    left: usize,
    /// By node process of the left side and of the right one.
    missing: Vec<Vec<bool>>,
}

/// What others must know to reach a node process.
#[derive(Serialize, Deserialize, Clone, Debug, Default)]
pub(crate) struct Paper {
    /// Where it listens, if it does.
    card: Vec<String>,
    /// The door and the ticket of memory that it has made, if it has.
    memory: Option<(String, String)>,
}

/// What a node process has made for those that need a way to it.
pub(crate) struct Made {
    listener: Lock<Option<Listener>>,
    /// Good until all have what they need.
    _ticket: Option<Ticket>,
    pub paper: Paper,
}

/// A node process that takes part, by its number.
#[derive(Clone, Copy)]
struct Own {
    slot: usize,
    is_left: bool,
}

impl Needs {
    /// Takes the node processes of both sides, and which of the other side's each knows; nothing if that makes no sense.
    pub fn new(
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
        Some(Self { left: left.len(), missing, nodes: sides.concat() })
    }

    pub fn any(&self) -> bool {
        self.missing.iter().flatten().any(|&missing| missing)
    }

    /// Tells whether a way from host to host is needed.
    pub fn any_between_hosts(&self) -> bool {
        (0..self.left).any(|l| self.partners(Own { slot: l, is_left: true }).any(|r| !self.are_near(l, r)))
    }

    fn are_near(&self, a: usize, b: usize) -> bool {
        self.nodes[a].host == self.nodes[b].host
    }

    /// Returns those that a node process needs a way to.
    fn partners(&self, own: Own) -> impl Iterator<Item = usize> + '_ {
        let others = if own.is_left { self.left..self.nodes.len() } else { 0..self.left };
        others.filter(move |&other| match own.is_left {
            true => self.missing[own.slot][other - self.left],
            false => self.missing[other][own.slot - self.left],
        })
    }

    /// Returns those that need memory with others on a node process's host.
    fn around(&self, slot: usize) -> Vec<usize> {
        let needs_memory = |&other: &usize| {
            let own = Own { slot: other, is_left: other < self.left };
            self.are_near(slot, other) && self.partners(own).any(|partner| self.are_near(other, partner))
        };
        (0..self.nodes.len()).filter(needs_memory).collect()
    }

    /// Returns this node process, which may be on both sides.
    fn own(&self, is_left: bool) -> Own {
        let me: NodeIdentity = (host().job(), nodes::own_place().map_or(0, |(node, _)| node));
        let first = if is_left { 0 } else { self.left };
        let place = self.nodes[first..].iter().position(|node| node.identity() == me);
        Own { slot: first + place.unwrap_or(0), is_left }
    }

    /// Makes what others need of this node process.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN` with what the system refuses.
    pub fn make(&self, is_left: bool) -> Result<Made> {
        let own = self.own(is_left);
        let mut made = Made { listener: Lock::default(), _ticket: None, paper: Paper::default() };
        if self.partners(own).any(|partner| !self.are_near(own.slot, partner)) {
            let refused = |error| system(MPI_ERR_INTERN, "a network to the other side", &error);
            let workers = self.nodes[own.slot].ranks.len().min(weft_machine::usable_cores()) as u32;
            let listener =
                Listener::bind(&NetConfig { workers, ..NetConfig::from_settings() }).map_err(refused)?;
            made.paper.card = listener.card().words();
            made.listener = Lock::new(Some(listener));
        }
        let around = self.around(own.slot);
        if around.first() == Some(&own.slot) {
            let (memory, _) = Segment::create(around.len() as u32)?;
            let door = weft_door::door().map_err(no_memory)?;
            let ticket = door.offer(memory).map_err(no_memory)?;
            made.paper.memory = Some((door.name().to_owned(), ticket.token().to_owned()));
            made._ticket = Some(ticket);
        }
        Ok(made)
    }

    /// Makes the ways that this node process needs, given the papers of all by number.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN` with what the system refuses, or what another could not make.
    pub fn link(&self, is_left: bool, made: &Made, papers: &[Paper], secret: Option<Secret>) -> Result<Tie> {
        let own = self.own(is_left);
        let (near, far): (Vec<usize>, Vec<usize>) =
            self.partners(own).partition(|&partner| self.are_near(own.slot, partner));
        let mut tie = Tie::default();
        if !near.is_empty() {
            let around = self.around(own.slot);
            let number = |slot: usize| around.iter().position(|&other| other == slot).unwrap_or(0) as u32;
            let (door, ticket) =
                papers.get(around[0]).and_then(|paper| paper.memory.as_ref()).ok_or_else(not_made)?;
            let memory = weft_door::fetch(door, ticket).map_err(no_memory)?;
            let options = Options { is_further: true, ..Options::default() };
            let device = SegmentDevice::attach_with(memory, number(own.slot), options)?;
            let met: Vec<_> = near.iter().map(|&slot| (number(slot), self.nodes[slot].clone())).collect();
            tie.add(strangers::meet(Box::new(device), &met)?);
        }
        if !far.is_empty() {
            let listener = made.listener.lock().take().ok_or_else(not_made)?;
            // Who is reached another way, or not at all, takes no part in what the cards are for.
            let nobody = Machine { id: 0, workers: 0 };
            let mut book = vec![Card { addresses: Vec::new(), machine: Some(nobody) }; self.nodes.len()];
            for &slot in &far {
                let words = papers.get(slot).filter(|paper| !paper.card.is_empty()).ok_or_else(not_made)?;
                let read = Card::read(words.card.iter().map(String::as_str));
                book[slot] = read.map_err(|why| Error::new(MPI_ERR_INTERN, why))?;
            }
            let refused = |error| system(MPI_ERR_INTERN, "a network to the other side", &error);
            book[own.slot] = listener.card();
            let device = listener.join(own.slot as u32, book, secret.ok_or_else(not_made)?);
            let device = device.map_err(refused)?;
            greet(&device, &far)?;
            let met: Vec<_> = far.iter().map(|&slot| (slot as u32, self.nodes[slot].clone())).collect();
            tie.add(strangers::meet(Box::new(device), &met)?);
        }
        Ok(tie)
    }
}

/// Those that are waited for, and who is lost.
struct Greetings {
    missing: Lock<Vec<Node>>,
    loss: Lock<Option<String>>,
}

impl Handler for Greetings {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.missing.lock().retain(|&node| node != message.from);
        Placement::Taken
    }

    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}

    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}

    fn lost(&self, _peer: Node, reason: &str) {
        self.loss.lock().get_or_insert_with(|| reason.into());
    }
}

/// Sends a message to each of the others, and waits for one of each.
fn greet(device: &dyn Device, others: &[usize]) -> Result {
    let unreachable = |why: &str| {
        let text = format!("a process of the other side cannot be reached over the network: {why}");
        Error::new(MPI_ERR_PORT, text)
    };
    let others: Vec<Node> = others.iter().map(|&other| other as Node).collect();
    for &other in &others {
        let sent = device.send(other, Channel::PointToPoint, &[], &[]);
        sent.map_err(|refusal| unreachable(&refusal.to_string()))?;
    }
    let greetings = Greetings { missing: Lock::new(others), loss: Lock::default() };
    let until = Instant::now() + GREETING;
    loop {
        let moved = device.poll(&greetings);
        if greetings.missing.lock().is_empty() {
            return Ok(());
        }
        if let Some(loss) = &*greetings.loss.lock() {
            return Err(unreachable(loss));
        }
        if Instant::now() > until {
            return Err(unreachable("it does not answer"));
        }
        if !moved {
            device.sleep(GLANCE, &|| true);
        }
        // What the others wait for may be another rank's business here.
        weft_sched::yield_now();
    }
}

fn no_memory(error: std::io::Error) -> Error {
    system(MPI_ERR_INTERN, "memory for messages to the other side", &error)
}

fn not_made() -> Error {
    Error::new(MPI_ERR_INTERN, "another process has not made what a way to it needs; it says why")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(job: u64, node: u32, host: u64) -> NodeProcess {
        NodeProcess { job, node, ranks: vec![node], host, place: host }
    }

    fn partners(needs: &Needs, slot: usize) -> Vec<usize> {
        needs.partners(Own { slot, is_left: slot < needs.left }).collect()
    }

    #[test]
    fn a_way_is_made_where_one_of_two_does_not_know_the_other() {
        let sides = [vec![node(1, 0, 7), node(1, 1, 7)], vec![node(2, 0, 7), node(1, 1, 7)]];
        // The second left one is the second right one.
        let left_knows = [vec![true, true], vec![true, true]];
        let right_knows = [vec![true, false], vec![true, true]];
        let needs = Needs::new(sides.clone(), &left_knows, &right_knows).unwrap();
        assert!(needs.any() && !needs.any_between_hosts());
        let found: Vec<_> = (0..4).map(|slot| partners(&needs, slot)).collect();
        assert_eq!(found, [vec![], vec![2], vec![1], vec![]]);
        assert_eq!(needs.around(0), [1, 2]);
        assert!(Needs::new(sides, &left_knows[..1], &right_knows).is_none());
    }

    #[test]
    fn memory_is_made_on_each_host_and_a_network_between_them() {
        let sides = [vec![node(1, 0, 7), node(1, 1, 8)], vec![node(2, 0, 8), node(2, 1, 9), node(2, 2, 8)]];
        let needs = Needs::new(sides, &[vec![false; 3], vec![false; 3]], &vec![vec![false; 2]; 3]).unwrap();
        assert!(needs.any_between_hosts());
        assert_eq!(partners(&needs, 1), [2, 3, 4]);
        assert_eq!(partners(&needs, 3), [0, 1]);
        let around: Vec<_> = (0..5).map(|slot| needs.around(slot)).collect();
        assert_eq!(around, [vec![], vec![1, 2, 4], vec![1, 2, 4], vec![], vec![1, 2, 4]]);
    }
}
