//! The library `libmpifort_abi.so.1`: what Fortran programs call.
//!
//! It is a layer above the C functions of the standard ABI, and calls their `PMPI_` names. Where ranks are threads it is
//! copied for each of them, like any other library of the program: the addresses of `MPI_BOTTOM` and the like are those of
//! its own rank. So it keeps nothing in thread-locals, and does nothing when it is loaded.
//!
//! - `generated`: an entry per procedure. Those of `mpif.h` and module `mpi` (`mpi_send_`) take everything by reference, and
//!   so do those of `mpi_f08` that have no buffer (`mpi_comm_rank_f08_`): a derived type of one integer, and an error code
//!   that may be missing, look the same. Those of
//!   procedures of `mpi_f08` with buffers take the standard's descriptors (`weft_mpi_send_f08ts`). What programs call lies before
//!   them, in the library that the launcher makes for a compiler from `modules`.
//! - `special`: the entries that are more than conversions.
//! - `convert`: addresses that mean something of their own. `handles`: integers. `texts`: blanks.
//! - `section`: buffers that are sections of arrays.
//! - `names`: further names of entries.

mod convert;
mod generated;
mod handles;
mod names;
mod section;
mod special;
mod texts;

pub(crate) use generated::c;
