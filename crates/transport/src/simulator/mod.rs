//! A network in memory, driven by a seed: for tests of everything above a device.
//!
//! Every device of a [`Network`] is a [`Device`]. Messages wait in flows, one per channel and ordered pair of node
//! processes, and further ones for parts of long messages ([`Device::start`]). A poll is a *step*: the network's clock goes on by one, and the polling process gets a few of the messages
//! that are due to it, of flows chosen by the seed. So messages of a flow stay in order, and nothing else does. A flow
//! holds a bounded number of bytes; beyond it, and at random, a message is refused. Long messages arrive piece by piece.
//! Without threads everything a network does follows from its seed and from the calls made to it; with threads (each
//! process polled by its own) the order of the calls is the kernel's.
//!
//! - `conditions`: what a network is like, and the numbers that follow from its seed.
//! - `world`: what is under way. `device`: a process's end of it.
#![allow(unsafe_code)] // Copies between the memory of senders and receivers, as a device does.

mod conditions;
mod device;
mod world;

pub use conditions::{Conditions, PARTS, Random};

use crate::{Arriving, Channel, Device, Handler, MAX_HEADER, Node, Placement, Refusal};
use device::Simulated;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use world::{Body, Event, Flow, Mailbox, Packet, Way, World};

/// Up to how many bytes a message that is taken by copy always comes whole, as it does with other devices.
const WHOLE: u64 = 200;

struct Inner {
    nodes: u32,
    conditions: Conditions,
    world: Mutex<World>,
    polling: Vec<AtomicBool>,
    bells: Vec<Condvar>,
}

/// A network; clones are the same one.
#[derive(Clone)]
pub struct Network(Arc<Inner>);

impl Network {
    /// Creates a network of `nodes` node processes.
    pub fn new(nodes: u32, conditions: Conditions) -> Self {
        let count = nodes as usize;
        let mailbox = || Mailbox { refused: vec![false; count], ..Mailbox::default() };
        let world = World {
            random: Random::new(conditions.seed),
            step: 0,
            flows: BTreeMap::new(),
            mailboxes: (0..count).map(|_| mailbox()).collect(),
            lost: vec![false; count * count],
            left: vec![false; count],
            cuts: Vec::new(),
        };
        Self(Arc::new(Inner {
            nodes,
            conditions,
            world: Mutex::new(world),
            polling: (0..count).map(|_| AtomicBool::new(false)).collect(),
            bells: (0..count).map(|_| Condvar::new()).collect(),
        }))
    }

    /// Returns the device of a process.
    pub fn device(&self, node: Node) -> Box<dyn Device> {
        assert!(node < self.0.nodes);
        Box::new(Simulated { inner: self.0.clone(), node })
    }

    /// Returns the devices of all processes.
    pub fn devices(&self) -> Vec<Box<dyn Device>> {
        (0..self.0.nodes).map(|node| self.device(node)).collect()
    }

    /// Returns how many messages one process has sent to another on a channel.
    pub fn messages(&self, from: Node, to: Node, channel: Channel) -> u64 {
        self.sum(|way| (way.from, way.to, way.channel) == (from, to, channel), |flow| flow.messages)
    }

    /// Returns how many messages were sent on a channel, by all processes together.
    pub fn all_messages(&self, channel: Channel) -> u64 {
        self.sum(|way| way.channel == channel, |flow| flow.messages)
    }

    /// Returns how many bytes of payload one process has sent to another on a channel.
    pub fn bytes(&self, from: Node, to: Node, channel: Channel) -> u64 {
        self.sum(|way| (way.from, way.to, way.channel) == (from, to, channel), |flow| flow.bytes)
    }

    fn sum(&self, is_one: impl Fn(&Way) -> bool, number: impl Fn(&Flow) -> u64) -> u64 {
        let world = self.0.world();
        world.flows.iter().filter(|(way, _)| is_one(way)).map(|(_, flow)| number(flow)).sum()
    }

    /// Returns how many steps there were: one per poll.
    pub fn steps(&self) -> u64 {
        self.0.world().step
    }

    /// Tells whether nothing is under way.
    pub fn is_quiet(&self) -> bool {
        let world = self.0.world();
        world.flows.values().all(|flow| flow.queue.is_empty())
            && world.mailboxes.iter().all(|mailbox| mailbox.events.is_empty())
    }

    /// Lets time pass.
    pub fn advance(&self, steps: u64) {
        self.0.pass(&mut self.0.world(), steps);
    }

    /// Cuts the connection of two processes.
    pub fn cut(&self, a: Node, b: Node) {
        self.0.cut(&mut self.0.world(), a, b);
    }

    /// Cuts the connection of two processes at a step.
    pub fn cut_at(&self, step: u64, a: Node, b: Node) {
        self.0.world().cuts.push((step, a, b));
    }

    /// Cuts all connections of a process.
    pub fn isolate(&self, node: Node) {
        (0..self.0.nodes).filter(|&peer| peer != node).for_each(|peer| self.cut(node, peer));
    }
}

impl Inner {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pair(&self, a: Node, b: Node) -> usize {
        (a * self.nodes + b) as usize
    }

    fn stir(&self, world: &mut World, node: Node) {
        world.mailboxes[node as usize].stirred = true;
        self.bells[node as usize].notify_all();
    }

    fn pass(&self, world: &mut World, steps: u64) {
        world.step += steps;
        let now = world.step;
        while let Some(due) = world.cuts.iter().position(|cut| cut.0 <= now) {
            let (_, a, b) = world.cuts.swap_remove(due);
            self.cut(world, a, b);
        }
    }

    fn cut(&self, world: &mut World, a: Node, b: Node) {
        if world.lost[self.pair(a, b)] {
            return;
        }
        for (node, peer) in [(a, b), (b, a)] {
            world.lost[self.pair(node, peer)] = true;
            let between = |way: &Way| (way.from, way.to) == (node, peer);
            world.flows.iter_mut().filter(|(way, _)| between(way)).for_each(|(_, flow)| flow.queue.clear());
            let reason = format!("the connection of node process {node} to {peer} was cut");
            world.mailboxes[node as usize].events.push_back(Event::Lost { peer, reason });
            self.stir(world, node);
        }
    }

    fn refuse(&self, world: &World, from: Node, to: Node) -> Option<Refusal> {
        let reason = || format!("node process {to} is not connected to {from} any more");
        world.lost[self.pair(from, to)].then(|| Refusal::Lost { reason: reason() })
    }

    fn enqueue(&self, way: Way, header: &[u8], body: Body) -> Result<(), Refusal> {
        let Way { from, to, channel, .. } = way;
        assert!(header.len() <= MAX_HEADER && from != to && to < self.nodes, "not a message a device takes");
        let world = &mut *self.world();
        if let Some(refusal) = self.refuse(world, from, to) {
            return Err(refusal);
        }
        let conditions = &self.conditions;
        let packet = Packet { header: header.into(), body, due: 0, placing: None, placed: 0 };
        let flow = world.flows.entry(way).or_default();
        // A flow that holds nothing takes whatever a caller may send.
        let full = flow.held + packet.cost() > conditions.memory && !flow.queue.is_empty();
        if full || world.random.below(100) < conditions.refused_percent {
            world.mailboxes[to as usize].refused[from as usize] = true;
            if !full {
                // Nothing will ever leave the flow on its account.
                self.stir(world, from);
            }
            return Err(Refusal::Full);
        }
        let due = world.step + world.random.below(conditions.delay + 1);
        let early = if let Body::Started { address, bytes, token } = packet.body
            && bytes <= conditions.memory as u64
            && world.random.below(2) == 0
        {
            // SAFETY: the memory is readable until the sender is told that it may be used again.
            let data = unsafe { core::slice::from_raw_parts(address, bytes as usize) }.to_vec();
            world.mailboxes[from as usize].events.push_back(Event::Sent { to, channel, token });
            self.stir(world, from);
            Some(Body::Copied(data))
        } else {
            None
        };
        let packet = Packet { due, ..packet };
        let packet = match early {
            Some(body) => Packet { body, ..packet },
            None => packet,
        };
        let flow = world.flows.entry(way).or_default();
        flow.held += packet.cost();
        flow.messages += 1;
        flow.bytes += packet.body.bytes();
        flow.queue.push_back(packet);
        self.stir(world, to);
        Ok(())
    }

    /// Picks the flow of the next message that `node` gets something of.
    fn pick(&self, world: &mut World, node: Node) -> Option<Way> {
        let now = world.step;
        let is_due = |flow: &Flow| flow.queue.front().is_some_and(|packet| packet.due <= now);
        let due: Vec<_> =
            world.flows_to(node).filter(|(_, flow)| is_due(flow)).map(|(way, _)| *way).collect();
        let chosen = world.random.below(due.len() as u64) as usize;
        due.get(chosen).copied()
    }

    fn end(&self, world: &mut World, way: Way, packet: &Packet) {
        let Way { from, to, channel, .. } = way;
        world.flows.entry(way).or_default().held -= packet.cost();
        if let Body::Started { token, .. } = packet.body {
            world.mailboxes[from as usize].events.push_back(Event::Sent { to, channel, token });
            self.stir(world, from);
        } else if core::mem::take(&mut world.mailboxes[to as usize].refused[from as usize]) {
            self.stir(world, from);
        }
    }

    /// Goes on with the first message of a flow.
    fn deliver(&self, way: Way, handler: &dyn Handler) {
        let Way { from, to, channel, .. } = way;
        let mut guard = self.world();
        let first = guard.flows.get_mut(&way).and_then(|flow| flow.queue.pop_front());
        let Some(mut packet) = first else { return };
        let bytes = packet.body.bytes();
        if packet.placing.is_none() {
            // A copy, as a device reads a stream into its own memory; the sender's memory may go at any time.
            let is_part = channel.comes_in_parts() && bytes > WHOLE && guard.random.below(3) == 0;
            let present = match &packet.body {
                Body::Copied(data) if is_part => data[..guard.random.below(bytes + 1) as usize].to_vec(),
                Body::Copied(data) => data.clone(),
                Body::Started { address, .. } => {
                    let eager = self.conditions.eager as u64;
                    let length = guard.random.below(bytes.min(eager) + 1) as usize;
                    // SAFETY: not reported as sent, and the connection is not lost while the world is locked.
                    unsafe { core::slice::from_raw_parts(*address, length) }.to_vec()
                }
            };
            drop(guard);
            let message = Arriving { from, channel, header: &packet.header, bytes, present: &present };
            let placement = handler.arrive(message);
            guard = self.world();
            match placement {
                Placement::Taken | Placement::Served => {
                    return self.leave(&mut guard, way, &packet);
                }
                Placement::Memory { address, capacity, token } => {
                    packet.placing = Some((address, capacity, token));
                }
            }
        }
        if guard.lost[self.pair(from, to)] {
            return;
        }
        let (target, capacity, token) = packet.placing.expect("placed above");
        let whole = bytes.min(capacity);
        let piece = (1 + guard.random.below(2 * self.conditions.eager as u64)).min(whole - packet.placed);
        let offset = packet.placed as usize;
        // SAFETY: both memories stay valid until the network reports, which it does not while the world is locked; the
        // piece ends before both do.
        unsafe {
            core::ptr::copy_nonoverlapping(
                packet.body.address().add(offset),
                target.add(offset),
                piece as usize,
            );
        }
        packet.placed += piece;
        if packet.placed < whole {
            return guard.flows.entry(way).or_default().queue.push_front(packet);
        }
        self.leave(&mut guard, way, &packet);
        drop(guard);
        handler.placed(from, channel, token);
    }

    /// Ends a message unless its connection was lost meanwhile.
    fn leave(&self, world: &mut World, way: Way, packet: &Packet) {
        if !world.lost[self.pair(way.from, way.to)] {
            self.end(world, way, packet);
        }
    }

    fn poll(&self, node: Node, handler: &dyn Handler) -> bool {
        let mut moved = false;
        let mut world = self.world();
        self.pass(&mut world, 1);
        let polls = &mut world.mailboxes[node as usize].polls;
        *polls += 1;
        let awake =
            self.conditions.slow.is_none_or(|(slow, every)| slow != node || polls.is_multiple_of(every));
        let burst = 1 + world.random.below(4);
        drop(world);
        for _ in 0..burst {
            let mut world = self.world();
            if let Some(event) = world.mailboxes[node as usize].events.pop_front() {
                drop(world);
                match event {
                    Event::Sent { to, channel, token } => handler.sent(to, channel, token),
                    Event::Lost { peer, reason } => handler.lost(peer, &reason),
                }
            } else if awake && let Some(way) = self.pick(&mut world, node) {
                drop(world);
                self.deliver(way, handler);
            } else {
                break;
            }
            moved = true;
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nobody, conformance};

    #[test]
    fn a_calm_network_is_a_device() {
        conformance::suite(|nodes| Network::new(nodes, Conditions::calm(1)).devices());
    }

    #[test]
    fn networks_of_all_kinds_are_devices() {
        for seed in 0..u64::from(weft_trials::rounds(12)) {
            println!("seed {seed}");
            conformance::suite(|nodes| Network::new(nodes, Conditions::random(seed, nodes)).devices());
        }
    }

    #[test]
    fn a_cut_is_reported_once_on_both_sides() {
        for seed in 0..200 {
            println!("seed {seed}");
            let network = Network::new(3, Conditions::random(seed, 3));
            conformance::loss(&network.devices(), 0, 1, || network.cut(0, 1));
        }
    }

    #[test]
    fn a_cut_comes_at_its_step() {
        let network = Network::new(2, Conditions::calm(1));
        let devices = network.devices();
        network.cut_at(3, 0, 1);
        for step in 0..3 {
            assert_eq!(devices[0].send(1, Channel::COLLECTIVE, b"h", b""), Ok(()), "step {step}");
            devices[1].poll(&Nobody);
        }
        assert!(matches!(devices[0].send(1, Channel::COLLECTIVE, b"h", b""), Err(Refusal::Lost { .. })));
    }

    #[test]
    fn what_was_sent_is_counted_by_pair_and_channel() {
        let network = Network::new(3, Conditions::calm(5));
        let devices = network.devices();
        for _ in 0..4 {
            devices[0].send(2, Channel::COLLECTIVE, b"h", b"abc").expect("room");
        }
        devices[1].send(2, Channel::POINT_TO_POINT, b"h", b"").expect("room");
        assert_eq!(network.messages(0, 2, Channel::COLLECTIVE), 4);
        assert_eq!(network.bytes(0, 2, Channel::COLLECTIVE), 12);
        assert_eq!(network.messages(0, 2, Channel::POINT_TO_POINT), 0);
        assert_eq!(network.all_messages(Channel::COLLECTIVE), 4);
        assert_eq!(network.all_messages(Channel::POINT_TO_POINT), 1);
        assert!(!network.is_quiet());
        while !network.is_quiet() {
            devices[2].poll(&Nobody);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        struct Log(Mutex<Vec<(Node, Channel, Vec<u8>)>>);
        impl Handler for Log {
            fn arrive(&self, message: Arriving<'_>) -> Placement {
                self.0.lock().unwrap().push((message.from, message.channel, message.header.into()));
                Placement::Taken
            }
            fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}
            fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}
            fn lost(&self, _peer: Node, _reason: &str) {}
        }
        let run = |seed| {
            let conditions = Conditions { delay: 9, ..Conditions::calm(seed) };
            let network = Network::new(3, conditions);
            let devices = network.devices();
            let log = Log(Mutex::default());
            for i in 0..40u8 {
                let channel = Channel::ALL[usize::from(i % 2)];
                devices[usize::from(1 + i % 3 % 2)].send(0, channel, &[i], &[]).expect("room");
            }
            while !network.is_quiet() {
                devices[0].poll(&log);
            }
            log.0.into_inner().unwrap()
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8), "a seed that changes nothing");
    }
}
