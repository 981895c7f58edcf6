//! The end of a process in order: its peers get what it has sent.
#![allow(unsafe_code)] // Asks the kernel by a request that has no name in the libraries.

use super::{SCRATCH, TcpDevice};
use crate::link::Stage;
use core::sync::atomic::Ordering;
use rustix::net::Shutdown;
use std::os::fd::OwnedFd;
use std::time::Duration;
use weft_transport::{Device, Nobody};

/// Returns how many bytes of a connection the peer has not acknowledged.
fn unacknowledged(socket: &OwnedFd) -> u32 {
    // SAFETY: this request writes one `c_int`.
    let asked = unsafe {
        let request = rustix::ioctl::Getter::<{ rustix::ioctl::opcode::none(0x54, 0x11) }, i32>::new();
        rustix::ioctl::ioctl(socket, request)
    };
    asked.map_or(0, |bytes| bytes.max(0) as u32)
}

impl TcpDevice {
    /// Says that this process ends, and waits until what it has sent is there, for as long as a peer may be silent before it is
    /// lost: one that does not get round to receiving would take an end that it has not heard of for a crash.
    pub(super) fn part(&self) {
        let links = || {
            let others = (0..self.count()).filter(|&node| node != self.node && !self.is_lost(node));
            others.flat_map(|node| self.links(node).map(move |(lane, link)| (node, lane, link)))
        };
        // Before the look at each connection: one that another thread opens meanwhile is seen here or sees this.
        self.is_leaving.store(true, Ordering::SeqCst);
        let mut drain = vec![0; SCRATCH];
        let begin = std::time::Instant::now();
        loop {
            let (mut unsent, mut unread) = (false, false);
            for (node, lane, link) in links() {
                // In each round: it may have been agreed on since the last one.
                link.out.lock().say_end();
                self.go_on(node, lane);
                let waits = {
                    let out = link.out.lock();
                    let alive = matches!(out.stage, Stage::Dialling | Stage::Settled | Stage::Open);
                    // What a thread is sending now is in no queue.
                    alive && (out.busy || !out.is_empty())
                };
                unsent |= waits;
                let (false, Some(socket)) = (waits, link.socket.get()) else { continue };
                let Some(mut incoming) = link.incoming.try_lock() else {
                    // What somebody receives now is not all read.
                    unread = true;
                    continue;
                };
                if !core::mem::replace(&mut incoming.closed, true) {
                    self.watch_no_more(node, lane, link);
                    let _ = rustix::net::shutdown(socket, Shutdown::Write);
                }
                // Unread data would make the kernel reset a connection that is closed, and drop what the peer has not got.
                while rustix::io::read(socket, &mut drain).is_ok_and(|count| count > 0) {}
                unread |= unacknowledged(socket) > 0;
            }
            if !(unsent || unread) || begin.elapsed() >= self.config.keep_alive {
                // Who is being let in now is told so in one more round, and nobody is let in after it.
                if self.door.lock().close() {
                    break;
                }
                continue;
            }
            if unsent {
                // Connections that are being made.
                self.poll(&Nobody);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        for (_, _, link) in links() {
            link.out.lock().stage = Stage::Ended;
        }
    }
}
