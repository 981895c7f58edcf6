//! What is to be shown at a port, and what can be made of it.

use std::io;
use weft_handshake::{Secret, draw};
use weft_sys::local_socket::random;

/// How long the number is by which a port is looked for.
pub(crate) const ID: usize = 16;

/// What a port is known by: a number that may be read on the way, and a secret that both ends know and that never travels.
#[derive(Clone, Copy)]
pub(crate) struct Token {
    pub id: [u8; ID],
    pub secret: Secret,
}

impl Token {
    /// Draws one that nobody can guess.
    pub fn draw() -> io::Result<Self> {
        Ok(Self { id: random()?, secret: draw()? })
    }

    /// Writes it in hexadecimal digits.
    pub fn text(&self) -> String {
        self.id.iter().chain(&self.secret).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads it.
    pub fn read(text: &str) -> Option<Self> {
        if text.len() != 2 * (ID + 32) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let bytes: Option<Vec<u8>> =
            (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect();
        let (id, secret) = bytes.as_ref()?.split_first_chunk()?;
        Some(Self { id: *id, secret: secret.try_into().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let token = Token::draw().unwrap();
        let read = Token::read(&token.text()).unwrap();
        assert_eq!((read.id, read.secret), (token.id, token.secret));
        for text in ["", "1", &"g".repeat(96), &"ä".repeat(48), &format!("{}0", token.text())] {
            assert!(Token::read(text).is_none(), "{text}");
        }
    }
}
