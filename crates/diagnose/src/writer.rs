//! Formats a line in a fixed buffer and writes it with one system call.
#![allow(unsafe_code)] // write(2)

use core::fmt;

/// A line of at most 4 KiB; what does not fit is lost.
pub struct Line {
    bytes: [u8; 4096],
    length: usize,
}

impl Line {
    pub const fn new() -> Self {
        Self { bytes: [0; 4096], length: 0 }
    }

    /// Adds bytes as the inside of a JSON string.
    pub fn text(&mut self, text: &[u8]) {
        for byte in text {
            match byte {
                b'"' | b'\\' => self.push(&[b'\\', *byte]),
                0..0x20 => self.push(b"?"),
                _ => self.push(&[*byte]),
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let length = bytes.len().min(self.bytes.len() - 1 - self.length);
        self.bytes[self.length..self.length + length].copy_from_slice(&bytes[..length]);
        self.length += length;
    }

    /// Writes the line to a descriptor. Nothing helps if that fails.
    pub fn send(mut self, fd: i32) {
        self.bytes[self.length] = b'\n';
        // SAFETY: the buffer has that many bytes.
        unsafe { libc::write(fd, self.bytes.as_ptr().cast(), self.length + 1) };
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}
