//! Operations at ranks of other processes, and synchronisation with those.
#![allow(unsafe_code)] // Packs the origin's buffers, for which callers vouch.

use crate::epoch::Held;
use crate::far::{Buffer, Far};
use crate::gate::{Latch, Way};
use crate::mapped::Station;
use crate::pieces::{Cutter, OVERHEAD, Piece};
use crate::place::{Data, Place};
use crate::shared::Segment;
use crate::target::Elements;
use crate::way::{active, kind, pair, part, tell};
use crate::window::Window;
use std::sync::atomic::Ordering;
use weft_am::When;
use weft_base::Result;
use weft_datatype::Datatype;
use weft_op::Op;
use weft_transport::Node;

/// How much data comes or goes in a piece at most.
const MOST: u64 = 32 << 10;

/// What an accumulate function does between processes.
pub(crate) struct Combining<'a> {
    pub op: &'a Op,
    pub result: Option<Data<'a>>,
}

impl Window {
    fn far(&self) -> &Far {
        &self.own().far
    }

    fn place_word(&self, rank: u32) -> u64 {
        pair(self.shared().number(), rank)
    }

    /// Gets the lock on all at a process, before the first operation there.
    fn reach_there(&self, node: Node) -> Result {
        if !self.epochs().holds_all() {
            return Ok(());
        }
        let (name, is_new) = self.far().take_everything(node);
        if is_new {
            if self.shared().everything_at(node).is_some_and(|latch| latch.enter(Way::Shared, u32::MAX)) {
                self.far().done(name);
            } else {
                // Any rank of the process stands for all.
                self.request(node, kind::LOCK, 0, part::EVERYTHING, name);
            }
        }
        self.far().wait_unless_lost(name);
        self.far().check()
    }

    /// As [`Window::reach_there`], where the memory is seen here.
    #[inline]
    pub(crate) fn reach_mapped(&self, segment: &Segment, node: Node) -> Result {
        if self.reached.load(Ordering::Relaxed) & segment.bit() != 0 {
            return Ok(());
        }
        self.reach_there(node)?;
        self.reached.fetch_or(segment.bit(), Ordering::Relaxed);
        Ok(())
    }

    /// Asks a process for something, and waits until it is done.
    fn ask(&self, node: Node, kind: u32, rank: u32, parts: u32) -> Result {
        let name = self.far().expect(node, None);
        self.request(node, kind, rank, parts, name);
        self.far().wait(name);
        self.far().check()
    }

    /// Asks a process for something that has a name.
    fn request(&self, node: Node, kind: u32, rank: u32, parts: u32, name: u64) {
        self.note_loss(node);
        tell(node, kind, &[self.place_word(rank), pair(self.rank, parts), name], &[], When::Now);
    }

    /// Goes on with what other processes have told.
    pub(crate) fn progress(&self) {
        if self.shared().has_far() {
            active().nodes().poll();
        }
    }

    /// Ends what a process was just asked for if it is lost.
    fn note_loss(&self, node: Node) {
        if let Some(reason) = active().loss(node) {
            self.far().lose(node, &reason);
        }
    }

    fn limit(node: Node) -> u64 {
        let longest = active().longest(node) as u64;
        longest.saturating_sub(OVERHEAD).clamp(128, MOST)
    }

    /// Tells a process of a part of an operation, and waits while it is behind.
    fn tell_part(node: Node, kind: u32, words: &[u64], data: &[u8]) {
        tell(node, kind, words, data, When::Later);
        if active().is_behind(node) {
            active().await_room(node, || ());
        }
    }

    /// Tells a process of an operation, piece by piece. What a piece says of its place goes before what `add` appends to the message;
    /// `words` are what goes with a piece, of which so much data was in those before. With `elements`, pieces end with whole ones.
    fn tell_pieces<const WORDS: usize>(
        &self,
        (node, at): (Node, *mut u8),
        place: &Place<'_>,
        elements: Option<Elements<'_>>,
        kind: u32,
        words: impl Fn(u64) -> [u64; WORDS],
        mut add: impl FnMut(&mut Vec<u8>, u64, u64),
    ) {
        let mut skip = 0;
        let mut message = Vec::new();
        let mut cutter = Cutter::new(Self::limit(node), elements, |piece: Piece| {
            message.clear();
            piece.write(&mut message);
            add(&mut message, skip, piece.bytes);
            Self::tell_part(node, kind, &words(skip), &message);
            skip += piece.bytes;
        });
        weft_datatype::for_each_run(place.datatype, place.count, |offset, bytes| {
            cutter.run(at.wrapping_offset(offset as isize) as u64, bytes);
        });
        cutter.finish();
        self.far().touch(node);
    }

    /// Copies data to a rank of another process.
    ///
    /// # Safety
    /// As [`Window::put`].
    pub(crate) unsafe fn put_there(
        &self,
        origin: Data<'_>,
        place: &Place<'_>,
        node: Node,
        at: *mut u8,
    ) -> Result {
        self.reach_there(node)?;
        let words = [self.place_word(place.rank), pair(self.rank, 0)];
        self.tell_pieces(
            (node, at),
            place,
            None,
            kind::PUT,
            |_| words,
            |message, skip, bytes| {
                // SAFETY: the caller vouches for the origin.
                unsafe { append(message, &origin, skip, bytes) };
            },
        );
        Ok(())
    }

    fn await_result(&self, node: Node, result: &Data<'_>) -> u64 {
        let Data { address, count, datatype } = *result;
        let datatype: Datatype = datatype.clone();
        let name = self.far().expect(node, Some(Buffer { address: address as usize, count, datatype }));
        self.note_loss(node);
        name
    }

    /// Copies data from a rank of another process.
    ///
    /// # Safety
    /// As [`Window::get`].
    pub(crate) unsafe fn get_there(
        &self,
        origin: Data<'_>,
        place: &Place<'_>,
        node: Node,
        at: *mut u8,
    ) -> Result {
        if place.bytes() == 0 {
            return Ok(());
        }
        self.reach_there(node)?;
        let name = self.await_result(node, &origin);
        let words = |skip| [self.place_word(place.rank), pair(self.rank, 0), name, skip];
        self.tell_pieces((node, at), place, None, kind::GET, words, |_, _, _| ());
        Ok(())
    }

    /// Combines data with that at a rank of another process.
    ///
    /// # Safety
    /// As [`Window::accumulate`].
    pub(crate) unsafe fn accumulate_there(
        &self,
        origin: Option<Data<'_>>,
        place: &Place<'_>,
        combining: &Combining<'_>,
        node: Node,
        at: *mut u8,
    ) -> Result {
        if place.bytes() == 0 {
            return Ok(());
        }
        self.reach_there(node)?;
        let op = combining.op.number().expect("accumulate functions take predefined operations");
        let origin = origin.filter(|_| !combining.op.is_no_op());
        let name = combining.result.as_ref().map_or(0, |result| self.await_result(node, result));
        let words = |skip| [self.place_word(place.rank), pair(self.rank, op), name, skip];
        let elements = Some(Elements::of(place.datatype));
        self.tell_pieces((node, at), place, elements, kind::ACCUMULATE, words, |message, skip, bytes| {
            if let Some(origin) = &origin {
                // SAFETY: the caller vouches for the origin.
                unsafe { append(message, origin, skip, bytes) };
            }
        });
        Ok(())
    }

    /// Compares and swaps at a rank of another process.
    ///
    /// # Safety
    /// As [`Window::compare_and_swap`].
    pub(crate) unsafe fn compare_and_swap_there(
        &self,
        input: *const u8,
        expected: *const u8,
        result: *mut u8,
        place: &Place<'_>,
        node: Node,
        at: *mut u8,
    ) -> Result {
        self.reach_there(node)?;
        let name = self.await_result(node, &Data { address: result, count: 1, datatype: place.datatype });
        let size = place.datatype.size() as usize;
        let mut both = Vec::with_capacity(2 * size);
        for value in [input, expected] {
            // SAFETY: the caller vouches for an element at either address.
            both.extend_from_slice(unsafe { core::slice::from_raw_parts(value, size) });
        }
        let words = [self.place_word(place.rank), pair(self.rank, 0), name, at as u64];
        Self::tell_part(node, kind::COMPARE_AND_SWAP, &words, &both);
        self.far().touch(node);
        Ok(())
    }

    /// Completes operations at a rank of another process, or at all such ranks.
    pub(crate) fn flush_there(&self, rank: Option<u32>) -> Result {
        if !self.shared().has_far() {
            return Ok(());
        }
        let only = match rank.map(|rank| self.shared().segment(rank)) {
            Some(segment) if segment.is_seen() => return self.check_seen(),
            None if !self.shared().has_unseen() => return self.check_seen(),
            Some(segment) => segment.node(),
            None => None,
        };
        let far = self.far();
        let asked: Vec<(Node, u64, u64)> = far
            .touched(only)
            .into_iter()
            .map(|(node, told)| {
                let name = far.expect(node, None);
                self.request(node, kind::FLUSH, 0, 0, name);
                (node, told, name)
            })
            .collect();
        for &(node, told, name) in &asked {
            far.wait(name);
            far.complete(node, told);
        }
        if asked.is_empty() { Ok(()) } else { far.check() }
    }

    /// Returns an error if a process with ranks of the window is lost. What goes to memory that is seen here needs no answer.
    #[inline]
    fn check_seen(&self) -> Result {
        let shared = self.shared();
        if shared.is_torn.load(Ordering::Relaxed)
            && self.far().lost().into_iter().any(|node| shared.has_ranks_of(node))
        {
            return self.far().check();
        }
        Ok(())
    }

    /// Locks the memory of a rank of another process.
    pub(crate) fn lock_there(&self, rank: u32, held: Held, is_first: bool, node: Node) -> Result {
        let parts = match held {
            Held::Unchecked => return Ok(()),
            Held::Shared => part::GATE,
            Held::Exclusive if is_first => part::GATE | part::ALONE | part::EVERYTHING,
            Held::Exclusive => part::GATE | part::ALONE,
        };
        self.ask_for_lock(node, rank, parts)
    }

    /// Asks for a lock, and waits for it.
    #[cold]
    fn ask_for_lock(&self, node: Node, rank: u32, parts: u32) -> Result {
        let name = self.far().expect(node, None);
        self.request(node, kind::LOCK, rank, parts, name);
        self.far().wait_unless_lost(name);
        self.far().check()
    }

    /// Unlocks it, when all operations there are complete.
    pub(crate) fn unlock_there(&self, rank: u32, held: Held, is_last: bool, node: Node) -> Result {
        let parts = match held {
            Held::Unchecked => return self.flush_there(Some(rank)),
            Held::Exclusive if is_last => part::GATE | part::EVERYTHING,
            Held::Shared | Held::Exclusive => part::GATE,
        };
        // It is behind all operations, and its answer says that they are complete.
        let told = self.far().touched(Some(node));
        self.ask(node, kind::UNLOCK, rank, parts)?;
        told.into_iter().for_each(|(node, told)| self.far().complete(node, told));
        Ok(())
    }

    /// Locks the memory of a rank of another process where its words are seen here: by these, or, where others are in or wait, by
    /// asking the process.
    #[inline]
    pub(crate) fn lock_mapped(
        &self,
        rank: u32,
        (held, is_first): (Held, bool),
        (segment, node, station): (&Segment, Node, &Station),
    ) -> Result {
        if held == Held::Shared {
            let is_in = station.latch.enter(Way::Shared, 1);
            return if is_in { Ok(()) } else { self.lock_there(rank, held, is_first, node) };
        }
        let everything = self.shared().everything_there(segment);
        let has_everything = !is_first || everything.is_some_and(|latch| latch.enter(Way::Alone, u32::MAX));
        if has_everything && station.latch.enter(Way::Alone, 1) {
            station.holder.store(self.rank, Ordering::Relaxed);
            return Ok(());
        }
        self.lock_there(rank, held, !has_everything, node)
    }

    /// Unlocks it. What was done there is complete.
    #[inline]
    pub(crate) fn unlock_mapped(
        &self,
        rank: u32,
        (held, is_last): (Held, bool),
        (segment, node, station): (&Segment, Node, &Station),
    ) -> Result {
        let mut waiting = 0;
        if held != Held::Unchecked && station.latch.leave() {
            waiting |= part::GATE;
        }
        if is_last && self.shared().everything_there(segment).is_some_and(Latch::leave) {
            waiting |= part::EVERYTHING;
        }
        if waiting != 0 {
            self.tell_to_let_in(node, rank, waiting);
        }
        self.check_seen()
    }

    #[cold]
    fn tell_to_let_in(&self, node: Node, rank: u32, parts: u32) {
        tell(node, kind::LET_IN, &[self.place_word(rank), pair(self.rank, parts)], &[], When::Now);
    }

    /// Unlocks everything at other processes, when all operations there are complete.
    pub(crate) fn unlock_all_there(&self) -> Result {
        let flushed = self.flush_there(None);
        for node in self.far().leave_everything() {
            match self.shared().everything_at(node).map(Latch::leave) {
                None => self.ask(node, kind::UNLOCK, 0, part::EVERYTHING)?,
                Some(true) => self.tell_to_let_in(node, 0, part::EVERYTHING),
                Some(false) => {}
            }
        }
        flushed
    }

    /// Tells an origin of another process that the rank exposes its memory.
    pub(crate) fn post_there(&self, origin: u32, segment: &Segment) {
        if let Some(node) = segment.node() {
            tell(node, kind::POST, &[self.place_word(origin), pair(self.rank, 0)], &[], When::Now);
        }
    }

    /// Tells a target of another process that the rank has finished with its memory.
    pub(crate) fn complete_there(&self, target: u32, segment: &Segment) {
        if let Some(node) = segment.node() {
            tell(node, kind::COMPLETE, &[self.place_word(target), pair(self.rank, 0)], &[], When::Now);
        }
    }
}

/// Appends a part of the packed data of a buffer.
///
/// # Safety
/// The buffer is valid for reads.
unsafe fn append(message: &mut Vec<u8>, data: &Data<'_>, skip: u64, bytes: u64) {
    let before = message.len();
    message.resize(before + bytes as usize, 0);
    // SAFETY: the caller's promise; there is room for so many bytes.
    unsafe {
        weft_datatype::pack(
            data.address,
            data.count,
            data.datatype,
            skip,
            message.as_mut_ptr().add(before),
            bytes,
        );
    }
}
