//! What the device does beyond what every device does: several messages at once, parts over several connections, counts.

use super::TcpDevice;
use crate::link::TOGETHER;
use core::sync::atomic::Ordering;
use weft_sys::socket::tcp_resent;
use weft_transport::{Channel, Leaving, Node, Outbound, Refusal, Traffic, Tuning};

impl Tuning for TcpDevice {
    fn send_all(
        &self,
        to: Node,
        channel: Channel,
        messages: &[Leaving<'_>],
    ) -> Option<Result<usize, Refusal>> {
        Some(self.send_some(to, channel, &messages[..messages.len().min(TOGETHER)]))
    }

    fn parts(&self, peer: Node) -> u32 {
        self.peers.get(peer as usize).map_or(1, |peer| peer.stripes)
    }

    fn polls(&self) -> Option<u32> {
        Some(self.ticks.load(Ordering::Relaxed))
    }

    fn wants_poll(&self) -> bool {
        self.has_unread.swap(false, Ordering::Relaxed)
    }

    fn is_streaming(&self) -> bool {
        self.streams.load(Ordering::Relaxed) != 0
    }

    fn is_crowded(&self) -> bool {
        self.is_crowded
    }

    fn asks_kernel(&self) -> bool {
        true
    }

    fn rest(&self) -> Option<Traffic> {
        let mut traffic = Traffic::default();
        let others = self.peers.iter().enumerate().filter(|&(node, _)| node as Node != self.node);
        for (node, peer) in others.filter(|(_, peer)| peer.lost.get().is_none()) {
            let ended = peer.ended.load(Ordering::Acquire);
            for (_, link) in self.links(node as Node) {
                let sent = {
                    let out = link.out.lock();
                    if out.busy || !out.is_empty() {
                        return None;
                    }
                    out.messages().iter().map(|(_, messages)| messages).sum::<u64>()
                };
                // Nobody delivers while this is held. What the kernel still has is missing from what was received.
                let incoming = link.incoming.try_lock()?;
                if incoming.placing.is_some() {
                    return None;
                }
                if !ended {
                    traffic.sent += sent;
                    traffic.received += incoming.messages;
                }
            }
        }
        // What a peer sent before it left is in this host's kernel by now, and nobody else counts it.
        (self.pending.load(Ordering::SeqCst) == 0 && !self.is_ready()).then_some(traffic)
    }

    fn outbound(&self) -> Outbound {
        let mut outbound = Outbound::default();
        for (_, link) in (0..self.count()).flat_map(|node| self.links(node)) {
            let out = link.out.lock();
            out.messages().iter().for_each(|&(channel, messages)| outbound.add(channel, messages));
            outbound.bytes += out.bytes;
            drop(out);
            outbound.resent += link.socket.get().and_then(tcp_resent).map_or(0, u64::from);
        }
        outbound
    }
}
