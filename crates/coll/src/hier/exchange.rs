//! The collective channel of a node process: messages of operations, credit, and large data that is asked for.
//!
//! A message names its communicator, its operation and its place in it, so nothing depends on the order in which messages
//! come. One that comes before its operation has begun here waits in a mailbox.
//!
//! # What may come early
//! Small data is sent at once while the sender has *credit* with the receiver: at most [`CREDIT`] bytes that the receiver
//! has not used yet. Whatever exceeds the device's eager size or the credit is *offered*: only a header travels, and the
//! receiver fetches the data when the operation has begun there, by reading the sender's memory where the device can,
//! else by naming memory of its own. So a node process holds a bounded number of bytes for operations it has not begun,
//! and nothing that waits for credit keeps anything else from going on.
//!
//! # Who must be here
//! What a sender has offered belongs to the exchange, not to the operation: where the receiver can read it without the
//! sender's help, a rank may leave its call and go on, with up to [`CREDIT`] bytes per peer. Else the operation is not over
//! before everything has left.
#![allow(unsafe_code)] // Hands memory to devices: each time it says who keeps it alive.

use super::bytes::{Building, Bytes};
use super::commons::{self, Commons};
use super::crossing::Crossing;
use super::shown::Shows;
use super::spread::Spread;
use super::wire::{EVERYBODY, Header, Kind, OperationKey};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use weft_sync::{Growing, Lock};
use weft_transport::{Arriving, Channel, Device, Handler, Node, Nodes, Placement, Refusal};

/// How many bytes a node process may have sent or offered to another beyond what that has used.
const CREDIT: u64 = 1 << 20;

/// In the token of an offer: the sender waits until it has been taken.
const HELD: u64 = 1;

fn is_awaited(header: &Header) -> bool {
    header.kind == Kind::Done && header.token & HELD != 0
}

/// What a message costs besides its payload.
const COST: u64 = 128;

/// The number of a communicator and of its members' places.
pub(crate) type TeamKey = (u32, u32);

/// What has come for an operation.
#[derive(Clone)]
pub(crate) enum Parcel {
    /// The cells; using them gives so much credit back.
    Here { data: Bytes, credit: u64 },
    /// They can be had.
    Offer { token: u64, address: u64, bytes: u64 },
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

/// A step that is finished when something has happened.
pub(crate) type Then = Option<(Arc<Crossing>, u32)>;

/// Something to send, until the device has taken it.
pub(super) struct Letter {
    pub to: Node,
    pub header: Header,
    pub payload: Payload,
    pub then: Then,
}

pub(super) enum Payload {
    None,
    Eager(Bytes),
    /// From memory that `offered` keeps under this token.
    Long(u64),
}

struct Offered {
    data: Bytes,
    to: Node,
    then: Then,
    /// Whether it has cost credit.
    within: bool,
}

struct Awaited {
    building: Building,
    crossing: Arc<Crossing>,
    step: u32,
}

#[derive(Default)]
struct Flow {
    /// What the peer has not said to have used.
    owed: u64,
    /// What has been used here and not been said.
    used: u64,
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
    nodes: &'static Nodes,
    hosts: Growing<u32>,
    pub(crate) teams: Lock<Teams>,
    flows: Growing<Lock<Flow>>,
    outbox: Lock<VecDeque<Letter>>,
    letters: AtomicUsize,
    /// Letters that peers may wait for, although no operation here does.
    debts: AtomicUsize,
    offered: Lock<HashMap<u64, Offered>>,
    awaited: Lock<HashMap<u64, Awaited>>,
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
            nodes,
            hosts: (0..count).map(host_of).collect(),
            teams: Lock::default(),
            flows: (0..count).map(|_| Lock::default()).collect(),
            outbox: Lock::default(),
            letters: AtomicUsize::new(0),
            debts: AtomicUsize::new(0),
            offered: Lock::default(),
            awaited: Lock::default(),
            restless: Lock::default(),
            commons: Commons::default(),
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
        self.nodes
    }

    /// Tells whether nothing is known of any communicator, and nothing waits to be sent or fetched.
    pub fn is_empty(&self) -> bool {
        let teams = self.teams.lock();
        let letters = self.letters.load(Ordering::Relaxed);
        teams.known.is_empty()
            && teams.early.is_empty()
            && letters == 0
            && self.offered.lock().is_empty()
            && self.awaited.lock().is_empty()
    }

    /// Says who gets the words that others send with [`Exchange::note`]. It neither waits nor polls.
    pub fn take_notes(&self, take: fn(u64)) {
        let _ = self.notes.set(take);
    }

    /// Sends a word to the layer above on another node process. Waits for nobody.
    pub fn note(&self, to: Node, word: u64) {
        self.tell(to, Header { token: word, ..plain(Kind::Note) });
    }

    pub(crate) fn host(&self, node: Node) -> u32 {
        self.hosts[node as usize]
    }

    pub(super) fn token(&self) -> u64 {
        2 * self.tokens.fetch_add(1, Ordering::Relaxed)
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
        self.debts.load(Ordering::Relaxed) > 0
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
                self.nodes.sleep(NAP, &|| true);
            }
        }
    }

    /// Sends cells of an operation. Returns whether the step is over with that; else `then` is, later.
    pub(crate) fn send(&self, to: Node, header: Header, data: Bytes, then: (Arc<Crossing>, u32)) -> bool {
        let device = self.nodes.device();
        if to == device.node() {
            let parcel = Parcel::Here { data, credit: 0 };
            self.deliver(Message { from: to, header, parcel });
            return true;
        }
        let capabilities = device.capabilities(to);
        let cost = data.len() as u64 + COST;
        let within = {
            let mut flow = self.flows[to as usize].lock();
            let within = flow.owed + cost <= CREDIT || data.len() == 0;
            if within {
                flow.owed += cost;
            }
            within
        };
        if data.len() <= capabilities.eager && within {
            let header = Header { kind: Kind::Eager, ..header };
            let letter = Letter { to, header, payload: Payload::Eager(data), then: Some(then) };
            return self.post(letter);
        }
        let is_free = within && capabilities.remote_read;
        let token = self.token() | if is_free { 0 } else { HELD };
        let address = if capabilities.remote_read { data.address().expose_provenance() as u64 } else { 0 };
        let header = Header { kind: Kind::Offer, token, address, ..header };
        // Who can be read without its help may leave; what it owes is paid back when it has been read.
        let (offer, letter) = if is_free { (None, Some(then)) } else { (Some(then), None) };
        self.offered.lock().insert(token, Offered { data, to, then: offer, within });
        self.post(Letter { to, header, payload: Payload::None, then: letter }) && is_free
    }

    /// Sends a header.
    pub(crate) fn tell(&self, to: Node, header: Header) {
        self.post(Letter { to, header, payload: Payload::None, then: None });
    }

    /// Sends a letter after all that waits to be sent.
    pub(super) fn post_behind(&self, letter: Letter) {
        if self.letters.load(Ordering::Relaxed) == 0 {
            self.post(letter);
        } else {
            self.letters.fetch_add(1, Ordering::Relaxed);
            self.outbox.lock().push_back(letter);
        }
    }

    /// Sends a letter now or later; returns whether it has left.
    fn post(&self, letter: Letter) -> bool {
        match self.try_post(&letter) {
            Ok(()) => true,
            Err(Refusal::Full) => {
                self.letters.fetch_add(1, Ordering::Relaxed);
                self.outbox.lock().push_back(letter);
                false
            }
            Err(Refusal::Lost { .. }) => true,
        }
    }

    fn try_post(&self, letter: &Letter) -> Result<(), Refusal> {
        let device = self.nodes.device();
        let header = letter.header.encode();
        match &letter.payload {
            Payload::None => device.send(letter.to, Channel::COLLECTIVE, &header, &[]),
            Payload::Eager(data) => device.send(letter.to, Channel::COLLECTIVE, &header, data.as_slice()),
            Payload::Long(token) => {
                let (address, bytes) = match self.offered.lock().get(token) {
                    Some(offered) => (offered.data.address(), offered.data.len() as u64),
                    None => return Ok(()),
                };
                // SAFETY: the data stays in `offered`, unchanged, until `sent` (or the loss of the peer) takes it out.
                unsafe { device.start(letter.to, Channel::COLLECTIVE, &header, address, bytes, *token) }
            }
        }
    }

    /// Tries again what the device has refused.
    #[inline(never)]
    fn flush(&self) -> bool {
        let mut moved = false;
        let waiting = core::mem::take(&mut *self.outbox.lock());
        let mut full: Vec<Node> = Vec::new();
        let mut rest = VecDeque::new();
        for letter in waiting {
            if full.contains(&letter.to) {
                rest.push_back(letter);
                continue;
            }
            match self.try_post(&letter) {
                Err(Refusal::Full) => {
                    full.push(letter.to);
                    rest.push_back(letter);
                }
                Ok(()) | Err(Refusal::Lost { .. }) => {
                    self.letters.fetch_sub(1, Ordering::Relaxed);
                    if is_awaited(&letter.header) {
                        self.debts.fetch_sub(1, Ordering::Relaxed);
                    }
                    moved = true;
                    if let Some((crossing, step)) = letter.then {
                        crossing.finished(step);
                    }
                }
            }
        }
        if !rest.is_empty() {
            let mut outbox = self.outbox.lock();
            while let Some(letter) = rest.pop_back() {
                outbox.push_front(letter);
            }
        }
        moved
    }

    /// Notes that an eager message has been used.
    pub(crate) fn used(&self, from: Node, credit: u64) {
        if credit == 0 {
            return;
        }
        let due = {
            let mut flow = self.flows[from as usize].lock();
            flow.used += credit;
            if flow.used >= CREDIT / 4 { core::mem::take(&mut flow.used) } else { 0 }
        };
        if due > 0 {
            self.tell(from, Header { bytes: due, ..plain(Kind::Credit) });
        }
    }

    /// Asks for what was offered: into memory of this node process.
    pub(crate) fn fetch(&self, from: Node, token: u64, bytes: u64, crossing: Arc<Crossing>, step: u32) {
        let mine = self.token();
        let building = Building::new(bytes as usize);
        self.awaited.lock().insert(mine, Awaited { building, crossing, step });
        self.tell(from, Header { token, address: mine, ..plain(Kind::Ready) });
    }

    /// Reads what was offered from the peer's memory.
    ///
    /// # Errors
    /// The device's reason.
    pub(crate) fn read(&self, from: Node, token: u64, address: u64, bytes: u64) -> Result<Bytes, Refusal> {
        let mut building = Building::new(bytes as usize);
        // SAFETY: memory of that size that nobody else knows.
        let result = unsafe { self.nodes.device().read(from, address, building.address(), bytes) };
        self.done_with(from, token);
        result.map(|()| building.finish())
    }

    /// Tells who offered something that it is not needed any more.
    fn done_with(&self, from: Node, token: u64) {
        let header = Header { token, ..plain(Kind::Done) };
        if !self.post(Letter { to: from, header, payload: Payload::None, then: None }) && is_awaited(&header)
        {
            // The sender waits for it; nobody leaves before it is out.
            self.debts.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Lets go of a message that nobody will use: its sender gets credit and memory back.
    pub(crate) fn discard(&self, message: Message) {
        match message.parcel {
            Parcel::Here { credit, .. } => self.used(message.from, credit),
            Parcel::Offer { token, .. } => self.done_with(message.from, token),
            Parcel::Abort | Parcel::Common(_) => {}
        }
    }

    /// Forgets what was offered and used by now.
    fn settle(&self, token: u64) {
        let Some(offered) = self.offered.lock().remove(&token) else { return };
        if offered.within {
            self.pay_back(offered.to, offered.data.len() as u64 + COST);
        }
        if let Some((crossing, step)) = offered.then {
            crossing.finished(step);
        }
    }

    fn pay_back(&self, node: Node, bytes: u64) {
        let mut flow = self.flows[node as usize].lock();
        flow.owed = flow.owed.saturating_sub(bytes);
    }

    fn deliver(&self, message: Message) {
        let team = message.header.team;
        let spread: Option<Arc<Spread>> = {
            let mut teams = self.teams.lock();
            if let Parcel::Common(token) = message.parcel {
                let unheard = (team, message.from);
                if let Some(place) = teams.unheard.iter().position(|&of| of == unheard) {
                    teams.unheard.swap_remove(place);
                    return commons::leave(self, message.from, token);
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
        bytes: 0,
        token: 0,
        address: 0,
        call: 0,
        shape: 0,
    }
}

impl Handler for Exchange {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        let from = message.from;
        let Some(header) = Header::decode(message.header) else { return Placement::Taken };
        match header.kind {
            Kind::Eager => {
                let data = Bytes::from(message.present);
                let parcel = Parcel::Here { credit: data.len() as u64 + COST, data };
                self.deliver(Message { from, header, parcel });
            }
            Kind::Offer => {
                let Header { token, address, bytes, .. } = header;
                self.deliver(Message { from, header, parcel: Parcel::Offer { token, address, bytes } });
            }
            Kind::Common => {
                let parcel = Parcel::Common(header.token);
                self.deliver(Message { from, header, parcel });
            }
            Kind::Abort => self.deliver(Message { from, header, parcel: Parcel::Abort }),
            Kind::Ready => {
                let token = header.token;
                let header = Header { token: header.address, ..plain(Kind::Placed) };
                self.post(Letter { to: from, header, payload: Payload::Long(token), then: None });
            }
            Kind::Placed => {
                let mut awaited = self.awaited.lock();
                if let Some(place) = awaited.get_mut(&header.token) {
                    let address = place.building.address();
                    let capacity = place.building.as_mut_slice().len() as u64;
                    return Placement::Memory { address, capacity, token: header.token };
                }
            }
            Kind::Done => self.settle(header.token),
            Kind::Credit => self.pay_back(from, header.bytes),
            Kind::Note => {
                if let Some(take) = self.notes.get() {
                    take(header.token);
                }
            }
            Kind::Shown => self.take_shown(from, &header, message.present),
            Kind::Ask => self.answer(from, header.token),
            Kind::Answer => self.take_answer(header.token),
        }
        Placement::Taken
    }

    fn placed(&self, _from: Node, _channel: Channel, token: u64) {
        let awaited = self.awaited.lock().remove(&token);
        if let Some(Awaited { building, crossing, step }) = awaited {
            crossing.fetched(step, building.finish());
        }
    }

    fn sent(&self, _to: Node, _channel: Channel, token: u64) {
        self.settle(token);
    }

    fn joined(&self, begin: Node, hosts: &[u32]) {
        assert_eq!(self.hosts.len(), begin as usize, "node processes join one after the other");
        for &host in hosts {
            self.flows.push(Lock::default());
            self.hosts.push(host);
        }
    }

    fn lost(&self, peer: Node, reason: &str) {
        self.lost.lock().insert(peer, reason.to_owned());
        self.any_lost.store(true, Ordering::Release);
        let mut gone = Vec::new();
        self.outbox.lock().retain_mut(|letter| {
            if letter.to == peer {
                if is_awaited(&letter.header) {
                    self.debts.fetch_sub(1, Ordering::Relaxed);
                }
                gone.push(letter.then.take());
            }
            letter.to != peer
        });
        self.letters.fetch_sub(gone.len(), Ordering::Relaxed);
        {
            let mut offered = self.offered.lock();
            let tokens: Vec<u64> = offered.iter().filter(|(_, o)| o.to == peer).map(|(&t, _)| t).collect();
            gone.extend(tokens.iter().filter_map(|token| offered.remove(token)).map(|o| o.then));
        }
        drop(gone);
        let teams: Vec<Arc<Spread>> =
            self.teams.lock().known.values().map(|entry| entry.spread.clone()).collect();
        teams.iter().for_each(|spread| spread.lost(peer, reason));
    }

    fn advance(&self) -> bool {
        // Asked at every poll; mostly there is nothing.
        let mut moved = self.letters.load(Ordering::Relaxed) != 0 && self.flush();
        moved |= self.has_restless.load(Ordering::Relaxed) && self.help();
        self.commons.hear() | moved
    }

    fn has_come(&self) -> bool {
        self.commons.has_come()
    }

    fn is_idle(&self) -> bool {
        self.letters.load(Ordering::Relaxed) == 0 && self.restless.lock().is_empty()
    }
}
