//! Sections of one thread that need no atomic read-modify-write, as long as nobody else wants in.
//!
//! Where one thread does nearly everything, a lock or an exchange on memory in its own cache still costs it some 18 cycles,
//! and what follows waits for it. A [`Solo`] lets its owner do without them: inside a [`Section`] it may change what
//! others change by atomic operations by plain loads and stores instead, because the others are kept out.
//!
//! One word says what holds:
//!
//! | `owner` | meaning | goes to |
//! | --- | --- | --- |
//! | a thread's name | that thread may enter | visited, or ending |
//! | a thread's name + 1 | somebody visits: the owner finds the door closed, and uses atomic operations | the name when the visit ends, or ending |
//! | 1 | ending: the door is closed for ever, but the owner may still be inside | 0 by whoever has seen it outside |
//! | 0 | over for ever, or not begun: everybody uses atomic operations | |
//!
//! `busy` is 1 while the owner is inside; only the owner writes it.
//!
//! The owner writes `busy`, then reads `owner`; who wants in writes `owner`, then reads `busy`. At least one of them must
//! see the other, which needs a full barrier between write and read on both sides. As in [`Biased`](crate::Biased) the owner
//! has only a compiler barrier, and the other side's system call puts a full barrier into every running thread in its stead.
//!
//! Who wants in waits for the owner to come out. So the owner waits for nobody inside a section, and enters by itself
//! alone: the locks it takes there are free, since whoever else holds one has closed the door first.
#![allow(unsafe_code)] // Takes locks without atomic operations, where sections keep all others out.

use crate::barrier::{has_global_barrier, owner_barrier, visitor_barrier};
use crate::facade::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::{Backoff, Lock, LockGuard};

/// Added to the owner's name during a visit.
const VISITED: usize = 1;
const ENDING: usize = 1;
const OVER: usize = 0;

/// See the module's page. Threads are named by even numbers other than 0.
pub struct Solo {
    owner: AtomicUsize,
    busy: AtomicU32,
    visitor: AtomicUsize,
    visits: Lock<()>,
}

/// The owner's time inside; see [`Solo::enter`].
#[must_use]
pub struct Section<'a> {
    solo: Option<&'a Solo>,
}

/// The time in which the owner stays outside; see [`Solo::visit`].
#[must_use]
pub struct Visit<'a> {
    solo: &'a Solo,
    owner: usize,
    _only_one: LockGuard<'a, ()>,
}

impl<T> Lock<T> {
    /// As [`Lock::lock`], without an atomic operation inside a section that keeps all others out, in which nobody else can hold
    /// the lock.
    ///
    /// # Safety
    /// Whoever uses the lock outside of `section`'s [`Solo`] visits it or meets it first.
    #[inline(always)]
    pub unsafe fn lock_in(&self, section: &Section<'_>) -> LockGuard<'_, T> {
        if section.is_inside() {
            // SAFETY: the owner is inside, so all others who use the lock are kept out, by the caller's promise.
            if let Some(guard) = unsafe { self.try_lock_alone() } {
                return guard;
            }
        }
        self.lock()
    }
}

impl Default for Solo {
    fn default() -> Self {
        Self::new()
    }
}

impl Solo {
    /// Creates one without an owner.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            owner: AtomicUsize::new(OVER),
            busy: AtomicU32::new(0),
            visitor: AtomicUsize::new(0),
            visits: Lock::new(()),
        }
    }

    /// Creates one without an owner.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self {
            owner: AtomicUsize::new(OVER),
            busy: AtomicU32::new(0),
            visitor: AtomicUsize::new(0),
            visits: Lock::new(()),
        }
    }

    /// Makes a thread the owner, before anybody else touches what the sections are about. Does nothing where owners would
    /// have to fence: then atomic operations are as good.
    pub fn reserve(&self, owner: usize) {
        debug_assert!(owner != OVER && owner & VISITED == 0);
        if has_global_barrier() {
            self.owner.store(owner, Ordering::SeqCst);
        }
    }

    /// Begins a section of the calling thread, which is not in one. The section tells whether the thread is inside.
    #[inline(always)]
    pub fn enter(&self, me: usize) -> Section<'_> {
        if self.owner.load(Ordering::Relaxed) != me {
            return Section { solo: None };
        }
        debug_assert!(self.busy.load(Ordering::Relaxed) == 0, "a section within a section");
        self.busy.store(1, Ordering::Relaxed);
        owner_barrier();
        if self.owner.load(Ordering::Acquire) == me {
            return Section { solo: Some(self) };
        }
        self.busy.store(0, Ordering::Release);
        Section { solo: None }
    }

    /// Closes the door for the calling thread's time inside, unless it is the owner, or is visiting already, or there is none.
    /// Waits until the owner is outside; the caller must hold nothing that the owner may want inside a section.
    #[inline]
    pub fn visit(&self, me: impl FnOnce() -> usize) -> Option<Visit<'_>> {
        let owner = self.owner.load(Ordering::Acquire);
        if owner == OVER {
            return None;
        }
        let me = me();
        if owner & !VISITED == me { None } else { self.visit_owner(me) }
    }

    #[cold]
    fn visit_owner(&self, me: usize) -> Option<Visit<'_>> {
        if self.visitor.load(Ordering::Relaxed) == me {
            return None;
        }
        let only_one = self.visits.lock();
        let owner = self.owner.load(Ordering::Relaxed) & !VISITED;
        let closed = self.owner.compare_exchange(owner, owner | VISITED, Ordering::SeqCst, Ordering::SeqCst);
        if owner == OVER || closed.is_err() {
            self.end();
            return None;
        }
        self.visitor.store(me, Ordering::Relaxed);
        self.await_owner();
        Some(Visit { solo: self, owner, _only_one: only_one })
    }

    /// To be called before an atomic operation on what the sections are about, outside of them: if the caller is neither
    /// the owner nor a visitor, there will be no more sections.
    #[inline]
    pub fn meet(&self, me: impl FnOnce() -> usize) {
        if self.owner.load(Ordering::Acquire) != OVER {
            self.meet_owner(me());
        }
    }

    #[inline(never)]
    fn meet_owner(&self, me: usize) {
        let owner = self.owner.load(Ordering::Relaxed);
        if owner & !VISITED != me && (owner & VISITED == 0 || self.visitor.load(Ordering::Relaxed) != me) {
            self.end();
        }
    }

    /// Ends all sections for ever. On return the owner is outside.
    #[cold]
    fn end(&self) {
        self.owner.store(ENDING, Ordering::SeqCst);
        self.await_owner();
        self.owner.store(OVER, Ordering::Release);
    }

    fn await_owner(&self) {
        visitor_barrier();
        let mut backoff = Backoff::new();
        while self.busy.load(Ordering::Acquire) != 0 {
            backoff.wait();
        }
    }
}

impl Section<'_> {
    /// Returns the section of a thread that is in none.
    pub const fn outside() -> Self {
        Self { solo: None }
    }

    /// Tells whether the thread is inside. If not, it uses atomic operations.
    #[inline(always)]
    pub fn is_inside(&self) -> bool {
        self.solo.is_some()
    }
}

impl Drop for Section<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(solo) = self.solo {
            solo.busy.store(0, Ordering::Release);
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.solo.visitor.store(0, Ordering::Relaxed);
        // Fails if there are no more sections.
        let (from, to) = (self.owner | VISITED, self.owner);
        let _ = self.solo.owner.compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    const OWNER: usize = 2;
    const OTHER: usize = 4;

    fn owned() -> Solo {
        crate::enable_global_barrier();
        let solo = Solo::new();
        solo.reserve(OWNER);
        solo
    }

    #[test]
    fn only_the_owner_enters() {
        let solo = owned();
        assert_eq!(solo.enter(OWNER).is_inside(), has_global_barrier());
        assert!(!solo.enter(OTHER).is_inside());
        assert!(!Solo::new().enter(OWNER).is_inside(), "without an owner nobody enters");
    }

    #[test]
    fn a_visit_closes_the_door_and_opens_it_again() {
        let solo = owned();
        assert!(solo.visit(|| OWNER).is_none(), "the owner visits nobody");
        let visit = solo.visit(|| OTHER);
        assert_eq!(visit.is_some(), has_global_barrier());
        assert!(!solo.enter(OWNER).is_inside());
        assert!(solo.visit(|| OTHER).is_none(), "who visits is there already");
        solo.meet(|| OTHER);
        solo.meet(|| OWNER);
        drop(visit);
        assert_eq!(solo.enter(OWNER).is_inside(), has_global_barrier());
    }

    #[test]
    fn who_comes_unannounced_ends_it() {
        let solo = owned();
        solo.meet(|| OWNER);
        assert_eq!(solo.enter(OWNER).is_inside(), has_global_barrier(), "the owner may meet itself");
        solo.meet(|| OTHER);
        assert!(!solo.enter(OWNER).is_inside());
        assert!(solo.visit(|| OTHER).is_none(), "there is nobody to visit");
    }

    #[test]
    fn who_comes_unannounced_ends_it_during_a_visit() {
        let solo = owned();
        let visit = solo.visit(|| OTHER);
        solo.meet(|| 6);
        drop(visit);
        assert!(!solo.enter(OWNER).is_inside());
    }

    #[test]
    fn nothing_is_lost_among_owner_visitors_and_strangers() {
        let (solo, count) = (owned(), AtomicU64::new(0));
        // As a thread without its lock would do it.
        let add_plainly = || count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        const EACH: u64 = 200_000;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let section = solo.enter(OWNER);
                    if section.is_inside() {
                        add_plainly()
                    } else {
                        _ = count.fetch_add(1, Ordering::Relaxed)
                    }
                }
            });
            scope.spawn(|| {
                for _ in 0..EACH / 100 {
                    let _visit = solo.visit(|| OTHER);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
            for stranger in [6, 8] {
                let (solo, count) = (&solo, &count);
                scope.spawn(move || {
                    while count.load(Ordering::Relaxed) < EACH / 2 {
                        std::thread::yield_now();
                    }
                    for _ in 0..EACH {
                        solo.meet(|| stranger);
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), EACH + EACH / 100 + 2 * EACH);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    const OWNER: usize = 2;

    /// Adds one: plainly inside a section, by an atomic operation outside.
    fn add(count: &AtomicU32, is_inside: bool) {
        if is_inside {
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        } else {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// With one other: of two who wait for the owner, the model lets each go on after the other for ever.
    fn check(sections: usize, other: fn(&Solo, &AtomicU32)) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let all = Arc::new((Solo::new(), AtomicU32::new(0)));
            all.0.reserve(OWNER);
            let thread = {
                let all = all.clone();
                thread::spawn(move || other(&all.0, &all.1))
            };
            for _ in 0..sections {
                let section = all.0.enter(OWNER);
                add(&all.1, section.is_inside());
            }
            thread.join().unwrap();
            assert_eq!(all.1.load(Ordering::Relaxed) as usize, sections + 1);
        });
    }

    fn visit(solo: &Solo, count: &AtomicU32) {
        let _visit = solo.visit(|| 4);
        add(count, false);
    }

    fn meet(solo: &Solo, count: &AtomicU32) {
        solo.meet(|| 6);
        add(count, false);
    }

    #[test]
    fn a_visitor_and_the_owner_exclude_each_other() {
        check(2, visit);
    }

    #[test]
    fn a_stranger_and_the_owner_exclude_each_other() {
        check(2, meet);
    }
}
