//! What a client gives to the service, and what the service asks of it.
#![allow(unsafe_code)] // Declares what clients promise of memory.

use crate::credit::{Credit, Sections, Window};
use crate::header::{Offer, Words};
use weft_sync::Section;
use weft_transport::Node;

/// Where data is, or comes to.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Together, from this address on.
    Block(*mut u8),
    /// Elsewhere, with gaps, or in an order of its own: a function copies.
    Gaps(Gaps),
}

/// A function that copies between an object and bytes that lie together.
#[derive(Clone, Copy, Debug)]
pub struct Gaps {
    /// What it is given.
    pub object: *const (),
    /// Copies a part of the data, given where in the data it begins, the bytes, and how many they are: to the bytes where the place is
    /// [`Data`], from them where it is [`Room`].
    ///
    /// # Safety
    /// The object is the one beside, whose data or room is still there and has so much of it.
    pub copy: unsafe fn(object: *const (), offset: u64, bytes: *mut u8, length: u64),
}

/// Data of a message.
///
/// # Safety
/// `bytes` bytes at its place are readable, by any thread, and do not change until the value is dropped, wherever it is moved.
pub unsafe trait Data: Send {
    /// Returns where the data is.
    fn place(&self) -> Place;

    /// Returns how long it is.
    fn bytes(&self) -> u64;

    /// Returns in which of the service's tables it gets its name.
    fn table(&self) -> u32 {
        0
    }
}

/// Memory for data that comes.
///
/// # Safety
/// `bytes` bytes at its place are writable, by any thread, and nobody else uses them, until the value is dropped, wherever it is moved.
pub unsafe trait Room: Send {
    /// Returns where it is.
    fn place(&mut self) -> Place;

    /// Returns how long it is.
    fn bytes(&self) -> u64;

    /// Returns in which of the service's tables it gets its name.
    fn table(&self) -> u32 {
        0
    }
}

/// Memory for a short message of which parts are on their way.
///
/// # Safety
/// As many bytes as it was made for are writable at its address until the value is dropped, wherever it is moved.
pub unsafe trait Aside: Send + Sized {
    /// Makes it, if the client's channel [comes in parts](weft_transport::Channel::comes_in_parts).
    fn make(bytes: u64) -> Option<Self>;

    /// Returns where it is.
    fn address(&mut self) -> *mut u8;
}

/// For clients whose messages are always delivered whole: nothing is put aside.
#[derive(Debug)]
pub enum Never {}

// SAFETY: there is none.
unsafe impl Aside for Never {
    fn make(_bytes: u64) -> Option<Self> {
        None
    }

    fn address(&mut self) -> *mut u8 {
        match *self {}
    }
}

/// What no peer of ours sends, in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nonsense(pub &'static str);

/// What became of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    /// The client has taken it.
    Taken,
    /// As `Taken`, and it was the one message for which the calling thread waits.
    Served,
}

/// What a short message has cost its sender, who gets it back when the client has used the message.
pub struct Costs<'a, C: Client> {
    pub(crate) window: &'a Window<C::Sections>,
    pub(crate) credit: Credit,
}

impl<C: Client> Costs<'_, C> {
    /// Returns what is given back later, by [`Post::used`](crate::Post::used).
    pub fn credit(&self) -> Credit {
        self.credit
    }

    /// Notes that the message has been used, in a section of the client's. Returns whether so much is owed that it must be sent back
    /// by itself: [`Post::give_back`](crate::Post::give_back), after the section.
    #[inline]
    #[must_use]
    pub fn used(self, section: &Section<'_>) -> bool {
        self.window.owe(self.credit, section)
    }
}

/// Who uses the service. No function waits or polls; any may send.
pub trait Client: Sync + Sized {
    /// Data that is sent.
    type Data: Data;
    /// Memory for data that is asked for.
    type Room: Room;
    /// What the client does when data is not needed any more.
    type Then: Send;
    /// Memory for short messages of which parts are on their way; [`Never`] where there are none.
    type Aside: Aside;
    /// How it spares atomic operations; `()` where it does not.
    type Sections: Sections;

    /// Whether it sends messages that cost no credit.
    const TELLS: bool;
    /// Whether a short message without data costs credit: where the client does not bound how many there are.
    const EMPTY_COSTS: bool;
    /// The most bytes of what may go in front of the data of a message, or with an offer.
    const MOST_NOTE: u64 = 0;

    /// Takes a short message, all of which is there. Of one that was told, the costs are nothing.
    ///
    /// # Errors
    /// No peer of ours sends this; so the peer is lost.
    fn arrive(
        &self,
        from: Node,
        header: Words<'_>,
        data: &[u8],
        costs: Costs<'_, Self>,
    ) -> Result<Reception, Nonsense>;

    /// Takes an offer, and what goes with it. The client gets the data by [`Post::read`](crate::Post::read),
    /// [`Post::read_later`](crate::Post::read_later) or [`Post::ask`](crate::Post::ask), or declines.
    ///
    /// # Errors
    /// As [`Client::arrive`].
    fn offered(&self, from: Node, header: Words<'_>, offer: Offer, note: &[u8]) -> Result<(), Nonsense>;

    /// Gives memory that waits for a short message of which parts are on their way, if there is any and it is a block. What is beyond
    /// it is dropped.
    ///
    /// # Errors
    /// As [`Client::arrive`].
    fn room_for(&self, from: Node, header: Words<'_>, bytes: u64) -> Result<Option<Self::Room>, Nonsense> {
        _ = (from, header, bytes);
        Ok(None)
    }

    /// As [`Client::arrive`], for a message that was put aside until all of its `bytes` bytes were there.
    ///
    /// # Errors
    /// As [`Client::arrive`].
    fn arrive_aside(
        &self,
        from: Node,
        header: Words<'_>,
        aside: Self::Aside,
        bytes: u64,
        credit: Credit,
    ) -> Result<(), Nonsense> {
        _ = (from, header, aside, bytes, credit);
        Err(Nonsense("a message in parts"))
    }

    /// Gives an offer back that is not used yet, which its sender has [named](Offer::name), with a word that says where it went.
    /// Returns whether it is given back.
    ///
    /// # Errors
    /// As [`Client::arrive`].
    fn give_up_offer(&self, from: Node, word: u32, name: u64) -> Result<bool, Nonsense> {
        _ = (from, word, name);
        Ok(false)
    }

    /// The data of a message which the service could not let go of at once is not needed any more.
    fn sent(&self, then: Self::Then);

    /// The offer was [withdrawn](crate::Post::withdraw).
    fn withdrawn(&self, then: Self::Then) {
        self.unsent(then);
    }

    /// What was asked for, or was to be read, is there.
    fn filled(&self, room: Self::Room);

    /// As [`Client::sent`], but the peer is lost.
    fn unsent(&self, then: Self::Then) {
        drop(then);
    }

    /// As [`Client::filled`], but the peer is lost, or its memory cannot be read, perhaps known `why`; and what is there is not what was
    /// asked for.
    fn unfilled(&self, room: Self::Room, why: Option<&str>) {
        _ = (room, why);
    }

    /// A peer is lost. Called once, before all that is under way with it is given back; what is in a device's hands comes back when the
    /// device reports the loss.
    fn lost(&self, peer: Node, reason: &str);
}

/// How much a service may use, and sends at once, to a peer.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of short messages that this process may have sent to the peer and that has not used.
    pub there: u64,
    /// The same of the peer's messages here.
    pub here: u64,
    /// Bytes of data that are lent to the peer and for which nobody waits here.
    pub lent: u64,
    /// The longest data of a short message, if the device takes it.
    pub short: u64,
    /// How much of what the device takes is left for what goes in front of the data.
    pub note: u64,
}
