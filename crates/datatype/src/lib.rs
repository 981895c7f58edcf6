//! Datatypes: the predefined ones, constructors, and kernels that pack, unpack and copy.
//!
//! A [`Datatype`] keeps three things apart: its bounds (what the next instance is placed by), its layout (where the
//! data bytes lie, in a normal form that kernels run), and its signature (which basic elements follow each other,
//! for counting and for external representations). The constructor call is recorded for decoding.
//!
//! The way of a copy: `copy` looks whether one side is a block or both layouts are the same; `walk` visits a layout and
//! `cursor` two different ones; `kernels` holds the innermost loops.

mod basic;
mod construct;
mod copy;
mod cursor;
mod datatype;
mod distribute;
mod elements;
mod external;
mod kernels;
mod layout;
mod offsets;
mod signature;
mod walk;

pub use basic::{Basic, Class, Description, Repr};
pub use copy::{alike, copy, copy_part, for_each_run, pack, unpack};
pub use datatype::{Contents, Datatype, Envelope};
pub use external::{pack_external, unpack_external};
pub use signature::{Difference, Signature};
