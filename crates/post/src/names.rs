//! What peers may name: a table whose names are not used again soon, so that a name that is out of date or invented finds nothing.
//!
//! A name holds the number of its table, the place there, and a generation. A service has several tables, so that threads which
//! use different ones do not meet at a lock.

use weft_sync::{CachePadded, Lock, LockGuard};

const PLACE_BITS: u32 = 24;
const GENERATION_BITS: u32 = 20;
const TABLE_BITS: u32 = 20;

struct Slot<T> {
    generation: u32,
    entry: Option<T>,
}

/// Entries with names.
pub(crate) struct Names<T> {
    table: u32,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

/// Returns the number of the table in a name.
pub(crate) fn table_of(name: u64) -> usize {
    (name >> (PLACE_BITS + GENERATION_BITS)) as usize
}

impl<T> Names<T> {
    /// Makes the table of a number.
    ///
    /// # Panics
    /// If its number is 2^20 - 1 or more: so no name has all bits set.
    pub fn new(table: u32) -> Self {
        assert!(table < (1 << TABLE_BITS) - 1, "too many tables of names");
        Self { table, slots: Vec::new(), free: Vec::new() }
    }

    /// Adds an entry, and returns its name.
    ///
    /// # Panics
    /// If there are 2^24.
    pub fn add(&mut self, entry: T) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, entry: None });
            assert!(self.slots.len() <= 1 << PLACE_BITS, "too much that peers may name at once");
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[place as usize];
        slot.entry = Some(entry);
        u64::from(self.table) << (PLACE_BITS + GENERATION_BITS)
            | u64::from(slot.generation) << PLACE_BITS
            | u64::from(place)
    }

    fn place(&self, name: u64) -> Option<usize> {
        let place = (name & ((1 << PLACE_BITS) - 1)) as usize;
        let generation = (name >> PLACE_BITS) as u32 & ((1 << GENERATION_BITS) - 1);
        let slot = self.slots.get(place)?;
        let is_it = table_of(name) == self.table as usize && slot.generation == generation;
        (is_it && slot.entry.is_some()).then_some(place)
    }

    /// Finds an entry.
    pub fn get(&mut self, name: u64) -> Option<&mut T> {
        let place = self.place(name)?;
        self.slots[place].entry.as_mut()
    }

    /// Takes an entry out.
    pub fn remove(&mut self, name: u64) -> Option<T> {
        let place = self.place(name)?;
        self.take(place)
    }

    fn take(&mut self, place: usize) -> Option<T> {
        let slot = &mut self.slots[place];
        let entry = slot.entry.take()?;
        slot.generation = (slot.generation + 1) & ((1 << GENERATION_BITS) - 1);
        self.free.push(place as u32);
        Some(entry)
    }

    /// Takes all entries out of which `which` says so.
    pub fn remove_all(&mut self, which: impl Fn(&T) -> bool) -> Vec<T> {
        let is_one = |slot: &Slot<T>| slot.entry.as_ref().is_some_and(&which);
        let places: Vec<_> = (0..self.slots.len()).filter(|&place| is_one(&self.slots[place])).collect();
        places.into_iter().filter_map(|place| self.take(place)).collect()
    }

    /// Returns the name of an entry of which `which` says so.
    pub fn find(&self, which: impl Fn(&T) -> bool) -> Option<u64> {
        let place = self.slots.iter().position(|slot| slot.entry.as_ref().is_some_and(&which))?;
        let generation = self.slots[place].generation;
        let table = u64::from(self.table) << (PLACE_BITS + GENERATION_BITS);
        Some(table | u64::from(generation) << PLACE_BITS | place as u64)
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }
}

/// The tables of a service.
pub(crate) struct Tables<T>(Box<[CachePadded<Lock<Names<T>>>]>);

impl<T> Tables<T> {
    pub fn new(count: u32) -> Self {
        Self((0..count).map(|table| CachePadded(Lock::new(Names::new(table)))).collect())
    }

    /// Adds an entry to a table, and returns its name.
    pub fn add(&self, table: u32, entry: T) -> u64 {
        self.table(table).add(entry)
    }

    pub fn table(&self, table: u32) -> LockGuard<'_, Names<T>> {
        self.0[table as usize].lock()
    }

    /// Returns the table of a name, if there is such a one.
    pub fn of(&self, name: u64) -> Option<LockGuard<'_, Names<T>>> {
        self.0.get(table_of(name)).map(|table| table.lock())
    }

    /// Takes an entry out.
    pub fn remove(&self, name: u64) -> Option<T> {
        self.of(name)?.remove(name)
    }

    /// Takes all entries out of which `which` says so.
    pub fn remove_all(&self, which: impl Fn(&T) -> bool) -> Vec<T> {
        self.0.iter().flat_map(|table| table.lock().remove_all(&which)).collect()
    }

    /// Tells whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|table| table.lock().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_finds_its_own_entry_only() {
        let mut names = Names::new(5);
        let (first, second) = (names.add(1), names.add(2));
        assert_eq!(table_of(first), 5);
        assert_eq!(names.get(first), Some(&mut 1));
        assert_eq!(names.remove(first), Some(1));
        assert!(names.get(first).is_none() && names.remove(first).is_none());
        let third = names.add(3);
        assert_ne!(first, third, "a name is used again at once");
        assert!(names.get(first).is_none() && names.get(u64::MAX).is_none());
        assert!(Names::<i32>::new(4).get(third).is_none(), "a name of another table");
        assert!(!names.is_empty());
        assert_eq!(names.find(|&entry| entry == 3), Some(third));
        assert_eq!(names.find(|&entry| entry == 1), None);
        assert_eq!(names.remove_all(|&entry| entry == 2), [2]);
        assert_eq!(names.remove(third), Some(3));
        assert!(names.get(second).is_none() && names.is_empty());
    }
}
