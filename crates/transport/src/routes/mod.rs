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
//! - `branch`: a device that is not the first, which may come and go. `device`, `tuning`: what [`Routes`] does as a device.
//! - `keeper`: threads that sleep in devices.
//!
//! # Sleep
//! Who has nothing to do sleeps in the first device. Every further one needs a thread that runs [`Routes::keep`]: it sleeps
//! in the device, and sees to what arrives. While others poll it does not look, so that it takes no core from them. The first
//! device may have such threads, too: they sleep there while nobody else does, which is while all compute.

mod branch;
mod device;
mod keeper;
#[cfg(test)]
mod tests;
mod tuning;

use crate::{Device, Node, Refusal};
use branch::{Branch, Lent, Slot};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use weft_sync::{Growing, Lock};

/// Stands for a process that a device knows, and to which it is not a way: one that is not in the job, or reached otherwise.
pub const NOBODY: Node = Node::MAX;
/// In place of a device: the process itself.
const HERE: usize = usize::MAX;

/// How a node process is reached.
#[derive(Clone, Copy)]
struct Way {
    /// Which device.
    device: usize,
    /// The number of the process there.
    number: Node,
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
}
