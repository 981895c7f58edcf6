//! The C library: every function of the MPI ABI under its `MPI_` and `PMPI_` name.
//!
//! `generated` is written by `cargo xtask codegen` from `api/`; `entry` is what all its functions share, with `nesting`; `direct`
//! holds the few procedures that need no lower layer; `active` is the interface of active messages, `include/weft_am.h`; `fortran` is what the library of Fortran's procedures takes beside.

mod active;
mod direct;
mod entry;
mod fortran;
mod generated;
mod nesting;
mod node_entry;
