//! Reports of crashes: who, where, why, and the functions on the way there.
//!
//! A signal handler may allocate nothing and take no lock: the crash may have come in the middle of `malloc`. So it
//! only collects addresses and writes them, formatted on its own stack, to the launcher's socket, line by line as
//! [`weft_base::job::Report`]s. `mpirun` finds the names. Where there is no `mpirun`, it writes plain text.

pub mod crash;
mod frames;
mod report;
pub mod signals;
mod writer;

pub use crash::{Form, Setup, install, install_alternate_stack};
pub use frames::locate;
