//! Messages of all lengths: once, whole, in order.
#![allow(unsafe_code)] // Promises memory to devices, as the layers above do.

use super::recorder::{Arrived, Recorder, fill, header, number_of, pairs, poll_all, recorders, send};
use super::{CHANNELS, Devices};
use crate::simulator::Random;
use crate::{Arriving, Channel, Handler, MAX_HEADER, Node, Placement, Refusal};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Checks that short messages arrive once, whole, and in order per pair and channel.
pub fn short_messages(devices: &Devices) {
    let nodes = devices.len() as u32;
    let recorders = recorders(devices);
    let eager = devices[0].capabilities(1).eager;
    let lengths = [0, 1, 7, 8, 9, 31, 32, 33, 40, 41, 63, 64, 65, 127, 128, 200, 255, 256, eager - 1, eager];
    let mut expected: HashMap<(Node, Node, Channel), Vec<Arrived>> = HashMap::new();
    let mut random = Random::new(u64::from(nodes));
    for number in 0..150u32 {
        for (from, to) in pairs(nodes) {
            let channel = CHANNELS[random.below(CHANNELS.len() as u64) as usize];
            let length = lengths[random.below(lengths.len() as u64) as usize];
            let head = header(number, random.below(MAX_HEADER as u64 + 1) as usize);
            let data = fill(length, from, channel, number);
            send(devices, &recorders, from, to, channel, &head, &data);
            let arrived = Arrived { from, channel, header: head, payload: data };
            expected.entry((from, to, channel)).or_default().push(arrived);
        }
        if random.below(8) == 0 {
            poll_all(devices, &recorders);
        }
    }
    while recorders.iter().map(Recorder::count).sum::<usize>() < 150 * pairs(nodes).count() {
        poll_all(devices, &recorders);
    }
    for _ in 0..100 {
        poll_all(devices, &recorders);
    }
    for ((from, to, channel), expected) in expected {
        let arrived = &recorders[to as usize].records().arrived;
        let got: Vec<_> =
            arrived.iter().filter(|a| (a.from, a.channel) == (from, channel)).cloned().collect();
        let numbers = |all: &[Arrived]| all.iter().map(|a| number_of(&a.header)).collect::<Vec<_>>();
        assert_eq!(numbers(&got), numbers(&expected), "order from {from} to {to} on {channel:?}");
        assert!(got == expected, "payloads or headers from {from} to {to} on {channel:?}");
    }
    for recorder in &recorders {
        assert!(recorder.records().sent.is_empty(), "a message that was not started is reported as sent");
    }
}

/// Checks that started messages arrive whole, in order with short ones, and that each is reported as sent exactly once.
pub fn long_messages(devices: &Devices) {
    let nodes = devices.len() as u32;
    let recorders = recorders(devices);
    let eager = devices[0].capabilities(1).eager;
    let lengths = [0, 1, 64, eager, eager + 1, 3 * eager + 5, 70_000, (1 << 20) + 3];
    let mut expected: HashMap<(Node, Node, Channel), Vec<Arrived>> = HashMap::new();
    let mut memory: Vec<Vec<u8>> = Vec::new();
    let mut tokens = Vec::new();
    let mut number = 0;
    for length in lengths.into_iter().cycle().take(16) {
        for (from, to) in pairs(nodes) {
            let channel = CHANNELS[number as usize / 3 % CHANNELS.len()];
            let data = fill(length, from, channel, number);
            let head = header(number, 24);
            let token = u64::MAX - u64::from(number);
            loop {
                // SAFETY: the vector's memory stays until the end of this function, which comes after all reports.
                let started = unsafe {
                    let device = &devices[from as usize];
                    device.start(to, channel, 0, &head, data.as_ptr(), length as u64, token)
                };
                match started {
                    Ok(()) => break,
                    Err(Refusal::Full) => _ = poll_all(devices, &recorders),
                    Err(lost) => panic!("{lost}"),
                }
            }
            tokens.push((from, to, channel, token));
            let list = expected.entry((from, to, channel)).or_default();
            list.push(Arrived { from, channel, header: head, payload: data.clone() });
            memory.push(data);
            number += 1;
            let (head, data) = (header(number, 8), fill(20, from, channel, number));
            send(devices, &recorders, from, to, channel, &head, &data);
            list.push(Arrived { from, channel, header: head, payload: data });
            number += 1;
        }
    }
    let is_reported = || {
        tokens.iter().all(|&(from, to, channel, token)| {
            recorders[from as usize].records().sent.contains_key(&(to, channel, token))
        })
    };
    while recorders.iter().map(Recorder::count).sum::<usize>() < number as usize || !is_reported() {
        poll_all(devices, &recorders);
    }
    for _ in 0..100 {
        poll_all(devices, &recorders);
    }
    for ((from, to, channel), expected) in expected {
        let arrived = &recorders[to as usize].records().arrived;
        let got: Vec<_> =
            arrived.iter().filter(|a| (a.from, a.channel) == (from, channel)).cloned().collect();
        let shape =
            |all: &[Arrived]| all.iter().map(|a| (number_of(&a.header), a.payload.len())).collect::<Vec<_>>();
        assert_eq!(shape(&got), shape(&expected), "order from {from} to {to} on {channel:?}");
        assert!(got == expected, "payloads or headers from {from} to {to} on {channel:?}");
    }
    for (from, to, channel, token) in tokens {
        assert_eq!(recorders[from as usize].records().sent[&(to, channel, token)], 1, "reported once");
    }
}

/// Checks that a receiver may take less than the whole of a message, and that what follows is not disturbed.
pub fn what_is_dropped(devices: &Devices) {
    let recorders: Vec<_> =
        devices.iter().map(|_| Recorder { room: Some(100), ..Recorder::default() }).collect();
    let channel = Channel::POINT_TO_POINT;
    let data = fill(50_000, 0, channel, 1);
    for token in 0..20u32 {
        loop {
            let head = header(token, 8);
            // SAFETY: the memory stays until all of it is reported.
            match unsafe { devices[0].start(1, channel, 0, &head, data.as_ptr(), 50_000, u64::from(token)) } {
                Ok(()) => break,
                Err(Refusal::Full) => _ = poll_all(devices, &recorders),
                Err(lost) => panic!("{lost}"),
            }
        }
    }
    while recorders[0].records().sent.len() < 20 || recorders[1].count() < 20 {
        poll_all(devices, &recorders);
    }
    for (number, arrived) in recorders[1].records().arrived.iter().enumerate() {
        assert_eq!(number_of(&arrived.header), number as u32);
        let length = arrived.payload.len();
        assert!(length >= 100 && arrived.payload == data[..length]);
    }
    /// Takes everything before it is there.
    struct Hasty(AtomicU64);
    impl Handler for Hasty {
        fn arrive(&self, message: Arriving<'_>) -> Placement {
            assert_eq!(u64::from(number_of(message.header)), self.0.fetch_add(1, Ordering::Relaxed));
            Placement::Taken
        }
        fn placed(&self, _from: Node, _channel: Channel, _token: u64) {
            panic!("nothing is being placed");
        }
        fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}
        fn lost(&self, _peer: Node, _reason: &str) {}
    }
    let hasty = Hasty(AtomicU64::new(0));
    for number in 0..10u32 {
        loop {
            let token = 100 + u64::from(number);
            // SAFETY: `data` is longer than what is sent, and lives until both devices are done.
            match unsafe { devices[0].start(1, channel, 0, &header(number, 8), data.as_ptr(), 50_000, token) }
            {
                Ok(()) => break,
                Err(_) => _ = (devices[0].poll(&recorders[0]), devices[1].poll(&hasty)),
            }
        }
    }
    while recorders[0].records().sent.len() < 30 || hasty.0.load(Ordering::Relaxed) < 10 {
        devices[0].poll(&recorders[0]);
        devices[1].poll(&hasty);
    }
    assert_eq!(hasty.0.load(Ordering::Relaxed), 10);
}

/// Checks that peers' memory can be read, where the device says so.
pub fn remote_read(devices: &Devices) {
    if !devices[0].capabilities(1).remote_read {
        return;
    }
    for length in [1usize, 8, 4095, 100_000, (4 << 20) + 1] {
        let source = fill(length, 1, Channel::POINT_TO_POINT, length as u32);
        let mut target = vec![0; length + 1];
        // SAFETY: both are as long as that, and nobody else uses them.
        let read = unsafe { devices[0].read(1, source.as_ptr() as u64, target.as_mut_ptr(), length as u64) };
        assert_eq!(read, Ok(()));
        assert!(target[..length] == source && target[length] == 0, "{length} bytes read");
    }
}
