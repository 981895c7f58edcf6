//! The transport between ranks of one host.

mod ring;
pub mod segment;
pub use segment::SegmentDevice;

pub use ring::{Header, Message, OFFER, PAYLOAD, Ring, SLOTS};
