//! Sending and receiving between the ranks of a node process.
//!
//! # Ways of a message
//! [`way`](crate::way) says which one a message takes; this is what each of them does.
//!
//! A sender that takes the lock of the target's [`Endpoint`] first drains its own ring to that target, so nothing it
//! sent earlier is behind. Then, if a posted receive matches, it takes that receive out of matching, lets go of the
//! lock, copies from user buffer to user buffer and completes the receive. Else the message is unexpected: a short
//! one is copied into memory of the library; a long or synchronous one leaves the address of its [`Operation`], and
//! whoever receives it copies from the sender's buffer and completes it (rendezvous: one copy).
//!
//! A rank that talks a lot with a rank on another core has a private ring to it for messages of up to
//! [`SLOTS`](crate::way::SLOTS) bytes, which complete at once. Its threads take turns there, and who takes the target's lock drains the
//! ring first, so the order of threads that synchronise is kept. Whoever holds the lock of the receiving endpoint is
//! the consumer. A blocking send of medium length is offered in the ring where no receive is posted (`offer`); other
//! long messages go by the lock, so they find a posted receive even if the receiver computes.
//!
//! # Parking
//! A sender that only pushes takes no lock and wakes nobody, so a receiver must not park and overlook it:
//!
//! ```text
//! sender:    push into the ring;      fence;   is a thread of the target asleep? then lock and drain
//! receiver:  post; announce sleep;    fence;   is one of my rings not empty?     then stay awake, lock and drain
//! ```
//!
//! Of two such sequences at least one sees the other's write. What is drained completes the posted receive, and that
//! wakes the sleeper through the word of its operation. A rank that waits for something that is not a message (a
//! barrier, a file) does not announce sleep; messages wait in its rings until it next looks, which hurts nobody,
//! since their senders are done.
//!
//! No thread switches while it holds a lock of this module: all waiting is outside, and copies that may be
//! long, too.
//!
//! [`sending`] and [`receiving`] are the two sides of it.

mod receiving;
mod sending;

use crate::endpoint::Endpoint;
use crate::matching::Envelope;
use crate::operation::{Operation, Outcome};
use crate::remote::Remote;
use crate::way::Limits;
use std::sync::OnceLock;
use weft_local::Header;
use weft_sched::Thread;
use weft_sync::Section;
use weft_transport::{Channel, Node, Nodes};

/// In place of the first rank when the ranks of a node process do not follow each other.
const SCATTERED: u32 = u32::MAX / 2;

/// All ranks of the job that live in this process.
pub struct Engine {
    /// Of the ranks here, in rank order.
    endpoints: Box<[Endpoint]>,
    /// The first rank if all ranks here follow each other, else more than there can be.
    first: u32,
    limits: Limits,
    remote: OnceLock<Remote>,
}

impl Engine {
    /// Creates the engine of a job of `ranks` ranks.
    pub fn new(ranks: u32, limits: Limits) -> Self {
        Self { endpoints: (0..ranks).map(Endpoint::new).collect(), first: 0, limits, remote: OnceLock::new() }
    }

    /// Creates the engine of the ranks that a node process holds of a job that has several, and serves the device's channel
    /// for messages of ranks.
    pub fn spread(nodes: &'static Nodes, limits: Limits) -> &'static Self {
        let ranks = nodes.places().ranks(nodes.node());
        let follow = ranks.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let first = if follow { ranks.first().copied().unwrap_or(0) } else { SCATTERED };
        let endpoints = ranks.iter().map(|&rank| Endpoint::new(rank)).collect();
        let remote = OnceLock::new();
        let engine: &'static Self = Box::leak(Box::new(Self { endpoints, first, limits, remote }));
        engine.spread_out(nodes);
        engine
    }

    /// Gives an engine that has none a way to other node processes, and serves the device's channel for messages of ranks.
    ///
    /// # Panics
    /// If it has one.
    pub fn spread_out(&'static self, nodes: &'static Nodes) {
        let remote = Remote::new(nodes, &self.limits);
        remote.belong(self);
        assert!(self.remote.set(remote).is_ok(), "the engine has a way to other node processes already");
        nodes.serve(Channel::POINT_TO_POINT, self);
    }

    /// Returns the way to other node processes, if there are any.
    #[inline]
    pub(crate) fn remote(&self) -> Option<&Remote> {
        self.remote.get()
    }

    /// Returns the endpoints of the ranks here.
    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Lets messages of other node processes in, and others out.
    #[inline]
    pub(crate) fn poll_nodes(&self) -> bool {
        self.remote().is_some_and(|remote| remote.nodes().poll())
    }

    /// Returns the endpoint of a rank of the job if it is here.
    #[inline]
    pub(crate) fn local(&self, rank: u32) -> Option<&Endpoint> {
        // One comparison tells both where it is and whether.
        match self.endpoints.get(rank.wrapping_sub(self.first) as usize) {
            Some(endpoint) => Some(endpoint),
            None if self.first == SCATTERED => self.local_of_scattered(rank),
            None => None,
        }
    }

    /// Tells whether a receive may wait for a message of a node process that is lost.
    #[inline]
    pub(crate) fn is_in_vain(&self, pattern: &Envelope) -> bool {
        self.remote().is_some_and(|remote| remote.is_in_vain(pattern))
    }

    /// Tells whether a node process of this job is lost, which ends the job.
    pub fn has_lost_others(&self) -> bool {
        self.remote().is_some_and(Remote::has_lost_own)
    }

    /// Gives credit back for a message from another node process, if it is from there.
    #[inline(always)]
    fn give_back(&self, from: Option<Node>, bytes: u64) {
        if let Some(from) = from {
            self.give_back_to(from, bytes);
        }
    }

    #[inline(never)]
    fn local_of_scattered(&self, rank: u32) -> Option<&Endpoint> {
        let nodes = self.remote()?.nodes();
        let place = nodes.places().of(rank);
        (place.node == nodes.node()).then(|| &self.endpoints[place.index as usize])
    }

    /// Makes a thread the rank's own thread.
    pub fn attach(&'static self, rank: u32, thread: &'static Thread) -> &'static Endpoint {
        let endpoint = self.endpoint(rank);
        endpoint.set_owner(thread);
        endpoint
    }

    /// Returns the endpoint of a rank of this node process.
    ///
    /// # Panics
    /// If there is no such rank here.
    #[inline]
    pub fn endpoint(&self, rank: u32) -> &Endpoint {
        self.local(rank).expect("the rank of another node process has no endpoint here")
    }

    /// Tells whether a rank of the job is on this node process.
    #[inline]
    pub fn is_local(&self, rank: u32) -> bool {
        self.local(rank).is_some()
    }

    /// Returns the bounds of the protocols.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

pub(crate) fn outcome(envelope: &Envelope, bytes: u64) -> Outcome {
    Outcome::received(envelope.source(), envelope.tag(), bytes)
}

pub(crate) fn envelope_of(header: &Header) -> Envelope {
    Envelope::new(header.context(), header.source(), header.tag())
}

/// Completes an operation that left matching, and frees its request if nobody will.
#[inline]
pub(crate) fn finish(operation: &Operation, envelope: &Envelope, bytes: u64) {
    finish_in(operation, envelope, bytes, &Section::outside());
}

/// As [`finish`], without an atomic operation inside a section.
#[inline]
pub(crate) fn finish_in(operation: &Operation, envelope: &Envelope, bytes: u64, section: &Section<'_>) {
    if operation.complete_in(outcome(envelope, bytes), section) {
        crate::requests::release_detached(operation);
    }
}
