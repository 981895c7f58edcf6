//! Measures the segment device between two processes on two cores, beside the machine's floors, and a barrier of many
//! processes that share them.
//!
//! `cargo run --release -p weft-local --example segment [latency|barrier PROCESSES]`
#![allow(unsafe_code)] // Forks, and passes buffers by address.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weft_local::{CrossMemory, Options, Segment, SegmentDevice};
use weft_sys::shared::Mapping;
use weft_transport::{Arriving, Channel, Device, Handler, Node, Placement, Refusal};

const HEADER: usize = 24;

/// Copies what arrives to one buffer, as a receive does, and counts.
struct Receive {
    buffer: *mut u8,
    arrived: AtomicU64,
    sent: AtomicU64,
    /// The address in the last header.
    address: AtomicU64,
}

// SAFETY: the buffer is used by the thread that polls only.
unsafe impl Sync for Receive {}

impl Handler for Receive {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        let mut address = [0; 8];
        address.copy_from_slice(&message.header[..8]);
        self.address.store(u64::from_le_bytes(address), Ordering::Relaxed);
        if message.present.len() as u64 == message.bytes {
            // SAFETY: the buffer has room for all sizes measured.
            unsafe {
                core::ptr::copy_nonoverlapping(message.present.as_ptr(), self.buffer, message.present.len())
            };
            self.arrived.store(self.arrived.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            return Placement::Taken;
        }
        Placement::Memory { address: self.buffer, capacity: message.bytes, token: 0 }
    }
    fn placed(&self, _: Node, _: Channel, _: u64) {
        self.arrived.store(self.arrived.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
    fn sent(&self, _: Node, _: Channel, _: u64) {
        self.sent.store(self.sent.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
    fn lost(&self, peer: Node, reason: &str) {
        panic!("lost {peer}: {reason}");
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Send,
    Start,
    Read,
}

fn exchange(
    device: &SegmentDevice,
    receive: &Receive,
    buffer: &[u8],
    bytes: usize,
    way: Way,
    rounds: u64,
) -> f64 {
    let (me, peer) = (device.node(), 1 - device.node());
    let mut header = [0u8; HEADER];
    header[..8].copy_from_slice(&(buffer.as_ptr() as u64).to_le_bytes());
    let (mut arrived, mut sent) =
        (receive.arrived.load(Ordering::Relaxed), receive.sent.load(Ordering::Relaxed));
    let mut send = || {
        let payload = if way == Way::Read { &[][..] } else { &buffer[..bytes] };
        if way == Way::Start {
            sent += 1;
            // SAFETY: the buffer stays until the report that is awaited below.
            while unsafe {
                device.start(peer, Channel::POINT_TO_POINT, 0, &header, payload.as_ptr(), bytes as u64, 0)
            }
            .is_err()
            {
                device.poll(receive);
            }
            while receive.sent.load(Ordering::Relaxed) < sent {
                device.poll(receive);
            }
        } else {
            while device.send(peer, Channel::POINT_TO_POINT, &header, payload) == Err(Refusal::Full) {
                device.poll(receive);
            }
        }
    };
    let mut wait = || {
        arrived += 1;
        while receive.arrived.load(Ordering::Relaxed) < arrived {
            if !device.poll(receive) {
                core::hint::spin_loop();
            }
        }
        if way == Way::Read {
            let address = receive.address.load(Ordering::Relaxed);
            // SAFETY: the peer leaves the buffer alone, and ours has room.
            unsafe { device.read(peer, address, receive.buffer, bytes as u64) }
                .unwrap_or_else(|e| panic!("{e}"));
        }
    };
    let begin = Instant::now();
    for _ in 0..rounds {
        if me == 0 {
            send();
            wait();
        } else {
            wait();
            send();
        }
    }
    begin.elapsed().as_nanos() as f64 / (2 * rounds) as f64
}

/// Messages in one direction, as many as go: nanoseconds for each.
fn stream(device: &SegmentDevice, receive: &Receive, rounds: u64) -> f64 {
    let before = receive.arrived.load(Ordering::Relaxed);
    let begin = Instant::now();
    if device.node() == 0 {
        for _ in 0..rounds {
            while device.send(1, Channel::POINT_TO_POINT, &[0; HEADER], &[0; 8]).is_err() {
                core::hint::spin_loop();
            }
        }
        while receive.arrived.load(Ordering::Relaxed) == before {
            device.poll(receive);
        }
    } else {
        while receive.arrived.load(Ordering::Relaxed) < before + rounds {
            device.poll(receive);
        }
        while device.send(0, Channel::POINT_TO_POINT, &[0; HEADER], &[0; 8]).is_err() {}
    }
    begin.elapsed().as_nanos() as f64 / rounds as f64
}

/// A number that goes to and fro in one line, or in two.
fn handoff(memory: &Mapping, node: Node, lines: usize, rounds: u64) -> f64 {
    // SAFETY: the end of the mapping is in the last pair's bytes, which nobody uses during this.
    let word = |side: usize| unsafe {
        &*memory.address().add(memory.size() - 4096 + side % lines * 256).cast::<AtomicU64>()
    };
    word(0).store(0, Ordering::SeqCst);
    word(1).store(0, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(5));
    let begin = Instant::now();
    for round in 0..rounds {
        if node == 0 {
            word(0).store(2 * round + 1, Ordering::Release);
            while word(1).load(Ordering::Acquire) != 2 * round + 2 {}
        } else {
            while word(0).load(Ordering::Acquire) != 2 * round + 1 {}
            word(1).store(2 * round + 2, Ordering::Release);
        }
    }
    begin.elapsed().as_nanos() as f64 / (2 * rounds) as f64
}

fn latency(fd: OwnedFd, node: Node) {
    let _ = weft_sys::cpu::bind(&[node as usize]);
    let memory = Mapping::of(fd.as_fd()).expect("a segment");
    let device = SegmentDevice::attach_with(
        fd,
        node,
        Options { cross_memory: CrossMemory::Always, ..Options::default() },
    )
    .unwrap_or_else(|e| panic!("{e}"));
    while device.attached() < 2 {
        weft_sys::cpu::yield_core();
    }
    const MOST: usize = 8 << 20;
    let source = vec![1u8; MOST];
    let mut target = vec![2u8; MOST];
    let receive = Receive {
        buffer: target.as_mut_ptr(),
        arrived: AtomicU64::new(0),
        sent: AtomicU64::new(0),
        address: AtomicU64::new(0),
    };
    let tell = |text: String| {
        if node == 0 {
            println!("{text}");
        }
    };
    tell(device.describe());
    let run = |bytes: usize, way: Way, rounds: u64| {
        exchange(&device, &receive, &source, bytes, way, rounds / 10 + 1);
        let mut times: Vec<f64> =
            (0..5).map(|_| exchange(&device, &receive, &source, bytes, way, rounds)).collect();
        times.sort_by(f64::total_cmp);
        times[2]
    };
    run(8, Way::Send, 1000);
    for lines in [1, 2] {
        handoff(&memory, node, lines, 1000);
        tell(format!(
            "floor: handoff in {lines} line(s)   {:8.1} ns",
            handoff(&memory, node, lines, 300_000)
        ));
    }
    let empty = Instant::now();
    for _ in 0..1_000_000 {
        device.poll(&receive);
    }
    tell(format!("poll in vain                {:8.1} ns", empty.elapsed().as_nanos() as f64 / 1e6));
    run(8, Way::Send, 1000);
    for bytes in [0, 8, 32, 33, 64, 256, 1024, 4096, 8192, 16384] {
        let floor = handoff(&memory, node, 1, 40_000);
        let time = run(bytes, Way::Send, 40_000);
        tell(format!("send  {bytes:8} B            {time:8.1} ns   handoff just before {floor:8.1} ns"));
    }
    tell(format!("stream of 8 B               {:8.1} ns", stream(&device, &receive, 1_000_000)));
    for bytes in [4096usize, 16384, 32 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, MOST] {
        let rounds = ((64 << 20) / bytes as u64).min(4000);
        let mut copy = vec![3u8; bytes];
        let begin = Instant::now();
        for _ in 0..rounds {
            copy.copy_from_slice(&source[..bytes]);
            core::hint::black_box(&mut copy);
        }
        let floor = begin.elapsed().as_nanos() as f64 / rounds as f64;
        let start = run(bytes, Way::Start, rounds);
        let read =
            if device.capabilities(1 - node).remote_read { run(bytes, Way::Read, rounds) } else { f64::NAN };
        let rate = |time: f64| bytes as f64 / time;
        tell(format!(
            "{bytes:8} B: start {start:10.0} ns {:5.1} GB/s   read {read:10.0} ns {:5.1} GB/s   memcpy {:5.1} GB/s",
            rate(start),
            rate(read),
            rate(floor)
        ));
    }
    device.leave();
}

/// Rounds of a dissemination barrier.
fn barrier(fd: OwnedFd, node: Node, spins: u32, yields: u32, is_flat: bool) -> f64 {
    let device = SegmentDevice::attach(fd, node).unwrap_or_else(|e| panic!("{e}"));
    let nodes = device.nodes();
    struct Count([AtomicU64; 16]);
    impl Handler for Count {
        fn arrive(&self, message: Arriving<'_>) -> Placement {
            let step = &self.0[usize::from(message.header[0])];
            step.store(step.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            Placement::Taken
        }
        fn placed(&self, _: Node, _: Channel, _: u64) {}
        fn sent(&self, _: Node, _: Channel, _: u64) {}
        fn lost(&self, peer: Node, reason: &str) {
            panic!("lost {peer}: {reason}");
        }
    }
    let count = Count(Default::default());
    let wait_for = |step: u8, many: u64| {
        let here = || count.0[usize::from(step)].load(Ordering::Relaxed) >= many;
        let mut looks = 0;
        while !here() {
            if device.poll(&count) {
                looks = 0;
                continue;
            }
            looks += 1;
            if looks <= spins {
                core::hint::spin_loop();
            } else if looks <= spins + yields {
                weft_sys::cpu::yield_core();
            } else {
                device.sleep(Duration::from_secs(1), &|| true);
            }
        }
    };
    let send = |to: Node, step: u8| {
        while device.send(to, Channel::COLLECTIVE, &[step; HEADER], b"").is_err() {
            device.poll(&count);
        }
    };
    let one = |round: u64| {
        if is_flat {
            if node == 0 {
                wait_for(0, round * u64::from(nodes - 1));
                (1..nodes).for_each(|to| send(to, 1));
            } else {
                send(0, 0);
                wait_for(1, round);
            }
            return;
        }
        let (mut distance, mut step) = (1, 0u8);
        while distance < nodes {
            send((node + distance) % nodes, step);
            wait_for(step, round);
            (distance, step) = (distance * 2, step + 1);
        }
    };
    const ROUNDS: u64 = 300;
    for round in 1..=50 {
        one(round);
    }
    let begin = Instant::now();
    for round in 51..=50 + ROUNDS {
        one(round);
    }
    let time = begin.elapsed().as_nanos() as f64 / ROUNDS as f64;
    device.leave();
    time
}

fn processes(nodes: u32, body: impl Fn(OwnedFd, Node)) {
    let (fd, _) = Segment::create(nodes).unwrap_or_else(|e| panic!("{e}"));
    let mut children = Vec::new();
    for node in 0..nodes {
        // SAFETY: this process has one thread.
        match unsafe { libc::fork() } {
            0 => {
                body(fd.try_clone().expect("a descriptor"), node);
                std::process::exit(0);
            }
            child => children.push(child),
        }
    }
    for child in children {
        // SAFETY: no status is asked for.
        unsafe { libc::waitpid(child, core::ptr::null_mut(), 0) };
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        None | Some("latency") => processes(2, latency),
        _ => {
            let nodes = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(32);
            for (spins, yields, is_flat) in
                [(0, 0, false), (0, 2, false), (0, 16, false), (0, 0, true), (0, 2, true), (0, 16, true)]
            {
                processes(nodes, |fd, node| {
                    let time = barrier(fd, node, spins, yields, is_flat) / 1000.0;
                    let shape = if is_flat { "flat" } else { "dissemination" };
                    if node == 0 {
                        println!(
                            "barrier of {nodes}, {shape}, {spins} looks, {yields} yields: {time:8.1} us"
                        );
                    }
                });
            }
        }
    }
}
