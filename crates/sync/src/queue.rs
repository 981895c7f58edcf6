//! Intrusive queues of things that live for ever: a stack that many push chains to and anybody empties, and a list
//! of chains for one owner.
//!
//! An item has two links. `next` joins the items of one *chain*; `chain` joins the first items of chains. An item is
//! in at most one queue at a time, and whoever holds it alone may write its links. A chain can so be handed on whole,
//! in one step, without a walk to its end.
#![allow(unsafe_code)] // Links are raw pointers between items; the queues hand each item to one owner.

use crate::facade::{
    atomic::{AtomicPtr, Ordering},
    fence_after_rmw,
};
use core::ptr::null_mut;

/// The links of an item.
pub struct Links<T> {
    next: AtomicPtr<T>,
    chain: AtomicPtr<T>,
}

impl<T> Default for Links<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Links<T> {
    /// Creates links of an item that is in no queue.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { next: AtomicPtr::new(null_mut()), chain: AtomicPtr::new(null_mut()) }
    }

    /// Creates links of an item that is in no queue.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { next: AtomicPtr::new(null_mut()), chain: AtomicPtr::new(null_mut()) }
    }

    /// Returns the item that follows in its chain, if it is in one; a hint.
    #[inline]
    pub fn following(&self) -> Option<&'static T> {
        get(self.next.load(Ordering::Relaxed))
    }
}

/// An item of these queues.
pub trait Linked: Sized + 'static {
    /// Returns the item's links.
    fn links(&self) -> &Links<Self>;
}

#[inline]
fn get<T>(pointer: *mut T) -> Option<&'static T> {
    // SAFETY: pointers in links come from `&'static T` only.
    unsafe { pointer.as_ref() }
}

#[inline]
fn raw<T>(item: &'static T) -> *mut T {
    core::ptr::from_ref(item).cast_mut()
}

/// One or more items joined by `next`.
pub struct Chain<T: Linked>(&'static T);

impl<T: Linked> Chain<T> {
    /// Makes a chain of one.
    #[inline]
    pub fn one(item: &'static T) -> Self {
        item.links().next.store(null_mut(), Ordering::Relaxed);
        Self(item)
    }
}

impl<T: Linked> Iterator for IntoItems<T> {
    type Item = &'static T;
    fn next(&mut self) -> Option<&'static T> {
        let item = self.0?;
        // Read before the item is handed out: its new owner may link it elsewhere at once.
        self.0 = get(item.links().next.load(Ordering::Relaxed));
        Some(item)
    }
}

/// The items of a chain, one after another.
pub struct IntoItems<T: Linked>(Option<&'static T>);

impl<T: Linked> IntoIterator for Chain<T> {
    type Item = &'static T;
    type IntoIter = IntoItems<T>;
    fn into_iter(self) -> IntoItems<T> {
        IntoItems(Some(self.0))
    }
}

/// Items in one chain that grows at its head: anybody adds, and whoever takes gets everything.
///
/// Adding is one compare-exchange, taking one swap. There is no removal from the middle, hence no ABA problem.
pub struct Gathering<T>(AtomicPtr<T>);

impl<T: Linked> Default for Gathering<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Linked> Gathering<T> {
    /// Creates an empty one.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// Creates an empty one.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// Adds an item. Ordered (with [`fence_after_rmw`]) before later loads of the caller.
    #[inline]
    pub fn add(&self, item: &'static T) {
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            item.links().next.store(head, Ordering::Relaxed);
            match self.0.compare_exchange_weak(head, raw(item), Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => break,
                Err(seen) => head = seen,
            }
        }
        fence_after_rmw();
    }

    /// Takes all items, the last added first. Ordered after earlier stores of the caller.
    #[inline]
    pub fn take(&self) -> Option<Chain<T>> {
        #[cfg(any(loom, not(target_arch = "x86_64")))]
        crate::facade::atomic::fence(Ordering::SeqCst);
        get(self.0.swap(null_mut(), Ordering::SeqCst)).map(Chain)
    }

    /// Tells whether nothing was seen in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }
}

/// Chains that many threads push and anybody takes, all at once.
pub struct Inbox<T>(AtomicPtr<T>);

impl<T: Linked> Default for Inbox<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Linked> Inbox<T> {
    /// Creates an empty inbox.
    pub fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// Adds a chain. Ordered before later loads of the caller, so that it may look whether the owner sleeps.
    #[inline]
    pub fn push(&self, chain: Chain<T>) {
        let first = chain.0;
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            first.links().chain.store(head, Ordering::Relaxed);
            match self.0.compare_exchange_weak(head, raw(first), Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => break,
                Err(seen) => head = seen,
            }
        }
        fence_after_rmw();
    }

    /// Tells whether nothing was seen in it. Exact if ordered by a fence after the caller announced its sleep.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::SeqCst).is_null()
    }

    /// Takes everything and appends it to `queue`, the oldest chain first.
    #[inline]
    pub fn drain_to(&self, queue: &RunQueue<T>) {
        let mut newest = get(self.0.swap(null_mut(), Ordering::Acquire));
        let Some(last) = newest else { return };
        // Reverse the links between chains.
        let mut reversed: *mut T = null_mut();
        while let Some(first) = newest {
            newest = get(first.links().chain.load(Ordering::Relaxed));
            first.links().chain.store(reversed, Ordering::Relaxed);
            reversed = raw(first);
        }
        queue.append(reversed, raw(last));
    }
}

/// A first-in-first-out queue of chains with one owner at a time.
///
/// The heads are atomics so that others may look whether something waits. Whoever calls anything but
/// [`RunQueue::is_empty`] must have the queue to itself, by [`Biased`](crate::Biased) or because nobody else knows it;
/// otherwise items get lost or come twice (nothing worse: no reference is ever invalid).
pub struct RunQueue<T> {
    /// The chain being consumed, by `next`.
    current: AtomicPtr<T>,
    /// First items of waiting chains, by `chain`.
    head: AtomicPtr<T>,
    tail: AtomicPtr<T>,
}

impl<T: Linked> Default for RunQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Linked> RunQueue<T> {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self {
            current: AtomicPtr::new(null_mut()),
            head: AtomicPtr::new(null_mut()),
            tail: AtomicPtr::new(null_mut()),
        }
    }

    /// Tells whether nothing waits. For others than the owner a hint.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.current.load(Ordering::Relaxed).is_null() && self.head.load(Ordering::Relaxed).is_null()
    }

    /// Adds a chain at the end.
    #[inline]
    pub fn push(&self, chain: Chain<T>) {
        chain.0.links().chain.store(null_mut(), Ordering::Relaxed);
        self.append(raw(chain.0), raw(chain.0));
    }

    #[inline]
    fn append(&self, first: *mut T, last: *mut T) {
        match get(self.tail.load(Ordering::Relaxed)) {
            Some(tail) => tail.links().chain.store(first, Ordering::Relaxed),
            None => self.head.store(first, Ordering::Relaxed),
        }
        self.tail.store(last, Ordering::Relaxed);
    }

    /// Takes the oldest item.
    #[inline]
    pub fn pop(&self) -> Option<&'static T> {
        let item = match get(self.current.load(Ordering::Relaxed)) {
            Some(item) => item,
            None => {
                let first = get(self.head.load(Ordering::Relaxed))?;
                let rest = first.links().chain.load(Ordering::Relaxed);
                self.head.store(rest, Ordering::Relaxed);
                if rest.is_null() {
                    self.tail.store(null_mut(), Ordering::Relaxed);
                }
                first
            }
        };
        self.current.store(item.links().next.load(Ordering::Relaxed), Ordering::Relaxed);
        Some(item)
    }

    /// Returns the item that will be taken next, as far as can be seen; a hint.
    #[inline]
    pub fn upcoming(&self) -> Option<&'static T> {
        get(self.current.load(Ordering::Relaxed)).or_else(|| get(self.head.load(Ordering::Relaxed)))
    }

    /// Takes the newer half, at least one item, at most about `limit`, into `other`.
    pub fn split(&self, other: &RunQueue<T>, limit: usize) {
        let limit = limit.max(1);
        if let Some(first) = get(self.head.load(Ordering::Relaxed)) {
            let count = count(first, limit * 2, |l| &l.chain);
            if count == 1 && self.current.load(Ordering::Relaxed).is_null() {
                // A single chain: make it the current one, so that it can be cut by item below.
                self.current.store(raw(first), Ordering::Relaxed);
                self.head.store(null_mut(), Ordering::Relaxed);
                self.tail.store(null_mut(), Ordering::Relaxed);
            } else {
                let keep = if self.current.load(Ordering::Relaxed).is_null() { count / 2 } else { 0 };
                let last = self.tail.load(Ordering::Relaxed);
                if keep == 0 {
                    self.head.store(null_mut(), Ordering::Relaxed);
                    self.tail.store(null_mut(), Ordering::Relaxed);
                    other.append(raw(first), last);
                } else {
                    let end = nth(first, keep - 1, |l| &l.chain);
                    let start = end.links().chain.swap(null_mut(), Ordering::Relaxed);
                    self.tail.store(raw(end), Ordering::Relaxed);
                    other.append(start, last);
                }
                return;
            }
        }
        let Some(first) = get(self.current.load(Ordering::Relaxed)) else { return };
        let count = count(first, limit * 2, |l| &l.next);
        let start = if count == 1 {
            self.current.store(null_mut(), Ordering::Relaxed);
            raw(first)
        } else {
            nth(first, count / 2 - 1, |l| &l.next).links().next.swap(null_mut(), Ordering::Relaxed)
        };
        if let Some(start) = get(start) {
            other.push(Chain(start));
        }
    }

    /// Takes everything into `other`.
    pub fn take_all(&self, other: &RunQueue<T>) {
        if let Some(current) = get(self.current.swap(null_mut(), Ordering::Relaxed)) {
            other.push(Chain(current));
        }
        let head = self.head.swap(null_mut(), Ordering::Relaxed);
        let tail = self.tail.swap(null_mut(), Ordering::Relaxed);
        if !head.is_null() {
            other.append(head, tail);
        }
    }
}

fn count<T: Linked>(first: &'static T, limit: usize, link: impl Fn(&Links<T>) -> &AtomicPtr<T>) -> usize {
    let (mut item, mut count) = (first, 1);
    while count < limit {
        let Some(next) = get(link(item.links()).load(Ordering::Relaxed)) else { break };
        item = next;
        count += 1;
    }
    count
}

fn nth<T: Linked>(first: &'static T, steps: usize, link: impl Fn(&Links<T>) -> &AtomicPtr<T>) -> &'static T {
    let mut item = first;
    for _ in 0..steps {
        match get(link(item.links()).load(Ordering::Relaxed)) {
            Some(next) => item = next,
            None => break,
        }
    }
    item
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Item(Links<Item>);

    impl Linked for Item {
        fn links(&self) -> &Links<Self> {
            &self.0
        }
    }

    fn item() -> &'static Item {
        Box::leak(Box::new(Item(Links::new())))
    }

    #[test]
    fn what_is_upcoming_is_taken_next() {
        let queue = RunQueue::new();
        assert!(queue.upcoming().is_none());
        let gathering = Gathering::new();
        (0..3).for_each(|_| gathering.add(item()));
        queue.push(gathering.take().expect("three were added"));
        (0..2).for_each(|_| queue.push(Chain::one(item())));
        let mut taken = 0;
        while let Some(upcoming) = queue.upcoming() {
            let following = upcoming.links().following();
            assert!(core::ptr::eq(queue.pop().expect("one is upcoming"), upcoming));
            // In a chain the next one is known as soon as the one before it.
            if let Some(following) = following {
                assert!(core::ptr::eq(queue.upcoming().expect("the chain goes on"), following));
            }
            taken += 1;
        }
        assert_eq!(taken, 5);
        assert!(queue.pop().is_none());
    }
}
