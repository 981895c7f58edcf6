//! What is under way in a network: flows of packets, and what processes have still to hear.
#![allow(unsafe_code)] // Packets hold addresses of the memory of senders and receivers.

use super::Random;
use crate::{Channel, MAX_HEADER, Node};
use std::collections::{BTreeMap, VecDeque};

pub(super) enum Body {
    Copied(Vec<u8>),
    Started { address: *const u8, bytes: u64, token: u64 },
}

impl Body {
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Copied(data) => data.len() as u64,
            Self::Started { bytes, .. } => *bytes,
        }
    }

    pub(super) fn address(&self) -> *const u8 {
        match self {
            Self::Copied(data) => data.as_ptr(),
            Self::Started { address, .. } => *address,
        }
    }
}

pub(super) struct Packet {
    pub(super) header: Vec<u8>,
    pub(super) body: Body,
    pub(super) due: u64,
    /// Where the payload goes, and how much of it is there, once the header handler has said so.
    pub(super) placing: Option<(*mut u8, u64, u64)>,
    pub(super) placed: u64,
}

impl Packet {
    pub(super) fn cost(&self) -> usize {
        let data = if let Body::Copied(data) = &self.body { data.len() } else { 0 };
        MAX_HEADER + data
    }
}

#[derive(Default)]
pub(super) struct Flow {
    pub(super) queue: VecDeque<Packet>,
    pub(super) held: usize,
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

pub(super) enum Event {
    Sent { to: Node, channel: Channel, token: u64 },
    Lost { peer: Node, reason: String },
}

#[derive(Default)]
pub(super) struct Mailbox {
    pub(super) events: VecDeque<Event>,
    /// Something happened since it last slept.
    pub(super) stirred: bool,
    /// How often it has polled.
    pub(super) polls: u64,
    /// A message to this process was refused, by sender.
    pub(super) refused: Vec<bool>,
}

pub(super) struct World {
    pub(super) random: Random,
    pub(super) step: u64,
    pub(super) flows: BTreeMap<Way, Flow>,
    pub(super) mailboxes: Vec<Mailbox>,
    /// By pair of processes.
    pub(super) lost: Vec<bool>,
    /// Processes that have ended in order.
    pub(super) left: Vec<bool>,
    /// When which connection will be lost.
    pub(super) cuts: Vec<(u64, Node, Node)>,
}

// SAFETY: addresses in flows are of memory that senders and receivers gave to the network until it reports to them.
unsafe impl Send for World {}

impl World {
    /// Returns the flows that lead to a process.
    pub(super) fn flows_to(&self, node: Node) -> impl Iterator<Item = (&Way, &Flow)> {
        let first = |to| Way { to, from: 0, channel: Channel::new(0), part: 0 };
        self.flows.range(first(node)..first(node + 1))
    }
}

/// Which flow: those to a process come after each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Way {
    pub(super) to: Node,
    pub(super) from: Node,
    pub(super) channel: Channel,
    /// Not 0 for parts of long messages only.
    pub(super) part: u32,
}
