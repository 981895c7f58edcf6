//! Peers that are gone, and what a poll reports of them and of what is sent.

use super::TcpDevice;
use crate::lane::Connection;
use crate::link::{Incoming, Stage};
use core::sync::atomic::Ordering;
use rustix::net::Shutdown;
use weft_transport::{Device, Handler, Node};

impl TcpDevice {
    /// Notes that a peer is gone; it is reported by the next poll.
    pub(crate) fn lose(&self, node: Node, why: String) {
        let peer = &self.peers[node as usize];
        let at = peer.addresses.first().map_or_else(String::new, |address| format!(" (at {address})"));
        if peer.lost.set(format!("node process {node}{at} is lost: {why}")).is_ok() {
            self.losses.lock().push(node);
            self.note();
        }
    }

    /// Notes that a peer which was to be reached has ended. If it has done so in order that is no loss, as it is none when it says
    /// so on a connection to which short messages have been handed.
    pub(crate) fn end_of(&self, connection: Connection, is_in_order: bool) {
        let mut out = self.link(connection.to, connection.lane).out.lock();
        if out.stage != Stage::Dialling {
            return;
        }
        if is_in_order && !out.has_started() {
            out.stage = Stage::Ended;
            out.clear();
            self.peers[connection.to as usize].ended.store(true, Ordering::Release);
        } else {
            drop(out);
            self.lose(connection.to, "it has ended".into());
        }
    }

    /// Notes that a poll has something to report.
    pub(super) fn note(&self) {
        self.pending.fetch_add(1, Ordering::SeqCst);
        self.wake();
    }

    /// Reports what is sent and who is lost.
    #[cold]
    pub(super) fn report(&self, handler: &dyn Handler) -> bool {
        let Some(_alone) = self.reports.try_lock() else { return false };
        let mut moved = false;
        let wanted = core::mem::take(&mut *self.wanted.lock());
        if !wanted.is_empty() {
            if let Some(mut door) = self.door.try_lock() {
                self.pending.fetch_sub(wanted.len() as u32, Ordering::SeqCst);
                wanted.iter().for_each(|&(to, lane)| door.dial(self, to, lane));
                self.door_busy.store(door.is_busy(), Ordering::Relaxed);
                moved = true;
            } else {
                self.wanted.lock().extend(wanted);
            }
        }
        let done = core::mem::take(&mut *self.done.lock());
        self.pending.fetch_sub(done.len() as u32, Ordering::SeqCst);
        for &(to, channel, token) in &done {
            // What belongs to a lost peer is over with the report of the loss, which may have been.
            if !self.is_lost(to) {
                handler.sent(to, channel, token);
            }
        }
        let losses = core::mem::take(&mut *self.losses.lock());
        for node in losses {
            if self.let_go(node) {
                self.pending.fetch_sub(1, Ordering::SeqCst);
                let reason = self.peers[node as usize].lost.get().map_or("", String::as_str);
                handler.lost(node, reason);
                moved = true;
            } else {
                self.losses.lock().push(node);
            }
        }
        moved || !done.is_empty()
    }

    /// Lets go of all memory that has to do with a lost peer. Returns false if somebody uses it now.
    fn let_go(&self, node: Node) -> bool {
        for (lane, link) in self.links(node) {
            {
                let mut out = link.out.lock();
                if out.busy {
                    return false;
                }
                out.clear();
            }
            let Some(mut incoming) = link.incoming.try_lock() else { return false };
            *incoming = Incoming::closed();
            self.note_stream(&link.is_streaming, false);
            self.note_stream(&link.is_blocked, false);
            self.watch_no_more(node, lane, link);
            if let Some(socket) = link.socket.get() {
                let _ = rustix::net::shutdown(socket, Shutdown::Both);
            }
        }
        true
    }
}
