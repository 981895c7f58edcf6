//! Messages between ranks of different node processes.
//!
//! This is a client of the [service](weft_post) that carries what node processes exchange: there is said how a message travels, what a
//! peer can take, and what a loss ends. Here are envelopes, matching, and what checking mode says.
//!
//! # Ways of a message
//! A message up to [`APART`](crate::way::APART) times what is short between ranks of one node process goes *eagerly*: header and data at
//! once, if there is credit for it. At the other side its data is copied into the posted
//! buffer, or into that of the receive that polls (`expected`), or kept in the memory of the receiving rank. Everything
//! else, and what is sent synchronously, is *offered*: envelope and length take the message's
//! place in matching; when it is matched the receiver reads the data where that can be done, or asks for it.
//!
//! # Order
//! Messages of a rank go through one channel in the order of their sends, and matching is that of local
//! messages, by the receiving rank's [`Endpoint`], so messages do not overtake, wherever they come from.
//!
//! # Checking
//! In checking mode, a message whose datatype is known says what it is and which call sent it in front of its data, an offer
//! beside it (`described`). The header says so, so it does not matter whether the receiver checks, too: of two jobs one
//! may. Without checking nothing of it travels.
//!
//! # Loss
//! When a peer is lost, the operations that are in progress with it fail, and so do receives that are posted or will be
//! posted and find no message, and probes likewise, if nobody can tell whether theirs would have come: all of them when the
//! peer is of the job, which ends then, and those that wait for a rank of the peer when it is of another job
//! ([`ask_about_losses`]).

mod arrival;
mod described;
mod header;
mod memory;
mod partitioned;
mod sending;

use crate::endpoint::{Endpoint, Reference};
use crate::engine::Engine;
use crate::matching::Envelope;
use crate::operation::{Operation, Outcome};
use crate::reports::checking;
use crate::way::Limits;
pub(crate) use partitioned::{FarReceive, FarSend, sender};

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use weft_base::settings::is_checking;
use weft_post::{Offer, Post};
use weft_sync::Lock;
use weft_transport::{Channel, Device, Node, Nodes};

/// Which part of a rank's memory for messages nobody receives yet belongs to each node process that joins later.
const SHARES: u64 = 16;

/// Tells whether a receive may wait for a message of a node process of another job.
pub type MayWaitFor = fn(&Envelope, Node) -> bool;

static MAY_WAIT_FOR: OnceLock<MayWaitFor> = OnceLock::new();

/// Says whom to ask which receives the loss of a node process of another job concerns; unless somebody does, it concerns all.
pub fn ask_about_losses(may_wait_for: MayWaitFor) {
    let _ = MAY_WAIT_FOR.set(may_wait_for);
}

/// What is left of an operation whose peer is lost.
pub(crate) fn failed(envelope: &Envelope) -> Outcome {
    Outcome::failed(envelope.source(), envelope.tag())
}

/// Completes an operation.
fn end(operation: &Operation, outcome: Outcome) {
    if operation.complete(outcome) {
        crate::requests::release_detached(operation);
    }
}

/// A send with its data at its sender.
#[derive(Clone, Copy)]
pub(crate) struct Far {
    /// Where the sender is.
    pub node: Node,
    /// How its data can be had.
    pub offer: Offer,
}

/// The way to ranks of other node processes.
pub(crate) struct Remote {
    post: Post<Engine>,
    limits: Limits,
    any_lost: AtomicBool,
    /// Those who are.
    lost: Lock<Vec<Node>>,
    /// The engine this belongs to.
    engine: OnceLock<&'static Engine>,
    /// Node processes from this one on are of other jobs.
    of_job: Node,
    /// How many partitioned sends to other node processes were made.
    links: AtomicU32,
}

impl Remote {
    pub(crate) fn new(nodes: &'static Nodes, limits: &Limits) -> Self {
        let (places, me) = (nodes.places(), nodes.node());
        let others = u64::from(nodes.device().nodes()).max(2) - 1;
        let memory = |node: Node| {
            let ranks = if node < places.nodes() { places.ranks(node).len() } else { 0 };
            limits.unexpected.saturating_mul(ranks as u64) / others
        };
        let of_peer = |node| of_peer(limits, memory(node), memory(me));
        let ranks = places.ranks(me).len() as u32;
        Self {
            post: Post::new(nodes, Channel::POINT_TO_POINT, ranks, of_peer),
            any_lost: AtomicBool::new(false),
            lost: Lock::default(),
            engine: OnceLock::new(),
            of_job: nodes.device().nodes(),
            links: AtomicU32::new(0),
            limits: *limits,
        }
    }

    /// Takes in node processes that have been added.
    fn join(&self, begin: Node, count: u32) {
        // Both sides think of the same memory: neither knows how many node processes the other has.
        let memory = self.limits.unexpected / SHARES;
        self.post.join(begin, count, &of_peer(&self.limits, memory, memory));
    }

    #[inline]
    pub(crate) fn nodes(&self) -> &'static Nodes {
        self.post.nodes()
    }

    /// Says which engine this belongs to.
    pub(crate) fn belong(&self, engine: &'static Engine) {
        let _ = self.engine.set(engine);
    }

    /// Tells whether a receive may wait for a message that does not come because a peer is lost.
    #[inline]
    pub(crate) fn is_in_vain(&self, pattern: &Envelope) -> bool {
        self.any_lost.load(Ordering::SeqCst) && self.waits_for_lost(pattern, &self.lost.lock().clone())
    }

    /// Tells whether a node process of this job is lost.
    pub(crate) fn has_lost_own(&self) -> bool {
        self.any_lost.load(Ordering::SeqCst) && self.lost.lock().iter().any(|&node| node < self.of_job)
    }

    #[cold]
    fn waits_for_lost(&self, pattern: &Envelope, lost: &[Node]) -> bool {
        let may_wait = |node: Node| {
            // Of which job the sender of a part is, is not known here.
            partitioned::part_of_other_job(pattern)
                .unwrap_or_else(|| MAY_WAIT_FOR.get().is_none_or(|may_wait_for| may_wait_for(pattern, node)))
        };
        lost.iter().any(|&node| node < self.of_job || may_wait(node))
    }
}

/// Returns the limits of messages to and from a peer. Who sends waits for its data, so nothing is lent.
fn of_peer(limits: &Limits, there: u64, here: u64) -> weft_post::Limits {
    let note = if is_checking() { checking::WRITTEN as u64 } else { 0 };
    weft_post::Limits { there, here, lent: 0, short: limits.eager_apart(u64::MAX), note }
}

impl Engine {
    fn far(&self) -> &Remote {
        self.remote().expect("an engine with a device")
    }

    /// Notes that a message of another node process was delivered, and gives credit back if there is much of it.
    #[inline]
    pub(crate) fn give_back_to(&self, node: Node, bytes: u64) {
        self.far().post.used(self, node, Post::<Self>::cost(bytes));
    }

    /// Fails the receives that are posted by a rank and may wait for a lost peer.
    #[cold]
    pub(crate) fn fail_posted(&self, me: &Endpoint) {
        let Some(remote) = self.remote() else { return };
        let lost = remote.lost.lock().clone();
        loop {
            let mut state = me.lock();
            let is_in_vain = |pattern: &Envelope, _: &Reference| remote.waits_for_lost(pattern, &lost);
            let Some((pattern, receive)) = state.posted.take_where(is_in_vain) else {
                // Those who wait in a probe look for the loss themselves.
                return state.probers.iter().for_each(|(_, thread)| thread.unpark());
            };
            me.note_posted(&state);
            drop(state);
            end(receive.get(), failed(&pattern));
        }
    }
}
