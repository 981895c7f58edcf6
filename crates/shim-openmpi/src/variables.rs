//! The form of the variables that stand for predefined objects.
//!
//! Unsafe because a table of their addresses is shared.
#![allow(unsafe_code)]

/// The address of a variable that stands for a predefined object.
#[repr(transparent)]
pub struct Address(pub *const usize);

// SAFETY: nobody writes to these variables.
unsafe impl Sync for Address {}

/// Makes such a variable: the first word is our handle.
pub const fn object<const WORDS: usize>(handle: usize) -> [usize; WORDS] {
    let mut words = [0; WORDS];
    words[0] = handle;
    words
}
