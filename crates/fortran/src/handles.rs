//! Handles: words for C, integers for Fortran.
//!
//! Those of predefined objects have the same value in both. The library of C functions makes numbers for the others.
//!
//! Unsafe because it calls C, and reads and writes what Fortran passes.
#![allow(unsafe_code)]

use crate::c;
use core::ffi::c_int;
use core::marker::PhantomData;
use weft_base::constants::{MPI_CART, MPI_COMM_NULL, MPI_DIST_GRAPH, MPI_GRAPH};

/// A kind of handle.
pub(crate) trait Kind {
    /// Returns the handle of a number.
    fn handle(number: c_int) -> usize;
    /// Returns the number of a handle.
    fn number(handle: usize) -> c_int;
}

macro_rules! kinds {
    ($($kind:ident: $toint:ident $fromint:ident),* $(,)?) => {$(
        #[doc = concat!("`MPI_", stringify!($kind), "`")]
        pub(crate) struct $kind;
        impl Kind for $kind {
            #[inline(always)]
            fn handle(number: c_int) -> usize {
                match usize::try_from(number) {
                    Ok(handle) => handle,
                    // SAFETY: takes any number.
                    Err(_) => unsafe { c::$fromint(number) },
                }
            }
            #[inline(always)]
            fn number(handle: usize) -> c_int {
                match c_int::try_from(handle) {
                    Ok(number) => number,
                    // SAFETY: takes any handle.
                    Err(_) => unsafe { c::$toint(handle) },
                }
            }
        }
    )*};
}

kinds! {
    Comm: PMPI_Comm_toint PMPI_Comm_fromint,
    Datatype: PMPI_Type_toint PMPI_Type_fromint,
    Errhandler: PMPI_Errhandler_toint PMPI_Errhandler_fromint,
    File: PMPI_File_toint PMPI_File_fromint,
    Group: PMPI_Group_toint PMPI_Group_fromint,
    Info: PMPI_Info_toint PMPI_Info_fromint,
    Message: PMPI_Message_toint PMPI_Message_fromint,
    Op: PMPI_Op_toint PMPI_Op_fromint,
    Request: PMPI_Request_toint PMPI_Request_fromint,
    Session: PMPI_Session_toint PMPI_Session_fromint,
    Win: PMPI_Win_toint PMPI_Win_fromint,
}

/// Arrays up to this length need no memory of their own.
const FEW: usize = 32;

/// An array of handles for C.
pub(crate) struct Handles<K> {
    few: [usize; FEW],
    many: Vec<usize>,
    /// What Fortran has passed, to see what C has changed.
    read: Option<Vec<usize>>,
    few_read: [usize; FEW],
    length: usize,
    kind: PhantomData<K>,
}

impl<K: Kind> Handles<K> {
    /// Makes an array that C is to fill.
    pub(crate) fn empty(length: i64) -> Self {
        let length = usize::try_from(length).unwrap_or(0);
        let many = if length > FEW { vec![0; length] } else { Vec::new() };
        Self { few: [0; FEW], many, read: None, few_read: [0; FEW], length, kind: PhantomData }
    }

    /// Reads the numbers of an array of Fortran's. An array whose length cannot be told has length zero: the call will say
    /// which argument is wrong.
    ///
    /// # Safety
    /// `numbers` is Fortran's array of that length.
    pub(crate) unsafe fn read(numbers: *const c_int, length: i64) -> Self {
        let mut handles = Self::empty(length);
        let length = handles.length;
        for (at, handle) in handles.all().iter_mut().enumerate() {
            // SAFETY: within the length that the caller says.
            *handle = K::handle(unsafe { *numbers.add(at) });
        }
        if length > FEW {
            handles.read = Some(handles.many.clone());
        } else {
            handles.few_read = handles.few;
        }
        handles
    }

    fn all(&mut self) -> &mut [usize] {
        if self.length > FEW { &mut self.many } else { &mut self.few[..self.length] }
    }

    /// Returns what C takes.
    pub(crate) fn address(&mut self) -> *mut usize {
        self.all().as_mut_ptr()
    }

    /// Stores the numbers of what C has changed.
    ///
    /// # Safety
    /// `numbers` is the array that was read.
    pub(crate) unsafe fn write(&mut self, numbers: *mut c_int) {
        for at in 0..self.length {
            let (old, new) = match &self.read {
                Some(read) => (read[at], self.many[at]),
                None => (self.few_read[at], self.few[at]),
            };
            if old != new {
                // SAFETY: within the length of the array.
                unsafe { *numbers.add(at) = K::number(new) }
            }
        }
    }

    /// Stores the numbers of what C has stored, which may be less than there is room for.
    ///
    /// # Safety
    /// `numbers` is Fortran's array of that length.
    pub(crate) unsafe fn write_stored(&mut self, numbers: *mut c_int) {
        for (at, &handle) in self.all().iter().enumerate() {
            if handle != 0 {
                // SAFETY: within the length of the array.
                unsafe { *numbers.add(at) = K::number(handle) }
            }
        }
    }
}

/// Returns with how many ranks a collective operation of a communicator exchanges data.
pub(crate) fn partners(comm: usize) -> i64 {
    let (mut is_between, mut size) = (0, 0);
    // SAFETY: asks C with addresses of variables. What it says of a wrong handle is said again by the call itself, so errors
    // must not be raised here.
    unsafe {
        if !is_usable(comm) || c::PMPI_Comm_test_inter(comm, &mut is_between) != 0 {
            return 0;
        }
        let code = if is_between != 0 {
            c::PMPI_Comm_remote_size(comm, &mut size)
        } else {
            c::PMPI_Comm_size(comm, &mut size)
        };
        if code == 0 { size.into() } else { 0 }
    }
}

/// Returns to how many neighbours, or from how many, an operation on a communicator's topology moves data.
pub(crate) fn neighbors(comm: usize, sends: bool) -> i64 {
    let (mut topology, mut count, mut sources, mut rank, mut weighted) = (0, 0, 0, 0, 0);
    // SAFETY: asks C with addresses of variables.
    unsafe {
        if !is_usable(comm) || c::PMPI_Topo_test(comm, &mut topology) != 0 {
            return 0;
        }
        let code = match topology {
            MPI_CART => {
                let code = c::PMPI_Cartdim_get(comm, &mut count);
                count *= 2;
                code
            }
            MPI_GRAPH => {
                c::PMPI_Comm_rank(comm, &mut rank);
                c::PMPI_Graph_neighbors_count(comm, rank, &mut count)
            }
            MPI_DIST_GRAPH => {
                let code = c::PMPI_Dist_graph_neighbors_count(comm, &mut sources, &mut count, &mut weighted);
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
