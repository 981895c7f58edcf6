//! Files (chapter 14): arguments, handles, error classes, and what the ranks of a file agree on. Reading and writing is in
//! [`weft_io`].
//!
//! - `file`: a file as the library keeps it for one rank. `opening`: how one comes to be, and its end. `hints`: what a program says
//!   of it. `properties`: its size, group, modes and hints; `consistency`: atomic mode, synchronisation.
//! - `views`: which data of it a rank sees. `representations`: how data is represented there.
//! - `call`: what all operations have in common. `explicit`, `individual`, `shared`: operations by where they begin. `split`: those
//!   whose beginning and end are calls of their own. `requests`: operations behind a request.
//! - `merging`: collective operations done together; `exchange`: of ranks of several processes.

mod call;
pub mod consistency;
mod exchange;
pub mod explicit;
pub mod file;
mod hints;
pub mod individual;
mod merging;
pub mod opening;
pub mod properties;
pub mod representations;
mod requests;
pub mod shared;
pub mod split;
pub mod views;
