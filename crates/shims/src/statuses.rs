//! Statuses.
//!
//! Unsafe because it reads and writes what the program passes.
#![allow(unsafe_code)]

use core::ffi::c_int;
use weft_base::abi::Status;

pub use crate::abi::StatusLayout;
pub use crate::numbers::*;

/// Stands in a status for what a call has not stored: no source and no error is this number.
const UNTOUCHED: c_int = c_int::MIN + 0x5eed;

const BLANK: Status = Status { source: UNTOUCHED, tag: UNTOUCHED, error: UNTOUCHED, internal: [0; 5] };

/// Stores what a call has stored.
fn store<S: StatusLayout>(target: &mut S, status: &Status) {
    if status.source != UNTOUCHED {
        target.store(status);
    }
    if status.error != UNTOUCHED {
        target.store_error(status.error);
    }
}

fn is_ignored<S: StatusLayout>(target: *const S) -> bool {
    target.is_null() || target as usize == S::IGNORE
}

/// A status that a call reads.
pub struct StatusIn(Option<Status>);

impl StatusIn {
    /// Reads a status of the program.
    ///
    /// # Safety
    /// `source` is null, ignored or a status.
    #[inline]
    pub unsafe fn new<S: StatusLayout>(source: *const S) -> Self {
        // SAFETY: the caller's promise.
        Self((!is_ignored(source)).then(|| unsafe { (*source).ours() }))
    }

    /// Returns what the call takes.
    pub fn address(&self) -> *mut Status {
        self.0.as_ref().map_or(core::ptr::null_mut(), |status| core::ptr::from_ref(status).cast_mut())
    }
}

/// A status that a call stores or changes.
pub struct StatusOut<S> {
    target: *mut S,
    status: Status,
}

impl<S: StatusLayout> StatusOut<S> {
    /// Makes a status that the call is to fill.
    #[inline(always)]
    pub fn new(target: *mut S) -> Self {
        Self { target, status: BLANK }
    }

    /// Reads a status that the call is to change.
    ///
    /// # Safety
    /// `target` is null, ignored or a status.
    pub unsafe fn read(target: *mut S) -> Self {
        // SAFETY: what the caller says.
        let status = if is_ignored(target) { BLANK } else { unsafe { (*target).ours() } };
        Self { target, status }
    }

    /// Returns what the call takes.
    #[inline(always)]
    pub fn address(&mut self) -> *mut Status {
        if is_ignored(self.target) { core::ptr::null_mut() } else { &mut self.status }
    }

    /// Stores what the call has stored.
    ///
    /// # Safety
    /// The program's status is still there.
    #[inline(always)]
    pub unsafe fn write(&self) {
        if !is_ignored(self.target) {
            // SAFETY: a status, as it is not ignored.
            store(unsafe { &mut *self.target }, &self.status);
        }
    }
}

/// Arrays up to this length need no memory of their own.
const FEW: usize = 64;

/// An array of statuses that a call fills.
pub struct Statuses<S> {
    few: [Status; FEW],
    many: Vec<Status>,
    target: *mut S,
    length: usize,
}

impl<S: StatusLayout> Statuses<S> {
    /// Makes an array for the call.
    #[inline]
    pub fn new(target: *mut S, length: c_int) -> Self {
        let length = if is_ignored(target) { 0 } else { usize::try_from(length).unwrap_or(0) };
        let many = if length > FEW { vec![BLANK; length] } else { Vec::new() };
        Self { few: [BLANK; FEW], many, target, length }
    }

    /// Returns what the call takes.
    pub fn address(&mut self) -> *mut Status {
        if is_ignored(self.target) {
            core::ptr::null_mut()
        } else if self.length > FEW {
            self.many.as_mut_ptr()
        } else {
            self.few.as_mut_ptr()
        }
    }

    /// Stores what the call has stored.
    ///
    /// # Safety
    /// The program's array is still there, and as long as was said.
    pub unsafe fn write(&self) {
        let all = if self.length > FEW { &self.many[..] } else { &self.few[..self.length] };
        for (at, status) in all.iter().enumerate() {
            // SAFETY: within the length of the array.
            store(unsafe { &mut *self.target.add(at) }, status);
        }
    }
}
