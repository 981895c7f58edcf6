//! The device over the loopback interface.
#![allow(unsafe_code)] // Passes memory by address, as the interface does.

use crate::device::{APART_US, ROW};
use crate::frame::{HEAD, Head, Kind};
use crate::lane::{Lane, Pair};
use crate::link::{BULK, Stage};
use crate::{Card, Listener, NetConfig, TcpDevice};
use rustix::event::epoll;
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use weft_base::say;
use weft_handshake::{CHALLENGE, Dialler};
use weft_machine::interfaces::Interfaces;
use weft_transport::{
    Arriving, Capabilities, Channel, Device, Handler, Leaving, MAX_HEADER, Node, Placement, Refusal,
    conformance,
};

mod leaving;

const SECRET: [u8; 32] = [42; 32];

fn listeners(nodes: u32) -> (Vec<Listener>, Vec<Card>) {
    listeners_on(nodes, &NetConfig::loopback())
}

fn listeners_on(nodes: u32, config: &NetConfig) -> (Vec<Listener>, Vec<Card>) {
    let listeners: Vec<_> = (0..nodes).map(|_| Listener::bind(config).expect("a free port")).collect();
    let book = listeners.iter().map(|listener| listener.card()).collect();
    (listeners, book)
}

fn devices(nodes: u32) -> Vec<TcpDevice> {
    let (listeners, book) = listeners(nodes);
    joined(listeners, &book)
}

fn joined(listeners: Vec<Listener>, book: &[Card]) -> Vec<TcpDevice> {
    let join = |(node, listener): (usize, Listener)| {
        listener.join(node as u32, book.to_vec(), SECRET).expect("a device")
    };
    listeners.into_iter().enumerate().map(join).collect()
}

/// Listens on these only.
fn on(words: &[&str]) -> NetConfig {
    NetConfig { interfaces: Interfaces::named(words), ..NetConfig::loopback() }
}

/// Tells whether the loopback interface has an address of the newer kind.
fn has_ipv6() -> bool {
    let has = std::net::TcpListener::bind("[::1]:0").is_ok();
    if !has {
        say!("skipped: no ::1 on the loopback interface");
    }
    has
}

#[test]
fn it_is_a_device_over_ipv6() {
    if has_ipv6() {
        conformance::suite(|nodes| {
            let (listeners, book) = listeners_on(nodes, &on(&["::1"]));
            assert!(book.iter().all(|card| card.addresses.iter().all(std::net::SocketAddr::is_ipv6)));
            joined(listeners, &book).into_iter().map(|device| Box::new(device) as Box<dyn Device>).collect()
        });
    }
}

#[test]
fn a_peer_of_several_interfaces_is_reached_by_one_that_answers() {
    if has_ipv6() {
        let (listeners, mut book) = listeners_on(2, &on(&["lo"]));
        assert!(book.iter().all(|card| card.addresses.len() >= 2), "{book:?}");
        // Nobody listens at the first.
        for card in &mut book {
            let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            card.addresses.retain(std::net::SocketAddr::is_ipv6);
            card.addresses.insert(0, closed);
        }
        is_undisturbed(&joined(listeners, &book));
    }
}

#[test]
fn interfaces_that_are_excluded_are_not_listened_on() {
    let exclude = vec!["127.0.0.0/8".into()];
    let interfaces = Interfaces { exclude, ..Interfaces::named(&["lo"]) };
    let config = NetConfig { interfaces, ..NetConfig::loopback() };
    match Listener::bind(&config) {
        Ok(listener) => assert!(listener.card().addresses.iter().all(std::net::SocketAddr::is_ipv6)),
        Err(error) => assert!(error.to_string().contains("net-exclude=127.0.0.0/8"), "{error}"),
    }
}

/// A long message makes the kernel wake sleepers late; a short one after it must wake them all the same.
#[test]
fn who_sleeps_is_woken_by_a_short_message_after_a_long_one() {
    let devices = devices(2);
    let data = vec![7u8; 3 << 20];
    let wanted = Wanted::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while wanted.heard.load(Ordering::SeqCst) < 4 {
                if !devices[1].poll(&wanted) {
                    devices[1].sleep(Duration::from_secs(3600), &|| wanted.heard.load(Ordering::SeqCst) < 4);
                }
            }
        });
        let told = Notes::default();
        for round in 0..2 {
            // SAFETY: the data stays until the scope ends, which is after it has been received.
            let started =
                unsafe { devices[0].start(1, CHANNEL, b"long", data.as_ptr(), data.len() as u64, round) };
            started.expect("room");
            while wanted.heard.load(Ordering::SeqCst) <= 2 * round as usize {
                devices[0].poll(&told);
            }
            devices[0].send(1, CHANNEL, b"short", b"").expect("room");
            while wanted.heard.load(Ordering::SeqCst) < 2 * (round as usize + 1) {
                devices[0].poll(&told);
            }
        }
    });
    assert!(*wanted.memory.lock().unwrap() == data);
}

/// Counts what has arrived whole.
#[derive(Default)]
struct Wanted {
    memory: Mutex<Vec<u8>>,
    heard: AtomicUsize,
}

impl Handler for Wanted {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        if message.header == b"short" {
            self.heard.fetch_add(1, Ordering::SeqCst);
            return Placement::Taken;
        }
        let mut memory = self.memory.lock().unwrap();
        *memory = vec![0; message.bytes as usize];
        Placement::Memory { address: memory.as_mut_ptr(), capacity: message.bytes, token: 1 }
    }
    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {
        self.heard.fetch_add(1, Ordering::SeqCst);
    }
    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}
    fn lost(&self, _peer: Node, reason: &str) {
        panic!("{reason}");
    }
}

#[test]
fn it_is_a_device() {
    conformance::suite(|nodes| {
        devices(nodes).into_iter().map(|device| Box::new(device) as Box<dyn Device>).collect()
    });
}

/// Devices whose long messages go over so many connections.
fn striped(nodes: u32, stripes: u32) -> Vec<TcpDevice> {
    let (listeners, book) = listeners_on(nodes, &NetConfig { stripes, ..NetConfig::loopback() });
    joined(listeners, &book)
}

#[test]
fn it_is_a_device_with_several_connections() {
    conformance::suite(|nodes| {
        striped(nodes, 3).into_iter().map(|device| Box::new(device) as Box<dyn Device>).collect()
    });
}

/// Starts the parts of a message, until all are there.
fn in_parts(devices: &[TcpDevice], notes: &[Notes], count: u32) {
    static DATA: [u8; 100_000] = [7; 100_000];
    let before = notes[1].count();
    for part in 0..count {
        // SAFETY: the data stays.
        let started = unsafe { devices[0].start_part(part, 1, CHANNEL, b"part", DATA.as_ptr(), 100_000, 1) };
        started.expect("room");
    }
    until(devices, notes, 1, before + count as usize);
}

#[test]
fn parts_go_over_as_many_connections_as_are_set() {
    for stripes in [0, 1, 3, 8, 100] {
        let devices = striped(2, stripes);
        let notes = notes(&devices);
        in_parts(&devices, &notes, 20);
        // The loopback interface is one.
        let expected = stripes.clamp(1, 8);
        assert_eq!(devices[0].ways(1), expected);
        let open = devices[0].links(1).filter(|(_, link)| link.socket.get().is_some()).count();
        assert_eq!(open, expected as usize, "{stripes}");
        assert!(notes[1].all().iter().all(|text| text == "part from 0"), "{:?}", notes[1].all());
    }
}

#[test]
fn a_further_connection_that_breaks_is_a_loss() {
    let devices = striped(2, 2);
    let notes = notes(&devices);
    in_parts(&devices, &notes, 2);
    let link = devices[0].link(1, Lane::of_part(CHANNEL, 1));
    rustix::net::shutdown(link.socket.get().expect("it is open"), rustix::net::Shutdown::Both).unwrap();
    for node in [0, 1] {
        let before = 2 * node;
        until(&devices, &notes, node, before + 1);
        assert!(
            notes[node].all()[before].starts_with(&format!("lost {}", 1 - node)),
            "{:?}",
            notes[node].all()
        );
    }
}

#[test]
fn a_connection_that_breaks_is_a_loss_on_both_sides() {
    for (a, b) in [(0, 1), (2, 0)] {
        let devices = Arc::new(devices(3));
        let boxed: Vec<Box<dyn Device>> =
            (0..3).map(|node| Box::new(One(devices.clone(), node)) as Box<dyn Device>).collect();
        conformance::loss(&boxed, a, b, || devices[a as usize].sever(b));
    }
}

/// One of several devices that a test keeps.
struct One(Arc<Vec<TcpDevice>>, usize);

impl Device for One {
    fn name(&self) -> &'static str {
        self.0[self.1].name()
    }
    fn node(&self) -> Node {
        self.0[self.1].node()
    }
    fn nodes(&self) -> u32 {
        self.0[self.1].nodes()
    }
    fn capabilities(&self, peer: Node) -> Capabilities {
        self.0[self.1].capabilities(peer)
    }
    fn send(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> Result<(), Refusal> {
        self.0[self.1].send(to, channel, header, payload)
    }
    unsafe fn start(
        &self,
        to: Node,
        channel: Channel,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        token: u64,
    ) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        unsafe { self.0[self.1].start(to, channel, header, address, bytes, token) }
    }
    unsafe fn read(&self, peer: Node, address: u64, target: *mut u8, bytes: u64) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        unsafe { self.0[self.1].read(peer, address, target, bytes) }
    }
    fn poll(&self, handler: &dyn Handler) -> bool {
        self.0[self.1].poll(handler)
    }
    fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool) {
        self.0[self.1].sleep(limit, is_idle);
    }
    fn wake(&self) {
        self.0[self.1].wake();
    }
}

/// Keeps what it hears, in words.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Handler for Notes {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.note(format!("{} from {}", String::from_utf8_lossy(message.header), message.from));
        Placement::Taken
    }
    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}
    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}
    fn lost(&self, peer: Node, reason: &str) {
        self.note(format!("lost {peer}: {reason}"));
    }
}

const CHANNEL: Channel = Channel::POINT_TO_POINT;

/// Polls until the handler of a device has heard so much.
fn until(devices: &[TcpDevice], notes: &[Notes], node: usize, count: usize) {
    while notes[node].count() < count {
        devices.iter().zip(notes).for_each(|(device, notes)| _ = device.poll(notes));
    }
}

fn notes(devices: &[TcpDevice]) -> Vec<Notes> {
    devices.iter().map(|_| Notes::default()).collect()
}

/// Checks that the job goes on: a message from each to each gets through.
fn is_undisturbed(devices: &[TcpDevice]) {
    let notes = notes(devices);
    for from in devices {
        for to in (0..devices.len() as Node).filter(|&to| to != from.node()) {
            from.send(to, CHANNEL, b"hello", b"").expect("room");
        }
    }
    for node in 0..devices.len() {
        until(devices, &notes, node, devices.len() - 1);
        assert!(notes[node].all().iter().all(|text| text.starts_with("hello")), "{:?}", notes[node].all());
    }
}

/// Nothing is begun before each of them has been looked at.
#[test]
fn messages_one_of_which_is_too_long_leave_a_connection_as_it_was() {
    let devices = devices(2);
    let heard = notes(&devices);
    devices[0].send(1, CHANNEL, b"first", b"").expect("room");
    until(&devices, &heard, 1, 1);
    let payload = vec![0; devices[0].capabilities(1).eager + 1];
    let fine = Leaving { header: b"fine", payload: b"" };
    for bad in
        [Leaving { header: &[0; MAX_HEADER + 1], payload: b"" }, Leaving { header: b"", payload: &payload }]
    {
        for several in [[bad, fine], [fine, bad]] {
            let sent = catch_unwind(AssertUnwindSafe(|| devices[0].send_all(1, CHANNEL, &several)));
            assert!(sent.is_err(), "that is no message");
            assert!(devices[0].link(1, CHANNEL).out.lock().is_clear(), "somebody seems to send");
        }
    }
    devices[0].send(1, CHANNEL, b"second", b"").expect("room");
    until(&devices, &heard, 1, 2);
    assert_eq!(heard[1].all(), ["first from 0", "second from 0"]);
}

/// However long the row of messages that come on one connection, and without a poll in vain.
#[test]
fn who_is_busy_with_one_peer_hears_the_others() {
    let devices = devices(3);
    let heard = notes(&devices);
    devices[2].send(0, CHANNEL, b"first", b"").expect("room");
    until(&devices, &heard, 0, 1);
    for row in [1, 5, 1000] {
        let before = heard[0].all().len();
        for number in 0..row {
            devices[1].send(0, CHANNEL, b"one of many", b"").expect("room");
            until(&devices, &heard, 0, before + number + 1);
        }
        devices[2].send(0, CHANNEL, b"of another", b"").expect("room");
        while !heard[0].all()[before..].iter().any(|text| text.contains("of another")) {
            devices[1].send(0, CHANNEL, b"one of many", b"").expect("room");
            devices[0].poll(&heard[0]);
        }
    }
}

/// Who asked a socket for something to which another thread hands much would sleep in the kernel.
#[test]
fn what_arrives_where_a_thread_sends_much_is_left_to_that_thread() {
    let devices = devices(2);
    let heard = notes(&devices);
    devices[1].send(0, CHANNEL, b"first", b"").expect("room");
    until(&devices, &heard, 0, 1);
    let link = devices[0].link(1, CHANNEL);
    let taking = link.take_up(BULK);
    devices[1].send(0, CHANNEL, b"second", b"").expect("room");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !devices[0].wants_poll() {
                devices[0].poll(&heard[0]);
            }
            assert_eq!(heard[0].all().len(), 1, "it is another's");
            // Nor does that end a sleep at once again and again: it ends by itself.
            devices[0].poll(&heard[0]);
            devices[0].sleep(Duration::from_secs(3600), &|| true);
        });
    });
    assert!(!devices[0].wants_poll(), "said once, and forgotten by who has slept");
    while heard[0].all().len() < 2 {
        devices[0].poll(&heard[0]);
    }
    drop(taking);
    devices[1].send(0, CHANNEL, b"third", b"").expect("room");
    std::thread::scope(|scope| {
        // A moment later it is anybody's again.
        scope.spawn(|| {
            while heard[0].all().len() < 3 {
                devices[0].poll(&heard[0]);
            }
        });
    });
    let _short = link.take_up(BULK - 1);
    std::thread::scope(|scope| {
        _ = scope.spawn(|| assert!(!link.is_taken(), "what is short does not take long"))
    });
}

/// Devices, of which the first has its connection to the second set apart, because messages came on it in a row.
fn with_one_apart(nodes: u32) -> (Vec<TcpDevice>, Vec<Notes>) {
    let (listeners, mut book) = listeners(nodes);
    // Elsewhere than on this machine, whose cores they might outnumber.
    book.iter_mut().for_each(|card| card.machine = None);
    let devices = joined(listeners, &book);
    let heard = notes(&devices);
    for number in 1..10 * ROW as usize {
        devices[1].send(0, CHANNEL, b"one of many", b"").expect("room");
        until(&devices, &heard, 0, number);
    }
    assert!(devices[0].has_apart(), "after a row of {}", heard[0].count());
    (devices, heard)
}

#[test]
fn no_connection_is_set_apart_where_processes_outnumber_the_cores() {
    let (listeners, mut book) = listeners(2);
    for machine in book.iter_mut().filter_map(|card| card.machine.as_mut()) {
        machine.workers = 1 << 20;
    }
    let devices = joined(listeners, &book);
    let heard = notes(&devices);
    for number in 1..10 * ROW as usize {
        devices[1].send(0, CHANNEL, b"one of many", b"").expect("room");
        until(&devices, &heard, 0, number);
        assert!(!devices[0].has_apart());
    }
}

#[test]
fn who_sleeps_hears_of_the_connection_that_was_set_apart() {
    let (devices, heard) = with_one_apart(2);
    let before = heard[0].count();
    let is_asleep = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let has_apart = Cell::new(false);
            while heard[0].count() == before && !has_apart.get() {
                devices[0].sleep(Duration::from_secs(3600), &|| {
                    has_apart.set(devices[0].has_apart());
                    is_asleep.store(true, Ordering::SeqCst);
                    !has_apart.get()
                });
                devices[0].poll(&heard[0]);
            }
            has_apart.get()
        });
        while !is_asleep.load(Ordering::SeqCst) {
            std::hint::spin_loop();
        }
        devices[1].send(0, CHANNEL, b"wake up", b"").expect("room");
        assert!(!sleeper.join().unwrap(), "it would sleep for an hour");
    });
}

#[test]
fn what_rests_with_the_kernel_is_seen_on_a_connection_that_is_set_apart() {
    let (devices, heard) = with_one_apart(2);
    assert!(devices[0].rest().is_some());
    for _ in 0..10 * ROW {
        devices[1].send(0, CHANNEL, b"again", b"").expect("room");
        until(&devices, &heard, 0, heard[0].count() + 1);
    }
    assert!(devices[0].has_apart());
    devices[1].send(0, CHANNEL, b"not heard yet", b"").expect("room");
    assert!(devices[0].rest().is_none());
}

#[test]
fn a_connection_that_is_set_apart_goes_on_when_there_is_room_again() {
    let (devices, heard) = with_one_apart(2);
    let mut sent = 0;
    while devices[0].send(1, CHANNEL, b"long", &LONG).is_ok() {
        sent += 1;
    }
    assert!(!devices[0].has_apart(), "the kernel would not tell of room");
    until(&devices, &heard, 1, sent);
}

#[test]
fn another_connection_takes_the_place_of_the_one_that_is_set_apart() {
    let (devices, heard) = with_one_apart(3);
    let before = heard[0].count();
    devices[2].send(0, CHANNEL, b"of another", b"").expect("room");
    until(&devices, &heard, 0, before + 1);
    assert!(!devices[0].has_apart());
    devices[1].send(0, CHANNEL, b"after it", b"").expect("room");
    until(&devices, &heard, 0, before + 2);
}

/// Then polls do not look there, and the kernel must tell that something has come.
#[test]
fn a_connection_that_is_set_apart_may_be_taken_up_by_who_sends_much() {
    let (devices, heard) = with_one_apart(2);
    let before = heard[0].count();
    let _taking = devices[0].link(1, CHANNEL).take_up(BULK);
    devices[1].send(0, CHANNEL, b"for who sends", b"").expect("room");
    std::thread::scope(|scope| {
        scope.spawn(|| devices[0].poll(&heard[0]));
    });
    assert_eq!(heard[0].count(), before, "it is another's");
    assert!(!devices[0].has_apart());
    until(&devices, &heard, 0, before + 1);
}

#[test]
fn a_connection_that_is_set_apart_may_break() {
    let (devices, heard) = with_one_apart(2);
    let before = heard[0].count();
    devices[1].sever(0);
    until(&devices, &heard, 0, before + 1);
    assert!(heard[0].all()[before].starts_with("lost 1"), "{:?}", heard[0].all()[before]);
    assert!(!devices[0].has_apart());
}

#[test]
fn both_may_dial_at_once() {
    for round in 0..50 {
        let devices = devices(2);
        let notes = notes(&devices);
        for (from, to) in [(0, 1), (1, 0)] {
            for channel in Channel::ALL {
                devices[from].send(to, channel, format!("first of {from}").as_bytes(), b"").expect("room");
                // Turns of one before the other has dialled.
                (0..round % 7).for_each(|_| _ = devices[from].poll(&notes[from]));
            }
        }
        until(&devices, &notes, 0, 2);
        until(&devices, &notes, 1, 2);
        for (from, to) in [(0, 1), (1, 0)] {
            devices[from].send(to, CHANNEL, b"second", b"").expect("room");
        }
        until(&devices, &notes, 0, 3);
        until(&devices, &notes, 1, 3);
        assert_eq!(notes[0].all()[2], "second from 1");
        assert_eq!(notes[1].all()[2], "second from 0");
    }
}

/// What is long enough to wait with its sender, and what is not.
const LONG: [u8; 8 << 10] = [7; 8 << 10];

#[test]
fn a_long_message_waits_with_its_sender_while_its_connection_is_in_use_and_a_short_one_does_not() {
    let devices = devices(2);
    let notes = notes(&devices);
    devices[0].send(1, CHANNEL, b"first", b"").expect("room");
    until(&devices, &notes, 1, 1);
    // Nobody receives until the socket takes no more; the rest of that message waits in the queue.
    let mut sent = 1;
    let refused = loop {
        match devices[0].send(1, CHANNEL, b"long", &LONG) {
            Ok(()) => sent += 1,
            Err(refusal) => break refusal,
        }
    };
    assert!(matches!(refused, Refusal::Full), "{refused:?}");
    // There is room for more, and who copies little is welcome.
    devices[0].send(1, CHANNEL, b"short", &LONG[1..]).expect("room for a copy");
    assert!(matches!(devices[0].send(1, CHANNEL, b"long", &LONG), Err(Refusal::Full)));
    until(&devices, &notes, 1, sent + 1);
    devices[0].send(1, CHANNEL, b"long", &LONG).expect("it is used no more");
    until(&devices, &notes, 1, sent + 2);
}

/// A refused sender that sleeps is woken when the connection is free, though nothing arrives.
#[test]
fn who_was_refused_while_others_sent_is_woken() {
    const EACH: usize = 3000;
    let limit = Duration::from_secs(20);
    let devices = devices(2);
    let notes = notes(&devices);
    devices[0].send(1, CHANNEL, b"first", b"").expect("room");
    until(&devices, &notes, 1, 1);
    let (arrived, late) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let mut sent = devices[0].send(1, CHANNEL, b"long", &LONG).is_ok();
                    while !sent {
                        let begin = std::time::Instant::now();
                        let again = std::cell::Cell::new(false);
                        // Once it counts as a sleeper it is woken, or finds the connection free.
                        devices[0].sleep(limit, &|| {
                            again.set(devices[0].send(1, CHANNEL, b"long", &LONG).is_ok());
                            !again.get()
                        });
                        if begin.elapsed() >= limit {
                            late.fetch_add(1, Ordering::Relaxed);
                        }
                        sent = again.get();
                        if !sent {
                            devices[0].poll(&notes[0]);
                            sent = devices[0].send(1, CHANNEL, b"long", &LONG).is_ok();
                        }
                    }
                }
            });
        }
        while arrived.load(Ordering::Relaxed) < 3 * EACH + 1 {
            devices[1].poll(&notes[1]);
            arrived.store(notes[1].count(), Ordering::Relaxed);
        }
    });
    assert_eq!(late.into_inner(), 0, "only the time has woken it");
}

#[test]
fn after_a_streak_on_one_connection_the_others_are_asked_by_the_clock() {
    use weft_sys::clock;
    let devices = devices(3);
    let notes = notes(&devices);
    for (node, count) in [(2, 1), (1, 2)] {
        devices[node].send(0, CHANNEL, b"first", b"").expect("room");
        until(&devices, &notes, 0, count);
    }
    for number in 2..50 {
        devices[1].send(0, CHANNEL, b"streak", b"").expect("room");
        until(&devices[..1], &notes, 0, 1 + number);
    }
    assert!(devices[0].has_streak());
    let (begin, mut looks, mut latest) = (clock::ticks(), 0, devices[0].last_look());
    for _ in 0..2000 {
        assert!(!devices[0].poll(&notes[0]), "nobody has sent anything");
        looks += u64::from(latest != devices[0].last_look());
        latest = devices[0].last_look();
    }
    let most = (clock::ticks() - begin) / (APART_US * clock::ticks_per_us()) + 1;
    assert!(looks <= most, "{looks} looks, at most one in {APART_US} us: {most}");
    // What comes elsewhere is seen all the same, and ends the streak.
    devices[2].send(0, CHANNEL, b"second", b"").expect("room");
    until(&devices[..1], &notes, 0, 51);
    assert_eq!(notes[0].all()[50], "second from 2");
    assert!(!devices[0].has_streak());
}

#[test]
fn the_end_of_a_process_is_no_loss_and_what_it_has_sent_arrives() {
    let mut devices = devices(2);
    let notes = notes(&devices);
    devices[0].send(1, CHANNEL, b"first", b"").expect("room");
    until(&devices, &notes, 1, 1);
    for _ in 0..100 {
        devices[0].send(1, CHANNEL, b"last", &[7; 1000]).expect("room");
    }
    // It answers meanwhile, which nobody receives.
    devices[1].send(0, CHANNEL, b"answer", b"").expect("room");
    devices[0].leave();
    drop(devices.remove(0));
    for _ in 0..300 {
        devices[0].poll(&notes[1]);
    }
    assert_eq!(notes[1].all().len(), 101);
    let refused = devices[0].send(0, CHANNEL, b"late", b"");
    assert!(matches!(&refused, Err(Refusal::Lost { reason }) if reason.contains("has ended")), "{refused:?}");
}

#[test]
fn who_connects_while_a_process_ends_is_told_so() {
    let devices = devices(3);
    let notes = notes(&devices);
    // It cannot end before the last one has answered.
    devices[0].send(2, CHANNEL, b"last", b"").expect("room");
    devices[1].send(0, CHANNEL, b"too late", b"").expect("room");
    std::thread::scope(|scope| {
        let leaving = scope.spawn(|| devices[0].leave());
        let refusal = loop {
            devices[1].poll(&notes[1]);
            match devices[1].send(0, CHANNEL, b"later", b"") {
                Err(Refusal::Lost { reason }) => break reason,
                _ => std::thread::yield_now(),
            }
        };
        assert!(refusal.contains("has ended"), "{refusal}");
        while !leaving.is_finished() {
            devices[2].poll(&notes[2]);
        }
    });
    assert_eq!((notes[1].all().len(), notes[2].all().len()), (0, 1));
}

/// A handshake that is over while a process waits for its last messages to go.
#[test]
fn a_process_ends_after_it_has_said_so_on_connections_settled_meanwhile() {
    let devices = devices(3);
    let notes = notes(&devices);
    // It cannot end before the last one has answered.
    devices[0].send(2, CHANNEL, b"last", b"").expect("room");
    let (link, held) = (devices[0].link(1, CHANNEL), devices[0].link(2, CHANNEL));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let socket = listener.accept().unwrap().0;
    socket.set_nonblocking(true).unwrap();
    let socket = OwnedFd::from(socket);
    epoll::add(devices[0].epoll(), &socket, devices[0].half_data(0), epoll::EventFlags::empty()).unwrap();
    std::thread::scope(|scope| {
        let leaving = scope.spawn(|| devices[0].leave());
        while !held.out.lock().says_end {
            std::thread::yield_now();
        }
        link.out.lock().stage = Stage::Settled;
        while devices[2].send(0, CHANNEL, b"later", b"").is_ok() {
            devices[2].poll(&notes[2]);
        }
        while !link.out.lock().says_end {
            assert!(!leaving.is_finished(), "it has ended, and the peer does not know");
            std::thread::yield_now();
        }
        devices[0].open(Pair { from: 1, to: 0, lane: CHANNEL.into() }, socket);
        let mut said = [0; HEAD];
        peer.read_exact(&mut said).unwrap();
        assert_eq!(said, Head { kind: Kind::End, channel: Channel::new(0), header: 0, bytes: 0 }.encode());
    });
}

/// Another thread still polls then, and the process may be gone at any time.
#[test]
fn nobody_is_let_in_after_the_end_and_who_knocks_is_told_so() {
    let devices = devices(2);
    let notes = notes(&devices);
    devices[0].leave();
    devices[1].send(0, CHANNEL, b"too late", b"").expect("room");
    let refusal = loop {
        devices.iter().zip(&notes).for_each(|(device, notes)| _ = device.poll(notes));
        if let Err(refusal) = devices[1].send(0, CHANNEL, b"later", b"") {
            break refusal.to_string();
        }
    };
    assert!(refusal.contains("has ended"), "{refusal}");
    assert!(devices[0].link(1, CHANNEL).socket.get().is_none(), "it is connected");
    assert!(notes.iter().all(|notes| notes.all().is_empty()), "{:?}", notes[1].all());
}

#[test]
fn the_end_of_a_process_without_a_word_is_a_loss() {
    let mut devices = devices(2);
    let notes = notes(&devices);
    devices[0].send(1, CHANNEL, b"first", b"").expect("room");
    until(&devices, &notes, 1, 1);
    drop(devices.remove(0));
    until(&devices, &notes[1..], 0, 2);
    let said = &notes[1].all()[1];
    assert!(said.starts_with("lost 0: node process 0 (at 127.0.0.1:"), "{said}");
}

#[test]
fn a_peer_that_is_not_there_is_lost() {
    let (listeners, book) = listeners(2);
    let mut listeners = listeners.into_iter();
    let device = listeners.next().unwrap().join(0, book, SECRET).unwrap();
    drop(listeners);
    device.send(1, CHANNEL, b"hello", b"").expect("room");
    let notes = [Notes::default()];
    until(&[device], &notes, 0, 1);
    assert!(notes[0].all()[0].contains("cannot be reached at 127.0.0.1:"), "{:?}", notes[0].all());
}

/// Strangers who do not know the secret, say anything, or nothing.
#[test]
fn strangers_are_refused_and_do_not_disturb() {
    let devices = devices(2);
    let address = devices[0].addresses_of(0)[0];
    let notes = notes(&devices);
    let mut silent = Vec::new();
    for number in 0..300u32 {
        let pair = Pair { from: 1, to: 0, lane: Lane::of_part(CHANNEL, number / 4) };
        let mut stranger = TcpStream::connect(address).expect("a listener");
        let (dialler, hello) = Dialler::new(pair.claim(), [number as u8; 32]);
        match number % 4 {
            0 => stranger.write_all(b"GET / HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n\r\n").unwrap(),
            1 => stranger.write_all(&hello[..20]).unwrap(),
            2 => {
                stranger.write_all(&hello).unwrap();
                let mut challenge = [0; CHALLENGE];
                stranger.set_nonblocking(true).unwrap();
                let mut have = 0;
                while have < CHALLENGE {
                    devices[0].poll(&notes[0]);
                    have += stranger.read(&mut challenge[have..]).unwrap_or(0);
                }
                // It cannot check the challenge, and guesses.
                assert!(dialler.prove(&[0; 32], &challenge).is_err());
                stranger.write_all(&[number as u8; 32]).unwrap();
            }
            _ => {}
        }
        devices[0].poll(&notes[0]);
        silent.push(stranger);
    }
    is_undisturbed(&devices);
    assert!(devices[0].refused() >= 150, "{} were refused", devices[0].refused());
    assert!(notes[0].all().is_empty(), "{:?}", notes[0].all());
}

/// A peer whose kernel takes connections, and that never says a word; others do not wait for it.
#[test]
fn a_silent_peer_holds_nobody_up() {
    let (listeners, mut book) = listeners(3);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    book[1].addresses = vec![silent.local_addr().unwrap()];
    let devices: Vec<_> = joined(listeners, &book).into_iter().filter(|device| device.node() != 1).collect();
    for channel in Channel::ALL {
        devices[0].send(1, channel, b"nobody hears", &[7; 1000]).expect("room");
    }
    // It has called, too, and let its hello be answered.
    let mut caller = TcpStream::connect(devices[0].addresses_of(0)[0]).expect("a listener");
    let (_, hello) = Dialler::new(Pair { from: 1, to: 0, lane: CHANNEL.into() }.claim(), [1; 32]);
    caller.write_all(&hello).unwrap();
    let notes = notes(&devices);
    for round in 1..=20 {
        devices[0].send(2, CHANNEL, b"there", &[7; 1000]).expect("room");
        until(&devices, &notes, 1, round);
        devices[1].send(0, CHANNEL, b"back", &[7; 1000]).expect("room");
        until(&devices, &notes, 0, round);
    }
    assert!(notes.iter().all(|notes| notes.all().len() == 20), "{:?}", notes[0].all());
    drop((silent, caller));
}

/// What a peer that knows the secret and does not keep to the protocol has sent.
fn after_handshake(lane: Lane, bytes: &[u8]) -> Vec<String> {
    let devices = devices(3);
    let notes = notes(&devices);
    let address = devices[0].addresses_of(0)[0];
    let pair = Pair { from: 1, to: 0, lane };
    let mut peer = TcpStream::connect(address).expect("a listener");
    peer.set_nonblocking(true).unwrap();
    let hear = |peer: &mut TcpStream, length: usize| {
        let (mut heard, mut have) = (vec![0; length], 0);
        while have < length {
            devices[0].poll(&notes[0]);
            have += peer.read(&mut heard[have..]).unwrap_or(0);
        }
        heard
    };
    let (dialler, hello) = Dialler::new(pair.claim(), [1; 32]);
    peer.write_all(&hello).unwrap();
    let challenge = hear(&mut peer, CHALLENGE);
    let proof = dialler.prove(&SECRET, challenge.as_slice().try_into().unwrap()).unwrap();
    peer.write_all(&proof).unwrap();
    assert_eq!(hear(&mut peer, 1), [1]);
    // The same again is worth nothing: the challenge is another.
    let mut replay = TcpStream::connect(address).expect("a listener");
    replay.write_all(&[&hello[..], &proof].concat()).unwrap();
    let before = devices[0].refused();
    while devices[0].refused() == before {
        devices[0].poll(&notes[0]);
    }
    peer.write_all(bytes).unwrap();
    drop(peer);
    until(&devices, &notes, 0, 1);
    for _ in 0..50 {
        devices[0].poll(&notes[0]);
    }
    let said = notes[0].all();
    let others: Vec<_> = devices.into_iter().filter(|device| device.node() != 1).collect();
    others[0].send(2, CHANNEL, b"still here", b"").expect("room");
    until(&others, &[Notes::default(), Notes::default()], 1, 1);
    said
}

#[test]
fn a_peer_that_talks_nonsense_is_lost_and_nobody_else() {
    let head = |kind, header, bytes| Head { kind, channel: Channel::new(0), header, bytes }.encode();
    let malformed = [
        [9; HEAD],
        head(Kind::Short, 65, 0),
        head(Kind::Short, 0, 1 << 19),
        head(Kind::Short, 0, u64::MAX),
        head(Kind::Long, 0, u64::MAX),
        head(Kind::End, 3, 0),
    ];
    for lane in [CHANNEL.into(), Lane::of_part(CHANNEL, 1), Lane::of_part(CHANNEL, 7)] {
        for bytes in malformed {
            let said = after_handshake(lane, &[&bytes[..], &[1; 200]].concat());
            assert!(said.len() == 1 && said[0].contains("malformed"), "{bytes:?}: {said:?}");
        }
        let truncated = [&head(Kind::Short, 2, 100)[..], &[1; 50]].concat();
        let said = after_handshake(lane, &truncated);
        assert!(said.len() == 1 && said[0].starts_with("lost 1"), "{said:?}");
        let more = [&head(Kind::End, 0, 0)[..], &head(Kind::Short, 0, 0)].concat();
        let said = after_handshake(lane, &more);
        assert!(said.len() == 1 && said[0].contains("after its end"), "{said:?}");
    }
}
