//! Frames over descriptors that do not block, with what could not be written yet.
#![allow(unsafe_code)] // Sets a flag of descriptors.

use crate::agents::wire::{Frame, Frames};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Instant;

/// A pair of descriptors: frames come from one and go to the other.
#[derive(Debug)]
pub struct Link {
    source: Option<File>,
    target: Option<File>,
    incoming: Frames,
    /// What waits for room in `target`.
    outgoing: Vec<u8>,
    /// When something came last.
    pub heard: Instant,
}

/// Keeps reading and writing from waiting.
fn unblock(fd: RawFd) {
    // SAFETY: system calls on a descriptor of ours.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK);
    }
}

impl Link {
    /// Joins two descriptors.
    pub fn new(source: OwnedFd, target: OwnedFd, incoming: Frames) -> Self {
        unblock(source.as_raw_fd());
        unblock(target.as_raw_fd());
        let (source, target) = (Some(File::from(source)), Some(File::from(target)));
        Self { source, target, incoming, outgoing: Vec::new(), heard: Instant::now() }
    }

    /// Returns what to poll for reading; -1 for nothing.
    pub fn source(&self) -> RawFd {
        self.source.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Returns what to poll for room; -1 if nothing waits.
    pub fn target(&self) -> RawFd {
        if self.outgoing.is_empty() { -1 } else { self.target.as_ref().map_or(-1, AsRawFd::as_raw_fd) }
    }

    /// Tells whether the other side may still say something.
    pub fn is_open(&self) -> bool {
        self.source.is_some()
    }

    /// Returns how many bytes wait to be written.
    pub fn waiting(&self) -> usize {
        self.outgoing.len()
    }

    /// Returns what came instead of an agent's first words.
    pub fn noise(&self) -> String {
        self.incoming.noise()
    }

    /// Sends a frame, now or later.
    pub fn send(&mut self, frame: &Frame) {
        frame.write(&mut self.outgoing);
        self.write();
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.outgoing.extend_from_slice(bytes);
        self.write();
    }

    /// Writes what there is room for.
    pub fn write(&mut self) {
        let Some(target) = &mut self.target else { return self.outgoing.clear() };
        let mut written = 0;
        while written < self.outgoing.len() {
            match target.write(&self.outgoing[written..]) {
                Ok(0) => break,
                Ok(length) => written += length,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                // Nobody reads any more; that shows in the other direction.
                Err(_) => {
                    self.target = None;
                    self.outgoing.clear();
                    return;
                }
            }
        }
        self.outgoing.drain(..written);
    }

    /// Reads what has come; returns the whole frames.
    ///
    /// # Errors
    /// Says what makes no sense.
    pub fn read(&mut self) -> Result<Vec<Frame>, String> {
        let mut buffer = vec![0; 1 << 16];
        let mut frames = Vec::new();
        // Not for ever: others are to be heard, too.
        for _ in 0..16 {
            let Some(source) = &mut self.source else { break };
            match source.read(&mut buffer) {
                Ok(0) => self.source = None,
                Ok(length) => {
                    self.heard = Instant::now();
                    self.incoming.push(&buffer[..length]);
                    while let Some(frame) = self.incoming.take()? {
                        frames.push(frame);
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(_) => self.source = None,
            }
        }
        Ok(frames)
    }

    /// Closes the way to the other side, which ends it.
    pub fn close(&mut self) {
        self.target = None;
        self.outgoing.clear();
    }
}
