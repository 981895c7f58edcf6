//! Many messages at once: from a sender that is faster than its receiver, from handlers, from several threads.

use super::recorder::{fill, header, number_of, pairs, poll_all, recorders, send};
use super::{CHANNELS, Devices};
use crate::{Arriving, Channel, Device, Handler, Node, Placement, Refusal};
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Checks that a device refuses messages before it holds a lot, and takes them again later.
pub fn back_pressure(devices: &Devices) {
    let recorders = recorders(devices);
    let eager = devices[0].capabilities(1).eager;
    for channel in CHANNELS {
        let before = recorders[1].count();
        let mut taken = 0u32;
        let mut refused = 0;
        while refused < 100 {
            match devices[0].send(1, channel, &header(taken, 4), &fill(eager, 0, channel, taken)) {
                Ok(()) => taken += 1,
                Err(Refusal::Full) => refused += 1,
                Err(lost) => panic!("{lost}"),
            }
            assert!(u64::from(taken) * (eager as u64) < 1 << 30, "held without bound");
        }
        assert!(taken > 0, "nothing gets through");
        for number in taken..taken + 50 {
            send(devices, &recorders, 0, 1, channel, &header(number, 4), &fill(eager, 0, channel, number));
        }
        while recorders[1].count() < before + taken as usize + 50 {
            poll_all(devices, &recorders);
        }
        let records = recorders[1].records();
        for (number, arrived) in records.arrived[before..].iter().enumerate() {
            assert_eq!(number_of(&arrived.header), number as u32);
            assert!(arrived.payload == fill(eager, 0, channel, number as u32));
        }
    }
}

/// Answers every message with one whose number is one less, until that is 0.
struct Echo<'a> {
    device: &'a dyn Device,
    waiting: Mutex<VecDeque<(Node, Channel, u32)>>,
    ended: AtomicU64,
}

impl Echo<'_> {
    fn answer(&self, to: Node, channel: Channel, number: u32) -> bool {
        let data = fill(number as usize % 200, self.device.node(), channel, number);
        match self.device.send(to, channel, &header(number, 8), &data) {
            Ok(()) => true,
            Err(Refusal::Full) => false,
            Err(lost) => panic!("{lost}"),
        }
    }

    /// Sends the answers for which there was no room.
    fn go_on(&self) {
        loop {
            let first = self.waiting.lock().expect("no panic").front().copied();
            let Some((to, channel, number)) = first else { return };
            if !self.answer(to, channel, number) {
                return;
            }
            self.waiting.lock().expect("no panic").pop_front();
        }
    }
}

impl Handler for Echo<'_> {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        let Arriving { from, channel, header, present, .. } = message;
        let number = number_of(header);
        assert!(present == fill(number as usize % 200, from, channel, number), "payload of message {number}");
        if number == 0 {
            self.ended.fetch_add(1, Ordering::Relaxed);
        } else {
            let mut waiting = self.waiting.lock().expect("no panic");
            if !waiting.is_empty() || !self.answer(from, channel, number - 1) {
                waiting.push_back((from, channel, number - 1));
            }
        }
        Placement::Taken
    }

    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {
        panic!("nothing is being placed");
    }

    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {
        panic!("nothing was started");
    }

    fn lost(&self, peer: Node, reason: &str) {
        panic!("{peer} is lost: {reason}");
    }
}

/// Checks that handlers can send, also when that is refused.
pub fn handlers_that_send(devices: &Devices) {
    const EACH: u32 = 40;
    let echoes: Vec<_> = devices
        .iter()
        .map(|device| Echo { device: &**device, waiting: Mutex::default(), ended: AtomicU64::new(0) })
        .collect();
    let mut begun = 0;
    for (from, to) in pairs(devices.len() as u32) {
        for channel in CHANNELS {
            for _ in 0..8 {
                while !echoes[from as usize].answer(to, channel, EACH) {
                    echoes.iter().for_each(|echo| _ = (echo.device.poll(echo), echo.go_on()));
                }
                begun += 1;
            }
        }
    }
    while echoes.iter().map(|echo| echo.ended.load(Ordering::Relaxed)).sum::<u64>() < begun {
        echoes.iter().for_each(|echo| _ = (echo.device.poll(echo), echo.go_on()));
    }
}

/// Checks that threads may send at once, each of which keeps its order, while others poll.
pub fn senders_side_by_side(devices: &Devices) {
    const THREADS: u32 = 3;
    const EACH: u32 = 200;
    let nodes = devices.len() as u32;
    let recorders = recorders(devices);
    let expected = (THREADS * EACH * (nodes - 1)) as usize;
    std::thread::scope(|scope| {
        for device in devices {
            for thread in 0..THREADS {
                scope.spawn(move || {
                    let from = device.node();
                    for number in 0..EACH {
                        for to in (0..nodes).filter(|&to| to != from) {
                            let channel = CHANNELS[number as usize % CHANNELS.len()];
                            let number = thread << 16 | number;
                            let data = fill((number % 250) as usize, from, channel, number);
                            while device.send(to, channel, &header(number, 8), &data).is_err() {
                                std::thread::yield_now();
                            }
                        }
                    }
                });
            }
        }
        for (device, recorder) in devices.iter().zip(&recorders) {
            scope.spawn(move || {
                while recorder.count() < expected {
                    if !device.poll(recorder) {
                        std::thread::yield_now();
                    }
                }
            });
        }
    });
    for recorder in &recorders {
        let mut last: HashMap<(Node, Channel, u32), u32> = HashMap::new();
        for arrived in &recorder.records().arrived {
            let number = number_of(&arrived.header);
            let key = (arrived.from, arrived.channel, number >> 16);
            assert!(last.insert(key, number).is_none_or(|before| before < number), "a thread's order");
            assert!(arrived.payload == fill((number % 250) as usize, arrived.from, arrived.channel, number));
        }
    }
}
