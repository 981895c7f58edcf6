//! What the device does beyond what every device does: answers in the shuttle, memory for all, counts.

use std::sync::atomic::Ordering;

use weft_transport::{Channel, Commons, Node, Traffic, Tuning};

use super::SegmentDevice;
use crate::segment::layout::Shape;

impl Tuning for SegmentDevice {
    fn answer(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> bool {
        let Ok(peer) = self.checked(to, header) else { return false };
        if !self.map.shuttles.is_here(to) {
            return false;
        }
        let mut outgoing = peer.outgoing.lock();
        if outgoing.lost || !outgoing.answer(&self.map, &self.blocks, channel, header, payload) {
            return false;
        }
        drop(outgoing);
        self.call(to);
        true
    }

    #[inline]
    fn has_arrived(&self) -> bool {
        self.is_ready() || self.waiting_count.load(Ordering::Relaxed) != 0
    }

    /// The thread that polls where no rank does would get in the way: if it loses its core while it holds what ranks need, they
    /// wait until it has one again, mostly 4 ms.
    fn polls(&self) -> Option<u32> {
        Some(self.polls.load(Ordering::Relaxed))
    }

    fn is_crowded(&self) -> bool {
        self.crowded
    }

    fn commons(&self, owner: Node) -> Option<Commons> {
        let Shape { nodes, commons, .. } = self.map.shape;
        (owner < nodes && commons > 0).then(|| self.map.commons(owner))
    }

    fn nudge(&self, peer: Node) {
        if peer < self.map.shape.nodes && peer != self.map.node {
            self.call(peer);
        }
    }

    fn rest(&self) -> Option<Traffic> {
        // Nobody delivers while this is held.
        let incoming = self.incoming.try_lock()?;
        let rests = incoming.rests() && !self.is_ready() && self.waiting_count.load(Ordering::SeqCst) == 0;
        // What was sent is in the receiver's memory, who sees it: nothing is ever on its way elsewhere.
        let count = incoming.delivered();
        rests.then_some(Traffic { sent: count, received: count })
    }
}
