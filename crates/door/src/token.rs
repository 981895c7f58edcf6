//! What is to be shown at a port, and what can be made of it.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::io;
use weft_net_tcp::Secret;
use weft_net_tcp::handshake::Nonce;
use weft_sys::local_socket::random;

/// How long the number is by which a port is looked for.
pub(crate) const ID: usize = 16;

/// What a port is known by: a number that may be read on the way, and a secret that both ends know and that never travels.
#[derive(Clone, Copy)]
pub(crate) struct Token {
    pub id: [u8; ID],
    pub secret: Secret,
}

/// Returns 32 bytes that nobody can guess.
pub(crate) fn nonce() -> io::Result<Nonce> {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&random()?);
    bytes[16..].copy_from_slice(&random()?);
    Ok(bytes)
}

impl Token {
    /// Draws one that nobody can guess.
    pub fn draw() -> io::Result<Self> {
        Ok(Self { id: random()?, secret: nonce()? })
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

/// How long what [`seal`] makes is.
pub const SEALED: usize = 64;

/// Returns what hides a secret: nobody can tell it from chance who does not know the key, and no nonce comes twice.
fn mask(key: &Secret, nonce: &[u8]) -> [u8; 32] {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("a key of any length");
    mac.update(b"weft sealed secret");
    mac.update(nonce);
    mac.finalize().into_bytes().into()
}

/// Hides a secret so that it can travel to who knows the key. Who changes it on the way makes another secret of it, by which
/// nothing can be proved.
///
/// # Errors
/// The kernel has no random numbers.
pub fn seal(key: &Secret, secret: &Secret) -> io::Result<[u8; SEALED]> {
    let nonce = nonce()?;
    let mask = mask(key, &nonce);
    let mut sealed = [0; SEALED];
    sealed[..32].copy_from_slice(&nonce);
    (0..32).for_each(|at| sealed[32 + at] = secret[at] ^ mask[at]);
    Ok(sealed)
}

/// Returns the secret that [`seal`] has hidden.
pub fn unseal(key: &Secret, sealed: &[u8; SEALED]) -> Secret {
    let mask = mask(key, &sealed[..32]);
    core::array::from_fn(|at| sealed[32 + at] ^ mask[at])
}

/// Draws a secret.
///
/// # Errors
/// The kernel has no random numbers.
pub fn secret() -> io::Result<Secret> {
    nonce()
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

    #[test]
    fn a_sealed_secret_is_opened_by_its_key_only() {
        let (key, other, hidden) = (secret().unwrap(), secret().unwrap(), secret().unwrap());
        let sealed = seal(&key, &hidden).unwrap();
        assert_ne!(sealed[32..], hidden);
        assert_eq!(unseal(&key, &sealed), hidden);
        assert_ne!(unseal(&other, &sealed), hidden);
        assert_ne!(seal(&key, &hidden).unwrap(), sealed);
    }
}
