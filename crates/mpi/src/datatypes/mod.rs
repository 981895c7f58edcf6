//! Datatypes (chapter 5) as a rank knows them; `weft_datatype` holds the types themselves.
//!
//! - `datatype`: constructors, bounds, decoding, names. `packing`: data of any layout into one buffer and back.
//! - `fortran`: what the library knows of Fortran's types.

pub mod datatype;
pub mod fortran;
pub mod packing;
