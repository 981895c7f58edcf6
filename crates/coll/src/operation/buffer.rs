//! A buffer of the user: address, count and datatype.
#![allow(unsafe_code)] // The one place where user buffers are read and written.

use crate::stores::Stores;
use core::ffi::c_void;
use core::ops::Range;
use weft_base::constants::MPI_ERR_TRUNCATE;
use weft_base::{Error, Result, abi};
use weft_datatype::Datatype;
use weft_op::Op;
use weft_sync::{Lock, Passing};

/// `count` elements of `datatype` in the memory of a user.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    address: *mut u8,
    count: u64,
    datatype: &'a Datatype,
}

impl core::fmt::Debug for Data<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} bytes at {:?}", self.bytes(), self.address)
    }
}

/// A buffer that keeps its datatype alive, or (with `()`) one whose datatype is kept elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct OwnedData<T> {
    address: *mut u8,
    count: u64,
    datatype: T,
}

// SAFETY: as for `Data`.
unsafe impl<T: Send> Send for OwnedData<T> {}
// SAFETY: as for `Data`.
unsafe impl<T: Sync> Sync for OwnedData<T> {}

impl<T> core::fmt::Debug for OwnedData<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} elements at {:?}", self.count, self.address)
    }
}

impl OwnedData<Datatype> {
    /// Returns the buffer.
    pub fn data(&self) -> Data<'_> {
        Data { address: self.address, count: self.count, datatype: &self.datatype }
    }
}

impl OwnedData<()> {
    /// Returns the buffer with its datatype.
    pub fn with<'a>(&self, datatype: &'a Datatype) -> Data<'a> {
        Data { address: self.address, count: self.count, datatype }
    }
}

// SAFETY: only an address; who may use it when is the constructor's and the operations' promise.
unsafe impl Send for Data<'_> {}
// SAFETY: sharing it shares that address; nothing is read or written through a shared one.
unsafe impl Sync for Data<'_> {}

impl<'a> Data<'a> {
    /// Returns the bytes that the data takes in a slot, gaps included, or nothing if its elements do not simply follow each
    /// other.
    pub(crate) fn span(&self) -> Option<u64> {
        let datatype = self.datatype();
        let simple =
            datatype.true_lb() >= 0 && datatype.true_lb() + datatype.true_extent() <= datatype.extent();
        simple.then(|| self.count().saturating_mul(datatype.extent() as u64))
    }

    /// Describes a buffer.
    ///
    /// # Safety
    /// Until the operation it is passed to returns, the memory of `count` elements of `datatype` at `address` is valid
    /// for reads by any thread, and for writes if the operation receives into it, as the standard demands of the
    /// caller; nobody else changes it meanwhile.
    pub unsafe fn new(address: *const c_void, count: u64, datatype: &'a Datatype) -> Self {
        Self { address: address.cast_mut().cast(), count, datatype }
    }

    /// Returns the number of elements.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the datatype.
    pub fn datatype(&self) -> &'a Datatype {
        self.datatype
    }

    /// Returns the number of bytes of data, without gaps.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.count * self.datatype.size()
    }

    /// Returns the same buffer with a datatype of its own.
    pub(crate) fn kept(&self) -> OwnedData<Datatype> {
        OwnedData { address: self.address, count: self.count, datatype: self.datatype.clone() }
    }

    /// Returns the same buffer without its datatype.
    pub(crate) fn place(&self) -> OwnedData<()> {
        OwnedData { address: self.address, count: self.count, datatype: () }
    }

    /// Tells whether two buffers have their first data at one place. The addresses alone do not tell: with `MPI_BOTTOM`
    /// all are the same, and datatypes may pick different parts of one array.
    #[inline]
    pub fn is_at(&self, other: &Self) -> bool {
        let first = |data: &Self| data.address.wrapping_offset(data.datatype.true_lb() as isize);
        core::ptr::eq(first(self), first(other))
    }

    /// Tells whether two buffers share memory, as far as their addresses tell: whether they begin at one place, or both
    /// are without gaps and overlap.
    pub fn overlaps(&self, other: &Self) -> bool {
        if self.bytes() == 0 || other.bytes() == 0 {
            return false;
        }
        let end = |data: &Self| (data.address.addr() as u64).saturating_add(data.bytes());
        let dense = self.datatype.is_dense() && other.datatype.is_dense();
        let cross = (self.address.addr() as u64) < end(other) && (other.address.addr() as u64) < end(self);
        self.is_at(other) || (dense && cross)
    }

    /// Tells whether two buffers surely share no memory: gaps count as theirs, so that those whose data lies in each
    /// other's gaps are not called apart.
    pub fn is_apart(&self, other: &Self) -> bool {
        let place = |data: &Self| {
            let Range { start, end } = reach(data.count, data.datatype);
            let address = data.address.addr() as i64;
            address.wrapping_add(start)..address.wrapping_add(end)
        };
        let (mine, theirs) = (place(self), place(other));
        mine.end <= theirs.start || theirs.end <= mine.start
    }

    /// Returns `count` elements from element `first` on, which lie within the buffer.
    #[inline]
    pub fn part(&self, first: u64, count: u64) -> Self {
        debug_assert!(first + count <= self.count);
        let offset = first as i64 * self.datatype.extent();
        Self { address: self.address.wrapping_offset(offset as isize), count, ..*self }
    }

    /// Packs the data into `bytes()` bytes.
    ///
    /// # Safety
    /// `place` is valid for writes of that many bytes.
    #[inline]
    pub(crate) unsafe fn pack(&self, place: *mut u8) {
        let bytes = self.bytes();
        // SAFETY: the buffer by the constructor's contract, the place by this function's.
        unsafe {
            if self.datatype.is_dense() {
                weft_sys::copy::bytes(self.address, place, bytes as usize);
            } else {
                weft_datatype::pack(self.address, self.count, self.datatype, 0, place, bytes);
            }
        }
    }

    /// Unpacks `bytes` bytes, at most as many as the buffer holds.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if there are more.
    ///
    /// # Safety
    /// `place` is valid for reads of `bytes` bytes.
    #[inline]
    pub(crate) unsafe fn unpack(&self, place: *const u8, bytes: u64) -> Result {
        let room = self.bytes();
        let length = bytes.min(room);
        // SAFETY: the buffer by the constructor's contract, the place by this function's.
        unsafe {
            if self.datatype.is_dense() {
                weft_sys::copy::bytes(place, self.address, length as usize);
            } else {
                weft_datatype::unpack(self.address, self.count, self.datatype, 0, place, length);
            }
        }
        if bytes > room { Err(truncated(bytes, room)) } else { Ok(()) }
    }

    /// Packs `length` bytes, from byte `first` of the packed data on.
    ///
    /// # Safety
    /// `place` is valid for writes of that many bytes.
    pub(crate) unsafe fn pack_part(&self, first: u64, place: *mut u8, length: u64) {
        // SAFETY: the buffer by the constructor's contract, the place by this function's.
        unsafe { weft_datatype::pack(self.address, self.count, self.datatype, first, place, length) };
    }

    /// As [`Data::pack_part`], to where a core reads it that shares no cache with this one, or may not.
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn pass_part(&self, passing: &Lock<Passing>, first: u64, place: *mut u8, length: u64) {
        // Another rank of the process that copies now need not wait.
        if length >= Passing::LEAST
            && self.datatype.is_dense()
            && let Some(mut passing) = passing.try_lock()
        {
            let from = self.address.wrapping_add(first as usize);
            // SAFETY: data without gaps; the buffer by the constructor's contract, the place by this function's.
            unsafe { passing.copy(from, place, length) };
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.pack_part(first, place, length) };
        }
    }

    /// Unpacks `length` bytes to where byte `first` of the packed data belongs and further, as far as they fit.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if they do not fit.
    ///
    /// # Safety
    /// `place` is valid for reads of that many bytes.
    pub(crate) unsafe fn unpack_part(&self, first: u64, place: *const u8, length: u64) -> Result {
        let room = self.bytes();
        let fits = length.min(room.saturating_sub(first));
        // SAFETY: the buffer by the constructor's contract, the place by this function's.
        unsafe { weft_datatype::unpack(self.address, self.count, self.datatype, first, place, fits) };
        if fits < length { Err(truncated(first + length, room)) } else { Ok(()) }
    }

    /// Fills the buffer, which has no gaps, with pieces of `each` bytes that lie `stride` bytes apart.
    ///
    /// # Safety
    /// The buffer holds `pieces` pieces; `from` is valid for reads of as many.
    #[inline]
    pub(crate) unsafe fn collect(&self, from: *const u8, stride: usize, pieces: usize, each: usize) {
        debug_assert!(self.datatype.is_dense() && (pieces * each) as u64 <= self.bytes());
        for piece in 0..pieces {
            // SAFETY: piece and place by this function's contract. The usual sizes are known to the compiler.
            unsafe {
                let (from, to) = (from.add(piece * stride), self.address.add(piece * each));
                match each {
                    4 => core::ptr::copy_nonoverlapping(from, to, 4),
                    8 => core::ptr::copy_nonoverlapping(from, to, 8),
                    _ => weft_sys::copy::bytes(from, to, each),
                }
            }
        }
    }

    /// Copies the data into another buffer, as far as it fits.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if it does not fit.
    #[inline]
    pub(crate) fn copy_to(&self, other: &Data<'_>) -> Result {
        self.copy_by(Stores::Cached, other)
    }

    /// Copies the data into another buffer as [`Data::copy_to`] does, with given stores if both are without gaps.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub(crate) fn copy_by(&self, stores: Stores, other: &Data<'_>) -> Result {
        let (bytes, room) = (self.bytes(), other.bytes());
        if bytes != 0 && room != 0 && !self.is_at(other) {
            // SAFETY: both buffers by the constructor's contract.
            unsafe {
                if self.datatype.is_dense() && other.datatype.is_dense() {
                    let length = bytes.min(room) as usize;
                    match stores {
                        Stores::Cached => weft_sys::copy::bytes(self.address, other.address, length),
                        Stores::Streaming => weft_sync::stream::copy(self.address, other.address, length),
                    }
                    return if bytes > room { Err(truncated(bytes, room)) } else { Ok(()) };
                }
                weft_datatype::copy(
                    self.address,
                    self.count,
                    self.datatype,
                    other.address,
                    other.count,
                    other.datatype,
                );
            }
        }
        if bytes > room { Err(truncated(bytes, room)) } else { Ok(()) }
    }

    /// Exchanges the data of two buffers of equal signature through `scratch`, which holds one of them packed.
    pub(crate) fn swap_with(&self, other: &Data<'_>, scratch: &mut Vec<u8>) -> Result {
        let bytes = self.bytes();
        scratch.resize(bytes as usize, 0);
        // SAFETY: the scratch holds `bytes` bytes.
        unsafe { self.pack(scratch.as_mut_ptr()) };
        let first = other.copy_to(self);
        // SAFETY: packing has filled the scratch's `bytes` bytes.
        first.and(unsafe { other.unpack(scratch.as_ptr(), bytes) })
    }
}

#[cold]
fn truncated(bytes: u64, room: u64) -> Error {
    let message = format!(
        "a rank contributes {bytes} bytes where the receiving buffer holds {room}; \
         counts and datatypes must describe equally much data on both sides"
    );
    Error::new(MPI_ERR_TRUNCATE, message)
}

/// A reduction operation together with the handle under which the calling rank knows the datatype (a user's function
/// gets to see it).
#[derive(Clone, Copy)]
pub struct Operator<'a> {
    /// The operation.
    pub op: &'a Op,
    /// The datatype's handle.
    pub handle: abi::Datatype,
}

impl core::fmt::Debug for Operator<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "an operation on datatype {:#x}", self.handle.0)
    }
}

/// An [`Operator`] that keeps its operation alive.
#[derive(Clone)]
pub(crate) struct OwnedOperator {
    op: Op,
    handle: abi::Datatype,
}

impl core::fmt::Debug for OwnedOperator {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.operator().fmt(f)
    }
}

impl From<Operator<'_>> for OwnedOperator {
    fn from(operator: Operator<'_>) -> Self {
        Self { op: operator.op.clone(), handle: operator.handle }
    }
}

impl OwnedOperator {
    /// Returns the operation.
    pub fn operator(&self) -> Operator<'_> {
        Operator { op: &self.op, handle: self.handle }
    }
}

impl Operator<'_> {
    /// Reduces `input op inout` into `inout`; both have the same count and datatype.
    pub(crate) fn apply(&self, input: &Data<'_>, inout: &Data<'_>) {
        debug_assert_eq!(input.count, inout.count);
        // SAFETY: both buffers by the constructor's contract; the datatype was checked against the operation.
        unsafe { self.op.apply(inout.datatype, self.handle, input.address, inout.address, inout.count) }
    }

    /// Reduces `first op second` into `out`, which shares no memory with the two; all have the same count and datatype.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE` if the result does not fit.
    pub(crate) fn combine(&self, first: &Data<'_>, second: &Data<'_>, out: &Data<'_>) -> Result {
        debug_assert!(first.count == second.count && second.count == out.count);
        // SAFETY: the buffers by the constructor's contract; the datatype was checked against the operation.
        let is_done =
            unsafe { self.op.combine(out.datatype, first.address, second.address, out.address, out.count) };
        if !is_done {
            second.copy_to(out)?;
            self.apply(first, out);
        }
        Ok(())
    }

    /// Reduces `count` elements of a dense datatype in slots.
    ///
    /// # Safety
    /// Both places are aligned for the datatype and valid for that many elements.
    pub(crate) unsafe fn apply_in_slots(
        &self,
        datatype: &Datatype,
        input: *const u8,
        inout: *mut u8,
        count: u64,
    ) {
        // SAFETY: by this function's contract.
        unsafe { self.op.apply(datatype, self.handle, input, inout, count) }
    }
}

/// Returns the lowest displacement that `count` elements use, and the end of the highest; extents may be negative.
fn reach(count: u64, datatype: &Datatype) -> Range<i64> {
    if count == 0 {
        return 0..0;
    }
    let between = datatype.extent() * (count as i64 - 1);
    let low = datatype.true_lb() + between.min(0);
    low..datatype.true_lb() + datatype.true_extent() + between.max(0)
}

/// Memory for some elements of a datatype, laid out like a user's buffer.
pub(crate) struct Scratch<'a> {
    /// Owns what `data` points to; never used directly.
    _memory: Vec<u128>,
    data: Data<'a>,
}

impl<'a> Scratch<'a> {
    /// Allocates memory for `count` elements.
    pub fn new(count: u64, datatype: &'a Datatype) -> Self {
        let count = count.max(1);
        let Range { start: low, end: high } = reach(count, datatype);
        let units = ((high - low) as usize).div_ceil(16) + 1;
        let mut memory: Vec<u128> = Vec::with_capacity(units);
        // Keep each element aligned as it is in a buffer aligned to 16 bytes.
        let skip = low.rem_euclid(16) as isize;
        let address = memory.as_mut_ptr().cast::<u8>().wrapping_offset(skip - low as isize);
        Self { _memory: memory, data: Data { address, count, datatype } }
    }

    /// Returns the first `count` elements as a buffer, not to be used after the scratch is gone.
    pub fn data(&self, count: u64) -> Data<'a> {
        self.data.part(0, count)
    }
}
