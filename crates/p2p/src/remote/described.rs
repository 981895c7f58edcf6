//! Messages that say what they are, for checking mode: how they go out, and how they arrive.
//!
//! What a message says goes in front of its data in one payload, so both stay together whoever else sends and however the
//! payload is cut into parts on its way.
#![allow(unsafe_code)] // Copies from the memory of operations.

use super::header::Address;
use super::memory::Sending;
use super::sending::Apart;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation};
use crate::reports::checking::Origin;
use crate::reports::told;
use crate::way::{self, Call, Mode, Way};
use std::sync::Arc;
use weft_base::settings::is_checking;
use weft_post::Nonsense;
use weft_transport::Place;

impl Engine {
    /// Sends a message with what it says, as [`Engine::deliver_far`].
    ///
    /// # Safety
    /// As there.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn deliver_described(
        &self,
        me: &Endpoint,
        place: Place,
        envelope: Envelope,
        data: &Buffer,
        mode: Mode,
        operation: Option<&Operation>,
        origin: Vec<u8>,
    ) -> bool {
        let (post, before) = (&self.far().post, origin.len());
        let address = Address { target: place.index, envelope, is_described: true };
        let call = if operation.is_some() { Call::Starts } else { Call::Tries };
        let apart = Apart { towards: post.towards(place.node), note: before as u64 };
        if let way @ Way::Eager = way::choose(&data.message(mode, call), self.limits(), &apart) {
            let permit = apart.permit(data.bytes);
            let mut payload = origin;
            payload.resize(before + data.bytes as usize, 0);
            // SAFETY: the caller's promise; there is room for the data.
            unsafe { data.pack_into(payload[before..].as_mut_ptr()) };
            let payload: Arc<[u8]> = payload.into();
            let mut header = address.encode();
            let sent = permit.send(&mut header, &payload);
            let later = |_| Sending::Described(payload.clone());
            if sent.is_ok() || operation.is_some() {
                told::sent(me.rank(), &envelope, &way, data.bytes);
            }
            return self.after(permit, sent, &envelope, &header, operation, later);
        }
        let Some(operation) = operation else { return false };
        told::sent(me.rank(), &envelope, &Way::<(), ()>::Request, data.bytes);
        // A device for very short messages only takes offers as they are.
        let is_described = post.takes_note(place.node, before);
        let header = Address { is_described, ..address }.encode();
        self.offer_far(me, place.node, header, operation, if is_described { &origin } else { &[] });
        false
    }
}

/// Divides a payload into what it says of the message, if this node process checks, and the data.
pub(super) fn split(payload: &[u8]) -> Result<(Option<Origin>, &[u8]), Nonsense> {
    let split = Origin::split(payload);
    let (origin, data) = split.ok_or(Nonsense("a message that does not say what it is"))?;
    // A node process that does not check has no use for it.
    Ok((is_checking().then_some(origin), data))
}
