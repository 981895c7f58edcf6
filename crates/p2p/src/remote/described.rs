//! Messages that say what they are, for checking mode: how they go out, and how they arrive.
//!
//! What a message says goes in front of its data in one payload, so both stay together whoever else sends and however the
//! payload is cut into parts on its way.
#![allow(unsafe_code)] // Copies from the memory of operations.

use super::arrival::{Heard, Nonsense, Whole};
use super::backlog::Post;
use super::frame::{Encoded, Frame};
use super::{Far, Remote, units};
use crate::endpoint::{Endpoint, Reference};
use crate::engine::{Engine, Mode};
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation};
use crate::reports::checking::Origin;
use std::sync::Arc;
use weft_base::settings::is_checking;
use weft_transport::{Device, Node, Place, Refusal};

impl Remote {
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
        let peer = &self.peers[place.node as usize];
        // There is room for all of it: `Peer::new`.
        if mode == Mode::Standard && data.bytes <= peer.eager && peer.window.take(units(data.bytes)) {
            let mut header = Frame::Eager { target: place.index, envelope, described: true }.encode();
            let mut payload = origin;
            let before = payload.len();
            payload.resize(before + data.bytes as usize, 0);
            // SAFETY: the caller's promise; there is room for the data.
            unsafe { data.pack_into(payload[before..].as_mut_ptr()) };
            let payload: Arc<[u8]> = payload.into();
            let sent = self.transmit_in_order(place.node, &mut header, &payload);
            let later = |operation: Reference| {
                let operation = Some((operation, envelope));
                Post::Described { header, payload: payload.clone(), operation }
            };
            return self.after(place.node, sent, &envelope, data.bytes, operation, later);
        }
        let Some(operation) = operation else { return false };
        // A device for very short messages only takes requests as they are.
        let fits = origin.len() <= self.device.capabilities(place.node).eager;
        if let Some(request) = self.request(me, place, envelope, data, operation, fits) {
            if !fits {
                self.post(place.node, request);
                return false;
            }
            let mut header = request.encode();
            if matches!(self.transmit_in_order(place.node, &mut header, &origin), Err(Refusal::Full)) {
                self.queue(place.node, Post::Described { header, payload: origin.into(), operation: None });
            }
        }
        false
    }

    fn transmit_in_order(&self, to: Node, header: &mut Encoded, payload: &[u8]) -> Result<(), Refusal> {
        let is_free = self.peers[to as usize].backlog.is_empty();
        if is_free { self.transmit(to, header, payload) } else { Err(Refusal::Full) }
    }
}

impl Engine {
    /// Takes a message or request that says what it is; all of its payload is there.
    pub(super) fn arrive_described(&self, from: Node, frame: Frame, payload: &[u8]) -> Heard {
        let (origin, data) =
            Origin::split(payload).ok_or(Nonsense("a message that does not say what it is"))?;
        // A node process that does not check has no use for it.
        let origin = is_checking().then_some(origin);
        match frame {
            Frame::Eager { target, envelope, .. } => {
                self.arrive_eager(self.rank_here(target)?, from, envelope, Whole::Present(data), origin);
            }
            Frame::Request { target, envelope, send, bytes, address, .. } if data.is_empty() => {
                let far = Far { node: from, send, address };
                self.arrive_request(self.rank_here(target)?, envelope, bytes, far, origin);
            }
            _ => return Err(Nonsense("data with a message that has none")),
        }
        Ok(())
    }
}
