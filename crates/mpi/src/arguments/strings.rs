//! Strings to and from C callers.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_int};
use weft_base::constants::MPI_ERR_ARG;
use weft_base::{Error, In, Out, Result};

/// Where the bytes 0x80 to 0xff of a string that is not UTF-8 are kept, each as a character of its own.
const ODD_BYTES: u32 = 0xf700;

/// Reads a NUL-terminated string argument called `name`. Text in whatever encoding comes out of [`write`] as it was.
///
/// # Errors
/// `MPI_ERR_ARG` for a null pointer.
pub fn read(string: In<c_char>, name: &str) -> Result<String> {
    if string.is_null() {
        return Err(Error::new(MPI_ERR_ARG, format!("{name} is a null pointer; pass a string")));
    }
    // SAFETY: `In`'s contract: a non-null string argument is NUL-terminated, as the standard demands.
    Ok(keep(unsafe { CStr::from_ptr(string.address()) }.to_bytes()))
}

/// Returns the string that an element of an array of strings points to.
pub(crate) fn pointed_to(string: *mut c_char) -> In<c_char> {
    // SAFETY: the standard wants the elements of such arrays to be null or to point to strings.
    unsafe { In::new(string) }
}

/// Returns the array of strings that an element of an array of such arrays points to.
pub(crate) fn array_pointed_to(array: *mut *mut c_char) -> In<*mut c_char> {
    // SAFETY: the standard wants them to be null or to point to null-terminated arrays of strings.
    unsafe { In::new(array) }
}

fn odd_byte(character: char) -> Option<u8> {
    (u32::from(character))
        .checked_sub(ODD_BYTES)
        .and_then(|byte| u8::try_from(byte).ok())
        .filter(|&b| b >= 0x80)
}

fn keep(bytes: &[u8]) -> String {
    match core::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(|c| odd_byte(c).is_some()) => text.to_owned(),
        _ => {
            let character = |&byte: &u8| {
                let odd = char::from_u32(ODD_BYTES + u32::from(byte)).filter(|_| byte >= 0x80);
                odd.unwrap_or(char::from(byte))
            };
            bytes.iter().map(character).collect()
        }
    }
}

/// Returns the bytes that [`read`] was given.
pub fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut buffer = [0; 4];
    for character in text.chars() {
        match odd_byte(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes()),
        }
    }
    bytes
}

/// Returns how many characters (`char`s of C) a text has for the program.
pub fn length(text: &str) -> usize {
    text.chars().map(|c| if odd_byte(c).is_some() { 1 } else { c.len_utf8() }).sum()
}

/// Writes `text` and a NUL into an output string that holds `limit` characters in all, cutting what is too long, and
/// stores the length without the NUL.
pub fn write(text: &str, output: Out<c_char>, limit: usize, length: Out<c_int>) {
    let bytes = bytes(text);
    let bytes = &bytes[..bytes.len().min(limit - 1)];
    for (i, &byte) in bytes.iter().enumerate() {
        output.set_at(i, byte as c_char);
    }
    output.set_at(bytes.len(), 0);
    length.set(bytes.len() as c_int);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_comes_back_as_it_was() {
        let own_mark = char::from_u32(ODD_BYTES + 0x80).unwrap().to_string();
        for text in
            [&b""[..], b"plain", "grün".as_bytes(), b"gr\xfcn", b"\x80\xff\xc3\xbc", own_mark.as_bytes()]
        {
            assert_eq!(bytes(&keep(text)), text);
        }
    }
}
