//! How the interface returns texts.

use crate::arguments::strings;
use core::ffi::{c_char, c_int};
use weft_base::constants::{MPI_T_ERR_INVALID, MPI_T_ERR_INVALID_NAME};
use weft_base::{Error, In, Out, Result};

/// Returns a text as an argument and the one with its length say: not at all, its length with the NUL, or as much as fits.
///
/// # Errors
/// `MPI_T_ERR_INVALID` for a negative length.
pub(super) fn give(text: &str, output: Out<c_char>, length: Out<c_int>, name: &str) -> Result {
    if length.is_null() {
        return Ok(());
    }
    if !output.is_null() {
        let room = length.get_at(0);
        let Ok(room) = usize::try_from(room) else {
            let text = format!("{name}_len is {room}; it must not be negative");
            return Err(Error::new(MPI_T_ERR_INVALID, text));
        };
        if room > 0 {
            strings::write(text, output, room, length);
        }
    }
    length.set(strings::length(text) as c_int + 1);
    Ok(())
}

/// Finds a name that a tool gives among those there are, and stores its index.
///
/// # Errors
/// `MPI_T_ERR_INVALID_NAME`, and `MPI_T_ERR_INVALID` for null pointers.
pub(super) fn find(
    name: In<c_char>,
    index: Out<c_int>,
    argument: &str,
    position: impl FnOnce(&str) -> Option<usize>,
) -> Result {
    output(index, argument)?;
    if name.is_null() {
        return Err(Error::new(MPI_T_ERR_INVALID, "name is a null pointer; pass a string"));
    }
    let name = strings::read(name, "name")?;
    match position(&name) {
        Some(found) => {
            index.set(found as c_int);
            Ok(())
        }
        None => Err(Error::new(MPI_T_ERR_INVALID_NAME, format!("name is \"{name}\", which there is not"))),
    }
}

/// Checks that a result has somewhere to go.
///
/// # Errors
/// `MPI_T_ERR_INVALID`
pub(super) fn output<T: Copy>(argument: Out<T>, name: &str) -> Result {
    if argument.is_null() {
        return Err(Error::new(MPI_T_ERR_INVALID, format!("{name} is a null pointer; pass an address")));
    }
    Ok(())
}
