//! The word by which one thread invites another, which waits at this word, to do a part of its work.
//!
//! | value | meaning | goes to |
//! | --- | --- | --- |
//! | anything else | the guest waits for the host | invited, by the host |
//! | `INVITED` + share + address | the guest may do that share of the work at that address | `ACCEPTED` by the guest, `REFUSED` by the host |
//! | `ACCEPTED` | the guest is at work | `HELPED` by the guest |
//! | `HELPED`, `REFUSED` | the share is done, or left to the host | what the host says |
//!
//! The share has one doer, because one of two compare-and-swaps takes the invitation. What the host wrote before it
//! invited is visible to a guest that accepts, and what the guest did is visible to the host when the invitation has
//! ended. Between accepting and its store of `HELPED` the guest must do nothing that could wait for the host.
#![allow(unsafe_code)] // The model's cells.

use crate::facade::atomic::{AtomicUsize, Ordering};
use crate::facade::pause;
use crate::prefetch;

/// The guest is at work.
pub const ACCEPTED: usize = 5;
/// The guest has done its share.
pub const HELPED: usize = 6;
/// The host does the guest's share.
pub const REFUSED: usize = 7;

const INVITED: usize = 1 << (usize::BITS - 1);
/// Where the share lies above the address.
const SHIFT: u32 = usize::BITS - 8;

/// How often a host looks for the end of work that has begun before it gives its core away.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 400 };

/// What became of an invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The guest's share was done already.
    InTime,
    /// The host looked so many times for the end of the guest's share.
    Late(u32),
    /// The guest had not begun: its share is the host's.
    Alone,
}

/// Invites the guest to do `share`, below 128, at `address`. Returns false, and does nothing, if there is no room for the
/// address, which may have a tag.
#[inline]
pub fn invite(word: &AtomicUsize, address: *mut u8, share: u32) -> bool {
    debug_assert!(share < 128);
    if address.addr() >> SHIFT != 0 {
        return false;
    }
    let address = address.expose_provenance();
    word.store(INVITED | (share as usize) << SHIFT | address, Ordering::Release);
    true
}

/// Accepts an invitation, if there is one: its address and share. The guest does the share and then calls [`finish`].
#[inline]
pub fn accept(word: &AtomicUsize) -> Option<(*mut u8, u32)> {
    // If the host has invited, the line comes at once in the state that the exchange needs.
    prefetch::for_writing(word);
    let seen = word.load(Ordering::Relaxed);
    if seen & INVITED == 0
        || word.compare_exchange(seen, ACCEPTED, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        return None;
    }
    let address = core::ptr::with_exposed_provenance_mut(seen & ((1 << SHIFT) - 1));
    Some((address, ((seen & !INVITED) >> SHIFT) as u32))
}

/// Tells the host that the share is done. The guest lets go of all of it.
#[inline]
pub fn finish(word: &AtomicUsize) {
    word.store(HELPED, Ordering::Release);
}

/// Ends an invitation: takes it back if the guest has not begun, else waits until the share is done. For the host.
#[inline]
pub fn end(word: &AtomicUsize) -> End {
    let mut seen = word.load(Ordering::Acquire);
    if seen & INVITED != 0 {
        match word.compare_exchange(seen, REFUSED, Ordering::Relaxed, Ordering::Acquire) {
            Ok(_) => return End::Alone,
            Err(now) => seen = now,
        }
    }
    if seen == HELPED {
        return End::InTime;
    }
    let mut looks = 0;
    while seen != HELPED {
        debug_assert_eq!(seen, ACCEPTED);
        looks += 1;
        if looks <= PATIENCE {
            pause();
        } else {
            give_way();
        }
        seen = word.load(Ordering::Acquire);
    }
    End::Late(looks)
}

/// The kernel took the guest's core away in the midst of its work.
#[cold]
fn give_way() {
    #[cfg(not(loom))]
    weft_sys::cpu::yield_core();
    #[cfg(loom)]
    pause();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_invitation_carries_address_and_share() {
        let word = AtomicUsize::new(3);
        assert_eq!(accept(&word), None);
        let mut place = 0u8;
        assert!(invite(&word, &mut place, 127));
        assert_eq!(accept(&word), Some((&raw mut place, 127)));
        assert_eq!(accept(&word), None);
        finish(&word);
        assert_eq!(end(&word), End::InTime);
    }

    #[test]
    fn an_invitation_taken_back_cannot_be_accepted() {
        let word = AtomicUsize::new(3);
        let mut place = 0u8;
        assert!(invite(&word, &mut place, 1));
        assert_eq!(end(&word), End::Alone);
        assert_eq!(accept(&word), None);
    }

    #[test]
    fn an_address_with_a_tag_is_not_sent() {
        let word = AtomicUsize::new(3);
        assert!(!invite(&word, core::ptr::without_provenance_mut(1 << SHIFT), 1));
        assert_eq!(word.load(Ordering::Relaxed), 3);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::facade::UnsafeCell;
    use loom::sync::Arc;

    struct Job {
        word: AtomicUsize,
        source: UnsafeCell<u32>,
        target: UnsafeCell<u32>,
    }
    // SAFETY: what the model checks.
    unsafe impl Send for Job {}
    // SAFETY: two threads share it in the model, which reports accesses that are not exclusive.
    unsafe impl Sync for Job {}

    #[test]
    fn the_share_is_done_once_and_seen() {
        loom::model(|| {
            let job = Arc::new(Job {
                word: AtomicUsize::new(3),
                source: UnsafeCell::new(0),
                target: UnsafeCell::new(0),
            });
            let guest = job.clone();
            // The guest looks twice, as if it parked then, and does the share if it is invited.
            let thread = loom::thread::spawn(move || {
                for _ in 0..2 {
                    if let Some((address, share)) = accept(&guest.word) {
                        assert_eq!((address.addr(), share), (64, 9));
                        // SAFETY: loom's cells notice an access that is not exclusive.
                        let value = guest.source.with(|source| unsafe { *source });
                        // SAFETY: a guest that was invited is the only one to touch the tail until it has finished.
                        guest.target.with_mut(|target| unsafe { *target += value });
                        finish(&guest.word);
                        return;
                    }
                    loom::thread::yield_now();
                }
            });
            // SAFETY: nobody is invited yet.
            job.source.with_mut(|source| unsafe { *source = 7 });
            assert!(invite(&job.word, core::ptr::without_provenance_mut(64), 9));
            if end(&job.word) == End::Alone {
                // SAFETY: the guest has not begun, and can no more.
                job.target.with_mut(|target| unsafe { *target += 7 });
            }
            // SAFETY: whoever copied has finished.
            assert_eq!(job.target.with(|target| unsafe { *target }), 7);
            thread.join().unwrap();
        });
    }
}
