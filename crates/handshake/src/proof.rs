//! The proof: both sides show that they know the secret, and neither says it.
//!
//! ```text
//! dialler                                   acceptor
//!    │ hello: magic, from, to, lane, nonce    ─▶│
//!    │◀─ nonce, HMAC(secret, acceptor's words)  │    challenge
//!    │ HMAC(secret, dialler's words) ──────────▶│    proof
//!    │◀─ taken, or not                          │    verdict
//! ```
//!
//! The words of each side are its role, both numbers, the lane, and both nonces. So a proof is worth nothing for another
//! pair, lane or direction, nor at another time; and who does not know the secret learns nothing from it. The secret
//! itself never travels. All messages have fixed lengths, and no byte beyond them is read before the verdict.
//!
//! Both state machines know neither sockets nor time.

use crate::secret::{Nonce, Secret};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// How long a hello is.
pub const HELLO: usize = 48;
/// How long a challenge is.
pub const CHALLENGE: usize = 64;
/// How long a proof is.
pub const PROOF: usize = 32;

const MAGIC: [u8; 6] = *b"weft\x01\x00";

/// Who wants to talk to whom.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Connection {
    /// The number of who has dialled.
    pub from: u32,
    /// The number of who has accepted.
    pub to: u32,
    /// Which of their connections it is, by a number of the caller's.
    pub lane: u8,
}

/// Whom an acceptor lets in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expected {
    /// The acceptor's own number.
    pub me: u32,
    /// How many processes there are; their numbers are below this.
    pub processes: u32,
    /// How many connections two processes may have; the numbers of lanes are below this.
    pub lanes: u8,
}

/// Why a handshake fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The other side speaks something else.
    Language,
    /// It means another process.
    Number,
    /// It does not know the secret.
    Proof,
}

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Language => "it does not speak Weft's protocol of this version",
            Self::Number => "it looks for another node process",
            Self::Proof => "it does not know the job's secret",
        })
    }
}

/// Makes the words of one side, ready to be proved.
fn words(
    secret: &Secret,
    role: u8,
    connection: Connection,
    dialler: &Nonce,
    acceptor: &Nonce,
) -> Hmac<Sha256> {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(secret).expect("a key of any length");
    mac.update(&MAGIC);
    mac.update(&[role, connection.lane]);
    mac.update(&connection.from.to_le_bytes());
    mac.update(&connection.to.to_le_bytes());
    mac.update(dialler);
    mac.update(acceptor);
    mac
}

const DIALLER: u8 = b'd';
const ACCEPTOR: u8 = b'a';

/// The side that has dialled, waiting for the challenge.
#[derive(Clone, Debug)]
pub struct Dialler {
    connection: Connection,
    nonce: Nonce,
}

impl Dialler {
    /// Begins: returns the state and the hello.
    pub fn new(connection: Connection, nonce: Nonce) -> (Self, [u8; HELLO]) {
        let mut hello = [0; HELLO];
        hello[..6].copy_from_slice(&MAGIC);
        hello[6] = connection.lane;
        hello[8..12].copy_from_slice(&connection.from.to_le_bytes());
        hello[12..16].copy_from_slice(&connection.to.to_le_bytes());
        hello[16..].copy_from_slice(&nonce);
        (Self { connection, nonce }, hello)
    }

    /// Checks the challenge, and returns the proof.
    ///
    /// # Errors
    /// [`Refused::Proof`].
    pub fn prove(&self, secret: &Secret, challenge: &[u8; CHALLENGE]) -> Result<[u8; PROOF], Refused> {
        let (nonce, proof) = challenge.split_first_chunk().expect("long enough");
        let expected = words(secret, ACCEPTOR, self.connection, &self.nonce, nonce);
        expected.verify_slice(proof).map_err(|_| Refused::Proof)?;
        Ok(words(secret, DIALLER, self.connection, &self.nonce, nonce).finalize().into_bytes().into())
    }
}

/// The side that has accepted, waiting for the proof.
#[derive(Clone, Debug)]
pub struct Acceptor {
    connection: Connection,
    dialler: Nonce,
    own: Nonce,
}

impl Acceptor {
    /// Answers a hello: returns the state and the challenge.
    ///
    /// # Errors
    /// [`Refused::Language`], [`Refused::Number`].
    pub fn new(
        secret: &Secret,
        expected: Expected,
        hello: &[u8; HELLO],
        own: Nonce,
    ) -> Result<(Self, [u8; CHALLENGE]), Refused> {
        let number = |at: usize| u32::from_le_bytes([hello[at], hello[at + 1], hello[at + 2], hello[at + 3]]);
        let lane = hello[6];
        if hello[..6] != MAGIC || lane >= expected.lanes || hello[7] != 0 {
            return Err(Refused::Language);
        }
        let connection = Connection { from: number(8), to: number(12), lane };
        if connection.to != expected.me
            || connection.from >= expected.processes
            || connection.from == expected.me
        {
            return Err(Refused::Number);
        }
        let dialler = hello[16..].try_into().expect("the rest of a hello");
        let proof = words(secret, ACCEPTOR, connection, &dialler, &own).finalize().into_bytes();
        let mut challenge = [0; CHALLENGE];
        challenge[..32].copy_from_slice(&own);
        challenge[32..].copy_from_slice(&proof);
        Ok((Self { connection, dialler, own }, challenge))
    }

    /// Returns who says to have dialled.
    pub fn connection(&self) -> Connection {
        self.connection
    }

    /// Checks the proof; returns who has dialled, and what for.
    ///
    /// # Errors
    /// [`Refused::Proof`].
    pub fn check(&self, secret: &Secret, proof: &[u8; PROOF]) -> Result<Connection, Refused> {
        let expected = words(secret, DIALLER, self.connection, &self.dialler, &self.own);
        expected.verify_slice(proof).map_err(|_| Refused::Proof)?;
        Ok(self.connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: Secret = [7; 32];
    const EXPECTED: Expected = Expected { me: 1, processes: 5, lanes: 9 };
    fn connection() -> Connection {
        Connection { from: 3, to: 1, lane: 3 }
    }

    fn shake(
        dialler: Secret,
        acceptor: Secret,
        change: impl Fn(usize, &mut [u8]),
    ) -> Result<Connection, Refused> {
        let (dialling, mut hello) = Dialler::new(connection(), [1; 32]);
        change(0, &mut hello);
        let (accepting, mut challenge) = Acceptor::new(&acceptor, EXPECTED, &hello, [2; 32])?;
        change(1, &mut challenge);
        let mut proof = dialling.prove(&dialler, &challenge)?;
        change(2, &mut proof);
        accepting.check(&acceptor, &proof)
    }

    #[test]
    fn who_knows_the_secret_is_let_in() {
        assert_eq!(shake(SECRET, SECRET, |_, _| {}), Ok(connection()));
    }

    #[test]
    fn who_does_not_know_it_is_told_so_before_it_proves_anything() {
        assert_eq!(shake([8; 32], SECRET, |_, _| {}), Err(Refused::Proof));
        let (_, hello) = Dialler::new(connection(), [1; 32]);
        let (accepting, _) = Acceptor::new(&SECRET, EXPECTED, &hello, [2; 32]).unwrap();
        assert_eq!(accepting.check(&SECRET, &[0; 32]), Err(Refused::Proof));
    }

    #[test]
    fn any_bit_that_is_changed_is_noticed() {
        for (message, length) in [(0, HELLO), (1, CHALLENGE), (2, PROOF)] {
            for bit in 0..length * 8 {
                let flip = |which: usize, bytes: &mut [u8]| {
                    if which == message {
                        bytes[bit / 8] ^= 1 << (bit % 8);
                    }
                };
                assert!(shake(SECRET, SECRET, flip).is_err(), "message {message}, bit {bit}");
            }
        }
    }

    #[test]
    fn a_proof_is_worth_nothing_another_time_or_in_another_role() {
        let (dialling, hello) = Dialler::new(connection(), [1; 32]);
        let (_, challenge) = Acceptor::new(&SECRET, EXPECTED, &hello, [2; 32]).unwrap();
        let proof = dialling.prove(&SECRET, &challenge).unwrap();
        // Replayed, to an acceptor that says another number.
        let (again, _) = Acceptor::new(&SECRET, EXPECTED, &hello, [3; 32]).unwrap();
        assert_eq!(again.check(&SECRET, &proof), Err(Refused::Proof));
        // What the acceptor itself has said.
        let own = challenge[32..].try_into().unwrap();
        assert_eq!(again.check(&SECRET, &own), Err(Refused::Proof));
        for other in [Connection { from: 2, ..connection() }, Connection { lane: 0, ..connection() }] {
            let (_, hello) = Dialler::new(other, [1; 32]);
            let (accepting, _) = Acceptor::new(&SECRET, EXPECTED, &hello, [2; 32]).unwrap();
            assert_eq!(accepting.check(&SECRET, &proof), Err(Refused::Proof), "{other:?}");
        }
    }

    #[test]
    fn who_looks_for_somebody_else_is_refused() {
        for connection in [
            Connection { to: 2, ..connection() },
            Connection { from: 5, ..connection() },
            Connection { from: 1, ..connection() },
        ] {
            let (_, hello) = Dialler::new(connection, [1; 32]);
            assert_eq!(
                Acceptor::new(&SECRET, EXPECTED, &hello, [2; 32]).unwrap_err(),
                Refused::Number,
                "{connection:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_refused(hello in any::<[u8; 32]>(), more in any::<[u8; 16]>(), proof in any::<[u8; 32]>(), valid in any::<bool>()) {
            let mut bytes = [0; HELLO];
            bytes[..32].copy_from_slice(&hello);
            bytes[32..].copy_from_slice(&more);
            if valid {
                bytes[..16].copy_from_slice(&Dialler::new(connection(), [0; 32]).1[..16]);
            }
            if let Ok((accepting, _)) = Acceptor::new(&SECRET, EXPECTED, &bytes, [2; 32]) {
                prop_assert_eq!(accepting.check(&SECRET, &proof), Err(Refused::Proof));
            }
        }
    }
}
