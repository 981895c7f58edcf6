//! The tool information interface (chapter 15): what the library lets tools see and change.
//!
//! Errors are returned and reach no error handler. All may be called before `MPI_Init` and after `MPI_Finalize`.
//!
//! - `interface`: its beginning and end. `state`: what the interface keeps of a rank. `handles`: words for objects of the
//!   interface. `strings`: how texts are returned.
//! - `control`: settings as control variables; `enumerations`: the words that stand for their values.
//! - `performance`: performance variables; `counting`: their sessions and handles; `variables`: which there are. `binding`: objects of MPI that
//!   they are bound to.
//! - `categories`: the subjects of everything.

mod binding;
pub mod categories;
pub mod control;
mod counting;
pub mod enumerations;
pub(crate) mod handles;
pub mod interface;
pub mod performance;
mod state;
mod strings;
mod variables;
