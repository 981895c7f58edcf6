//! Copying one large message by two threads: the one that matched it, and the one that waits for it. [`offer`] is the same for
//! blocking sends of medium length that find no receive; [`split`] learns how much of those each side should copy.
//!
//! Whoever matched a message copies it; the other side, if its buffer is not free before that, waits for its own
//! [`Operation`](crate::operation::Operation). Each operation holds a [`Transfer`]. The *owner* of the copy (who took
//! the operation out of matching) describes a large copy there and begins with the front. A thread that spins for the
//! operation finds it in the cache line it looks at anyway and becomes the *helper*: it takes pieces from the back.
//! Nobody is woken for it, so an owner without a helper loses no more than the store that offers.
//!
//! # The word
//! | bits | meaning |
//! | --- | --- |
//! | 0..31 | units of [`UNIT`] bytes that the owner has taken, from the front |
//! | 31..62 | where the units that the helper has taken begin; equal to the front when nothing is left |
//! | 62 `ASLEEP` | the owner has taken all it can and parks until the helper is done |
//! | 63 `BUSY` | a helper has taken a piece that it may not have finished |
//!
//! Only the owner stores an offer, only when the operation is its own; it takes pieces by adding to the front. A helper
//! takes pieces by compare-and-swap as well, and sets `BUSY` with its first, so there is one at most. It clears
//! `BUSY` when nothing is left and all it took is written. The owner returns, and so completes the operation, only
//! when nothing is left and `BUSY` is clear. Hence:
//!
//! - every unit is copied by exactly one of them, because it left the middle by one successful compare-and-swap;
//! - the description is written only while there is no helper and read only by one that has set `BUSY`;
//! - when the owner returns, the helper's writes are visible to it (it acquires what the helper released), and nobody
//!   takes anything more;
//! - the helper waits for the operation that holds this word, so the word lives until after its last access.
#![allow(unsafe_code)]

pub(crate) mod offer;
pub(crate) mod split;

use crate::operation::Buffer;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use weft_sched::Thread;
use weft_sync::facade::atomic::{AtomicU64, Ordering};
use weft_sync::facade::pause;

/// What is taken at least.
const UNIT: u64 = 4096;
/// The least and the most that is taken at once, in units: enough to be worth a cache line that changes hands, and
/// little enough that neither side waits long for the other's last piece.
const LEAST: u64 = 2;
const MOST: u64 = 64;
const SHORT: u64 = 32;
/// How often an owner looks for the end of the helper's last piece before it parks.
const PATIENCE: u32 = 4000;

const BITS: u32 = 31;
const MASK: u64 = (1 << BITS) - 1;
const ASLEEP: u64 = 1 << 62;
const BUSY: u64 = 1 << 63;

fn front(word: u64) -> u64 {
    word & MASK
}

fn back(word: u64) -> u64 {
    word >> BITS & MASK
}

/// Returns how many units are left.
fn left(word: u64) -> u64 {
    back(word) - front(word)
}

/// Returns how many of the `left` units to take next: less and less, so that both end together; of a short rest a half,
/// so that the word changes hands seldom.
fn portion(left: u64) -> u64 {
    let share = if left <= SHORT { left.div_ceil(2) } else { left / 4 };
    share.clamp(LEAST, MOST).min(left)
}

/// What is to be copied, and by whom.
#[derive(Clone, Copy)]
struct Job {
    source: *const u8,
    target: *mut u8,
    bytes: u64,
    owner: &'static Thread,
    /// The buffers if one of them is not one block; they live on the owner's stack. Else null.
    buffers: *const (Buffer, Buffer),
}

impl Job {
    /// Copies units.
    ///
    /// # Safety
    /// They lie in the buffers, the buffers are as promised, and no other thread copies these units.
    unsafe fn copy(&self, first: u64, count: u64) {
        let start = first * UNIT;
        let bytes = (count * UNIT).min(self.bytes - start);
        // SAFETY: the caller's promise; the owner keeps the buffers until its copy is complete.
        unsafe {
            if let Some((source, target)) = self.buffers.as_ref() {
                return source.copy_part_to(target, start, bytes);
            }
            weft_sys::copy::bytes(
                self.source.add(start as usize),
                self.target.add(start as usize),
                bytes as usize,
            );
        }
    }
}

/// A copy that two threads may share; see the module's page.
#[repr(C)]
pub(crate) struct Transfer {
    word: AtomicU64,
    job: UnsafeCell<MaybeUninit<Job>>,
}

impl Transfer {
    /// Creates a transfer that offers nothing.
    #[inline]
    pub(crate) const fn new() -> Self {
        Self { word: AtomicU64::new(0), job: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Copies `bytes` bytes, at least one, together with whoever helps. All is copied when this returns.
    ///
    /// # Safety
    /// The buffers are as promised for operations that this thread took out of matching; one of those is waited for
    /// by its own side and holds this transfer.
    #[inline]
    pub(crate) unsafe fn copy(&self, source: *const u8, target: *mut u8, bytes: u64) {
        let owner = weft_sched::current();
        // SAFETY: the caller's promise.
        unsafe { self.share(Job { source, target, bytes, owner, buffers: core::ptr::null() }, true) }
    }

    /// Copies `bytes` bytes, at least one, of a buffer to one for which [`Buffer::is_divisible`] holds, as
    /// [`Transfer::copy`] does.
    ///
    /// # Safety
    /// As [`Transfer::copy`].
    pub(crate) unsafe fn copy_derived(&self, source: &Buffer, target: &Buffer, bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.share_buffers(source, target, bytes, true) }
    }

    /// As [`Transfer::copy_derived`], for an owner that holds a lock: it does not park.
    ///
    /// # Safety
    /// As [`Transfer::copy`].
    pub(crate) unsafe fn copy_locked(&self, source: &Buffer, target: &Buffer, bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.share_buffers(source, target, bytes, false) }
    }

    unsafe fn share_buffers(&self, source: &Buffer, target: &Buffer, bytes: u64, parks: bool) {
        let buffers = (*source, *target);
        let owner = weft_sched::current();
        // SAFETY: the caller's promise; the buffers' descriptions live here until nobody needs them.
        unsafe {
            let (source, target) = (source.address, target.address);
            self.share(Job { source, target, bytes, owner, buffers: &buffers }, parks);
        }
    }

    /// Does a copy together with whoever helps.
    ///
    /// # Safety
    /// As [`Transfer::copy`].
    unsafe fn share(&self, job: Job, parks: bool) {
        let units = job.bytes.div_ceil(UNIT);
        if units > MASK {
            // SAFETY: the caller's promise; nothing is offered.
            return unsafe { job.copy(0, units) };
        }
        // SAFETY: nothing is left in the word and nobody is busy, so nobody else looks at the description.
        unsafe { (*self.job.get()).write(job) };
        let (mut first, mut count) = (0, portion(units));
        // Releases the description, and on a sender's side the data.
        self.word.store(count | units << BITS, Ordering::Release);
        loop {
            // SAFETY: these units left the middle by the store above or by the compare-and-swap below.
            unsafe { job.copy(first, count) };
            let mut word = self.word.load(Ordering::Relaxed);
            loop {
                count = portion(left(word));
                if count == 0 {
                    return self.join(parks);
                }
                match self.word.compare_exchange_weak(
                    word,
                    word + count,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => break,
                    Err(now) => word = now,
                }
            }
            first = front(word);
        }
    }

    /// Waits until the helper, if there is one, has finished its last piece. It is on a core, so that is soon; if the
    /// kernel took the core away, this thread parks, or gives its own away.
    fn join(&self, parks: bool) {
        let mut looks = 0;
        while self.word.load(Ordering::Acquire) & BUSY != 0 {
            if looks < PATIENCE {
                looks += 1;
                pause();
            } else if !parks {
                weft_sys::cpu::yield_core();
            } else if self.word.fetch_or(ASLEEP, Ordering::Relaxed) & BUSY != 0 {
                weft_sched::park();
            }
        }
    }

    /// Helps if there is something to help with. Returns whether it did. For threads that wait for the operation that
    /// holds this transfer, on a core.
    #[inline]
    pub(crate) fn help(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        left(word) != 0 && self.help_from(word)
    }

    #[cold]
    fn help_from(&self, mut word: u64) -> bool {
        let mut helping = 0;
        let mut job = MaybeUninit::uninit();
        loop {
            // Two threads that wait for one operation are an error of the program; one of them helps.
            if helping == 0 && word & BUSY != 0 {
                return false;
            }
            let count = portion(left(word));
            if count == 0 {
                break;
            }
            // Acquires the description and a sender's data with the first piece.
            let taken = (word - (count << BITS)) | BUSY;
            match self.word.compare_exchange_weak(word, taken, Ordering::Acquire, Ordering::Relaxed) {
                Err(now) => word = now,
                Ok(_) => {
                    if helping == 0 {
                        // SAFETY: written before the offer, and not again while `BUSY` is set.
                        job = unsafe { *self.job.get() };
                    }
                    helping += 1;
                    // SAFETY: these units left the middle by the compare-and-swap; the owner keeps both buffers in
                    // use until `BUSY` is clear; the description was read above.
                    unsafe { job.assume_init_ref().copy(back(taken), count) };
                    word = self.word.load(Ordering::Relaxed);
                }
            }
        }
        if helping == 0 {
            return false;
        }
        // SAFETY: read when the first piece was taken.
        let owner = unsafe { job.assume_init_ref() }.owner;
        if self.word.fetch_and(!(BUSY | ASLEEP), Ordering::Release) & ASLEEP != 0 {
            owner.unpark();
        }
        true
    }
}
