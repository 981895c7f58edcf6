//! What [`Routes`] does as a device: each call goes to the device that is the way.
#![allow(unsafe_code)] // Passes memory by address, as the interface does.

use super::{NOBODY, Routes};
use crate::{Arriving, Capabilities, Channel, Device, Handler, Node, Placement, Refusal};
use core::sync::atomic::Ordering;
use std::time::Duration;

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

    #[inline]
    fn send(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> Result<(), Refusal> {
        let (device, number) = self.way(to)?;
        device.send(number, channel, header, payload)
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
        let (device, number) = self.way(to)?;
        // SAFETY: the caller's promise.
        unsafe { device.start(number, channel, part, header, address, bytes, token) }
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

    fn leave(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.call_keepers();
        for device in self.all() {
            device.leave();
            device.wake();
        }
    }
}

impl Routes {
    #[inline]
    pub(super) fn poll_first(&self, handler: &dyn Handler) -> bool {
        if self.first_nodes.is_empty() {
            self.first.poll(handler)
        } else {
            self.first.poll(&Renumbered { handler, routes: self, device: 0 })
        }
    }

    /// Tells whether a device that has its own numbers is the way to a node process.
    pub(super) fn is_way(&self, device: usize, node: Node) -> bool {
        let place = node.checked_sub(self.plain);
        place.and_then(|place| self.ways.get(place as usize)).is_some_and(|way| way.device == device)
    }

    /// Polls all devices but for the first.
    #[cold]
    pub(super) fn poll_more(&self, handler: &dyn Handler) -> bool {
        let is_open = |&device: &usize| self.more[device - 1].is_open.load(Ordering::Acquire);
        let open = (1..=self.opened.load(Ordering::Acquire)).filter(is_open);
        open.fold(false, |moved, device| self.poll_branch(device, handler) | moved)
    }

    pub(super) fn poll_branch(&self, device: usize, handler: &dyn Handler) -> bool {
        let lent = self.device(device);
        lent.is_some_and(|lent| lent.poll(&Renumbered { handler, routes: self, device }))
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
