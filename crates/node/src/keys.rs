//! Keys of thread-specific data (`pthread_key_create`), of which a process has 1024.
//!
//! Each rank's copy of a library asks for keys of its own, so a thousand ranks would have one each. But data under a key are a
//! thread's, and a thread belongs to one rank: ranks can use the same key of libc. The first key that any rank creates is therefore one for
//! all ranks, and so on, in the order in which each rank creates them. Only the destructors are each rank's own.
//!
//! A rank gets each of these keys once. After a key has been deleted, threads may still have data under it, which no new key may
//! show; so a rank that has used up its share gets further keys from libc.

use core::ffi::c_void;

/// How many keys all ranks have in common.
pub const COMMON: usize = 64;

/// What is called for a thread's data when the thread ends.
pub type Destructor = unsafe extern "C" fn(*mut c_void);

/// The common keys that a rank has created, in order.
#[derive(Default)]
pub struct Keys {
    created: Vec<Key>,
}

#[derive(Clone, Copy)]
struct Key {
    destructor: Option<Destructor>,
    is_deleted: bool,
}

impl Keys {
    /// Returns the number of the common key that the rank may have next.
    pub fn next(&self) -> Option<usize> {
        Some(self.created.len()).filter(|number| *number < COMMON)
    }

    /// Gives the rank the common key that [`Keys::next`] has told.
    pub fn create(&mut self, destructor: Option<Destructor>) {
        self.created.push(Key { destructor, is_deleted: false });
    }

    /// Takes a common key away. Returns whether the rank had it.
    pub fn delete(&mut self, number: usize) -> bool {
        match self.created.get_mut(number) {
            Some(key) if !key.is_deleted => {
                *key = Key { destructor: None, is_deleted: true };
                true
            }
            _ => false,
        }
    }

    /// Returns what is to be called for data under a common key.
    pub fn destructor(&self, number: usize) -> Option<Destructor> {
        self.created.get(number)?.destructor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_has_each_common_key_once() {
        let mut keys = Keys::default();
        for number in 0..COMMON {
            assert_eq!(keys.next(), Some(number));
            keys.create(Some(libc::free));
        }
        assert_eq!(keys.next(), None);
        assert!(keys.delete(3) && !keys.delete(3));
        assert!(keys.destructor(3).is_none() && keys.destructor(4).is_some());
        assert_eq!(keys.next(), None, "a deleted key must not come back with data of before");
    }

    #[test]
    fn keys_that_were_not_created_are_not_deleted() {
        let mut keys = Keys::default();
        assert!(!keys.delete(0));
        keys.create(None);
        assert!(keys.delete(0));
    }
}
