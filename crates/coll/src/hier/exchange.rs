//! The collective channel of a node process: messages of operations, by the [post](weft_post).
//!
//! A message names its communicator, its operation and its place in it, so nothing depends on the order in which messages
//! come. One that comes before its operation has begun here waits in a mailbox.
//!
//! # What may come early
//! Small data comes at once, up to [`Limits::there`] bytes per peer that have not been used here; all other data is offered, and
//! fetched when the operation has begun. So a node process holds a bounded number of bytes for operations it has not begun.
//!
//! # Who must be here
//! What a sender has offered belongs to the post, not to the operation: where the receiver can read it without the
//! sender's help, a rank may leave its call and go on, with up to [`Limits::lent`] bytes per peer. Else the operation is not over
//! before everything has left.
#![allow(unsafe_code)] // Promises that memory stays where it is.

use super::bytes::{Building, Bytes};
use super::commons::{self, Commons};
use super::crossing::Crossing;
use super::shown::Shows;
use super::spread::Spread;
use super::wire::{EVERYBODY, Header, Kind, OperationKey};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use weft_post::{
    Client, Costs, Credit, Data, Limits, Never, Nonsense, Offer, Place, Post, Reception, Room, Words,
};
use weft_sync::{Growing, Lock};
use weft_transport::{Arriving, Channel, Device, Handler, Node, Nodes, Placement, Refusal};

/// How many bytes a node process may have sent to another beyond what that has used, and how many it may have lent.
const LIMITS: Limits = Limits { there: 1 << 20, here: 1 << 20, lent: 1 << 20, short: u64::MAX, note: 0 };

/// The number of a communicator and of its members' places.
pub(crate) type TeamKey = (u32, u32);

/// What has come for an operation.
#[derive(Clone)]
pub(crate) enum Parcel {
    /// The cells, and what is given back when they are used.
    Here(Bytes, Credit),
    /// They can be had.
    Offer(Offer),
    /// The operation has failed there.
    Abort,
    /// Where the communicator's ranks meet: see [`Kind::Common`].
    Common(u64),
}

/// A message of an operation.
#[derive(Clone)]
pub(crate) struct Message {
    pub from: Node,
    pub header: Header,
    pub parcel: Parcel,
}

/// The step of an operation that is over when its data has been sent.
pub struct Then(Arc<Crossing>, u32);

/// Where a step's data is to come.
pub struct Awaited {
    building: Building,
    crossing: Arc<Crossing>,
    step: u32,
}

// SAFETY: nobody changes bytes, and they stay where they are as long as a value that shares them is there.
unsafe impl Data for Bytes {
    fn place(&self) -> Place {
        Place::Block(Self::address(self).cast_mut())
    }

    fn bytes(&self) -> u64 {
        self.len() as u64
    }
}

// SAFETY: the memory is the value's alone, on the heap, and stays as long as that.
unsafe impl Room for Building {
    fn place(&mut self) -> Place {
        Place::Block(Self::address(self))
    }

    fn bytes(&self) -> u64 {
        self.len() as u64
    }
}

// SAFETY: as its memory does.
unsafe impl Room for Awaited {
    fn place(&mut self) -> Place {
        Place::Block(self.building.address())
    }

    fn bytes(&self) -> u64 {
        self.building.len() as u64
    }
}

#[derive(Default)]
pub(crate) struct Teams {
    pub known: HashMap<TeamKey, super::spread::Entry>,
    /// Messages for communicators that no rank here has joined.
    pub early: HashMap<TeamKey, Vec<Message>>,
    /// Those that all ranks here have left lately: what still comes for them is of operations that failed.
    pub left: VecDeque<TeamKey>,
    /// Those that were left before it was heard from this node process where they meet.
    pub unheard: Vec<(TeamKey, Node)>,
}

/// The collective operations of a node process with others.
pub struct Exchange {
    post: Post<Self>,
    hosts: Growing<u32>,
    pub(crate) teams: Lock<Teams>,
    /// Operations with something to do and nobody who waits for them.
    restless: Lock<Vec<Arc<Crossing>>>,
    /// What ranks show each other in checking mode.
    pub(super) shows: Shows,
    /// Node processes from this one on are of other jobs.
    pub(super) of_job: Node,
    /// What this process has given of its commons, and where ranks here sleep in anybody's.
    pub(crate) commons: Commons,
    /// Whether there are some, for a look without the lock: at each poll.
    has_restless: AtomicBool,
    tokens: AtomicU64,
    notes: OnceLock<fn(u64)>,
    pub(crate) lost: Lock<HashMap<Node, String>>,
    any_lost: AtomicBool,
}

impl Exchange {
    /// Begins to serve the collective channel of a node process, for its lifetime. `host_of` gives node processes of one
    /// host the same number.
    ///
    /// # Panics
    /// If the channel is served already.
    pub fn serve(nodes: &'static Nodes, host_of: impl Fn(Node) -> u32) -> &'static Self {
        let count = nodes.device().nodes();
        let exchange = Box::leak(Box::new(Self {
            post: Post::new(nodes, Channel::COLLECTIVE, 1, |_| LIMITS),
            hosts: (0..count).map(host_of).collect(),
            teams: Lock::default(),
            restless: Lock::default(),
            commons: Commons::new(nodes),
            shows: Shows::default(),
            of_job: count,
            has_restless: AtomicBool::new(false),
            tokens: AtomicU64::new(1),
            notes: OnceLock::new(),
            lost: Lock::default(),
            any_lost: AtomicBool::new(false),
        }));
        nodes.serve(Channel::COLLECTIVE, exchange);
        exchange
    }

    /// Returns the way to the other node processes.
    pub fn nodes(&self) -> &'static Nodes {
        self.post.nodes()
    }

    /// Tells whether nothing is known of any communicator, and nothing waits to be sent or fetched.
    pub fn is_empty(&self) -> bool {
        let teams = self.teams.lock();
        teams.known.is_empty() && teams.early.is_empty() && self.post.is_empty()
    }

    /// Says who gets the words that others send with [`Exchange::note`]. It neither waits nor polls.
    pub fn take_notes(&self, take: fn(u64)) {
        let _ = self.notes.set(take);
    }

    /// Sends a word to the layer above on another node process. Waits for nobody.
    pub fn note(&self, to: Node, word: u64) {
        self.tell(to, Header { key: word, ..plain(Kind::Note) });
    }

    pub(crate) fn host(&self, node: Node) -> u32 {
        self.hosts[node as usize]
    }

    pub(super) fn token(&self) -> u64 {
        self.tokens.fetch_add(1, Ordering::Relaxed)
    }

    /// Leaves an operation to whoever polls.
    pub(crate) fn ask_for_help(&self, crossing: Arc<Crossing>) {
        let mut restless = self.restless.lock();
        restless.push(crossing);
        self.has_restless.store(true, Ordering::Relaxed);
    }

    #[inline(never)]
    fn help(&self) -> bool {
        let restless = {
            let mut restless = self.restless.lock();
            self.has_restless.store(false, Ordering::Relaxed);
            core::mem::take(&mut *restless)
        };
        restless.iter().for_each(Crossing::help);
        !restless.is_empty()
    }

    /// Tells whether a peer may wait for something that the device has refused so far.
    pub(crate) fn has_debts(&self) -> bool {
        self.post.has_debts()
    }

    /// Waits until `done`, which looks at what has arrived; for processes in which nobody polls for those who are parked.
    pub(crate) fn wait(&self, mut done: impl FnMut() -> bool) {
        let mut looks = 0u32;
        while !done() {
            let gave_way = weft_sched::yield_now();
            looks += 1;
            if looks < PATIENCE {
                if !gave_way {
                    core::hint::spin_loop();
                }
            } else {
                self.nodes().sleep(NAP, &|| true);
            }
        }
    }

    /// Sends cells of an operation. Returns whether the step is over with that; else it is finished later.
    pub(crate) fn send(
        &self,
        to: Node,
        header: Header,
        data: Bytes,
        crossing: &Arc<Crossing>,
        step: u32,
    ) -> bool {
        if to == self.nodes().node() {
            let parcel = Parcel::Here(data, Credit::default());
            self.deliver(Message { from: to, header, parcel });
            return true;
        }
        self.post.send(self, to, header.encode(), data, Then(crossing.clone(), step))
    }

    /// Sends a header.
    pub(crate) fn tell(&self, to: Node, header: Header) {
        self.post.tell(self, to, header.encode(), None);
    }

    /// Sends a header with data that costs no credit.
    pub(super) fn show(&self, to: Node, header: Header, data: &[u8]) {
        self.post.tell(self, to, header.encode(), Some(data.into()));
    }

    /// Notes that data which has come has been used.
    pub(crate) fn used(&self, from: Node, credit: Credit) {
        self.post.used(self, from, credit);
    }

    /// Asks for what was offered: into memory of this node process.
    pub(crate) fn fetch(&self, from: Node, offer: &Offer, crossing: Arc<Crossing>, step: u32) {
        let building = Building::new(offer.bytes() as usize);
        self.post.ask(self, from, offer, Awaited { building, crossing, step });
    }

    /// Reads what was offered from the peer's memory.
    ///
    /// # Errors
    /// The device's reason.
    pub(crate) fn read(&self, from: Node, offer: &Offer) -> Result<Bytes, Refusal> {
        let mut building = Building::new(offer.bytes() as usize);
        self.post.read(self, from, offer, &mut building).map(|()| building.finish())
    }

    /// Lets go of a message that nobody will use: its sender gets credit and memory back.
    pub(crate) fn discard(&self, message: Message) {
        match message.parcel {
            Parcel::Here(_, credit) => self.used(message.from, credit),
            Parcel::Offer(offer) => self.post.decline(self, message.from, &offer),
            Parcel::Abort | Parcel::Common(_) => {}
        }
    }

    fn deliver(&self, message: Message) {
        let team = message.header.team;
        let spread: Option<Arc<Spread>> = {
            let mut teams = self.teams.lock();
            if let Parcel::Common(token) = message.parcel {
                let unheard = (team, message.from);
                if let Some(place) = teams.unheard.iter().position(|&of| of == unheard) {
                    teams.unheard.swap_remove(place);
                    return commons::leave(self.nodes(), message.from, token);
                }
                let known = teams.known.get(&team).map(|entry| entry.spread.clone());
                let spread = known.filter(|spread| spread.awaits_common_of(message.from));
                let Some(spread) = spread else { return teams.early.entry(team).or_default().push(message) };
                drop(teams);
                return spread.set_common(token);
            }
            match teams.known.get(&team) {
                Some(entry) => Some(entry.spread.clone()),
                None if teams.left.contains(&team) => None,
                None => return teams.early.entry(team).or_default().push(message),
            }
        };
        match spread {
            Some(spread) => spread.deliver(message),
            None => self.discard(message),
        }
    }

    /// Returns why a node process cannot be reached any more, if that is so.
    pub(crate) fn loss(&self, node: Node) -> Option<String> {
        if !self.any_lost.load(Ordering::Acquire) {
            return None;
        }
        self.lost.lock().get(&node).cloned()
    }
}

/// How often a rank looks before it sleeps.
const PATIENCE: u32 = 4000;
/// How long it sleeps at most: other ranks of its worker wait meanwhile.
const NAP: Duration = Duration::from_micros(200);

pub(crate) fn plain(kind: Kind) -> Header {
    Header {
        kind,
        team: (0, 0),
        operation: OperationKey { number: 0, start: 0, member: EVERYBODY },
        key: 0,
        call: 0,
        shape: 0,
    }
}

impl Client for Exchange {
    type Data = Bytes;
    type Room = Awaited;
    type Then = Then;

    type Aside = Never;
    type Sections = ();

    const TELLS: bool = true;
    // An operation's messages without data are as many as its steps.
    const EMPTY_COSTS: bool = false;

    fn arrive(
        &self,
        from: Node,
        header: Words<'_>,
        data: &[u8],
        costs: Costs<'_, Self>,
    ) -> Result<Reception, Nonsense> {
        let header = Header::decode(header).ok_or(Nonsense("a header of no operation"))?;
        let parcel = match header.kind {
            Kind::Data => Some(Parcel::Here(data.into(), costs.credit())),
            Kind::Abort => Some(Parcel::Abort),
            Kind::Common => Some(Parcel::Common(header.key)),
            Kind::Note => {
                self.notes.get().into_iter().for_each(|take| take(header.key));
                None
            }
            Kind::Shown => {
                self.take_shown(from, &header, data);
                None
            }
            Kind::Ask => {
                self.answer(from, header.key);
                None
            }
            Kind::Answer => {
                self.take_answer(header.key);
                None
            }
        };
        parcel.into_iter().for_each(|parcel| self.deliver(Message { from, header, parcel }));
        Ok(Reception::Taken)
    }

    fn offered(&self, from: Node, header: Words<'_>, offer: Offer, _note: &[u8]) -> Result<(), Nonsense> {
        let header = Header::decode(header).filter(|header| header.kind == Kind::Data);
        let header = header.ok_or(Nonsense("an offer of no operation"))?;
        self.deliver(Message { from, header, parcel: Parcel::Offer(offer) });
        Ok(())
    }

    fn sent(&self, Then(crossing, step): Then) {
        crossing.finished(step);
    }

    fn filled(&self, Awaited { building, crossing, step }: Awaited) {
        crossing.fetched(step, building.finish());
    }

    fn lost(&self, peer: Node, reason: &str) {
        self.lost.lock().insert(peer, reason.to_owned());
        self.any_lost.store(true, Ordering::Release);
        let teams: Vec<Arc<Spread>> =
            self.teams.lock().known.values().map(|entry| entry.spread.clone()).collect();
        teams.iter().for_each(|spread| spread.lost(peer, reason));
    }
}

impl Handler for Exchange {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.post.arrive(self, &message)
    }

    fn placed(&self, from: Node, _channel: Channel, token: u64) {
        self.post.placed(self, from, token);
    }

    fn sent(&self, _to: Node, _channel: Channel, token: u64) {
        self.post.sent(self, token);
    }

    fn joined(&self, begin: Node, hosts: &[u32]) {
        self.post.join(begin, hosts.len() as u32, &LIMITS);
        hosts.iter().for_each(|&host| _ = self.hosts.push(host));
    }

    fn lost(&self, peer: Node, reason: &str) {
        self.post.lost(self, peer, reason);
    }

    fn advance(&self) -> bool {
        // Asked at every poll; mostly there is nothing.
        let mut moved = self.post.advance(self);
        moved |= self.has_restless.load(Ordering::Relaxed) && self.help();
        self.commons.sleepers.hear() | moved
    }

    fn has_come(&self) -> bool {
        self.commons.sleepers.has_come()
    }

    fn is_idle(&self) -> bool {
        self.post.is_idle() && self.restless.lock().is_empty()
    }
}
