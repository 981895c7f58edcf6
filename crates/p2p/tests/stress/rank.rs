//! Ranks that are plain threads, and what they send.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // The tests are callers that promise their buffers.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use weft_base::abi;
use weft_base::constants::*;
use weft_datatype::Datatype;
use weft_p2p::{Buffer, Endpoint, Engine, Envelope, Limits, Mode};

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// The seed of the test that runs; of one of them if several do.
pub static SEED: AtomicU64 = AtomicU64::new(0);

/// Ends the test program when a rank fails: the others would wait for it for ever.
pub struct EndAll;

impl Drop for EndAll {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Past the test harness, which would keep what is printed until the test ends.
            let seed = SEED.load(Ordering::Relaxed);
            let _ =
                writeln!(std::io::stderr(), "a rank failed; WEFT_TEST_SEED={seed}, --nocapture says more");
            std::process::abort();
        }
    }
}

pub fn seed() -> u64 {
    let seed = weft_trials::seed();
    SEED.store(seed, Ordering::Relaxed);
    seed
}

pub fn byte() -> &'static Datatype {
    Datatype::predefined(MPI_BYTE).unwrap()
}

pub fn buffer(data: &mut [u8]) -> Buffer {
    unsafe { Buffer::new(data.as_mut_ptr(), data.len() as u64, byte()) }
}

pub fn envelope(source: i32, tag: i32) -> Envelope {
    Envelope::new(0, source, tag)
}

pub struct Rank {
    pub engine: &'static Engine,
    pub me: &'static Endpoint,
    pub rank: u32,
}

impl Rank {
    pub fn send(&self, target: u32, tag: i32, data: &mut [u8], mode: Mode) {
        unsafe { self.engine.send(self.me, target, envelope(self.rank as i32, tag), buffer(data), mode) }
            .unwrap()
    }
    pub fn isend(&self, target: u32, tag: i32, data: &mut [u8], mode: Mode) -> abi::Request {
        let envelope = envelope(self.rank as i32, tag);
        unsafe { self.engine.isend(self.me, target, envelope, buffer(data), None, mode, MPI_COMM_WORLD) }
    }
    pub fn receive(&self, source: i32, tag: i32, data: &mut [u8]) -> abi::Status {
        let from = u32::try_from(source).ok();
        let (status, result) =
            unsafe { self.engine.receive(self.me, from, envelope(source, tag), buffer(data)) };
        result.unwrap();
        status
    }
    pub fn irecv(&self, source: i32, tag: i32, data: &mut [u8]) -> abi::Request {
        unsafe { self.engine.irecv(self.me, envelope(source, tag), buffer(data), None, MPI_COMM_WORLD) }
    }
    pub fn wait(&self, request: abi::Request) -> abi::Status {
        let completion = self.engine.wait_request(self.me, request).unwrap();
        assert!(completion.error.is_none() && completion.handle == MPI_REQUEST_NULL);
        completion.status
    }
}

pub fn run(ranks: u32, limits: Limits, body: impl Fn(Rank) + Sync) {
    let engine: &'static Engine = Box::leak(Box::new(Engine::new(ranks, limits)));
    let attached = std::sync::Barrier::new(ranks as usize);
    std::thread::scope(|scope| {
        for rank in 0..ranks {
            let (body, attached) = (&body, &attached);
            scope.spawn(move || {
                let _guard = EndAll;
                let me = engine.attach(rank, weft_sched::current());
                attached.wait();
                body(Rank { engine, me, rank });
                assert_eq!(me.requests().live(), 0, "requests leak");
            });
        }
    });
}

/// Every combination of what decides the way of a message: rings or not, spinning or not, eager or not.
pub fn all_limits() -> Vec<Limits> {
    let mut all = Vec::new();
    for rings in [0, 1, 16] {
        for spins in [0, 300] {
            for (eager, unexpected) in [(0, 0), (64, 1000), (4096, 1 << 20)] {
                all.push(Limits { eager, unexpected, rings, spins, ..Limits::default() });
            }
        }
    }
    all
}

pub const LENGTHS: [usize; 10] = [0, 4, 8, 39, 40, 41, 64, 700, 4096, 9000];

/// Fills `data` so that sender, number and position show.
pub fn fill(data: &mut [u8], source: u32, number: u32) {
    for (i, byte) in data.iter_mut().enumerate() {
        *byte = (i as u32 ^ source.wrapping_mul(31) ^ number.wrapping_mul(7)) as u8;
    }
}

/// Fills a large message so that its number and every position show.
pub fn fill_large(data: &mut [u8], number: u32) {
    for (line, bytes) in data.chunks_mut(64).enumerate() {
        bytes.fill(line as u8 ^ number as u8);
        let mark = (line as u64) << 32 | u64::from(number);
        let length = bytes.len().min(8);
        bytes[..length].copy_from_slice(&mark.to_le_bytes()[..length]);
    }
}
