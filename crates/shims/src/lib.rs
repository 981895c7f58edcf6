//! What the libraries for programs of other MPIs share.
//!
//! Such a library has the name and the functions that the other MPI's has. Each function converts its arguments, calls ours,
//! and converts what that stored. Ours is called under names that no other MPI has (`weft_MPI_Send`), as the library defines
//! the standard's names itself. Where ranks are threads each of them has a copy of the library, like any other library of the
//! program: so it may keep what belongs to a rank in variables. It does nothing when it is loaded.
//!
//! - `abi`: what differs from one interface to the next, as traits.
//! - `handles`, `statuses`, `texts`, `numbers`: conversions, and arrays of them without memory of their own if they are short.
//! - `special`: the functions that are more than conversions.
//! - `names`: further names of functions, and functions that are refused.
//! - `generated`: our functions as they are declared to Rust.

mod abi;
mod generated;
pub mod handles;
mod names;
pub mod numbers;
pub mod special;
pub mod statuses;
pub mod texts;

pub use abi::{Abi, Handle, StatusLayout};
pub use generated::c;
pub use special::refuse;

/// Makes a number that means nothing of one that means something to us only.
pub const fn wrong(value: i64) -> i64 {
    (value & 0xffff) | i32::MIN as i64
}

/// Makes a handle that is none of ours of a value that the other interface does not know.
pub const fn wrong_handle(value: usize) -> usize {
    value | 1 << 63
}
