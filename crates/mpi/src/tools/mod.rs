//! The tool information interface (chapter 15): what the library lets tools see and change.
//!
//! Errors are returned and reach no error handler. All may be called before `MPI_Init` and after `MPI_Finalize`.
//!
//! - `interface`: its beginning and end. `state`: what the interface keeps of a rank. `handles`: words for objects of the
//!   interface. `strings`: how texts are returned.
//! - `control`: settings as control variables; `enumerations`: the words that stand for their values.
//! - `performance`: performance variables; `counting`: their sessions and handles; `variables`: which there are. `binding`: objects of MPI that
//!   they are bound to.
//! - `events`: types of events, registrations, and what an instance says; `sources`: where they come from; `listening`: what a
//!   registration is; `delivery`: when tools are told.
//! - `categories`: the subjects of everything.

mod binding;
pub mod categories;
pub mod control;
mod counting;
pub mod delivery;
pub mod enumerations;
pub mod events;
pub(crate) mod handles;
pub mod interface;
mod listening;
pub mod performance;
pub mod sources;
mod state;
mod strings;
mod variables;
