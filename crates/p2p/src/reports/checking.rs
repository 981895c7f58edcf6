//! Checking mode: what is compared when a message is matched, and which buffers of a rank are in use.
//!
//! The ways of messages know nothing of it. It stands at four places on their edges, each a function here that does nothing
//! unless [`is_checking`]: where the program hands over a buffer ([`before_send`], [`mode`], [`before_receive`]); where a message finds a
//! posted receive ([`on_delivery`], [`on_arrival`]); where it finds none and is put into a payload that says what it is
//! ([`Message::describe`]); and where a receive finds that ([`Message::undescribe`]). There are no rings in checking mode, so all
//! messages come by there. To another node process a message takes along what it is ([`Origin::written`]), in front of its
//! data; see the page of `remote`.
#![allow(unsafe_code)] // Reads buffers of sends in progress, and the datatypes they name.

use crate::endpoint::{Endpoint, Message, Payload, State};
use crate::matching::Envelope;
use crate::operation::{Buffer, Operation};
use crate::way::Mode;
use core::mem::replace;
use core::ops::Range;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use weft_base::finding::{self, Finding};
use weft_base::settings::{self, is_checking};
use weft_base::site::{self, Site};
use weft_datatype::{Datatype, Signature, for_each_run};
use weft_local::PAYLOAD;
use weft_sync::LockGuard;

/// A payload with what is known of its send.
pub(crate) struct Described {
    pub origin: Origin,
    pub payload: Payload,
}

/// One side of a message.
#[derive(Serialize, Deserialize)]
pub(crate) struct Origin {
    /// None for messages of the library itself, and data packed by it.
    signature: Option<Signature>,
    #[serde(with = "site")]
    site: Option<&'static Site>,
}

impl Origin {
    /// Describes elements that the calling thread names.
    pub fn new(datatype: &Datatype, count: u64) -> Self {
        Self { signature: Some(Signature::new(datatype, count)), site: site::current() }
    }

    /// Describes a buffer whose operation a call has started; by default the calling thread's.
    pub fn of(buffer: &Buffer, site: Option<&'static Site>) -> Self {
        // SAFETY: null, or a datatype that lives as long as the operation of the buffer is in progress.
        let datatype = unsafe { buffer.datatype.as_ref() };
        Self {
            signature: datatype.map(|datatype| Signature::new(datatype, buffer.count)),
            site: site.or_else(site::current),
        }
    }
}

/// The most bytes of a written origin.
pub(crate) const WRITTEN: usize = 1 + Signature::MOST + Site::WRITTEN;

impl Origin {
    /// Describes data that goes to another node process, as bytes; nothing if there is nothing to be compared.
    #[cold]
    #[inline(never)]
    pub fn written(buffer: &Buffer) -> Option<Vec<u8>> {
        let origin = Self::of(buffer, None);
        origin.signature.as_ref()?;
        Some(postcard::to_allocvec(&origin).expect("a vector has room for all"))
    }

    /// Divides what has come from another node process into what its sender has written and the data. Returns nothing if it
    /// is not that.
    pub fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
        postcard::take_from_bytes(bytes).ok()
    }
}

/// Looks, before data is sent that no request keeps, for buffers in use that the send may not touch.
#[inline(always)]
pub(crate) fn before_send(me: &Endpoint, data: &Buffer) {
    if is_checking() {
        look(me, data, false);
    }
}

/// As [`before_send`], before a receive without a request.
#[inline(always)]
pub(crate) fn before_receive(me: &Endpoint, buffer: &Buffer) {
    if is_checking() {
        look(me, buffer, true);
    }
}

/// Returns the mode of a send of the program: a standard one waits for its receive, as MPI allows it to, so that a program that
/// needs messages to be buffered comes to its deadlock. Messages of the library itself stay as they are.
#[inline(always)]
pub(crate) fn mode(mode: Mode, envelope: &Envelope) -> Mode {
    if is_checking() && settings::CHECK_SENDS.get() == 0 && envelope.context.is_multiple_of(2) {
        return Mode::Synchronous;
    }
    mode
}

#[cold]
#[inline(never)]
fn look(me: &Endpoint, buffer: &Buffer, writes: bool) {
    me.requests().pending.look(me.rank(), buffer, writes);
}

/// Compares a send of the calling thread with the posted receive it has found.
#[inline(always)]
pub(crate) fn on_delivery(rank: u32, envelope: &Envelope, data: &Buffer, receive: &Operation) {
    if is_checking() {
        delivered(rank, envelope, data, receive);
    }
}

#[cold]
#[inline(never)]
fn delivered(rank: u32, envelope: &Envelope, data: &Buffer, receive: &Operation) {
    let posted = Origin::of(&receive.buffer(), receive.site());
    matched(rank, envelope, &Origin::of(data, None), &posted);
}

/// Compares a message of another node process, if that has said what it is, with the posted receive that it has found.
#[inline(always)]
pub(crate) fn on_arrival(rank: u32, envelope: &Envelope, sent: Option<&Origin>, receive: &Operation) {
    if let Some(sent) = sent {
        arrived(rank, envelope, sent, receive);
    }
}

#[cold]
#[inline(never)]
fn arrived(rank: u32, envelope: &Envelope, sent: &Origin, receive: &Operation) {
    matched(rank, envelope, sent, &Origin::of(&receive.buffer(), receive.site()));
}

impl Message {
    /// Says what a send of the calling thread has sent.
    #[inline(always)]
    pub(crate) fn describe(&mut self, data: &Buffer) {
        if is_checking() {
            describe_send(self, data);
        }
    }

    /// Says what was sent, if another node process has told.
    #[inline(always)]
    pub(crate) fn describe_as(&mut self, origin: Option<Origin>) {
        if let Some(origin) = origin {
            describe(self, origin);
        }
    }

    /// Compares a message that left the queue with the receive of the calling thread that has found it, if it says what it is,
    /// and takes that off. Not to be called under a lock: nobody reports while holding one.
    #[inline(always)]
    pub(crate) fn undescribe(&mut self, rank: u32, envelope: &Envelope, buffer: &Buffer) {
        if let Payload::Described(_) = self.payload {
            found(rank, envelope, self, buffer);
        }
    }
}

impl Endpoint {
    /// As [`Message::undescribe`], for who holds the lock: it is let go meanwhile.
    #[inline(always)]
    pub(crate) fn undescribe<'a>(
        &'a self,
        state: LockGuard<'a, State>,
        envelope: &Envelope,
        message: &mut Message,
        buffer: &Buffer,
    ) -> LockGuard<'a, State> {
        if let Payload::Described(_) = message.payload {
            drop(state);
            found(self.rank(), envelope, message, buffer);
            return self.lock();
        }
        state
    }
}

/// In place of a payload while that is changed.
const NOTHING: Payload = Payload::Inline(None, [0; PAYLOAD]);

#[cold]
#[inline(never)]
fn describe_send(message: &mut Message, data: &Buffer) {
    describe(message, Origin::of(data, None));
}

#[cold]
#[inline(never)]
fn describe(message: &mut Message, origin: Origin) {
    let payload = replace(&mut message.payload, NOTHING);
    message.payload = Payload::Described(Box::new(Described { origin, payload }));
}

#[cold]
#[inline(never)]
fn found(rank: u32, envelope: &Envelope, message: &mut Message, buffer: &Buffer) {
    message.payload = match replace(&mut message.payload, NOTHING) {
        Payload::Described(described) => {
            matched(rank, envelope, &described.origin, &Origin::of(buffer, None));
            described.payload
        }
        plain => plain,
    };
}

/// Compares the datatypes of a message and its receive by rank `rank`.
#[cold]
pub(crate) fn matched(rank: u32, envelope: &Envelope, send: &Origin, receive: &Origin) {
    let (Some(sent), Some(expected)) = (&send.signature, &receive.signature) else { return };
    if let Some(difference) = sent.differs_in_message(expected) {
        let where_it_is =
            difference.describe(|sent, expected| format!("was sent as {sent} and received as {expected}"));
        Finding::new(rank, format!("the datatypes of a message and its receive differ: {where_it_is}"))
            .on(&communicator(rank, envelope))
            .call(sent_by(envelope), send.site)
            .call(format!("received by rank {rank}"), receive.site)
            .report();
    }
}

fn communicator(rank: u32, envelope: &Envelope) -> String {
    finding::communicator(rank, envelope.context / 2)
}

fn sent_by(envelope: &Envelope) -> String {
    format!("sent by rank {} with tag {}", crate::remote::sender(envelope), envelope.tag())
}

/// A buffer in use.
struct Use {
    buffer: Buffer,
    span: Range<usize>,
    /// Whether the operation writes it.
    writes: bool,
    /// Of the data of a send.
    checksum: u64,
    site: Option<&'static Site>,
}

// SAFETY: the buffer's memory is only read, and only while its operation is in progress.
unsafe impl Send for Use {}

/// A request that has not been freed.
struct Note {
    site: Option<&'static Site>,
    active: Option<Use>,
}

#[derive(Default)]
struct Registry {
    notes: HashMap<u32, Note>,
    /// The active ones by the first address of their buffers, and the length of the longest there ever was.
    spans: BTreeMap<(usize, u32), usize>,
    longest: usize,
}

/// The requests of one rank that are in use, and their buffers.
#[derive(Default)]
pub(crate) struct Pending(Mutex<Registry>);

/// Returns the addresses that a buffer's data lie within.
fn span(buffer: &Buffer) -> Range<usize> {
    let start = buffer.address as usize;
    // SAFETY: null, or what the operation in progress was given, which it keeps alive.
    let Some(datatype) = (unsafe { buffer.datatype.as_ref() }).filter(|_| !buffer.dense) else {
        return start..start + buffer.bytes() as usize;
    };
    let between = datatype.extent().wrapping_mul(buffer.count as i64 - 1);
    let low = datatype.true_lb() + between.min(0);
    let high = datatype.true_lb() + datatype.true_extent() + between.max(0);
    start.wrapping_add_signed(low as isize)..start.wrapping_add_signed(high as isize)
}

/// Calls `visit` for the addresses of a buffer's data, block by block.
fn for_each_block(buffer: &Buffer, mut visit: impl FnMut(Range<usize>)) {
    let start = buffer.address as usize;
    // SAFETY: as in `span`.
    match unsafe { buffer.datatype.as_ref() }.filter(|_| !buffer.dense) {
        None => visit(start..start + buffer.bytes() as usize),
        Some(datatype) => for_each_run(datatype, buffer.count, |offset, length| {
            let first = start.wrapping_add_signed(offset as isize);
            visit(first..first + length as usize);
        }),
    }
}

/// Tells whether data of two buffers whose spans overlap lie at the same addresses.
fn overlap(one: &Buffer, other: &Buffer) -> bool {
    if one.dense && other.dense {
        return true;
    }
    let mut blocks = Vec::new();
    for_each_block(one, |block| blocks.push((block.start, block.end)));
    blocks.sort_unstable();
    let mut found = false;
    for_each_block(other, |block| {
        // The last block that begins before this one's end: blocks of one buffer hardly ever overlap each other.
        let after = blocks.partition_point(|(start, _)| *start < block.end);
        found |= after > 0 && blocks[after - 1].1 > block.start;
    });
    found
}

/// Mixes the data of a buffer into one word.
fn checksum(buffer: &Buffer) -> u64 {
    let mut hash = 0x9e37_79b9_7f4a_7c15u64;
    for_each_block(buffer, |block| {
        // SAFETY: data of a send in progress, which the program promises to leave alone.
        let bytes = unsafe { core::slice::from_raw_parts(block.start as *const u8, block.len()) };
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash = (hash.rotate_left(25) ^ u64::from_le_bytes(word)).wrapping_mul(0x2545_f491_4f6c_dd1d);
        }
    });
    hash
}

fn kind(writes: bool) -> &'static str {
    if writes { "receive" } else { "send" }
}

impl Registry {
    /// Finds a buffer in use that a new one may not overlap.
    fn clash(&self, buffer: &Buffer, span: &Range<usize>, writes: bool) -> Option<&Use> {
        let from = (span.start.saturating_sub(self.longest), 0);
        let near = self.spans.range(from..(span.end, 0)).filter(|(_, end)| **end > span.start);
        near.filter_map(|((_, index), _)| self.notes.get(index)?.active.as_ref())
            .find(|used| (writes || used.writes) && overlap(&used.buffer, buffer))
    }
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a new request.
    pub fn add(&self, index: u32) {
        self.lock().notes.insert(index, Note { site: site::current(), active: None });
    }

    /// Looks for buffers in use that an operation of rank `rank` on `buffer` may not touch.
    pub fn look(&self, rank: u32, buffer: &Buffer, writes: bool) {
        if buffer.bytes() == 0 || buffer.datatype.is_null() {
            return;
        }
        let clash = {
            let registry = self.lock();
            registry.clash(buffer, &span(buffer), writes).map(|used| (used.writes, used.site))
        };
        if let Some((other, since)) = clash {
            let message = format!(
                "the buffer of a {} overlaps that of a {} which is not complete",
                kind(writes),
                kind(other)
            );
            let finding = Finding::new(rank, message);
            finding
                .call(format!("the {}", kind(writes)), site::current())
                .call(format!("the {} in progress, started", kind(other)), since)
                .report();
        }
    }

    /// Notes that a request's operation has begun, after looking at its buffer.
    pub fn begin(&self, rank: u32, index: u32, buffer: Buffer, writes: bool) {
        if buffer.bytes() == 0 || buffer.datatype.is_null() {
            return;
        }
        self.look(rank, &buffer, writes);
        let span = span(&buffer);
        let checksum = if writes { 0 } else { checksum(&buffer) };
        let mut registry = self.lock();
        registry.longest = registry.longest.max(span.len());
        registry.spans.insert((span.start, index), span.end);
        if let Some(note) = registry.notes.get_mut(&index) {
            note.active = Some(Use { buffer, span, writes, checksum, site: site::current() });
        }
    }

    /// Notes that a request's operation has ended; `forget` if the request is gone, too.
    pub fn end(&self, rank: u32, index: u32, forget: bool) {
        let mut registry = self.lock();
        let used = match forget {
            true => registry.notes.remove(&index).and_then(|note| note.active),
            false => registry.notes.get_mut(&index).and_then(|note| note.active.take()),
        };
        let Some(used) = used else { return };
        registry.spans.remove(&(used.span.start, index));
        drop(registry);
        if !used.writes && checksum(&used.buffer) != used.checksum {
            Finding::new(rank, "the buffer of a send was changed before the send was complete")
                .call("started", used.site)
                .call("completed", site::current())
                .report();
        }
    }

    /// Forgets a request the program has freed, whose operation may go on.
    pub fn free(&self, index: u32) {
        let mut registry = self.lock();
        if let Some(used) = registry.notes.remove(&index).and_then(|note| note.active) {
            registry.spans.remove(&(used.span.start, index));
        }
    }

    fn left(&self) -> Vec<(bool, Option<&'static Site>)> {
        self.lock().notes.values().map(|note| (note.active.is_some(), note.site)).collect()
    }
}

impl Endpoint {
    /// Reports the requests, messages and buffers that the rank leaves behind when it ends.
    pub fn report_left(&self) {
        if !is_checking() {
            return;
        }
        for (active, site) in self.requests().pending.left() {
            let how = if active { "was never completed" } else { "was never completed or freed" };
            Finding::new(self.rank(), format!("a request {how}")).call("made", site).report();
        }
        let mut messages = Vec::new();
        self.lock().unexpected.for_each(|envelope, message| {
            // Odd contexts are the library's own.
            if envelope.context % 2 == 0 {
                let site = match &message.payload {
                    Payload::Described(described) => described.origin.site,
                    _ => None,
                };
                messages.push((*envelope, message.bytes, site));
            }
        });
        for (envelope, bytes, site) in messages {
            let message = format!("a message of {bytes} bytes was never received");
            let finding = Finding::new(self.rank(), message).on(&communicator(self.rank(), &envelope));
            finding.call(sent_by(&envelope), site).report();
        }
        for site in self.buffers.left() {
            let message = "a buffer for buffered sends was never detached";
            Finding::new(self.rank(), message).call("attached", site).report();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use weft_base::constants::{MPI_DOUBLE, MPI_INT};
    use weft_base::site::Place;

    #[test]
    fn what_a_message_says_is_heard() {
        let int = Datatype::predefined(MPI_INT).expect("predefined");
        let place = Place { call: "MPI_Isend".into(), offset: 4711, file: "here/a.out".into() };
        let site = site::elsewhere(place.clone());
        let sent = Origin { signature: Some(Signature::new(int, 5)), site };
        let mut written = postcard::to_allocvec(&sent).expect("it can be written");
        assert!(written.len() <= 48, "{} bytes for a simple message", written.len());
        for cut in 0..written.len() {
            assert!(Origin::split(&written[..cut]).is_none(), "cut after {cut} bytes");
        }
        written.extend(b"data");
        let (heard, data) = Origin::split(&written).expect("written as it is read");
        assert_eq!(data, b"data");
        assert_eq!(heard.site.map(Site::place), Some(&place));
        let double = Signature::new(Datatype::predefined(MPI_DOUBLE).expect("predefined"), 5);
        let signature = heard.signature.expect("written");
        assert!(signature.differs(&Signature::new(int, 5)).is_none() && signature.differs(&double).is_some());
    }

    proptest! {
        #[test]
        fn whatever_comes_in_front_of_data_is_divided_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let mut bytes = bytes;
            if let Some((_, data)) = Origin::split(&bytes) {
                prop_assert!(bytes.ends_with(data) && data.len() + 2 <= bytes.len());
            }
            // The usual beginning: there is a signature, of two nodes, a basic type and so many of it.
            bytes.splice(0..0, [1, 2, 0, 7, 1, 1, 0, 5]);
            let _ = Origin::split(&bytes);
        }
    }

    fn buffer(address: usize, count: u64, datatype: &Datatype) -> Buffer {
        // SAFETY: only addresses are looked at.
        unsafe { Buffer::new(address as *mut u8, count, datatype) }
    }

    #[test]
    fn interleaved_columns_do_not_overlap() {
        let int = Datatype::predefined(MPI_INT).expect("predefined");
        let column = Datatype::vector(10, 1, 5, int).expect("a vector");
        let (a, b) = (buffer(4096, 1, &column), buffer(4100, 1, &column));
        assert!(span(&a).end > span(&b).start);
        assert!(!overlap(&a, &b));
        assert!(overlap(&a, &buffer(4096 + 20, 1, int)));
        assert!(!overlap(&a, &buffer(4096 + 16, 1, int)));
        assert!(!overlap(&buffer(4096 + 24, 4, int), &a));
        assert!(overlap(&buffer(4096 + 24, 5, int), &a));
    }

    #[test]
    fn only_buffers_in_use_clash_and_sends_may_share() {
        let int = Datatype::predefined(MPI_INT).expect("predefined");
        let memory = [0i32; 64];
        let at = |i: usize, n| buffer(memory.as_ptr() as usize + 4 * i, n, int);
        let pending = Pending::default();
        let clashes = |b: Buffer, writes| pending.lock().clash(&b, &span(&b), writes).is_some();
        for (index, (buffer, writes)) in
            [(at(0, 8), false), (at(8, 8), true), (at(40, 2), true)].into_iter().enumerate()
        {
            pending.add(index as u32);
            pending.begin(0, index as u32, buffer, writes);
        }
        assert!(!clashes(at(0, 8), false) && clashes(at(0, 8), true));
        assert!(clashes(at(15, 1), false) && !clashes(at(16, 24), true) && clashes(at(16, 25), true));
        pending.end(0, 1, false);
        assert!(!clashes(at(8, 8), true));
        pending.free(0);
        assert!(!clashes(at(0, 40), true));
        assert_eq!(pending.left().len(), 2);
    }
}
