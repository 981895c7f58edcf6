//! Routes over simulated networks, as devices must be, and as devices come and go.
#![allow(unsafe_code)] // Passes memory by address, as the interface does.

use super::*;
use crate::simulator::{Conditions, Network};
use crate::{Arriving, Capabilities, Channel, Handler, Placement, Tuning};
use crate::{Nobody, Nodes, Places, conformance};
use std::ops::Deref;
use std::sync::PoisonError;
use std::time::Duration;

/// A device, and something that goes with it.
struct With<D, T>(D, T);

impl<D: Deref<Target: Device> + Send + Sync, T: Send + Sync> Tuning for With<D, T> {}

impl<D: Deref<Target: Device> + Send + Sync, T: Send + Sync> Device for With<D, T> {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn node(&self) -> Node {
        self.0.node()
    }
    fn nodes(&self) -> u32 {
        self.0.nodes()
    }
    fn capabilities(&self, peer: Node) -> Capabilities {
        self.0.capabilities(peer)
    }
    fn send(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> Result<(), Refusal> {
        self.0.send(to, channel, header, payload)
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
        unsafe { self.0.start(to, channel, part, header, address, bytes, token) }
    }
    unsafe fn read(&self, peer: Node, address: u64, target: *mut u8, bytes: u64) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        unsafe { self.0.read(peer, address, target, bytes) }
    }
    fn poll(&self, handler: &dyn Handler) -> bool {
        self.0.poll(handler)
    }
    fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool) {
        self.0.sleep(limit, is_idle);
    }
    fn wake(&self) {
        self.0.wake();
    }
    fn leave(&self) {
        self.0.leave();
    }
}

/// Ends the threads that keep routes.
struct Leaving(Arc<Routes>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Makes routes with threads that keep them, as [`Nodes`] has, for handlers that only the test knows.
fn kept(routes: Routes) -> impl Device {
    let routes = Arc::new(routes);
    for device in 1..routes.devices() {
        let routes = routes.clone();
        let see = move |routes: &Routes| {
            routes.wake();
            false
        };
        std::thread::spawn(move || routes.keep(device, &|| see(&routes), &|| true));
    }
    With(routes.clone(), Leaving(routes))
}

/// The networks of a job of `nodes` node processes on two hosts, by their number's last bit: within each host, where
/// numbers run the other way round, and between all.
fn two_hosts(nodes: u32, conditions: &Conditions) -> ([Network; 2], Network, Vec<Box<dyn Device>>) {
    let of_host = |host: u32| (0..nodes).rev().filter(|node| node % 2 == host).collect::<Vec<_>>();
    let hosts = [0, 1].map(|host| Network::new(of_host(host).len() as u32, conditions.clone()));
    let between = Network::new(nodes, conditions.clone());
    let device = |node: Node| -> Box<dyn Device> {
        let here = of_host(node % 2);
        let number = here.iter().position(|&other| other == node).expect("on its host");
        let local = hosts[(node % 2) as usize].device(number as Node);
        let devices = vec![(local, here), (between.device(node), (0..nodes).collect())];
        Box::new(kept(Routes::join(node, devices)))
    };
    let devices = (0..nodes).map(device).collect();
    (hosts, between, devices)
}

#[test]
fn two_devices_are_a_device() {
    for seed in 0..3 {
        println!("seed {seed}");
        let conditions =
            |nodes| if seed == 0 { Conditions::calm(1) } else { Conditions::random(seed, nodes) };
        conformance::suite(|nodes| {
            // Both networks take what the other does.
            let conditions = Conditions { slow: None, ..conditions(nodes) };
            two_hosts(nodes, &conditions).2
        });
    }
}

#[test]
fn one_device_is_itself() {
    conformance::suite(|nodes| {
        let devices = Network::new(nodes, Conditions::calm(1)).devices();
        devices.into_iter().map(|device| Box::new(Routes::from(device)) as Box<dyn Device>).collect()
    });
}

#[test]
fn a_loss_counts_where_it_is_the_way() {
    for seed in 0..40 {
        println!("seed {seed}");
        let conditions = Conditions { slow: None, ..Conditions::random(seed, 4) };
        let (_hosts, between, devices) = two_hosts(4, &conditions);
        conformance::loss(&devices, 0, 1, || {
            between.cut(0, 1);
            // Of one host: reached through its own network.
            between.cut(0, 2);
        });
        let (hosts, _between, devices) = two_hosts(4, &conditions);
        conformance::loss(&devices, 1, 3, || hosts[1].cut(0, 1));
    }
}

/// Notes what is said about numbers.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn take(&self) -> Vec<String> {
        core::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Handler for Notes {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.note(format!("{} from {}", String::from_utf8_lossy(message.header), message.from));
        Placement::Taken
    }
    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}
    fn sent(&self, to: Node, _channel: Channel, token: u64) {
        self.note(format!("{token} sent to {to}"));
    }
    fn lost(&self, peer: Node, _reason: &str) {
        self.note(format!("lost {peer}"));
    }
    fn joined(&self, begin: Node, hosts: &[u32]) {
        self.note(format!("joined {begin} on {hosts:?}"));
    }
}

#[test]
fn devices_and_nodes_are_added() {
    let (old, new) = (Network::new(2, Conditions::calm(1)), Network::new(4, Conditions::calm(2)));
    let nodes = Nodes::new(old.device(1), Places::blocks(2, 1));
    let notes: &'static Notes = Box::leak(Box::default());
    nodes.serve(Channel::POINT_TO_POINT, notes);
    nodes.serve(Channel::COLLECTIVE, &Nobody);
    let lost = nodes.device().send(2, Channel::POINT_TO_POINT, b"", b"");
    assert!(matches!(lost, Err(Refusal::Lost { .. })), "nobody is there yet: {lost:?}");
    // Sent before this process knows of anybody; numbers 3 and 1 become 2 and 3.
    let others = [0, 1, 3].map(|number| new.device(number));
    others[2].send(2, Channel::POINT_TO_POINT, b"early", b"").expect("room");
    others[0].send(2, Channel::POINT_TO_POINT, b"of nobody", b"").expect("room");
    assert_eq!(nodes.add(new.device(2), &[3, 1], &[7, 8]), 2);
    assert_eq!((nodes.device().nodes(), nodes.device().devices(), nodes.places().add(&[2, 3, 3])), (4, 2, 2));
    others[1].send(2, Channel::POINT_TO_POINT, b"late", b"").expect("room");
    nodes.device().send(3, Channel::POINT_TO_POINT, b"hello", b"").expect("room");
    old.device(0).send(1, Channel::POINT_TO_POINT, b"old", b"").expect("room");
    while notes.0.lock().unwrap().len() < 4 {
        nodes.poll();
    }
    let mut heard = notes.take();
    assert_eq!(heard.remove(0), "joined 2 on [7, 8]");
    heard.sort();
    assert_eq!(heard, ["early from 2", "late from 3", "old from 0"]);
    new.cut(2, 1);
    new.cut(2, 0);
    while notes.0.lock().unwrap().is_empty() {
        nodes.poll();
    }
    assert_eq!(notes.take(), ["lost 3"]);
}

#[test]
fn a_device_whose_nodes_are_forgotten_is_let_go_of() {
    let (old, new) = (Network::new(1, Conditions::calm(1)), Network::new(3, Conditions::calm(2)));
    let count = Arc::new(());
    let routes = Routes::from(old.device(0));
    let device = Box::new(With(new.device(0), count.clone()));
    let (begin, device) = routes.add(device, &[1, 2]);
    routes.open(device);
    routes.send(begin, Channel::POINT_TO_POINT, b"hello", b"").expect("room");
    routes.forget(begin);
    routes.send(begin + 1, Channel::POINT_TO_POINT, b"hello", b"").expect("the other is still there");
    let keeper = routes.device(device);
    routes.forget(begin + 1);
    assert_eq!(Arc::strong_count(&count), 2, "somebody is in it");
    drop(keeper);
    assert_eq!(Arc::strong_count(&count), 1, "nobody is in it any more");
    let lost = routes.send(begin, Channel::POINT_TO_POINT, b"late", b"");
    assert!(matches!(lost, Err(Refusal::Lost { .. })), "{lost:?}");
    assert!(!routes.poll(&Nobody));
    routes.leave();
}

/// While nobody polls, as if all computed, and while somebody sleeps there, whose business it is.
#[test]
fn the_first_device_is_kept_while_nobody_is_in_it() {
    let network = Network::new(2, Conditions::calm(1));
    let (routes, notes) = (Routes::from(network.device(0)), Notes::default());
    let count = || notes.0.lock().unwrap().len();
    let other = network.device(1);
    std::thread::scope(|scope| {
        scope.spawn(|| routes.keep(0, &|| routes.poll_for_keeper(&notes), &|| true));
        for number in 0..20 {
            other.send(0, Channel::POINT_TO_POINT, b"hello", b"").expect("room");
            while count() == number {
                // Every other one is another thread's, or the keeper's if it is faster.
                if number % 2 == 0 {
                    std::thread::yield_now();
                } else {
                    routes.sleep(Duration::from_millis(1), &|| count() == number);
                    routes.poll(&notes);
                }
            }
        }
        routes.leave();
    });
    assert_eq!(notes.take(), vec!["hello from 1"; 20]);
}

#[test]
fn who_sleeps_is_woken_by_an_added_device() {
    let (old, new) = (Network::new(1, Conditions::calm(1)), Network::new(2, Conditions::calm(2)));
    let nodes: &'static Nodes = Box::leak(Box::new(Nodes::new(old.device(0), Places::blocks(1, 1))));
    /// Wakes its process when something arrives, as a rank's being made ready does.
    struct Waker(Notes, std::sync::OnceLock<&'static Nodes>);
    impl Handler for Waker {
        fn arrive(&self, message: Arriving<'_>) -> Placement {
            let placement = self.0.arrive(message);
            self.1.get().expect("set below").wake();
            placement
        }
        fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}
        fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}
        fn lost(&self, _peer: Node, _reason: &str) {}
    }
    let waker: &'static Waker = Box::leak(Box::new(Waker(Notes::default(), nodes.into())));
    Channel::ALL.iter().for_each(|&channel| nodes.serve(channel, waker));
    nodes.keep(|poll| poll(), 1).expect("a thread");
    nodes.add(new.device(0), &[1], &[0]);
    let other = new.device(1);
    for number in 0..100 {
        other.send(0, Channel::COLLECTIVE, number.to_string().as_bytes(), b"").expect("room");
        let is_idle = || waker.0.0.lock().unwrap().is_empty();
        while is_idle() {
            nodes.sleep(Duration::from_secs(3600), &is_idle);
        }
        assert_eq!(waker.0.take(), [format!("{number} from 1")]);
    }
}
