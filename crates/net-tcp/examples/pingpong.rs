//! Compares the device with plain sockets on the loopback interface: half a round trip, and bytes per second.
#![allow(unsafe_code)] // Starts messages from memory that stays.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use weft_net_tcp::{Listener, NetConfig, TcpDevice};
use weft_transport::{Arriving, Channel, Device, Handler, Node, Placement};

const CHANNEL: Channel = Channel::POINT_TO_POINT;

struct Count {
    arrived: AtomicU64,
    sent: AtomicU64,
    memory: std::sync::Mutex<Vec<u8>>,
}

impl Handler for Count {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        if message.present.len() as u64 == message.bytes {
            self.arrived.fetch_add(1, Ordering::Relaxed);
            return Placement::Taken;
        }
        let address = self.memory.lock().unwrap().as_mut_ptr();
        Placement::Memory { address, capacity: message.bytes, token: 0 }
    }
    fn placed(&self, _: Node, _: Channel, _: u64) {
        self.arrived.fetch_add(1, Ordering::Relaxed);
    }
    fn sent(&self, _: Node, _: Channel, _: u64) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }
    fn lost(&self, _: Node, _: &str) {}
}

/// Sends and waits for an answer, or the other way round; polls, or sleeps after `spins` polls in vain.
fn play(device: &TcpDevice, count: &Count, rounds: u64, bytes: usize, spins: u32) {
    let data = vec![1u8; bytes];
    let me = device.node();
    let wait = |number: u64| {
        let mut looks = 0;
        while count.arrived.load(Ordering::Relaxed) < number {
            if !device.poll(count) {
                looks += 1;
                if looks > spins {
                    device.sleep(Duration::from_secs(1), &|| true);
                }
            }
        }
    };
    let send = || {
        if bytes <= device.capabilities(1 - me).eager {
            while device.send(1 - me, CHANNEL, &[7; 24], &data).is_err() {
                device.poll(count);
            }
        } else {
            let before = count.sent.load(Ordering::Relaxed);
            // SAFETY: the data stays until it is sent, which is waited for.
            while unsafe { device.start(1 - me, CHANNEL, 0, &[7; 24], data.as_ptr(), bytes as u64, 1) }
                .is_err()
            {
                device.poll(count);
            }
            while count.sent.load(Ordering::Relaxed) == before {
                device.poll(count);
            }
        }
    };
    let begin = count.arrived.load(Ordering::Relaxed);
    for round in 1..=rounds {
        if me == 0 {
            send();
            wait(begin + round);
        } else {
            wait(begin + round);
            send();
        }
    }
}

fn raw(rounds: u64, bytes: usize) -> Duration {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = listener.accept().unwrap().0;
            stream.set_nodelay(true).unwrap();
            let mut data = vec![0; bytes];
            for _ in 0..rounds {
                stream.read_exact(&mut data).unwrap();
                stream.write_all(&data).unwrap();
            }
        });
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut data = vec![0; bytes];
        let begin = Instant::now();
        for _ in 0..rounds {
            stream.write_all(&data).unwrap();
            stream.read_exact(&mut data).unwrap();
        }
        begin.elapsed()
    })
}

fn main() {
    let listeners: Vec<_> = (0..2).map(|_| Listener::bind(&NetConfig::loopback()).unwrap()).collect();
    let book: Vec<_> = listeners.iter().map(|listener| listener.card()).collect();
    let devices: Vec<_> = (0..)
        .zip(listeners)
        .map(|(node, listener)| listener.join(node, book.clone(), [1; 32]).unwrap())
        .collect();
    println!("{:>9} {:>10} {:>10} {:>10}   us (half a round trip)", "bytes", "raw", "sleeping", "polling");
    for bytes in [1, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20] {
        let rounds = (2000u64).min((1 << 30) / bytes as u64 / 4).max(20);
        let time = |spins| {
            let counts = [(); 2].map(|()| Count {
                arrived: AtomicU64::new(0),
                sent: AtomicU64::new(0),
                memory: std::sync::Mutex::new(vec![0; bytes + 1]),
            });
            std::thread::scope(|scope| {
                scope.spawn(|| play(&devices[1], &counts[1], rounds + 20, bytes, spins));
                play(&devices[0], &counts[0], 20, bytes, spins);
                let begin = Instant::now();
                play(&devices[0], &counts[0], rounds, bytes, spins);
                begin.elapsed()
            })
        };
        let half = |time: Duration| time.as_nanos() as f64 / rounds as f64 / 2000.0;
        let results = [raw(rounds, bytes), time(0), time(100_000)].map(half);
        println!("{bytes:>9} {:>10.2} {:>10.2} {:>10.2}", results[0], results[1], results[2]);
    }
}
