//! The node processes of a job, if there are several: the way to those that are not this one.

use std::sync::OnceLock;
use std::time::Duration;
use weft_coll::Team;
use weft_coll::hier::Exchange;
use weft_comm::Group;
use weft_sched::{Source, Traffic};
use weft_transport::{Device, Node, Nodes};

static NODES: OnceLock<&'static Nodes> = OnceLock::new();
static EXCHANGE: OnceLock<&'static Exchange> = OnceLock::new();
static HOST: OnceLock<u32> = OnceLock::new();

/// Says that the job has several node processes, and on which hosts they are. To be called before the library is used.
pub fn install(nodes: &'static Nodes, host_of: impl Fn(Node) -> u32) {
    if NODES.set(nodes).is_ok() {
        let _ = HOST.set(host_of(nodes.node()));
        let _ = EXCHANGE.set(Exchange::serve(nodes, host_of));
        weft_sched::set_source(&Outside, nodes.device().is_crowded());
        // Without the threads of further devices messages wait until a rank polls; nothing else depends on them.
        let _ = nodes.keep();
    }
}

/// Returns the node processes of a job that has several.
#[inline]
pub fn nodes() -> Option<&'static Nodes> {
    NODES.get().copied()
}

/// Returns the number of this process's host in the job.
pub(crate) fn host() -> u32 {
    HOST.get().copied().unwrap_or(0)
}

/// Tells the other node processes that this one ends in order.
pub fn leave() {
    if let Some(nodes) = nodes() {
        nodes.device().leave();
    }
}

/// Tells whether not all ranks of a group are in one node process.
pub(crate) fn are_apart(group: &Group) -> bool {
    let Some(nodes) = nodes() else { return false };
    let mut places = group.iter().map(|rank| nodes.places().of(rank).node);
    let first = places.next();
    places.any(|node| Some(node) != first)
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

    fn rest(&self) -> Option<Traffic> {
        let weft_transport::Traffic { sent, received } = nodes()?.rest()?;
        Some(Traffic { sent, received })
    }
}
