//! Broadcast: small data waits in the root's slots for whoever comes; large data is copied from the root's buffer, or from a
//! copy that the root puts aside when readers are late.
//!
//! The root lends its buffer as long as readers come and go. When none has for the time that a copy takes, it copies the
//! data aside and leaves as soon as nobody reads its buffer: at most twice the time that either way would have cost. The
//! last reader frees the copy.
#![allow(unsafe_code)] // Copies to and from slots and reads the root's loan.

use crate::operation::buffer::Data;
use crate::operation::call::{Call, Description};
use crate::rounds::aside::Aside;
use crate::rounds::counters::Nothing;
use crate::rounds::offer::Place;
use crate::stores::Stores;
use crate::team::posts::Lent;
use crate::team::selection::{self, Algorithm};
use crate::team::{Round, Team};
use core::ptr::{from_ref, null_mut};
use weft_base::Result;
use weft_sys::clock;

impl Team {
    /// Copies the root's data to all ranks. Ranks wait for none but the root, and the root for none but those that are
    /// reading its buffer, unless it is several operations ahead.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if the root's data does not fit; `MPI_ERR_OTHER` if the ranks are in different calls.
    pub fn broadcast(&self, root: u32, data: Data<'_>) -> Result {
        if self.size() == 1 {
            return Ok(());
        }
        let call = Description::new(Call::Broadcast, Some(root), 0);
        if self.rank() != root {
            let round = self.enter(call, null_mut());
            round.arrive(call.signature(), &Nothing);
            let posted = round.wait_for_data(root)?;
            let loan = round.loan(root);
            if loan.is_null() {
                let place = round.in_line(root, posted.bytes());
                let spot = || self.slots().spot_for_all(round.number(), posted.bytes() as usize);
                let place = place.unwrap_or_else(spot);
                // SAFETY: the root has packed that many bytes there, and nobody writes there until this rank has
                // arrived in the next round.
                return unsafe { data.unpack(place, posted.bytes()) };
            }
            if self.are_apart() {
                return self.receive_in_pieces(call, root, round, loan.addr() as u64, &data);
            }
            return self.read_lent(&round, loan, &data);
        }
        match selection::broadcast(self, data.bytes()) {
            Algorithm::Slots => {
                let round = self.enter(call.with_bytes(data.bytes()), null_mut());
                let place = round.in_line(root, data.bytes());
                let spot = || self.slots().spot_for_all(round.number(), data.bytes() as usize);
                let place = place.unwrap_or_else(spot);
                // SAFETY: it fits the line, or the area by the selection; only the root writes there in this round.
                unsafe { data.pack(place) };
                round.arrive_with_data(call.signature());
                Ok(())
            }
            Algorithm::InPlace if self.are_apart() => {
                self.broadcast_in_pieces(call, &data);
                Ok(())
            }
            Algorithm::InPlace => {
                let round = self.enter(call.exchanging(), from_ref(&data).cast_mut().cast());
                let lent = round.lent();
                lent.open();
                round.arrive_with_data(call.signature());
                self.lend(&round, lent, &data)
            }
        }
    }

    fn readers(&self) -> u32 {
        self.size() - 1
    }

    /// Copies what the root lends, of whom `loan` is.
    fn read_lent(&self, round: &Round<'_>, loan: *mut (), data: &Data<'_>) -> Result {
        let lent = round.lent();
        let stores = Stores::of(data.bytes() * u64::from(self.size()), data.bytes());
        let place = lent.offer.begin();
        let result = match place {
            // SAFETY: in this call a loan is the root's `Data`; the root keeps it, and its buffer, until the reading ends.
            Place::Buffer => unsafe { &*loan.cast::<Data<'_>>() }.copy_by(stores, data),
            Place::Aside => match lent.aside() {
                // SAFETY: the slice has that many bytes.
                Some(aside) => unsafe { data.unpack(aside.bytes().as_ptr(), aside.bytes().len() as u64) },
                None => return Err(round.mismatch()),
            },
        };
        let ended = lent.offer.end(place, self.readers());
        if ended.frees {
            lent.free();
        }
        if ended.wakes {
            self.shared().waiting.wake_all();
        }
        result
    }

    /// Lends the root's buffer until it is no longer needed.
    fn lend(&self, round: &Round<'_>, lent: &Lent, data: &Data<'_>) -> Result {
        let readers = self.readers();
        let is_over = || lent.offer.is_over(readers);
        if !is_over() && !self.readers_come_and_go(lent, data.bytes()) {
            let aside = Aside::copy_of(data);
            let put = |aside| {
                lent.put(aside);
                if lent.offer.set_aside(readers) {
                    lent.free();
                }
            };
            if aside.is_some() {
                put(aside);
            } else {
                self.wait(|| is_over() || round.is_known_mismatched());
                // Who is in another call never reads, and who comes late is told so.
                if !is_over() {
                    put(None);
                }
            }
            self.wait(is_over);
        }
        if round.is_known_mismatched() { Err(round.mismatch()) } else { Ok(()) }
    }

    /// Waits as long as readers of `bytes` bytes begin and end. Returns whether all have read.
    fn readers_come_and_go(&self, lent: &Lent, bytes: u64) -> bool {
        // A copy from memory runs at about 16 bytes per nanosecond.
        let patience = (500 + bytes / 16) * clock::ticks_per_us() / 1000;
        let (mut seen, mut since) = (lent.offer.progress(), clock::ticks());
        loop {
            let others_ran = weft_sched::yield_now();
            if lent.offer.is_over(self.readers()) {
                return true;
            }
            let (now, progress) = (clock::ticks(), lent.offer.progress());
            if progress != seen {
                (seen, since) = (progress, now);
            } else if now.wrapping_sub(since) > if progress.1 { 4 * patience } else { patience } {
                return false;
            }
            if !others_ran {
                core::hint::spin_loop();
            }
        }
    }
}
