//! What the device calls: messages that arrive, and the end of what was started.
#![allow(unsafe_code)] // Copies into the buffers of receives.

use super::backlog::{Post, Stream};
use super::frame::Frame;
use super::pending::Entry;
use super::window::units;
use super::{APART, Aside, Far, Job, PIECE, Peer, REASON, Remote, STAGED, Staged, end, fail};
use crate::endpoint::pool::Block;
use crate::endpoint::solo;
use crate::endpoint::{Endpoint, Message, Payload, Reference, State};
use crate::engine::{Engine, finish, finish_in, outcome};
use crate::matching::Envelope;
use crate::reports::checking::{self, Kept, Origin, WRITTEN};
use crate::requests::nonblocking::SEND_CANCELLED;
use std::sync::atomic::Ordering;
use weft_sync::{LockGuard, Section};
use weft_transport::{Arriving, Channel, Handler, MOST_ANSWER, Node, Placement};

/// A short message that is all there.
pub(super) enum Whole<'a> {
    /// In memory of the device's.
    Present(&'a [u8]),
    /// In memory of our own, with so many bytes.
    Aside(Block, usize),
}

impl Whole<'_> {
    pub(super) fn data(&self) -> &[u8] {
        match self {
            Self::Present(data) => data,
            // SAFETY: the block was made for as many bytes, and the device has written all of them.
            Self::Aside(block, bytes) => unsafe { core::slice::from_raw_parts(block.address(), *bytes) },
        }
    }

    fn release(self) {
        if let Self::Aside(block, _) = self {
            block.release();
        }
    }
}

/// A message that no peer of ours sends.
pub(super) struct Nonsense(pub &'static str);

pub(super) type Heard<T = ()> = Result<T, Nonsense>;

impl Engine {
    fn far(&self) -> &Remote {
        self.remote().expect("an engine with a device")
    }

    pub(super) fn rank_here(&self, index: u32) -> Heard<&Endpoint> {
        self.endpoints().get(index as usize).ok_or(Nonsense("a rank that is not here"))
    }

    #[inline]
    fn hear(&self, remote: &Remote, peer: &Peer, message: &Arriving<'_>) -> Heard<Placement> {
        let Arriving { from, bytes, present, .. } = *message;
        let (frame, credit) = Frame::decode(message.header).map_err(|_| Nonsense("a malformed header"))?;
        if !peer.window.refill(credit.into()) {
            return Err(Nonsense("more credit than there is"));
        }
        // What most messages are: all there, and awaited by this thread.
        if let Frame::Eager { target, envelope, described: false } = frame
            && present.len() as u64 == bytes
        {
            let endpoint = self.rank_here(target)?;
            let expected = endpoint.take_expected(&envelope);
            let section = solo::enter();
            let receive = match expected.map_or_else(|| endpoint.take_posted(&envelope, &section), Ok) {
                Ok(receive) => receive.get(),
                Err(state) => {
                    drop(section);
                    self.keep(endpoint, state, from, envelope, Whole::Present(present), None);
                    return Ok(Placement::Taken);
                }
            };
            // SAFETY: the receive is ours, since it left matching or is that of this thread; its buffer is as promised.
            unsafe { receive.buffer().unpack_from(present.as_ptr(), bytes) };
            let placement = if expected.is_some() {
                receive.complete_unshared(outcome(&envelope, bytes));
                Placement::Served
            } else {
                finish_in(receive, &envelope, bytes, &section);
                Placement::Taken
            };
            let owes_much = peer.window.owe(units(bytes), &section);
            drop(section);
            if owes_much {
                remote.post(from, Frame::Credit);
            }
            return Ok(placement);
        }
        self.hear_other(remote, peer, message, frame)
    }

    /// Takes a message that is not short, or none of a rank.
    #[inline(never)]
    fn hear_other(
        &self,
        remote: &Remote,
        peer: &Peer,
        message: &Arriving<'_>,
        frame: Frame,
    ) -> Heard<Placement> {
        let Arriving { from, bytes, present, .. } = *message;
        let most = peer.eager.max(self.limits().eager * APART).max(MOST_ANSWER as u64);
        match frame {
            Frame::Eager { described: true, .. } | Frame::Request { described: true, .. } => {
                if present.len() as u64 == bytes {
                    self.arrive_described(from, frame, present)?;
                } else if bytes > most + WRITTEN as u64 {
                    return Err(Nonsense("a short message that is long"));
                } else {
                    return self.put_aside(from, Aside::Described(frame), bytes);
                }
            }
            Frame::Eager { target, envelope, .. } => {
                let endpoint = self.rank_here(target)?;
                if bytes > most {
                    return Err(Nonsense("a short message that is long"));
                }
                return self.arrive_in_parts(endpoint, target, from, envelope, bytes);
            }
            Frame::Data { receive, offset } => return self.arrive_data(message, receive, offset),
            _ if bytes != 0 => return Err(Nonsense("data with a message that has none")),
            Frame::Request { target, envelope, send, bytes, address, .. } => {
                let endpoint = self.rank_here(target)?;
                self.arrive_request(endpoint, envelope, bytes, Far { node: from, send, address }, None);
            }
            Frame::Clear { send, receive, bytes, pieces } => {
                let mut table = remote.pending(send).ok_or(Nonsense("a send there is not"))?.lock();
                let Some(Entry::Send { operation, to, cleared, .. }) = table.get(send) else {
                    return Err(Nonsense("a send there is not"));
                };
                if *to != from || *cleared || bytes > operation.get().buffer().bytes {
                    return Err(Nonsense("data that is not to be had"));
                }
                *cleared = true;
                drop(table);
                remote.queue(from, Post::Stream(Stream { send, receive, bytes, pieces, offset: 0 }));
            }
            Frame::Done { send } => {
                let mut table = remote.pending(send).ok_or(Nonsense("a send there is not"))?.lock();
                if table
                    .get(send)
                    .is_none_or(|entry| entry.peer() != from || matches!(entry, Entry::Receive { .. }))
                {
                    return Err(Nonsense("a send there is not"));
                }
                drop(table);
                remote.complete_send(send);
            }
            Frame::Cancel { target, send } => {
                let endpoint = self.rank_here(target)?;
                let mut state = endpoint.lock();
                let is_it = |_: &Envelope, message: &Message| matches!(message.payload, Payload::Far(far, _) if far.node == from && far.send == send);
                if state.unexpected.take_where(is_it).is_some() {
                    endpoint.note_unexpected(&state);
                    drop(state);
                    remote.post(from, Frame::Cancelled { send });
                }
            }
            Frame::Cancelled { send } => {
                let mut table = remote.pending(send).ok_or(Nonsense("a send there is not"))?.lock();
                match table.get(send) {
                    Some(Entry::Send { to, cleared: false, .. }) if *to == from => {}
                    _ => return Err(Nonsense("a send there is not")),
                }
                let entry = table.remove(send).expect("found above");
                drop(table);
                end(entry.operation().get(), SEND_CANCELLED);
            }
            Frame::Credit => {}
        }
        Ok(Placement::Taken)
    }

    /// Takes a short message; of one that says what it is `origin` is that.
    pub(super) fn arrive_eager(
        &self,
        endpoint: &Endpoint,
        from: Node,
        envelope: Envelope,
        whole: Whole<'_>,
        origin: Option<Origin>,
    ) {
        let expected = endpoint.take_expected(&envelope);
        let receive = match expected.map_or_else(|| endpoint.take_posted(&envelope, &Section::outside()), Ok)
        {
            Ok(receive) => receive.get(),
            Err(state) => return self.keep(endpoint, state, from, envelope, whole, origin),
        };
        let bytes = whole.data().len() as u64;
        if let Some(origin) = &origin {
            checking::arrived(endpoint.rank(), &envelope, origin, receive);
        }
        // SAFETY: matching has given the receive to this thread, or the thread posted none; its buffer is as promised.
        unsafe { receive.buffer().unpack_from(whole.data().as_ptr(), bytes) };
        whole.release();
        if expected.is_some() {
            receive.complete_unshared(outcome(&envelope, bytes));
        } else {
            finish(receive, &envelope, bytes);
        }
        self.far().give_back(from, bytes);
    }

    /// Keeps a short message that nobody has posted a receive for, as has been seen under the lock.
    #[inline(never)]
    fn keep(
        &self,
        endpoint: &Endpoint,
        mut state: LockGuard<'_, State>,
        from: Node,
        envelope: Envelope,
        whole: Whole<'_>,
        origin: Option<Origin>,
    ) {
        let bytes = whole.data().len() as u64;
        let payload = match (origin, whole) {
            (Some(origin), whole) => {
                Payload::FarChecked { node: from, kept: Kept::far(whole.data(), origin) }
            }
            (None, Whole::Aside(block, _)) if block.is_large() => Payload::FarPooled { node: from, block },
            (None, whole) => {
                let data = whole.data();
                // SAFETY: the payload has room for the data.
                let stored = unsafe {
                    let fill = |out| weft_sys::copy::bytes(data.as_ptr(), out, data.len());
                    state.pool.store(bytes, fill)
                };
                match stored {
                    Payload::Inline(data) => Payload::FarInline { node: from, data },
                    Payload::Pooled(block) => Payload::FarPooled { node: from, block },
                    other => other,
                }
            }
        };
        endpoint.add_unexpected(&mut state, envelope, Message { bytes, payload });
        drop(state);
        endpoint.announce_arrival();
    }

    /// Says where a short message goes of which parts are on their way: into the buffer of the receive that waits for it, or
    /// else aside, from where it arrives when all of it is there. Nothing overtakes it: the device brings what follows later.
    fn arrive_in_parts(
        &self,
        endpoint: &Endpoint,
        target: u32,
        from: Node,
        envelope: Envelope,
        bytes: u64,
    ) -> Heard<Placement> {
        let remote = self.far();
        let takes = |receive: Reference| receive.get().buffer().dense;
        let taken = endpoint.take_expected_if(&envelope, takes).or_else(|| {
            let mut state = endpoint.lock();
            let is_dense = state.posted.peek(&envelope).is_some_and(|(_, receive)| takes(*receive));
            let (_, receive) = is_dense.then(|| state.posted.take(&envelope)).flatten()?;
            endpoint.note_posted(&state);
            Some(receive)
        });
        if let Some(operation) = taken {
            let buffer = operation.get().buffer();
            let (address, capacity) = (buffer.address, bytes.min(buffer.bytes));
            let entry = Entry::Receive {
                operation,
                from,
                envelope,
                bytes,
                expected: capacity,
                got: capacity,
                placing: 1,
            };
            // The data never takes memory of this process's own.
            remote.give_back(from, bytes);
            return Ok(match remote.name(target, entry) {
                Some(token) => Placement::Memory { address, capacity, token },
                None => Placement::Taken,
            });
        }
        self.put_aside(from, Aside::Eager { target, envelope }, bytes)
    }

    /// Makes room for a message until all of it is there: one of a peer, for only one of its connections brings such.
    fn put_aside(&self, from: Node, what: Aside, bytes: u64) -> Heard<Placement> {
        let mut block = Block::new(bytes as usize);
        let address = block.place();
        let staged = Staged { what, block, bytes: bytes as usize };
        let mut slot = self.far().peers[from as usize].staged.lock();
        if slot.is_some() {
            return Err(Nonsense("short messages side by side"));
        }
        *slot = Some(staged);
        Ok(Placement::Memory { address, capacity: bytes, token: STAGED })
    }

    /// Takes what was put aside.
    fn take_aside(&self, from: Node) -> Heard {
        let staged = self.far().peers[from as usize].staged.lock().take();
        let Some(Staged { what, block, bytes }) = staged else { return Ok(()) };
        let whole = Whole::Aside(block, bytes);
        match what {
            Aside::Eager { target, envelope } => {
                self.arrive_eager(self.rank_here(target)?, from, envelope, whole, None);
                return Ok(());
            }
            Aside::Described(frame) => self.arrive_described(from, frame, whole.data())?,
            Aside::Piece { receive, offset } => {
                let (bytes, present) = (bytes as u64, whole.data());
                let message =
                    Arriving { from, channel: Channel::POINT_TO_POINT, header: &[], bytes, present };
                self.arrive_data(&message, receive, offset)?;
            }
        }
        whole.release();
        Ok(())
    }

    /// Takes a request; `origin` as in [`Engine::arrive_eager`].
    pub(super) fn arrive_request(
        &self,
        endpoint: &Endpoint,
        envelope: Envelope,
        bytes: u64,
        far: Far,
        origin: Option<Origin>,
    ) {
        let receive = match endpoint.take_expected(&envelope) {
            Some(receive) => receive,
            None => match endpoint.take_posted(&envelope, &Section::outside()) {
                Ok(receive) => receive,
                Err(mut state) => {
                    let message = Message { bytes, payload: Payload::Far(far, origin.map(Box::new)) };
                    endpoint.add_unexpected(&mut state, envelope, message);
                    drop(state);
                    return endpoint.announce_arrival();
                }
            },
        };
        if let Some(origin) = &origin {
            checking::arrived(endpoint.rank(), &envelope, origin, receive.get());
        }
        let job = Job { operation: receive, envelope, bytes, far };
        if far.address != 0 && bytes.min(receive.get().buffer().bytes) > 0 {
            let remote = self.far();
            remote.left.fetch_add(1, Ordering::SeqCst);
            remote.jobs.lock().push_back(job);
        } else {
            // SAFETY: the receive is ours since it left the queue.
            unsafe { self.ask(endpoint, &job) };
        }
    }

    fn arrive_data(&self, message: &Arriving<'_>, receive: u64, offset: u64) -> Heard<Placement> {
        let remote = self.far();
        let Arriving { from, bytes, present, .. } = *message;
        let table = remote.pending(receive).ok_or(Nonsense("a receive there is not"))?;
        let mut entries = table.lock();
        let Some(Entry::Receive { operation, from: sender, expected, got, placing, .. }) =
            entries.get(receive)
        else {
            return Err(Nonsense("a receive there is not"));
        };
        // Parts come over several connections, in any order.
        if *sender != from || bytes == 0 || bytes > *expected - *got || offset > *expected - bytes {
            return Err(Nonsense("data that is not part of what is missing"));
        }
        let (buffer, is_part) = (operation.get().buffer(), (present.len() as u64) < bytes);
        if is_part && !buffer.dense {
            if bytes > PIECE as u64 {
                return Err(Nonsense("data in one piece for a buffer with gaps"));
            }
            drop(entries);
            return self.put_aside(from, Aside::Piece { receive, offset }, bytes);
        }
        (*got, *placing) = (*got + bytes, *placing + 1);
        drop(entries);
        if is_part {
            let address = buffer.address.wrapping_add(offset as usize);
            return Ok(Placement::Memory { address, capacity: bytes, token: receive });
        }
        // SAFETY: the receive is in progress until nothing is being placed, its buffer as its owner promised, and has room for
        // what is expected.
        unsafe { buffer.unpack_part(offset, present.as_ptr(), bytes) };
        self.note_placed(receive);
        Ok(Placement::Taken)
    }

    /// Notes that a part of a message is in its place, and completes the receive with the last one.
    fn note_placed(&self, receive: u64) {
        let Some(table) = self.far().pending(receive) else { return };
        let mut table = table.lock();
        let Some(Entry::Receive { operation, envelope, bytes, expected, got, placing, .. }) =
            table.get(receive)
        else {
            return;
        };
        *placing -= 1;
        if *placing == 0 && got == expected {
            let (operation, envelope, bytes) = (*operation, *envelope, *bytes);
            table.remove(receive);
            drop(table);
            finish(operation.get(), &envelope, bytes);
        }
    }

    /// Ends everything that has to do with a peer.
    fn lose(&self, peer: Node, reason: &str) {
        let remote = self.far();
        if remote.peers[peer as usize].is_lost.swap(true, Ordering::SeqCst) {
            return;
        }
        let _ = REASON.set(reason.into());
        remote.lost.lock().push(peer);
        remote.any_lost.store(true, Ordering::SeqCst);
        remote.drop_backlog(peer);
        *remote.peers[peer as usize].staged.lock() = None;
        for table in &remote.pending {
            let gone = table.lock().remove_all(|entry| entry.peer() == peer);
            gone.iter().for_each(fail);
        }
        self.endpoints().iter().for_each(|endpoint| self.fail_posted(endpoint));
    }
}

impl Handler for Engine {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        let _visit = solo::visit();
        let remote = self.far();
        let peer = &remote.peers[message.from as usize];
        if peer.is_lost.load(Ordering::Relaxed) {
            return Placement::Taken;
        }
        match self.hear(remote, peer, &message) {
            Ok(placement) => placement,
            Err(what) => self.lose_liar(message.from, &what),
        }
    }

    fn placed(&self, from: Node, _channel: Channel, token: u64) {
        let _visit = solo::visit();
        if token == STAGED {
            if let Err(what) = self.take_aside(from) {
                self.lose_liar(from, &what);
            }
            return;
        }
        self.note_placed(token);
    }

    fn sent(&self, _to: Node, _channel: Channel, token: u64) {
        let _visit = solo::visit();
        self.far().note_sent(token);
    }

    fn lost(&self, peer: Node, reason: &str) {
        let _visit = solo::visit();
        self.lose(peer, reason);
    }

    fn joined(&self, begin: Node, hosts: &[u32]) {
        self.far().join(begin, hosts.len() as u32);
    }

    fn advance(&self) -> bool {
        if self.far().left.load(Ordering::SeqCst) == 0 {
            return false;
        }
        let _visit = solo::visit();
        self.go_on()
    }

    fn is_idle(&self) -> bool {
        self.far().left.load(Ordering::SeqCst) == 0
    }
}

impl Engine {
    /// Reads and sends what was left for later. Returns whether anything could be done.
    #[inline(never)]
    fn go_on(&self) -> bool {
        let remote = self.far();
        let mut moved = false;
        loop {
            let Some(job) = remote.jobs.lock().pop_front() else { break };
            // SAFETY: the receive left matching, and the job is ours since it left the queue.
            unsafe { remote.read(&job) };
            remote.left.fetch_sub(1, Ordering::SeqCst);
            moved = true;
        }
        let waiting = |node: &usize| !remote.peers[*node].backlog.is_empty();
        (0..remote.peers.len()).filter(waiting).fold(moved, |moved, node| remote.pump(node as Node) | moved)
    }

    /// Ends everything that has to do with a peer which has sent what no peer of ours sends.
    #[cold]
    fn lose_liar(&self, peer: Node, what: &Nonsense) -> Placement {
        self.lose(peer, &format!("node process {peer} has sent {}", what.0));
        Placement::Taken
    }
}
