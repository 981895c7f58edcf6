//! The interface between devices and the layers above.
#![allow(unsafe_code)] // Declares functions that get memory by address; the devices say what they do with it.

use crate::{Channel, Node, Refusal, Tuning};
use std::time::Duration;

/// What a device can do, and up to which size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// The longest payload, in bytes, that [`Device::send`] takes.
    pub eager: usize,
    /// Whether [`Device::read`] works: the target's memory can be read without its help.
    pub remote_read: bool,
}

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
/// and peer after the other, but for parts ([`Device::start`]) with other numbers than 0, which come beside all others. They neither wait nor poll, and they may send: a device holds no lock that sending needs
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

    /// Tells whether something has come that no device sees, in memory that processes share ([`Tuning::commons`]), for
    /// [`Handler::advance`] to deal with.
    fn has_come(&self) -> bool {
        false
    }

    /// Tells whether [`Handler::advance`] has nothing to do, not even something that waits for room in a device.
    fn is_idle(&self) -> bool {
        true
    }
}

/// A way to the other node processes: what every device does. What only some do, or say of themselves, is [`Tuning`].
///
/// All functions may be called by many threads at once. None but [`Device::sleep`] waits. A process sends nothing to itself.
pub trait Device: Tuning {
    /// Returns the device's name, as settings and reports call it.
    fn name(&self) -> &'static str;

    /// Returns this process's number.
    fn node(&self) -> Node;

    /// Returns the number of node processes.
    fn nodes(&self) -> u32;

    /// Returns what the device can do towards a peer.
    fn capabilities(&self, peer: Node) -> Capabilities;

    /// Sends a message whose payload is at most [`Capabilities::eager`] bytes, with a header of at most [`MAX_HEADER`](crate::MAX_HEADER). Both
    /// have been taken when it returns.
    ///
    /// # Errors
    /// [`Refusal::Full`], [`Refusal::Lost`].
    fn send(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> Result<(), Refusal>;

    /// Sends a message of any length from memory that the caller leaves alone until [`Handler::sent`] is called with the
    /// token. Its `part` is 0. If several such messages are parts of something long ([`Tuning::parts`] says how many get there
    /// best), each has a number: nothing is promised about the order of messages with different numbers, nor of one whose number
    /// is not 0 and any other.
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
        part: u32,
        header: &[u8],
        address: *const u8,
        bytes: u64,
        token: u64,
    ) -> Result<(), Refusal>;

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

    /// Sleeps until something may have arrived, there may be room where [`Refusal::Full`] was said before, [`Device::wake`]
    /// is called, or the time is over. Once a wake-up from these can no longer be missed, asks `is_idle` whether to go to
    /// sleep at all. Meant for one thread at a time; of several, all wake up.
    fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool);

    /// Wakes whoever sleeps in [`Device::sleep`]. Cheap if nobody does.
    fn wake(&self);

    /// Says that this process ends in order: its end is no loss to its peers, which still get what it has sent.
    fn leave(&self);
}
