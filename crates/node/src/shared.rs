//! Variables that the program itself reads and writes.
#![allow(unsafe_code)] // Says that threads may have them.

use std::cell::UnsafeCell;

/// A variable that the program itself reads and writes by address, as unprotected as libc's own.
pub struct Shared<T>(UnsafeCell<T>);

// SAFETY: the standard calls the functions that use these variables unsafe for threads; the program must not call
// them at the same time from two threads of one rank, as in a process.
unsafe impl<T> Sync for Shared<T> {}

// SAFETY: the pointers inside are to memory that lives as long as the process, whatever thread uses them.
unsafe impl<T> Send for Shared<T> {}

impl<T> Shared<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Returns the variable's address.
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }
}
