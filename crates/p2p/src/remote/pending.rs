//! Operations that a peer may name: sends whose data it may ask for, receives whose data it sends.
//!
//! A name holds the number of the rank's table, the place there, and a generation, so that a name that is out of date or
//! invented finds nothing.

use crate::endpoint::Reference;
use crate::matching::Envelope;
use weft_transport::Node;

/// What is in progress.
#[derive(Clone, Copy)]
pub(crate) enum Entry {
    /// A send whose data is with its operation.
    Send {
        operation: Reference,
        to: Node,
        /// Whether the peer has asked for the data.
        cleared: bool,
        /// How many parts of the data the device has not reported as sent, but for one.
        parts: u32,
    },
    /// A receive whose data is on its way.
    Receive {
        operation: Reference,
        from: Node,
        envelope: Envelope,
        /// The length of the message.
        bytes: u64,
        /// How much of it is on its way.
        expected: u64,
        /// How much of that has a place.
        got: u64,
        /// How many parts are being placed.
        placing: u32,
    },
}

impl Entry {
    pub fn peer(&self) -> Node {
        match *self {
            Self::Send { to, .. } => to,
            Self::Receive { from, .. } => from,
        }
    }

    pub fn operation(&self) -> Reference {
        match *self {
            Self::Send { operation, .. } | Self::Receive { operation, .. } => operation,
        }
    }
}

const PLACE_BITS: u32 = 24;
const GENERATION_BITS: u32 = 20;
const TABLE_BITS: u32 = 20;

struct Slot {
    generation: u32,
    entry: Option<Entry>,
}

/// The operations of one rank that peers may name.
pub(crate) struct Pending {
    table: u32,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

/// Returns the number of the table in a name.
pub(crate) fn table_of(name: u64) -> usize {
    (name >> (PLACE_BITS + GENERATION_BITS)) as usize
}

impl Pending {
    /// Creates the table of a rank of this node process.
    pub fn new(table: u32) -> Self {
        assert!(table < 1 << TABLE_BITS, "too many ranks on one node process");
        Self { table, slots: Vec::new(), free: Vec::new() }
    }

    /// Adds an operation and returns its name.
    pub fn add(&mut self, entry: Entry) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, entry: None });
            assert!(self.slots.len() <= 1 << PLACE_BITS, "too many operations at once");
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
        (slot.generation == generation && slot.entry.is_some()).then_some(place)
    }

    /// Finds an operation.
    pub fn get(&mut self, name: u64) -> Option<&mut Entry> {
        let place = self.place(name)?;
        self.slots[place].entry.as_mut()
    }

    /// Takes an operation out.
    pub fn remove(&mut self, name: u64) -> Option<Entry> {
        let place = self.place(name)?;
        let slot = &mut self.slots[place];
        slot.generation = (slot.generation + 1) & ((1 << GENERATION_BITS) - 1);
        self.free.push(place as u32);
        slot.entry.take()
    }

    /// Takes out all operations of which `which` says so.
    pub fn remove_all(&mut self, mut which: impl FnMut(&Entry) -> bool) -> Vec<Entry> {
        let names: Vec<u64> = self.names(&mut which).collect();
        names.into_iter().filter_map(|name| self.remove(name)).collect()
    }

    /// Returns the names of the operations of which `which` says so.
    pub fn names(&self, mut which: impl FnMut(&Entry) -> bool) -> impl Iterator<Item = u64> {
        let table = u64::from(self.table);
        self.slots.iter().enumerate().filter_map(move |(place, slot)| {
            let entry = slot.entry.as_ref()?;
            which(entry).then_some(
                table << (PLACE_BITS + GENERATION_BITS)
                    | u64::from(slot.generation) << PLACE_BITS
                    | place as u64,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Buffer, Operation};

    #[test]
    #[allow(unsafe_code)]
    fn a_name_finds_its_own_operation_only() {
        // SAFETY: no bytes at no address.
        let operation = Operation::new(unsafe { Buffer::dense(core::ptr::null_mut(), 0) });
        let entry = |to| Entry::Send { operation: (&operation).into(), to, cleared: false, parts: 0 };
        let mut pending = Pending::new(5);
        let first = pending.add(entry(1));
        let second = pending.add(entry(2));
        assert_eq!(table_of(first), 5);
        assert_eq!(pending.get(first).map(|e| e.peer()), Some(1));
        assert_eq!(pending.remove(first).map(|e| e.peer()), Some(1));
        assert!(pending.get(first).is_none() && pending.remove(first).is_none());
        let third = pending.add(entry(3));
        assert_ne!(first, third, "a name is used again at once");
        assert!(pending.get(first).is_none());
        assert!(pending.get(u64::MAX).is_none());
        assert_eq!(pending.names(|e| e.peer() == 2).collect::<Vec<_>>(), [second]);
        assert_eq!(pending.remove_all(|_| true).len(), 2);
        assert!(pending.get(second).is_none() && pending.get(third).is_none());
    }
}
