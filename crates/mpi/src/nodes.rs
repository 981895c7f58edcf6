//! The node processes of a job, if there are several: the way to those that are not this one.

use std::sync::OnceLock;
use std::time::Duration;
use weft_sched::Source;
use weft_transport::Nodes;

static NODES: OnceLock<&'static Nodes> = OnceLock::new();

/// Says that the job has several node processes. To be called before the library is used.
pub fn install(nodes: &'static Nodes) {
    if NODES.set(nodes).is_ok() {
        weft_sched::set_source(&Outside, nodes.device().is_crowded());
    }
}

/// Returns the node processes of a job that has several.
#[inline]
pub fn nodes() -> Option<&'static Nodes> {
    NODES.get().copied()
}

/// Tells the other node processes that this one ends in order.
pub fn leave() {
    if let Some(nodes) = nodes() {
        nodes.device().leave();
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
}
