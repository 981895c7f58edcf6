//! Arguments as a C caller hands them over.
//!
//! The exported functions wrap a caller's pointers in these types once; from there on the library is safe Rust.
//! Creating one is the unsafe step: it states that the caller of the MPI function keeps the standard's promise
//! about that argument (where it points, how long it is, that it lives until the call or operation ends).
#![allow(unsafe_code)]

use crate::abi::{Aint, Count};
use core::ffi::c_int;

/// An output argument, or the first element of an output array.
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

impl<T: Copy> Out<T> {
    /// Wraps a pointer.
    ///
    /// # Safety
    /// `pointer` is null or valid for writes (and reads, for in-out arguments) of as many elements as the standard
    /// gives the argument, for the duration of the call.
    pub const unsafe fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }

    /// Returns an argument that is not wanted.
    pub const fn null() -> Self {
        Self(core::ptr::null_mut())
    }

    /// Tells whether the caller passed a null pointer (often an `…_IGNORE` constant).
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the address.
    pub fn address(self) -> *mut T {
        self.0
    }

    /// Stores the value; does nothing for a null pointer.
    pub fn set(self, value: T) {
        self.set_at(0, value);
    }

    /// Stores element `index` of an array; does nothing for a null pointer.
    pub fn set_at(self, index: usize, value: T) {
        if !self.0.is_null() {
            // SAFETY: non-null, so valid for the argument's length by the constructor's contract.
            unsafe { self.0.add(index).write(value) }
        }
    }

    /// Reads element `index` of an in-out array.
    ///
    /// # Panics
    /// If the pointer is null.
    pub fn get_at(self, index: usize) -> T {
        assert!(!self.0.is_null());
        // SAFETY: checked above not to be null, and `new` was promised an array that reaches beyond `index`.
        unsafe { self.0.add(index).read() }
    }
}

/// An input array.
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}

impl<T: Copy> In<T> {
    /// Wraps a pointer.
    ///
    /// # Safety
    /// `pointer` is null or valid for reads of as many elements as the standard gives the argument, for the
    /// duration of the call.
    pub const unsafe fn new(pointer: *const T) -> Self {
        Self(pointer)
    }

    /// Tells whether the caller passed a null pointer.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the address.
    pub fn address(self) -> *const T {
        self.0
    }

    /// Reads element `index`.
    ///
    /// # Panics
    /// If the pointer is null.
    pub fn get(self, index: usize) -> T {
        assert!(!self.0.is_null());
        // SAFETY: non-null, so valid for the argument's length by the constructor's contract.
        unsafe { self.0.add(index).read() }
    }

    /// Copies the first `length` elements.
    pub fn to_vec(self, length: usize) -> Vec<T> {
        (0..length).map(|i| self.get(i)).collect()
    }
}

/// An input array of counts or displacements, whose elements are `int`, `MPI_Aint` or `MPI_Count`.
#[derive(Clone, Copy)]
pub enum Counts {
    /// `const int[]`
    Int(In<c_int>),
    /// `const MPI_Aint[]`
    Aint(In<Aint>),
    /// `const MPI_Count[]`
    Count(In<Count>),
}

impl Counts {
    /// Reads element `index`, widened.
    pub fn get(self, index: usize) -> Count {
        match self {
            Self::Int(a) => Count::from(a.get(index)),
            Self::Aint(a) => a.get(index) as Count,
            Self::Count(a) => a.get(index),
        }
    }

    /// Tells whether the caller passed a null pointer.
    pub fn is_null(self) -> bool {
        match self {
            Self::Int(a) => a.is_null(),
            Self::Aint(a) => a.is_null(),
            Self::Count(a) => a.is_null(),
        }
    }

    /// Tells whether the elements are `MPI_Count`: the form with large counts was called.
    pub fn is_large(self) -> bool {
        matches!(self, Self::Count(_))
    }

    /// Copies the first `length` elements, widened.
    pub fn to_vec(self, length: usize) -> Vec<Count> {
        (0..length).map(|i| self.get(i)).collect()
    }
}

/// An output count (one, or the first of an array) whose type is `int`, `MPI_Aint` or `MPI_Count`.
#[derive(Clone, Copy)]
pub enum CountOut {
    /// `int *`
    Int(Out<c_int>),
    /// `MPI_Aint *`
    Aint(Out<Aint>),
    /// `MPI_Count *`
    Count(Out<Count>),
}

impl CountOut {
    /// Stores `value` in element `index`; one that does not fit an `int` is stored as `MPI_UNDEFINED`.
    pub fn set_at(self, index: usize, value: Count) {
        match self {
            Self::Int(o) => {
                o.set_at(index, c_int::try_from(value).unwrap_or(crate::constants::MPI_UNDEFINED))
            }
            Self::Aint(o) => o.set_at(index, value as Aint),
            Self::Count(o) => o.set_at(index, value),
        }
    }

    /// Stores `value`; see [`CountOut::set_at`].
    pub fn set(self, value: Count) {
        self.set_at(0, value);
    }

    /// Tells whether the caller passed a null pointer.
    pub fn is_null(self) -> bool {
        match self {
            Self::Int(o) => o.is_null(),
            Self::Aint(o) => o.is_null(),
            Self::Count(o) => o.is_null(),
        }
    }
}
