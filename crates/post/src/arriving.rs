//! What arrives.
#![allow(unsafe_code)] // Copies to memory that is awaited: each time it says who keeps it.

use crate::client::{Aside, Client, Costs, Data, Nonsense, Place, Reception, Room};
use crate::credit::Credit;
use crate::header::{Frame, Head, Malformed, OFFER_BYTES, Offer, Words};
use crate::service::{Awaited, Item, Lent, PIECE, Peer, Post, Staged, Stream};
use std::sync::atomic::Ordering;
use weft_sync::Section;
use weft_transport::{Arriving, MAX_HEADER, Node, Placement};

/// In place of the name of memory: the message goes aside. No name is so.
const STAGED: u64 = u64::MAX;

type Heard<T = ()> = Result<T, Nonsense>;

fn malformed(_: Malformed) -> Nonsense {
    Nonsense("a malformed header")
}

impl<C: Client> Post<C> {
    /// What [`weft_transport::Handler::arrive`] is to do.
    #[inline]
    pub fn arrive(&self, client: &C, message: &Arriving<'_>) -> Placement {
        let peer = &self.peers[message.from as usize];
        if peer.is_lost.load(Ordering::Relaxed) {
            return Placement::Taken;
        }
        match self.hear(client, peer, message) {
            Ok(placement) => placement,
            Err(what) => {
                self.lose_liar(client, message.from, &what);
                Placement::Taken
            }
        }
    }

    #[inline(always)]
    fn hear(&self, client: &C, peer: &Peer<C>, message: &Arriving<'_>) -> Heard<Placement> {
        let head = Head::of(message.header).map_err(malformed)?;
        if !peer.window.refill(head.credit().into()) {
            return Err(Nonsense("more credit than there is"));
        }
        // What most messages are.
        let is_free = C::TELLS && head.is_free();
        if (is_free || head.is_short()) && message.present.len() as u64 == message.bytes {
            let costs = Costs { window: &peer.window, credit: cost::<C>(is_free, message.bytes) };
            let reception = client.arrive(message.from, head.words(), message.present, costs)?;
            return Ok(match reception {
                Reception::Taken => Placement::Taken,
                Reception::Served => Placement::Served,
            });
        }
        self.hear_other(client, peer, message)
    }

    /// Takes a message that is not short, or not all there, or none of the client's.
    #[inline(never)]
    fn hear_other(&self, client: &C, peer: &Peer<C>, message: &Arriving<'_>) -> Heard<Placement> {
        let Arriving { from, bytes, present, .. } = *message;
        let is_whole = present.len() as u64 == bytes;
        match Head::of(message.header).map_err(malformed)?.frame().map_err(malformed)? {
            Frame::Short { is_free: true, .. } if !C::TELLS => {
                return Err(Nonsense("a message that has cost nothing"));
            }
            Frame::Short { is_free, header } => {
                return self.arrive_in_parts(client, peer, message, header, is_free);
            }
            Frame::Offer { is_held, header } if is_whole => {
                Self::take_offer(client, from, header, is_held, present)?;
            }
            Frame::Offer { .. } if bytes > OFFER_BYTES as u64 + C::MOST_NOTE => {
                return Err(Nonsense("an offer that is long"));
            }
            Frame::Offer { .. } => return Self::put_aside(peer, message),
            Frame::Data { room, offset } => return self.place(client, peer, message, room, offset),
            _ if bytes != 0 => return Err(Nonsense("data with a message that has none")),
            Frame::Ask { in_pieces, lent: name, room, bytes } => {
                {
                    let mut names = self.lent.of(name).ok_or(Nonsense("a wish for data there is not"))?;
                    let lent = names.get(name).filter(|lent| lent.to == from && !lent.is_asked);
                    let lent = lent.filter(|lent| bytes > 0 && bytes <= lent.data.bytes());
                    lent.ok_or(Nonsense("a wish for data that is not to be had"))?.is_asked = true;
                }
                let stream = Stream::new(name, room, bytes, in_pieces);
                self.queue(client, from, Item::Stream(stream));
            }
            Frame::Done { lent } => {
                let lent = self.take_lent(from, lent).ok_or(Nonsense("the end of what was not lent"))?;
                self.settle(client, lent);
            }
            Frame::Withdraw { word, lent } => {
                if client.give_up_offer(from, word, lent)? {
                    self.say(client, from, Frame::Withdrawn { lent }, false);
                }
            }
            Frame::Withdrawn { lent } => {
                let lent = self.take_lent(from, lent).ok_or(Nonsense("what was not lent"))?;
                self.count_back(&lent);
                lent.then.into_iter().for_each(|then| client.withdrawn(then));
            }
            Frame::Credit => {}
        }
        Ok(Placement::Taken)
    }

    /// Takes back what a peer has not asked for, and needs no more.
    fn take_lent(&self, from: Node, name: u64) -> Option<Lent<C>> {
        let mut names = self.lent.of(name)?;
        let is_its = names.get(name).is_some_and(|lent| lent.to == from && !lent.is_asked);
        if is_its { names.remove(name) } else { None }
    }

    fn take_offer(client: &C, from: Node, header: Words<'_>, is_held: bool, payload: &[u8]) -> Heard {
        let (offer, note) = Offer::decode(payload, is_held).map_err(|_| Nonsense("a malformed offer"))?;
        client.offered(from, header, offer, note)
    }

    /// Says where a short message goes of which parts are on their way: into memory that waits for it, or else aside. Nothing overtakes
    /// it: the device brings what follows later.
    fn arrive_in_parts(
        &self,
        client: &C,
        peer: &Peer<C>,
        message: &Arriving<'_>,
        header: Words<'_>,
        is_free: bool,
    ) -> Heard<Placement> {
        let Arriving { from, bytes, .. } = *message;
        if bytes > peer.longest {
            return Err(Nonsense("a short message that is long"));
        }
        let Some(mut room) = client.room_for(from, header, bytes)? else {
            return Self::put_aside(peer, message);
        };
        // The data never takes memory of this process's own.
        if peer.window.owe(cost::<C>(is_free, bytes), &Section::outside()) {
            self.give_back(client, from);
        }
        let Place::Block(address) = room.place() else {
            unreachable!("what waits for a message in parts is a block")
        };
        let (table, capacity) = (room.table(), bytes.min(room.bytes()));
        let awaited = Awaited { room, from, bytes: capacity, got: capacity, placing: 1 };
        Ok(match self.await_data(client, table, awaited) {
            Some(token) => Placement::Memory { address, capacity, token },
            None => Placement::Taken,
        })
    }

    /// Makes room for a message until all of it is there.
    fn put_aside(peer: &Peer<C>, message: &Arriving<'_>) -> Heard<Placement> {
        let Arriving { bytes, header: written, .. } = *message;
        let mut aside = C::Aside::make(bytes).ok_or(Nonsense("a message without its end"))?;
        let address = aside.address();
        let mut header = [0; MAX_HEADER];
        header[..written.len()].copy_from_slice(written);
        let mut slot = peer.staged.lock();
        if slot.is_some() {
            return Err(Nonsense("short messages side by side"));
        }
        *slot = Some(Staged { header, length: written.len(), aside, bytes });
        Ok(Placement::Memory { address, capacity: bytes, token: STAGED })
    }

    /// Takes what was put aside.
    fn take_aside(&self, client: &C, from: Node) -> Heard {
        let peer = &self.peers[from as usize];
        let staged = peer.staged.lock().take();
        let Some(Staged { header, length, mut aside, bytes }) = staged else { return Ok(()) };
        if peer.is_lost.load(Ordering::SeqCst) {
            return Ok(());
        }
        let head = Head::of(&header[..length]).map_err(malformed)?;
        let frame = head.frame().map_err(malformed)?;
        if let Frame::Short { is_free, header } = frame {
            return client.arrive_aside(from, header, aside, bytes, cost::<C>(is_free, bytes));
        }
        // SAFETY: the memory was made for as many bytes, and the device has written all of them.
        let payload = unsafe { core::slice::from_raw_parts(aside.address(), bytes as usize) };
        match frame {
            Frame::Offer { is_held, header } => Self::take_offer(client, from, header, is_held, payload),
            Frame::Data { room, offset } => {
                let place = self.begin_part(from, bytes, room, offset, |_| true)?;
                self.store(client, room, place.1, offset, payload);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Notes that a part of what is awaited is there, if `may_begin` where it goes. Returns whether it does, and the place.
    fn begin_part(
        &self,
        from: Node,
        bytes: u64,
        room: u64,
        offset: u64,
        may_begin: impl Fn(Place) -> bool,
    ) -> Heard<(bool, Place)> {
        let mut names = self.awaited.of(room).ok_or(Nonsense("data for memory there is not"))?;
        let awaited = names.get(room).filter(|awaited| awaited.from == from);
        let awaited = awaited.ok_or(Nonsense("data that nobody waits for"))?;
        // Parts come over several ways, in any order.
        let is_missing = bytes > 0 && bytes <= awaited.bytes - awaited.got && offset <= awaited.bytes - bytes;
        if !is_missing {
            return Err(Nonsense("data that is not part of what is missing"));
        }
        let place = awaited.room.place();
        let begins = may_begin(place);
        if begins {
            (awaited.got, awaited.placing) = (awaited.got + bytes, awaited.placing + 1);
        }
        Ok((begins, place))
    }

    /// Says where data goes that was asked for.
    fn place(
        &self,
        client: &C,
        peer: &Peer<C>,
        message: &Arriving<'_>,
        room: u64,
        offset: u64,
    ) -> Heard<Placement> {
        let Arriving { from, bytes, present, .. } = *message;
        let is_part = (present.len() as u64) < bytes;
        let may_begin = |place| !is_part || matches!(place, Place::Block(_));
        match self.begin_part(from, bytes, room, offset, may_begin)? {
            (false, _) if bytes > PIECE => Err(Nonsense("data in one piece for memory with gaps")),
            (false, _) => Self::put_aside(peer, message),
            (true, Place::Block(address)) if is_part => {
                let address = address.wrapping_add(offset as usize);
                Ok(Placement::Memory { address, capacity: bytes, token: room })
            }
            (true, place) => {
                self.store(client, room, place, offset, present);
                Ok(Placement::Taken)
            }
        }
    }

    /// Copies a part of what is awaited to its place.
    fn store(&self, client: &C, room: u64, place: Place, offset: u64, data: &[u8]) {
        // SAFETY: the room stays under its name until nothing is being placed in it, and has as many bytes.
        unsafe {
            match place {
                Place::Block(address) => {
                    core::ptr::copy_nonoverlapping(data.as_ptr(), address.add(offset as usize), data.len());
                }
                Place::Gaps(gaps) => {
                    (gaps.copy)(gaps.object, offset, data.as_ptr().cast_mut(), data.len() as u64);
                }
            }
        }
        self.note_placed(client, room);
    }

    /// What [`weft_transport::Handler::placed`] is to do.
    pub fn placed(&self, client: &C, from: Node, token: u64) {
        if token != STAGED {
            return self.note_placed(client, token);
        }
        if let Err(what) = self.take_aside(client, from) {
            self.lose_liar(client, from, &what);
        }
    }

    fn note_placed(&self, client: &C, room: u64) {
        let awaited = {
            let Some(mut names) = self.awaited.of(room) else { return };
            let Some(awaited) = names.get(room) else { return };
            awaited.placing -= 1;
            let is_whole = awaited.placing == 0 && awaited.got == awaited.bytes;
            if is_whole { names.remove(room) } else { None }
        };
        if let Some(awaited) = awaited {
            client.filled(awaited.room);
        }
    }
}

#[inline(always)]
fn cost<C: Client>(is_free: bool, bytes: u64) -> Credit {
    if is_free { Credit::default() } else { Credit::of(bytes, C::EMPTY_COSTS) }
}
