//! A job on several node processes, and the memory of its messages.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The tests are callers that promise their buffers.

use weft_base::abi;
use weft_base::constants::*;
use weft_datatype::Datatype;
use weft_p2p::{Buffer, Completion, Endpoint, Engine, Envelope, Limits, Mode};
use weft_transport::simulator::{Conditions, Network, Random};
use weft_transport::{Channel, Device, Nobody, Node, Nodes, Places};

/// Names the seed of a test that fails.
pub struct Seed(pub u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("WEFT_TEST_SEED={}", self.0);
        }
    }
}

pub struct Job {
    /// Of jobs over the simulator.
    pub network: Option<Network>,
    pub nodes: Vec<&'static Nodes>,
    pub engines: Vec<&'static Engine>,
    pub places: Places,
}

impl Job {
    pub fn new(places: Places, conditions: Conditions, limits: Limits) -> Self {
        let network = Network::new(places.nodes(), conditions);
        Self { network: Some(network.clone()), ..Self::over(network.devices(), places, limits) }
    }

    pub fn over(devices: Vec<Box<dyn Device>>, places: Places, limits: Limits) -> Self {
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

    pub fn network(&self) -> &Network {
        self.network.as_ref().expect("a job over the simulator")
    }

    /// A job whose shape and network follow from the seed.
    pub fn random(random: &mut Random) -> Self {
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
            ..Limits::default()
        };
        let conditions = Conditions::random(random.below(u64::MAX), places.nodes());
        Self::new(places, conditions, limits)
    }

    pub fn engine(&self, rank: u32) -> &'static Engine {
        self.engines[self.places.of(rank).node as usize]
    }

    pub fn me(&self, rank: u32) -> &'static Endpoint {
        self.engine(rank).endpoint(rank)
    }

    pub fn isend(
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

    pub fn irecv(
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

    pub fn is_complete(&self, rank: u32, request: abi::Request) -> bool {
        self.engine(rank).is_request_complete(self.me(rank), request).unwrap()
    }

    pub fn end(&self, rank: u32, request: abi::Request) -> Completion {
        assert!(self.is_complete(rank, request));
        self.engine(rank).wait_request(self.me(rank), request).unwrap()
    }

    pub fn poll(&self) {
        self.nodes.iter().for_each(|node| _ = node.poll());
    }

    /// Polls until a request is complete.
    pub fn finish(&self, rank: u32, request: abi::Request) -> Completion {
        for _ in 0..1_000_000 {
            if self.is_complete(rank, request) {
                return self.end(rank, request);
            }
            self.poll();
        }
        panic!("a request does not complete");
    }
}

pub fn byte() -> &'static Datatype {
    Datatype::predefined(MPI_BYTE).unwrap()
}

pub fn dense(data: &mut [u8]) -> Buffer {
    unsafe { Buffer::new(data.as_mut_ptr(), data.len() as u64, byte()) }
}

/// Fills data so that sender and number show.
pub fn content(length: usize, from: u32, number: u32) -> Vec<u8> {
    let mut random = Random::new(u64::from(from) << 32 | u64::from(number));
    (0..length).map(|_| random.below(251) as u8).collect()
}

/// Memory of a message, dense or with gaps.
pub struct Memory {
    pub bytes: Vec<u8>,
    pub datatype: Option<Datatype>,
    pub length: usize,
}

impl Memory {
    /// Makes room for `length` bytes, in blocks of 3 with gaps of 2 if `gaps`.
    pub fn new(length: usize, gaps: bool) -> Self {
        if !gaps || length == 0 {
            return Self { bytes: vec![0; length], datatype: None, length };
        }
        let blocks = length.div_ceil(3);
        let datatype = Datatype::vector(blocks as i64, 3, 5, byte()).unwrap();
        Self { bytes: vec![0; blocks * 5], datatype: Some(datatype), length: blocks * 3 }
    }

    pub fn buffer(&mut self) -> Buffer {
        match &self.datatype {
            None => dense(&mut self.bytes),
            Some(datatype) => unsafe { Buffer::new(self.bytes.as_mut_ptr(), 1, datatype) },
        }
    }

    pub fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let gaps = self.datatype.is_some();
        (0..self.length).map(move |i| if gaps { i / 3 * 5 + i % 3 } else { i })
    }

    pub fn store(&mut self, data: &[u8]) {
        self.places().zip(data).for_each(|(place, byte)| self.bytes[place] = *byte);
    }

    pub fn load(&self, length: usize) -> Vec<u8> {
        self.places().take(length).map(|place| self.bytes[place]).collect()
    }

    pub fn gaps_are_clean(&self) -> bool {
        self.datatype.is_none() || (0..self.bytes.len()).all(|i| i % 5 < 3 || self.bytes[i] == 0)
    }
}

pub const LENGTHS: [usize; 10] = [0, 3, 8, 39, 42, 63, 700, 4095, 4098, 40_000];
