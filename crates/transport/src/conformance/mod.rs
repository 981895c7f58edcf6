//! What every device must do, as functions that panic when one does not. [`suite`] calls all but [`loss`], which needs a
//! way to break a connection.
//!
//! The devices are those of all node processes of a job, opened in one process here. The functions poll them in turn, so
//! a device may count on nothing but its polls. Only those about sleep and about senders side by side use threads.
//!
//! - `messages`: what is sent arrives once, whole and in order, whatever its length and however it is taken.
//! - `pressure`: devices hold a bounded number of bytes, whoever sends.
//! - `rest`: sleep, waking, and what a device says of what rests in it. `loss`: connections that break.
//! - `tuning`: what only some devices do.
//! - `recorder`: a handler that keeps what arrives, and what the functions share.

mod loss;
mod messages;
mod pressure;
mod recorder;
mod rest;
mod tuning;

pub use loss::loss;
pub use messages::{long_messages, remote_read, short_messages, what_is_dropped};
pub use pressure::{back_pressure, handlers_that_send, senders_side_by_side};
pub use rest::{rest_and_traffic, sleep_and_arrivals, sleep_and_wake};
pub use tuning::{answers, parts, several_at_once};

use crate::{Channel, Device, MAX_HEADER, Node};

/// Checks everything that needs no help from outside. `make` opens the devices of a new job of so many node processes.
///
/// # Panics
/// If a device does not do what it must.
pub fn suite(make: impl Fn(u32) -> Vec<Box<dyn Device>>) {
    says_who_it_is(&make(3));
    for nodes in [2, 3, 5] {
        short_messages(&make(nodes));
    }
    long_messages(&make(2));
    long_messages(&make(3));
    what_is_dropped(&make(2));
    back_pressure(&make(2));
    handlers_that_send(&make(2));
    handlers_that_send(&make(4));
    remote_read(&make(2));
    senders_side_by_side(&make(3));
    sleep_and_arrivals(&make(2));
    sleep_and_wake(&make(2));
    rest_and_traffic(&make(3));
    several_at_once(&make(2));
    parts(&make(3));
    answers(&make(2));
    answers(&make(3));
}

type Devices = [Box<dyn Device>];

/// Channels of all kinds: those that every job has, and others that a device must carry as well, up to the last one.
const CHANNELS: [Channel; 5] =
    [Channel::POINT_TO_POINT, Channel::COLLECTIVE, Channel::new(2), Channel::new(100), Channel::new(u8::MAX)];

/// Checks that a device knows its place.
pub fn says_who_it_is(devices: &Devices) {
    const { assert!(MAX_HEADER >= 48, "headers of the layers above") };
    for (node, device) in devices.iter().enumerate() {
        assert_eq!((device.node() as usize, device.nodes() as usize), (node, devices.len()));
        assert!(!device.name().is_empty());
        for peer in (0..devices.len()).filter(|&peer| peer != node) {
            assert!(device.capabilities(peer as Node).eager >= 256, "payloads this short travel at once");
        }
    }
}
