//! Blocking sends of medium length, between the eager size and the length from which both sides copy: the sender puts
//! into the ring of the pair where the data is, and spins; the receiver that waits for it copies straight from there
//! and says so with a plain store. So the line of the ring's slot and the line the sender looks at are all that moves
//! beside the data: no lock and no queue of the receiver's.
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
use core::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};
use weft_base::settings::SHARE_FROM;
use weft_local::{Header, OFFER, PAYLOAD};

/// Where the data of a message is.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Offer {
    operation: NonNull<Operation>,
    /// The data if it is one block; else null, and the operation tells.
    address: *const u8,
    pub bytes: u64,
}

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
    /// is offered is short enough.
    ///
    /// # Safety
    /// The caller took the offer from the ring; the buffer is as promised for receives.
    #[inline(never)]
    pub(crate) unsafe fn settle(&self, buffer: &Buffer) {
        // SAFETY: the sender keeps data and operation until the latter is complete.
        unsafe {
            let send = self.operation.as_ref();
            if self.address.is_null() {
                send.buffer().copy_to(buffer);
            } else {
                buffer.unpack_from(self.address, self.bytes);
            }
            send.complete_offer();
        }
    }
}

impl Engine {
    /// Tells whether a message is one of those that are offered.
    #[inline]
    pub(crate) fn is_offered(&self, data: &Buffer) -> bool {
        data.bytes > self.limits().eager && data.bytes < SHARE_FROM.get()
    }

    /// Sends by an offer, if that is sensible. Returns whether the message is sent; if not, nothing has been done.
    ///
    /// # Safety
    /// As [`Engine::send`].
    #[inline]
    pub(crate) unsafe fn offer(&self, me: &Endpoint, target: u32, envelope: Envelope, data: Buffer) -> bool {
        let Some(ring) = me.ring_to(target) else { return false };
        let Some(endpoint) = self.local(target) else { return false };
        if endpoint.is_asleep() || endpoint.posted_hint() || !weft_sched::look_again(0, self.limits().spins) {
            return false;
        }
        let operation = Operation::offered(data);
        let address = if data.dense { data.address.cast_const() } else { core::ptr::null() };
        let offer = Offer { operation: NonNull::from(&operation), address, bytes: data.bytes };
        let Envelope { context, source, tag } = envelope;
        let header = Header { context, source, tag, length: LENGTH as u32 | OFFER };
        // SAFETY: the payload is `LENGTH` bytes long; operation and data stay here until the send is complete.
        if !unsafe { me.push_into(ring, header, (&raw const offer).cast()) } {
            return false;
        }
        // Pairs with the fence of `Endpoint::park`.
        fence(Ordering::SeqCst);
        if endpoint.is_asleep() {
            endpoint.drain_and_deliver();
        }
        if !self.spin(me, || operation.is_done(), || false) {
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
