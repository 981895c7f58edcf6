//! Copies that a root puts aside for late readers: memory of the library, reused, and bounded for the whole process.
#![allow(unsafe_code)] // Packs into uninitialised memory.

use crate::operation::buffer::Data;
use core::sync::atomic::{AtomicU64, Ordering};
use weft_sync::Lock;

/// The bytes that all copies of the process may take together. Beyond it a root waits for its readers.
const MOST: u64 = 64 << 20;
/// The bytes of memory kept for reuse.
const KEPT: u64 = 16 << 20;
/// The smallest piece of memory: broadcasts below go through slots.
const SMALLEST: u64 = 16 << 10;

/// A packed copy of a buffer.
#[derive(Debug)]
pub(crate) struct Aside {
    memory: Vec<u8>,
}

#[derive(Default)]
struct Pool {
    free: Vec<Vec<u8>>,
    bytes: u64,
}

static POOL: Lock<Pool> = Lock::new(Pool { free: Vec::new(), bytes: 0 });
static TAKEN: AtomicU64 = AtomicU64::new(0);

impl Aside {
    /// Copies a buffer, unless too much is aside already.
    pub fn copy_of(data: &Data<'_>) -> Option<Self> {
        let bytes = data.bytes();
        let capacity = bytes.max(SMALLEST).checked_next_power_of_two()?;
        if TAKEN.fetch_add(capacity, Ordering::Relaxed) + capacity > MOST {
            TAKEN.fetch_sub(capacity, Ordering::Relaxed);
            return None;
        }
        let used = {
            let mut pool = POOL.lock();
            let place = pool.free.iter().position(|memory| memory.capacity() as u64 == capacity);
            place.map(|place| {
                pool.bytes -= capacity;
                pool.free.swap_remove(place)
            })
        };
        // What is given back is counted by its capacity, so that must be what was asked for.
        let mut memory = used.unwrap_or_else(|| Vec::with_capacity(capacity as usize));
        debug_assert_eq!(memory.capacity() as u64, capacity);
        // SAFETY: there is room for `bytes` bytes, which are written before they are said to be there.
        unsafe {
            data.pack(memory.as_mut_ptr());
            memory.set_len(bytes as usize);
        }
        Some(Self { memory })
    }

    /// Returns the packed data.
    pub fn bytes(&self) -> &[u8] {
        &self.memory
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let mut memory = core::mem::take(&mut self.memory);
        let capacity = memory.capacity() as u64;
        memory.clear();
        TAKEN.fetch_sub(capacity, Ordering::Relaxed);
        let mut pool = POOL.lock();
        if pool.bytes + capacity <= KEPT {
            pool.bytes += capacity;
            pool.free.push(memory);
            return;
        }
        // Not under the lock.
        drop(pool);
        drop(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_base::constants::MPI_BYTE;
    use weft_datatype::Datatype;

    #[test]
    fn a_copy_holds_the_data_and_its_memory_is_bounded() {
        let bytes = Datatype::predefined(MPI_BYTE).expect("a predefined type");
        let source: Vec<u8> = (0..(MOST / 4) as usize).map(|i| (i % 251) as u8).collect();
        // SAFETY: the vector has as many bytes and outlives the copies' making.
        let data = unsafe { Data::new(source.as_ptr().cast(), source.len() as u64, bytes) };
        let first: Vec<_> = core::iter::from_fn(|| Aside::copy_of(&data)).take(9).collect();
        assert!((1..=4).contains(&first.len()), "{} copies", first.len());
        assert!(first.iter().all(|aside| aside.bytes() == source));
        drop(first);
        assert!(Aside::copy_of(&data).is_some());
    }
}
