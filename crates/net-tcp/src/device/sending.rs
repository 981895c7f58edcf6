//! What waits to be sent to a peer, and who sends it.

use super::{Peer, QUIET, TcpDevice, index};
use crate::link::{Item, Link, Stage};
use core::sync::atomic::Ordering;
use rustix::event::epoll;
use std::os::fd::AsFd;
use weft_transport::{Channel, Device, MAX_HEADER, Node, Refusal};

impl TcpDevice {
    pub(super) fn peer(&self, to: Node, header: &[u8]) -> Result<&Peer, Refusal> {
        assert!(header.len() <= MAX_HEADER, "a header of {} bytes", header.len());
        let Some(peer) = self.peers.get(to as usize).filter(|_| to != self.node) else {
            return Err(Refusal::Lost { reason: format!("there is no other node process {to}") });
        };
        match peer.lost.get() {
            None => Ok(peer),
            Some(reason) => Err(Refusal::Lost { reason: reason.clone() }),
        }
    }

    /// Puts a message into a peer's queue, and dials if nobody has.
    pub(super) fn queue(
        &self,
        to: Node,
        channel: Channel,
        peer: &Peer,
        item: impl FnOnce() -> Item,
        (cost, bytes): (usize, u64),
    ) -> Result<(), Refusal> {
        let link = &peer.links[channel as usize];
        let mut out = link.out.lock();
        // Whoever notes a loss takes the queue afterwards.
        if let Some(reason) = peer.lost.get() {
            return Err(Refusal::Lost { reason: reason.clone() });
        }
        if out.stage == Stage::Ended {
            return Err(Refusal::Lost { reason: format!("node process {to} has ended") });
        }
        if !out.push(item, cost) {
            return Err(Refusal::Full);
        }
        out.accept(bytes);
        let dials = out.stage == Stage::Absent;
        if dials {
            out.stage = Stage::Dialling;
        }
        // It has become clear since the caller looked.
        let sends = out.stage == Stage::Open && !out.busy && !out.armed;
        out.busy |= sends;
        drop(out);
        if sends {
            self.send_waiting(to, channel, link);
        }
        if dials {
            self.wanted.lock().push((to, channel));
            self.note();
        }
        Ok(())
    }

    /// Sends what waits for a peer; the caller is the busy one.
    pub(super) fn send_waiting(&self, to: Node, channel: Channel, link: &Link) {
        let Some(socket) = link.socket.get() else { return };
        let mut tokens = Vec::new();
        let blocked = link.send_waiting(socket.as_fd(), &mut tokens);
        if !tokens.is_empty() {
            self.done.lock().extend(tokens.iter().map(|&token| (to, channel, token)));
            self.pending.fetch_add(tokens.len() as u32, Ordering::SeqCst);
            self.wake();
        }
        let mut out = link.out.lock();
        if !out.busy && core::mem::take(&mut out.is_awaited) {
            self.wake();
        }
        if blocked != out.armed && !out.busy && out.stage == Stage::Open && blocked != out.is_empty() {
            out.armed = blocked;
            self.note_stream(&link.is_blocked, blocked);
            let flags = if blocked { QUIET | epoll::EventFlags::OUT } else { QUIET };
            let data = epoll::EventData::new_u64(index(to, channel).into());
            let _ = epoll::modify(&self.epoll, socket, data, flags);
        }
    }

    /// Goes on with what waits for a peer, where there is room again.
    pub(super) fn go_on(&self, to: Node, channel: Channel) -> bool {
        let link = self.link(to, channel);
        {
            let mut out = link.out.lock();
            if out.busy || out.stage != Stage::Open {
                return false;
            }
            out.busy = true;
        }
        self.send_waiting(to, channel, link);
        true
    }
}
