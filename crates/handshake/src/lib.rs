//! How two processes prove to each other that they know the same secret, before anything else is read ([`Dialler`],
//! [`Acceptor`]), and how a secret is drawn and travels ([`draw`], [`seal`]).
//!
//! Nothing here knows sockets, time, or what the connection is for. Every device between hosts uses this handshake, and so
//! do ports, at which jobs meet.

mod proof;
mod secret;

pub use proof::{Acceptor, CHALLENGE, Connection, Dialler, Expected, HELLO, PROOF, Refused};
pub use secret::{Nonce, SEALED, Secret, draw, seal, unseal};
