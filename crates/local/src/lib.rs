//! The transport between ranks of one host.

mod ring;

pub use ring::{Header, PAYLOAD, Ring, SLOTS};
