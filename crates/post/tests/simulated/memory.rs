//! The memory of messages: it counts itself, and may lie in an order of its own.
#![allow(unsafe_code)] // Promises memory to the service, as its clients do.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use weft_post::{Aside, Data, Gaps, Place, Room};
use weft_transport::Node;
use weft_transport::simulator::Random;

/// The longest message.
pub const LONGEST: u64 = 600_000;

/// Returns the data of a message: a part of much data, elsewhere for each message.
pub fn fill(from: Node, to: Node, number: u64, bytes: usize) -> &'static [u8] {
    static ALL: OnceLock<Vec<u8>> = OnceLock::new();
    const PLACES: u64 = 100_003;
    let all = ALL.get_or_init(|| {
        let mut random = Random::new(1);
        (0..(LONGEST + PLACES) / 4).flat_map(|_| (random.below(1 << 32) as u32).to_le_bytes()).collect()
    });
    let place = (number * 13_331 + u64::from(from) * 1009 + u64::from(to) * 101) % (PLACES - 3);
    &all[place as usize..][..bytes]
}

/// Bytes of a message, as they lie or with the second half first.
pub struct Bytes {
    pub bytes: Box<[u8]>,
    is_turned: bool,
}

impl Bytes {
    /// Returns where in the bytes a part of the data lies, and how long it is: two ranges, one of which may be empty.
    fn ranges(&self, offset: u64, length: u64) -> [(usize, usize); 2] {
        let (all, begin, length) = (self.bytes.len(), offset as usize, length as usize);
        assert!(begin + length <= all, "more than there is");
        let half = all / 2;
        let first = length.min((all - half).saturating_sub(begin));
        let later = begin + first;
        [(half + begin.min(all - half), first), (later.wrapping_sub(all - half), length - first)]
    }
}

/// Copies a part of turned bytes.
///
/// # Safety
/// As [`Gaps::copy`], for [`Bytes`].
unsafe fn pack(object: *const (), offset: u64, bytes: *mut u8, length: u64) {
    // SAFETY: the caller's promise.
    let (of, out) =
        unsafe { (&*object.cast::<Bytes>(), core::slice::from_raw_parts_mut(bytes, length as usize)) };
    let [first, second] = of
        .ranges(offset, length)
        .map(|(begin, length)| if length == 0 { &[] } else { &of.bytes[begin..][..length] });
    out[..first.len()].copy_from_slice(first);
    out[first.len()..].copy_from_slice(second);
}

/// Copies to a part of turned bytes.
///
/// # Safety
/// As [`Gaps::copy`], for [`Bytes`].
unsafe fn unpack(object: *const (), offset: u64, bytes: *mut u8, length: u64) {
    // SAFETY: the caller's promise; parts of one thread's test follow each other.
    let (of, mut data) = unsafe {
        (&mut *object.cast::<Bytes>().cast_mut(), core::slice::from_raw_parts(bytes, length as usize))
    };
    for (begin, length) in of.ranges(offset, length).into_iter().filter(|&(_, length)| length > 0) {
        let (here, rest) = data.split_at(length);
        of.bytes[begin..][..length].copy_from_slice(here);
        data = rest;
    }
}

/// Memory that counts itself.
pub struct Memory {
    pub of: Box<Bytes>,
    table: u32,
    alive: Arc<AtomicI64>,
}

impl Memory {
    pub fn new(mut bytes: Vec<u8>, is_turned: bool, table: u32, alive: &Arc<AtomicI64>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        if is_turned {
            let half = bytes.len() / 2;
            bytes.rotate_right(half);
        }
        Self { of: Box::new(Bytes { bytes: bytes.into(), is_turned }), table, alive: alive.clone() }
    }

    fn place_by(&mut self, copy: unsafe fn(*const (), u64, *mut u8, u64)) -> Place {
        match self.of.is_turned {
            false => Place::Block(self.of.bytes.as_mut_ptr()),
            true => Place::Gaps(Gaps { object: core::ptr::from_mut(&mut *self.of).cast(), copy }),
        }
    }

    pub fn holds(&self, data: &[u8]) -> bool {
        let bytes = &self.of.bytes;
        let (first, second) = bytes.split_at(if self.of.is_turned { bytes.len() / 2 } else { 0 });
        *data == [second, first].concat()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Who still sends it sends something else.
        self.of.bytes.fill(0xdd);
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

// SAFETY: it is on the heap.
unsafe impl Data for Memory {
    fn place(&self) -> Place {
        match self.of.is_turned {
            false => Place::Block(self.of.bytes.as_ptr().cast_mut()),
            true => Place::Gaps(Gaps { object: core::ptr::from_ref(&*self.of).cast(), copy: pack }),
        }
    }

    fn bytes(&self) -> u64 {
        self.of.bytes.len() as u64
    }

    fn table(&self) -> u32 {
        self.table
    }
}

/// Where the data of a message goes.
pub struct Wanted {
    pub memory: Memory,
    pub from: Node,
    pub number: u64,
}

// SAFETY: it is on the heap, and its own.
unsafe impl Room for Wanted {
    fn place(&mut self) -> Place {
        self.memory.place_by(unpack)
    }

    fn bytes(&self) -> u64 {
        self.memory.of.bytes.len() as u64
    }

    fn table(&self) -> u32 {
        self.memory.table
    }
}

/// Memory for messages in parts.
pub struct Collected(pub Box<[u8]>);

// SAFETY: it is on the heap.
unsafe impl Aside for Collected {
    fn make(bytes: u64) -> Option<Self> {
        Some(Self(vec![0; bytes as usize].into()))
    }

    fn address(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }
}
