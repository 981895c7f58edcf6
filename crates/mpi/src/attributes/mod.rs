//! Attributes (chapter 7), of each kind of object that has them.
//!
//! - `keyvals`: their keys, with functions that copy and delete.
//! - `communicator_attributes`: what any object keeps, the predefined attributes, and those of communicators.
//! - `type_attributes`, `window_attributes`: those of datatypes and windows.

pub mod communicator_attributes;
pub mod keyvals;
pub mod type_attributes;
pub mod window_attributes;
