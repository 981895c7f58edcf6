//! Blocking receives of ranks that have a node process of their own, over a segment: what the receiver itself finds goes
//! straight into its buffer, and order is that of posted receives all the same.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The tests are callers that promise their buffers.

use std::sync::atomic::{AtomicBool, Ordering};
use weft_base::abi;
use weft_base::constants::*;
use weft_datatype::Datatype;
use weft_local::{Segment, SegmentDevice};
use weft_p2p::{Buffer, Endpoint, Engine, Envelope, Limits, Mode};
use weft_transport::{Channel, Nobody, Nodes, Places};

/// Two ranks, each on its own node process.
struct Pair {
    nodes: [&'static Nodes; 2],
    engines: [&'static Engine; 2],
}

fn envelope(tag: i32) -> Envelope {
    Envelope::new(2, 0, tag)
}

impl Pair {
    fn new() -> Self {
        let (memory, _) = Segment::create(2).unwrap();
        let nodes = [0, 1].map(|node| {
            let device = SegmentDevice::attach(memory.try_clone().unwrap(), node).unwrap();
            let nodes: &'static Nodes =
                Box::leak(Box::new(Nodes::new(Box::new(device) as Box<_>, Places::blocks(2, 1))));
            nodes.serve(Channel::COLLECTIVE, &Nobody);
            nodes
        });
        let limits = Limits { eager: 4096, unexpected: 1 << 20, rings: 16, spins: 50, ..Limits::default() };
        Self { nodes, engines: nodes.map(|nodes| Engine::spread(nodes, limits)) }
    }

    /// Makes the calling thread the own thread of a rank.
    fn enter(&self, rank: u32) -> &'static Endpoint {
        self.engines[rank as usize].attach(rank, weft_sched::current())
    }

    /// Makes it that of both; returns the receiver's endpoint.
    fn enter_both(&self) -> &'static Endpoint {
        self.enter(0);
        self.enter(1)
    }

    fn send(&self, tag: i32, data: &[u8]) {
        let me = self.engines[0].endpoint(0);
        let data = unsafe { Buffer::dense(data.as_ptr().cast_mut(), data.len() as u64) };
        unsafe { self.engines[0].send(me, 1, envelope(tag), data, Mode::Standard) }.unwrap();
    }

    fn irecv(&self, tag: i32, buffer: &mut [u8]) -> abi::Request {
        let me = self.engines[1].endpoint(1);
        let buffer = unsafe { Buffer::dense(buffer.as_mut_ptr(), buffer.len() as u64) };
        unsafe { self.engines[1].irecv(me, envelope(tag), buffer, None, MPI_COMM_WORLD) }
    }

    /// Receives into a buffer; returns the tag and the length.
    fn receive_into(&self, tag: i32, buffer: Buffer) -> (i32, usize) {
        let me = self.engines[1].endpoint(1);
        let (status, result) = unsafe { self.engines[1].receive(me, Some(0), envelope(tag), buffer) };
        result.unwrap();
        (status.tag, status.bytes() as usize)
    }

    fn receive(&self, tag: i32, most: usize) -> (i32, Vec<u8>) {
        let mut data = vec![0; most];
        let buffer = unsafe { Buffer::dense(data.as_mut_ptr(), most as u64) };
        let (tag, length) = self.receive_into(tag, buffer);
        data.truncate(length);
        (tag, data)
    }
}

fn content(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + seed * 13 + i / 251) as u8).collect()
}

#[test]
fn messages_of_all_lengths_arrive_whole_and_in_order() {
    let pair = Pair::new();
    pair.enter_both();
    for length in [0, 1, 8, 24, 25, 64, 96, 152, 300, 512, 520, 521, 1024, 2048, 2049, 5000, 16384] {
        for number in 0..3 {
            pair.send(number, &content(length, number as usize));
        }
        for number in 0..3 {
            assert_eq!(pair.receive(MPI_ANY_TAG, 16384), (number, content(length, number as usize)));
        }
    }
}

#[test]
fn a_message_finds_the_gaps_of_its_buffer() {
    let pair = Pair::new();
    pair.enter_both();
    let datatype = Datatype::vector(1000, 3, 5, Datatype::predefined(MPI_BYTE).unwrap()).unwrap();
    for length in [8, 300, 3000] {
        let data = content(length, 1);
        pair.send(1, &data);
        let mut memory = vec![0; 5000];
        let buffer = unsafe { Buffer::new(memory.as_mut_ptr(), 1, &datatype) };
        assert_eq!(pair.receive_into(1, buffer), (1, length));
        let got: Vec<u8> = (0..length).map(|i| memory[i / 3 * 5 + i % 3]).collect();
        assert_eq!(got, data);
    }
}

#[test]
fn a_receive_that_was_posted_before_goes_first() {
    let pair = Pair::new();
    let me = pair.enter_both();
    for length in [8, 300, 5000] {
        let mut first = vec![0; length];
        let request = pair.irecv(MPI_ANY_TAG, &mut first);
        pair.send(1, &content(length, 1));
        pair.send(1, &content(length, 2));
        assert_eq!(pair.receive(1, length).1, content(length, 2));
        pair.engines[1].wait_request(me, request).unwrap();
        assert_eq!(first, content(length, 1));
    }
}

#[test]
fn a_message_that_came_before_goes_first() {
    let pair = Pair::new();
    pair.enter_both();
    for length in [8, 300, 5000] {
        // The first is for nobody when it is found, by whoever polls or below the receive of the second.
        for polled in [true, false] {
            pair.send(1, &content(length, 1));
            pair.send(2, &content(length, 2));
            if polled {
                while pair.nodes[1].poll() {}
            }
            pair.send(1, &content(length, 3));
            assert_eq!(pair.receive(2, length).1, content(length, 2));
            assert_eq!(pair.receive(MPI_ANY_TAG, length).1, content(length, 1));
            assert_eq!(pair.receive(1, length).1, content(length, 3));
        }
    }
}

/// What another thread delivers does not fall behind what the receiver finds.
#[test]
fn order_is_kept_while_another_thread_polls() {
    const MESSAGES: usize = 5_000;
    let pair = Pair::new();
    let is_over = AtomicBool::new(false);
    let lengths = [8, 8, 8, 300, 8, 3000, 70_000];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pair.enter(0);
            (0..MESSAGES).for_each(|number| pair.send(3, &content(lengths[number % 7], number)));
        });
        // Also on behalf of those who are parked.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                pair.nodes.iter().for_each(|nodes| _ = nodes.poll());
                std::thread::yield_now();
            }
        });
        pair.enter(1);
        for number in 0..MESSAGES {
            let (_, data) = pair.receive(3, 70_000);
            if data != content(lengths[number % 7], number) {
                is_over.store(true, Ordering::Relaxed);
                std::process::abort();
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
