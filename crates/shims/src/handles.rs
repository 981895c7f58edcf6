//! Handles that are passed by address, and arrays of them.
//!
//! Unsafe because it reads and writes what the program passes, and calls C.
#![allow(unsafe_code)]

use crate::c;
use core::ffi::c_int;
use weft_base::constants::{MPI_CART, MPI_COMM_NULL, MPI_DIST_GRAPH, MPI_GRAPH, MPI_IN_PLACE};

pub use crate::abi::Handle;

/// A handle that a call stores or changes.
pub struct Variable<H> {
    target: *mut H,
    read: usize,
    handle: usize,
}

impl<H: Handle> Variable<H> {
    /// Makes a variable that the call is to fill.
    #[inline(always)]
    pub fn empty(target: *mut H) -> Self {
        Self { target, read: 0, handle: 0 }
    }

    /// Reads a variable of the program.
    ///
    /// # Safety
    /// `target` is null or a variable.
    #[inline(always)]
    pub unsafe fn read(target: *mut H) -> Self {
        // SAFETY: the caller's promise.
        let read = if target.is_null() { 0 } else { unsafe { (*target).ours() } };
        Self { target, read, handle: read }
    }

    /// Returns what the call takes: null for null, so that the call says what is wrong.
    #[inline(always)]
    pub fn address(&mut self) -> *mut usize {
        if self.target.is_null() { core::ptr::null_mut() } else { &mut self.handle }
    }

    /// Stores what the call has changed.
    ///
    /// # Safety
    /// The variable is still there.
    #[inline(always)]
    pub unsafe fn write(&self) {
        if self.handle != self.read {
            // SAFETY: only a variable's value changes.
            unsafe { *self.target = H::theirs(self.handle) }
        }
    }
}

/// Arrays up to this length need no memory of their own.
const FEW: usize = 64;

/// An array of handles.
pub struct Handles<H> {
    few: [usize; FEW],
    many: Vec<usize>,
    start: *mut H,
    length: usize,
}

impl<H: Handle> Handles<H> {
    /// Makes an array that the call is to fill.
    #[inline]
    pub fn empty(start: *mut H, length: i64) -> Self {
        let length = if start.is_null() { 0 } else { usize::try_from(length).unwrap_or(0) };
        let many = if length > FEW { vec![0; length] } else { Vec::new() };
        Self { few: [0; FEW], many, start, length }
    }

    /// Reads an array of the program. One whose length cannot be told has length zero: the call says which argument is wrong.
    ///
    /// # Safety
    /// `start` is null or an array of that length.
    #[inline]
    pub unsafe fn read(start: *mut H, length: i64) -> Self {
        let mut handles = Self::empty(start, length);
        for (at, handle) in handles.all().iter_mut().enumerate() {
            // SAFETY: within the length that the caller says.
            *handle = unsafe { (*start.add(at)).ours() };
        }
        handles
    }

    fn all(&mut self) -> &mut [usize] {
        if self.length > FEW { &mut self.many } else { &mut self.few[..self.length] }
    }

    /// Returns what the call takes.
    pub fn address(&mut self) -> *mut usize {
        if self.start.is_null() { core::ptr::null_mut() } else { self.all().as_mut_ptr() }
    }

    /// Stores what the call has changed in an array that was read.
    ///
    /// # Safety
    /// The array is still there.
    pub unsafe fn write(&mut self, start: *mut H) {
        for (at, &handle) in self.all().iter().enumerate() {
            // SAFETY: within the length of the array.
            unsafe {
                // Both handles of an object are the same as long as it lives, so the array itself says what was read.
                if (*start.add(at)).ours() != handle {
                    *start.add(at) = H::theirs(handle);
                }
            }
        }
    }

    /// Stores what the call has stored, which may be less than there is room for.
    ///
    /// # Safety
    /// `start` is the program's array.
    pub unsafe fn write_stored(&mut self, start: *mut H) {
        for (at, &handle) in self.all().iter().enumerate() {
            if handle != 0 {
                // SAFETY: within the length of the array.
                unsafe { *start.add(at) = H::theirs(handle) }
            }
        }
    }
}

/// Reads a length that is passed by address.
///
/// # Safety
/// `length` is null or a variable.
pub unsafe fn pointed(length: *const c_int) -> i64 {
    // SAFETY: the caller's promise.
    if length.is_null() { 0 } else { unsafe { (*length).into() } }
}

/// Tells whether an address, which is ours, stands for the other buffer.
pub fn is_in_place(address: usize) -> bool {
    address == MPI_IN_PLACE
}

/// Returns with how many ranks a collective operation of a communicator exchanges data.
pub fn partners(comm: usize) -> i64 {
    let (mut is_between, mut size) = (0, 0);
    // SAFETY: asks C with addresses of variables. What it says of a wrong handle is said again by the call itself, so errors
    // must not be raised here.
    unsafe {
        if !is_usable(comm) || c::MPI_Comm_test_inter(comm, &mut is_between) != 0 {
            return 0;
        }
        let code = if is_between != 0 {
            c::MPI_Comm_remote_size(comm, &mut size)
        } else {
            c::MPI_Comm_size(comm, &mut size)
        };
        if code == 0 { size.into() } else { 0 }
    }
}

/// Returns to how many neighbours, or from how many, an operation on a communicator's topology moves data.
pub fn neighbors(comm: usize, sends: bool) -> i64 {
    let (mut topology, mut count, mut sources, mut rank, mut weighted) = (0, 0, 0, 0, 0);
    // SAFETY: asks C with addresses of variables.
    unsafe {
        if !is_usable(comm) || c::MPI_Topo_test(comm, &mut topology) != 0 {
            return 0;
        }
        let code = match topology {
            MPI_CART => {
                let code = c::MPI_Cartdim_get(comm, &mut count);
                count *= 2;
                code
            }
            MPI_GRAPH => {
                c::MPI_Comm_rank(comm, &mut rank);
                c::MPI_Graph_neighbors_count(comm, rank, &mut count)
            }
            MPI_DIST_GRAPH => {
                let code = c::MPI_Dist_graph_neighbors_count(comm, &mut sources, &mut count, &mut weighted);
                if !sends {
                    count = sources;
                }
                code
            }
            _ => 1,
        };
        if code == 0 { count.into() } else { 0 }
    }
}

/// Tells whether a handle may be one of a communicator: asking C about another would raise an error.
fn is_usable(comm: usize) -> bool {
    comm != 0 && comm != MPI_COMM_NULL.0
}
