//! Words that stand for objects of the interface. No word comes back, and words of different kinds or ranks differ, so
//! a wrong one is noticed.

use core::ffi::c_void;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use weft_base::constants::MPI_T_ERR_INVALID_HANDLE;
use weft_base::{Error, Result};
use weft_sync::Lock;

/// Words below are constants of the standard, and those of enumerations.
const FIRST: usize = 1 << 16;

static NEXT: AtomicUsize = AtomicUsize::new(FIRST);

/// The objects of a kind that a rank has.
pub(crate) struct Handles<T> {
    /// What a wrong word's error is, and what the argument is.
    class: i32,
    what: &'static str,
    objects: Lock<BTreeMap<usize, Arc<T>>>,
}

impl<T> Handles<T> {
    pub(crate) const fn new(what: &'static str) -> Self {
        Self::failing(MPI_T_ERR_INVALID_HANDLE, what)
    }

    /// Makes a table whose wrong words have an error class of their own.
    pub(crate) const fn failing(class: i32, what: &'static str) -> Self {
        Self { class, what, objects: Lock::new(BTreeMap::new()) }
    }

    /// Returns a number that no other object has.
    pub(crate) fn number() -> usize {
        NEXT.fetch_add(16, Ordering::Relaxed)
    }

    /// Adds an object.
    pub(crate) fn insert(&self, object: Arc<T>) -> *mut c_void {
        let number = Self::number();
        self.insert_as(number, object)
    }

    /// Adds an object that has its number already.
    pub(crate) fn insert_as(&self, number: usize, object: Arc<T>) -> *mut c_void {
        self.objects.lock().insert(number, object);
        number as *mut c_void
    }

    /// Returns the object of a handle.
    pub(crate) fn get(&self, handle: *mut c_void) -> Result<Arc<T>> {
        self.find(handle as usize).ok_or_else(|| self.refuse(handle))
    }

    /// Returns the object with a number.
    pub(crate) fn find(&self, number: usize) -> Option<Arc<T>> {
        self.objects.lock().get(&number).cloned()
    }

    /// Takes an object out.
    pub(crate) fn remove(&self, handle: *mut c_void) -> Result<Arc<T>> {
        let removed = self.objects.lock().remove(&(handle as usize));
        removed.ok_or_else(|| self.refuse(handle))
    }

    /// Returns all objects.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.objects.lock().values().cloned().collect()
    }

    /// Takes the objects out that are not to be kept.
    pub(crate) fn retain(&self, keep: impl Fn(&T) -> bool) {
        // What an object does at its end it does outside of the lock.
        let all = core::mem::take(&mut *self.objects.lock());
        let (kept, _gone): (BTreeMap<_, _>, BTreeMap<_, _>) = all.into_iter().partition(|(_, o)| keep(o));
        self.objects.lock().extend(kept);
    }

    /// Takes all objects out.
    pub(crate) fn clear(&self) -> BTreeMap<usize, Arc<T>> {
        core::mem::take(&mut *self.objects.lock())
    }

    #[cold]
    fn refuse(&self, handle: *mut c_void) -> Error {
        let text =
            format!("{} is {:#x}, which is none of this rank, or is freed", self.what, handle as usize);
        Error::new(self.class, text)
    }
}
