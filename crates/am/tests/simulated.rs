//! Active messages on a simulated network: whatever the network does, all that is told is heard once and in order, each message that
//! is sent arrives whole, and all that was given comes back once; also when a peer is lost.
#![allow(unsafe_code)] // Lends memory for as long as the messages need it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use weft_am::{Active, Arrival, Contents, LONGEST_HEAD, Landing, Message, Nonsense, Service, Source, When};
use weft_post::Place;
use weft_transport::simulator::{Conditions, Network, Random};
use weft_transport::{Channel, Device, Nobody, Node, Nodes, Places};

/// How many services a process has.
const SERVICES: usize = 2;

/// The kind of what is told by itself, and of what answers that.
const TOLD: u32 = 5;
const ANSWER: u32 = 6;

/// Returns the bytes of a message.
fn fill(number: u64, bytes: usize) -> &'static [u8] {
    static ALL: OnceLock<Vec<u8>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let mut random = Random::new(1);
        (0..110_000).flat_map(|_| (random.below(1 << 32) as u32).to_le_bytes()).collect()
    });
    &all[(number * 1009 % 100_003) as usize..][..bytes]
}

#[derive(Default)]
struct Records {
    /// By sender: how many of what it told were heard, and answers of whom.
    told: HashMap<Node, u64>,
    answers: HashMap<Node, u64>,
    kept: Vec<Arrival>,
    lost: Vec<Node>,
}

/// A service that counts what it is told, and keeps what it is sent.
struct Listener {
    number: u64,
    active: OnceLock<&'static Active>,
    records: Mutex<Records>,
}

impl Listener {
    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn active(&self) -> &'static Active {
        self.active.get().expect("served")
    }
}

impl Service for Listener {
    fn told(&self, active: &Active, from: Node, kind: u32, message: Message<'_>) -> Result<(), Nonsense> {
        let &[number, service, ..] = message.words else { return Err(Nonsense("too few words")) };
        assert_eq!(service, self.number, "another service");
        if kind == ANSWER {
            *self.records().answers.entry(from).or_default() += 1;
            return Ok(());
        }
        assert_eq!((kind, message.words.len() as u64), (TOLD, 2 + number % 6));
        assert!(message.data == fill(number, message.data.len()), "message {number}");
        {
            let mut records = self.records();
            let next = records.told.entry(from).or_default();
            assert_eq!(number, *next, "order");
            *next += 1;
        }
        if number.is_multiple_of(3) {
            let words = [number, self.number];
            let when = if number.is_multiple_of(2) { When::Now } else { When::Later };
            active.tell(from, self.number as usize, ANSWER, Message { words: &words, data: b"" }, when);
            active.push(from);
        }
        Ok(())
    }

    fn arrived(&self, _active: &Active, kind: u32, message: Arrival) -> Result<(), Nonsense> {
        assert_eq!(kind, TOLD);
        self.records().kept.push(message);
        Ok(())
    }

    fn lost(&self, _active: &Active, peer: Node, _reason: &str) {
        self.records().lost.push(peer);
    }
}

struct World {
    network: Network,
    listeners: Vec<[&'static Listener; SERVICES]>,
    random: Random,
    told: HashMap<(Node, Node, u64), u64>,
    sent: u64,
    /// What was sent or fetched and has not come to its end; ends in vain.
    open: Arc<AtomicI64>,
    in_vain: Arc<AtomicI64>,
    used: u64,
}

impl World {
    fn new(nodes: u32, conditions: Conditions) -> Self {
        // Every device takes 1 KiB.
        let conditions = Conditions { eager: conditions.eager.max(1024), ..conditions };
        let random = Random::new(conditions.seed ^ 0xa11);
        let network = Network::new(nodes, conditions);
        let process = |node: Node| {
            let listener = |number| -> &'static Listener {
                Box::leak(Box::new(Listener { number, active: OnceLock::new(), records: Mutex::default() }))
            };
            let listeners = [listener(0), listener(1)];
            let device = network.device(node);
            let nodes: &'static Nodes = Box::leak(Box::new(Nodes::new(device, Places::blocks(nodes, 1))));
            nodes.serve(Channel::POINT_TO_POINT, &Nobody);
            nodes.serve(Channel::COLLECTIVE, &Nobody);
            let services = listeners.map(|listener| listener as &dyn Service);
            Active::serve(nodes, Box::leak(Box::new(services)), |active| {
                listeners.iter().for_each(|listener| _ = listener.active.set(active));
            });
            listeners
        };
        let listeners = (0..nodes).map(process).collect();
        let (told, open, in_vain) = (HashMap::new(), Arc::default(), Arc::default());
        Self { network, listeners, random, told, sent: 0, open, in_vain, used: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn pair(&mut self) -> (Node, Node, &'static Listener) {
        let nodes = self.listeners.len() as u64;
        let (from, further) = (self.below(nodes), 1 + self.below(nodes - 1));
        let service = self.below(SERVICES as u64) as usize;
        (from as Node, ((from + further) % nodes) as Node, self.listeners[from as usize][service])
    }

    fn tell(&mut self) {
        let (from, to, listener) = self.pair();
        let active = listener.active();
        let longest = active.longest(to) as u64;
        let most = [0, 20, 600, longest + 1][self.below(4) as usize];
        let bytes = self.below(most.max(1)) as usize;
        let when = if self.below(2) == 0 { When::Now } else { When::Later };
        let next = self.told.entry((from, to, listener.number)).or_default();
        let number = *next;
        *next += 1;
        let words = [number, listener.number, 3, 4, 5, 6, 7];
        let message = Message { words: &words[..2 + number as usize % 6], data: fill(number, bytes) };
        active.tell(to, listener.number as usize, TOLD, message, when);
    }

    fn send(&mut self) {
        let (_, to, listener) = self.pair();
        let head = self.below(LONGEST_HEAD as u64 + 1) as usize;
        let most = [1, 200, 5000, 300_000][self.below(4) as usize];
        let bytes = self.below(most) as usize;
        self.sent += 1;
        let (number, lent) = (self.sent, self.below(2) == 0);
        let words = [number, head as u64, bytes as u64];
        let data: Box<[u8]> = fill(number, bytes).into();
        let (open, in_vain) = (self.open.clone(), self.in_vain.clone());
        open.fetch_add(1, Ordering::Relaxed);
        let end = move |result: Result<(), String>| {
            open.fetch_sub(1, Ordering::Relaxed);
            in_vain.fetch_add(i64::from(result.is_err()), Ordering::Relaxed);
        };
        let (active, service) = (listener.active(), listener.number as usize);
        if lent {
            let data: &'static mut [u8] = Box::leak(data);
            let address = data.as_mut_ptr();
            // SAFETY: the memory is given back when the message has come to its end.
            let source = unsafe { Source::lent(Place::Block(address), bytes as u64) };
            let memory = address as usize;
            let end = move |result| {
                // SAFETY: the box that was leaked, which nobody uses any more. Who still reads it reads something else.
                let mut memory =
                    unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(memory as *mut u8, bytes)) };
                memory.fill(0xdd);
                end(result);
            };
            active.send(to, service, TOLD, &words, fill(number + 1, head), source, end);
        } else {
            active.send(to, service, TOLD, &words, fill(number + 1, head), Source::Own(data), end);
        }
    }

    fn use_one(&mut self) {
        let (_, _, listener) = self.pair();
        self.use_one_of(listener);
    }

    fn use_one_of(&mut self, listener: &'static Listener) -> bool {
        let count = listener.records().kept.len() as u64;
        if count == 0 {
            return false;
        }
        let place = self.below(count) as usize;
        let arrival = listener.records().kept.swap_remove(place);
        let (from, active) = (arrival.from, listener.active());
        let &[number, head, bytes] = arrival.words() else { panic!("words of nobody") };
        self.used += 1;
        match arrival.contents {
            Contents::Here(all, credit) => {
                assert_eq!(all[..], [fill(number + 1, head as usize), fill(number, bytes as usize)].concat());
                active.used(from, credit);
            }
            Contents::Offered(note, offer) => {
                assert_eq!(*note, *fill(number + 1, head as usize));
                assert_eq!(offer.bytes(), bytes);
                if self.below(5) == 0 {
                    active.decline(from, &offer);
                    return true;
                }
                let wanted = if self.below(4) == 0 { bytes / 2 } else { bytes };
                let room: &'static mut [u8] = Box::leak(vec![0; wanted as usize].into());
                let (open, in_vain) = (self.open.clone(), self.in_vain.clone());
                open.fetch_add(1, Ordering::Relaxed);
                let (address, length) = (room.as_mut_ptr() as usize, room.len());
                let then = move |result: Result<(), String>| {
                    // SAFETY: the box that was leaked, which nobody writes any more.
                    let room = unsafe {
                        Box::from_raw(core::ptr::slice_from_raw_parts_mut(address as *mut u8, length))
                    };
                    assert!(result.is_err() || room[..] == *fill(number, length), "message {number}");
                    open.fetch_sub(1, Ordering::Relaxed);
                    in_vain.fetch_add(i64::from(result.is_err()), Ordering::Relaxed);
                };
                // SAFETY: the memory is given back when it has been filled, or will not be.
                let landing = unsafe { Landing::new(Place::Block(address as *mut u8), wanted, then) };
                active.fetch(from, &offer, landing);
            }
        }
        true
    }

    fn step(&mut self) {
        match self.below(10) {
            0..3 => self.tell(),
            3..5 => self.send(),
            5..7 => self.use_one(),
            7 => {
                let (_, to, listener) = self.pair();
                listener.active().push(to);
            }
            _ => {
                let (.., listener) = self.pair();
                listener.active().nodes().poll();
            }
        }
    }

    /// Lets everything come to its end.
    fn settle(&mut self) {
        let mut calm = 0;
        for _ in 0..2_000_000u64 {
            let mut is_quiet = true;
            for node in 0..self.listeners.len() {
                for listener in self.listeners[node] {
                    is_quiet &= !self.use_one_of(listener);
                    (0..self.listeners.len()).filter(|&to| to != node).for_each(|to| {
                        listener.active().push(to as Node);
                    });
                }
                let active = self.listeners[node][0].active();
                active.nodes().poll();
                is_quiet &= active.is_empty();
            }
            calm = if is_quiet && self.network.is_quiet() { calm + 1 } else { 0 };
            if calm > 100 {
                return;
            }
        }
        panic!("it does not come to its end");
    }

    /// Checks that all has come to its end. Returns how much of it in vain.
    fn check(&self) -> i64 {
        assert_eq!(self.open.load(Ordering::Relaxed), 0, "ends that nobody has heard of");
        for (&(from, to, service), &count) in &self.told {
            let records = self.listeners[to as usize][service as usize].records();
            let heard = records.told.get(&from).copied().unwrap_or(0);
            let is_lost = records.lost.contains(&from);
            assert!(heard == count || (heard < count && is_lost), "{heard} of {count} from {from} to {to}");
            let asker = self.listeners[from as usize][service as usize].records();
            let answers = asker.answers.get(&to).copied().unwrap_or(0);
            assert!(answers == heard.div_ceil(3) || is_lost, "{answers} answers to {heard}");
        }
        self.in_vain.load(Ordering::Relaxed)
    }
}

#[test]
fn everything_is_heard_once_and_in_order_and_arrives_whole() {
    let mut used = 0;
    for seed in 0..60 {
        println!("seed {seed}");
        let nodes = 2 + seed as u32 % 3;
        let mut world = World::new(nodes, Conditions::random(seed, nodes));
        (0..400).for_each(|_| world.step());
        world.settle();
        assert_eq!(world.check(), 0, "nobody is lost");
        assert_eq!(world.used, world.sent);
        used += world.used;
    }
    assert!(used > 2000, "{used} messages");
}

#[test]
fn what_has_to_do_with_a_lost_peer_comes_to_its_end_and_others_go_on() {
    let mut in_vain = 0;
    for seed in 1000..1060 {
        println!("seed {seed}");
        let nodes = 2 + seed as u32 % 3;
        let mut world = World::new(nodes, Conditions::random(seed, nodes));
        let cut_at = world.below(400);
        for step in 0..400 {
            if step == cut_at {
                world.network.cut(0, 1);
            }
            world.step();
        }
        world.settle();
        in_vain += world.check();
        for (node, peer) in [(0, 1), (1, 0)] {
            assert!(world.listeners[node].iter().all(|listener| listener.records().lost == [peer]));
            assert!(world.listeners[node][0].active().loss(peer).is_some());
        }
    }
    assert!(in_vain > 20, "cuts that nobody notices: {in_vain}");
}

#[test]
fn small_messages_travel_together() {
    let mut world = World::new(2, Conditions::calm(1));
    let active = world.listeners[0][0].active();
    let tell = |number: u64| {
        let words = [number, 0, 3, 4, 5, 6, 7];
        let message = Message { words: &words[..2 + number as usize % 6], data: fill(number, 8) };
        active.tell(1, 0, TOLD, message, When::Later);
    };
    (0..30).for_each(tell);
    assert_eq!(world.network.messages(0, 1, Channel::ACTIVE), 0, "nobody waits for them");
    active.push(1);
    assert_eq!(world.network.messages(0, 1, Channel::ACTIVE), 1);
    world.told.insert((0, 1, 0), 30);
    world.settle();
    world.check();
}

#[test]
fn who_says_nonsense_is_lost() {
    let header = |first: u32, words: &[u64]| weft_post::Header::new(first, words).bytes().to_vec();
    let free = |mut header: Vec<u8>| {
        (header[0], header[1]) = (1, 1);
        header
    };
    let cases: [(Vec<u8>, &[u8]); 3] = [
        (free(header(77, &[0, 0])), b""),
        (free(header(0xff, &[])), b"a batch that is none"),
        (free(header(TOLD << 8, &[1])), b""),
    ];
    for (header, payload) in cases {
        let world = World::new(2, Conditions::calm(1));
        let nodes = |node: usize| world.listeners[node][0].active().nodes();
        nodes(1).device().send(0, Channel::ACTIVE, &header, payload).expect("room");
        while !world.network.is_quiet() {
            nodes(0).poll();
        }
        assert_eq!(world.listeners[0][1].records().lost, [1], "{header:?}");
    }
}
