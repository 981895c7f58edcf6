//! The C types of the MPI ABI as Rust sees them: `handles`, and the `status`.

mod handles;
mod status;

pub use handles::{Comm, Datatype, Errhandler, File, Group, Info, Message, Op, Request, Session, Win};
pub use status::Status;

use core::ffi::c_void;

/// `MPI_Aint`
pub type Aint = isize;
/// `MPI_Count`
pub type Count = i64;
/// `MPI_Offset`
pub type Offset = i64;

/// A function pointer of the user, kept as an address until its type is known.
pub type Callback = *const c_void;
