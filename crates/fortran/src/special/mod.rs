//! Entries that are more than conversions.
//!
//! - `attributes`: values and keys. `callbacks`: procedures of the user. `predefined`: procedures for the user to pass.
//! - `buffers`: the addresses of buffers that are detached. `info`: texts whose length is told, too.
//! - `others`: what C does not have. `spawning`: commands and their arguments.

pub(crate) mod attributes;
pub(crate) mod buffers;
pub(crate) mod callbacks;
pub(crate) mod info;
mod others;
mod predefined;
pub(crate) mod spawning;
