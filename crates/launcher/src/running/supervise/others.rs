//! What passes between this host and the agents of others: input, output, reports, and signs of life.
#![allow(unsafe_code)] // Who owns the terminal.

use super::Supervisor;
use super::endings::GRACE;
use crate::agents::wire::{self, ALL, Frame, ITSELF};
use crate::reports::ranks::intervals;
use crate::running::local::Event;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Instant;

/// How much standard input may be on its way to rank 0.
pub(super) const INPUT_WINDOW: usize = 256 << 10;

/// Standard input on its way to a rank 0 on another host.
pub(super) struct Input {
    pub(super) is_open: bool,
    pub(super) room: usize,
}

/// Tells whether standard input may be read: of a terminal only by who is in its foreground.
pub(super) fn may_read_input() -> bool {
    // SAFETY: system calls.
    unsafe { libc::isatty(0) == 0 || libc::tcgetpgrp(0) == libc::getpgrp() }
}

impl Supervisor<'_> {
    pub(super) fn tell(&mut self, number: u32, frame: &Frame) {
        let concerned =
            self.branches.iter_mut().filter(|branch| !branch.is_over() && branch.has_node(number));
        concerned.for_each(|branch| branch.link.send(frame));
    }

    pub(super) fn read_branches(&mut self) {
        for index in 0..self.branches.len() {
            let branch = &mut self.branches[index];
            branch.link.write();
            match branch.read() {
                Ok(frames) => frames.into_iter().for_each(|frame| self.heard(index, frame)),
                Err(why) => {
                    let open: Vec<_> =
                        branch.hosts.iter().filter(|host| !host.is_over).map(|host| host.host).collect();
                    branch.give_up();
                    open.into_iter().for_each(|host| self.lose(index, host, &why));
                }
            }
        }
    }

    /// Does what a frame of an agent says.
    pub(super) fn heard(&mut self, branch: usize, frame: Frame) {
        match frame.kind {
            wire::Kind::Report => self.happened(Event::Report(frame.number, frame.payload)),
            wire::Kind::Ended => self.happened(Event::Ended(frame.number, ExitStatus::from_raw(frame.value))),
            wire::Kind::Output => {
                if let Some(forwarder) = &self.forwarder {
                    forwarder.pass(frame.number, frame.value == 1, frame.payload);
                }
            }
            wire::Kind::Taken => self.input.room += frame.value.max(0) as usize,
            wire::Kind::Failed => {
                if self.code.is_none() {
                    self.blame(frame.text());
                }
                self.gone(branch, frame.number);
                self.settle(frame.value, GRACE);
            }
            wire::Kind::Lost => self.lose(branch, frame.number, &frame.text()),
            // Each has been noticed by the branch; the rest is not for us.
            _ => {}
        }
    }

    /// The node processes of a host cannot be watched any more.
    pub(super) fn gone(&mut self, branch: usize, host: u32) -> Vec<u32> {
        let reached = self.branches[branch].hosts.iter().find(|reached| reached.host == host);
        let numbers = reached.map(|reached| reached.nodes.clone()).unwrap_or_default();
        for &number in &numbers {
            if let Some(node) = self.node(number) {
                node.is_alive = false;
            }
        }
        numbers
    }

    /// A host is lost, and the job with it.
    pub(super) fn lose(&mut self, branch: usize, host: u32, why: &str) {
        let nodes = self.gone(branch, host);
        let mut ranks: Vec<u32> = nodes.iter().flat_map(|&node| self.job.ranks_of(node)).collect();
        ranks.sort_unstable();
        let name = self.branches[branch]
            .hosts
            .iter()
            .find(|reached| reached.host == host)
            .map(|reached| reached.name.clone());
        if self.code.is_none() {
            let word = if ranks.len() == 1 { "rank" } else { "ranks" };
            self.blame(format!("host {} ({word} {}): {why}", name.unwrap_or_default(), intervals(&ranks)));
        }
        self.settle(1, GRACE);
    }

    /// Reads standard input for a rank 0 on another host.
    pub(super) fn forward_input(&mut self) {
        if !self.input.is_open || self.input.room == 0 || !may_read_input() {
            return;
        }
        let mut source = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
        let mut buffer = vec![0; self.input.room.min(1 << 16)];
        // SAFETY: one entry, and a buffer as long as it is said to be.
        let length = unsafe {
            if libc::poll(&mut source, 1, 0) <= 0 {
                return;
            }
            libc::read(0, buffer.as_mut_ptr().cast(), buffer.len())
        };
        buffer.truncate(length.max(0) as usize);
        self.input.is_open = length > 0;
        self.input.room -= buffer.len();
        let node = self.job.node_of.first().copied().unwrap_or(0);
        self.tell(node, &Frame::new(wire::Kind::Input, node, 0, buffer));
    }

    /// Says to agents how much of their output is written.
    pub(super) fn return_room(&mut self) {
        let Some(forwarder) = &self.forwarder else { return };
        for (speaker, length) in forwarder.written() {
            let node = match speaker {
                ITSELF.. => speaker - ITSELF,
                rank if self.by_rank => self.job.node_of.get(rank as usize).copied().unwrap_or(0),
                node => node,
            };
            let host = self.job.host_of(node);
            self.tell(node, &Frame::new(wire::Kind::Written, host, length as i32, []));
        }
    }

    pub(super) fn beat(&mut self) {
        let now = Instant::now();
        if self.beat_at.is_some_and(|at| at <= now) {
            self.tell(ALL, &Frame::new(wire::Kind::Beat, 0, 0, []));
            self.beat_at = Some(now + self.silence / 4);
        }
    }
}
