//! A table of user-created objects: handle values to objects, per rank. See [`crate::handle`] for the values.

use crate::handle::Kind;
use crate::site::{self, Site};
use crate::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

struct Slot<T> {
    /// The upper half of the handle: the generation above the rank.
    upper: u32,
    object: Option<Arc<T>>,
    /// The call that created it, in checking mode.
    site: Option<&'static Site>,
}

/// Objects by handle. Shared by the threads of one rank.
pub struct Table<T> {
    kind: Kind,
    rank: u32,
    slots: RwLock<(Vec<Slot<T>>, Vec<u32>)>,
    removals: AtomicU64,
}

/// One generation in a slot's upper half.
const GENERATION: u32 = 1 << 16;

impl<T> Table<T> {
    /// Creates an empty table for objects of rank `rank`.
    pub const fn new(kind: Kind, rank: u32) -> Self {
        Self { kind, rank, slots: RwLock::new((Vec::new(), Vec::new())), removals: AtomicU64::new(0) }
    }

    /// Adds an object and returns its handle.
    pub fn insert(&self, object: Arc<T>) -> usize {
        let mut guard = self.slots.write().unwrap_or_else(|e| e.into_inner());
        let (slots, free) = &mut *guard;
        let index = free.pop().unwrap_or_else(|| {
            slots.push(Slot { upper: self.rank & (GENERATION - 1), object: None, site: None });
            (slots.len() - 1) as u32
        });
        let slot = &mut slots[index as usize];
        slot.object = Some(object);
        slot.site = site::current();
        (slot.upper as usize) << 32 | (self.kind.first() + index as usize)
    }

    /// Returns the index a handle means, whether or not there is such a slot.
    #[inline]
    fn index(&self, handle: usize) -> usize {
        (handle & 0xffff_ffff).wrapping_sub(self.kind.first())
    }

    /// Returns the object of a handle.
    ///
    /// # Errors
    /// The kind's class, for a handle that was never given out or has been freed.
    #[inline]
    pub fn get(&self, handle: usize) -> Result<Arc<T>> {
        let guard = self.slots.read().unwrap_or_else(|e| e.into_inner());
        match guard.0.get(self.index(handle)) {
            Some(Slot { upper, object: Some(object), .. }) if *upper as usize == handle >> 32 => {
                Ok(object.clone())
            }
            found => Err(self.bad(handle, found)),
        }
    }

    /// Returns how often something was removed: what was found before is still there while this stays the same.
    #[inline]
    pub fn removals(&self) -> u64 {
        self.removals.load(Ordering::Acquire)
    }

    /// Returns the upper half of the handle at an index, whether or not there is an object; nothing where there never was one.
    pub fn upper(&self, index: usize) -> Option<u32> {
        let guard = self.slots.read().unwrap_or_else(|e| e.into_inner());
        guard.0.get(index).map(|slot| slot.upper)
    }

    /// Takes the object out; its handle is invalid from now on.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn remove(&self, handle: usize) -> Result<Arc<T>> {
        let mut guard = self.slots.write().unwrap_or_else(|e| e.into_inner());
        let (slots, free) = &mut *guard;
        let index = self.index(handle);
        match slots.get_mut(index) {
            Some(slot) if slot.upper as usize == handle >> 32 && slot.object.is_some() => {
                // A slot whose generations are used up is not used again, so that no old handle becomes valid.
                if let Some(next) = slot.upper.checked_add(GENERATION) {
                    slot.upper = next;
                    free.push(index as u32);
                }
                let object = slot.object.take().expect("checked above");
                // Behind the removal: who reads the new number finds the object gone.
                self.removals.fetch_add(1, Ordering::Release);
                Ok(object)
            }
            found => Err(self.bad(handle, found.as_deref())),
        }
    }

    /// Returns the objects that are alive, with their handles.
    pub fn live(&self) -> Vec<(usize, Arc<T>)> {
        let guard = self.slots.read().unwrap_or_else(|e| e.into_inner());
        let found = guard.0.iter().enumerate().filter_map(|(i, s)| {
            s.object.clone().map(|o| ((s.upper as usize) << 32 | (self.kind.first() + i), o))
        });
        found.collect()
    }

    /// Returns the kind of the objects.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Lists the calls that created the live objects that `wanted` holds for, in checking mode.
    pub fn sites(&self, wanted: impl Fn(usize, &T) -> bool) -> Vec<Option<&'static Site>> {
        let guard = self.slots.read().unwrap_or_else(|e| e.into_inner());
        let slots = guard.0.iter().enumerate();
        let live = slots.filter_map(|(i, slot)| {
            let handle = (slot.upper as usize) << 32 | (i + self.kind.first());
            slot.object.as_ref().filter(|object| wanted(handle, object)).map(|_| slot.site)
        });
        live.collect()
    }

    #[cold]
    fn bad(&self, handle: usize, found: Option<&Slot<T>>) -> Error {
        let known = found.is_some();
        self.kind.refuse(handle, self.rank, known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::{MPI_COMM_NULL, MPI_ERR_COMM};

    #[test]
    fn a_freed_handle_is_noticed_even_when_its_slot_is_reused() {
        let table = Table::new(Kind::Comm, 0);
        let first = table.insert(Arc::new(1));
        assert_eq!(*table.get(first).unwrap(), 1);
        table.remove(first).unwrap();
        let second = table.insert(Arc::new(2));
        assert_ne!(first, second);
        let error = table.get(first).unwrap_err();
        assert_eq!(error.class, MPI_ERR_COMM);
        assert!(error.message.contains("freed already"), "{error}");
        assert_eq!(*table.get(second).unwrap(), 2);
        for bad in [0, 0x101, usize::MAX, MPI_COMM_NULL.0, second + 1, second - 1] {
            assert!(table.get(bad).is_err() && table.remove(bad).is_err());
        }
    }

    #[test]
    fn handles_of_other_kinds_and_ranks_are_refused() {
        let (mine, others) = (Table::new(Kind::Comm, 1), Table::new(Kind::Comm, 2));
        let types = Table::new(Kind::Datatype, 1);
        let (a, b, c) = (mine.insert(Arc::new(1)), others.insert(Arc::new(2)), types.insert(Arc::new(3)));
        assert!(mine.get(a).is_ok());
        assert!(mine.get(b).unwrap_err().message.contains("of rank 2"));
        assert!(mine.get(c).unwrap_err().message.contains("a datatype"));
    }

    #[test]
    fn no_handle_comes_back_however_often_a_slot_is_used() {
        let table = Table::new(Kind::Info, 70_000);
        let first = table.insert(Arc::new(()));
        table.remove(first).unwrap();
        for _ in 0..70_000 {
            let handle = table.insert(Arc::new(()));
            assert_ne!(handle, first);
            table.remove(handle).unwrap();
        }
        assert!(table.get(first).is_err());
        assert_eq!(table.live().len(), 0);
    }
}
