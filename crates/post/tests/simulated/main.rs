//! Services on a simulated network: whatever the network does, each message arrives once, whole and in order, what a peer may keep is
//! bounded, and everything that was given to the service comes back once.
//!
//! - `client`: a client that keeps what comes. `memory`: what it gives to the service.

mod client;
mod memory;

use client::{Keeper, Kept, Kind, MOST_NOTE, Plain, Rich, TABLES, What, header, note};
use core::marker::PhantomData;
use core::ops::Range;
use memory::{LONGEST, Memory, Wanted, fill};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use weft_post::{Client, Limits, Permit, Post};
use weft_transport::simulator::{Conditions, Network, Random};
use weft_transport::{Channel, Device, MOST_ANSWER, Nobody, Node, Nodes, Places, Refusal};
use weft_trials::rounds;

/// Node processes, each with a service.
struct World<K: Kind> {
    network: Network,
    keepers: Vec<&'static Keeper<K>>,
    limits: Limits,
    alive: Arc<AtomicI64>,
    random: Random,
    /// By pair: how many messages were sent, and those whose senders wait.
    sent: HashMap<(Node, Node), u64>,
    waiting: HashSet<(Node, Node, u64)>,
    /// Offers that were read or asked for.
    fetched: u64,
    /// Messages that went as answers.
    answers: u64,
}

impl<K: Kind> World<K> {
    fn new(nodes: u32, conditions: Conditions) -> Self {
        let seed = conditions.seed;
        let mut random = Random::new(seed ^ 0xa11);
        let credit = [128, 1000, 20_000, 1 << 20][random.below(4) as usize];
        let lent = [0, 5000, 1 << 20][random.below(3) as usize];
        let short = if K::HAS_ALL { [100, u64::MAX][random.below(2) as usize] } else { u64::MAX };
        let limits = Limits { there: credit, here: credit, lent, short, note: 0 };
        let network = Network::new(nodes, conditions);
        let alive = Arc::new(AtomicI64::new(0));
        let keeper = |node: Node| -> &'static Keeper<K> {
            let places = Places::blocks(nodes, 1);
            let nodes: &'static Nodes = Box::leak(Box::new(Nodes::new(network.device(node), places)));
            let post = Post::new(nodes, K::CHANNEL, TABLES, |_| limits);
            let (records, alive) = (Mutex::default(), alive.clone());
            let keeper: &'static Keeper<K> =
                Box::leak(Box::new(Keeper { me: node, post, records, alive, kind: PhantomData }));
            for channel in Channel::ALL {
                nodes.serve(channel, if channel == K::CHANNEL { keeper } else { &Nobody });
            }
            keeper
        };
        let keepers = (0..nodes).map(keeper).collect();
        let (sent, waiting) = (HashMap::new(), HashSet::new());
        Self { network, keepers, limits, alive, random, sent, waiting, fetched: 0, answers: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn node(&mut self) -> Node {
        self.random.below(self.keepers.len() as u64) as Node
    }

    fn is_turned(&mut self) -> bool {
        K::HAS_ALL && self.below(3) == 0
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
        let is_turned = self.is_turned();
        let number = self.sent.entry((from, to)).or_default();
        let (this, content) = (*number, fill(from, to, *number, bytes as usize));
        *number += 1;
        let (post, mut header) = (&keeper.post, header(from, this));
        let towards = post.towards(to);
        let permit = |is_possible: bool| {
            (is_possible && towards.takes_credit(bytes, 0)).then(|| towards.permit(bytes, 0))
        };
        let is_answer = |permit: Permit<'_, Keeper<K>>| permit.answer(header, content);
        if K::HAS_ALL
            && self.below(4) == 0
            && permit(towards.takes_answers() && bytes <= MOST_ANSWER as u64).is_some_and(is_answer)
        {
            self.answers += 1;
            return;
        }
        let data = Memory::new(content.into(), is_turned, this as u32 % TABLES, &self.alive);
        if !K::HAS_ALL && bytes <= 40 && self.below(2) == 0 {
            return post.tell(keeper, to, header, Some(data));
        }
        let may_go_on = match self.below(3) {
            0 if K::HAS_ALL => {
                let note = if post.takes_note(to, MOST_NOTE) { note(from, to, this) } else { &[] };
                post.offer(keeper, to, header, data, note, (to, this))
            }
            1 => match permit(bytes <= towards.short()) {
                Some(permit) => match permit.send(&mut header, content) {
                    Ok(()) => {
                        permit.go_on(keeper);
                        true
                    }
                    Err(Refusal::Lost { .. }) => true,
                    Err(Refusal::Full) => {
                        permit.later(keeper, &header, data, (to, this));
                        post.go_on_with(keeper, to);
                        false
                    }
                },
                None => post.send(keeper, to, header, data, (to, this)),
            },
            _ => post.send(keeper, to, header, data, (to, this)),
        };
        if !may_go_on {
            self.waiting.insert((from, to, this));
        }
    }

    /// Asks for an offer back, or for one that is not to be had.
    fn withdraw(&mut self) {
        let count = self.waiting.len() as u64;
        if !K::HAS_ALL || count == 0 {
            return;
        }
        // By order, not as the set has them: so that the seed decides.
        let mut waiting: Vec<_> = self.waiting.iter().copied().collect();
        waiting.sort_unstable();
        let (from, to, number) = waiting[self.below(count) as usize];
        let keeper = self.keepers[from as usize];
        keeper.post.withdraw(keeper, to, 77, number as u32 % TABLES, |&then| then == (to, number));
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
        let is_turned = self.is_turned();
        let bytes = if self.below(4) == 0 { offer.bytes() / 2 } else { offer.bytes() };
        let memory = Memory::new(vec![0; bytes as usize], is_turned, number as u32 % TABLES, &self.alive);
        let mut room = Wanted { memory, from, number };
        self.fetched += 1;
        let how = self.below(3);
        if offer.is_readable() && how == 0 {
            match keeper.post.read(keeper, from, &offer, &mut room) {
                Ok(()) => keeper.filled(room),
                Err(_) => keeper.unfilled(room, None),
            }
        } else if offer.is_readable() && how == 1 {
            keeper.post.read_later(from, offer, room);
        } else {
            keeper.post.ask(keeper, from, &offer, room);
            if is_known_lost && bytes > 0 {
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
                let what = match what {
                    // What is told has at most 40 bytes.
                    What::Here(0..=40, _) if !K::HAS_ALL => 0,
                    What::Here(bytes, _) => (bytes + 128).next_multiple_of(128),
                    What::Offer(_) => 0,
                };
                *kept.entry(*from).or_default() += what;
            }
            let most = self.limits.here;
            assert!(kept.values().all(|&bytes| bytes <= most), "{kept:?} of {most}");
        }
    }

    fn step(&mut self) {
        match self.below(9) {
            0..3 => self.send(),
            3..5 => {
                let node = self.node();
                self.use_one(node);
            }
            5 => self.withdraw(),
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
            let is_over = |keeper: &&Keeper<K>| keeper.post.is_empty() && keeper.records().kept.is_empty();
            let is_quiet = self.network.is_quiet() && self.keepers.iter().all(is_over);
            calm = if is_quiet { calm + 1 } else { 0 };
            if calm > 100 {
                return;
            }
        }
        panic!("it does not come to its end");
    }

    /// Checks that all that was given has come back.
    fn check_end(&self) -> Sums {
        let mut sums = Sums { answers: self.answers, ..Sums::default() };
        let (mut filled, mut unfilled) = (0, 0);
        for keeper in &self.keepers {
            let records = keeper.records();
            assert!(!keeper.post.has_debts());
            for &(to, number) in &records.sent {
                assert!(self.waiting.contains(&(keeper.me, to, number)), "said to who may go on already");
            }
            for &(from, to, number) in self.waiting.iter().filter(|(from, ..)| *from == keeper.me) {
                let ends = [&records.sent, &records.unsent, &records.withdrawn];
                let [is_sent, is_unsent, is_withdrawn] = ends.map(|end| end.contains(&(to, number)));
                let count = [is_sent, is_unsent, is_withdrawn].into_iter().filter(|&end| end).count();
                assert_eq!(count, 1, "ends of message {number} from {from} to {to}: {is_sent}, {is_unsent}");
                assert!(!is_unsent || records.lost.contains(&to), "unsent, but not lost");
                sums.in_vain += u64::from(is_unsent);
            }
            (filled, unfilled) = (filled + records.filled, unfilled + records.unfilled);
            sums.aside += records.aside;
            sums.awaited += records.awaited;
            sums.withdrawn += records.withdrawn.len() as u64;
            for (&(from, to), &count) in self.sent.iter().filter(|((_, to), _)| *to == keeper.me) {
                let arrived = records.arrived.get(&from).copied().unwrap_or(0);
                assert!(
                    arrived == count || (arrived < count && records.lost.contains(&from)),
                    "{arrived} of {count} from {from} to {to}"
                );
            }
        }
        assert_eq!(filled + unfilled, self.fetched + sums.awaited, "every room comes back");
        assert_eq!(self.alive.load(Ordering::Relaxed), 0, "memory that nobody lets go of");
        sums.in_vain += unfilled;
        sums
    }
}

/// What came to pass.
#[derive(Default, Clone, Copy, Debug)]
struct Sums {
    /// Ends without success.
    in_vain: u64,
    aside: u64,
    awaited: u64,
    withdrawn: u64,
    answers: u64,
}

impl Sums {
    fn plus(self, other: Self) -> Self {
        Self {
            in_vain: self.in_vain + other.in_vain,
            aside: self.aside + other.aside,
            awaited: self.awaited + other.awaited,
            withdrawn: self.withdrawn + other.withdrawn,
            answers: self.answers + other.answers,
        }
    }

    /// Checks that what a client with everything can do has come to pass often enough to tell something.
    fn check(&self) {
        let least = u64::from(rounds(50));
        assert!(
            [self.aside, self.awaited, self.withdrawn, self.answers].iter().all(|&n| n > least),
            "{self:?}"
        );
    }
}

/// Returns the first of some seeds, so many as there is time for.
fn part(seeds: Range<u64>) -> impl Iterator<Item = u64> {
    let count = rounds((seeds.end - seeds.start) as u32);
    seeds.take(count as usize)
}

/// Lets clients exchange messages, nobody of whom is lost.
fn exchange<K: Kind>(seeds: Range<u64>) -> Sums {
    let mut sums = Sums::default();
    for seed in part(seeds) {
        println!("seed {seed}");
        let nodes = 2 + seed as u32 % 3;
        let mut world = World::<K>::new(nodes, Conditions::random(seed, nodes));
        (0..300).for_each(|_| world.step());
        world.settle();
        sums = sums.plus(world.check_end());
    }
    assert_eq!(sums.in_vain, 0, "nobody is lost");
    sums
}

/// Lets clients exchange messages, while two of them lose each other.
fn lose<K: Kind>(seeds: Range<u64>) -> Sums {
    let mut sums = Sums::default();
    for seed in part(seeds) {
        println!("seed {seed}");
        let nodes = 2 + seed as u32 % 3;
        let mut world = World::<K>::new(nodes, Conditions::random(seed, nodes));
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
        sums = sums.plus(world.check_end());
    }
    assert!(sums.in_vain > u64::from(rounds(100)), "cuts that nobody notices: {}", sums.in_vain);
    sums
}

#[test]
fn everything_arrives_once_whole_and_in_order_within_bounds() {
    exchange::<Plain>(0..100);
}

#[test]
fn what_has_to_do_with_a_lost_peer_comes_back_and_others_go_on() {
    lose::<Plain>(1000..1100);
}

#[test]
fn gaps_parts_answers_and_withdrawn_offers_change_nothing_of_that() {
    exchange::<Rich>(2000..2250).check();
}

#[test]
fn nor_do_they_when_a_peer_is_lost() {
    lose::<Rich>(3000..3400).check();
}

/// Sends what no service sends.
fn sends<K: Kind>(world: &World<K>, from: usize, header: &[u8], payload: &[u8]) {
    let device = world.keepers[from].post.nodes().device();
    while device.send(1 - from as Node, K::CHANNEL, header, payload).is_err() {
        world.keepers.iter().for_each(|keeper| _ = keeper.post.nodes().poll());
    }
}

fn loses_its_sender<K: Kind>(header: &[u8], payload: &[u8]) {
    let world = World::<K>::new(2, Conditions::calm(1));
    sends(&world, 1, header, payload);
    while !world.network.is_quiet() {
        world.keepers[0].post.nodes().poll();
    }
    assert_eq!(world.keepers[0].records().lost, [1], "{header:?}");
}

#[test]
fn who_sends_nonsense_is_lost() {
    let words = |kind: u8, words: &[u64]| {
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        [&[kind, 0, 0, 0, 0, 0, 0, 0][..], &words].concat()
    };
    let cases: [(Vec<u8>, &[u8]); 13] = [
        (vec![], b""),
        (vec![9, 0, 0, 0, 0, 0, 0, 0], b""),
        (vec![1, 2, 0, 0, 0, 0, 0, 0], b""),
        // Not in whole words.
        (vec![8, 0, 0, 0], b""),
        // More credit than there is.
        (vec![8, 0, 1, 0, 0, 0, 0, 0], b""),
        // A client's header that is none, and an offer that is none.
        (words(1, &[0, 0]), b"data"),
        (words(2, &[0, !0]), b"short"),
        // Data that nobody has lent or waits for, of tables that are there or not.
        (words(3, &[0, 0, 5]), b""),
        (words(3, &[1 << 50, 0, 5]), b""),
        (words(4, &[0, 0]), b"data"),
        (words(5, &[0]), b""),
        // The end of a withdrawal of nothing.
        (words(7, &[0]), b""),
        // A payload where there is none.
        (words(8, &[]), b"more"),
    ];
    for (header, payload) in cases {
        loses_its_sender::<Plain>(&header, payload);
        loses_its_sender::<Rich>(&header, payload);
    }
    // A client that tells nothing is told nothing.
    let mut free = words(1, &[0, !0]);
    (free[1], free[4]) = (1, 1);
    loses_its_sender::<Rich>(&free, b"");
}
