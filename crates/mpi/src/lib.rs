//! MPI as Rust functions, one file per subject of the standard.
//!
//! A function is named as the MPI procedure without `MPI_` and takes its arguments already wrapped
//! ([`weft_base::arguments`]); one function serves the `int` and the large-count form. State lives in
//! [`process::Process`], one per rank.
//!
//! [`errors`] is the way of an error out: `handling::raise` is the one place where an error meets an error handler.
//! [`process::host`] is what the surroundings provide: ending the job, names, what reports need. So nothing here knows how
//! ranks were started.

pub mod active;
pub mod arguments;
pub mod attributes;
pub mod collectives;
pub mod communicators;
pub mod datatypes;
pub mod environment;
pub mod errors;
pub mod files;
pub mod jobs;
pub mod point_to_point;
pub mod process;
pub mod reports;
pub mod tools;
pub mod topologies;
pub mod windows;
