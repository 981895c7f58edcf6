//! What peers may name: a table whose names are not used again soon, so that a name that is out of date or invented finds nothing.

const PLACE_BITS: u32 = 24;
const GENERATION_BITS: u32 = 40;

struct Slot<T> {
    generation: u64,
    entry: Option<T>,
}

/// Entries with names.
pub(crate) struct Names<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Names<T> {
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
        slot.generation << PLACE_BITS | u64::from(place)
    }

    fn place(&self, name: u64) -> Option<usize> {
        let place = (name & ((1 << PLACE_BITS) - 1)) as usize;
        let slot = self.slots.get(place)?;
        (slot.generation == name >> PLACE_BITS && slot.entry.is_some()).then_some(place)
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

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_finds_its_own_entry_only() {
        let mut names = Names::default();
        let (first, second) = (names.add(1), names.add(2));
        assert_eq!(names.get(first), Some(&mut 1));
        assert_eq!(names.remove(first), Some(1));
        assert!(names.get(first).is_none() && names.remove(first).is_none());
        let third = names.add(3);
        assert_ne!(first, third, "a name is used again at once");
        assert!(names.get(first).is_none() && names.get(u64::MAX).is_none());
        assert!(!names.is_empty());
        assert_eq!(names.remove_all(|&entry| entry == 2), [2]);
        assert_eq!(names.remove(third), Some(3));
        assert!(names.get(second).is_none() && names.is_empty());
    }
}
