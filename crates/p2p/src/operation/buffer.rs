//! A user's buffer: where the data of a message is, or goes.
#![allow(unsafe_code)] // Reads and writes what the creator of a buffer promised.

use crate::way::{Call, Message, Mode};
use weft_datatype::Datatype;

/// A user's buffer: an address, a number of elements, and their type.
#[derive(Clone, Copy)]
pub struct Buffer {
    /// The address; reading or writing there is what the creator of the value promised to be sound.
    pub(crate) address: *mut u8,
    pub(crate) count: u64,
    /// Null only if the buffer is dense, which never looks at it.
    pub(crate) datatype: *const Datatype,
    /// The number of data bytes: count × size.
    pub(crate) bytes: u64,
    /// Whether the data bytes are one block that starts at the address.
    pub(crate) dense: bool,
}

impl Buffer {
    /// Describes a buffer.
    ///
    /// # Safety
    /// Until the operation it is used for is complete, `datatype` lives, and the memory of `count` elements at
    /// `address` may be read (for sends) or written (for receives).
    #[inline]
    pub unsafe fn new(address: *mut u8, count: u64, datatype: &Datatype) -> Self {
        let bytes = count.wrapping_mul(datatype.size());
        if !datatype.is_dense()
            && let Some(offset) = datatype.one_block(count)
        {
            let address = address.wrapping_offset(offset as isize);
            return Self { address, count, bytes, dense: true, datatype: core::ptr::from_ref(datatype) };
        }
        Self { address, count, bytes, dense: datatype.is_dense(), datatype: core::ptr::from_ref(datatype) }
    }

    /// Describes bytes that lie together.
    ///
    /// # Safety
    /// As [`Buffer::new`].
    #[inline]
    pub unsafe fn dense(address: *mut u8, bytes: u64) -> Self {
        Self { address, count: bytes, datatype: core::ptr::null(), bytes, dense: true }
    }

    /// Says which data the bytes were packed from, for checking mode. `datatype` must live as long as the operation.
    #[must_use]
    pub fn copy_of(self, count: u64, datatype: &Datatype) -> Self {
        Self { count, datatype: core::ptr::from_ref(datatype), ..self }
    }

    /// Returns the datatype, kept alive.
    pub(crate) fn kept_datatype(&self) -> Option<Box<Datatype>> {
        // SAFETY: null, or a datatype that lives as long as the operation of the buffer is in progress.
        unsafe { self.datatype.as_ref() }.map(|datatype| Box::new(datatype.clone()))
    }

    /// Returns the number of data bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Describes a message of the data, for the choice of its way.
    #[inline(always)]
    pub(crate) fn message(&self, mode: Mode, call: Call) -> Message {
        Message { bytes: self.bytes, dense: self.dense, mode, call }
    }

    /// Copies the data into `out`, without gaps.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`] for sends; `out` has room for [`Buffer::bytes`] bytes.
    #[inline]
    pub(crate) unsafe fn pack_into(&self, out: *mut u8) {
        if self.dense {
            // SAFETY: one block of `bytes` bytes, by the caller's promise.
            unsafe { weft_sys::copy::bytes(self.address, out, self.bytes as usize) }
        } else {
            // SAFETY: as promised; the datatype lives.
            unsafe { weft_datatype::pack(self.address, self.count, &*self.datatype, 0, out, self.bytes) };
        }
    }

    /// Stores data that lies without gaps; what does not fit is dropped.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`] for receives; `input` holds `bytes` bytes.
    #[inline(always)]
    pub(crate) unsafe fn unpack_from(&self, input: *const u8, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        if self.dense {
            // The most frequent length, without a call to memcpy.
            if bytes == 8 {
                // SAFETY: the caller promises `bytes` bytes on both sides; the accesses need no alignment.
                unsafe { self.address.cast::<u64>().write_unaligned(input.cast::<u64>().read_unaligned()) };
                return;
            }
            // SAFETY: one block with room for `bytes` bytes, by the caller's promise.
            unsafe { weft_sys::copy::bytes(input, self.address, bytes as usize) }
        } else {
            // SAFETY: as promised; the datatype lives.
            unsafe { weft_datatype::unpack(self.address, self.count, &*self.datatype, 0, input, bytes) };
        }
    }

    /// Passes the data, without gaps, to `use_it`.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`] for sends.
    pub(crate) unsafe fn with_packed<R>(&self, use_it: impl FnOnce(&[u8]) -> R) -> R {
        const SHORT: usize = 1024;
        let length = self.bytes as usize;
        // SAFETY: a dense buffer's data is one block; the space has room for the others'.
        unsafe {
            if length == 0 || self.dense {
                use_it(self.in_place())
            } else if length <= SHORT {
                let mut space = [0; SHORT];
                self.pack_into(space.as_mut_ptr());
                use_it(&space[..length])
            } else {
                let mut space = vec![0; length];
                self.pack_into(space.as_mut_ptr());
                use_it(&space)
            }
        }
    }

    /// Returns the data of a dense buffer.
    ///
    /// # Safety
    /// The promise of [`Buffer::new`] for sends, for as long as it is used.
    pub(crate) unsafe fn in_place<'a>(&self) -> &'a [u8] {
        match self.bytes {
            0 => &[],
            // SAFETY: one block of so many bytes, by the caller's promise.
            bytes => unsafe { core::slice::from_raw_parts(self.address, bytes as usize) },
        }
    }

    /// Copies bytes `skip..skip + length` of the data into `out`, without gaps.
    ///
    /// # Safety
    /// As [`Buffer::pack_into`]; so much data is there, and room for it.
    pub(crate) unsafe fn pack_part(&self, skip: u64, out: *mut u8, length: u64) {
        // SAFETY: the caller's promise; a type that is not dense is not null.
        unsafe {
            if self.dense {
                weft_sys::copy::bytes(self.address.add(skip as usize), out, length as usize);
            } else {
                weft_datatype::pack(self.address, self.count, &*self.datatype, skip, out, length);
            }
        }
    }

    /// Stores bytes `skip..skip + length` of the data, which lie at `input` without gaps.
    ///
    /// # Safety
    /// As [`Buffer::unpack_from`]; there is room for so much data.
    pub(crate) unsafe fn unpack_part(&self, skip: u64, input: *const u8, length: u64) {
        // SAFETY: the caller's promise; a type that is not dense is not null.
        unsafe {
            if self.dense {
                weft_sys::copy::bytes(input, self.address.add(skip as usize), length as usize);
            } else {
                weft_datatype::unpack(self.address, self.count, &*self.datatype, skip, input, length);
            }
        }
    }

    /// Tells whether parts of the data can be copied to a target by themselves: one side is a block, or both have the
    /// same layout.
    pub(crate) fn is_divisible(&self, target: &Buffer) -> bool {
        // SAFETY: as promised; both datatypes live, and one that is not dense is not null.
        self.dense || target.dense || unsafe { weft_datatype::alike(&*self.datatype, &*target.datatype) }
    }

    /// Copies bytes `skip..skip + length` of the data to a target for which [`Buffer::is_divisible`] holds and which has
    /// room for them.
    ///
    /// # Safety
    /// The promises of [`Buffer::new`] for both.
    pub(crate) unsafe fn copy_part_to(&self, target: &Buffer, skip: u64, length: u64) {
        let (source, place) =
            (self.address.wrapping_add(skip as usize), target.address.wrapping_add(skip as usize));
        // SAFETY: as promised; the datatypes live, and one that is not dense is not null.
        unsafe {
            match (self.dense, target.dense) {
                (true, true) => weft_sys::copy::bytes(source, place, length as usize),
                (true, false) => {
                    let (address, count) = (target.address, target.count);
                    weft_datatype::unpack(address, count, &*target.datatype, skip, source, length);
                }
                (false, true) => {
                    weft_datatype::pack(self.address, self.count, &*self.datatype, skip, place, length);
                }
                (false, false) => {
                    weft_datatype::copy_part(self.address, target.address, &*target.datatype, skip, length);
                }
            }
        }
    }

    /// Copies from one user's buffer to another's; what does not fit is dropped.
    ///
    /// # Safety
    /// The promises of [`Buffer::new`] for both.
    pub(crate) unsafe fn copy_to(&self, target: &Buffer) {
        if self.dense {
            // SAFETY: the data is one block.
            unsafe { target.unpack_from(self.address, self.bytes) }
        } else if target.dense {
            let bytes = self.bytes.min(target.bytes);
            // SAFETY: the target is one block with room for so much; a type that is not dense is not null.
            unsafe {
                weft_datatype::pack(self.address, self.count, &*self.datatype, 0, target.address, bytes)
            };
        } else {
            // SAFETY: as promised; both datatypes live.
            unsafe {
                weft_datatype::copy(
                    self.address,
                    self.count,
                    &*self.datatype,
                    target.address,
                    target.count,
                    &*target.datatype,
                )
            };
        }
    }
}
