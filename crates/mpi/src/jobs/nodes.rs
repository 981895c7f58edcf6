//! The node processes that this one exchanges messages with, of its own job and of others: the way to them.

use crate::process::Process;
use std::sync::OnceLock;
use std::time::Duration;
use weft_am::{Active, Service};
use weft_base::Result;
use weft_base::settings::{NET_THREADS, is_checking};
use weft_coll::Team;
use weft_coll::hier::Exchange;
use weft_comm::Group;
use weft_sched::{Source, Traffic};
use weft_transport::{Device, Node, Nodes, Outbound, Places, Tuning};

static NODES: OnceLock<&'static Nodes> = OnceLock::new();
static ACTIVE: OnceLock<&'static Active> = OnceLock::new();
static EXCHANGE: OnceLock<&'static Exchange> = OnceLock::new();
/// The number of the host of each of the job's node processes, if there are several.
static HOSTS: OnceLock<Box<[u32]>> = OnceLock::new();
/// The number of this node process in its job and how many there are, if there are several.
static OWN: OnceLock<(Node, u32)> = OnceLock::new();

/// Says that the job has several node processes, and on which hosts they are. To be called before the library is used.
pub fn install(nodes: &'static Nodes, host_of: impl Fn(Node) -> u32) {
    if OWN.set((nodes.node(), nodes.places().nodes())).is_ok() {
        let _ = HOSTS.set((0..nodes.places().nodes()).map(&host_of).collect());
        begin(nodes, host_of);
    }
}

fn begin(nodes: &'static Nodes, host_of: impl Fn(Node) -> u32) {
    let exchange = EXCHANGE.get_or_init(|| Exchange::serve(nodes, host_of));
    exchange.take_notes(crate::communicators::contexts::come_back);
    if is_checking() {
        exchange.look_at_shown(crate::collectives::checks::read);
    }
    let _ = NODES.set(nodes);
    let device = nodes.device();
    weft_sched::set_source(&Outside, device.is_crowded(), device.asks_kernel());
    // Without the threads of further devices messages wait until a rank polls; nothing else depends on them.
    let _ = nodes.keep(weft_sched::watched_poll, NET_THREADS.get() as u32);
}

/// Returns the way to other node processes; a job that has only this one begins to have it.
///
/// # Errors
/// `MPI_ERR_INTERN` with what the system refuses.
pub(crate) fn or_begin() -> Result<&'static Nodes> {
    static BEGINNING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = BEGINNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(nodes) = nodes() {
        return Ok(nodes);
    }
    // Where a worker with nothing to do sleeps, and other devices are added to.
    let places = Places::new(&vec![0; crate::process::host::host().size() as usize]);
    let nodes: &'static Nodes = Box::leak(Box::new(Nodes::new(weft_fabric::alone()?, places)));
    Process::any().messages().engine.spread_out(nodes);
    begin(nodes, |_| 0);
    Ok(nodes)
}

/// Returns the way to other node processes, if there are any.
#[inline]
pub fn nodes() -> Option<&'static Nodes> {
    NODES.get().copied()
}

/// Begins to serve active messages with other node processes, if there are any: before peers may send some.
pub(crate) fn serve_active(services: &'static [&'static dyn Service]) {
    if let Some(nodes) = nodes().filter(|_| ACTIVE.get().is_none()) {
        Active::serve(nodes, services, |active| _ = ACTIVE.set(active));
    }
}

/// Returns the active messages with other node processes, if they are served.
pub(crate) fn active() -> Option<&'static Active> {
    ACTIVE.get().copied()
}

/// Returns the number in the job of the host of one of its node processes.
pub(crate) fn host_of(node: Node) -> u32 {
    HOSTS.get().and_then(|hosts| hosts.get(node as usize).copied()).unwrap_or(0)
}

/// Returns the number of this process's host in the job.
pub(crate) fn host() -> u32 {
    host_of(own_place().map_or(0, |(node, _)| node))
}

/// Tells whether the job has node processes on several hosts.
pub(crate) fn are_spread() -> bool {
    HOSTS.get().is_some_and(|hosts| hosts.iter().any(|&host| host != hosts[0]))
}

/// Returns the number of this node process in its job and how many there are, if there are several.
pub(crate) fn own_place() -> Option<(Node, u32)> {
    OWN.get().copied()
}

/// Returns the number of the node process of a rank of the job, or of a stranger.
pub(crate) fn node_of(rank: u32) -> Node {
    nodes().map_or(0, |nodes| nodes.places().of(rank).node)
}

/// Lets go of a node process of another job.
pub(crate) fn forget(node: Node) {
    if let Some(nodes) = nodes() {
        nodes.device().forget(node);
    }
}

/// Tells the other node processes that this one ends in order.
pub fn leave() {
    if let Some(nodes) = nodes() {
        nodes.device().leave();
    }
}

/// Returns what was sent to other hosts, if there are other node processes.
pub fn outbound() -> Option<Outbound> {
    nodes().map(|nodes| nodes.device().outbound())
}

/// Tells whether not all ranks of a group are in one node process.
pub(crate) fn are_apart(group: &Group) -> bool {
    let Some(nodes) = nodes() else { return false };
    let mut places = group.iter().map(|rank| nodes.places().of(rank).node);
    let first = places.next();
    places.any(|node| Some(node) != first)
}

/// Tells whether a rank of the job is in this process.
pub(crate) fn is_here(rank: u32) -> bool {
    nodes().is_none_or(|nodes| nodes.places().of(rank).node == nodes.node())
}

/// Returns how many ranks of a group are in this process.
pub(crate) fn population_here(group: &Group) -> u32 {
    if nodes().is_none() { group.size() } else { group.iter().filter(|&rank| is_here(rank)).count() as u32 }
}

/// Tells a node process of the job that a rank of this one has let all of a block of context numbers go.
pub(crate) fn note(node: Node, block: u64) {
    match EXCHANGE.get().filter(|exchange| exchange.nodes().node() != node) {
        Some(exchange) => exchange.note(node, block),
        None => crate::communicators::contexts::come_back(block),
    }
}

/// In checking mode, waits until what ranks here have shown of their collective calls to other processes has been heard.
pub(crate) fn await_heard() {
    if let Some(exchange) = EXCHANGE.get().filter(|_| is_checking()) {
        exchange.await_heard();
    }
}

/// Joins the ranks of a communicator for collective operations, wherever they are.
pub(crate) fn join(context: u32, size: u32, rank: u32, world_rank: impl Fn(u32) -> u32) -> Team {
    match EXCHANGE.get() {
        Some(exchange) => Team::join_spread(context, size, rank, world_rank, exchange),
        None => Team::join(context, size, rank, world_rank),
    }
}

/// What the scheduler polls, and where it sleeps.
struct Outside;

impl Source for Outside {
    fn poll(&self) -> bool {
        nodes().is_some_and(Nodes::poll)
    }

    fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool) {
        if let Some(nodes) = nodes() {
            nodes.sleep(limit, is_idle);
        }
    }

    fn wake(&self) {
        if let Some(nodes) = nodes() {
            nodes.wake();
        }
    }

    fn is_streaming(&self) -> bool {
        nodes().is_some_and(|nodes| nodes.device().is_streaming())
    }

    fn polls(&self) -> Option<u32> {
        nodes()?.device().polls()
    }

    fn rest(&self) -> Option<Traffic> {
        let weft_transport::Traffic { sent, received } = nodes()?.rest()?;
        Some(Traffic { sent, received })
    }
}
