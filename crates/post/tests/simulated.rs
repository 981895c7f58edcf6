//! Services on a simulated network: whatever the network does, each message arrives once, whole and in order, what a peer may keep is
//! bounded, and everything that was given to the service comes back once.
#![allow(unsafe_code)] // Promises memory to the service, as its clients do.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use weft_post::{Arrival, Client, Credit, Data, Limits, Offer, Post, Room};
use weft_transport::simulator::{Conditions, Network, Random};
use weft_transport::{Arriving, Channel, Device, Handler, Nobody, Node, Nodes, Placement, Places};

const CHANNEL: Channel = Channel::COLLECTIVE;

/// The longest message.
const LONGEST: u64 = 600_000;

/// Returns the data of a message: a part of much data, elsewhere for each message.
fn fill(from: Node, to: Node, number: u64, bytes: usize) -> &'static [u8] {
    static ALL: OnceLock<Vec<u8>> = OnceLock::new();
    const PLACES: u64 = 100_003;
    let all = ALL.get_or_init(|| {
        let mut random = Random::new(1);
        (0..(LONGEST + PLACES) / 4).flat_map(|_| (random.below(1 << 32) as u32).to_le_bytes()).collect()
    });
    let place = (number * 13_331 + u64::from(from) * 1009 + u64::from(to) * 101) % (PLACES - 3);
    &all[place as usize..][..bytes]
}

/// Memory that counts itself.
struct Memory(Box<[u8]>, Arc<AtomicI64>);

impl Memory {
    fn new(bytes: Vec<u8>, alive: &Arc<AtomicI64>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(bytes.into(), alive.clone())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Who still sends it sends something else.
        self.0.fill(0xdd);
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

// SAFETY: it is on the heap.
unsafe impl Data for Memory {
    fn address(&self) -> *const u8 {
        self.0.as_ptr()
    }

    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }
}

/// Where the data of a message goes.
struct Wanted {
    memory: Memory,
    from: Node,
    number: u64,
}

// SAFETY: it is on the heap, and its own.
unsafe impl Room for Wanted {
    fn address(&mut self) -> *mut u8 {
        self.memory.0.as_mut_ptr()
    }

    fn bytes(&self) -> u64 {
        self.memory.0.len() as u64
    }
}

/// A message that has arrived and is not used.
struct Kept {
    from: Node,
    number: u64,
    what: What,
}

enum What {
    Here(u64, Credit),
    Offer(Offer),
}

#[derive(Default)]
struct Records {
    /// By sender: how many have arrived.
    arrived: HashMap<Node, u64>,
    kept: Vec<Kept>,
    /// Messages that have been read or come to where they were wanted.
    filled: u64,
    /// Rooms that did not get what they were for.
    unfilled: u64,
    /// Messages whose senders were told.
    sent: HashSet<(Node, u64)>,
    unsent: HashSet<(Node, u64)>,
    lost: Vec<Node>,
}

/// A client that keeps what comes until the test uses it.
struct Keeper {
    me: Node,
    post: Post<Keeper>,
    records: Mutex<Records>,
}

impl Keeper {
    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client for Keeper {
    type Data = Memory;
    type Room = Wanted;
    type Then = (Node, u64);

    fn arrive(&self, from: Node, header: &[u8], arrival: Arrival<'_>) {
        let number = u64::from_le_bytes(header[..8].try_into().expect("eight bytes"));
        let mut records = self.records();
        assert!(!records.lost.contains(&from), "a message of a lost peer");
        let next = records.arrived.entry(from).or_default();
        assert_eq!(number, *next, "order from {from} to {}", self.me);
        *next += 1;
        let what = match arrival {
            Arrival::Short(data, credit) => {
                assert!(data == fill(from, self.me, number, data.len()), "message {number} of {from}");
                What::Here(data.len() as u64, credit)
            }
            Arrival::Offer(offer) => What::Offer(offer),
        };
        records.kept.push(Kept { from, number, what });
    }

    fn sent(&self, then: (Node, u64)) {
        assert!(self.records().sent.insert(then), "said twice");
    }

    fn filled(&self, room: Wanted) {
        let Wanted { memory, from, number } = room;
        assert!(
            memory.0[..] == *fill(from, self.me, number, memory.0.len()),
            "data of message {number} of {from}"
        );
        self.records().filled += 1;
    }

    fn unsent(&self, then: (Node, u64)) {
        assert!(self.records().unsent.insert(then), "said twice");
    }

    fn unfilled(&self, room: Wanted) {
        drop(room);
        self.records().unfilled += 1;
    }

    fn lost(&self, peer: Node, _reason: &str) {
        self.records().lost.push(peer);
    }
}

impl Handler for Keeper {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.post.arrive(self, &message)
    }

    fn placed(&self, _from: Node, _channel: Channel, token: u64) {
        self.post.placed(self, token);
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

/// Node processes, each with a service.
struct World {
    network: Network,
    keepers: Vec<&'static Keeper>,
    limits: Limits,
    alive: Arc<AtomicI64>,
    random: Random,
    /// By pair: how many messages were sent, and those whose senders wait.
    sent: HashMap<(Node, Node), u64>,
    waiting: HashSet<(Node, Node, u64)>,
    /// Offers that were read or asked for.
    fetched: u64,
}

impl World {
    fn new(nodes: u32, conditions: Conditions) -> Self {
        let seed = conditions.seed;
        let mut random = Random::new(seed ^ 0xa11);
        let credit = [128, 1000, 20_000, 1 << 20][random.below(4) as usize];
        let limits = Limits { credit, lent: [0, 5000, 1 << 20][random.below(3) as usize] };
        let network = Network::new(nodes, conditions);
        let alive = Arc::new(AtomicI64::new(0));
        let keeper = |node: Node| -> &'static Keeper {
            let places = Places::blocks(nodes, 1);
            let nodes: &'static Nodes = Box::leak(Box::new(Nodes::new(network.device(node), places)));
            let post = Post::new(nodes, CHANNEL, limits);
            let keeper: &'static Keeper =
                Box::leak(Box::new(Keeper { me: node, post, records: Mutex::default() }));
            nodes.serve(Channel::POINT_TO_POINT, &Nobody);
            nodes.serve(CHANNEL, keeper);
            keeper
        };
        let keepers = (0..nodes).map(keeper).collect();
        let (sent, waiting) = (HashMap::new(), HashSet::new());
        Self { network, keepers, limits, alive, random, sent, waiting, fetched: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn node(&mut self) -> Node {
        self.random.below(self.keepers.len() as u64) as Node
    }

    /// Sends something, unless the peer is known to be lost.
    fn send(&mut self) {
        let (from, to) = (self.node(), self.node());
        let keeper = self.keepers[from as usize];
        if from == to || keeper.records().lost.contains(&to) {
            return;
        }
        let eager = keeper.post.nodes().device().capabilities(to).eager as u64;
        let bytes = match self.below(5) {
            0 => 0,
            1 => self.below(40),
            2 => self.below(eager + 1),
            3 => eager + self.below(3 * eager),
            _ => self.below(LONGEST),
        };
        let number = self.sent.entry((from, to)).or_default();
        let data = Memory::new(fill(from, to, *number, bytes as usize).into(), &self.alive);
        let (this, header) = (*number, number.to_le_bytes());
        *number += 1;
        if bytes <= 40 && self.below(2) == 0 {
            keeper.post.tell(keeper, to, &header, Some(data));
        } else if !keeper.post.send(keeper, to, &header, data, (to, this)) {
            self.waiting.insert((from, to, this));
        }
    }

    /// Uses one of the messages that a process keeps.
    fn use_one(&mut self, node: Node) {
        let keeper = self.keepers[node as usize];
        let count = keeper.records().kept.len() as u64;
        if count == 0 {
            return;
        }
        let chosen = self.below(count) as usize;
        let Kept { from, number, what } = keeper.records().kept.swap_remove(chosen);
        let offer = match what {
            What::Here(_, credit) => return keeper.post.used(keeper, from, credit),
            What::Offer(offer) => offer,
        };
        if self.below(4) == 0 {
            return keeper.post.decline(keeper, from, &offer);
        }
        let is_known_lost = keeper.records().lost.contains(&from);
        let memory = Memory::new(vec![0; offer.bytes() as usize], &self.alive);
        let mut room = Wanted { memory, from, number };
        self.fetched += 1;
        if offer.is_readable() && self.below(3) > 0 {
            match keeper.post.read(keeper, from, &offer, &mut room) {
                Ok(()) => keeper.filled(room),
                Err(_) => keeper.unfilled(room),
            }
        } else {
            keeper.post.ask(keeper, from, &offer, room);
            if is_known_lost {
                assert!(keeper.records().unfilled > 0, "nobody will fill it");
            }
        }
    }

    fn poll(&mut self) {
        let node = self.node();
        self.keepers[node as usize].post.nodes().poll();
    }

    /// Checks that no process keeps more than its peers may send.
    fn check_bounds(&self) {
        for keeper in &self.keepers {
            let mut kept: HashMap<Node, u64> = HashMap::new();
            for Kept { from, what, .. } in &keeper.records().kept {
                // Free ones have at most 40 bytes.
                if let What::Here(bytes @ 41.., _) = what {
                    *kept.entry(*from).or_default() += bytes;
                }
            }
            let most = self.limits.credit;
            assert!(kept.values().all(|&bytes| bytes <= most), "{kept:?} of {most}");
        }
    }

    fn step(&mut self) {
        match self.below(8) {
            0..3 => self.send(),
            3..5 => {
                let node = self.node();
                self.use_one(node);
            }
            _ => self.poll(),
        }
        self.check_bounds();
    }

    /// Lets everything come to its end.
    fn settle(&mut self) {
        let mut calm = 0;
        for _ in 0..3_000_000u64 {
            for node in 0..self.keepers.len() as Node {
                self.use_one(node);
                self.keepers[node as usize].post.nodes().poll();
            }
            let is_over = |keeper: &&Keeper| keeper.post.is_empty() && keeper.records().kept.is_empty();
            let is_quiet = self.network.is_quiet() && self.keepers.iter().all(is_over);
            calm = if is_quiet { calm + 1 } else { 0 };
            if calm > 100 {
                return;
            }
        }
        panic!("it does not come to its end");
    }

    /// Checks that all that was given has come back, and returns how much of it in vain.
    fn check_end(&self) -> usize {
        let mut in_vain = 0;
        let (mut filled, mut unfilled) = (0, 0);
        for keeper in &self.keepers {
            let records = keeper.records();
            assert!(!keeper.post.has_debts());
            for &(to, number) in &records.sent {
                assert!(self.waiting.contains(&(keeper.me, to, number)), "said to who may go on already");
            }
            for &(from, to, number) in self.waiting.iter().filter(|(from, ..)| *from == keeper.me) {
                let (is_sent, is_unsent) =
                    (records.sent.contains(&(to, number)), records.unsent.contains(&(to, number)));
                assert!(is_sent != is_unsent, "message {number} from {from} to {to}: {is_sent}, {is_unsent}");
                assert!(is_sent || records.lost.contains(&to), "unsent, but not lost");
                in_vain += usize::from(is_unsent);
            }
            (filled, unfilled) = (filled + records.filled, unfilled + records.unfilled);
            for (&(from, to), &count) in self.sent.iter().filter(|((_, to), _)| *to == keeper.me) {
                let arrived = records.arrived.get(&from).copied().unwrap_or(0);
                assert!(
                    arrived == count || (arrived < count && records.lost.contains(&from)),
                    "{arrived} of {count} from {from} to {to}"
                );
            }
        }
        assert_eq!(filled + unfilled, self.fetched, "every room comes back");
        assert_eq!(self.alive.load(Ordering::Relaxed), 0, "memory that nobody lets go of");
        in_vain + unfilled as usize
    }
}

#[test]
fn everything_arrives_once_whole_and_in_order_within_bounds() {
    for seed in 0..100 {
        println!("seed {seed}");
        let nodes = 2 + seed as u32 % 3;
        let mut world = World::new(nodes, Conditions::random(seed, nodes));
        for _ in 0..300 {
            world.step();
        }
        world.settle();
        assert_eq!(world.check_end(), 0, "nobody is lost");
    }
}

#[test]
fn what_has_to_do_with_a_lost_peer_comes_back_and_others_go_on() {
    let mut in_vain = 0;
    for seed in 1000..1100 {
        println!("seed {seed}");
        let nodes = 2 + seed as u32 % 3;
        let mut world = World::new(nodes, Conditions::random(seed, nodes));
        let cut_at = world.below(300);
        for step in 0..300 {
            if step == cut_at {
                world.network.cut(0, 1);
            }
            world.step();
        }
        world.settle();
        for (node, peer) in [(0, 1), (1, 0)] {
            assert_eq!(world.keepers[node].records().lost, [peer], "told once");
        }
        in_vain += world.check_end();
    }
    assert!(in_vain > 100, "cuts that nobody notices: {in_vain}");
}

/// Sends what no service sends.
fn sends(world: &World, from: usize, header: &[u8], payload: &[u8]) {
    let device = world.keepers[from].post.nodes().device();
    while device.send(1 - from as Node, CHANNEL, header, payload).is_err() {
        world.keepers.iter().for_each(|keeper| _ = keeper.post.nodes().poll());
    }
}

#[test]
fn who_sends_nonsense_is_lost() {
    let words = |kind: u8, words: &[u64]| {
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        [&[kind, 0, 0, 0][..], &words].concat()
    };
    let cases: [(Vec<u8>, &[u8]); 9] = [
        (vec![], b""),
        (vec![9, 0, 0, 0], b""),
        (vec![1, 2, 0, 0], b""),
        // More credit than there is.
        (vec![6, 0, 1, 0], b""),
        // An offer that is none.
        (vec![2, 0, 0, 0], b"short"),
        // Data that nobody has lent or waits for.
        (words(3, &[0, 0, 5]), b""),
        (words(4, &[0, 0]), b"data"),
        (words(5, &[0]), b""),
        // A payload where there is none.
        (vec![6, 0, 0, 0], b"more"),
    ];
    for (header, payload) in cases {
        let world = World::new(2, Conditions::calm(1));
        sends(&world, 1, &header, payload);
        while !world.network.is_quiet() {
            world.keepers[0].post.nodes().poll();
        }
        assert_eq!(world.keepers[0].records().lost, [1], "{header:?}");
    }
}
