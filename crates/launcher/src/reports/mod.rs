//! What `mpirun` tells people of a job that goes wrong.
//!
//! - `report`: what a node process reports. `symbols`: function names and source lines.
//!   `variables`: how a program declares a buffer.
//! - `census`: whether the ranks of several node processes are in a deadlock. `deadlock`: what is said of it. `ranks`: how
//!   ranks are written.

pub mod census;
pub mod deadlock;
pub mod ranks;
pub mod report;
pub mod symbols;
mod variables;
