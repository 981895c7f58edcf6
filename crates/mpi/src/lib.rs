//! MPI as Rust functions, one file per subject of the standard.
//!
//! A function is named as the MPI procedure without `MPI_` and takes its arguments already wrapped
//! ([`weft_base::arguments`]); one function serves the `int` and the large-count form. State lives in
//! [`process::Process`], one per rank.

pub mod attributes;
pub mod blocking_collectives;
pub mod buffers;
pub mod callbacks;
pub mod check;
pub mod checking;
mod collective_arguments;
pub mod collective_checks;
pub(crate) mod collective_forms;
pub(crate) mod collectives;
pub mod communicators;
mod contexts;
pub mod datatypes;
mod distant;
pub mod distributed_graphs;
pub mod duplication;
pub mod environment;
pub mod error_classes;
pub mod error_handlers;
pub mod errors;
mod failures;
pub mod fortran;
pub mod from_groups;
pub mod generalized;
pub mod groups;
pub mod hints;
pub mod host;
pub mod info;
pub mod initialize;
pub mod intercommunicators;
pub mod keyvals;
mod meetings;
pub mod memory;
pub mod memory_kinds;
pub mod messages;
pub(crate) mod neighborhoods;
pub mod nodes;
pub mod nonblocking_collectives;
pub mod operations;
pub mod packing;
pub mod partitioned;
pub mod persistent_collectives;
pub mod point_to_point;
pub mod probes;
pub mod process;
mod recent;
mod reductions;
pub mod requests;
pub mod resources;
pub mod sessions;
pub mod split_type;
pub mod splitting;
pub mod statuses;
pub mod strings;
pub mod topologies;
pub mod type_attributes;
pub mod wide_handles;
pub mod window_attributes;
pub mod windows;
