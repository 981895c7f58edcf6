//! One device made of several: through shared memory to one node process, over a network to another.
//!
//! Each device has numbers of its own for the processes that it reaches; [`Routes`] gives every one its number in the job.
//! Most jobs have one device, whose numbers are the job's: then a message costs one comparison here.
//!
//! Devices come, with the node processes that they reach, while the job runs ([`Routes::add`]): when processes are spawned,
//! or jobs meet. Nothing is polled for on such a device before [`Routes::open`], so that the layers above know its node
//! processes before they hear of them. A node process that ends stays a number; a device that was added goes, and its memory
//! with it, when all that it reaches are forgotten ([`Routes::forget`]).
//!
//! # Sleep
//! Who has nothing to do sleeps in the first device. Every further one needs a thread that runs [`Routes::keep`]: it sleeps
//! in the device, and sees to what arrives. While others poll it does not look, so that it takes no core from them. The first
//! device may have such threads, too: they sleep there while nobody else does, which is while all compute.
#![allow(unsafe_code)] // Passes memory by address, as the interface does.

use crate::{
    Arriving, Capabilities, Channel, Commons, Device, Handler, Leaving, Node, Outbound, Placement, Refusal,
    Traffic,
};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use weft_sync::{Growing, Lock};

/// Stands for a process that a device knows, and to which it is not a way: one that is not in the job, or reached otherwise.
pub const NOBODY: Node = Node::MAX;
/// In place of a device: the process itself.
const HERE: usize = usize::MAX;

/// How long a keeper sleeps in its device at most.
const SLEEP: Duration = Duration::from_secs(1);
/// How long a keeper waits for others to poll when something has arrived and nobody sleeps.
const WAIT: Duration = Duration::from_micros(50);
/// How long it leaves its device to those who poll before it looks whether they still do.
const PAUSE: Duration = Duration::from_millis(1);
/// How long it leaves the first device to those who sleep there at most.
const LONG_PAUSE: Duration = Duration::from_millis(32);

/// How a node process is reached.
#[derive(Clone, Copy)]
struct Way {
    /// Which device.
    device: usize,
    /// The number of the process there.
    number: Node,
}

/// A device that is not the first.
enum Slot {
    /// It stays as long as the process.
    Stays(Box<dyn Device>),
    /// It was added, and is let go of, with its memory, when all of its processes are forgotten and nobody is in it.
    Goes(Lock<Option<Arc<dyn Device>>>),
}

/// The use of a device.
enum Lent<'a> {
    Stays(&'a dyn Device),
    Goes(Arc<dyn Device>),
}

impl<'a> core::ops::Deref for Lent<'a> {
    type Target = dyn Device + 'a;

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Stays(device) => *device,
            Self::Goes(device) => &**device,
        }
    }
}

impl Slot {
    fn lend(&self) -> Option<Lent<'_>> {
        match self {
            Self::Stays(device) => Some(Lent::Stays(&**device)),
            Self::Goes(device) => device.lock().clone().map(Lent::Goes),
        }
    }
}

struct Branch {
    device: Slot,
    /// The job's numbers of its processes.
    nodes: Box<[Node]>,
    is_open: AtomicBool,
    /// Those of its processes that are not forgotten.
    kept: Lock<Vec<Node>>,
}

/// One device made of several.
pub struct Routes {
    node: Node,
    first: Box<dyn Device>,
    /// The job's numbers of the first device's processes, if they are not its own.
    first_nodes: Box<[Node]>,
    /// Node processes below this one have their own number in the first device.
    plain: Node,
    /// How the others are reached.
    ways: Growing<Way>,
    more: Growing<Branch>,
    /// How many of `more` there are to look at.
    opened: AtomicUsize,
    adding: Lock<()>,
    /// Changes when somebody polls.
    polls: AtomicU32,
    /// How many sleep in the first device.
    sleepers: AtomicU32,
    /// Whether keepers pause; where.
    has_pause: AtomicBool,
    pause: (Mutex<()>, Condvar),
    has_ended: AtomicBool,
}

impl From<Box<dyn Device>> for Routes {
    /// Makes a job's only device the way to all.
    fn from(device: Box<dyn Device>) -> Self {
        Self::whole(device.node(), device.nodes(), device, Box::default(), [])
    }
}

impl Routes {
    /// Joins devices, each with the job's numbers of its processes in the order of its own, or [`NOBODY`]. The first device that
    /// knows a node process is the way to it. All of them are open.
    ///
    /// # Panics
    /// If there is no device, or one of the job's numbers is missing: they are 0 and what follows.
    pub fn join(node: Node, devices: Vec<(Box<dyn Device>, Vec<Node>)>) -> Self {
        let known = devices.iter().flat_map(|(_, nodes)| nodes).filter(|&&node| node != NOBODY);
        let count = known.max().map_or(0, |&last| last as usize + 1);
        let mut ways = vec![None; count];
        for (device, (_, nodes)) in devices.iter().enumerate() {
            for (number, &node) in nodes.iter().enumerate().filter(|&(_, &node)| node != NOBODY) {
                ways[node as usize].get_or_insert(Way { device, number: number as Node });
            }
        }
        ways[node as usize] = Some(Way { device: HERE, number: node });
        let ways: Vec<Way> =
            ways.into_iter().map(|way| way.expect("a node process nobody reaches")).collect();
        let mut devices = devices.into_iter();
        let (first, nodes) = devices.next().expect("a device");
        let more: Vec<_> =
            devices.map(|(device, nodes)| Branch::new(Slot::Stays(device), nodes, true)).collect();
        let opened = more.len();
        let mut routes = Self::whole(node, 0, first, nodes.into(), more);
        routes.ways = ways.into_iter().collect();
        routes.opened = AtomicUsize::new(opened);
        routes
    }

    fn whole(
        node: Node,
        plain: Node,
        first: Box<dyn Device>,
        nodes: Box<[Node]>,
        more: impl IntoIterator<Item = Branch>,
    ) -> Self {
        Self {
            node,
            first,
            first_nodes: nodes,
            plain,
            ways: Growing::default(),
            more: more.into_iter().collect(),
            opened: AtomicUsize::new(0),
            adding: Lock::default(),
            polls: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            has_pause: AtomicBool::new(false),
            pause: Default::default(),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Adds a device and those of its processes that `numbers` names: they become the job's next node processes, in that
    /// order. Returns the first one's number in the job, and the device's here. What is sent to them is; what they send is
    /// there when the device is open.
    pub fn add(&self, device: Box<dyn Device>, numbers: &[Node]) -> (Node, usize) {
        let _alone = self.adding.lock();
        let begin = self.nodes();
        let mut nodes = vec![NOBODY; device.nodes() as usize];
        for (node, &number) in (begin..).zip(numbers) {
            nodes[number as usize] = node;
        }
        let device = Slot::Goes(Lock::new(Some(Arc::from(device))));
        let index = self.more.push(Branch::new(device, nodes, false)) + 1;
        for &number in numbers {
            self.ways.push(Way { device: index, number });
        }
        (begin, index)
    }

    /// Begins to poll a device that was added.
    pub fn open(&self, device: usize) {
        let _alone = self.adding.lock();
        self.more[device - 1].is_open.store(true, Ordering::Release);
        self.opened.store(self.more.len(), Ordering::Release);
    }

    /// Says that nothing more will be sent to a node process that was added, and that nothing it does is of interest. A
    /// device all of whose processes are forgotten is left: to the others this process has ended in order. Its memory is let
    /// go of as soon as nobody is in it any more.
    pub fn forget(&self, node: Node) {
        let Some(&Way { device, .. }) =
            node.checked_sub(self.plain).and_then(|at| self.ways.get(at as usize))
        else {
            return;
        };
        if device == HERE || device == 0 {
            return;
        }
        let branch = &self.more[device - 1];
        let is_last = {
            let mut kept = branch.kept.lock();
            kept.retain(|&other| other != node);
            kept.is_empty()
        };
        if is_last
            && branch.is_open.swap(false, Ordering::AcqRel)
            && let Some(device) = branch.device.lend()
        {
            device.leave();
            device.wake();
            if let Slot::Goes(slot) = &branch.device {
                // Dropped here, or by who is in it.
                drop(slot.lock().take());
            }
        }
    }

    /// Returns the number of devices.
    pub fn devices(&self) -> usize {
        1 + self.more.len()
    }

    /// Tells whether polls of a device cost calls of the kernel.
    pub(crate) fn asks(&self, device: usize) -> bool {
        self.device(device).is_some_and(|device| device.asks_kernel())
    }

    /// Returns a device, unless it was let go of.
    fn device(&self, device: usize) -> Option<Lent<'_>> {
        match device {
            0 => Some(Lent::Stays(&*self.first)),
            _ => self.more[device - 1].device.lend(),
        }
    }

    /// Returns all devices that are there.
    fn all(&self) -> impl Iterator<Item = Lent<'_>> {
        (0..self.devices()).filter_map(|device| self.device(device))
    }

    #[inline]
    fn way(&self, node: Node) -> Result<(Lent<'_>, Node), Refusal> {
        if node < self.plain { Ok((Lent::Stays(&*self.first), node)) } else { self.far_way(node) }
    }

    #[inline(never)]
    fn far_way(&self, node: Node) -> Result<(Lent<'_>, Node), Refusal> {
        let way = self.ways.get((node - self.plain) as usize).filter(|way| way.device != HERE);
        let lent = way.and_then(|way| self.device(way.device).map(|device| (device, way.number)));
        lent.ok_or_else(|| Refusal::Lost { reason: format!("there is no other node process {node}") })
    }

    #[inline]
    fn poll_first(&self, handler: &dyn Handler) -> bool {
        if self.first_nodes.is_empty() {
            self.first.poll(handler)
        } else {
            self.first.poll(&Renumbered { handler, routes: self, device: 0 })
        }
    }

    /// Tells whether a device that has its own numbers is the way to a node process.
    fn is_way(&self, device: usize, node: Node) -> bool {
        let place = node.checked_sub(self.plain);
        place.and_then(|place| self.ways.get(place as usize)).is_some_and(|way| way.device == device)
    }

    /// Polls all devices but for the first.
    #[cold]
    fn poll_more(&self, handler: &dyn Handler) -> bool {
        let is_open = |&device: &usize| self.more[device - 1].is_open.load(Ordering::Acquire);
        let open = (1..=self.opened.load(Ordering::Acquire)).filter(is_open);
        open.fold(false, |moved, device| self.poll_branch(device, handler) | moved)
    }

    fn poll_branch(&self, device: usize, handler: &dyn Handler) -> bool {
        let lent = self.device(device);
        lent.is_some_and(|lent| lent.poll(&Renumbered { handler, routes: self, device }))
    }

    /// Delivers as [`Device::poll`] does, on behalf of a keeper.
    pub fn poll_for_keeper(&self, handler: &dyn Handler) -> bool {
        let polled = self.poll_first(handler);
        self.poll_more(handler) | polled
    }

    /// Sleeps in a device, in the first one only while nobody else does, and calls `see` when something may have arrived there,
    /// until the process leaves the job. `see` returns whether there was something; `is_idle` tells whether to sleep for long.
    pub fn keep(&self, device: usize, see: &dyn Fn() -> bool, is_idle: &dyn Fn() -> bool) {
        let Some(branch) = device.checked_sub(1).map(|device| &self.more[device]) else {
            return self.keep_first(see);
        };
        let Some(device) = branch.device.lend() else { return };
        let stays = || !self.has_ended.load(Ordering::Acquire) && !branch.is_forgotten();
        while stays() {
            device.sleep(if is_idle() { SLEEP } else { PAUSE }, &stays);
            if self.others_poll() {
                self.pause_for(PAUSE);
            } else if !see() {
                std::thread::yield_now();
            }
        }
    }

    /// Sleeps in the first device while nobody else does or polls, and calls `see` when something may have arrived.
    fn keep_first(&self, see: &dyn Fn() -> bool) {
        let stays = || !self.has_ended.load(Ordering::Acquire);
        let is_left = || self.sleepers.load(Ordering::SeqCst) == 0;
        let mut pause = PAUSE;
        while stays() {
            let before = self.first.polls();
            std::thread::sleep(pause);
            let is_quiet = self.first.polls() == before;
            if !is_quiet || !is_left() {
                pause = if is_quiet { (pause * 2).min(LONG_PAUSE) } else { PAUSE };
                continue;
            }
            pause = PAUSE;
            loop {
                self.first.sleep(SLEEP, &|| stays() && is_left());
                // Whoever is in the library sees to it.
                let before = self.first.polls();
                self.pause_for(WAIT);
                if !stays() || !is_left() || self.first.polls() != before {
                    break;
                }
                while see() {}
            }
        }
    }

    /// Tells whether others poll, so that a keeper need not.
    fn others_poll(&self) -> bool {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            return false;
        }
        let before = self.polls.load(Ordering::Relaxed);
        self.pause_for(WAIT);
        self.polls.load(Ordering::Relaxed) != before && self.sleepers.load(Ordering::SeqCst) == 0
    }

    /// Waits, but not longer than until somebody sleeps.
    fn pause_for(&self, time: Duration) {
        let (lock, condition) = &self.pause;
        let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_pause.store(true, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) == 0 {
            drop(condition.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Ends the pause of keepers.
    #[cold]
    fn call_keepers(&self) {
        let _guard = self.pause.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_pause.store(false, Ordering::Relaxed);
        self.pause.1.notify_all();
    }
}

impl Branch {
    fn new(device: Slot, nodes: Vec<Node>, is_open: bool) -> Self {
        let kept = nodes.iter().copied().filter(|&node| node != NOBODY).collect();
        Self { device, nodes: nodes.into(), is_open: AtomicBool::new(is_open), kept: Lock::new(kept) }
    }

    /// Tells whether it was left, because all of its processes were forgotten.
    fn is_forgotten(&self) -> bool {
        !self.is_open.load(Ordering::Acquire) && self.kept.lock().is_empty()
    }
}

/// Tells a handler the job's numbers of a device's processes.
struct Renumbered<'a> {
    handler: &'a dyn Handler,
    routes: &'a Routes,
    device: usize,
}

impl Renumbered<'_> {
    fn of(&self, number: Node) -> Option<Node> {
        let nodes = match self.device {
            0 => &self.routes.first_nodes,
            device => &self.routes.more[device - 1].nodes,
        };
        nodes.get(number as usize).copied().filter(|&node| node != NOBODY)
    }
}

impl Handler for Renumbered<'_> {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        match self.of(message.from) {
            Some(from) => self.handler.arrive(Arriving { from, ..message }),
            None => Placement::Taken,
        }
    }

    fn placed(&self, from: Node, channel: Channel, token: u64) {
        if let Some(from) = self.of(from) {
            self.handler.placed(from, channel, token);
        }
    }

    fn sent(&self, to: Node, channel: Channel, token: u64) {
        if let Some(to) = self.of(to) {
            self.handler.sent(to, channel, token);
        }
    }

    fn lost(&self, peer: Node, reason: &str) {
        // Who is reached another way is not lost.
        let is_way = |&node: &Node| self.routes.is_way(self.device, node);
        if let Some(peer) = self.of(peer).filter(is_way) {
            self.handler.lost(peer, reason);
        }
    }

    fn advance(&self) -> bool {
        self.handler.advance()
    }

    fn has_come(&self) -> bool {
        self.handler.has_come()
    }

    fn is_idle(&self) -> bool {
        self.handler.is_idle()
    }
}

impl Device for Routes {
    fn name(&self) -> &'static str {
        self.first.name()
    }

    #[inline]
    fn node(&self) -> Node {
        self.node
    }

    fn nodes(&self) -> u32 {
        self.plain + self.ways.len() as u32
    }

    fn capabilities(&self, peer: Node) -> Capabilities {
        match self.way(peer) {
            Ok((device, number)) => device.capabilities(number),
            Err(_) => Capabilities { eager: 0, remote_read: false },
        }
    }

    fn answer(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> bool {
        self.way(to).is_ok_and(|(device, number)| device.answer(number, channel, header, payload))
    }

    #[inline]
    fn send(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> Result<(), Refusal> {
        let (device, number) = self.way(to)?;
        device.send(number, channel, header, payload)
    }

    fn send_all(&self, to: Node, channel: Channel, messages: &[Leaving<'_>]) -> Result<usize, Refusal> {
        let (device, number) = self.way(to)?;
        device.send_all(number, channel, messages)
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
        let (device, number) = self.way(to)?;
        // SAFETY: the caller's promise.
        unsafe { device.start(number, channel, header, address, bytes, token) }
    }

    fn ways(&self, peer: Node) -> u32 {
        self.way(peer).map_or(1, |(device, number)| device.ways(number))
    }

    unsafe fn start_part(
        &self,
        part: u32,
        to: Node,
        channel: Channel,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        token: u64,
    ) -> Result<(), Refusal> {
        let (device, number) = self.way(to)?;
        // SAFETY: the caller's promise.
        unsafe { device.start_part(part, number, channel, header, address, bytes, token) }
    }

    unsafe fn read(&self, peer: Node, address: u64, target: *mut u8, bytes: u64) -> Result<(), Refusal> {
        let (device, number) = self.way(peer)?;
        // SAFETY: the caller's promise.
        unsafe { device.read(number, address, target, bytes) }
    }

    #[inline]
    fn poll(&self, handler: &dyn Handler) -> bool {
        let polled = self.poll_first(handler);
        if self.opened.load(Ordering::Relaxed) == 0 {
            return polled;
        }
        self.polls.store(self.polls.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        self.poll_more(handler) | polled
    }

    #[inline]
    fn has_arrived(&self) -> bool {
        self.opened.load(Ordering::Relaxed) != 0 || self.first.has_arrived()
    }

    fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        if self.has_pause.load(Ordering::SeqCst) {
            self.call_keepers();
        }
        self.first.sleep(limit, is_idle);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake(&self) {
        self.first.wake();
    }

    fn rest(&self) -> Option<Traffic> {
        let mut all = self.first.rest()?;
        for branch in self.more.iter().filter(|branch| !branch.is_forgotten()) {
            // Nobody sees what comes on a device that is not open.
            let device = branch.is_open.load(Ordering::Acquire).then(|| branch.device.lend())??;
            let one = device.rest()?;
            all = Traffic { sent: all.sent + one.sent, received: all.received + one.received };
        }
        Some(all)
    }

    fn outbound(&self) -> Outbound {
        let mut outbound = Outbound::default();
        self.all().for_each(|device| outbound.add_all(device.outbound()));
        outbound
    }

    fn leave(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.call_keepers();
        for device in self.all() {
            device.leave();
            device.wake();
        }
    }

    fn commons(&self, owner: Node) -> Option<Commons> {
        // Who joined later shares memory with some of a communicator's processes only.
        let first = &*self.first;
        if owner == self.node {
            return first.commons(first.node());
        }
        let is_first = owner < self.plain || self.is_way(0, owner);
        let (_, number) = self.way(owner).ok().filter(|_| is_first)?;
        first.commons(number)
    }

    fn nudge(&self, peer: Node) {
        if let Ok((device, number)) = self.way(peer) {
            device.nudge(number);
        }
    }

    #[inline]
    fn is_streaming(&self) -> bool {
        // Who has nothing to do sleeps in the first device.
        self.first.is_streaming()
    }

    fn polls(&self) -> Option<u32> {
        self.first.polls()
    }

    fn wants_poll(&self) -> bool {
        self.first.wants_poll()
    }

    fn is_crowded(&self) -> bool {
        self.all().any(|device| device.is_crowded())
    }

    fn asks_kernel(&self) -> bool {
        self.all().any(|device| device.asks_kernel())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::{Conditions, Network};
    use crate::{Nobody, Nodes, Places, conformance};
    use std::ops::Deref;

    /// A device, and something that goes with it.
    struct With<D, T>(D, T);

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
            header: &[u8],
            address: *const u8,
            bytes: u64,
            token: u64,
        ) -> Result<(), Refusal> {
            // SAFETY: the caller's promise.
            unsafe { self.0.start(to, channel, header, address, bytes, token) }
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
        assert_eq!(
            (nodes.device().nodes(), nodes.device().devices(), nodes.places().add(&[2, 3, 3])),
            (4, 2, 2)
        );
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
}
