//! What every device must do, as functions that panic when one does not. [`suite`] calls all but [`loss`], which needs a
//! way to break a connection.
//!
//! The devices are those of all node processes of a job, opened in one process here. The functions poll them in turn, so
//! a device may count on nothing but its polls. Only those about sleep and about senders side by side use threads.
#![allow(unsafe_code)] // Promises memory to devices, as the layers above do.

use crate::simulator::Random;
use crate::{Arriving, Channel, Device, Handler, Leaving, MAX_HEADER, Node, Placement, Refusal};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Checks everything that needs no help from outside. `make` opens the devices of a new job of so many node processes.
///
/// # Panics
/// If a device does not do what it must.
pub fn suite(make: impl Fn(u32) -> Vec<Box<dyn Device>>) {
    says_who_it_is(&make(3));
    for nodes in [2, 3, 5] {
        short_messages(&make(nodes));
    }
    several_at_once(&make(2));
    long_messages(&make(2));
    long_messages(&make(3));
    parts(&make(3));
    what_is_dropped(&make(2));
    back_pressure(&make(2));
    handlers_that_send(&make(2));
    handlers_that_send(&make(4));
    remote_read(&make(2));
    senders_side_by_side(&make(3));
    sleep_and_arrivals(&make(2));
    sleep_and_wake(&make(2));
    rest_and_traffic(&make(3));
}

type Devices = [Box<dyn Device>];

/// Channels of all kinds: those that every job has, and others that a device must carry as well, up to the last one.
const CHANNELS: [Channel; 5] =
    [Channel::POINT_TO_POINT, Channel::COLLECTIVE, Channel::new(2), Channel::new(100), Channel::new(u8::MAX)];

/// What arrived at a process, whole.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Arrived {
    from: Node,
    channel: Channel,
    header: Vec<u8>,
    payload: Vec<u8>,
}

#[derive(Default)]
struct Records {
    arrived: Vec<Arrived>,
    placing: HashMap<u64, (Arrived, u64)>,
    tokens: u64,
    sent: HashMap<(Node, Channel, u64), u32>,
    lost: Vec<Node>,
}

/// Takes messages in all the ways a handler may, and keeps them.
#[derive(Default)]
struct Recorder {
    records: Mutex<Records>,
    /// Bytes of a payload that is not all there to make room for; all of them if not given.
    room: Option<u64>,
}

impl Recorder {
    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self) -> usize {
        self.records().arrived.len()
    }
}

impl Handler for Recorder {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        let Arriving { from, channel, header, bytes, present } = message;
        assert!(present.len() as u64 <= bytes, "more of the payload than there is");
        let mut records = self.records();
        assert!(!records.lost.contains(&from), "a message of a lost peer");
        let arrived = Arrived { from, channel, header: header.into(), payload: present.into() };
        // What is all there is taken at once or copied by the device, in turns.
        if present.len() as u64 == bytes && !records.arrived.len().is_multiple_of(3) {
            records.arrived.push(arrived);
            return Placement::Taken;
        }
        let capacity = self.room.unwrap_or(bytes).min(bytes);
        let payload = vec![0xee; capacity as usize + 1];
        records.tokens += 1;
        let token = records.tokens;
        // The memory stays where it is when the vector moves.
        let entry = records.placing.entry(token).or_insert((Arrived { payload, ..arrived }, capacity));
        Placement::Memory { address: entry.0.payload.as_mut_ptr(), capacity, token }
    }

    fn placed(&self, from: Node, channel: Channel, token: u64) {
        let mut records = self.records();
        let (mut arrived, capacity) =
            records.placing.remove(&token).expect("placed twice, or a token nobody gave");
        assert_eq!((arrived.from, arrived.channel), (from, channel), "placed for somebody else");
        assert_eq!(arrived.payload.pop(), Some(0xee), "bytes past the capacity were written");
        assert_eq!(arrived.payload.len() as u64, capacity);
        records.arrived.push(arrived);
    }

    fn sent(&self, to: Node, channel: Channel, token: u64) {
        *self.records().sent.entry((to, channel, token)).or_default() += 1;
    }

    fn lost(&self, peer: Node, _reason: &str) {
        self.records().lost.push(peer);
    }
}

/// Fills a payload so that sender, number and place show.
fn fill(bytes: usize, from: Node, channel: Channel, number: u32) -> Vec<u8> {
    let mut random =
        Random::new(u64::from(from) << 40 | u64::from(channel.number()) << 32 | u64::from(number));
    let mut data = vec![0; bytes];
    data.chunks_mut(8).for_each(|chunk| {
        let word = (random.below(u64::MAX)).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    });
    data
}

fn header(number: u32, length: usize) -> Vec<u8> {
    let mut header = fill(length.max(4), 99, Channel::COLLECTIVE, number);
    header[..4].copy_from_slice(&number.to_le_bytes());
    header
}

fn number_of(header: &[u8]) -> u32 {
    u32::from_le_bytes(header[..4].try_into().expect("four bytes"))
}

fn poll_all(devices: &Devices, recorders: &[Recorder]) -> bool {
    devices.iter().zip(recorders).fold(false, |moved, (device, recorder)| device.poll(recorder) | moved)
}

fn recorders(devices: &Devices) -> Vec<Recorder> {
    devices.iter().map(|_| Recorder::default()).collect()
}

/// Sends, polling everybody while there is no room.
fn send(
    devices: &Devices,
    recorders: &[Recorder],
    from: Node,
    to: Node,
    channel: Channel,
    head: &[u8],
    data: &[u8],
) {
    loop {
        match devices[from as usize].send(to, channel, head, data) {
            Ok(()) => return,
            Err(Refusal::Full) => _ = poll_all(devices, recorders),
            Err(lost) => panic!("{lost}"),
        }
    }
}

fn pairs(nodes: u32) -> impl Iterator<Item = (Node, Node)> {
    (0..nodes).flat_map(move |from| (0..nodes).filter(move |&to| to != from).map(move |to| (from, to)))
}

/// Checks that a device knows its place.
pub fn says_who_it_is(devices: &Devices) {
    const { assert!(MAX_HEADER >= 48, "headers of the layers above") };
    for (node, device) in devices.iter().enumerate() {
        assert_eq!((device.node() as usize, device.nodes() as usize), (node, devices.len()));
        assert!(!device.name().is_empty());
        for peer in (0..devices.len()).filter(|&peer| peer != node) {
            assert!(device.capabilities(peer as Node).eager >= 256, "payloads this short travel at once");
        }
    }
}

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

/// Checks that of messages which are sent at once the first ones are taken, that those arrive whole and in order with others,
/// and that the rest is still its sender's.
pub fn several_at_once(devices: &Devices) {
    let recorders = recorders(devices);
    let eager = devices[0].capabilities(1).eager;
    for channel in CHANNELS {
        let before = recorders[1].count();
        assert_eq!(devices[0].send_all(1, channel, &[]), Ok(0));
        let lengths = [eager, 0, eager, eager - 1, 9, eager, 200];
        let data: Vec<_> =
            (0..300u32).map(|n| (header(n, 24), fill(lengths[n as usize % 7], 0, channel, n))).collect();
        let mut next = 0;
        while next < data.len() {
            if next.is_multiple_of(11) {
                let (head, payload) = &data[next];
                send(devices, &recorders, 0, 1, channel, head, payload);
                next += 1;
                continue;
            }
            // Of more than a device sends by one call some are left.
            let all = data[next..].iter().take(1 + next % 40);
            let all: Vec<_> = all.map(|(header, payload)| Leaving { header, payload }).collect();
            match devices[0].send_all(1, channel, &all) {
                Ok(taken) => {
                    assert!((1..=all.len()).contains(&taken), "{taken} of {} messages", all.len());
                    next += taken;
                }
                Err(Refusal::Full) => _ = poll_all(devices, &recorders),
                Err(lost) => panic!("{lost}"),
            }
        }
        while recorders[1].count() < before + data.len() {
            poll_all(devices, &recorders);
        }
        let records = recorders[1].records();
        assert_eq!(records.arrived.len(), before + data.len());
        for (arrived, (head, payload)) in records.arrived[before..].iter().zip(&data) {
            assert_eq!(number_of(&arrived.header), number_of(head), "order");
            assert!(arrived.header == *head && arrived.payload == *payload, "message {}", number_of(head));
        }
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
                    device.start(to, channel, &head, data.as_ptr(), length as u64, token)
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

/// Checks that parts of long messages, which may come in any order, arrive whole and are reported as sent exactly once each.
pub fn parts(devices: &Devices) {
    let nodes = devices.len() as u32;
    let recorders = recorders(devices);
    let lengths = [1, 70_000, (1 << 20) + 3, 300_000, 5000];
    let (mut expected, mut memory, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..15 {
        for (from, to) in pairs(nodes) {
            let channel = CHANNELS[number as usize / 5 % CHANNELS.len()];
            let (data, head) =
                (fill(lengths[number as usize % 5], from, channel, number), header(number, 16));
            let token = u64::from(number);
            loop {
                let device = &devices[from as usize];
                let (address, bytes) = (data.as_ptr(), data.len() as u64);
                // SAFETY: the vector is not touched until all reports have come, at the end of this function.
                match unsafe { device.start_part(number, to, channel, &head, address, bytes, token) } {
                    Ok(()) => break,
                    Err(Refusal::Full) => _ = poll_all(devices, &recorders),
                    Err(lost) => panic!("{lost}"),
                }
            }
            tokens.push((from, to, channel, token));
            expected.push((to, Arrived { from, channel, header: head, payload: data.clone() }));
            memory.push(data);
        }
    }
    let reports = |&(from, to, channel, token): &(Node, Node, Channel, u64)| {
        recorders[from as usize].records().sent.get(&(to, channel, token)).copied()
    };
    while recorders.iter().map(Recorder::count).sum::<usize>() < expected.len()
        || tokens.iter().any(|token| reports(token).is_none())
    {
        poll_all(devices, &recorders);
    }
    for _ in 0..100 {
        poll_all(devices, &recorders);
    }
    for (to, message) in &expected {
        let records = recorders[*to as usize].records();
        let same = records.arrived.iter().filter(|arrived| *arrived == message).count();
        assert_eq!(same, 1, "part {} from {} to {to}", number_of(&message.header), message.from);
    }
    assert!(tokens.iter().all(|token| reports(token) == Some(1)), "reported once");
}

/// Checks of a device that says what rests in it that no message is ever forgotten: as long as one has not arrived, somebody
/// does not rest or more has been sent than received; once all have, all rest and both are equal.
pub fn rest_and_traffic(devices: &Devices) {
    let all_rest = || {
        let rests: Option<Vec<_>> = devices.iter().map(|device| device.rest()).collect();
        rests.is_some_and(|rests| {
            rests.iter().map(|rest| rest.sent).sum::<u64>()
                == rests.iter().map(|rest| rest.received).sum::<u64>()
        })
    };
    if devices.iter().all(|device| device.rest().is_none()) {
        return;
    }
    assert!(all_rest(), "nothing was sent");
    let nodes = devices.len() as u32;
    let recorders = recorders(devices);
    let pairs: Vec<_> = pairs(nodes).collect();
    let (data, mut random, mut sent) = (fill(70_000, 0, Channel::COLLECTIVE, 0), Random::new(7), 0);
    for number in 0..400u32 {
        if random.below(3) == 0 {
            let node = random.below(u64::from(nodes)) as usize;
            devices[node].poll(&recorders[node]);
        } else {
            let (from, to) = pairs[random.below(pairs.len() as u64) as usize];
            let channel = CHANNELS[random.below(CHANNELS.len() as u64) as usize];
            let (device, head) = (&devices[from as usize], header(number, 8));
            let accepted = if random.below(2) == 0 {
                device.send(to, channel, &head, &data[..random.below(200) as usize])
            } else {
                let bytes = random.below(data.len() as u64);
                // SAFETY: the memory stays until the end, when all that was started has arrived.
                unsafe { device.start(to, channel, &head, data.as_ptr(), bytes, u64::from(number)) }
            };
            sent += usize::from(accepted.is_ok());
        }
        let arrived = recorders.iter().map(Recorder::count).sum::<usize>();
        assert!(arrived == sent || !all_rest(), "{} of {sent} messages are forgotten", sent - arrived);
    }
    while recorders.iter().map(Recorder::count).sum::<usize>() < sent {
        assert!(!all_rest(), "a message is forgotten");
        poll_all(devices, &recorders);
    }
    for _ in 0..10_000 {
        if !poll_all(devices, &recorders) && all_rest() {
            return;
        }
    }
    panic!(
        "all has arrived, and they do not rest: {:?}",
        devices.iter().map(|d| d.rest()).collect::<Vec<_>>()
    );
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
            match unsafe { devices[0].start(1, channel, &head, data.as_ptr(), 50_000, u64::from(token)) } {
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
            match unsafe { devices[0].start(1, channel, &header(number, 8), data.as_ptr(), 50_000, token) } {
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

/// Long enough that a wake-up that was lost hangs the test.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// Checks that a process that sleeps is woken by what arrives.
pub fn sleep_and_arrivals(devices: &Devices) {
    const MESSAGES: usize = 300;
    let recorders = recorders(devices);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(3);
            for number in 0..MESSAGES as u32 {
                for _ in 0..random.below(3000) {
                    core::hint::spin_loop();
                }
                while devices[0].send(1, Channel::COLLECTIVE, &header(number, 4), b"wake").is_err() {
                    devices[0].poll(&recorders[0]);
                }
                if number % 50 == 0 {
                    std::thread::yield_now();
                }
            }
            // A device may need its polls to get messages out.
            while recorders[1].count() < MESSAGES {
                devices[0].poll(&recorders[0]);
                std::thread::yield_now();
            }
        });
        while recorders[1].count() < MESSAGES {
            while devices[1].poll(&recorders[1]) {}
            devices[1].sleep(FOR_EVER, &|| recorders[1].count() < MESSAGES);
        }
    });
}

/// Checks that a process that sleeps is woken, however early the call comes, and that it asks before it sleeps.
pub fn sleep_and_wake(devices: &Devices) {
    let recorders = recorders(devices);
    devices[0].sleep(FOR_EVER, &|| false);
    let (asked, told) = (AtomicBool::new(false), AtomicBool::new(false));
    for round in 0..100u32 {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..(round * 37) % 1500 {
                    core::hint::spin_loop();
                }
                told.store(true, Ordering::SeqCst);
                devices[0].wake();
            });
            while !told.load(Ordering::SeqCst) {
                let is_idle = || {
                    asked.store(true, Ordering::Relaxed);
                    !told.load(Ordering::SeqCst)
                };
                devices[0].sleep(FOR_EVER, &is_idle);
                while devices[0].poll(&recorders[0]) {}
            }
        });
        told.store(false, Ordering::SeqCst);
    }
    assert!(asked.load(Ordering::Relaxed), "nobody asked whether to sleep");
}

/// Checks what happens when `cut` breaks the connection of two processes: both hear of it once, nothing is sent or placed
/// afterwards, and what came before is in order and whole. Other connections go on.
///
/// # Panics
/// If a device does not do what it must.
pub fn loss(devices: &Devices, a: Node, b: Node, cut: impl FnOnce()) {
    let recorders = recorders(devices);
    let channel = Channel::POINT_TO_POINT;
    let long = fill(300_000, a, channel, 7);
    let mut sent = 0;
    for number in 0..20u32 {
        // SAFETY: the memory outlives the devices' use of it, which ends with the loss at the latest.
        let result = unsafe {
            if number % 5 == 4 {
                devices[a as usize].start(
                    b,
                    channel,
                    &header(number, 8),
                    long.as_ptr(),
                    300_000,
                    u64::from(number),
                )
            } else {
                devices[a as usize].send(b, channel, &header(number, 8), &long[..100])
            }
        };
        if result.is_err() {
            break;
        }
        sent += 1;
        if number % 7 == 0 {
            poll_all(devices, &recorders);
        }
    }
    cut();
    let (first, second) = (&recorders[a as usize], &recorders[b as usize]);
    // A peer that is gone may be noticed only by who sends to it.
    let mut refused = [false; 2];
    while first.records().lost.is_empty() || second.records().lost.is_empty() || refused != [true; 2] {
        poll_all(devices, &recorders);
        for (side, from, to) in [(0, a, b), (1, b, a)] {
            let result = devices[from as usize].send(to, Channel::COLLECTIVE, &header(9, 4), b"");
            refused[side] |= matches!(result, Err(Refusal::Lost { .. }));
        }
    }
    let before = second.count();
    for _ in 0..100 {
        poll_all(devices, &recorders);
    }
    assert_eq!(second.count(), before, "messages after the loss");
    assert_eq!((&first.records().lost, &second.records().lost), (&vec![b], &vec![a]), "reported once");
    let records = second.records();
    let arrived = records.arrived.iter().filter(|arrived| arrived.channel == channel);
    for (number, arrived) in arrived.enumerate() {
        assert!(number < sent, "more than was sent");
        assert_eq!(number_of(&arrived.header), number as u32, "order before the loss");
        let length = if number % 5 == 4 { 300_000 } else { 100 };
        assert!(arrived.payload == long[..length], "payload before the loss");
    }
    assert!(first.records().sent.values().all(|&reports| reports == 1));
    drop(records);
    let others: Vec<_> =
        pairs(devices.len() as u32).filter(|&(x, y)| [x, y] != [a, b] && [y, x] != [a, b]).collect();
    for &(from, to) in &others {
        let before = recorders[to as usize].count();
        send(devices, &recorders, from, to, channel, &header(1, 4), b"still here");
        while recorders[to as usize].count() == before {
            poll_all(devices, &recorders);
        }
    }
}
