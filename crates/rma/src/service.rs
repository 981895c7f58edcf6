//! What other processes' ranks ask of those here: carried out by whoever polls, in the order in which it was told.
#![allow(unsafe_code)] // Reads and writes windows, and buffers of origins that results come to.

use crate::far::Buffer;
use crate::gate::Way;
use crate::mapped::Station;
use crate::pieces::Piece;
use crate::shared::{Control, FarWaiter, Shared, find, live};
use crate::target::{self, Combination, Elements, Stripes};
use crate::way::{halves, kind, pair, part, tell};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use weft_am::{Active, Arrival, Message, Nonsense, Service, When};
use weft_base::Error;
use weft_base::constants::{MPI_ERR_RMA_RANGE, MPI_OP_NULL};
use weft_op::Op;
use weft_transport::Node;

/// The service.
pub struct OneSided;

/// What a message is about.
struct Asked {
    from: Node,
    shared: Arc<Shared>,
    /// The rank here.
    rank: u32,
    /// The rank there, and what goes with it.
    origin: u32,
    more: u32,
}

impl Asked {
    fn control(&self) -> Option<&Control> {
        self.shared.control(self.shared.known(self.rank)?)
    }

    fn station(&self) -> Option<&Station> {
        Some(self.shared.station(self.shared.known(self.rank)?, self.control()?))
    }

    fn stripes(&self) -> Option<&Stripes> {
        Some(&self.station()?.stripes)
    }

    /// Says to the origin that an operation is out of range.
    fn refuse(&self, name: u64) {
        let place = pair(self.shared.number(), self.origin);
        tell(self.from, kind::FAULT, &[place, pair(self.rank, 0), name], &[], When::Now);
    }

    fn answer(&self, name: u64, skip: u64, data: &[u8]) {
        let place = pair(self.shared.number(), self.origin);
        tell(self.from, kind::DATA, &[place, name, skip], data, When::Later);
    }

    /// Reads the piece of an operation, all of which lies in memory that the rank exposes.
    fn piece<'a>(&self, data: &'a [u8]) -> Option<(Option<Piece>, &'a [u8])> {
        let (piece, rest) = Piece::read(data)?;
        let mut fits = piece.bytes <= u64::from(u32::MAX);
        if fits {
            piece.for_each(|address, length| fits &= self.shared.exposes(self.rank, address, length));
        }
        Some((fits.then_some(piece), rest))
    }

    fn put(&self, data: &[u8]) -> Option<()> {
        let (piece, mut rest) = self.piece(data)?;
        let Some(piece) = piece else {
            self.refuse(0);
            return Some(());
        };
        if rest.len() as u64 != piece.bytes {
            return None;
        }
        piece.for_each(|address, length| {
            let (part, further) = rest.split_at(length as usize);
            // SAFETY: the rank exposes so much memory there.
            unsafe { core::ptr::copy_nonoverlapping(part.as_ptr(), address as *mut u8, part.len()) };
            rest = further;
        });
        Some(())
    }

    fn get(&self, words: &[u64], data: &[u8]) -> Option<()> {
        let &[_, _, name, skip] = words else { return None };
        let (Some(piece), _) = self.piece(data)? else {
            self.refuse(name);
            return Some(());
        };
        let mut found = Vec::with_capacity(piece.bytes as usize);
        piece.for_each(|address, length| {
            // SAFETY: the rank exposes so much memory there.
            found.extend_from_slice(unsafe {
                core::slice::from_raw_parts(address as *const u8, length as usize)
            });
        });
        self.answer(name, skip, &found);
        Some(())
    }

    fn accumulate(&self, words: &[u64], data: &[u8]) -> Option<()> {
        let &[_, _, name, skip] = words else { return None };
        let op = Op::predefined(weft_base::abi::Op(MPI_OP_NULL.0 + self.more as usize))?;
        let (piece, rest) = self.piece(data)?;
        let Some(piece) = piece else {
            self.refuse(name);
            return Some(());
        };
        if !op.is_no_op() && rest.len() as u64 != piece.bytes {
            return None;
        }
        let pair = Elements::pair_of(&piece.kinds);
        let elements = match &pair {
            Some(pair) => Elements::of(pair),
            None => Elements::of_codes(&piece.kinds)?,
        };
        let mut former = vec![0; if name == 0 { 0 } else { piece.bytes as usize }];
        let result = if name == 0 { core::ptr::null_mut() } else { former.as_mut_ptr() };
        let stripes = self.stripes()?;
        // SAFETY: input and result are as long as the piece, and the rank exposes so much memory there.
        unsafe {
            let mut combination = Combination::new(op, elements, stripes, rest.as_ptr(), result, piece.bytes);
            piece.for_each(|address, length| combination.run(address as *mut u8, length));
        }
        if name != 0 {
            self.answer(name, skip, &former);
        }
        Some(())
    }

    fn compare_and_swap(&self, words: &[u64], data: &[u8]) -> Option<()> {
        let &[_, _, name, address] = words else { return None };
        let size = data.len() / 2;
        if size > 16 || data.len() != 2 * size {
            return None;
        }
        if !self.shared.exposes(self.rank, address, size as u64) {
            self.refuse(name);
            return Some(());
        }
        let (input, expected) = data.split_at(size);
        let mut former = [0; 16];
        let stripes = self.stripes()?;
        let (at, result) = (address as *mut u8, former.as_mut_ptr());
        // SAFETY: the rank exposes the element; the values have its size, and the result has room for it.
        unsafe {
            target::compare_and_swap(stripes, size as u64, at, input.as_ptr(), expected.as_ptr(), result)
        };
        self.answer(name, 0, &former[..size]);
        Some(())
    }

    fn lock(self, words: &[u64]) -> Option<()> {
        let &[_, _, name] = words else { return None };
        let way = match self.more {
            parts if parts & part::GATE == 0 => Way::Shared,
            parts if parts & part::ALONE == 0 => Way::Shared,
            _ => Way::Alone,
        };
        FarWaiter {
            rank: self.rank,
            way,
            everything: self.more & part::EVERYTHING != 0,
            gate: self.more & part::GATE != 0,
            node: self.from,
            origin: self.origin,
            name,
            shared: self.shared,
        }
        .go_on();
        Some(())
    }

    fn unlock(&self, words: &[u64]) -> Option<()> {
        let &[_, _, name] = words else { return None };
        if self.more & part::GATE != 0 {
            self.control()?.gate.leave(&self.station()?.latch);
        }
        if self.more & part::EVERYTHING != 0 {
            let (gate, latch) = self.shared.everything();
            gate.leave(latch);
        }
        self.done(name);
        Some(())
    }

    /// Lets in who waits here, after somebody has left in another process.
    fn let_in(&self) -> Option<()> {
        if self.more & part::GATE != 0 {
            self.control()?.gate.let_in(&self.station()?.latch);
        }
        if self.more & part::EVERYTHING != 0 {
            let (gate, latch) = self.shared.everything();
            gate.let_in(latch);
        }
        Some(())
    }

    fn done(&self, name: u64) {
        let place = pair(self.shared.number(), self.origin);
        tell(self.from, kind::DONE, &[place, pair(self.rank, 0), name], &[], When::Now);
    }

    /// Takes what an operation of a rank here has returned.
    fn fill(&self, words: &[u64], data: &[u8]) -> Option<()> {
        let &[_, name, skip] = words else { return None };
        let far = &self.control()?.far;
        let Some(Buffer { address, count, datatype }) = far.buffer(name) else { return Some(()) };
        let bytes = data.len() as u64;
        if skip.checked_add(bytes).is_none_or(|end| end > count * datatype.size()) {
            return None;
        }
        // SAFETY: the program leaves the buffer alone until the operation is complete.
        unsafe { weft_datatype::unpack(address as *mut u8, count, &datatype, skip, data.as_ptr(), bytes) };
        far.filled(name, bytes);
        Some(())
    }

    fn fault(&self, words: &[u64]) -> Option<()> {
        let &[_, _, name] = words else { return None };
        let far = &self.control()?.far;
        let text =
            format!("an operation of the epoch went to memory that rank {} does not expose", self.origin);
        far.fail(Error::new(MPI_ERR_RMA_RANGE, text));
        far.done(name);
        Some(())
    }
}

impl Service for OneSided {
    fn told(&self, _active: &Active, from: Node, kind: u32, message: Message<'_>) -> Result<(), Nonsense> {
        const NO_OPERATION: Nonsense = Nonsense("what no one-sided operation is");
        let Message { words, data } = message;
        let (Some(&place), Some(&second)) = (words.first(), words.get(1)) else { return Err(NO_OPERATION) };
        let ((window, rank), (origin, more)) = (halves(place), halves(second));
        // It may have been freed after an error.
        let Some(shared) = find(window) else { return Ok(()) };
        let asked = Asked { from, shared, rank, origin, more };
        let heard = match kind {
            kind::PUT => asked.put(data),
            kind::GET => asked.get(words, data),
            kind::ACCUMULATE => asked.accumulate(words, data),
            kind::COMPARE_AND_SWAP => asked.compare_and_swap(words, data),
            kind::LOCK => asked.lock(words),
            kind::UNLOCK => asked.unlock(words),
            kind::LET_IN => asked.let_in(),
            kind::POST => asked.control().map(|control| control.exposure.post(asked.origin)),
            kind::COMPLETE => asked.control().map(|control| control.exposure.complete()),
            kind::FLUSH => words.get(2).map(|&name| asked.done(name)),
            kind::DATA => asked.fill(words, data),
            kind::DONE => {
                let control = asked.control();
                control.zip(words.get(2)).map(|(control, &name)| control.far.done(name))
            }
            kind::FAULT => asked.fault(words),
            _ => None,
        };
        heard.ok_or(NO_OPERATION)
    }

    fn arrived(&self, active: &Active, _kind: u32, message: Arrival) -> Result<(), Nonsense> {
        _ = (active, message);
        Err(Nonsense("a one-sided operation that is kept"))
    }

    fn lost(&self, _active: &Active, peer: Node, reason: &str) {
        for shared in live().into_iter().filter(|shared| shared.has_ranks_of(peer)) {
            shared.each_control(|control| control.far.lose(peer, reason));
            // Who sees this looks there for what to say.
            shared.is_torn.store(true, Ordering::SeqCst);
            shared.each_control(|control| {
                control.exposure.disturb();
                // What the lost process has locked it never unlocks.
                control.gate.disturb();
            });
            shared.everything().0.disturb();
        }
    }
}
