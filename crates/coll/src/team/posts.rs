//! What ranks tell each other in rounds, and lend each other.
#![allow(unsafe_code)] // Posts and loans: memory that several ranks write and read, ordered by the rounds or an offer.

use crate::rounds::aside::Aside;
use crate::rounds::counters::DEPTH;
use crate::rounds::offer::Offer;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// What a rank tells the others about its part in the rounds under way.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct Post {
    /// The call, as a `Description`.
    pub call: [AtomicU64; DEPTH],
    /// The address of the rank's `Loan`, or null when its data is in its slot.
    pub loan: [AtomicPtr<()>; DEPTH],
}

/// What a rank of few tells the others about its part in a round: one line, with whatever small data fits.
#[derive(Default)]
#[repr(C)]
pub(crate) struct LinePost {
    /// The call, as a `Description`.
    pub call: AtomicU64,
    /// The address of the rank's `Loan`, or null.
    pub loan: AtomicPtr<()>,
    /// What all ranks' calls have in common.
    pub signature: AtomicU64,
    data: UnsafeCell<[u64; LINE_DATA / 8]>,
}

/// The bytes of data that fit in a line.
pub(crate) const LINE_DATA: usize = 32;

// SAFETY: the data is plain memory; accesses go through raw pointers under the rules of the lines.
unsafe impl Sync for LinePost {}

impl LinePost {
    /// Returns the place of small data, aligned to 16 bytes.
    #[inline]
    pub fn data(&self) -> *mut u8 {
        self.data.get().cast()
    }
}

// With the word before it, a post takes a cache line, and its data is aligned as slots are.
const _: () = assert!(size_of::<LinePost>() == 56 && core::mem::offset_of!(LinePost, data) == 24);

/// What the root of a large broadcast lends to its readers.
#[derive(Default)]
pub(crate) struct Lent {
    pub offer: Offer,
    /// The copy for late readers, if there is one.
    aside: AtomicPtr<Aside>,
}

impl Lent {
    /// Begins a loan. Only for the root, before it publishes.
    pub fn open(&self) {
        // A copy is left over if some rank was in another call.
        self.free();
        self.offer.open();
    }

    /// Puts a copy in place. Only for the root, before it says so.
    pub fn put(&self, aside: Option<Aside>) {
        let aside = aside.map_or(core::ptr::null_mut(), |aside| Box::into_raw(Box::new(aside)));
        self.aside.store(aside, Ordering::Release);
    }

    /// Returns the copy. Only for readers that were sent to it and have not ended their reading.
    pub fn aside(&self) -> Option<&Aside> {
        // SAFETY: the offer says when the copy is freed: when no reader is left.
        unsafe { self.aside.load(Ordering::Acquire).as_ref() }
    }

    /// Frees the copy. Only for whom the offer tells to, or who has the loan to itself.
    pub fn free(&self) {
        let aside = self.aside.swap(core::ptr::null_mut(), Ordering::AcqRel);
        if !aside.is_null() {
            // SAFETY: it came from a box, and the swap hands it out once.
            drop(unsafe { Box::from_raw(aside) });
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.free();
    }
}

const _: () = assert!(size_of::<Post>() == 64);
