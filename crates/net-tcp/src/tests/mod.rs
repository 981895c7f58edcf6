//! The device over the loopback interface.
//!
//! - `busy`: connections on which threads send much. `apart`: a connection that is asked apart from the others.
//! - `leaving`: processes that end. `strangers`: peers that are not there, say nothing, or talk nonsense.
#![allow(unsafe_code)] // Passes memory by address, as the interface does.

use crate::device::{APART_US, ROW};
use crate::frame::{HEAD, Head, Kind};
use crate::lane::{Connection, Lane};
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
    Arriving, Capabilities, Channel, Device, Handler, Leaving, MAX_HEADER, Node, Placement, Refusal, Tuning,
    conformance,
};

mod apart;
mod busy;
mod leaving;
mod strangers;

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
                unsafe { devices[0].start(1, CHANNEL, 0, b"long", data.as_ptr(), data.len() as u64, round) };
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
        let started = unsafe { devices[0].start(1, CHANNEL, part, b"part", DATA.as_ptr(), 100_000, 1) };
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
        assert_eq!(devices[0].parts(1), expected);
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

impl Tuning for One {}

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
        part: u32,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        token: u64,
    ) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        unsafe { self.0[self.1].start(to, channel, part, header, address, bytes, token) }
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
    fn leave(&self) {
        self.0[self.1].leave();
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

/// What is long enough to wait with its sender, and what is not.
const LONG: [u8; 8 << 10] = [7; 8 << 10];

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
        until(&devices, &notes, 0, Channel::ALL.len());
        until(&devices, &notes, 1, Channel::ALL.len());
        for (from, to) in [(0, 1), (1, 0)] {
            devices[from].send(to, CHANNEL, b"second", b"").expect("room");
        }
        until(&devices, &notes, 0, Channel::ALL.len() + 1);
        until(&devices, &notes, 1, Channel::ALL.len() + 1);
        assert_eq!(notes[0].all().last().map(String::as_str), Some("second from 1"));
        assert_eq!(notes[1].all().last().map(String::as_str), Some("second from 0"));
    }
}
