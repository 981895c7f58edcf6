//! The interface between devices and the layers above.
#![allow(unsafe_code)] // Declares functions that get memory by address; the devices say what they do with it.

use core::fmt;
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of a node process in the job.
pub type Node = u32;

/// The longest header, in bytes.
pub const MAX_HEADER: usize = 64;

/// A separate ordered stream to the same peer. Devices carry messages of every number; those of [`Channel::ALL`] have somebody
/// who serves them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Channel(u8);

impl Channel {
    /// Messages of ranks.
    pub const POINT_TO_POINT: Self = Self(0);
    /// Steps of collectives, and what node processes agree on.
    pub const COLLECTIVE: Self = Self(1);
    /// Active messages: one-sided operations, and those of programs.
    pub const ACTIVE: Self = Self(2);
    /// The channels that have somebody who serves them, in the order of their numbers, which begin with 0. Who needs a further one
    /// adds it here.
    pub const ALL: [Self; 3] = [Self::POINT_TO_POINT, Self::COLLECTIVE, Self::ACTIVE];
    /// How many of them, the first ones, are served from the beginning of every job; the others from when something needs them.
    pub const FIRST: usize = 2;

    /// Returns the channel with a number.
    #[inline]
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Returns its number.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Tells whether messages sent with [`Device::send`] may be delivered before all of their payload is there.
    #[inline]
    pub const fn comes_in_parts(self) -> bool {
        self.0 == Self::POINT_TO_POINT.0
    }
}

/// The longest payload that [`Device::answer`] takes.
pub const MOST_ANSWER: usize = 512 << 10;

/// What a device can do, and up to which size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// The longest payload, in bytes, that [`Device::send`] takes.
    pub eager: usize,
    /// Whether [`Device::read`] works: the target's memory can be read without its help.
    pub remote_read: bool,
}

/// How much went through a device, in a unit of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// What was sent to other processes.
    pub sent: u64,
    /// What was received from them, and has been delivered.
    pub received: u64,
}

/// What was sent to other hosts since the beginning.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outbound {
    /// How many messages, by channel.
    pub messages: BTreeMap<Channel, u64>,
    /// How many bytes of payload, on all channels.
    pub bytes: u64,
}

impl Outbound {
    /// Adds what was sent on a channel.
    pub fn add(&mut self, channel: Channel, messages: u64) {
        *self.messages.entry(channel).or_default() += messages;
    }

    /// Adds what another device has sent.
    pub fn add_all(&mut self, other: Self) {
        other.messages.into_iter().for_each(|(channel, messages)| self.add(channel, messages));
        self.bytes += other.bytes;
    }

    /// Returns how many messages were sent on a channel.
    pub fn on(&self, channel: Channel) -> u64 {
        self.messages.get(&channel).copied().unwrap_or(0)
    }
}

/// A part of the memory that the node processes of a host have in common. It is aligned to pages, is zero at first, and
/// stays as long as the process; what is in it is the business of whoever the owner gives parts of it to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Commons {
    /// Where this process sees it. Others see it elsewhere.
    pub address: *mut u8,
    /// How many bytes there are.
    pub bytes: usize,
}

/// Why a message was not taken. The caller still has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There is no room now. Poll, and try again.
    Full,
    /// The peer is gone; nothing will ever get there.
    Lost {
        /// What happened, in words: which peer, which cause.
        reason: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("no room for the message at present"),
            Self::Lost { reason } => f.write_str(reason),
        }
    }
}

impl std::error::Error for Refusal {}

/// A message whose header is there.
#[derive(Clone, Copy, Debug)]
pub struct Arriving<'a> {
    /// Who sent it.
    pub from: Node,
    /// On which channel.
    pub channel: Channel,
    /// The header, as given to the sender's device.
    pub header: &'a [u8],
    /// The length of the whole payload.
    pub bytes: u64,
    /// What of the payload is there already, from its start. For a message sent with [`Device::send`] it is all of it, but where
    /// the channel [comes in parts](Channel::comes_in_parts): there the rest may still be on its way.
    pub present: &'a [u8],
}

/// A message for [`Device::send_all`].
#[derive(Clone, Copy, Debug)]
pub struct Leaving<'a> {
    /// The header.
    pub header: &'a [u8],
    /// The payload.
    pub payload: &'a [u8],
}

/// Where the payload of an arriving message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// The handler has taken what it needs; the device forgets the message. What is not present yet is dropped.
    Taken,
    /// As `Taken`, and it was the one message that the calling thread, which polls, waits for: a device may leave what follows
    /// to the next poll.
    Served,
    /// Into memory that stays valid until [`Handler::placed`] is called with the token. Bytes past `capacity` are dropped.
    Memory {
        /// Where the payload begins.
        address: *mut u8,
        /// How many bytes there is room for.
        capacity: u64,
        /// Comes back when the payload is there.
        token: u64,
    },
}

/// What the layers above do for a device. A device calls the first four from [`Device::poll`], for one message of a channel
/// and peer after the other, but for those of [`Device::start_part`], which come beside all others. They neither wait nor poll, and they may send: a device holds no lock that sending needs
/// while it calls them. What takes long they leave for [`Handler::advance`].
pub trait Handler: Sync {
    /// Says where an arriving message goes, or takes it at once.
    fn arrive(&self, message: Arriving<'_>) -> Placement;

    /// The payload whose placement had this token is there.
    fn placed(&self, from: Node, channel: Channel, token: u64);

    /// The memory of the message that was started with this token may be used again.
    fn sent(&self, to: Node, channel: Channel, token: u64);

    /// The peer is gone: no message will come from it or get to it any more. Called once per peer, after everything that
    /// was delivered from it. What was started to it and has not been reported as sent, and what was being placed from it,
    /// is over with this: neither [`Handler::sent`] nor [`Handler::placed`] follows, and the device has let go of the memory.
    fn lost(&self, peer: Node, reason: &str);

    /// There are more node processes, with numbers from `begin` on, on these hosts: those of one host have the same number.
    /// Called before anything is heard of them.
    fn joined(&self, begin: Node, hosts: &[u32]) {
        _ = (begin, hosts);
    }

    /// Goes on with what the other functions left for later. [`Nodes::poll`](crate::Nodes::poll) calls it after each poll,
    /// in any number of threads at once. Returns whether anything happened.
    fn advance(&self) -> bool {
        false
    }

    /// Tells whether something has come that no device sees, in memory that processes share ([`Device::commons`]), for
    /// [`Handler::advance`] to deal with.
    fn has_come(&self) -> bool {
        false
    }

    /// Tells whether [`Handler::advance`] has nothing to do, not even something that waits for room in a device.
    fn is_idle(&self) -> bool {
        true
    }
}

/// A way to the other node processes.
///
/// All functions may be called by many threads at once. None but [`Device::sleep`] waits. A process sends nothing to itself.
pub trait Device: Send + Sync {
    /// Returns the device's name, as settings and reports call it.
    fn name(&self) -> &'static str;

    /// Returns this process's number.
    fn node(&self) -> Node;

    /// Returns the number of node processes.
    fn nodes(&self) -> u32;

    /// Returns what the device can do towards a peer.
    fn capabilities(&self, peer: Node) -> Capabilities;

    /// Sends a message whose payload is at most [`Capabilities::eager`] bytes, with a header of at most [`MAX_HEADER`]. Both
    /// have been taken when it returns.
    ///
    /// # Errors
    /// [`Refusal::Full`], [`Refusal::Lost`].
    fn send(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> Result<(), Refusal>;

    /// Sends messages as [`Device::send`] does, one after the other, until there is no room. Returns how many were taken,
    /// which is one at least if there are any. Where a call of the kernel sends, it may send all of them.
    ///
    /// # Errors
    /// [`Refusal::Full`], [`Refusal::Lost`]: the first was not taken.
    fn send_all(&self, to: Node, channel: Channel, messages: &[Leaving<'_>]) -> Result<usize, Refusal> {
        for (taken, message) in messages.iter().enumerate() {
            match self.send(to, channel, message.header, message.payload) {
                Ok(()) => {}
                Err(refusal) if taken == 0 => return Err(refusal),
                Err(_) => return Ok(taken),
            }
        }
        Ok(messages.len())
    }

    /// Sends a message of at most [`MOST_ANSWER`] bytes, which may be more than [`Capabilities::eager`], if that costs no more than
    /// [`Device::start`]: because the peer has sent one in memory that can go back with this one. Who has done so
    /// probably waits for it. Returns whether the message, which has been taken then, is sent. The header has at most 32 bytes.
    fn answer(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> bool {
        _ = (to, channel, header, payload);
        false
    }

    /// Sends a message of any length from memory that the caller leaves alone until [`Handler::sent`] is called with the
    /// token.
    ///
    /// # Errors
    /// [`Refusal::Full`], [`Refusal::Lost`]: `sent` will not be called.
    ///
    /// # Safety
    /// `address` is readable for `bytes` bytes until then.
    unsafe fn start(
        &self,
        to: Node,
        channel: Channel,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        token: u64,
    ) -> Result<(), Refusal>;

    /// Returns in how many parts a long payload gets to a peer best, each by [`Device::start_part`].
    fn ways(&self, peer: Node) -> u32 {
        let _ = peer;
        1
    }

    /// As [`Device::start`], for what may come in any order: nothing is promised about the order of messages started so with
    /// different numbers of parts, and of all others.
    ///
    /// # Errors
    /// As [`Device::start`].
    ///
    /// # Safety
    /// As [`Device::start`].
    #[allow(clippy::too_many_arguments)]
    unsafe fn start_part(
        &self,
        part: u32,
        to: Node,
        channel: Channel,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        token: u64,
    ) -> Result<(), Refusal> {
        let _ = part;
        // SAFETY: the caller's promise.
        unsafe { self.start(to, channel, header, address, bytes, token) }
    }

    /// Reads memory of a peer, where [`Capabilities::remote_read`] says so. The data is there when it returns.
    ///
    /// # Errors
    /// [`Refusal::Lost`] if the peer is gone or the memory cannot be read.
    ///
    /// # Safety
    /// `target` is writable for `bytes` bytes, and nobody else uses it.
    unsafe fn read(&self, peer: Node, address: u64, target: *mut u8, bytes: u64) -> Result<(), Refusal>;

    /// Delivers what has arrived and goes on with what was started. Returns whether anything happened. If another thread
    /// is polling, this returns at once.
    fn poll(&self, handler: &dyn Handler) -> bool;

    /// Tells, at much less cost than [`Device::poll`], whether that might find something. Not all that it does needs to be
    /// seen by this: who waits asks some times and then polls all the same.
    fn has_arrived(&self) -> bool {
        true
    }

    /// Sleeps until something may have arrived, there may be room where [`Refusal::Full`] was said before, [`Device::wake`]
    /// is called, or the time is over. Once a wake-up from these can no longer be missed, asks `is_idle` whether to go to
    /// sleep at all. Meant for one thread at a time; of several, all wake up.
    fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool);

    /// Wakes whoever sleeps in [`Device::sleep`]. Cheap if nobody does.
    fn wake(&self);

    /// Returns what went through, if nothing rests in the device now: nothing that has arrived and was not delivered, nothing
    /// that was started and has not left. `None` if something does, or if a device cannot tell. Once all processes of a job
    /// rest, the sums of both numbers over all of them are equal; what has been sent and neither been received nor is seen
    /// by the receiver to have arrived makes them differ. Peers that have left count no more: what they have sent is seen to
    /// have arrived once [`Device::leave`] has returned there.
    fn rest(&self) -> Option<Traffic> {
        None
    }

    /// Returns what was sent to other hosts since the beginning; nothing where the device does not leave the host.
    fn outbound(&self) -> Outbound {
        Outbound::default()
    }

    /// Says that this process ends in order: its end is no loss to its peers, which still get what it has sent.
    fn leave(&self) {}

    /// Returns the memory that node process `owner`, perhaps this one, may give parts of to those of its host: the same at all
    /// of them. Nothing if this process shares no memory with the owner.
    fn commons(&self, owner: Node) -> Option<Commons> {
        let _ = owner;
        None
    }

    /// Wakes a peer that sleeps in [`Device::sleep`] beside what was written into memory that both share. Cheap if it does
    /// not sleep.
    fn nudge(&self, peer: Node) {
        let _ = peer;
    }

    /// Tells whether long payloads are on their way, so that who waits does better to sleep than to look again and again.
    fn is_streaming(&self) -> bool {
        false
    }

    /// Counts the polls so far, by whomever; threads that poll at once may count as one. Nothing if that is not counted.
    fn polls(&self) -> Option<u32> {
        None
    }

    /// Tells, once, that something has arrived which other threads leave to one that sends: it does well to poll when it has sent.
    fn wants_poll(&self) -> bool {
        false
    }

    /// Tells whether the node processes of this host outnumber its cores, so that who spins keeps another from running.
    fn is_crowded(&self) -> bool {
        false
    }

    /// Tells whether a poll in vain costs calls of the kernel.
    fn asks_kernel(&self) -> bool {
        false
    }
}
