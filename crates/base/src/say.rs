//! What Weft itself says on standard error.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a line to standard error, formatted as by `format!`.
///
/// The standard library's own macro calls the system for every piece of a line. Where several processes write to one
/// place (a job and those it has spawned), the pieces would be mixed.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {
        $crate::say::write(format_args!("{}\n", format_args!($($text)*)))
    };
}

/// Writes a text to standard error with one call of the system.
pub fn write(text: Arguments<'_>) {
    // Where nobody can read what is wrong, nothing is left to be done about it.
    let _ = std::io::stderr().lock().write_all(text.to_string().as_bytes());
}
