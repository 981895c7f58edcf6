//! What differs from one interface to the next.

use core::ffi::c_int;
use weft_base::abi::Status;

/// A kind of handle of the other interface.
pub trait Handle: Copy {
    /// Returns our handle.
    fn ours(self) -> usize;
    /// Returns the other interface's handle for one of ours.
    fn theirs(handle: usize) -> Self;
    /// Returns the integer for it in Fortran.
    fn number(self) -> c_int;
    /// Returns the handle of such an integer.
    fn of_number(number: c_int) -> Self;
}

/// The other interface's status.
pub trait StatusLayout: Copy {
    /// The address that stands for a status, or for statuses, that nobody wants.
    const IGNORE: usize;
    /// Returns what it says in our layout; the error is converted, too.
    fn ours(&self) -> Status;
    /// Stores all but the error.
    fn store(&mut self, status: &Status);
    /// Stores the error, which is ours.
    fn store_error(&mut self, error: c_int);
}

/// Another MPI's binary interface.
pub trait Abi {
    /// `MPI_Comm`
    type Comm: Handle;
    /// `MPI_Datatype`
    type Datatype: Handle;
    /// `MPI_Errhandler`
    type Errhandler: Handle;
    /// `MPI_File`
    type File: Handle;
    /// `MPI_Group`
    type Group: Handle;
    /// `MPI_Info`
    type Info: Handle;
    /// `MPI_Op`
    type Op: Handle;
    /// `MPI_Request`
    type Request: Handle;
    /// `MPI_Session`
    type Session: Handle;
    /// `MPI_Win`
    type Win: Handle;
    /// `MPI_Status`
    type Status: StatusLayout;

    /// `MPI_BSEND_OVERHEAD`, the smallest in the headers of the MPIs that have this interface.
    const BSEND_OVERHEAD: usize;

    /// Converts the address of a buffer, which may mean something of its own.
    fn buffer_ours(address: usize) -> usize;
    /// Converts the address of a buffer.
    fn buffer_theirs(address: usize) -> usize;
    /// Converts an error code or class.
    fn error_ours(code: c_int) -> c_int;
    /// Converts an error code or class.
    fn error_theirs(code: c_int) -> c_int;
    /// Converts a key of attributes.
    fn keyval_ours(keyval: c_int) -> c_int;
    /// Converts a key of attributes.
    fn keyval_theirs(keyval: c_int) -> c_int;
    /// Converts a rank.
    fn rank_ours(rank: c_int) -> c_int;
    /// Converts a rank.
    fn rank_theirs(rank: c_int) -> c_int;
    /// Converts an order of arrays.
    fn order_theirs(order: c_int) -> c_int;
    /// Converts a distribution of an array.
    fn distribution_theirs(distribution: c_int) -> c_int;
    /// Converts the argument of a distribution.
    fn distribution_argument_theirs(argument: c_int) -> c_int;
    /// Converts how a window was made.
    fn flavor_theirs(flavor: c_int) -> c_int;
    /// Converts the memory model of a window.
    fn model_theirs(model: c_int) -> c_int;
}
