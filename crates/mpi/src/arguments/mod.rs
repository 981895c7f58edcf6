//! What comes from C programs: arguments and their checks, strings, callbacks, handles as integers.
//!
//! - `check`: checks named after the kinds of the API description. `strings`: to and from C callers.
//! - `callbacks`: calls of the user's functions. `wide_handles`: handles as integers (chapter 19).

pub mod callbacks;
pub mod check;
pub mod strings;
pub mod wide_handles;
