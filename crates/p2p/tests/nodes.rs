//! Ranks on several node processes, over the simulated network. One thread plays all ranks, so that everything follows
//! from the seed; the last tests use threads.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The tests are callers that promise their buffers.

use std::time::{SystemTime, UNIX_EPOCH};
use weft_base::abi;
use weft_base::constants::*;
use weft_datatype::Datatype;
use weft_local::{Segment, SegmentDevice};
use weft_p2p::{Buffer, Completion, Endpoint, Engine, Envelope, Limits, Mode, Scope, Scopes};
use weft_transport::simulator::{Conditions, Network, Random};
use weft_transport::{Channel, Device, Nobody, Node, Nodes, Places};

/// The seeds of a test: some that follow from the time, and then always the same.
fn seeds(count: u64) -> impl Iterator<Item = u64> {
    if let Some(seed) = std::env::var("WEFT_TEST_SEED").ok().and_then(|s| s.parse().ok()) {
        return (seed..seed + 1).chain(0..0);
    }
    let fresh = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    println!("fresh seeds from {fresh} (WEFT_TEST_SEED repeats one)");
    (0..count * 3 / 4).chain(fresh..fresh + count / 4)
}

/// Names the seed of a test that fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("WEFT_TEST_SEED={}", self.0);
        }
    }
}

struct Job {
    /// Of jobs over the simulator.
    network: Option<Network>,
    nodes: Vec<&'static Nodes>,
    engines: Vec<&'static Engine>,
    places: Places,
}

impl Job {
    fn new(places: Places, conditions: Conditions, limits: Limits) -> Self {
        let network = Network::new(places.nodes(), conditions);
        Self { network: Some(network.clone()), ..Self::over(network.devices(), places, limits) }
    }

    fn over(devices: Vec<Box<dyn Device>>, places: Places, limits: Limits) -> Self {
        let mut nodes: Vec<&'static Nodes> = Vec::new();
        let mut engines = Vec::new();
        for device in devices {
            let joined: &'static Nodes = Box::leak(Box::new(Nodes::new(device, places.clone())));
            joined.serve(Channel::COLLECTIVE, &Nobody);
            engines.push(Engine::spread(joined, limits));
            nodes.push(joined);
        }
        let job = Self { network: None, nodes, engines, places };
        for rank in 0..job.places.size() {
            job.engine(rank).attach(rank, weft_sched::current());
        }
        job
    }

    fn network(&self) -> &Network {
        self.network.as_ref().expect("a job over the simulator")
    }

    /// A job whose shape and network follow from the seed.
    fn random(random: &mut Random) -> Self {
        let nodes = 2 + random.below(3) as u32;
        let ranks = nodes + random.below(4) as u32;
        let places = match random.below(3) {
            0 => Places::blocks(ranks, ranks.div_ceil(nodes)),
            1 => Places::round_robin(ranks, nodes),
            _ => {
                let mut node_of: Vec<Node> = (0..ranks).map(|_| random.below(nodes.into()) as Node).collect();
                node_of[0] = nodes - 1;
                Places::new(&node_of)
            }
        };
        let limits = Limits {
            eager: [0, 64, 4096][random.below(3) as usize],
            unexpected: [0, 2000, 1 << 20][random.below(3) as usize],
            rings: 0,
            spins: 0,
        };
        let conditions = Conditions::random(random.below(u64::MAX), places.nodes());
        Self::new(places, conditions, limits)
    }

    fn engine(&self, rank: u32) -> &'static Engine {
        self.engines[self.places.of(rank).node as usize]
    }

    fn me(&self, rank: u32) -> &'static Endpoint {
        self.engine(rank).endpoint(rank)
    }

    fn isend(
        &self,
        from: u32,
        to: u32,
        tag: i32,
        data: Buffer,
        datatype: Option<Datatype>,
        mode: Mode,
    ) -> abi::Request {
        let envelope = Envelope::new(2, from as i32, tag);
        unsafe { self.engine(from).isend(self.me(from), to, envelope, data, datatype, mode, MPI_COMM_WORLD) }
    }

    fn irecv(
        &self,
        rank: u32,
        source: i32,
        tag: i32,
        buffer: Buffer,
        datatype: Option<Datatype>,
    ) -> abi::Request {
        let pattern = Envelope::new(2, source, tag);
        unsafe { self.engine(rank).irecv(self.me(rank), pattern, buffer, datatype, MPI_COMM_WORLD) }
    }

    fn is_complete(&self, rank: u32, request: abi::Request) -> bool {
        self.engine(rank).is_request_complete(self.me(rank), request).unwrap()
    }

    fn end(&self, rank: u32, request: abi::Request) -> Completion {
        assert!(self.is_complete(rank, request));
        self.engine(rank).wait_request(self.me(rank), request).unwrap()
    }

    fn poll(&self) {
        self.nodes.iter().for_each(|node| _ = node.poll());
    }

    /// Polls until a request is complete.
    fn finish(&self, rank: u32, request: abi::Request) -> Completion {
        for _ in 0..1_000_000 {
            if self.is_complete(rank, request) {
                return self.end(rank, request);
            }
            self.poll();
        }
        panic!("a request does not complete");
    }
}

fn byte() -> &'static Datatype {
    Datatype::predefined(MPI_BYTE).unwrap()
}

fn dense(data: &mut [u8]) -> Buffer {
    unsafe { Buffer::new(data.as_mut_ptr(), data.len() as u64, byte()) }
}

/// Fills data so that sender and number show.
fn content(length: usize, from: u32, number: u32) -> Vec<u8> {
    let mut random = Random::new(u64::from(from) << 32 | u64::from(number));
    (0..length).map(|_| random.below(251) as u8).collect()
}

/// Memory of a message, dense or with gaps.
struct Memory {
    bytes: Vec<u8>,
    datatype: Option<Datatype>,
    length: usize,
}

impl Memory {
    /// Makes room for `length` bytes, in blocks of 3 with gaps of 2 if `gaps`.
    fn new(length: usize, gaps: bool) -> Self {
        if !gaps || length == 0 {
            return Self { bytes: vec![0; length], datatype: None, length };
        }
        let blocks = length.div_ceil(3);
        let datatype = Datatype::vector(blocks as i64, 3, 5, byte()).unwrap();
        Self { bytes: vec![0; blocks * 5], datatype: Some(datatype), length: blocks * 3 }
    }

    fn buffer(&mut self) -> Buffer {
        match &self.datatype {
            None => dense(&mut self.bytes),
            Some(datatype) => unsafe { Buffer::new(self.bytes.as_mut_ptr(), 1, datatype) },
        }
    }

    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let gaps = self.datatype.is_some();
        (0..self.length).map(move |i| if gaps { i / 3 * 5 + i % 3 } else { i })
    }

    fn store(&mut self, data: &[u8]) {
        self.places().zip(data).for_each(|(place, byte)| self.bytes[place] = *byte);
    }

    fn load(&self, length: usize) -> Vec<u8> {
        self.places().take(length).map(|place| self.bytes[place]).collect()
    }

    fn gaps_are_clean(&self) -> bool {
        self.datatype.is_none() || (0..self.bytes.len()).all(|i| i % 5 < 3 || self.bytes[i] == 0)
    }
}

const LENGTHS: [usize; 10] = [0, 3, 8, 39, 42, 63, 700, 4095, 4098, 40_000];

struct Sent {
    from: u32,
    tag: i32,
    data: Vec<u8>,
}

/// What a receiver's patterns leave open. All of a receiver's are alike, so any order of arrival serves them all.
#[derive(Clone, Copy, PartialEq)]
enum Wild {
    Both,
    Tag,
    Source,
    None,
}

/// Sends random messages between random ranks in a random order of events, and compares what arrives with what the order
/// rules want.
fn traffic(seed: u64) {
    let _seed = Seed(seed);
    let mut random = Random::new(seed);
    let job = Job::random(&mut random);
    let ranks = job.places.size();
    let wild: Vec<_> = (0..ranks)
        .map(|_| [Wild::Both, Wild::Tag, Wild::Source, Wild::None][random.below(4) as usize])
        .collect();
    let count = 10 + random.below(60);
    // What will be sent, by receiver.
    let mut plans: Vec<Vec<(u32, i32, usize)>> = vec![Vec::new(); ranks as usize];
    let mut sends = Vec::new();
    for _ in 0..count {
        let (from, to) = (random.below(ranks.into()) as u32, random.below(ranks.into()) as u32);
        let (tag, length) = (random.below(3) as i32, LENGTHS[random.below(10) as usize]);
        plans[to as usize].push((from, tag, length));
        sends.push((from, to, tag, length));
    }
    let mut next_send = 0;
    let mut posted: Vec<usize> = vec![0; ranks as usize];
    let mut arrived: Vec<Vec<Sent>> = (0..ranks).map(|_| Vec::new()).collect();
    let mut sending: Vec<(u32, abi::Request, Box<Memory>)> = Vec::new();
    let mut receiving: Vec<(u32, abi::Request, Box<Memory>, Envelope)> = Vec::new();
    let mut received = 0;
    let mut taken: Vec<Vec<bool>> = plans.iter().map(|plan| vec![false; plan.len()]).collect();
    let mut steps = 0;
    while next_send < sends.len() || !sending.is_empty() || received < sends.len() {
        steps += 1;
        assert!(steps < 3_000_000, "{received} of {} messages arrive, then nothing happens", sends.len());
        let all_begun =
            next_send == sends.len() && posted.iter().zip(&plans).all(|(p, plan)| *p == plan.len());
        match if all_begun { 3 + random.below(3) } else { random.below(6) } {
            0 if next_send < sends.len() => {
                let (from, to, tag, length) = sends[next_send];
                next_send += 1;
                let mut memory = Box::new(Memory::new(length, random.below(3) == 0));
                let number = arrived[to as usize].iter().filter(|sent| sent.from == from).count() as u32;
                let data = content(memory.length, from, number << 8 | to);
                memory.store(&data);
                let mode = if random.below(4) == 0 { Mode::Synchronous } else { Mode::Standard };
                let datatype = memory.datatype.clone();
                let request = job.isend(from, to, tag, memory.buffer(), datatype, mode);
                arrived[to as usize].push(Sent { from, tag, data });
                sending.push((from, request, memory));
            }
            1 | 2 => {
                let rank = random.below(ranks.into()) as u32;
                let Some(&(from, tag, _)) = plans[rank as usize].get(posted[rank as usize]) else { continue };
                let (source, tag) = match wild[rank as usize] {
                    Wild::Both => (MPI_ANY_SOURCE, MPI_ANY_TAG),
                    Wild::Tag => (from as i32, MPI_ANY_TAG),
                    Wild::Source => (MPI_ANY_SOURCE, tag),
                    Wild::None => (from as i32, tag),
                };
                let pattern = Envelope::new(2, source, tag);
                let (engine, me) = (job.engine(rank), job.me(rank));
                let room = if random.below(8) == 0 { random.below(1000) as usize } else { 40_010 };
                let mut memory = Box::new(Memory::new(room, random.below(3) == 0));
                let datatype = memory.datatype.clone();
                let request = if random.below(4) == 0 {
                    let Some((matched, _)) = engine.improbe(me, &pattern, MPI_COMM_WORLD) else { continue };
                    unsafe { engine.imrecv(me, matched, memory.buffer()) }
                } else {
                    job.irecv(rank, source, tag, memory.buffer(), datatype)
                };
                posted[rank as usize] += 1;
                receiving.push((rank, request, memory, pattern));
            }
            3 | 4 => _ = job.nodes[random.below(job.nodes.len() as u64) as usize].poll(),
            _ => {
                if random.below(2) == 0
                    && let Some(place) =
                        sending.iter().position(|(rank, request, _)| job.is_complete(*rank, *request))
                {
                    let (rank, request, _) = sending.swap_remove(place);
                    assert!(job.end(rank, request).error.is_none());
                }
                // In the order of their posts, so that messages are taken by the order rule.
                let rank = random.below(ranks.into()) as u32;
                let Some(place) = receiving.iter().position(|(receiver, request, _, _)| {
                    *receiver == rank && job.is_complete(rank, *request)
                }) else {
                    continue;
                };
                let (rank, request, memory, pattern) = receiving.remove(place);
                let Completion { status, error, .. } = job.end(rank, request);
                let data = &arrived[rank as usize];
                let taken = &mut taken[rank as usize];
                // The rank's receives are alike, and those posted before may not be complete: this one got one of the
                // messages it could have got, and its place tells which.
                let before = receiving.iter().filter(|(r, _, _, p)| *r == rank && *p == pattern).count();
                let fits = |sent: &Sent| (sent.from as i32, sent.tag) == (status.source, status.tag);
                let candidates = data.iter().enumerate().filter(|(i, sent)| !taken[*i] && fits(sent));
                let length = status.bytes() as usize;
                let got = memory.load(length);
                let found = candidates.take(before + 1).find(|(_, sent)| {
                    let whole = sent.data.len().min(memory.length);
                    whole == length && sent.data[..whole] == got
                });
                let (index, sent) = found.expect("the data of a message that may be taken here");
                taken[index] = true;
                assert_eq!(
                    error.map(|e| e.class),
                    (sent.data.len() > memory.length).then_some(MPI_ERR_TRUNCATE)
                );
                assert!(memory.gaps_are_clean(), "bytes between the blocks were written");
                received += 1;
            }
        }
    }
    assert!(taken.iter().flatten().all(|taken| *taken));
    for rank in 0..ranks {
        assert_eq!(job.me(rank).requests().live(), 0, "requests leak");
    }
}

#[test]
fn random_traffic_follows_the_order_rules() {
    seeds(240).for_each(traffic);
}

/// Sends numbered messages of one pair, receives them one after the other, and wants them in order.
#[test]
fn messages_of_a_pair_do_not_overtake() {
    for seed in seeds(120) {
        let _seed = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits {
            eager: 300,
            unexpected: [0, 1500, 1 << 20][random.below(3) as usize],
            rings: 0,
            spins: 0,
        };
        let job = Job::new(Places::blocks(2, 1), Conditions::random(seed, 2), limits);
        let mut sending = Vec::new();
        let mut got = 0u32;
        let mut receive: Option<(abi::Request, Box<Vec<u8>>)> = None;
        let mut steps = 0;
        while got < 60 {
            steps += 1;
            assert!(steps < 1_000_000, "only {got} messages arrive");
            if sending.len() < 60 && random.below(3) == 0 {
                let number = sending.len() as u32;
                let mut data = Box::new(content([8, 200, 301, 3000][random.below(4) as usize], 0, number));
                data[..4].copy_from_slice(&number.to_le_bytes());
                let mode = if random.below(5) == 0 { Mode::Synchronous } else { Mode::Standard };
                sending.push((job.isend(0, 1, 7, dense(&mut data), None, mode), data));
            }
            if receive.is_none() && random.below(3) == 0 {
                let mut data = Box::new(vec![0; 3000]);
                let source = if random.below(2) == 0 { 0 } else { MPI_ANY_SOURCE };
                let request = job.irecv(1, source, 7, dense(&mut data), None);
                receive = Some((request, data));
            }
            job.poll();
            if let Some((request, data)) = receive.take_if(|(request, _)| job.is_complete(1, *request)) {
                let length = job.end(1, request).status.bytes() as usize;
                let mut expected = content(length, 0, got);
                expected[..4].copy_from_slice(&got.to_le_bytes());
                assert_eq!(data[..length], expected, "message {got}");
                got += 1;
            }
        }
        for (request, _) in sending {
            assert!(job.finish(0, request).error.is_none());
        }
    }
}

#[test]
fn what_nobody_receives_stays_within_the_limit() {
    let limits = Limits { eager: 1000, unexpected: 50_000, rings: 0, spins: 0 };
    let job = Job::new(Places::blocks(2, 1), Conditions::calm(1), limits);
    let mut data = vec![7; 1000];
    let mut sending: Vec<_> =
        (0..500).map(|_| job.isend(0, 1, 0, dense(&mut data), None, Mode::Standard)).collect();
    for _ in 0..5000 {
        job.poll();
    }
    let early = sending.iter().filter(|request| job.is_complete(0, **request)).count();
    assert!((20..=50).contains(&early), "{early} messages of 1000 bytes are kept of 50,000 bytes");
    let mut got = vec![0; 1000];
    for _ in 0..500 {
        let request = job.irecv(1, 0, 0, dense(&mut got), None);
        assert_eq!(job.finish(1, request).status.bytes(), 1000);
    }
    sending.drain(..).for_each(|request| assert!(job.finish(0, request).error.is_none()));
    // All the credit is back.
    let request = job.isend(0, 1, 0, dense(&mut data), None, Mode::Standard);
    assert!(job.is_complete(0, request), "a short message goes at once again");
}

/// Each part goes its own way, so they come in any order, between other messages, and some of one message before others of it.
#[test]
fn parts_of_long_messages_may_come_in_any_order() {
    for seed in seeds(24) {
        let _seed = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits { eager: 64, unexpected: 1 << 20, rings: 0, spins: 0 };
        let conditions = Conditions { ways: 3, remote_read: false, ..Conditions::random(seed, 2) };
        let job = Job::new(Places::blocks(2, 1), conditions, limits);
        let mut sent: Vec<_> = (0..6)
            .map(|number| content([100, 300_000, 700_001, 1 << 20][random.below(4) as usize], 0, number))
            .collect();
        // Some receives are for less, whose sender sends no more, or for more.
        let mut got: Vec<_> = sent
            .iter()
            .map(|data| vec![0; data.len().saturating_add_signed([0, -1, 9][random.below(3) as usize])])
            .collect();
        let receives: Vec<_> = got.iter_mut().map(|got| job.irecv(1, 0, 3, dense(got), None)).collect();
        let sends: Vec<_> =
            sent.iter_mut().map(|data| job.isend(0, 1, 3, dense(data), None, Mode::Standard)).collect();
        for (number, (&receive, &send)) in receives.iter().zip(&sends).enumerate() {
            let length = sent[number].len().min(got[number].len());
            assert_eq!(job.finish(1, receive).error.is_none(), length == sent[number].len(), "too long");
            assert!(got[number][..length] == sent[number][..length], "message {number}");
            assert!(job.finish(0, send).error.is_none());
        }
    }
}

#[test]
fn a_synchronous_send_waits_for_its_receive() {
    for seed in seeds(40) {
        let _seed = Seed(seed);
        let limits = Limits { eager: 4096, unexpected: 1 << 20, rings: 0, spins: 0 };
        let job = Job::new(Places::blocks(2, 1), Conditions::random(seed, 2), limits);
        for length in [0, 8, 9000] {
            let mut data = content(length, 0, 1);
            let send = job.isend(0, 1, 3, dense(&mut data), None, Mode::Synchronous);
            for _ in 0..500 {
                job.poll();
            }
            assert!(!job.is_complete(0, send), "nothing has been received");
            let pattern = Envelope::new(2, MPI_ANY_SOURCE, 3);
            let probed = job.engine(1).iprobe(job.me(1), &pattern).expect("the request is there");
            assert_eq!((probed.source, probed.bytes()), (0, length as u64));
            let mut got = vec![0; length];
            let receive = job.irecv(1, 0, 3, dense(&mut got), None);
            assert_eq!(job.finish(1, receive).status.bytes(), length as u64);
            assert!(job.finish(0, send).error.is_none());
            assert_eq!(got, data);
        }
    }
}

#[test]
fn a_cancelled_operation_or_its_message_is_never_lost() {
    for seed in seeds(200) {
        let _seed = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits { eager: 64, unexpected: 1 << 20, rings: 0, spins: 0 };
        let job = Job::new(Places::blocks(2, 1), Conditions::random(seed, 2), limits);
        let length = [8, 5000][random.below(2) as usize];
        let mut data = content(length, 0, 1);
        let (mut got, mut again) = (vec![0; length], vec![0; length]);
        let receive = job.irecv(1, 0, 1, dense(&mut got), None);
        let send = job.isend(0, 1, 1, dense(&mut data), None, Mode::Standard);
        for _ in 0..random.below(200) {
            job.poll();
        }
        job.engine(1).cancel(job.me(1), receive).unwrap();
        let cancelled = job.finish(1, receive).status.cancelled();
        if cancelled {
            for _ in 0..random.below(200) {
                job.poll();
            }
            // A short one may wait for room, beyond recall.
            if length > 64 && random.below(2) == 0 {
                job.engine(0).cancel(job.me(0), send).unwrap();
                let status = job.finish(0, send).status;
                assert!(status.cancelled(), "nobody has received it");
                continue;
            }
            let receive = job.irecv(1, 0, 1, dense(&mut again), None);
            assert_eq!(job.finish(1, receive).status.bytes(), length as u64);
            got = again;
        }
        assert!(!job.finish(0, send).status.cancelled());
        assert_eq!(got, data);
    }
}

/// A program may have synchronised in other ways, and so know that the message has come.
#[test]
fn what_has_come_before_its_receive_is_cancelled_is_received() {
    let limits = Limits { eager: 64, unexpected: 1 << 20, rings: 0, spins: 0 };
    let job = Job::new(Places::blocks(2, 1), Conditions::calm(1), limits);
    let (mut data, mut got) = (content(8, 0, 1), vec![0; 8]);
    let receive = job.irecv(1, 0, 1, dense(&mut got), None);
    let send = job.isend(0, 1, 1, dense(&mut data), None, Mode::Standard);
    job.engine(1).cancel(job.me(1), receive).unwrap();
    assert!(!job.finish(1, receive).status.cancelled());
    assert!(job.finish(0, send).error.is_none());
    assert_eq!(got, data);
}

/// Cuts a connection in the middle of traffic: everything ends, and what says it went well did.
#[test]
fn a_lost_node_process_fails_operations_and_hangs_none() {
    for seed in seeds(160) {
        let _seed = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits { eager: 300, unexpected: 2000, rings: 0, spins: 0 };
        let job = Job::new(Places::blocks(3, 1), Conditions::random(seed, 3), limits);
        job.network().cut_at(random.below(400), 0, 1);
        let (mut sending, mut receiving) = (Vec::new(), Vec::new());
        for number in 0..30u32 {
            let length = [8, 200, 400, 20_000][random.below(4) as usize];
            let (from, to) = if random.below(2) == 0 { (0, 1) } else { (1, 0) };
            let gaps = random.below(3) == 0;
            let mut memory = Box::new(Memory::new(length, gaps));
            let data = content(memory.length, from, number);
            memory.store(&data);
            let datatype = memory.datatype.clone();
            sending.push((
                from,
                job.isend(from, to, number as i32, memory.buffer(), datatype, Mode::Standard),
                memory,
            ));
            let mut memory = Box::new(Memory::new(20_010, random.below(3) == 0));
            let datatype = memory.datatype.clone();
            let request = job.irecv(to, from as i32, number as i32, memory.buffer(), datatype);
            receiving.push((to, request, memory, data));
            for _ in 0..random.below(10) {
                job.poll();
            }
        }
        let mut failures = 0;
        for (rank, request, memory, data) in receiving {
            let Completion { status, error, .. } = job.finish(rank, request);
            match error {
                Some(error) => {
                    assert_eq!(error.class, MPI_ERR_PROC_ABORTED);
                    assert!(error.message.contains("node process"), "{}", error.message);
                    failures += 1;
                }
                None => assert_eq!(memory.load(status.bytes() as usize), data),
            }
        }
        for (rank, request, memory) in sending {
            failures += u32::from(job.finish(rank, request).error.is_some());
            drop(memory);
        }
        job.network().advance(1000);
        for _ in 0..2000 {
            job.poll();
        }
        // Whoever waits for a message now waits in vain.
        let mut late = [0; 8];
        let receive = job.irecv(0, 1, 99, dense(&mut late), None);
        assert!(job.finish(0, receive).error.is_some(), "after {failures} failures");
        let pattern = Envelope::new(2, MPI_ANY_SOURCE, 98);
        assert!(job.engine(0).probe(job.me(0), &pattern).is_err());
        let send = job.isend(0, 1, 99, dense(&mut late), None, Mode::Synchronous);
        assert!(job.finish(0, send).error.is_some());
    }
}

#[test]
fn nonsense_from_a_peer_fails_the_peer_and_nothing_else() {
    use weft_p2p::remote::frame::Frame;
    for seed in seeds(120) {
        let _seed = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits { eager: 300, unexpected: 2000, rings: 0, spins: 0 };
        let job = Job::new(Places::blocks(3, 1), Conditions::calm(seed), limits);
        let device = job.network().device(2);
        let mut data = content(9000, 0, 1);
        let send = job.isend(0, 2, 1, dense(&mut data), None, Mode::Standard);
        for _ in 0..20 {
            let names: Vec<u64> =
                (0..3).map(|_| random.below(4) << 44 | random.below(2) << 24 | random.below(2)).collect();
            let frame = match random.below(5) {
                0 => Frame::Clear {
                    send: names[0],
                    receive: names[1],
                    bytes: random.below(10_000),
                    pieces: false,
                },
                1 => Frame::Data { receive: names[0], offset: names[2] },
                2 => Frame::Cancelled { send: names[0] },
                3 => Frame::Cancel { target: random.below(3) as u32, send: names[0] },
                _ => Frame::Done { send: names[0] },
            };
            let mut header = frame.encode().bytes().to_vec();
            if random.below(3) == 0 {
                let place = random.below(header.len() as u64) as usize;
                header[place] = random.below(256) as u8;
            }
            header.truncate(64 - random.below(8) as usize * random.below(2) as usize);
            let payload = content(random.below(100) as usize * random.below(2) as usize, 2, 1);
            let _ = device.send(0, Channel::POINT_TO_POINT, &header, &payload);
            job.nodes[0].poll();
        }
        // Whatever became of it, it has an end.
        if job.is_complete(0, send) {
            job.end(0, send);
        } else {
            job.network().isolate(2);
            job.finish(0, send);
        }
        let mut got = vec![0; 9000];
        let send = job.isend(0, 1, 5, dense(&mut data), None, Mode::Standard);
        let mut steps = 0;
        let pattern = Envelope::new(2, 0, 5);
        let matched = loop {
            job.poll();
            steps += 1;
            assert!(steps < 100_000, "ranks of other node processes cannot talk any more");
            if let Some((matched, _)) = job.engine(1).improbe(job.me(1), &pattern, MPI_COMM_WORLD) {
                break matched;
            }
        };
        let receive = unsafe { job.engine(1).imrecv(job.me(1), matched, dense(&mut got)) };
        job.finish(1, receive);
        job.finish(0, send);
        assert_eq!(got, data);
    }
}

#[test]
fn a_header_with_something_in_its_last_word_is_reported_as_others_that_are_malformed() {
    use weft_p2p::remote::frame::Frame;
    for described in [false, true] {
        let limits = Limits { eager: 300, unexpected: 2000, rings: 0, spins: 0 };
        let job = Job::new(Places::blocks(2, 1), Conditions::calm(1), limits);
        let mut got = [0; 8];
        let receive = job.irecv(0, 1, 3, dense(&mut got), None);
        let envelope = Envelope::new(2, 1, 3);
        let mut header = Frame::Eager { target: 0, envelope, described }.encode().bytes().to_vec();
        *header.last_mut().unwrap() = 1;
        let sent = job.network().device(1).send(0, Channel::POINT_TO_POINT, &header, b"wrong");
        assert!(sent.is_ok(), "{sent:?}");
        let error = job.finish(0, receive).error.expect("its sender is no peer of ours any more");
        assert!(error.message.contains("a malformed header"), "{}", error.message);
        assert_eq!(got, [0; 8]);
    }
}

/// The receiver has the message, and what says so has arrived at the sender: the next send finds its room.
#[test]
fn a_buffered_send_looks_whether_there_is_room_by_now() {
    let limits = Limits { eager: 300, unexpected: 2000, rings: 0, spins: 0 };
    let job = Job::new(Places::blocks(2, 1), Conditions::calm(1), limits);
    const LENGTH: usize = 5000;
    let mut space = vec![0; LENGTH + MPI_BSEND_OVERHEAD as usize];
    let mut data = content(LENGTH, 0, 1);
    let (address, size) = (space.as_mut_ptr(), space.len());
    let (engine, me) = (job.engine(0), job.me(0));
    unsafe { engine.attach_buffer(me, Scope::Process, address, size, false) }.expect("there is none");
    let mut send = |tag| {
        let envelope = Envelope::new(2, 0, tag);
        let scopes = Scopes { comm: MPI_COMM_WORLD, session: None };
        unsafe { engine.send_buffered(me, 1, envelope, dense(&mut data), scopes) }
    };
    let mut got = vec![0; LENGTH];
    for tag in 0..10 {
        send(tag).expect("all is free, as far as can be known");
        let full = send(tag).expect_err("the first is there");
        assert_eq!(full.class, MPI_ERR_BUFFER);
        let receive = job.irecv(1, 0, tag, dense(&mut got), None);
        // The sender polls first, so that it has not heard of the end when the receiver has everything.
        while !job.is_complete(1, receive) {
            job.poll();
        }
        assert!(job.end(1, receive).error.is_none());
    }
}

/// Ends the test program when a rank fails: the others would wait for it for ever.
struct EndAll;

impl Drop for EndAll {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

#[test]
fn ranks_on_threads_exchange_messages() {
    for seed in seeds(12) {
        println!("seed {seed}");
        exchange(seed, &Job::random(&mut Random::new(seed)));
    }
}

/// The same through shared memory, as processes of one host use it.
#[test]
fn ranks_on_threads_exchange_messages_through_a_segment() {
    for (seed, nodes) in seeds(8).zip([2, 3, 4].into_iter().cycle()) {
        println!("seed {seed}");
        let (memory, _) = Segment::create(nodes).unwrap();
        let attach = |node| SegmentDevice::attach(memory.try_clone().unwrap(), node).unwrap();
        let devices = (0..nodes).map(|node| Box::new(attach(node)) as Box<dyn Device>).collect();
        let limits = Limits { eager: 4096, unexpected: 10_000, rings: 16, spins: 50 };
        exchange(seed, &Job::over(devices, Places::round_robin(nodes + 2, nodes), limits));
    }
}

/// Each rank a thread, each node process polled by one more: blocking calls, several threads of several ranks at once.
fn exchange(seed: u64, job: &Job) {
    let ranks = job.places.size();
    let left = std::sync::atomic::AtomicU32::new(ranks);
    let ready = std::sync::Barrier::new(ranks as usize);
    std::thread::scope(|scope| {
        for node in &job.nodes {
            scope.spawn(|| {
                while left.load(std::sync::atomic::Ordering::Relaxed) != 0 {
                    if !node.poll() {
                        std::thread::yield_now();
                    }
                }
            });
        }
        for rank in 0..ranks {
            let (left, ready) = (&left, &ready);
            scope.spawn(move || {
                let _guard = EndAll;
                let (engine, me) = (job.engine(rank), job.me(rank));
                engine.attach(rank, weft_sched::current());
                ready.wait();
                let mut random = Random::new(seed ^ 77);
                for number in 0..120u32 {
                    // All ranks draw the same numbers.
                    let (shift, length) =
                        (1 + random.below(u64::from(ranks) - 1) as u32, LENGTHS[random.below(10) as usize]);
                    let (way, wild) = (random.below(4), random.below(2));
                    let (next, previous) = ((rank + shift) % ranks, (rank + ranks - shift) % ranks);
                    let mut data = content(length, rank, number);
                    let mut got = vec![0; length];
                    let envelope = Envelope::new(4, rank as i32, number as i32);
                    let source = if wild == 0 { MPI_ANY_SOURCE } else { previous as i32 };
                    let pattern = Envelope::new(envelope.context, source, envelope.tag());
                    let from = (wild != 0).then_some(previous);
                    let (data, room) = (dense(&mut data), dense(&mut got));
                    let status = unsafe {
                        match way {
                            0 => {
                                let send = Some((next, envelope, data));
                                let (status, result) = engine.sendrecv(me, send, Some((from, pattern, room)));
                                result.unwrap();
                                status
                            }
                            1 => {
                                let request = engine.irecv(me, pattern, room, None, MPI_COMM_WORLD);
                                engine.send(me, next, envelope, data, Mode::Synchronous).unwrap();
                                engine.wait_request(me, request).unwrap().status
                            }
                            2 => {
                                let mode = Mode::Standard;
                                let request =
                                    engine.isend(me, next, envelope, data, None, mode, MPI_COMM_WORLD);
                                let (matched, probed) = engine.mprobe(me, &pattern, MPI_COMM_WORLD).unwrap();
                                let (status, result) = engine.mrecv(me, matched, &room);
                                result.unwrap();
                                assert_eq!(probed, status);
                                engine.wait_request(me, request).unwrap();
                                status
                            }
                            _ => {
                                let mode = Mode::Standard;
                                let request =
                                    engine.isend(me, next, envelope, data, None, mode, MPI_COMM_WORLD);
                                let (status, result) = engine.receive(me, from, pattern, room);
                                result.unwrap();
                                engine.wait_request(me, request).unwrap();
                                status
                            }
                        }
                    };
                    assert_eq!((status.source, status.bytes()), (previous as i32, length as u64));
                    assert_eq!(got, content(length, previous, number));
                }
                assert_eq!(me.requests().live(), 0, "requests leak");
                // Others may still need this process to poll, which its own thread does.
                left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
            });
        }
    });
}

/// Partitioned operations of several rounds, with different numbers of parts on both sides, some buffers with gaps.
#[test]
fn parts_arrive_where_they_belong() {
    for seed in seeds(160) {
        let _seed = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits {
            eager: 300,
            unexpected: [0, 2000, 1 << 20][random.below(3) as usize],
            rings: 0,
            spins: 0,
        };
        let job = Job::new(Places::blocks(2, 1), Conditions::random(seed, 2), limits);
        // In units of three bytes, which is a block of the types with gaps.
        let (theirs, mine) =
            ([1, 2, 6, 12][random.below(4) as usize], [1, 3, 4, 12][random.below(4) as usize]);
        let units = 12 * (1 + random.below(400) as usize);
        let gaps = [random.below(2) == 0, random.below(2) == 0];
        let (mut from, mut to) = (vec![0u8; units * 5], vec![0u8; units * 5]);
        let block = |gaps: bool| {
            let packed = Datatype::contiguous(3, byte()).unwrap();
            if gaps { Datatype::resized(0, 5, &packed).unwrap() } else { packed }
        };
        let place = |gaps: bool, i: usize| if gaps { i / 3 * 5 + i % 3 } else { i };
        let envelope = Envelope::new(4, 0, 9);
        let parts = |memory: &mut [u8], parts: usize, gaps: bool| unsafe {
            weft_p2p::Parts::new(memory.as_mut_ptr(), parts as u32, (units / parts) as u64, block(gaps))
        };
        let (sender, receiver) = ((job.engine(0), job.me(0)), (job.engine(1), job.me(1)));
        // Whichever comes first.
        let mut sending = None;
        if random.below(2) == 0 {
            sending = Some(sender.0.psend_init(
                sender.1,
                Some(1),
                envelope,
                parts(&mut from, theirs, gaps[0]),
                MPI_COMM_WORLD,
            ));
        }
        let receiving = receiver.0.precv_init(
            receiver.1,
            Some((0, envelope)),
            parts(&mut to, mine, gaps[1]),
            MPI_COMM_WORLD,
        );
        let sending = sending.unwrap_or_else(|| {
            sender.0.psend_init(
                sender.1,
                Some(1),
                envelope,
                parts(&mut from, theirs, gaps[0]),
                MPI_COMM_WORLD,
            )
        });
        for round in 0..3u32 {
            let data = content(units * 3, 0, round);
            (0..units * 3).for_each(|i| from[place(gaps[0], i)] = data[i]);
            let receive_first = random.below(2) == 0;
            if receive_first {
                receiver.0.start(receiver.1, receiving).unwrap();
            }
            sender.0.start(sender.1, sending).unwrap();
            let mut order: Vec<i32> = (0..theirs as i32).collect();
            (0..theirs).for_each(|i| order.swap(i, random.below(theirs as u64) as usize));
            let last = order.pop().unwrap();
            sender.0.pready(sender.1, sending, order.iter().copied()).unwrap();
            if !receive_first {
                receiver.0.start(receiver.1, receiving).unwrap();
            }
            // Everything that does not overlap the part that is missing comes.
            let is_missing = |part: usize| {
                let (first, end) = (part * theirs / mine, ((part + 1) * theirs).div_ceil(mine));
                (first..end).contains(&(last as usize))
            };
            for part in 0..mine {
                let mut steps = 0;
                while !receiver.0.parrived(receiver.1, receiving, part as i32).unwrap() {
                    job.poll();
                    steps += 1;
                    if is_missing(part) && steps > 200 {
                        break;
                    }
                    assert!(steps < 100_000, "part {part} does not arrive");
                }
                assert_eq!(
                    is_missing(part),
                    steps > 200 && is_missing(part),
                    "a part is there before it is ready"
                );
                if !is_missing(part) {
                    let length = units * 3 / mine;
                    let range = part * length..(part + 1) * length;
                    assert!(range.into_iter().all(|i| to[place(gaps[1], i)] == data[i]), "part {part}");
                }
            }
            assert!(!job.is_complete(0, sending) && !job.is_complete(1, receiving));
            sender.0.pready(sender.1, sending, [last].into_iter()).unwrap();
            for (rank, request) in [(1, receiving), (0, sending)] {
                let mut steps = 0;
                while !job.is_complete(rank, request) {
                    job.poll();
                    steps += 1;
                    assert!(steps < 100_000, "a round does not end");
                }
                let completion = job.end(rank, request);
                assert!(completion.error.is_none() && completion.handle == request);
                if rank == 1 {
                    let status = completion.status;
                    assert_eq!((status.source, status.tag, status.bytes()), (0, 9, units as u64 * 3));
                }
            }
            assert!((0..units * 3).all(|i| to[place(gaps[1], i)] == data[i]));
        }
        sender.1.requests().free(sending).unwrap();
        receiver.1.requests().free(receiving).unwrap();
    }
}

/// Ranks of two jobs that meet exchange messages; each job gives the other's ranks numbers of its own.
#[test]
fn ranks_of_two_jobs_that_meet_exchange_messages() {
    for seed in seeds(20) {
        let _named = Seed(seed);
        let mut random = Random::new(seed);
        let limits = Limits { eager: 64, unexpected: 1 << 16, rings: 0, spins: 0 };
        let jobs = [2, 3].map(|nodes| {
            Job::new(Places::blocks(nodes, 1), Conditions::random(random.below(u64::MAX), nodes), limits)
        });
        let between = Network::new(5, Conditions::random(random.below(u64::MAX), 5));
        for (job, begin, others) in [(&jobs[0], 0, [2, 3, 4].as_slice()), (&jobs[1], 2, &[0, 1])] {
            let count = job.nodes.len() as u32;
            for (number, nodes) in job.nodes.iter().enumerate() {
                let device = between.device(begin + number as u32);
                assert_eq!(nodes.add(device, others, &vec![1; others.len()]), count);
                let node_of: Vec<Node> = (count..).take(others.len()).collect();
                assert_eq!(nodes.places().add(&node_of), count);
            }
        }
        let [first, second] = &jobs;
        for bytes in [0, 60, 200, 100_000] {
            let data: Vec<u8> = (0..bytes).map(|_| random.below(256) as u8).collect();
            let mut targets: Vec<Vec<u8>> = (0..6).map(|_| vec![0; bytes]).collect();
            let mut requests = Vec::new();
            for (number, target) in targets.iter_mut().enumerate() {
                let (one, other) = (number as u32 % 2, number as u32 / 2);
                let there = second.irecv(
                    other,
                    one as i32,
                    5,
                    unsafe { Buffer::dense(target.as_mut_ptr(), bytes as u64) },
                    None,
                );
                let buffer = unsafe { Buffer::dense(data.as_ptr().cast_mut(), bytes as u64) };
                let here = first.isend(one, 2 + other, 5, buffer, None, Mode::Standard);
                requests.push((one, here, other, there));
            }
            let is_done = |&(one, here, other, there): &(u32, _, u32, _)| {
                first.is_complete(one, here) && second.is_complete(other, there)
            };
            while !requests.iter().all(is_done) {
                first.nodes.iter().chain(&second.nodes).for_each(|nodes| _ = nodes.poll());
            }
            for (one, here, other, there) in requests {
                first.end(one, here);
                assert!(second.end(other, there).error.is_none());
            }
            assert!(targets.iter().all(|target| *target == data), "{bytes} bytes");
        }
    }
}
