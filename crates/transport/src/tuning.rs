//! What only some devices do, or say of themselves.
//!
//! Each function has a default that is right for every device. With the defaults messages arrive as they do without; they may
//! take longer, collectives go by messages alone, and a job on the device finds no deadlocks.
//!
//! | about | functions |
//! | --- | --- |
//! | sending | [`send_all`](Tuning::send_all), [`answer`](Tuning::answer), [`parts`](Tuning::parts) |
//! | looking and waiting | [`has_arrived`](Tuning::has_arrived), [`polls`](Tuning::polls), [`wants_poll`](Tuning::wants_poll), [`is_streaming`](Tuning::is_streaming), [`is_crowded`](Tuning::is_crowded), [`asks_kernel`](Tuning::asks_kernel) |
//! | shared memory | [`commons`](Tuning::commons), [`nudge`](Tuning::nudge) |
//! | what went through | [`rest`](Tuning::rest), [`outbound`](Tuning::outbound) |

use crate::{Channel, Node, Refusal};
use std::collections::BTreeMap;

/// The longest payload that [`Tuning::answer`] takes.
pub const MOST_ANSWER: usize = 512 << 10;

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
    /// How many segments the kernel has sent again, where it says so.
    pub resent: u64,
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
        self.resent += other.resent;
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

/// A message for [`Tuning::send_all`].
#[derive(Clone, Copy, Debug)]
pub struct Leaving<'a> {
    /// The header.
    pub header: &'a [u8],
    /// The payload.
    pub payload: &'a [u8],
}

/// What a device does beyond [`Device`](crate::Device), and says of itself.
///
/// Like those, all functions may be called by many threads at once, and none waits.
pub trait Tuning: Send + Sync {
    /// Sends messages as [`Device::send`](crate::Device::send) does, one after the other, until there is no room, and returns
    /// how many were taken, which is one at least if there are any. For a device that sends all of them by one call of the
    /// kernel; nothing, and nothing is done, if it does not.
    ///
    /// # Errors
    /// [`Refusal::Full`], [`Refusal::Lost`]: the first was not taken.
    fn send_all(
        &self,
        to: Node,
        channel: Channel,
        messages: &[Leaving<'_>],
    ) -> Option<Result<usize, Refusal>> {
        let _ = (to, channel, messages);
        None
    }

    /// Sends a message of at most [`MOST_ANSWER`] bytes, which may be more than [`Capabilities::eager`](crate::Capabilities::eager), if that costs no
    /// more than [`Device::start`](crate::Device::start): because the peer has sent one in memory that can go back with this one. Who has done so
    /// probably waits for it. Returns whether the message, which has been taken then, is sent: a device that takes one may well
    /// take none until the peer has answered. The header has at most 32 bytes.
    fn answer(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> bool {
        let _ = (to, channel, header, payload);
        false
    }

    /// Returns in how many parts a long payload gets to a peer best, each by [`Device::start`](crate::Device::start) with a
    /// number below that.
    fn parts(&self, peer: Node) -> u32 {
        let _ = peer;
        1
    }

    /// Tells, at much less cost than [`Device::poll`](crate::Device::poll), whether that might find something. Not all that it does needs to be
    /// seen by this: who waits asks some times and then polls all the same.
    fn has_arrived(&self) -> bool {
        true
    }

    /// Counts the polls so far, by whomever; threads that poll at once may count as one. Nothing if that is not counted.
    fn polls(&self) -> Option<u32> {
        None
    }

    /// Tells, once, that something has arrived which other threads leave to one that sends: it does well to poll when it has sent.
    fn wants_poll(&self) -> bool {
        false
    }

    /// Tells whether long payloads are on their way, so that who waits does better to sleep than to look again and again.
    fn is_streaming(&self) -> bool {
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

    /// Returns the memory that node process `owner`, perhaps this one, may give parts of to those of its host: the same at all
    /// of them. Nothing if this process shares no memory with the owner.
    fn commons(&self, owner: Node) -> Option<Commons> {
        let _ = owner;
        None
    }

    /// Wakes a peer that sleeps in [`Device::sleep`](crate::Device::sleep) beside what was written into memory that both share. Cheap if it does
    /// not sleep.
    fn nudge(&self, peer: Node) {
        let _ = peer;
    }

    /// Returns what went through, if nothing rests in the device now: nothing that has arrived and was not delivered, nothing
    /// that was started and has not left. `None` if something does, or if a device cannot tell. Once all processes of a job
    /// rest, the sums of both numbers over all of them are equal; what has been sent and neither been received nor is seen
    /// by the receiver to have arrived makes them differ. Peers that have left count no more: what they have sent is seen to
    /// have arrived once [`Device::leave`](crate::Device::leave) has returned there.
    fn rest(&self) -> Option<Traffic> {
        None
    }

    /// Returns what was sent to other hosts since the beginning; nothing where the device does not leave the host.
    fn outbound(&self) -> Outbound {
        Outbound::default()
    }
}
