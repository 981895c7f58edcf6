//! The node processes of a job, if there are several: the way to those that are not this one.

use std::sync::OnceLock;
use weft_transport::Nodes;

static NODES: OnceLock<&'static Nodes> = OnceLock::new();

/// Says that the job has several node processes. To be called before the library is used.
pub fn install(nodes: &'static Nodes) {
    let _ = NODES.set(nodes);
}

/// Returns the node processes of a job that has several.
#[inline]
pub fn nodes() -> Option<&'static Nodes> {
    NODES.get().copied()
}
