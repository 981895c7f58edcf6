//! One process's end of a network.
#![allow(unsafe_code)] // Copies between the memory of senders and receivers, as a device does.

use super::world::{Body, Packet, Way, World};
use super::{Conditions, Inner};
use crate::{Capabilities, Channel, Device, Handler, MOST_ANSWER, Node, Outbound, Refusal, Traffic, Tuning};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// One process's device.
pub(super) struct Simulated {
    pub(super) inner: Arc<Inner>,
    pub(super) node: Node,
}

impl Simulated {
    /// Returns the flow of a channel to a process.
    fn way(&self, to: Node, channel: Channel) -> Way {
        Way { to, from: self.node, channel, part: 0 }
    }
}

impl Device for Simulated {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn node(&self) -> Node {
        self.node
    }

    fn nodes(&self) -> u32 {
        self.inner.nodes
    }

    fn capabilities(&self, _peer: Node) -> Capabilities {
        let Conditions { eager, remote_read, .. } = self.inner.conditions;
        Capabilities { eager, remote_read }
    }

    fn send(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> Result<(), Refusal> {
        assert!(payload.len() <= self.inner.conditions.eager, "a payload longer than the device takes");
        self.inner.enqueue(self.way(to, channel), header, Body::Copied(payload.into()))
    }

    unsafe fn start(
        &self,
        to: Node,
        channel: Channel,
        part: u32,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        token: u64,
    ) -> Result<(), Refusal> {
        let way = Way { part: part % self.inner.conditions.parts, ..self.way(to, channel) };
        self.inner.enqueue(way, header, Body::Started { address, bytes, token })
    }

    unsafe fn read(&self, peer: Node, address: u64, target: *mut u8, bytes: u64) -> Result<(), Refusal> {
        assert!(self.inner.conditions.remote_read, "this network cannot read peers' memory");
        let world = self.inner.world();
        if let Some(refusal) = self.inner.refuse(&world, self.node, peer) {
            return Err(refusal);
        }
        // SAFETY: the caller's promise; the peer is told nothing while the world is locked.
        unsafe { core::ptr::copy_nonoverlapping(address as *const u8, target, bytes as usize) };
        Ok(())
    }

    fn poll(&self, handler: &dyn Handler) -> bool {
        let polling = &self.inner.polling[self.node as usize];
        if polling.swap(true, Ordering::Acquire) {
            return false;
        }
        let moved = self.inner.poll(self.node, handler);
        polling.store(false, Ordering::Release);
        moved
    }

    fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool) {
        // Whatever stirs from here on is seen below.
        if !is_idle() {
            return;
        }
        let (inner, node) = (&*self.inner, self.node as usize);
        let bell = &inner.bells[node];
        let is_quiet = |world: &mut World| {
            !world.mailboxes[node].stirred
                && world.mailboxes[node].events.is_empty()
                && world.flows_to(self.node).all(|(_, flow)| flow.queue.is_empty())
        };
        let result = bell.wait_timeout_while(inner.world(), limit, |world| is_quiet(world));
        let (mut world, _) = result.unwrap_or_else(PoisonError::into_inner);
        world.mailboxes[node].stirred = false;
    }

    fn wake(&self) {
        self.inner.stir(&mut self.inner.world(), self.node);
    }

    fn leave(&self) {
        self.inner.world().left[self.node as usize] = true;
    }
}

impl Tuning for Simulated {
    /// Takes some, by their length.
    fn answer(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> bool {
        let body = || Body::Copied(payload.into());
        payload.len() <= MOST_ANSWER
            && payload.len().is_multiple_of(3)
            && self.inner.enqueue(self.way(to, channel), header, body()).is_ok()
    }

    fn parts(&self, _peer: Node) -> u32 {
        self.inner.conditions.parts
    }

    fn rest(&self) -> Option<Traffic> {
        let (inner, node) = (&*self.inner, self.node);
        let world = inner.world();
        let delivers = inner.polling[node as usize].load(Ordering::Acquire);
        if delivers || !world.mailboxes[node as usize].events.is_empty() {
            return None;
        }
        let mut traffic = Traffic::default();
        let is_out = |way: &Way| way.from == node;
        let own = world.flows.iter().filter(|(way, _)| is_out(way) || way.to == node);
        for (way, flow) in own.filter(|(way, _)| !world.lost[inner.pair(way.from, way.to)]) {
            let (peer, is_out) = if is_out(way) { (way.to, true) } else { (way.from, false) };
            let has_left = world.left[peer as usize];
            // Memory of this process that has not been read, or is being written to.
            let is_busy = |packet: &Packet| match is_out {
                true => matches!(packet.body, Body::Started { .. }),
                // What a peer has sent was there before its end was in order.
                false => packet.placing.is_some() || has_left,
            };
            if flow.queue.iter().any(is_busy) {
                return None;
            }
            match (has_left, is_out) {
                (true, _) => {}
                (false, true) => traffic.sent += flow.messages,
                (false, false) => traffic.received += flow.messages - flow.queue.len() as u64,
            }
        }
        Some(traffic)
    }

    fn outbound(&self) -> Outbound {
        let world = self.inner.world();
        let mut outbound = Outbound::default();
        for (way, flow) in world.flows.iter().filter(|(way, _)| way.from == self.node) {
            outbound.add(way.channel, flow.messages);
            outbound.bytes += flow.bytes;
        }
        outbound
    }
}
