//! The program's data, in memory.
#![allow(unsafe_code)] // Keeps the address of the program's buffer, which other threads use until the operation is complete.

use weft_datatype::{Datatype, pack, unpack};

/// Data of the program: instances of a datatype at an address.
#[derive(Clone, Debug)]
pub struct Memory {
    address: *mut u8,
    count: u64,
    datatype: Datatype,
}

// SAFETY: the memory is the program's, which leaves it alone until the operation is complete; no thread owns it.
unsafe impl Send for Memory {}
// SAFETY: a shared reference hands out an address only.
unsafe impl Sync for Memory {}

impl Memory {
    /// Describes data.
    ///
    /// # Safety
    /// The data bytes of `count` instances are valid until the operation is complete: for writes if it reads a file, otherwise for
    /// reads.
    pub unsafe fn new(address: *mut u8, count: u64, datatype: Datatype) -> Self {
        Self { address, count, datatype }
    }

    /// Returns the address of the first instance.
    pub fn address(&self) -> *mut u8 {
        self.address
    }

    /// Returns the number of instances.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns their datatype.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> u64 {
        self.count * self.datatype.size()
    }

    /// Returns where all bytes lie one behind the other, if they do.
    pub(crate) fn block(&self) -> Option<*mut u8> {
        self.datatype.one_block(self.count).map(|offset| self.address.wrapping_offset(offset as isize))
    }

    /// Copies bytes from `skip` on out, as many as there is room for.
    pub(crate) fn take(&self, skip: u64, out: &mut [u8]) {
        let length = out.len() as u64;
        // SAFETY: `new` was promised the data, and `out` has room.
        unsafe { pack(self.address, self.count, &self.datatype, skip, out.as_mut_ptr(), length) };
    }

    /// Copies bytes from `skip` on in.
    pub(crate) fn put(&self, skip: u64, bytes: &[u8]) {
        let length = bytes.len() as u64;
        // SAFETY: `new` was promised the data, for writes, as the operation reads a file.
        unsafe { unpack(self.address, self.count, &self.datatype, skip, bytes.as_ptr(), length) };
    }
}
