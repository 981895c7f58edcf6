//! A job's node processes as one of them sees them: the device, the places, and who handles which channel.

use crate::{Arriving, Channel, Device, Handler, Node, Placement, Places};
use std::sync::OnceLock;
use std::time::Duration;

/// How long a thread sleeps at most while something waits for room in a device.
const IMPATIENCE: Duration = Duration::from_millis(1);

/// The way to the other node processes, shared by the layers above, each of which serves its own [`Channel`].
pub struct Nodes {
    device: Box<dyn Device>,
    places: Places,
    handlers: [OnceLock<&'static dyn Handler>; Channel::ALL.len()],
}

impl Nodes {
    /// Joins a device and the places of the job's ranks.
    ///
    /// # Panics
    /// If the device knows fewer node processes than the places.
    pub fn new(device: Box<dyn Device>, places: Places) -> Self {
        assert!(device.nodes() >= places.nodes(), "ranks on node processes that the device does not know");
        Self { device, places, handlers: [const { OnceLock::new() }; Channel::ALL.len()] }
    }

    /// Says who handles the messages of a channel. Nothing is delivered before all channels are served.
    ///
    /// # Panics
    /// If the channel is served already.
    pub fn serve(&self, channel: Channel, handler: &'static dyn Handler) {
        assert!(self.handlers[channel as usize].set(handler).is_ok(), "{channel:?} has a handler already");
    }

    /// Returns the device.
    #[inline]
    pub fn device(&self) -> &dyn Device {
        &*self.device
    }

    /// Returns where the job's ranks are.
    #[inline]
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Returns this process's number.
    #[inline]
    pub fn node(&self) -> Node {
        self.device.node()
    }

    /// Delivers what has arrived and goes on with everything that was started. Returns whether anything happened.
    pub fn poll(&self) -> bool {
        if self.handlers.iter().any(|handler| handler.get().is_none()) {
            return false;
        }
        let polled = self.device.poll(self);
        self.advance() | polled
    }

    /// Sleeps until there may be something to poll for; see [`Device::sleep`].
    pub fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool) {
        let limit = if self.is_idle() { limit } else { limit.min(IMPATIENCE) };
        self.device.sleep(limit, is_idle);
    }

    /// Wakes who sleeps in [`Nodes::sleep`].
    pub fn wake(&self) {
        self.device.wake();
    }

    fn of(&self, channel: Channel) -> &'static dyn Handler {
        self.handlers[channel as usize].get().copied().unwrap_or(&Nobody)
    }
}

impl Handler for Nodes {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.of(message.channel).arrive(message)
    }

    fn placed(&self, from: Node, channel: Channel, token: u64) {
        self.of(channel).placed(from, channel, token);
    }

    fn sent(&self, to: Node, channel: Channel, token: u64) {
        self.of(channel).sent(to, channel, token);
    }

    fn lost(&self, peer: Node, reason: &str) {
        Channel::ALL.iter().for_each(|&channel| self.of(channel).lost(peer, reason));
    }

    fn advance(&self) -> bool {
        Channel::ALL.iter().fold(false, |moved, &channel| self.of(channel).advance() | moved)
    }

    fn is_idle(&self) -> bool {
        Channel::ALL.iter().all(|&channel| self.of(channel).is_idle())
    }
}

/// Drops whatever arrives: for channels nobody uses.
pub struct Nobody;

impl Handler for Nobody {
    fn arrive(&self, _message: Arriving<'_>) -> Placement {
        Placement::Taken
    }

    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}

    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}

    fn lost(&self, _peer: Node, _reason: &str) {}
}
