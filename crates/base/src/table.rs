//! A table of user-created objects: handle values to objects, per rank.
//!
//! A handle is `generation << 32 | index + FIRST`, so a freed handle that is used again is noticed, and no
//! user handle collides with the ABI's predefined handles (all below 4096) or looks like null.

use crate::{Error, Result};
use std::sync::{Arc, RwLock};

const FIRST: usize = 4096;

struct Slot<T> {
    generation: u32,
    object: Option<Arc<T>>,
}

/// Objects by handle. Shared by the threads of one rank.
pub struct Table<T> {
    class: i32,
    kind: &'static str,
    slots: RwLock<(Vec<Slot<T>>, Vec<u32>)>,
}

impl<T> Table<T> {
    /// Creates an empty table; `class` and `kind` (`"communicator"`) go into errors about bad handles.
    pub const fn new(class: i32, kind: &'static str) -> Self {
        Self { class, kind, slots: RwLock::new((Vec::new(), Vec::new())) }
    }

    /// Adds an object and returns its handle.
    pub fn insert(&self, object: Arc<T>) -> usize {
        let mut guard = self.slots.write().unwrap_or_else(|e| e.into_inner());
        let (slots, free) = &mut *guard;
        let index = free.pop().unwrap_or_else(|| {
            slots.push(Slot { generation: 0, object: None });
            (slots.len() - 1) as u32
        });
        let slot = &mut slots[index as usize];
        slot.object = Some(object);
        (slot.generation as usize) << 32 | (index as usize + FIRST)
    }

    /// Returns the object of a handle.
    ///
    /// # Errors
    /// The table's class, for a handle that was never given out or has been freed.
    #[inline]
    pub fn get(&self, handle: usize) -> Result<Arc<T>> {
        let guard = self.slots.read().unwrap_or_else(|e| e.into_inner());
        let index = (handle & 0xffff_ffff).wrapping_sub(FIRST);
        match guard.0.get(index) {
            Some(Slot { generation, object: Some(object) }) if *generation as usize == handle >> 32 => {
                Ok(object.clone())
            }
            _ => Err(self.bad(handle)),
        }
    }

    /// Takes the object out; its handle is invalid from now on.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn remove(&self, handle: usize) -> Result<Arc<T>> {
        let mut guard = self.slots.write().unwrap_or_else(|e| e.into_inner());
        let (slots, free) = &mut *guard;
        let index = (handle & 0xffff_ffff).wrapping_sub(FIRST);
        match slots.get_mut(index) {
            Some(slot) if slot.generation as usize == handle >> 32 && slot.object.is_some() => {
                slot.generation = slot.generation.wrapping_add(1) & 0x7fff_ffff;
                free.push(index as u32);
                Ok(slot.object.take().expect("checked above"))
            }
            _ => Err(self.bad(handle)),
        }
    }

    /// Returns the objects that are alive, with their handles.
    pub fn live(&self) -> Vec<(usize, Arc<T>)> {
        let guard = self.slots.read().unwrap_or_else(|e| e.into_inner());
        let found =
            guard.0.iter().enumerate().filter_map(|(i, s)| {
                s.object.clone().map(|o| ((s.generation as usize) << 32 | (i + FIRST), o))
            });
        found.collect()
    }

    #[cold]
    fn bad(&self, handle: usize) -> Error {
        let what = match handle {
            0 => "the handle is zero (uninitialised memory?)".to_string(),
            h if h < FIRST => {
                format!("{h:#x} is a predefined handle that cannot be used here (a null handle?)")
            }
            h => format!(
                "{h:#x} is not the handle of a live {} (freed already, or of another rank?)",
                self.kind
            ),
        };
        Error::new(self.class, format!("invalid {}: {what}", self.kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_handle_is_noticed_even_when_its_slot_is_reused() {
        let table = Table::new(5, "communicator");
        let first = table.insert(Arc::new(1));
        assert_eq!(*table.get(first).unwrap(), 1);
        table.remove(first).unwrap();
        let second = table.insert(Arc::new(2));
        assert_ne!(first, second);
        assert_eq!(table.get(first).unwrap_err().class, 5);
        assert_eq!(*table.get(second).unwrap(), 2);
        assert!(table.get(0).is_err() && table.get(0x101).is_err() && table.remove(usize::MAX).is_err());
    }
}
