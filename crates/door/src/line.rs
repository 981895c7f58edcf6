//! The way between two processes that have found each other.

use crate::frames::frame;
use crate::limit::{Limits, Waiting};
use crate::socket::Socket;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use weft_handshake::Secret;
use weft_sched::WaitSet;
use weft_sync::Lock;

/// What the door's thread has read for a line.
pub(crate) struct Inbox {
    state: Lock<(VecDeque<Vec<u8>>, bool)>,
    waiting: WaitSet,
}

impl Inbox {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { state: Lock::default(), waiting: WaitSet::new() })
    }

    pub fn put(&self, message: Vec<u8>) {
        self.state.lock().0.push_back(message);
        self.waiting.wake_all();
    }

    pub fn close(&self) {
        self.state.lock().1 = true;
        self.waiting.wake_all();
    }

    fn has_some(&self) -> bool {
        let state = self.state.lock();
        !state.0.is_empty() || state.1
    }
}

impl Waiting for Inbox {
    fn set(&self) -> &WaitSet {
        &self.waiting
    }
}

/// A connection to another process. Its end closes it.
pub struct Line {
    socket: Socket,
    inbox: Arc<Inbox>,
    secret: Secret,
    limits: Arc<Limits>,
}

impl Line {
    pub(crate) fn new(socket: Socket, inbox: Arc<Inbox>, secret: Secret, limits: Arc<Limits>) -> Self {
        Self { socket, inbox, secret, limits }
    }

    /// Returns what both ends know, and nobody else but who was told the port.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Sends a message.
    ///
    /// # Errors
    /// What the kernel says; the other end may be gone.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        self.socket.send(&frame(message))
    }

    /// Waits for a message.
    ///
    /// # Errors
    /// `UnexpectedEof` if the other end is gone.
    pub fn receive(&self) -> io::Result<Vec<u8>> {
        self.receive_within(None)
    }

    /// Waits for a message, but only for so long.
    ///
    /// # Errors
    /// `TimedOut` if none came; `UnexpectedEof` if the other end is gone.
    pub fn receive_within(&self, limit: Option<Duration>) -> io::Result<Vec<u8>> {
        if !self.limits.wait_within(&self.inbox, limit, || self.inbox.has_some()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.inbox.state.lock().0.pop_front().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // The door's thread has another descriptor of the socket.
        self.socket.shut();
    }
}
