//! What lies unmatched at a rank, and what its requests are for: for reports on ranks that wait for ever.
#![allow(unsafe_code)] // Reads the datatypes of operations in progress.

use crate::endpoint::{Endpoint, Payload, Reference};
use crate::engine::Engine;
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation};
use crate::requests::{Kind, Recipe, Slot, WorkDescription, is_memoryless};
use crate::way::Mode;
use weft_base::abi;
use weft_base::constants::MPI_REQUEST_NULL;
use weft_datatype::Datatype;

/// A message that nobody has received, or a receive that nothing has matched.
#[derive(Clone)]
pub struct Lying {
    /// From whom, with which tag, on which context.
    pub envelope: Envelope,
    /// The length, of the message or of the buffer.
    pub bytes: u64,
    /// How many elements of which type, where that is known.
    pub elements: Option<(u64, Datatype)>,
}

/// What a request that is not complete is for.
pub enum What {
    /// A send to a rank of the job with this tag.
    Send {
        /// The rank in the job.
        target: u32,
        /// The tag.
        tag: i32,
        /// Whether it waits for its receive in any case.
        is_synchronous: bool,
    },
    /// A receive; its pattern, if nothing has matched it yet.
    Receive(Option<Envelope>),
    /// Something else.
    Work(WorkDescription),
}

/// A request that is not complete.
pub struct Started {
    /// What for.
    pub what: What,
    /// How many elements of which type.
    pub elements: Option<(u64, Datatype)>,
    /// The length of the buffer.
    pub bytes: u64,
    /// The communicator.
    pub comm: abi::Comm,
    /// Whether it is persistent.
    pub is_persistent: bool,
}

fn elements(buffer: &Buffer) -> Option<(u64, Datatype)> {
    // SAFETY: null, or a datatype that lives as long as the operation of the buffer is in progress.
    unsafe { buffer.datatype.as_ref() }.map(|datatype| (buffer.count, datatype.clone()))
}

impl Engine {
    /// Returns what lies unmatched at a rank, oldest first: at most `most` messages and how many more there are, and the same
    /// of receives.
    pub fn unmatched(&self, me: &Endpoint, most: usize) -> ((Vec<Lying>, u64), (Vec<Lying>, u64)) {
        let (mut messages, mut receives) = ((Vec::new(), 0), (Vec::new(), 0));
        let add = |(list, more): &mut (Vec<Lying>, u64), lying: &dyn Fn() -> Lying| {
            if list.len() < most { list.push(lying()) } else { *more += 1 }
        };
        let state = me.lock();
        // Odd contexts are the library's own.
        state.unexpected.for_each(|envelope, message| {
            if envelope.context.is_multiple_of(2) {
                let elements = || match message.payload.plain() {
                    Payload::Sender(send) => elements(&send.get().buffer()),
                    _ => None,
                };
                let lying = || Lying { envelope: *envelope, bytes: message.bytes, elements: elements() };
                add(&mut messages, &lying);
            }
        });
        state.posted.for_each(|envelope, receive| {
            if envelope.context.is_multiple_of(2) {
                let buffer = receive.get().buffer();
                let lying =
                    || Lying { envelope: *envelope, bytes: buffer.bytes, elements: elements(&buffer) };
                add(&mut receives, &lying);
            }
        });
        (messages, receives)
    }

    /// Returns the pattern under which an operation is posted.
    fn pattern(me: &Endpoint, operation: &Operation) -> Option<Envelope> {
        let mut found = None;
        let is_it = |receive: &Reference| core::ptr::eq(receive.get(), operation);
        me.lock().posted.for_each(|envelope, receive| {
            if is_it(receive) {
                found = Some(*envelope);
            }
        });
        found
    }

    /// Returns what a request of a rank is for that is active and not complete: two for one that sends and receives.
    pub fn started(&self, me: &Endpoint, handle: abi::Request) -> Vec<Started> {
        if handle == MPI_REQUEST_NULL || is_memoryless(handle) {
            return Vec::new();
        }
        let Ok(Some(slot)) = me.requests().find_active(handle) else { return Vec::new() };
        let mut found = Vec::new();
        Self::describe(me, slot, &mut found);
        found
    }

    fn describe(me: &Endpoint, slot: &Slot, found: &mut Vec<Started>) {
        let content = slot.content();
        let recipe = content.rare.as_ref().and_then(|rare| rare.recipe.as_ref());
        let is_done = slot.operation.is_done();
        let what = match &content.kind {
            Kind::Send { .. } | Kind::Receive if is_done => return,
            Kind::Send { target, tag, mode } => {
                What::Send { target: *target, tag: *tag, is_synchronous: *mode == Mode::Synchronous }
            }
            Kind::Receive => {
                let started = Self::pattern(me, &slot.operation);
                let planned = match recipe {
                    Some((Recipe::Receive { pattern }, _)) => Some(*pattern),
                    _ => None,
                };
                What::Receive(started.or(planned))
            }
            Kind::Pair { send } => {
                if let Some(send) = me.requests().slot(*send as usize) {
                    Self::describe(me, send, found);
                }
                if is_done {
                    return;
                }
                What::Receive(Self::pattern(me, &slot.operation))
            }
            Kind::Work(work) if work.is_known_complete() => return,
            Kind::Work(work) => What::Work(work.describe()),
        };
        let buffer = slot.operation.buffer();
        found.push(Started {
            what,
            elements: elements(&buffer),
            bytes: buffer.bytes,
            comm: content.comm,
            is_persistent: recipe.is_some(),
        });
    }
}
