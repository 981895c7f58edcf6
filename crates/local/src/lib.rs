//! The transport between ranks of one host: rings between ranks of a node process, and the device between the node
//! processes of a host.

mod ring;
#[cfg(not(loom))]
mod segment;

pub use ring::{Header, MEMORY, Message, OFFER, PAYLOAD, Ring, SLOTS};
#[cfg(not(loom))]
pub use segment::{CrossMemory, Options, Segment, SegmentDevice};
