//! The active messages of a node process: what leaves, and whom what arrives is for.
#![allow(unsafe_code)] // Reads data that is lent to be sent, of which its source says that it is there.

use crate::batch::{self, Message};
use crate::memory::{Landing, Source, Then};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use weft_post::{
    Client, Costs, Credit, Data, Header, Limits, MOST_WORDS, Never, Nonsense, Offer, Place, Post, Reception,
    Words,
};
use weft_sync::{CachePadded, Growing, Lock};
use weft_transport::{Arriving, Channel, Device, Handler, Node, Nodes, Placement};

/// In place of a service's number: the data is a batch of messages.
const BATCH: u32 = 0xff;

/// The longest head of a message that is sent: it may go beside an offer, and every device takes so much.
pub const LONGEST_HEAD: usize = 512;
/// The longest data that is told, and that is sent without an offer.
const LONGEST: usize = 32 << 10;
/// How long a batch becomes at most, and what is left alone in it.
const BATCHES: usize = 4 << 10;
const SMALL: usize = 512;

/// How often a thread that waits for room looks before it sleeps, and how long it sleeps at most.
const PATIENCE: u32 = 1000;
const NAP: Duration = Duration::from_micros(200);

const LIMITS: Limits = Limits { there: 1 << 20, here: 1 << 20, lent: 0, short: LONGEST as u64, note: 0 };

/// A message that was sent and is kept.
#[derive(Debug)]
pub struct Arrival {
    /// Who sent it.
    pub from: Node,
    words: [u64; MOST_WORDS],
    count: usize,
    /// What is in it.
    pub contents: Contents,
}

impl Arrival {
    /// Returns its words.
    pub fn words(&self) -> &[u64] {
        &self.words[..self.count]
    }
}

/// What is in a message that was sent.
#[derive(Debug)]
pub enum Contents {
    /// Its head and then its data, and what is [given back](Active::used) when both have been used.
    Here(Box<[u8]>, Credit),
    /// Its head; and its data, which is to be [fetched](Active::fetch).
    Offered(Box<[u8]>, Offer),
}

/// Whom messages are for. Its functions neither wait nor poll; any may tell and send, but [`Service::lost`].
pub trait Service: Sync {
    /// Hears a message that was told, with what goes in 24 bits of its own.
    ///
    /// # Errors
    /// No peer of ours tells this; so the peer is lost.
    fn told(&self, active: &Active, from: Node, kind: u32, message: Message<'_>) -> Result<(), Nonsense>;

    /// Takes a message that was sent.
    ///
    /// # Errors
    /// As [`Service::told`].
    fn arrived(&self, active: &Active, kind: u32, message: Arrival) -> Result<(), Nonsense>;

    /// A peer is lost. What is under way with it comes to its end afterwards.
    fn lost(&self, active: &Active, peer: Node, reason: &str);
}

/// When a message that is told goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// At once, with all that waits.
    Now,
    /// When its sender [says so](Active::push), when much waits, or with the next poll of any thread.
    Later,
}

/// What waits to go together to a peer.
#[derive(Default)]
struct Gathered {
    batch: Vec<u8>,
}

/// To whom something has begun to be gathered.
#[derive(Default)]
struct Waiting {
    any: AtomicBool,
    peers: Lock<Vec<Node>>,
}

impl Waiting {
    fn add(&self, peer: Node) {
        self.peers.lock().push(peer);
        self.any.store(true, Ordering::Release);
    }

    fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }

    fn take(&self) -> Vec<Node> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut peers = self.peers.lock();
        self.any.store(false, Ordering::Relaxed);
        core::mem::take(&mut peers)
    }
}

/// The active messages of a node process.
pub struct Active {
    post: Post<Self>,
    services: &'static [&'static dyn Service],
    gathered: Growing<CachePadded<Lock<Gathered>>>,
    /// To whom something waits to go together. Who has begun to gather puts the peer here, and who polls takes all.
    waiting: Waiting,
    lost: Lock<HashMap<Node, String>>,
    any_lost: AtomicBool,
}

impl Active {
    /// Begins to serve the channel of active messages of a node process, if it is not served; the services are those with the numbers
    /// from 0 on. Passes what serves it to `keep` before anything is heard.
    pub fn serve(
        nodes: &'static Nodes,
        services: &'static [&'static dyn Service],
        keep: impl FnOnce(&'static Self),
    ) {
        nodes.begin_to_serve(Channel::ACTIVE, || {
            let count = nodes.device().nodes();
            let active: &'static Self = Box::leak(Box::new(Self {
                post: Post::new(nodes, Channel::ACTIVE, 1, |_| LIMITS),
                services,
                gathered: (0..count).map(|_| CachePadded::default()).collect(),
                waiting: Waiting::default(),
                lost: Lock::default(),
                any_lost: AtomicBool::new(false),
            }));
            keep(active);
            active
        });
    }

    /// Returns the way to the other node processes.
    pub fn nodes(&self) -> &'static Nodes {
        self.post.nodes()
    }

    /// Returns the longest data that may be told to a peer.
    pub fn longest(&self, to: Node) -> usize {
        self.nodes().device().capabilities(to).eager.min(LONGEST)
    }

    /// Tells a peer's service something: a kind of 24 bits, words, and data of at most [`Active::longest`] bytes.
    ///
    /// # Panics
    /// If there are more words than seven.
    pub fn tell(&self, to: Node, service: usize, kind: u32, message: Message<'_>, when: When) {
        let first = service as u32 | kind << 8;
        let Message { words, data } = message;
        let length = batch::length(words.len(), data.len());
        // Held until all has been sent, so that nobody overtakes what was there before.
        let mut gathered = self.gathered[to as usize].lock();
        let most = BATCHES.min(self.longest(to));
        let is_small = length <= SMALL.min(most);
        if is_small && gathered.batch.len() + length > most {
            self.send_batch(to, &mut gathered);
        }
        if is_small && (when == When::Later || !gathered.batch.is_empty()) {
            let begins = gathered.batch.is_empty();
            batch::add(&mut gathered.batch, first, words, data);
            if when == When::Now {
                self.send_batch(to, &mut gathered);
            } else if begins {
                self.waiting.add(to);
            }
            return;
        }
        self.send_batch(to, &mut gathered);
        let data = if data.is_empty() { None } else { Some(Source::Own(data.into())) };
        self.post.tell(self, to, Header::new(first, words), data);
    }

    /// Sends what waits to go together to a peer.
    pub fn push(&self, to: Node) {
        let mut gathered = self.gathered[to as usize].lock();
        self.send_batch(to, &mut gathered);
    }

    fn send_batch(&self, to: Node, gathered: &mut Gathered) {
        if !gathered.batch.is_empty() {
            let batch = Source::Own(core::mem::take(&mut gathered.batch).into());
            self.post.tell(self, to, Header::new(BATCH, &[]), Some(batch));
        }
    }

    /// Tells whether what was told or sent to a peer waits for room: then whoever is not called by a poll waits.
    #[inline]
    pub fn is_behind(&self, to: Node) -> bool {
        self.post.is_behind(to)
    }

    /// Waits while a peer is behind, and does something again and again meanwhile. Not for who is called by a poll.
    pub fn await_room(&self, to: Node, mut meanwhile: impl FnMut()) {
        let mut looks = 0;
        while self.is_behind(to) {
            meanwhile();
            if self.nodes().poll() {
                looks = 0;
                continue;
            }
            looks += 1;
            let gave_way = weft_sched::yield_now();
            if looks >= PATIENCE {
                self.nodes().sleep(NAP, &|| true);
            } else if !gave_way {
                core::hint::spin_loop();
            }
        }
    }

    /// Sends a peer's service a message, which the service keeps: a kind of 24 bits, words, a head, and data. `then` is called when
    /// the data is not needed any more, perhaps before this returns, or when it will never get there. It tells nobody anything.
    ///
    /// # Panics
    /// If there are more words than seven, or the head is longer than [`LONGEST_HEAD`].
    pub fn send(
        &self,
        to: Node,
        service: usize,
        kind: u32,
        words: &[u64],
        head: &[u8],
        data: Source,
        then: impl FnOnce(Result<(), String>) + Send + 'static,
    ) {
        assert!(head.len() <= LONGEST_HEAD, "a head of {} bytes", head.len());
        self.push(to);
        let mut header = Header::new(service as u32 | kind << 8, words);
        let towards = self.post.towards(to);
        let bytes = head.len() as u64 + data.bytes();
        if bytes > towards.short() || !towards.takes_credit(bytes, 0) {
            let then: Then = Box::new(then);
            let goes_on = self.post.offer(self, to, header, data, head, then);
            debug_assert!(!goes_on, "nothing is lent to who need not be waited for");
            return;
        }
        let all = joined(head, &data);
        let permit = towards.permit(bytes, 0);
        match permit.send(&mut header, &all) {
            Ok(()) => then(Ok(())),
            Err(weft_transport::Refusal::Full) => {
                // The data is ours now.
                permit.later(self, &header, Source::Own(all.into()), Box::new(|_| ()));
                then(Ok(()));
            }
            Err(weft_transport::Refusal::Lost { reason }) => then(Err(reason)),
        }
    }

    /// Gives back what a kept message has cost.
    pub fn used(&self, from: Node, credit: Credit) {
        self.post.used(self, from, credit);
    }

    /// Gets the data of a kept message, or as much of it as there is room for.
    pub fn fetch(&self, from: Node, offer: &Offer, mut landing: Landing) {
        if !offer.is_readable() || offer.bytes().min(landing.bytes) == 0 {
            return self.post.ask(self, from, offer, landing);
        }
        let read = self.post.read(self, from, offer, &mut landing);
        (landing.then)(read.map_err(|refusal| refusal.to_string()));
    }

    /// Lets go of the data of a kept message that nobody wants.
    pub fn decline(&self, from: Node, offer: &Offer) {
        self.post.decline(self, from, offer);
    }

    /// Returns why a peer is lost, if it is.
    pub fn loss(&self, peer: Node) -> Option<String> {
        if !self.any_lost.load(Ordering::Acquire) {
            return None;
        }
        self.lost.lock().get(&peer).cloned()
    }

    /// Tells whether nothing waits to be sent or fetched.
    pub fn is_empty(&self) -> bool {
        self.post.is_empty()
    }

    fn service(&self, first: u32) -> Result<(&'static dyn Service, u32), Nonsense> {
        let service = self.services.get(first as usize & 0xff);
        service.map(|service| (*service, first >> 8)).ok_or(Nonsense("a message for nobody"))
    }

    fn hear(&self, from: Node, first: u32, message: Message<'_>) -> Result<(), Nonsense> {
        let (service, kind) = self.service(first)?;
        service.told(self, from, kind, message)
    }
}

/// Puts a head and data into one piece.
fn joined(head: &[u8], data: &Source) -> Vec<u8> {
    let mut all = Vec::with_capacity(head.len() + data.bytes() as usize);
    all.extend_from_slice(head);
    match (data.bytes(), data.place()) {
        // No bytes may be nowhere.
        (0, _) => {}
        (bytes, Place::Block(address)) => {
            // SAFETY: so many bytes are readable as long as the data is there.
            all.extend_from_slice(unsafe { core::slice::from_raw_parts(address, bytes as usize) });
        }
        (bytes, Place::Gaps(gaps)) => {
            all.resize(head.len() + bytes as usize, 0);
            // SAFETY: the data is there, and behind the head is room for all of it.
            unsafe { (gaps.copy)(gaps.object, 0, all.as_mut_ptr().add(head.len()), bytes) };
        }
    }
    all
}

fn words_of(header: Words<'_>) -> ([u64; MOST_WORDS], usize) {
    let mut words = [0; MOST_WORDS];
    let count = header.iter().len();
    words.iter_mut().zip(header.iter()).for_each(|(word, said)| *word = said);
    (words, count)
}

impl Client for Active {
    type Data = Source;
    type Room = Landing;
    type Then = Then;
    type Aside = Never;
    type Sections = ();

    const TELLS: bool = true;
    // A program may send any number of messages without data.
    const EMPTY_COSTS: bool = true;
    const MOST_NOTE: u64 = LONGEST_HEAD as u64;

    fn arrive(
        &self,
        from: Node,
        header: Words<'_>,
        data: &[u8],
        costs: Costs<'_, Self>,
    ) -> Result<Reception, Nonsense> {
        let (words, count) = words_of(header);
        let words_said = words.get(..count).ok_or(Nonsense("words that are too many"))?;
        let credit = costs.credit();
        if credit != Credit::default() {
            let (service, kind) = self.service(header.first)?;
            let contents = Contents::Here(data.into(), credit);
            service.arrived(self, kind, Arrival { from, words, count, contents })?;
        } else if header.first == BATCH {
            let heard = batch::each(data, |first, message| self.hear(from, first, message));
            heard.ok_or(Nonsense("a batch that is none"))??;
        } else {
            self.hear(from, header.first, Message { words: words_said, data })?;
        }
        Ok(Reception::Taken)
    }

    fn offered(&self, from: Node, header: Words<'_>, offer: Offer, note: &[u8]) -> Result<(), Nonsense> {
        let (words, count) = words_of(header);
        if count > MOST_WORDS {
            return Err(Nonsense("words that are too many"));
        }
        let (service, kind) = self.service(header.first)?;
        let contents = Contents::Offered(note.into(), offer);
        service.arrived(self, kind, Arrival { from, words, count, contents })
    }

    fn sent(&self, then: Then) {
        then(Ok(()));
    }

    fn unsent(&self, then: Then) {
        then(Err("the process is lost".to_owned()));
    }

    fn filled(&self, landing: Landing) {
        (landing.then)(Ok(()));
    }

    fn unfilled(&self, landing: Landing, why: Option<&str>) {
        (landing.then)(Err(why.unwrap_or("the process is lost").to_owned()));
    }

    fn lost(&self, peer: Node, reason: &str) {
        self.lost.lock().insert(peer, reason.to_owned());
        self.any_lost.store(true, Ordering::Release);
        self.services.iter().for_each(|service| service.lost(self, peer, reason));
    }
}

impl Handler for Active {
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

    fn joined(&self, begin: Node, hosts: &[u32]) {
        self.post.join(begin, hosts.len() as u32, &LIMITS);
        hosts.iter().for_each(|_| _ = self.gathered.push(CachePadded::default()));
    }

    fn advance(&self) -> bool {
        // A program may wait for what comes of what it has told, without saying that this is to go.
        self.waiting.take().into_iter().for_each(|peer| self.push(peer));
        self.post.advance(self)
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.post.is_idle()
    }
}
