//! A client that keeps what comes, in two kinds.

use crate::memory::{Collected, Memory, Wanted, fill};
use core::marker::PhantomData;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use weft_post::{Aside, Client, Costs, Credit, Header, Never, Nonsense, Offer, Post, Reception, Words};
use weft_transport::{Arriving, Channel, Handler, Node, Placement};

/// The longest note.
pub const MOST_NOTE: usize = 50;
/// How many tables of names a service has.
pub const TABLES: u32 = 3;

/// What a client is like.
pub trait Kind: Send + Sync + 'static {
    const CHANNEL: Channel;
    /// Whether it has messages in parts, memory that waits for them, and memory with gaps, and pays for messages without data; else it
    /// tells.
    const HAS_ALL: bool;
    type Aside: Aside;
    fn collected(aside: Self::Aside) -> Box<[u8]>;
}

/// A client as simple as can be.
pub struct Plain;

impl Kind for Plain {
    const CHANNEL: Channel = Channel::COLLECTIVE;
    const HAS_ALL: bool = false;
    type Aside = Never;

    fn collected(aside: Never) -> Box<[u8]> {
        match aside {}
    }
}

/// A client that needs everything.
pub struct Rich;

impl Kind for Rich {
    const CHANNEL: Channel = Channel::POINT_TO_POINT;
    const HAS_ALL: bool = true;
    type Aside = Collected;

    fn collected(aside: Collected) -> Box<[u8]> {
        aside.0
    }
}

/// A message that has arrived and is not used.
pub struct Kept {
    pub from: Node,
    pub number: u64,
    pub what: What,
}

pub enum What {
    Here(u64, Credit),
    Offer(Offer),
}

#[derive(Default)]
pub struct Records {
    /// By sender: how many have arrived.
    pub arrived: HashMap<Node, u64>,
    pub kept: Vec<Kept>,
    /// Messages that have been read or come to where they were wanted.
    pub filled: u64,
    /// Rooms that did not get what they were for.
    pub unfilled: u64,
    /// Messages that came aside, and to memory that waited for them.
    pub aside: u64,
    pub awaited: u64,
    /// Messages whose senders were told.
    pub sent: HashSet<(Node, u64)>,
    pub unsent: HashSet<(Node, u64)>,
    pub withdrawn: HashSet<(Node, u64)>,
    pub lost: Vec<Node>,
}

/// A client that keeps what comes until the test uses it.
pub struct Keeper<K: Kind> {
    pub me: Node,
    pub post: Post<Keeper<K>>,
    pub records: Mutex<Records>,
    pub alive: Arc<AtomicI64>,
    pub kind: PhantomData<K>,
}

impl<K: Kind> Keeper<K> {
    pub fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the next message of a peer has arrived.
    fn next(&self, from: Node, header: Words<'_>) -> Result<u64, Nonsense> {
        let [number, check] = header.rest::<2>().ok_or(Nonsense("words of nobody"))?;
        if check != !number || header.first != from {
            return Err(Nonsense("words that do not fit"));
        }
        let mut records = self.records();
        assert!(!records.lost.contains(&from), "a message of a lost peer");
        let next = records.arrived.entry(from).or_default();
        assert_eq!(number, *next, "order from {from} to {}", self.me);
        *next += 1;
        Ok(number)
    }

    fn keep_short(&self, from: Node, number: u64, data: &[u8], credit: Credit) {
        assert!(data == fill(from, self.me, number, data.len()), "message {number} of {from}");
        let what = What::Here(data.len() as u64, credit);
        self.records().kept.push(Kept { from, number, what });
    }
}

/// Returns the header of a message.
pub fn header(from: Node, number: u64) -> Header {
    Header::new(from, &[number, !number])
}

/// Returns what goes with an offer.
pub fn note(from: Node, to: Node, number: u64) -> &'static [u8] {
    fill(to, from, number, number as usize % MOST_NOTE)
}

impl<K: Kind> Client for Keeper<K> {
    type Data = Memory;
    type Room = Wanted;
    type Then = (Node, u64);
    type Aside = K::Aside;
    type Sections = ();

    const TELLS: bool = !K::HAS_ALL;
    const EMPTY_COSTS: bool = K::HAS_ALL;
    const MOST_NOTE: u64 = MOST_NOTE as u64;

    fn arrive(
        &self,
        from: Node,
        header: Words<'_>,
        data: &[u8],
        costs: Costs<'_, Self>,
    ) -> Result<Reception, Nonsense> {
        let number = self.next(from, header)?;
        self.keep_short(from, number, data, costs.credit());
        Ok(Reception::Taken)
    }

    fn offered(&self, from: Node, header: Words<'_>, offer: Offer, said: &[u8]) -> Result<(), Nonsense> {
        let number = self.next(from, header)?;
        assert!(said.is_empty() || said == note(from, self.me, number), "note of message {number}");
        self.records().kept.push(Kept { from, number, what: What::Offer(offer) });
        Ok(())
    }

    fn room_for(&self, from: Node, header: Words<'_>, bytes: u64) -> Result<Option<Wanted>, Nonsense> {
        let [number, _] = header.rest::<2>().ok_or(Nonsense("words of nobody"))?;
        if number % 3 > 0 {
            return Ok(None);
        }
        let number = self.next(from, header)?;
        // Sometimes there is less.
        let room = vec![0; (bytes - bytes * (number % 2) / 3) as usize];
        self.records().awaited += 1;
        let memory = Memory::new(room, false, number as u32 % TABLES, &self.alive);
        Ok(Some(Wanted { memory, from, number }))
    }

    fn arrive_aside(
        &self,
        from: Node,
        header: Words<'_>,
        aside: K::Aside,
        bytes: u64,
        credit: Credit,
    ) -> Result<(), Nonsense> {
        let number = self.next(from, header)?;
        let data = K::collected(aside);
        assert_eq!(data.len() as u64, bytes);
        self.keep_short(from, number, &data, credit);
        self.records().aside += 1;
        Ok(())
    }

    fn give_up_offer(&self, from: Node, word: u32, name: u64) -> Result<bool, Nonsense> {
        if word != 77 {
            return Err(Nonsense("a word of nobody"));
        }
        let mut records = self.records();
        let is_it = |kept: &Kept| matches!(&kept.what, What::Offer(offer) if kept.from == from && offer.name() == name);
        let place = records.kept.iter().position(is_it);
        place.into_iter().for_each(|place| _ = records.kept.swap_remove(place));
        Ok(place.is_some())
    }

    fn sent(&self, then: (Node, u64)) {
        assert!(self.records().sent.insert(then), "said twice");
    }

    fn withdrawn(&self, then: (Node, u64)) {
        assert!(self.records().withdrawn.insert(then), "said twice");
    }

    fn filled(&self, room: Wanted) {
        let Wanted { memory, from, number } = room;
        let data = fill(from, self.me, number, memory.of.bytes.len());
        assert!(memory.holds(data), "data of message {number} of {from}");
        self.records().filled += 1;
    }

    fn unsent(&self, then: (Node, u64)) {
        assert!(self.records().unsent.insert(then), "said twice");
    }

    fn unfilled(&self, room: Wanted, _why: Option<&str>) {
        drop(room);
        self.records().unfilled += 1;
    }

    fn lost(&self, peer: Node, _reason: &str) {
        self.records().lost.push(peer);
    }
}

impl<K: Kind> Handler for Keeper<K> {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.post.arrive(self, &message)
    }

    fn placed(&self, from: Node, _channel: Channel, token: u64) {
        self.post.placed(self, from, token);
    }

    fn sent(&self, _to: Node, _channel: Channel, token: u64) {
        self.post.sent(self, token);
    }

    fn lost(&self, peer: Node, reason: &str) {
        self.post.lost(self, peer, reason);
    }

    fn advance(&self) -> bool {
        self.post.advance(self)
    }

    fn is_idle(&self) -> bool {
        self.post.is_idle()
    }
}
