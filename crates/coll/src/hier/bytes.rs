//! Packed data that is made once and then shared.
//!
//! Memory of some length goes into a stock when nobody needs its bytes any more, and comes from there.
#![allow(unsafe_code)] // Memory that a device or a copy fills through its address.

use std::sync::Arc;
use weft_sync::{Lock, Stock};

/// Where the parts of a message begin: a multiple of this, so that every element is aligned.
pub(crate) const ALIGN: usize = 16;

/// Memory from this length on is used again.
const WORTHWHILE: usize = 32 << 10;

static STOCK: Lock<Stock<u128>> = Lock::new(Stock::new(8 << 20));

/// Whole words, of which the stock gets those that are worthwhile back.
#[derive(Debug, Default)]
struct Memory(Box<[u128]>);

impl Memory {
    /// Returns memory for so many bytes, whatever they are.
    fn new(length: usize) -> Self {
        let words = length.div_ceil(ALIGN);
        let used = if length >= WORTHWHILE { STOCK.lock().take(words, 2 * words) } else { None };
        Self(used.unwrap_or_else(|| vec![0; words].into()))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if size_of_val(&self.0[..]) >= WORTHWHILE {
            let rest = STOCK.lock().put(core::mem::take(&mut self.0));
            drop(rest);
        }
    }
}

/// Bytes that nobody changes any more, aligned to [`ALIGN`].
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    memory: Arc<Memory>,
    first: usize,
    length: usize,
}

impl Bytes {
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns where they are, for as long as one of the values that share them lives.
    pub fn address(&self) -> *const u8 {
        self.memory.0.as_ptr().cast::<u8>().wrapping_add(self.first)
    }

    /// Returns them as a slice.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `first + length` bytes lie in the memory, by construction; it is initialised and nobody writes it.
        unsafe { core::slice::from_raw_parts(self.address(), self.length) }
    }

    /// Returns a part. It begins at a multiple of [`ALIGN`] if it is to be used as elements.
    ///
    /// Returns nothing if they are too few.
    pub fn part(&self, first: usize, length: usize) -> Option<Self> {
        let end = first.checked_add(length)?;
        (end <= self.length).then(|| Self { memory: self.memory.clone(), first: self.first + first, length })
    }
}

/// Memory for bytes to come.
pub struct Building {
    memory: Memory,
    length: usize,
}

impl Building {
    /// Returns memory. What is there is zeros or bytes of the past.
    pub fn new(length: usize) -> Self {
        Self { memory: Memory::new(length), length }
    }

    /// Returns how many bytes it is for.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns where it is. Whoever writes there does so before [`Building::finish`].
    pub fn address(&mut self) -> *mut u8 {
        self.memory.0.as_mut_ptr().cast()
    }

    /// Returns it as a slice.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: there are at least as many bytes, and they were initialised with zeros once.
        unsafe { core::slice::from_raw_parts_mut(self.memory.0.as_mut_ptr().cast(), self.length) }
    }

    /// Ends the writing.
    pub fn finish(self) -> Bytes {
        Bytes { memory: Arc::new(self.memory), first: 0, length: self.length }
    }
}

impl From<&[u8]> for Bytes {
    fn from(data: &[u8]) -> Self {
        let mut building = Building::new(data.len());
        weft_sys::copy::slice(data, building.as_mut_slice());
        building.finish()
    }
}

/// Joins several to one, with their lengths in front; a single one stays as it is.
pub(crate) fn join(parts: &[&Bytes]) -> Bytes {
    if let [one] = parts {
        return (*one).clone();
    }
    let table = (8 * parts.len()).next_multiple_of(ALIGN);
    let total = table + parts.iter().map(|part| part.len().next_multiple_of(ALIGN)).sum::<usize>();
    let mut building = Building::new(total);
    let all = building.as_mut_slice();
    let mut place = table;
    for (index, part) in parts.iter().enumerate() {
        all[8 * index..][..8].copy_from_slice(&(part.len() as u64).to_le_bytes());
        weft_sys::copy::slice(part.as_slice(), &mut all[place..][..part.len()]);
        place += part.len().next_multiple_of(ALIGN);
    }
    building.finish()
}

/// Takes apart what [`join`] has joined. Returns nothing if it is not that.
pub(crate) fn split(joined: &Bytes, count: usize) -> Option<Vec<Bytes>> {
    if count == 1 {
        return Some(vec![joined.clone()]);
    }
    let mut place = (8 * count).next_multiple_of(ALIGN);
    let all = joined.as_slice();
    (0..count)
        .map(|index| {
            let length = all.get(8 * index..8 * index + 8)?.try_into().ok().map(u64::from_le_bytes)?;
            let length = usize::try_from(length).ok()?;
            let part = joined.part(place, length)?;
            place = place.checked_add(length.checked_next_multiple_of(ALIGN)?)?;
            Some(part)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_comes_apart_again() {
        for lengths in [vec![], vec![0], vec![5], vec![3, 0, 16, 100], vec![0; 7]] {
            let parts: Vec<Bytes> = lengths.iter().map(|&n| Bytes::from(&vec![n as u8 + 1; n][..])).collect();
            let joined = join(&parts.iter().collect::<Vec<_>>());
            let again = split(&joined, parts.len()).unwrap();
            assert!(parts.iter().zip(&again).all(|(a, b)| a.as_slice() == b.as_slice()));
            assert!(again.iter().all(|part| part.address().addr().is_multiple_of(ALIGN) || part.len() == 0));
            assert_eq!(again.len(), parts.len());
        }
    }

    #[test]
    fn bytes_of_the_past_are_not_those_of_others() {
        let old = Bytes::from(&vec![1; WORTHWHILE][..]);
        let part = old.part(16, 100).unwrap();
        drop(old);
        let new = Bytes::from(&vec![2; WORTHWHILE][..]);
        assert!(part.as_slice().iter().all(|&byte| byte == 1));
        assert!(new.as_slice().iter().all(|&byte| byte == 2) && new.len() == WORTHWHILE);
    }

    #[test]
    fn what_was_not_joined_is_refused() {
        assert!(split(&Bytes::from(&[255; 64][..]), 2).is_none());
        assert!(split(&Bytes::from(&[0; 15][..]), 2).is_none());
    }
}
