//! The transport between ranks of one host: rings between ranks of a node process, and the device between the node
//! processes of a host.
//!
//! `ring`: the private ring between two ranks of a process that talk a lot, and the line in which they answer each other.
//! `segment`: the device; its page explains the memory that processes share.

mod ring;
#[cfg(not(loom))]
mod segment;
mod words;

pub use ring::{Header, LONGEST, MEMORY, Message, OFFER, PAYLOAD, Ring, SLOTS};
#[cfg(not(loom))]
pub use segment::{CrossMemory, Options, Segment, SegmentDevice, SegmentOpener, Sizes};
