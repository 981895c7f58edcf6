//! Memory that waits to be used again: fresh pages cost the kernel more than the data that is written there, and memory that
//! was used a moment ago may still be in a cache.

use std::collections::VecDeque;

/// Pieces of memory, up to a number of bytes in all; the latest comes last.
#[derive(Debug)]
pub struct Stock<T> {
    list: VecDeque<Box<[T]>>,
    bytes: usize,
    most: usize,
}

impl<T> Stock<T> {
    /// Begins without any, to hold so many bytes at most.
    pub const fn new(most: usize) -> Self {
        Self { list: VecDeque::new(), bytes: 0, most }
    }

    /// Takes out the latest piece with at least `least` elements and at most `most`.
    pub fn take(&mut self, least: usize, most: usize) -> Option<Box<[T]>> {
        let place = self.list.iter().rposition(|memory| (least..=most).contains(&memory.len()))?;
        let memory = self.list.remove(place)?;
        self.bytes -= size_of_val(&memory[..]);
        Some(memory)
    }

    /// Adds a piece. Returns those that there is no room for any more: the oldest.
    #[must_use = "memory is better given back to the system without a lock"]
    pub fn put(&mut self, memory: Box<[T]>) -> Vec<Box<[T]>> {
        self.bytes += size_of_val(&memory[..]);
        self.list.push_back(memory);
        let mut rest = Vec::new();
        while self.bytes > self.most
            && let Some(oldest) = self.list.pop_front()
        {
            self.bytes -= size_of_val(&oldest[..]);
            rest.push(oldest);
        }
        rest
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_and_bounded() {
        let piece = |words: usize| vec![0u128; words].into_boxed_slice();
        let mut stock = Stock::new(16 * 100);
        let memory = piece(20);
        let address = memory.as_ptr();
        assert!(stock.put(memory).is_empty());
        assert!(stock.take(21, 40).is_none() && stock.take(9, 18).is_none());
        assert_eq!(stock.take(10, 20).map(|memory| memory.as_ptr()), Some(address));
        assert!(stock.take(10, 20).is_none());
        for _ in 0..10 {
            assert!(stock.put(piece(10)).is_empty());
        }
        let rest = stock.put(piece(11));
        assert_eq!(rest.iter().map(|memory| memory.len()).collect::<Vec<_>>(), [10, 10]);
        assert_eq!(stock.bytes, 16 * (8 * 10 + 11));
        assert_eq!(stock.take(1, 100).map(|memory| memory.len()), Some(11), "the latest comes first");
    }
}
