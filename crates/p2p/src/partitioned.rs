//! Partitioned communication: a send whose parts are made ready one by one, by any thread (chapter 4).
//!
//! Each side makes a persistent request. The calls that make them are matched, not their starts: the first one leaves
//! a [`Link`] with the receiving rank, the second one takes it. From then on the link is all both sides need:
//!
//! - a *round* is one start on each side. Both count their starts; data moves when the counts are equal, because then
//!   the receive buffer may be written and the parts that are ready may be read. Neither side can be more than one
//!   round ahead, since neither completes before all parts are copied.
//! - a part that becomes ready in a round both sides have started is copied by the thread that says so, straight into
//!   the receiver's buffer. Parts that are ready before the receiver has started wait in the link, and the receiver's
//!   start copies them.
//! - `arrived` has a bit for each of the sender's parts, set after its copy. A part of the receiver has arrived when
//!   all parts of the sender that overlap it have. Only the receiver's start clears the bits, before it counts the
//!   round, so no copy is in progress then.
//! - who copies the last part ends the round: first for the receiver, then for the sender.
//!
//! Ranks of different node processes share no link; see [`crate::remote`].
#![allow(unsafe_code)] // Copies between the buffers of two ranks.

use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::matching::{Envelope, Holds, Queue};
use crate::remote::{FarReceive, FarSend};
use crate::reports::checking::{self, Origin};
use crate::reports::told;
use crate::requests::{PartitionedMessage, Work, WorkDescription};
use crate::waiting::signal::Signal;
use core::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use weft_base::abi::{self, Status};
use weft_base::constants::*;
use weft_base::handle;
use weft_base::settings::is_checking;
use weft_base::{Error, Result};
use weft_datatype::Datatype;
use weft_sched::Thread;
use weft_sync::Lock;

/// How much is moved at once between two types with gaps.
const BOUNCE: usize = 64 << 10;

/// A buffer in equal parts that follow each other without gaps between them.
pub struct Parts {
    pub(crate) address: *mut u8,
    /// How many parts.
    pub(crate) partitions: u32,
    /// How many elements each has.
    pub(crate) count: u64,
    pub(crate) datatype: Datatype,
    /// The number of data bytes of a part.
    pub(crate) bytes: u64,
}

// SAFETY: the address is that of a buffer that the creator of the value gave to whoever copies.
unsafe impl Send for Parts {}
// SAFETY: sharing the value shares an address; nothing is written in the value itself.
unsafe impl Sync for Parts {}

impl Parts {
    /// Describes a buffer of `partitions` parts of `count` elements each.
    ///
    /// # Safety
    /// While the request is active, the memory may be written (receives), or that of a part read from the moment it
    /// is ready (sends). All of it has less than 2^63 bytes.
    pub unsafe fn new(address: *mut u8, partitions: u32, count: u64, datatype: Datatype) -> Self {
        let bytes = count * datatype.size();
        Self { address, partitions, count, datatype, bytes }
    }

    pub(crate) fn total(&self) -> u64 {
        u64::from(self.partitions) * self.bytes
    }

    pub(crate) fn elements(&self) -> u64 {
        u64::from(self.partitions) * self.count
    }

    /// Returns where a part begins.
    pub(crate) fn start(&self, partition: u32) -> *mut u8 {
        let elements = (u64::from(partition) * self.count) as i64;
        self.address.wrapping_offset((elements * self.datatype.extent()) as isize)
    }
}

/// Copies part `partition` of `from` to its place in `to`; what does not fit is dropped.
///
/// # Safety
/// The promises of [`Parts::new`]; no other thread copies this part.
unsafe fn copy_part(from: &Parts, to: &Parts, partition: u32) {
    let offset = u64::from(partition) * from.bytes;
    let length = from.bytes.min(to.total().saturating_sub(offset));
    if length == 0 {
        return;
    }
    let (source, target) =
        (from.address.wrapping_add(offset as usize), to.address.wrapping_add(offset as usize));
    // SAFETY: `offset..offset + length` lies in the data of both buffers, by the caller's promise; a dense type's data
    // is one block, so it begins `offset` bytes after the address.
    unsafe {
        match (from.datatype.is_dense(), to.datatype.is_dense()) {
            (true, true) => weft_sys::copy::bytes(source, target, length as usize),
            (true, false) => {
                weft_datatype::unpack(to.address, to.elements(), &to.datatype, offset, source, length);
            }
            (false, true) => {
                weft_datatype::pack(from.start(partition), from.count, &from.datatype, 0, target, length);
            }
            (false, false) if from.bytes == to.bytes => {
                let (source, target) = (from.start(partition), to.start(partition));
                weft_datatype::copy(source, from.count, &from.datatype, target, to.count, &to.datatype);
            }
            (false, false) => {
                let mut bounce = vec![0u8; BOUNCE.min(length as usize)];
                let mut done = 0;
                while done < length {
                    let piece = (length - done).min(BOUNCE as u64);
                    let space = bounce.as_mut_ptr();
                    weft_datatype::pack(
                        from.start(partition),
                        from.count,
                        &from.datatype,
                        done,
                        space,
                        piece,
                    );
                    weft_datatype::unpack(
                        to.address,
                        to.elements(),
                        &to.datatype,
                        offset + done,
                        space,
                        piece,
                    );
                    done += piece;
                }
            }
        }
    }
}

/// A set of partitions that threads add to.
struct Bits(Box<[AtomicU64]>);

impl Bits {
    fn new(length: u32) -> Self {
        Self((0..length.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Adds a member; returns whether it was there.
    fn insert(&self, bit: u32) -> bool {
        let mask = 1 << (bit % 64);
        self.0[bit as usize / 64].fetch_or(mask, Ordering::AcqRel) & mask != 0
    }

    /// Tells whether all of `first..end` are there; what was written before they were added may be read then.
    fn contains_all(&self, first: u64, end: u64) -> bool {
        (first / 64..end.div_ceil(64)).all(|word| {
            let low = first.saturating_sub(word * 64).min(63);
            let high = (end - word * 64).min(64);
            let mask = (u64::MAX << low) & (u64::MAX >> (64 - high));
            self.0[word as usize].load(Ordering::Acquire) & mask == mask
        })
    }

    /// Returns how many of the first `length` are not there.
    fn missing(&self, length: u32) -> u32 {
        length - self.0.iter().map(|word| word.load(Ordering::Relaxed).count_ones()).sum::<u32>().min(length)
    }

    fn clear(&self) {
        self.0.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

/// How often each side has started, and what waits for the receiver.
#[derive(Default)]
struct Rounds {
    sent: u64,
    received: u64,
    waiting: Vec<u32>,
}

/// One side of a link.
struct Side {
    parts: Parts,
    /// Set while no round of this side is in progress.
    finished: Signal,
    /// In checking mode, what the call that made the request says.
    origin: Option<Origin>,
}

impl Side {
    fn new(parts: Parts) -> Self {
        let origin = is_checking().then(|| Origin::new(&parts.datatype, parts.elements()));
        Self { parts, finished: Signal::new(true), origin }
    }
}

/// What both sides of a partitioned operation share; see the module's page.
struct Link {
    envelope: Envelope,
    sender: OnceLock<Side>,
    receiver: OnceLock<Side>,
    rounds: Lock<Rounds>,
    /// How many parts of the sender are not copied yet in this round.
    left: AtomicU64,
    /// Made when both sides are known.
    arrived: OnceLock<Bits>,
}

impl Link {
    fn new(envelope: Envelope) -> Self {
        Self {
            envelope,
            sender: OnceLock::new(),
            receiver: OnceLock::new(),
            rounds: Lock::default(),
            left: AtomicU64::new(0),
            arrived: OnceLock::new(),
        }
    }

    /// Prepares for rounds when both sides are known; `rank` receives.
    fn complete(&self, rank: u32) {
        let (Some(sender), Some(receiver)) = (self.sender.get(), self.receiver.get()) else { return };
        self.arrived.get_or_init(|| Bits::new(sender.parts.partitions));
        if let (Some(sent), Some(expected)) = (&sender.origin, &receiver.origin) {
            checking::matched(rank, &self.envelope, sent, expected);
        }
    }

    /// Copies a part in a round that both sides have started.
    fn deliver(&self, partition: u32) {
        let both = (self.sender.get(), self.receiver.get(), self.arrived.get());
        let (Some(sender), Some(receiver), Some(arrived)) = both else { unreachable!("both sides started") };
        // SAFETY: both sides started the round, so both buffers are as promised; a part is ready once per round.
        unsafe { copy_part(&sender.parts, &receiver.parts, partition) };
        arrived.insert(partition);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            receiver.finished.set();
            sender.finished.set();
        }
    }
}

/// The calls of one rank's peers and its own that have not met their other side.
pub(crate) struct Unmatched(Lock<Waiting>);

struct Waiting {
    senders: Queue<Arc<Link>>,
    receivers: Queue<Arc<Link>>,
}

impl Default for Unmatched {
    fn default() -> Self {
        let (senders, receivers) = (Queue::new(Holds::Messages), Queue::new(Holds::Messages));
        Self(Lock::new(Waiting { senders, receivers }))
    }
}

impl Unmatched {
    /// Finds the oldest link that waits for this side, or makes one, and fills the side in; `rank` is the receiver.
    fn join(&self, rank: u32, envelope: Envelope, parts: Parts, sends: bool) -> Arc<Link> {
        let side = Side::new(parts);
        let mut waiting = self.0.lock();
        let Waiting { senders, receivers } = &mut *waiting;
        let (mine, other) = if sends { (senders, receivers) } else { (receivers, senders) };
        let found = other.take(&envelope).map(|(_, link)| link);
        let second = found.is_some();
        let link = found.unwrap_or_else(|| Arc::new(Link::new(envelope)));
        let filled = if sends { link.sender.set(side) } else { link.receiver.set(side) };
        assert!(filled.is_ok(), "a link has one sender and one receiver");
        if second {
            link.complete(rank);
        } else {
            mine.push(envelope, link.clone());
        }
        link
    }
}

/// The request of `MPI_Psend_init`.
struct Sending {
    /// None for `MPI_PROC_NULL`, and for a rank of another node process.
    link: Option<Arc<Link>>,
    far: Option<Arc<FarSend>>,
    partitions: u32,
    /// The length of each part, and the context of the communicator.
    bytes: u64,
    context: u32,
    /// The parts that are ready in this round.
    ready: Bits,
    /// The receiver in the job, and the tag.
    to: Option<(u32, i32)>,
}

impl Sending {
    fn side(&self) -> Option<&Side> {
        self.link.as_ref().and_then(|link| link.sender.get())
    }

    fn pready(&self, partition: u32) -> Result {
        if self.ready.insert(partition) {
            return Err(ready_already(partition));
        }
        if let Some(far) = &self.far {
            far.ready(partition);
        }
        let Some(link) = &self.link else { return Ok(()) };
        {
            let mut rounds = link.rounds.lock();
            if rounds.received != rounds.sent {
                rounds.waiting.push(partition);
                return Ok(());
            }
        }
        link.deliver(partition);
        Ok(())
    }
}

impl Work for Sending {
    fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        if let Some(far) = &self.far {
            return far.advance(waiter);
        }
        self.side().is_none_or(|side| side.finished.watch(waiter))
    }

    fn is_known_complete(&self) -> bool {
        self.far.is_none() && self.side().is_none_or(|side| side.finished.is_set())
    }

    fn describe(&self) -> WorkDescription {
        describe("MPI_Psend_init", true, self.to, self.partitions, self.ready.missing(self.partitions))
    }

    fn leave(&self, waiter: &'static Thread) {
        self.side().inspect(|side| side.finished.leave(waiter));
        self.far.as_ref().inspect(|far| far.leave(waiter));
    }

    fn status(&self) -> (Status, Result) {
        let result = self.far.as_ref().map_or(Ok(()), |far| far.result());
        (Status { error: result.as_ref().err().map_or(MPI_SUCCESS, |e| e.class), ..Status::empty() }, result)
    }

    fn free(&self) {
        self.far.as_ref().inspect(|far| far.keep());
    }

    fn cancel(&self) -> Result {
        Err(not_cancelled())
    }

    fn start(&self) -> Result {
        self.ready.clear();
        if let Some(far) = &self.far {
            far.start();
        }
        if let (Some(link), Some(side)) = (&self.link, self.side()) {
            side.finished.clear();
            link.left.store(u64::from(self.partitions), Ordering::Relaxed);
            link.rounds.lock().sent += 1;
        }
        Ok(())
    }

    fn is_persistent(&self) -> bool {
        true
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

fn describe(
    made_by: &str,
    is_send: bool,
    peer: Option<(u32, i32)>,
    partitions: u32,
    not_ready: u32,
) -> WorkDescription {
    let message = peer.map(|(world, tag)| PartitionedMessage { is_send, world, tag, partitions, not_ready });
    WorkDescription { made_by: made_by.into(), message, ..WorkDescription::default() }
}

/// The request of `MPI_Precv_init`.
struct Receiving {
    /// None for `MPI_PROC_NULL`, and from a rank of another node process.
    link: Option<Arc<Link>>,
    far: Option<Arc<FarReceive>>,
    partitions: u32,
    /// The sender in the job, and the tag.
    from: Option<(u32, i32)>,
}

impl Receiving {
    fn side(&self) -> Option<&Side> {
        self.link.as_ref().and_then(|link| link.receiver.get())
    }

    fn has_arrived(&self, partition: u32) -> bool {
        if let Some(far) = &self.far {
            return far.has_arrived(partition);
        }
        let (Some(link), Some(side)) = (&self.link, self.side()) else { return true };
        if side.finished.is_set() {
            return true;
        }
        let (Some(sender), Some(arrived)) = (link.sender.get(), link.arrived.get()) else { return false };
        // Part r of R covers r/R to (r + 1)/R of the data, whatever its size; here in the sender's parts.
        let (theirs, mine) = (u64::from(sender.parts.partitions), u64::from(self.partitions));
        let partition = u64::from(partition);
        arrived.contains_all(partition * theirs / mine, ((partition + 1) * theirs).div_ceil(mine))
    }
}

impl Work for Receiving {
    fn advance(&self, waiter: Option<&'static Thread>) -> bool {
        if let Some(far) = &self.far {
            return far.advance(waiter);
        }
        self.side().is_none_or(|side| side.finished.watch(waiter))
    }

    fn is_known_complete(&self) -> bool {
        self.far.is_none() && self.side().is_none_or(|side| side.finished.is_set())
    }

    fn describe(&self) -> WorkDescription {
        describe("MPI_Precv_init", false, self.from, self.partitions, 0)
    }

    fn leave(&self, waiter: &'static Thread) {
        self.side().inspect(|side| side.finished.leave(waiter));
        self.far.as_ref().inspect(|far| far.leave(waiter));
    }

    fn free(&self) {
        self.far.as_ref().inspect(|far| far.keep());
    }

    fn status(&self) -> (Status, Result) {
        if let Some(far) = &self.far {
            let (sent, space, result) = far.sizes();
            return ended(far.envelope(), sent, space, result);
        }
        let both = (&self.link, self.link.as_ref().and_then(|link| link.sender.get()), self.side());
        let (Some(link), Some(sender), Some(receiver)) = both else {
            return (Status { source: MPI_PROC_NULL, ..Status::empty() }, Ok(()));
        };
        ended(&link.envelope, sender.parts.total(), receiver.parts.total(), Ok(()))
    }

    fn cancel(&self) -> Result {
        Err(not_cancelled())
    }

    fn start(&self) -> Result {
        if let Some(far) = &self.far {
            far.start();
        }
        let (Some(link), Some(side)) = (&self.link, self.side()) else { return Ok(()) };
        side.finished.clear();
        if let Some(arrived) = link.arrived.get() {
            arrived.clear();
        }
        let waiting = {
            let mut rounds = link.rounds.lock();
            rounds.received += 1;
            let started = rounds.sent == rounds.received;
            if started { core::mem::take(&mut rounds.waiting) } else { Vec::new() }
        };
        waiting.into_iter().for_each(|partition| link.deliver(partition));
        Ok(())
    }

    fn is_persistent(&self) -> bool {
        true
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl Engine {
    /// Makes the inactive request of a partitioned send to `target`, a rank of the job; to nobody if there is none.
    ///
    /// An error of the operation goes to `comm`.
    pub fn psend_init(
        &self,
        me: &Endpoint,
        target: Option<u32>,
        envelope: Envelope,
        parts: Parts,
        comm: abi::Comm,
    ) -> abi::Request {
        let (partitions, bytes) = (parts.partitions, parts.bytes);
        let (mut link, mut far) = (None, None);
        match target.map(|rank| (rank, self.local(rank))) {
            None => {}
            Some((_, Some(endpoint))) => {
                link = Some(endpoint.partitioned.join(endpoint.rank(), envelope, parts, true));
            }
            Some((rank, None)) => far = Some(FarSend::new(self, me, rank, envelope, parts)),
        }
        let to = target.map(|rank| (rank, envelope.tag()));
        let work = Sending {
            link,
            far,
            partitions,
            bytes,
            context: envelope.context,
            ready: Bits::new(partitions),
            to,
        };
        me.requests().create_work(Arc::new(work), comm, false)
    }

    /// Makes the inactive request of a partitioned receive from a rank of the job, with an envelope without wildcards; both
    /// are absent for `MPI_PROC_NULL`.
    ///
    /// An error of the operation goes to `comm`.
    pub fn precv_init(
        &self,
        me: &Endpoint,
        from: Option<(u32, Envelope)>,
        parts: Parts,
        comm: abi::Comm,
    ) -> abi::Request {
        let partitions = parts.partitions;
        let (mut link, mut far) = (None, None);
        match from {
            None => {}
            Some((source, envelope)) if self.is_local(source) => {
                link = Some(me.partitioned.join(me.rank(), envelope, parts, false));
            }
            Some((_, envelope)) => far = Some(FarReceive::new(self, me, envelope, parts)),
        }
        let from = from.map(|(rank, envelope)| (rank, envelope.tag()));
        me.requests().create_work(Arc::new(Receiving { link, far, partitions, from }), comm, false)
    }

    /// Says that parts of an active partitioned send may be read.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` if the request is not an active partitioned send; `MPI_ERR_ARG` for a part that is not there
    /// or ready already.
    pub fn pready(
        &self,
        me: &Endpoint,
        handle: abi::Request,
        partitions: impl Iterator<Item = i32> + Clone,
    ) -> Result {
        let work = me.requests().work(handle)?;
        let send = work.as_ref().and_then(|work| work.as_any()?.downcast_ref::<Sending>());
        let Some(send) = send else { return Err(not_a_partitioned(handle, "send")) };
        if !me.requests().is_active(handle)? {
            let text =
                format!("is {:#x}, which is not active; start it before a partition is made ready", handle.0);
            return Err(Error::handle(handle::Kind::Request, handle.0, text));
        }
        for partition in partitions.clone() {
            in_range(partition, send.partitions)?;
        }
        partitions.into_iter().try_for_each(|partition| {
            send.pready(partition as u32)?;
            if send.to.is_some() {
                told::made_ready(me.rank(), send.context, send.bytes);
            }
            Ok(())
        })
    }

    /// Tells whether a part of a partitioned receive is there; true if the request is null or inactive.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST` if the request is not a partitioned receive, `MPI_ERR_ARG` for a part that is not there.
    pub fn parrived(&self, me: &Endpoint, handle: abi::Request, partition: i32) -> Result<bool> {
        if handle == MPI_REQUEST_NULL {
            return Ok(true);
        }
        let work = me.requests().work(handle)?;
        let receive = work.as_ref().and_then(|work| work.as_any()?.downcast_ref::<Receiving>());
        let Some(receive) = receive else { return Err(not_a_partitioned(handle, "receive")) };
        in_range(partition, receive.partitions)?;
        if !me.requests().is_active(handle)? || receive.has_arrived(partition as u32) {
            return Ok(true);
        }
        self.progress(me);
        // Once more: the round may have ended between the look at its end and the look at the bits, and the sender may
        // be in the next one.
        Ok(receive.has_arrived(partition as u32))
    }
}

fn in_range(partition: i32, partitions: u32) -> Result {
    if u32::try_from(partition).is_ok_and(|partition| partition < partitions) {
        return Ok(());
    }
    let last = partitions - 1;
    let text = format!("partition is {partition}; the request has partitions 0 to {last}");
    Err(Error::new(MPI_ERR_ARG, text))
}

#[cold]
fn ready_already(partition: u32) -> Error {
    let text = format!("partition is {partition}, which is ready already; each is made ready once per start");
    Error::new(MPI_ERR_ARG, text)
}

#[cold]
fn not_a_partitioned(handle: abi::Request, kind: &str) -> Error {
    let text = format!("is {:#x}, which is not a partitioned {kind}", handle.0);
    Error::handle(handle::Kind::Request, handle.0, text)
}

#[cold]
fn not_cancelled() -> Error {
    Error::new(MPI_ERR_REQUEST, "request is a partitioned operation, which cannot be cancelled; complete it")
}

/// Returns how a receive ended.
fn ended(envelope: &Envelope, sent: u64, space: u64, result: Result) -> (Status, Result) {
    let mut status = Status { source: envelope.source(), tag: envelope.tag(), ..Status::empty() };
    status.set_bytes(sent.min(space));
    let result = if sent == space { result } else { result.and(Err(different_sizes(sent, space))) };
    (status, result)
}

#[cold]
fn different_sizes(sent: u64, space: u64) -> Error {
    let class = if sent > space { MPI_ERR_TRUNCATE } else { MPI_ERR_COUNT };
    let text = format!(
        "the partitioned send has {sent} bytes and the receive {space}; both sides must describe buffers of one size"
    );
    Error::new(class, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_bits_are_exact() {
        let bits = Bits::new(200);
        for bit in 60..130 {
            assert!(!bits.insert(bit));
        }
        assert!(bits.insert(64));
        for first in 0..200 {
            for end in first + 1..=200 {
                assert_eq!(bits.contains_all(first, end), first >= 60 && end <= 130, "{first}..{end}");
            }
        }
        assert!(bits.contains_all(0, 0));
        bits.clear();
        assert!(!bits.contains_all(60, 61));
    }
}
