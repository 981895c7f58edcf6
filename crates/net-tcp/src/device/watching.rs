//! Which connections the kernel tells of.
//!
//! A socket of which epoll tells costs whoever sends to it: at each arrival the kernel takes a lock and puts the socket into a
//! list, before the receiver gets at the data. The connection on which messages come in a row needs none of that, because each
//! poll looks there first. So it is *set apart*: epoll does not know it until somebody sleeps there, or more is to be sent than
//! its socket takes, or another connection has taken its place. One is set apart at most, and none where node processes outnumber
//! the cores: who waits there soon sleeps.
//!
//! # Races closed
//! - *Set apart while somebody falls asleep*: who sleeps says so and then looks for what is apart; who sets apart says so and then
//!   looks for sleepers, both sequentially consistent.
//! - *Set apart, or taken back, while it ends*: all that changes what epoll knows is done in turn, and what has ended is not apart.
//! - *Set apart while a poll is to be told of room*: both hold the connection's `out`, which comes before the turn.

use super::{QUIET, ROW, TcpDevice, index, of_index};
use crate::lane::Lane;
use crate::link::{Link, Stage};
use core::sync::atomic::Ordering;
use rustix::event::epoll;
use weft_transport::{Node, Tuning};

/// In place of the number of a connection: none.
pub(super) const NONE: u32 = u32::MAX;

impl TcpDevice {
    /// Sets a connection apart, on which messages come in a row, unless somebody sleeps.
    #[cold]
    pub(super) fn set_apart(&self, number: u32) {
        let (node, lane) = of_index(number);
        let link = self.link(node, lane);
        let out = link.out.lock();
        let Some(socket) = link.socket.get().filter(|_| out.stage == Stage::Open && !out.armed) else {
            return;
        };
        let _turn = self.turn.lock();
        if self.apart.load(Ordering::Relaxed) != NONE {
            return;
        }
        self.apart.store(number, Ordering::SeqCst);
        // One that has ended is not known to epoll any more.
        let is_awake = self.sleeping.load(Ordering::SeqCst) == 0;
        if !is_awake || epoll::delete(&self.epoll, socket).is_err() {
            self.apart.store(NONE, Ordering::Relaxed);
        }
    }

    /// Has the kernel tell of all connections again.
    #[inline]
    pub(super) fn watch_all(&self) {
        if self.apart.load(Ordering::SeqCst) != NONE {
            self.take_back();
        }
    }

    #[cold]
    fn take_back(&self) {
        let _turn = self.turn.lock();
        let number = self.apart.load(Ordering::Relaxed);
        if number == NONE {
            return;
        }
        let (node, lane) = of_index(number);
        if let Some(socket) = self.link(node, lane).socket.get() {
            let _ = epoll::add(&self.epoll, socket, epoll::EventData::new_u64(number.into()), QUIET);
        }
        self.apart.store(NONE, Ordering::SeqCst);
    }

    /// Has the kernel tell no more of a connection from which nothing is delivered any more.
    pub(super) fn watch_no_more(&self, node: Node, lane: Lane, link: &Link) {
        let Some(socket) = link.socket.get() else { return };
        let _turn = self.turn.lock();
        if self.apart.load(Ordering::Relaxed) == index(node, lane) {
            self.apart.store(NONE, Ordering::SeqCst);
        } else {
            let _ = epoll::delete(&self.epoll, socket);
        }
    }

    /// Counts a message, or several at once, on the connection that has had the latest, and sets that apart after a row of them.
    pub(super) fn note_row(&self, number: u32) {
        let row = self.streak.load(Ordering::Relaxed).saturating_add(1);
        self.streak.store(row, Ordering::Relaxed);
        let is_long = row.is_multiple_of(ROW) && !self.is_crowded && !self.is_streaming();
        if is_long && self.apart.load(Ordering::Relaxed) != number {
            self.set_apart(number);
        }
    }
}
