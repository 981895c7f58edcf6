//! The device in one process with several mappings, in processes of their own, and with hostile memory.
#![allow(unsafe_code)] // Forks, and maps segments to spoil them.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use weft_sys::shared::Mapping;
use weft_transport::{
    Arriving, Channel, Device, Handler, Nobody, Node, Nodes, Placement, Places, Refusal, Routes, Tuning,
    conformance,
};

use super::creation::Segment;
use super::cross_memory::CrossMemory;
use super::device::{Options, SegmentDevice};
use super::layout::Shape;
use super::shared::Header;

fn attach_all(nodes: u32, options: Options) -> Vec<SegmentDevice> {
    let (fd, size) = Segment::create(nodes).unwrap();
    assert_eq!(size, Shape::of(nodes).size());
    (0..nodes)
        .map(|node| {
            SegmentDevice::attach_with(fd.try_clone().unwrap(), node, options)
                .unwrap_or_else(|e| panic!("{e}"))
        })
        .collect()
}

fn boxed(devices: Vec<SegmentDevice>) -> Vec<Box<dyn Device>> {
    devices.into_iter().map(|device| Box::new(device) as Box<dyn Device>).collect()
}

#[test]
fn conforms() {
    let options = Options { cross_memory: CrossMemory::Always, ..Options::default() };
    if !attach_all(2, options)[0].capabilities(1).remote_read {
        println!("the kernel lets no process read another's memory here");
    }
    conformance::suite(|nodes| boxed(attach_all(nodes, options)));
    conformance::suite(|nodes| boxed(attach_all(nodes, Options::default())));
}

#[test]
fn conforms_without_remote_reads() {
    let options = Options { cross_memory: CrossMemory::Never, ..Options::default() };
    let devices = attach_all(2, options);
    assert!(!devices[0].capabilities(1).remote_read);
    conformance::suite(|nodes| boxed(attach_all(nodes, options)));
}

/// As where cores are far from each other.
#[test]
fn conforms_when_parts_go_past_the_caches() {
    let far = |nodes: u32| {
        let devices = attach_all(nodes, Options { cross_memory: CrossMemory::Never, ..Options::default() });
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            devices[from as usize].hold_sending_to(to).passing.go_past();
        }
        boxed(devices)
    };
    conformance::short_messages(&far(3));
    conformance::several_at_once(&far(2));
    conformance::long_messages(&far(3));
    conformance::parts(&far(3));
    conformance::back_pressure(&far(2));
    conformance::senders_side_by_side(&far(3));
}

/// Where there are not enough pairs for everybody, mailboxes and blocks carry the rest.
#[test]
fn conforms_by_mailbox() {
    let few = |count: u32| {
        let (fd, _) = Segment::create(200).unwrap();
        let attach =
            |node| SegmentDevice::attach(fd.try_clone().unwrap(), node).unwrap_or_else(|e| panic!("{e}"));
        let devices: Vec<_> = (0..count).map(attach).collect();
        devices.iter().for_each(SegmentDevice::give_away_pairs);
        boxed(devices)
    };
    conformance::long_messages(&few(3));
    conformance::what_is_dropped(&few(2));
    conformance::back_pressure(&few(2));
    conformance::senders_side_by_side(&few(3));
    conformance::short_messages(&few(4));
    conformance::sleep_and_arrivals(&few(2));
}

/// Who polls beside the ranks goes by it.
#[test]
fn all_polls_are_counted() {
    let devices = attach_all(2, Options::default());
    let [first, second] = &devices[..] else { unreachable!() };
    let before = first.polls().expect("counted");
    first.poll(&Nobody);
    second.send(0, Channel::POINT_TO_POINT, b"header", b"").expect("room");
    first.poll(&Nobody);
    first.poll(&Nobody);
    assert_eq!(first.polls(), Some(before.wrapping_add(3)), "whether something was there or not");
    assert_eq!(second.polls().map(|polls| polls > 1), Some(false), "each process counts its own");
}

/// Who polls receives for everybody, and nobody else may meanwhile.
#[test]
fn a_poll_does_not_wait_for_who_sends() {
    let devices = attach_all(2, Options::default());
    let [first, second] = &devices[..] else { unreachable!() };
    let payload = vec![0; first.capabilities(1).eager];
    while first.send(1, Channel::POINT_TO_POINT, b"header", &payload).is_ok() {}
    while second.poll(&Nobody) {}
    std::thread::scope(|scope| {
        let sending = first.hold_sending_to(1);
        let poll = scope.spawn(|| first.poll(&Nobody));
        let begin = Instant::now();
        while !poll.is_finished() && begin.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        let ended = poll.is_finished();
        drop(sending);
        assert!(ended, "a poll waits until another thread has sent");
    });
    assert!(first.poll(&Nobody), "a later one finds that there is room");
}

/// A long message takes a part of a pair's bytes only, so others are on their way meanwhile.
#[test]
fn a_long_message_leaves_room_for_short_ones() {
    let devices = attach_all(2, Options { cross_memory: CrossMemory::Never, ..Options::default() });
    let [first, second] = &devices[..] else { unreachable!() };
    let (long, short) = (vec![1; 4 << 20], vec![2; first.capabilities(1).eager]);
    // SAFETY: the data stays until the end.
    let started =
        unsafe { first.start(1, Channel::POINT_TO_POINT, 0, b"long", long.as_ptr(), long.len() as u64, 7) };
    started.expect("room for the first part");
    for _ in 0..8 {
        first.send(1, Channel::COLLECTIVE, b"short", &short).expect("room beside a long message");
    }
    let mut polls = 0;
    while first.poll(&Nobody) | second.poll(&Nobody) {
        polls += 1;
    }
    assert!(polls > 1, "the rest follows");
}

/// A shuttle goes with a message, and is there for an answer when all of it has arrived; other messages do without.
#[test]
fn an_answer_goes_in_the_shuttle_that_brought_the_message() {
    let devices = attach_all(2, Options { cross_memory: CrossMemory::Never, ..Options::default() });
    let collectors = [Collector::default(), Collector::default()];
    let at = || [devices[0].has_shuttle_to(1), devices[1].has_shuttle_to(0)];
    let arrived = |side: usize| collectors[side].arrived.lock().unwrap().pop_front();
    assert_eq!(at(), [true, false]);
    // One part, some, and a started message.
    for (turn, length) in [300, 3000, 20_000, 60_000, 200_000, 512 << 10].into_iter().enumerate() {
        let (from, to) = (turn % 2, 1 - turn % 2);
        let (message, other) = (vec![turn as u8; length], vec![99; 5000]);
        let side = &devices[from];
        if length > side.capabilities(to as Node).eager {
            // SAFETY: the data stays until the end.
            unsafe {
                side.start(
                    to as Node,
                    Channel::POINT_TO_POINT,
                    0,
                    b"head",
                    message.as_ptr(),
                    length as u64,
                    7,
                )
            }
            .unwrap();
        } else {
            side.send(to as Node, Channel::POINT_TO_POINT, b"head", &message).unwrap();
        }
        assert_eq!(at(), [false, false], "{length} bytes are on their way");
        side.send(to as Node, Channel::COLLECTIVE, b"head", &other).unwrap();
        while devices[to].poll(&collectors[to]) | devices[from].poll(&collectors[from]) {}
        assert_eq!(at(), [to == 0, to == 1], "{length} bytes have arrived");
        let mut both = [arrived(to).unwrap(), arrived(to).unwrap()];
        both.sort_by_key(|bytes| bytes[0]);
        assert!(*both[0] == *message && *both[1] == *other, "{length} bytes");
    }
    let long = vec![1; (512 << 10) + 1];
    // SAFETY: the data stays until the end.
    unsafe { devices[0].start(1, Channel::POINT_TO_POINT, 0, b"head", long.as_ptr(), long.len() as u64, 7) }
        .unwrap();
    assert_eq!(at(), [true, false], "it would not fit");
    assert!(!devices[0].answer(1, Channel::COLLECTIVE, b"head", &long), "it would not fit");
    while devices[0].poll(&collectors[0]) | devices[1].poll(&collectors[1]) {}
    assert!(*arrived(1).unwrap() == *long);
}

/// A message that is longer than others that go at once does so in the shuttle, or not at all.
#[test]
fn a_long_answer_is_sent_at_once_if_the_shuttle_is_here() {
    let devices = attach_all(2, Options { cross_memory: CrossMemory::Never, ..Options::default() });
    let collectors = [Collector::default(), Collector::default()];
    let long = vec![7; devices[0].capabilities(1).eager + 300];
    let answer =
        |from: usize| devices[from].answer(1 - from as Node, Channel::POINT_TO_POINT, b"head", &long);
    assert!(!answer(1), "the shuttle is at the other process");
    for from in [0, 1, 0] {
        assert!(answer(from));
        assert!(!answer(from) && !answer(1 - from), "the shuttle is on its way");
        while devices[1 - from].poll(&collectors[1 - from]) {}
        let arrived = collectors[1 - from].arrived.lock().unwrap().pop_front();
        assert!(*arrived.unwrap() == *long);
    }
    // What was started before goes before.
    let most = vec![8; 4 << 20];
    // SAFETY: the data stays until the end.
    unsafe { devices[1].start(0, Channel::POINT_TO_POINT, 0, b"head", most.as_ptr(), most.len() as u64, 7) }
        .unwrap();
    assert!(!answer(1));
}

#[test]
fn who_lingers_sees_what_arrives() {
    let linger_of = |devices: u32| {
        let mut devices = attach_all(devices, Options::default());
        let (other, is_crowded) = (devices.remove(1), devices[0].is_crowded());
        let nodes = Nodes::new(Routes::from(boxed(devices).remove(0)), Places::new(&[0, 1]));
        for channel in Channel::ALL {
            nodes.serve(channel, &Nobody);
        }
        // The mailbox and, once there is one, the pair's ring.
        for before in [0, 1, 8, 15] {
            let vain = nodes.linger(before);
            assert_eq!(vain, if is_crowded { before + 1 } else { (before / 8 + 1) * 8 }, "nothing is there");
            other.send(0, Channel::POINT_TO_POINT, b"header", b"payload").unwrap();
            assert_eq!(nodes.linger(before), before + 1);
            while nodes.poll() {}
        }
        is_crowded
    };
    let cores = weft_machine::usable_cores() as u32;
    assert!(linger_of(cores.max(2) + 1), "more processes than cores");
    assert!(cores < 2 || !linger_of(2));
}

/// Keeps what arrives.
#[derive(Default)]
struct Keeper {
    arrived: Mutex<Vec<(Node, Vec<u8>, usize)>>,
    lost: Mutex<Vec<(Node, String)>>,
}

impl Handler for Keeper {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.arrived.lock().unwrap().push((message.from, message.header.into(), message.present.len()));
        Placement::Taken
    }
    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}
    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}
    fn lost(&self, peer: Node, reason: &str) {
        self.lost.lock().unwrap().push((peer, reason.into()));
    }
}

/// The change from mailbox to pair keeps the order.
#[test]
fn who_talks_a_lot_gets_a_pair_in_between() {
    let devices = attach_all(40, Options::default());
    let keeper = Keeper::default();
    for number in 0..300u32 {
        let payload = vec![1; number as usize % 100];
        while devices[0].send(39, Channel::POINT_TO_POINT, &number.to_le_bytes(), &payload).is_err() {
            devices[39].poll(&keeper);
        }
    }
    while devices[39].poll(&keeper) {}
    let arrived = keeper.arrived.lock().unwrap();
    for (number, (from, header, length)) in arrived.iter().enumerate() {
        assert_eq!((*from, *length), (0, number % 100));
        assert_eq!(header[..], (number as u32).to_le_bytes());
    }
    assert_eq!(arrived.len(), 300);
}

// --- processes of their own -------------------------------------------------------------------------------------------

/// Keeps what arrives, with its bytes, in memory that it gives.
#[derive(Default)]
struct Collector {
    arriving: Mutex<Option<Box<[u8]>>>,
    arrived: Mutex<VecDeque<Box<[u8]>>>,
}

impl Handler for Collector {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        let mut memory = vec![0; message.bytes as usize].into_boxed_slice();
        let address = memory.as_mut_ptr();
        *self.arriving.lock().unwrap() = Some(memory);
        Placement::Memory { address, capacity: message.bytes, token: 1 }
    }
    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {
        let memory = self.arriving.lock().unwrap().take().unwrap();
        self.arrived.lock().unwrap().push_back(memory);
    }
    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}
    fn lost(&self, _peer: Node, reason: &str) {
        panic!("{reason}");
    }
}

/// Takes one message at a time.
#[derive(Default)]
struct Waiter(Mutex<Vec<(Node, u8)>>);

impl Handler for Waiter {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.0.lock().unwrap().push((message.from, message.header[0]));
        Placement::Served
    }
    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}
    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}
    fn lost(&self, _peer: Node, reason: &str) {
        panic!("{reason}");
    }
}

#[test]
fn what_follows_an_awaited_message_waits_and_all_sources_have_their_turn() {
    let devices = attach_all(4, Options::default());
    // Everybody gets a pair.
    let keeper = Keeper::default();
    for sender in &devices[1..] {
        sender.send(0, Channel::POINT_TO_POINT, b"hello", &[]).unwrap();
    }
    while devices[0].poll(&keeper) {}
    for number in 0..3 {
        for sender in &devices[1..] {
            let payload = vec![0; if number == 1 { 100 } else { 8 }];
            sender.send(0, Channel::POINT_TO_POINT, &[number], &payload).unwrap();
        }
    }
    let waiter = Waiter::default();
    for polls in 1..=9 {
        while !devices[0].poll(&waiter) {}
        assert_eq!(waiter.0.lock().unwrap().len(), polls, "one message a poll");
    }
    assert!(!devices[0].poll(&waiter));
    let arrived = waiter.0.lock().unwrap();
    for (round, messages) in arrived.chunks(3).enumerate() {
        let mut from: Vec<Node> = messages.iter().map(|(from, _)| *from).collect();
        from.sort_unstable();
        assert_eq!(from, [1, 2, 3], "{arrived:?}");
        assert!(messages.iter().all(|(_, number)| usize::from(*number) == round), "{arrived:?}");
    }
}

/// Runs `body` in a child, which ends with whether that returned true.
fn child(body: impl FnOnce() -> bool) -> libc::pid_t {
    // SAFETY: the child calls nothing that another thread of the parent may hold a lock of, but for the allocator, which the
    // C library keeps usable.
    match unsafe { libc::fork() } {
        0 => {
            let done = std::panic::catch_unwind(core::panic::AssertUnwindSafe(body)).unwrap_or(false);
            // SAFETY: ends the child without running the parent's handlers.
            unsafe { libc::_exit(i32::from(!done)) }
        }
        pid => pid,
    }
}

fn status_of(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: `status` is a valid place.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    status
}

/// Processes send a number around, asleep while they wait, and read from their neighbour's memory where that works.
#[test]
fn processes_pass_a_number_around() {
    const NODES: u32 = 3;
    const ROUNDS: u64 = 2000;
    let (fd, _) = Segment::create(NODES).unwrap();
    let run = |fd: OwnedFd, node: Node| {
        let device = SegmentDevice::attach(fd, node).unwrap_or_else(|e| panic!("{e}"));
        let keeper = Keeper::default();
        let next = (node + 1) % NODES;
        let send = |number: u64| {
            // Lengths of all kinds: in the line, behind the pair.
            let payload = vec![7; (number * 37 % 3000) as usize];
            while device.send(next, Channel::COLLECTIVE, &number.to_le_bytes(), &payload).is_err() {
                device.poll(&keeper);
            }
        };
        if node == 0 {
            send(0);
        }
        let mut taken = 0;
        while taken < ROUNDS {
            device.poll(&keeper);
            let found = keeper.arrived.lock().unwrap().pop();
            let Some((from, header, length)) = found else {
                device.sleep(Duration::from_secs(100), &|| true);
                continue;
            };
            let number = u64::from_le_bytes(header[..].try_into().unwrap());
            let expected = taken * u64::from(NODES) + u64::from((node + NODES - 1) % NODES);
            if (number, length as u64) != (expected, number * 37 % 3000) || (from + 1) % NODES != node {
                return false;
            }
            taken += 1;
            if !(node == 0 && taken == ROUNDS) {
                send(number + 1);
            }
        }
        device.leave();
        keeper.lost.lock().unwrap().is_empty()
    };
    let children: Vec<_> = (0..NODES)
        .map(|node| {
            let fd = fd.try_clone().unwrap();
            child(|| run(fd, node))
        })
        .collect();
    drop(fd);
    assert!(children.into_iter().map(status_of).all(|status| status == 0));
}

#[test]
fn the_death_of_a_process_is_told_after_what_it_sent() {
    let (fd, _) = Segment::create(3).unwrap();
    let first = SegmentDevice::attach(fd.try_clone().unwrap(), 0).unwrap();
    let victim = {
        let fd = fd.try_clone().unwrap();
        child(|| {
            let device = SegmentDevice::attach(fd, 1).unwrap();
            for number in 0..50u32 {
                device.send(0, Channel::POINT_TO_POINT, &number.to_le_bytes(), b"last words").unwrap();
            }
            // SAFETY: no preconditions; the default action ends the process.
            unsafe { libc::raise(libc::SIGKILL) };
            false
        })
    };
    // Killed and collected before anybody looks.
    assert!(libc::WIFSIGNALED(status_of(victim)));
    let keeper = Keeper::default();
    while keeper.lost.lock().unwrap().is_empty() {
        first.poll(&keeper);
        first.sleep(Duration::from_secs(10), &|| true);
    }
    assert_eq!(keeper.arrived.lock().unwrap().len(), 50);
    let lost = keeper.lost.lock().unwrap();
    assert_eq!(lost.len(), 1);
    assert!(lost[0].0 == 1 && lost[0].1.contains("node process 1"), "{lost:?}");
    assert!(matches!(first.send(1, Channel::COLLECTIVE, b"", b""), Err(Refusal::Lost { .. })));
}

#[test]
fn who_leaves_is_not_lost() {
    let (fd, _) = Segment::create(2).unwrap();
    let first = SegmentDevice::attach(fd.try_clone().unwrap(), 0).unwrap();
    let other = child(|| {
        let device = SegmentDevice::attach(fd.try_clone().unwrap(), 1).unwrap();
        device.send(0, Channel::POINT_TO_POINT, b"bye", b"").unwrap();
        device.leave();
        true
    });
    assert_eq!(status_of(other), 0);
    let keeper = Keeper::default();
    for _ in 0..3 {
        first.poll(&keeper);
        first.sleep(Duration::from_millis(150), &|| true);
    }
    assert_eq!(keeper.arrived.lock().unwrap().len(), 1);
    assert!(keeper.lost.lock().unwrap().is_empty());
}

// --- wrong and hostile memory -----------------------------------------------------------------------------------------

fn refusal(fd: OwnedFd, node: Node) -> String {
    SegmentDevice::attach(fd, node).err().map(|error| error.to_string()).expect("refused")
}

#[test]
fn wrong_memory_is_refused_with_the_reason() {
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    assert!(refusal(file.into(), 0).contains("not that of memory of fixed size"));
    let other = weft_sys::shared::create(c"other", 1 << 20).unwrap();
    assert!(refusal(other, 0).contains("something else"));
    let short = weft_sys::shared::create(c"short", 8).unwrap();
    assert!(refusal(short, 0).contains("8 bytes"));
    let spoiled = |spoil: &dyn Fn(&Header)| {
        let (fd, _) = Segment::create(2).unwrap();
        let memory = Mapping::of(fd.as_fd()).unwrap();
        // SAFETY: a segment begins with its header.
        spoil(unsafe { &*memory.address().cast::<Header>() });
        refusal(fd, 0)
    };
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    assert!(spoiled(&|header| header.version.store(9, relaxed)).contains("layout 9"));
    assert!(spoiled(&|header| header.nodes.store(0, relaxed)).contains("0 processes"));
    assert!(spoiled(&|header| header.nodes.store(3, relaxed)).contains("3 processes need"));
    assert!(spoiled(&|header| header.size.store(77, relaxed)).contains("claims 77"));
    let (fd, _) = Segment::create(2).unwrap();
    assert!(refusal(fd.try_clone().unwrap(), 2).contains("no process 2"));
    let _first = SegmentDevice::attach(fd.try_clone().unwrap(), 1).unwrap();
    assert!(refusal(fd, 1).contains("already"));
    assert!(Segment::create(0).is_err() && Segment::create(100_000).is_err());
}

/// Takes everything, copies some.
struct Careless(Mutex<Vec<u8>>);

impl Handler for Careless {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        let mut memory = self.0.lock().unwrap();
        let sum: u32 = message.present.iter().chain(message.header).map(|&byte| u32::from(byte)).sum();
        if sum.is_multiple_of(2) {
            return Placement::Taken;
        }
        Placement::Memory { address: memory.as_mut_ptr(), capacity: memory.len() as u64, token: 1 }
    }
    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}
    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}
    fn lost(&self, _peer: Node, _reason: &str) {}
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    /// Two sides send and poll in any order, and no message overwrites what the other side has not read.
    #[test]
    fn answers_and_others_arrive_whole(steps in prop::collection::vec((0..2usize, 0..3u8, 0..16384usize), 1..400)) {
        let devices = attach_all(2, Options::default());
        let collectors = [Collector::default(), Collector::default()];
        let mut expected = [VecDeque::new(), VecDeque::new()];
        let take = |side: usize, expected: &mut [VecDeque<(usize, u8)>; 2]| {
            devices[side].poll(&collectors[side]);
            while let Some(bytes) = collectors[side].arrived.lock().unwrap().pop_front() {
                let (length, value) = expected[side].pop_front().expect("nobody sent it");
                assert!(bytes.len() == length && bytes.iter().all(|&byte| byte == value));
            }
        };
        for (number, (side, kind, length)) in steps.into_iter().enumerate() {
            let (value, length) = (number as u8, if kind == 0 { length } else { length % 1500 });
            if kind < 2 {
                let other = 1 - side;
                if devices[side].send(other as Node, Channel::POINT_TO_POINT, b"head", &vec![value; length]).is_ok() {
                    expected[other].push_back((length, value));
                }
            } else {
                take(side, &mut expected);
            }
        }
        for _ in 0..100 {
            (0..2).for_each(|side| take(side, &mut expected));
        }
        assert!(expected.iter().all(VecDeque::is_empty));
    }

    /// A peer writes whatever it likes wherever it likes: the device may lose it, but touches only its own memory.
    #[test]
    fn hostile_memory_does_no_harm(writes in prop::collection::vec((any::<prop::sample::Index>(), 0..6u8, any::<u64>()), 1..200),
                                   before in 0..20u32) {
        let (fd, size) = Segment::create(2).unwrap();
        let devices: Vec<_> = (0..2).map(|node| SegmentDevice::attach(fd.try_clone().unwrap(), node).unwrap()).collect();
        let handler = Careless(Mutex::new(vec![0; 64]));
        for number in 0..before {
            let payload = vec![3; number as usize * 100];
            let _ = devices[0].send(1, Channel::POINT_TO_POINT, &[1; 20], &payload);
        }
        devices[1].poll(&handler);
        let memory = Mapping::of(fd.as_fd()).unwrap();
        let shape = Shape::of(2);
        for (index, place, value) in writes {
            // Mostly near what is read: lines of the pair, the mailbox, the areas.
            let (start, length) = match place {
                0 => (0, size),
                1 | 2 => (shape.pair(1, 0), 4096 + 512),
                3 => (shape.area(1), 20_000),
                _ => (shape.pair(1, 0), 1024),
            };
            let offset = start + index.index(length as usize / 8 - 1) as u64 * 8;
            // Small numbers make more sense than any.
            let value = match value % 3 { 0 => value, 1 => value & 0xff, _ => value & 0xffff_0000_0000_00ff };
            // SAFETY: within the mapping; all of it is atomics and bytes.
            unsafe { (*memory.address().add(offset as usize).cast::<std::sync::atomic::AtomicU64>()).store(value, std::sync::atomic::Ordering::Relaxed) };
            for device in &devices {
                device.poll(&handler);
                let _ = device.send(1 - device.node(), Channel::COLLECTIVE, &[2; 8], &[5; 100]);
            }
        }
    }

    #[test]
    fn attaching_to_any_content_is_safe(words in prop::collection::vec(any::<u64>(), 64), keep in 0..4u32) {
        let (fd, _) = Segment::create(2).unwrap();
        let memory = Mapping::of(fd.as_fd()).unwrap();
        for (index, word) in words.iter().enumerate().skip(keep as usize) {
            // SAFETY: within the mapping.
            unsafe { memory.address().add(index * 8).cast::<u64>().write_volatile(*word) };
        }
        if let Ok(device) = SegmentDevice::attach(fd, 0) {
            device.poll(&Careless(Mutex::new(vec![0; 64])));
            device.capabilities(1);
        }
    }
}
