//! The tool information interface (chapter 15): what the library lets tools see and change.
//!
//! Errors are returned and reach no error handler. All may be called before `MPI_Init` and after `MPI_Finalize`.
//!
//! - `interface`: its beginning and end. `state`: what the interface keeps of a rank. `handles`: words for objects of the
//!   interface. `strings`: how texts are returned.
//! - `control`: settings as control variables; `enumerations`: the words that stand for their values.
//! - `categories`: the subjects of everything.

pub mod categories;
pub mod control;
pub mod enumerations;
pub(crate) mod handles;
pub mod interface;
mod state;
mod strings;
