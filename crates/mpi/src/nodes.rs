//! The node processes of a job, if there are several: who holds which rank, and the way to them.

use std::sync::OnceLock;
use weft_transport::{Arriving, Channel, Device, Handler, Node, Placement, Places};

/// The node processes of a job.
pub struct Nodes {
    /// Which of them holds which rank.
    pub places: Places,
    /// The way to the others.
    pub device: &'static dyn Device,
}

static NODES: OnceLock<Nodes> = OnceLock::new();

/// Says that the job has several node processes. To be called before the library is used.
pub fn install(places: Places, device: &'static dyn Device) {
    let _ = NODES.set(Nodes { places, device });
}

/// Returns the node processes of a job that has several.
#[inline]
pub fn nodes() -> Option<&'static Nodes> {
    NODES.get()
}

/// Hands what a device delivers to the layer whose channel it is.
pub struct Dispatch {
    /// For [`Channel::PointToPoint`].
    pub messages: &'static dyn Handler,
    /// For [`Channel::Collective`].
    pub collectives: &'static dyn Handler,
}

impl Dispatch {
    fn of(&self, channel: Channel) -> &'static dyn Handler {
        match channel {
            Channel::PointToPoint => self.messages,
            Channel::Collective => self.collectives,
        }
    }
}

impl Handler for Dispatch {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.of(message.channel).arrive(message)
    }

    fn placed(&self, from: Node, channel: Channel, token: u64) {
        self.of(channel).placed(from, channel, token);
    }

    fn sent(&self, to: Node, channel: Channel, token: u64) {
        self.of(channel).sent(to, channel, token);
    }

    fn lost(&self, peer: Node, reason: &str) {
        self.messages.lost(peer, reason);
        self.collectives.lost(peer, reason);
    }
}
