//! Errands: what only a certain thread may do, and does while it waits for something else.
//!
//! Others finish most of what a waiting thread has begun. What calls the user's functions they cannot: those must find the
//! thread, the program and the handles of the rank whose they are. So who finds such work hands it to the thread, which does
//! it when it parks, or at once if it is parked.
//!
//! A thread that others may hand an errand is *engaged*: then it waits in ways that [`Thread::unpark`] interrupts. It engages
//! itself, before anybody can know of it, and anybody may release it; so it never waits in another way while an errand comes.

use core::sync::atomic::Ordering;

use weft_sync::Lock;
use weft_sync::atomic::{AtomicBool, AtomicU32};

use crate::thread::Thread;

type Errand = Box<dyn FnOnce() + Send>;

/// The errands of a thread.
#[derive(Default)]
pub(crate) struct Errands {
    engagements: AtomicU32,
    /// Whether the list may hold something: set after an entry, before the thread is woken.
    has_some: AtomicBool,
    list: Lock<Vec<Errand>>,
}

impl Errands {
    #[inline]
    pub(crate) fn may_come(&self) -> bool {
        self.engagements.load(Ordering::Relaxed) > 0
    }

    /// Does what there is. For the thread itself, without a lock of the library.
    #[inline]
    pub(crate) fn run(&self) {
        if self.has_some.load(Ordering::Relaxed) {
            self.run_all();
        }
    }

    #[cold]
    fn run_all(&self) {
        self.has_some.store(false, Ordering::Relaxed);
        let all = core::mem::take(&mut *self.list.lock());
        all.into_iter().for_each(|errand| errand());
    }
}

impl Thread {
    /// Makes the thread, which is the calling one, wait in ways that an errand interrupts, until as many calls of
    /// [`Thread::release`].
    pub fn engage(&self) {
        self.errands.engagements.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes back an [`Thread::engage`].
    pub fn release(&self) {
        self.errands.engagements.fetch_sub(1, Ordering::Relaxed);
    }

    /// Has the thread do something as soon as it waits; at once if it waits already. The errand must not park, and must do no
    /// harm if it comes late.
    pub fn give_errand(&'static self, errand: impl FnOnce() + Send + 'static) {
        self.errands.list.lock().push(Box::new(errand));
        self.errands.has_some.store(true, Ordering::Relaxed);
        // Its token makes the flag visible.
        self.unpark();
    }
}
