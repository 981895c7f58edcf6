//! A list that grows while others read it: what is in it stays in place.

use crate::Lock;
use std::ops::Index;
use std::sync::OnceLock;

/// How many blocks there may be: each has twice as many places as the one before.
const BLOCKS: usize = 32;

/// A list to which entries may be added, by one thread after the other, while any number of threads read it. What it began
/// with costs as much as in a slice.
#[derive(Debug)]
pub struct Growing<T> {
    first: Box<[T]>,
    /// Block `k` holds `2^k` entries.
    more: [OnceLock<Box<[OnceLock<T>]>>; BLOCKS],
    added: Lock<usize>,
}

fn block_and_place(index: usize) -> (usize, usize) {
    let block = (index + 1).ilog2();
    (block as usize, index + 1 - (1 << block))
}

impl<T> Growing<T> {
    /// Returns an entry, if it is there.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        match self.first.get(index) {
            Some(entry) => Some(entry),
            None => self.added(index - self.first.len()),
        }
    }

    #[cold]
    fn added(&self, index: usize) -> Option<&T> {
        let (block, place) = block_and_place(index);
        self.more.get(block)?.get()?[place].get()
    }

    /// Adds an entry, and returns its index. Whoever learns of the index finds the entry.
    pub fn push(&self, entry: T) -> usize {
        let mut added = self.added.lock();
        let (block, place) = block_and_place(*added);
        let block = self.more[block].get_or_init(|| (0..1 << block).map(|_| OnceLock::new()).collect());
        assert!(block[place].set(entry).is_ok(), "a place is taken once");
        *added += 1;
        self.first.len() + *added - 1
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.first.len() + *self.added.lock()
    }

    /// Tells whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the entries that are there, and those that are added meanwhile.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain((0..).map_while(|index| self.added(index)))
    }
}

impl<T> Default for Growing<T> {
    fn default() -> Self {
        Self::from_iter([])
    }
}

impl<T> FromIterator<T> for Growing<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        let first = entries.into_iter().collect();
        Self { first, more: [const { OnceLock::new() }; BLOCKS], added: Lock::new(0) }
    }
}

impl<T: Clone> Clone for Growing<T> {
    fn clone(&self) -> Self {
        self.iter().cloned().collect()
    }
}

impl<T> Index<usize> for Growing<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        self.get(index).expect("no such entry")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_where_they_are() {
        for begin in [0, 1, 5] {
            let list = Growing::from_iter(0..begin);
            assert_eq!((list.len(), list.is_empty()), (begin, begin == 0));
            let mut places = Vec::new();
            for number in begin..200 {
                assert_eq!(list.get(number), None);
                assert_eq!(list.push(number), number);
                places.push((number, &raw const list[number]));
            }
            assert!(list.iter().copied().eq(0..200));
            assert!(places.iter().all(|&(number, place)| core::ptr::eq(&list[number], place)));
        }
    }

    #[test]
    fn readers_see_what_they_are_told_of() {
        let list = Growing::<Box<usize>>::default();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let index = list.push(Box::new(7));
                        assert_eq!(*list[index], 7);
                    }
                });
            }
            scope.spawn(|| while list.iter().map(|entry| **entry).sum::<usize>() < 14_000 {});
        });
        assert_eq!(list.len(), 2000);
    }
}
