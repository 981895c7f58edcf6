//! Datatypes (chapter 5) as a rank knows them; `weft_datatype` holds the types themselves.
//!
//! - `constructors`: derived types. `predefined`: predefined ones by what they hold. `decoding`: how a type was made.
//! - `datatype`: types as objects: committed, duplicated, freed, named; their bounds. `state`: what a rank keeps of them.
//! - `elements`: how many elements a message had. `packing`: data of any layout into one buffer and back.
//! - `fortran`: what the library knows of Fortran's types.

pub mod constructors;
pub mod datatype;
pub mod decoding;
pub mod elements;
pub mod fortran;
pub mod packing;
pub mod predefined;
pub mod state;
