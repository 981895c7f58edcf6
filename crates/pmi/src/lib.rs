//! The client of the Process Management Interface, PMI: how a program learns from the launcher of another MPI, or from a
//! batch system, which rank of which job it is, and how the ranks of the job exchange a few words before they can talk.
//!
//! [`environment`] finds out whether such a launcher started this process, and how to reach it. [`Client`] speaks PMI-1,
//! lines of text (MPICH's and Intel's Hydra, Flux, Slurm), or PMI-2, messages with a length (Slurm). What both say has one
//! shape, [`text`]. [`mapping`] reads which rank is on which host. All that reads what came from outside is free of
//! sockets, takes any bytes without a panic, and bounds what it makes of them.
//!
//! Every wait for the launcher has an end, after which the error says who did not answer what.

mod client;
mod connection;
pub mod environment;
pub mod mapping;
pub mod text;

#[cfg(test)]
mod tests;

pub use client::Client;
pub use connection::{Limits, Watch};
pub use environment::{Facts, Way};
