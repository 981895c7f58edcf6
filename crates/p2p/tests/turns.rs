//! A rank that waits, and finds something for others each time it polls, does not keep those of its worker from running. One
//! scheduler, so one test.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The test is a caller that promises its buffers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use weft_base::constants::*;
use weft_p2p::{Buffer, Engine, Envelope, Limits, Mode};
use weft_sched::{Config, Scheduler};
use weft_transport::simulator::{Conditions, Network};
use weft_transport::{Arriving, Channel, Handler, Node, Nodes, Placement, Places};

/// How many polls there may be before the other rank's turn.
const FEW: u32 = 10;

/// Always has something to do, and counts how often it is asked.
struct Restless(AtomicU32);

static RESTLESS: Restless = Restless(AtomicU32::new(0));

impl Handler for Restless {
    fn arrive(&self, _message: Arriving<'_>) -> Placement {
        Placement::Taken
    }
    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}
    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}
    fn lost(&self, _peer: Node, _reason: &str) {}
    fn advance(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        true
    }
}

static ENGINE: OnceLock<&'static Engine> = OnceLock::new();
static WAITS: AtomicBool = AtomicBool::new(false);
/// How many polls there were before the second rank's turn.
static POLLS: AtomicU32 = AtomicU32::new(u32::MAX);

const ENVELOPE: Envelope = Envelope::new(2, 1, 0);

fn first() {
    let engine = ENGINE.get().expect("made before");
    let me = engine.attach(0, weft_sched::current());
    let mut memory = [0u8; 8];
    let buffer = unsafe { Buffer::dense(memory.as_mut_ptr(), 8) };
    let request = unsafe { engine.irecv(me, ENVELOPE, buffer, None, MPI_COMM_WORLD) };
    RESTLESS.0.store(0, Ordering::SeqCst);
    WAITS.store(true, Ordering::SeqCst);
    engine.wait_request(me, request).unwrap();
    assert_eq!(memory, [7; 8]);
}

fn second() {
    let engine = ENGINE.get().expect("made before");
    let me = engine.attach(1, weft_sched::current());
    while !WAITS.load(Ordering::SeqCst) {
        weft_sched::poll_failed();
    }
    POLLS.store(RESTLESS.0.load(Ordering::SeqCst), Ordering::SeqCst);
    let mut data = [7u8; 8];
    let data = unsafe { Buffer::dense(data.as_mut_ptr(), 8) };
    unsafe { engine.send(me, 0, ENVELOPE, data, Mode::Standard) }.unwrap();
}

#[test]
fn who_finds_something_at_each_poll_lets_others_run() {
    let places = Places::blocks(3, 2);
    let device = Network::new(2, Conditions::random(1, 2)).devices().swap_remove(0);
    let nodes: &'static Nodes = Box::leak(Box::new(Nodes::new(device, places)));
    nodes.serve(Channel::COLLECTIVE, &RESTLESS);
    let limits = Limits { eager: 4096, unexpected: 1 << 20, rings: 16, spins: 50, ..Limits::default() };
    assert!(ENGINE.set(Engine::spread(nodes, limits)).is_ok());
    weft_sched::start(Config {
        ranks: 2,
        workers: 1,
        scheduler: Scheduler::Auto,
        stack_size: 256 << 10,
        ..Config::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
    for (rank, entry) in [(0, first as fn()), (1, second as fn())] {
        weft_sched::spawn_rank(rank, Box::new(entry)).unwrap_or_else(|error| panic!("{error}"));
    }
    weft_sched::wait_for_ranks();
    let polls = POLLS.load(Ordering::SeqCst);
    assert!(polls <= FEW, "{polls} polls before the other rank's turn");
}
