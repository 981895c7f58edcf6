//! What waits to be sent to a peer, and who sends it.

use super::{Peer, QUIET, TcpDevice, index};
use crate::frame::{HEAD, Kind};
use crate::lane::Lane;
use crate::link::{BULK, Item, Link, Stage, send_together};
use core::sync::atomic::Ordering;
use rustix::event::epoll;
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use weft_transport::{Channel, Device, Leaving, MAX_HEADER, Node, Refusal};

impl TcpDevice {
    /// Checks that a message is none that the device does not take, before anything is done with it.
    pub(super) fn check(&self, header: &[u8], payload: &[u8]) {
        assert!(header.len() <= MAX_HEADER, "a header of {} bytes", header.len());
        assert!(payload.len() <= self.config.eager, "a payload of {} bytes", payload.len());
    }

    pub(super) fn peer(&self, to: Node) -> Result<&Peer, Refusal> {
        let Some(peer) = self.peers.get(to as usize).filter(|_| to != self.node) else {
            return Err(Refusal::Lost { reason: format!("there is no other node process {to}") });
        };
        match peer.lost.get() {
            None => Ok(peer),
            Some(reason) => Err(Refusal::Lost { reason: reason.clone() }),
        }
    }

    /// Makes the caller the busy one, who sends from where the messages are, if nobody else is and nothing waits. Returns the
    /// socket then. `is_long`: copying what is to be sent would take long.
    ///
    /// # Errors
    /// [`Refusal::Full`] if it is long and others are being sent.
    pub(super) fn claim<'a>(
        &self,
        peer: &Peer,
        link: &'a Link,
        is_long: bool,
    ) -> Result<Option<BorrowedFd<'a>>, Refusal> {
        let mut out = link.out.lock();
        if out.is_clear() && peer.lost.get().is_none() {
            out.busy = true;
            drop(out);
            return Ok(link.socket.get().map(AsFd::as_fd));
        }
        if is_long && out.is_occupied() {
            out.is_awaited = true;
            return Err(Refusal::Full);
        }
        Ok(None)
    }

    /// Ends what [`TcpDevice::claim`] has begun, when so many messages with so many bytes have gone to the socket, but for the
    /// rest of the last one; goes on with what others have left to be sent meanwhile.
    pub(crate) fn settle(
        &self,
        to: Node,
        channel: Channel,
        link: &Link,
        (messages, bytes): (u64, u64),
        rest: Result<Option<Item>, Errno>,
    ) {
        let mut out = link.out.lock();
        out.accept(channel, messages, bytes);
        match rest {
            Ok(rest) => rest.into_iter().for_each(|rest| out.put_first(rest)),
            Err(error) => out.break_off(error),
        }
        let waits = !out.is_empty();
        out.busy = waits;
        let is_awaited = !waits && core::mem::take(&mut out.is_awaited);
        drop(out);
        if waits {
            self.send_waiting(to, channel.into(), link);
        } else if is_awaited {
            self.wake();
        }
    }

    /// Sends messages by one call of the kernel if nobody else sends, else the first one; at most [`TOGETHER`]. Returns how many
    /// were taken.
    ///
    /// # Errors
    /// As [`Tuning::send_all`](weft_transport::Tuning::send_all).
    pub(super) fn send_some(
        &self,
        to: Node,
        channel: Channel,
        messages: &[Leaving<'_>],
    ) -> Result<usize, Refusal> {
        messages.iter().for_each(|message| self.check(message.header, message.payload));
        let Some(first) = messages.first() else { return Ok(0) };
        let peer = self.peer(to)?;
        let longest = messages.iter().map(|message| message.payload.len()).max().unwrap_or(0);
        let link = peer.link(channel.into());
        let Some(socket) = self.claim(peer, link, longest >= BULK)? else {
            return self.send(to, channel, first.header, first.payload).map(|()| 1);
        };
        let taking = link.take_up(messages.iter().map(|message| message.payload.len()).sum());
        let sent = send_together(socket, channel, messages);
        drop(taking);
        // The first is taken in any case; of what the socket has not taken the others are their sender's.
        let (mut taken, mut bytes, mut rest) = (0, 0, None);
        let mut left = *sent.as_ref().unwrap_or(&0);
        for &Leaving { header, payload } in messages {
            if left == 0 && taken > 0 {
                break;
            }
            (taken, bytes) = (taken + 1, bytes + payload.len() as u64);
            let all = HEAD + header.len() + payload.len();
            if left < all {
                rest = Some(Item::copy(Kind::Short, channel, header, payload, left));
                break;
            }
            left -= all;
        }
        self.settle(to, channel, link, (taken, bytes), sent.map(|_| rest));
        Ok(taken as usize)
    }

    /// Puts a message into a peer's queue, and dials if nobody has.
    pub(super) fn queue(
        &self,
        to: Node,
        lane: Lane,
        peer: &Peer,
        channel: Channel,
        item: impl FnOnce() -> Item,
        (cost, bytes): (usize, u64),
    ) -> Result<(), Refusal> {
        let link = peer.link(lane);
        let mut out = link.out.lock();
        // Whoever notes a loss takes the queue afterwards.
        if let Some(reason) = peer.lost.get() {
            return Err(Refusal::Lost { reason: reason.clone() });
        }
        if out.stage == Stage::Ended {
            return Err(Refusal::Lost { reason: format!("node process {to} has ended") });
        }
        if out.says_end {
            // Other threads may still answer what comes; who hears more than the end would take it for nonsense.
            return Err(Refusal::Lost { reason: "this process has ended".into() });
        }
        if !out.push(item, cost) {
            return Err(Refusal::Full);
        }
        out.accept(channel, 1, bytes);
        let dials = out.stage == Stage::Absent;
        if dials {
            out.stage = Stage::Dialling;
        }
        // It has become clear since the caller looked.
        let sends = out.stage == Stage::Open && !out.busy && !out.armed;
        out.busy |= sends;
        drop(out);
        if sends {
            self.send_waiting(to, lane, link);
        }
        if dials {
            self.wanted.lock().push((to, lane));
            self.note();
        }
        Ok(())
    }

    /// Starts a message on one of the connections.
    ///
    /// # Errors
    /// As [`Device::start`].
    ///
    /// # Safety
    /// As [`Device::start`].
    pub(super) unsafe fn start_on(
        &self,
        lane: Lane,
        to: Node,
        channel: Channel,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        token: u64,
    ) -> Result<(), Refusal> {
        self.check(header, &[]);
        let peer = self.peer(to)?;
        let item = || Item::memory(channel, header, address, bytes, token);
        self.queue(to, lane, peer, channel, item, (0, bytes))
    }

    /// Sends what waits for a peer; the caller is the busy one.
    pub(super) fn send_waiting(&self, to: Node, lane: Lane, link: &Link) {
        let Some(socket) = link.socket.get() else { return };
        let mut reports = Vec::new();
        let blocked = link.send_waiting(socket.as_fd(), &mut reports);
        if !reports.is_empty() {
            self.done.lock().extend(reports.iter().map(|&(channel, token)| (to, channel, token)));
            self.pending.fetch_add(reports.len() as u32, Ordering::SeqCst);
            self.wake();
        }
        let mut out = link.out.lock();
        if !out.busy && core::mem::take(&mut out.is_awaited) {
            self.wake();
        }
        if out.stage == Stage::Ended && out.has_started() && !self.is_leaving.load(Ordering::SeqCst) {
            drop(out);
            // It was being sent when the end of the peer was heard.
            return self.lose(to, "it has ended".into());
        }
        if blocked != out.armed && !out.busy && out.stage == Stage::Open && blocked != out.is_empty() {
            out.armed = blocked;
            self.note_stream(&link.is_blocked, blocked);
            let flags = if blocked { QUIET | epoll::EventFlags::OUT } else { QUIET };
            let data = epoll::EventData::new_u64(index(to, lane).into());
            self.watch_all();
            let _ = epoll::modify(&self.epoll, socket, data, flags);
        }
    }

    /// Goes on with what waits for a peer, where there is room again.
    pub(super) fn go_on(&self, to: Node, lane: Lane) -> bool {
        let link = self.link(to, lane);
        {
            let mut out = link.out.lock();
            if out.busy || out.stage != Stage::Open {
                return false;
            }
            out.busy = true;
        }
        self.send_waiting(to, lane, link);
        true
    }
}
