//! The transport between ranks of one host.

mod ring;

pub use ring::{Header, Message, OFFER, PAYLOAD, Ring, SLOTS};
