//! How offered data is got.
#![allow(unsafe_code)] // Has devices read into memory, which is each time said to be there.

use crate::client::{Client, Place, Room};
use crate::header::{Frame, Offer};
use crate::service::{Awaited, PIECE, Post, Reading};
use std::sync::atomic::Ordering;
use weft_transport::{Device, Node, Refusal};

impl<C: Client> Post<C> {
    /// Reads what was offered from the peer's memory, as much as there is room for, and gives the offer back.
    ///
    /// # Errors
    /// The device's reason.
    pub fn read<R: Room>(&self, client: &C, from: Node, offer: &Offer, room: &mut R) -> Result<(), Refusal> {
        let bytes = offer.bytes.min(room.bytes());
        let device = self.nodes.device();
        let result = match room.place() {
            _ if bytes == 0 => Ok(()),
            // SAFETY: the room has as many bytes, which are the caller's.
            Place::Block(address) => unsafe { device.read(from, offer.address, address, bytes) },
            Place::Gaps(gaps) => {
                let mut space = vec![0u8; bytes.min(PIECE) as usize];
                (0..bytes).step_by(PIECE as usize).try_for_each(|offset| {
                    let (length, piece) = ((bytes - offset).min(PIECE), space.as_mut_ptr());
                    let address = offer.address.wrapping_add(offset);
                    // SAFETY: the space has room for a piece.
                    unsafe { device.read(from, address, piece, length)? };
                    // SAFETY: the room is the caller's, and has as many bytes.
                    unsafe { (gaps.copy)(gaps.object, offset, piece, length) };
                    Ok(())
                })
            }
        };
        self.decline(client, from, offer);
        result
    }

    /// As [`Post::read`], after the poll, for who is called by one. The client gets the room back when it is filled, or will not be.
    pub fn read_later(&self, from: Node, offer: Offer, room: C::Room) {
        self.left.fetch_add(1, Ordering::SeqCst);
        self.readings.lock().push_back(Reading { from, offer, room });
    }

    /// Goes on with what waits. Returns whether anything could be done.
    #[inline]
    pub fn advance(&self, client: &C) -> bool {
        !self.is_idle() && self.go_on(client)
    }

    #[inline(never)]
    fn go_on(&self, client: &C) -> bool {
        let mut moved = false;
        loop {
            let Some(Reading { from, offer, mut room }) = self.readings.lock().pop_front() else { break };
            match self.read(client, from, &offer, &mut room) {
                Ok(()) => client.filled(room),
                Err(refusal) => client.unfilled(room, Some(&refusal.to_string())),
            }
            self.left.fetch_sub(1, Ordering::SeqCst);
            moved = true;
        }
        self.pump_all(client) | moved
    }

    /// Asks for as much of what was offered as there is room for. The client gets the room back when it is there.
    pub fn ask(&self, client: &C, from: Node, offer: &Offer, mut room: C::Room) {
        let bytes = offer.bytes.min(room.bytes());
        if bytes == 0 {
            self.decline(client, from, offer);
            return client.filled(room);
        }
        let (table, in_pieces) = (room.table(), matches!(room.place(), Place::Gaps(_)));
        let awaited = Awaited { room, from, bytes, got: 0, placing: 0 };
        // It may be filled, and gone, as soon as it has been asked for.
        if let Some(room) = self.await_data(client, table, awaited) {
            self.say(client, from, Frame::Ask { in_pieces, lent: offer.lent, room, bytes }, false);
        }
    }

    /// Gives memory a name, unless the peer is lost.
    pub(crate) fn await_data(&self, client: &C, table: u32, awaited: Awaited<C>) -> Option<u64> {
        let from = awaited.from;
        let name = self.awaited.add(table, awaited);
        // Whoever notes a loss looks through the names afterwards.
        if !self.peers[from as usize].is_lost.load(Ordering::SeqCst) {
            return Some(name);
        }
        let awaited = self.awaited.remove(name);
        awaited.into_iter().for_each(|awaited| client.unfilled(awaited.room, None));
        None
    }

    /// Lets go of an offer that is not needed any more, and has not been asked for.
    pub fn decline(&self, client: &C, from: Node, offer: &Offer) {
        self.say(client, from, Frame::Done { lent: offer.lent }, offer.is_held);
    }
}
