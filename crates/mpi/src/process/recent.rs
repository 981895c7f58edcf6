//! The objects a rank's own thread used last, so that it finds them again without a lock or a reference count.
//!
//! A derived datatype is looked up in every message. Through the table that is four atomic operations, a tenth of a short
//! message. Here it is a few plain loads: only the rank's main thread uses this cache, and each entry counts in a plain
//! number how often it is borrowed, so an entry in use is never replaced. Whether an object is still there tells the
//! table's number of removals: after any removal entries are read anew. An entry keeps its object alive until then.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::ops::Deref;
use std::sync::Arc;

/// Entries; an object's handle decides which it goes to.
const ENTRIES: usize = 4;

struct Entry<T> {
    handle: Cell<usize>,
    removals: Cell<u64>,
    borrowed: Cell<u32>,
    object: UnsafeCell<Option<Arc<T>>>,
}

/// A small cache that belongs to one thread.
pub(crate) struct Recent<T>([Entry<T>; ENTRIES]);

// SAFETY: the functions that touch entries are unsafe and only for the one thread the cache belongs to; what entries
// hold may go to other threads with it.
unsafe impl<T: Send + Sync> Sync for Recent<T> {}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Entry {
            handle: Cell::new(0),
            // No table has removed as many: zero is a handle that programs pass by mistake, and nothing is removed at first.
            removals: Cell::new(u64::MAX),
            borrowed: Cell::new(0),
            object: UnsafeCell::new(None),
        }))
    }
}

/// A borrowed entry.
pub struct Held<'a, T>(&'a Entry<T>);

impl<T> Deref for Held<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: an entry that is borrowed has an object and is not replaced; `Held` stays on the cache's thread, as
        // an entry is not `Sync`.
        unsafe { (*self.0.object.get()).as_deref().expect("a borrowed entry holds an object") }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.borrowed.set(self.0.borrowed.get() - 1);
    }
}

impl<T> Recent<T> {
    /// Returns the object of a handle if it is known and nothing has been removed from its table since.
    ///
    /// # Safety
    /// The calling thread is the one the cache belongs to.
    #[inline]
    pub(crate) unsafe fn get(&self, handle: usize, removals: u64) -> Option<Held<'_, T>> {
        let entry = &self.0[handle % ENTRIES];
        if entry.handle.get() != handle || entry.removals.get() != removals {
            return None;
        }
        entry.borrowed.set(entry.borrowed.get() + 1);
        Some(Held(entry))
    }

    /// Remembers an object that was looked up after `removals` was read, unless its place is in use.
    ///
    /// # Safety
    /// As [`Recent::get`].
    pub(crate) unsafe fn put(&self, handle: usize, removals: u64, object: &Arc<T>) {
        let entry = &self.0[handle % ENTRIES];
        if entry.borrowed.get() == 0 {
            // SAFETY: nobody borrows from the entry, and no other thread touches it.
            let old = unsafe { (*entry.object.get()).replace(object.clone()) };
            entry.handle.set(handle);
            entry.removals.set(removals);
            drop(old);
        }
    }

    /// Lets go of the object of a handle, unless it is in use.
    ///
    /// # Safety
    /// As [`Recent::get`].
    pub(crate) unsafe fn forget(&self, handle: usize) {
        let entry = &self.0[handle % ENTRIES];
        if entry.handle.get() == handle && entry.borrowed.get() == 0 {
            entry.removals.set(u64::MAX);
            // SAFETY: nobody borrows from the entry, and no other thread touches it.
            drop(unsafe { (*entry.object.get()).take() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_entry_is_nobodys_whatever_the_handle() {
        let recent: Recent<i32> = Recent::default();
        for handle in 0..2 * ENTRIES {
            // SAFETY: one thread only.
            assert!(unsafe { recent.get(handle, 0) }.is_none());
        }
    }

    #[test]
    fn an_entry_in_use_stays_and_a_removal_makes_all_unknown() {
        let recent = Recent::default();
        let (first, second) = (Arc::new(1), Arc::new(2));
        // SAFETY: one thread only.
        unsafe {
            assert!(recent.get(8, 0).is_none());
            recent.put(8, 0, &first);
            let held = recent.get(8, 0).unwrap();
            recent.put(8 + ENTRIES, 0, &second);
            assert_eq!(*held, 1);
            assert!(recent.get(8 + ENTRIES, 0).is_none(), "its place is in use");
            drop(held);
            recent.put(8 + ENTRIES, 0, &second);
            assert_eq!(*recent.get(8 + ENTRIES, 0).unwrap(), 2);
            assert!(recent.get(8, 0).is_none() && recent.get(8 + ENTRIES, 1).is_none());
            assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 2));
            recent.forget(8);
            assert!(recent.get(8 + ENTRIES, 0).is_some());
            recent.forget(8 + ENTRIES);
            assert!(recent.get(8 + ENTRIES, 0).is_none() && Arc::strong_count(&second) == 1);
        }
    }
}
