//! Attributes (chapter 7), of each kind of object that has them.
//!
//! - `keyvals`: their keys, with functions that copy and delete.
//! - `values`: what any object keeps.
//! - `communicator_attributes`: the predefined attributes, and those of communicators.
//! - `type_attributes`, `window_attributes`: those of datatypes and windows. `fortran`: integers as values, of all.

pub mod communicator_attributes;
pub mod fortran;
pub mod keyvals;
pub mod type_attributes;
pub mod values;
pub mod window_attributes;
