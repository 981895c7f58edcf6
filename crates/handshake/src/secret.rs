//! Secrets: how they are drawn, and how one travels hidden by another.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::io;
use weft_sys::local_socket::random;

/// What all processes of a job, or both ends of a connection, know, and nobody else.
pub type Secret = [u8; 32];
/// A number used once.
pub type Nonce = [u8; 32];

/// How long what [`seal`] makes is.
pub const SEALED: usize = 64;

/// Draws 32 bytes that nobody can guess: a secret, or a nonce.
///
/// # Errors
/// The kernel has no random numbers.
pub fn draw() -> io::Result<Secret> {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&random()?);
    bytes[16..].copy_from_slice(&random()?);
    Ok(bytes)
}

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
    let nonce = draw()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_secret_is_opened_by_its_key_only() {
        let (key, other, hidden) = (draw().unwrap(), draw().unwrap(), draw().unwrap());
        let sealed = seal(&key, &hidden).unwrap();
        assert_ne!(sealed[32..], hidden);
        assert_eq!(unseal(&key, &sealed), hidden);
        assert_ne!(unseal(&other, &sealed), hidden);
        assert_ne!(seal(&key, &hidden).unwrap(), sealed);
    }
}
