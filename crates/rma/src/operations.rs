//! Operations: put, get, and the accumulate functions.
//!
//! At a rank whose memory this process sees an operation is complete, at origin and target, when the call returns.
#![allow(unsafe_code)] // Copies between the origin's buffers, for which callers vouch, and windows.

use crate::elsewhere::Combining;
use crate::epoch::Summary;
use crate::place::{Data, Place};
use crate::target::{self, Combination, Elements, Stripes};
use crate::window::{Target, Window};
use std::sync::atomic::Ordering;
use weft_base::Result;
use weft_datatype::Basic;
use weft_op::Op;
use weft_transport::Node;

impl Window {
    /// Checks that an operation may be directed at a rank.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_SYNC`
    #[inline]
    pub fn access(&self, rank: u32, has_request: bool) -> Result {
        let summary = self.summary.load(Ordering::Relaxed);
        if summary == Summary::Lock(rank).word()
            || summary == Summary::LockAll.word()
            || (summary == Summary::Fence.word() && !has_request)
        {
            return Ok(());
        }
        self.change(|epochs| epochs.access(rank, has_request))
    }

    /// Returns the address of the data at the target, and the locks of its elements, or its process if that is another one whose
    /// memory is not seen here.
    #[inline]
    fn reach(&self, place: &Place<'_>) -> Result<(*mut u8, core::result::Result<&Stripes, Node>)> {
        Ok(match self.target(place.rank) {
            Target::Here(segment, control) => {
                let at = self.locate(segment, Some(control), place)?;
                (at, Ok(&self.shared().station(segment, control).stripes))
            }
            Target::Mapped(segment, node, station) => {
                let at = self.locate(segment, None, place)?;
                self.reach_mapped(segment, node)?;
                (at, Ok(&station.stripes))
            }
            Target::Elsewhere(segment, node) => (self.locate(segment, None, place)?, Err(node)),
        })
    }

    #[inline]
    pub(crate) fn note_write(&self) {
        if !self.has_written.load(Ordering::Relaxed) {
            self.has_written.store(true, Ordering::Relaxed);
        }
    }

    /// Notes the change of an element. An instruction that changes memory is ordered with all around it on x86-64.
    #[inline]
    pub(crate) fn note_element(&self, by_instruction: bool) {
        if !by_instruction || cfg!(not(target_arch = "x86_64")) {
            self.note_write();
        }
    }

    /// Copies data to a target. Both sides have as many bytes.
    ///
    /// # Safety
    /// The origin's buffer is valid for reads.
    ///
    /// # Errors
    /// `MPI_ERR_DISP`, `MPI_ERR_RMA_RANGE`, `MPI_ERR_PROC_ABORTED`
    #[inline]
    pub unsafe fn put(&self, origin: Data<'_>, place: Place<'_>) -> Result {
        let (at, target) = self.reach(&place)?;
        if let Err(node) = target {
            // SAFETY: the caller's promise.
            return unsafe { self.put_there(origin, &place, node, at) };
        }
        self.note_write();
        // SAFETY: the caller vouches for the origin; the target's data is in memory that its rank exposes, which is there as
        // long as the window is.
        unsafe {
            weft_datatype::copy(
                origin.address,
                origin.count,
                origin.datatype,
                at,
                place.count,
                place.datatype,
            )
        };
        Ok(())
    }

    /// Copies data from a target. Both sides have as many bytes.
    ///
    /// # Safety
    /// The origin's buffer is valid for writes.
    ///
    /// # Errors
    /// As [`Window::put`].
    #[inline]
    pub unsafe fn get(&self, origin: Data<'_>, place: Place<'_>) -> Result {
        let (at, target) = self.reach(&place)?;
        if let Err(node) = target {
            // SAFETY: the caller's promise.
            return unsafe { self.get_there(origin, &place, node, at) };
        }
        // SAFETY: the caller vouches for the space at the origin; what is read is in memory that the target's rank exposes.
        unsafe {
            weft_datatype::copy(
                at,
                place.count,
                place.datatype,
                origin.address,
                origin.count,
                origin.datatype,
            )
        };
        Ok(())
    }

    /// Combines data with that at a target, and returns what was there before if `result` says where to. Without `origin` the
    /// operation is `MPI_NO_OP`. All have as many bytes, of the same elements, for which the operation is defined.
    ///
    /// # Safety
    /// The origin's buffer is valid for reads, that of the result for writes.
    ///
    /// # Errors
    /// As [`Window::put`].
    pub unsafe fn accumulate(
        &self,
        origin: Option<Data<'_>>,
        result: Option<Data<'_>>,
        place: Place<'_>,
        op: &Op,
    ) -> Result {
        let (at, target) = self.reach(&place)?;
        let stripes = match target {
            Ok(stripes) => stripes,
            Err(node) => {
                let combining = Combining { op, result };
                // SAFETY: the caller's promise.
                return unsafe { self.accumulate_there(origin, &place, &combining, node, at) };
            }
        };
        if place.bytes() == 0 {
            return Ok(());
        }
        self.note_write();
        let input = origin.map(|data| {
            // SAFETY: the caller's promise.
            unsafe { Packed::of(data) }
        });
        let output = result.map(Packed::room);
        let from = input.as_ref().map_or(core::ptr::null(), |packed| packed.address.cast_const());
        let to = output.as_ref().map_or(core::ptr::null_mut(), |packed| packed.address);
        let elements = Elements::of(place.datatype);
        // SAFETY: both have as many bytes as the target; the data there is in memory that its rank exposes.
        unsafe {
            let mut combination = Combination::new(op, elements, stripes, from, to, place.bytes());
            weft_datatype::for_each_run(place.datatype, place.count, |offset, bytes| {
                combination.run(at.wrapping_offset(offset as isize), bytes);
            });
        }
        if let (Some(output), Some(result)) = (output, result) {
            // SAFETY: the caller's promise.
            unsafe { output.put_into(result) };
        }
        Ok(())
    }

    /// Combines one element with that at a target, and returns what was there before. `place` is one instance of `basic`.
    ///
    /// # Safety
    /// `input` is valid for the read of an element unless the operation is `MPI_NO_OP`, `result` for its write.
    ///
    /// # Errors
    /// As [`Window::put`].
    #[inline]
    pub unsafe fn fetch_and_op(
        &self,
        input: *const u8,
        result: *mut u8,
        place: Place<'_>,
        basic: Basic,
        op: &Op,
    ) -> Result {
        let (at, target) = self.reach(&place)?;
        let stripes = match target {
            Ok(stripes) => stripes,
            Err(node) => {
                let datatype = place.datatype;
                let origin = Data { address: input.cast_mut(), count: 1, datatype };
                let result = Some(Data { address: result, count: 1, datatype });
                let combining = Combining { op, result };
                // SAFETY: the caller's promise.
                return unsafe { self.accumulate_there(Some(origin), &place, &combining, node, at) };
            }
        };
        let size = place.datatype.size();
        // SAFETY: the caller vouches for its buffers; the element is in memory that its rank exposes.
        let by_instruction = unsafe { target::fetch_and_op(stripes, op, basic, size, at, input, result) };
        self.note_element(by_instruction);
        Ok(())
    }

    /// Replaces the element at a target if it equals the one at `expected`; stores the former one at `result`.
    ///
    /// # Safety
    /// `input` and `expected` are valid for the read of an element, `result` for its write.
    ///
    /// # Errors
    /// As [`Window::put`].
    #[inline]
    pub unsafe fn compare_and_swap(
        &self,
        input: *const u8,
        expected: *const u8,
        result: *mut u8,
        place: Place<'_>,
    ) -> Result {
        let (at, target) = self.reach(&place)?;
        let stripes = match target {
            Ok(stripes) => stripes,
            // SAFETY: the caller's promise.
            Err(node) => unsafe {
                return self.compare_and_swap_there(input, expected, result, &place, node, at);
            },
        };
        let size = place.datatype.size();
        // SAFETY: the caller vouches for all three of its elements; the fourth is in memory that the target's rank exposes.
        let by_instruction = unsafe { target::compare_and_swap(stripes, size, at, input, expected, result) };
        self.note_element(by_instruction);
        Ok(())
    }
}

/// The data of a buffer without gaps: the buffer itself, where it has none.
struct Packed {
    address: *mut u8,
    copy: Option<Box<[u8]>>,
}

impl Packed {
    /// Packs a buffer's data.
    ///
    /// # Safety
    /// The buffer is valid for reads, and stays so as long as this.
    unsafe fn of(data: Data<'_>) -> Self {
        let packed = Self::room(data);
        if packed.copy.is_some() {
            // SAFETY: the caller vouches for the buffer, and there is room for its data.
            unsafe {
                weft_datatype::pack(data.address, data.count, data.datatype, 0, packed.address, data.bytes());
            }
        }
        packed
    }

    /// Returns room for a buffer's data.
    fn room(data: Data<'_>) -> Self {
        if let Some(offset) = data.datatype.one_block(data.count) {
            return Self { address: data.address.wrapping_offset(offset as isize), copy: None };
        }
        let mut copy = vec![0; data.bytes() as usize].into_boxed_slice();
        Self { address: copy.as_mut_ptr(), copy: Some(copy) }
    }

    /// Unpacks the data into the buffer there was room made for.
    ///
    /// # Safety
    /// The buffer is valid for writes.
    unsafe fn put_into(&self, data: Data<'_>) {
        if let Some(copy) = &self.copy {
            // SAFETY: the caller vouches for the buffer.
            unsafe {
                weft_datatype::unpack(
                    data.address,
                    data.count,
                    data.datatype,
                    0,
                    copy.as_ptr(),
                    data.bytes(),
                );
            }
        }
    }
}
