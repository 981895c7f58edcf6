//! Blocking sends of medium length, between the eager size and the length from which both sides copy (of one block: a
//! longer one): the sender puts into the ring of the pair where the data is, and spins; the receiver that waits for it
//! copies straight from there and says so with a plain store. So the line of the ring's slot and the line the sender
//! looks at are all that moves beside the data: no lock and no queue of the receiver's.
//!
//! For half a microsecond the sender would only wait. So of an offer that is long enough the receiver copies the front
//! and invites the sender to copy the tail: the word of the sender's operation says where to. Before the receiver ends
//! it looks whether the tail is copied, and takes the invitation back if the sender has not begun. `split` learns how
//! long the tail should be. Of 32 KiB (near cores, alternating builds): 400 instead of 460 ns where the sender has just
//! written them, 221 instead of 265 where nobody has, and 256 instead of 345 in a ping-pong; `memcpy` alone takes 400
//! and 210. What made the difference: the sender fetches the line for writing while it waits, pauses between its looks,
//! and the receiver fetches the line 2 KiB before it needs it.
//!
//! An offer is made only where no receive is posted, and only by a sender that may spin. If nobody has taken it by the
//! time the sender would park, the sender empties the ring itself under the receiver's lock. Then a receive that was
//! posted meanwhile is served, though its rank computes, or the offer becomes an unexpected message like any other of
//! its length, and its sender parks. Who takes an offer out of a ring settles it before it lets go of the lock, so
//! whoever holds the lock and finds the ring empty knows that it is offered no more.
#![allow(unsafe_code)] // Descriptions of buffers travel through the ring as plain bytes.

use crate::endpoint::{Endpoint, Reference};
use crate::engine::Engine;
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation};
use crate::transfer::split::{PARTS, Split};
use crate::way::{HELPED_FROM, Hands, hands_of_offer};
use core::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use weft_base::settings::SHARE_FROM;
use weft_local::{Header, MEMORY, OFFER, PAYLOAD, Ring};
use weft_sync::facade::pause;
use weft_sync::invitation::End;

/// Where the data of a message is.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Offer {
    operation: NonNull<Operation>,
    /// The data if it is one block; else null, and the operation tells.
    address: *const u8,
    pub bytes: u64,
}

/// How long before the end of the front the receiver fetches the word that says what became of the tail.
const AHEAD: usize = 2 << 10;
/// How often a sender looks at short intervals.
const LOOKS: u32 = 64;

const LENGTH: usize = size_of::<Offer>();
const _: () = assert!(LENGTH <= PAYLOAD);

impl Offer {
    /// Reads an offer from a ring's payload.
    ///
    /// # Safety
    /// The payload is that of an offer.
    #[inline]
    pub(crate) unsafe fn read(payload: *const u8) -> Self {
        // SAFETY: written by `Engine::offer`.
        unsafe { payload.cast::<Self>().read_unaligned() }
    }

    /// Returns the sender's operation.
    pub(crate) fn operation(&self) -> Reference {
        // SAFETY: the sender keeps it until it is complete, which only the caller, who took it from the ring, does.
        Reference::from(unsafe { self.operation.as_ref() })
    }

    /// Copies the data, of which what does not fit is dropped, and completes the send. Under the receiver's lock: what
    /// is offered is short enough. `splits` is where the receiver keeps the splits of this sender's offers, if that can
    /// help.
    ///
    /// # Safety
    /// The caller took the offer from the ring; the buffer is as promised for receives.
    #[inline(never)]
    pub(crate) unsafe fn settle(&self, buffer: &Buffer, splits: Option<&[AtomicU32; MEMORY]>) {
        // SAFETY: the sender keeps data and operation until the latter is complete.
        unsafe {
            let send = self.operation.as_ref();
            let is_block = !self.address.is_null() && buffer.dense && self.bytes <= buffer.bytes;
            match (hands_of_offer(self.bytes, SHARE_FROM.get(), is_block, splits.is_some()), splits) {
                (Hands::Invited, Some(splits)) => self.copy_together(send, buffer.address, splits),
                (Hands::One, _) if !self.address.is_null() => buffer.unpack_from(self.address, self.bytes),
                _ => send.copy_locked(&send.buffer(), buffer),
            }
            send.complete_offer();
        }
    }

    /// Copies the data, one block, to `target`, and lets the sender copy the tail if it is quick enough.
    ///
    /// # Safety
    /// As [`Offer::settle`]; there is room for all of it.
    unsafe fn copy_together(&self, send: &Operation, target: *mut u8, splits: &[AtomicU32; MEMORY]) {
        let (source, bytes) = (self.address, self.bytes as usize);
        let class = class(self.bytes);
        let memory = &splits[class];
        // Only the consumer of the ring, which the caller is, touches the word.
        let mut split = Split::from_word(memory.load(Ordering::Relaxed), class);
        let part = split.ask();
        // SAFETY: both blocks are `bytes` long; each byte of the target is written by one side: the tail by the sender if
        // it accepted, else by this one, after the word has told which.
        unsafe {
            if part == 0 || !send.invite(target, part) {
                weft_sys::copy::bytes(source, target, bytes);
            } else {
                let front = front(target, bytes, part);
                let near = front.saturating_sub(AHEAD);
                weft_sys::copy::bytes(source, target, near);
                send.prefetch();
                weft_sys::copy::bytes(source.add(near), target.add(near), front - near);
                let tail = send.end_invitation();
                if tail == End::Alone {
                    weft_sys::copy::bytes(source.add(front), target.add(front), bytes - front);
                }
                split.learn(tail);
            }
        }
        memory.store(split.word(class), Ordering::Relaxed);
    }
}

/// Returns which of a pair's splits is for offers of so many bytes: longer ones have a longer tail.
#[inline]
fn class(bytes: u64) -> usize {
    ((bytes / HELPED_FROM).ilog2() as usize).min(MEMORY - 1)
}

/// Returns how many of `bytes` bytes the receiver copies to `target` when the sender has `part` of them: up to a line's
/// begin, so that no line is written by both.
#[inline]
fn front(target: *const u8, bytes: usize, part: u32) -> usize {
    let tail = bytes / PARTS as usize * part as usize;
    let end = target.addr() + bytes - tail;
    bytes - tail - end % 64
}

/// Copies the tail of `data`, one block, if the receiver invited the sender, who calls this. Returns whether it did.
///
/// # Safety
/// The data is as promised for sends.
#[inline]
unsafe fn help(operation: &Operation, data: &Buffer) -> bool {
    let Some((target, part)) = operation.accept() else { return false };
    let bytes = data.bytes as usize;
    let front = front(target, bytes, part);
    // SAFETY: an invitation is made only where source and target are blocks of so many bytes; the receiver leaves the
    // tail alone and waits until it hears that it is copied.
    unsafe { weft_sys::copy::bytes(data.address.add(front), target.add(front), bytes - front) };
    operation.note_help();
    true
}

impl Engine {
    /// Sends by an offer, if the ring has room. Returns whether the message is sent; if not, nothing has been done.
    ///
    /// # Safety
    /// As [`Engine::send`]; the ring leads to `endpoint`.
    #[inline(never)]
    pub(crate) unsafe fn offer(
        &self,
        me: &Endpoint,
        endpoint: &Endpoint,
        ring: &Ring,
        envelope: Envelope,
        data: Buffer,
    ) -> bool {
        let operation = Operation::offered(data);
        let address = if data.dense { data.address.cast_const() } else { core::ptr::null() };
        let offer = Offer { operation: NonNull::from(&operation), address, bytes: data.bytes };
        let header = Header::new(envelope.context, envelope.source(), envelope.tag(), LENGTH as u32 | OFFER);
        // SAFETY: the payload is `LENGTH` bytes long; operation and data stay here until the send is complete.
        if !unsafe { me.push_into(ring, header, (&raw const offer).cast()) } {
            return false;
        }
        // Pairs with the fence of `Endpoint::park`.
        fence(Ordering::SeqCst);
        if endpoint.is_asleep() {
            endpoint.drain_and_deliver();
        }
        // SAFETY: the data is as promised.
        let help = || unsafe { help(&operation, &data) } || operation.help();
        // At first without the look at the rank's own rings: an answer comes within a microsecond or two.
        for _ in 0..LOOKS {
            help();
            if operation.is_done() {
                return true;
            }
            pause();
        }
        if !self.spin(me, || operation.is_done(), help) {
            self.end_offer(me, endpoint, &operation);
        }
        true
    }

    /// Waits for an offer that nobody took while its sender was spinning.
    #[cold]
    fn end_offer(&self, me: &Endpoint, target: &Endpoint, operation: &Operation) {
        let mut state = target.lock();
        if let Some(ring) = target.ring_from(me.rank()) {
            target.drain_ring(&mut state, ring);
        }
        drop(state);
        debug_assert!(!operation.is_offered());
        self.wait(me, operation);
    }
}
