//! What [`Routes`] does beyond a device: what the devices say, as far as it is one device's or can be added up.

use super::Routes;
use crate::{Channel, Commons, Leaving, Node, Outbound, Refusal, Traffic, Tuning};
use core::sync::atomic::Ordering;

impl Tuning for Routes {
    fn send_all(
        &self,
        to: Node,
        channel: Channel,
        messages: &[Leaving<'_>],
    ) -> Option<Result<usize, Refusal>> {
        let (device, number) = match self.way(to) {
            Ok(way) => way,
            Err(refusal) => return Some(Err(refusal)),
        };
        device.send_all(number, channel, messages)
    }

    fn answer(&self, to: Node, channel: Channel, header: &[u8], payload: &[u8]) -> bool {
        self.way(to).is_ok_and(|(device, number)| device.answer(number, channel, header, payload))
    }

    fn parts(&self, peer: Node) -> u32 {
        self.way(peer).map_or(1, |(device, number)| device.parts(number))
    }

    #[inline]
    fn has_arrived(&self) -> bool {
        self.opened.load(Ordering::Relaxed) != 0 || self.first.has_arrived()
    }

    fn polls(&self) -> Option<u32> {
        self.first.polls()
    }

    fn wants_poll(&self) -> bool {
        self.first.wants_poll()
    }

    #[inline]
    fn is_streaming(&self) -> bool {
        // Who has nothing to do sleeps in the first device.
        self.first.is_streaming()
    }

    fn is_crowded(&self) -> bool {
        self.all().any(|device| device.is_crowded())
    }

    fn asks_kernel(&self) -> bool {
        self.all().any(|device| device.asks_kernel())
    }

    fn commons(&self, owner: Node) -> Option<Commons> {
        // Who joined later shares memory with some of a communicator's processes only.
        let first = &*self.first;
        if owner == self.node {
            return first.commons(first.node());
        }
        let is_first = owner < self.plain || self.is_way(0, owner);
        let (_, number) = self.way(owner).ok().filter(|_| is_first)?;
        first.commons(number)
    }

    fn nudge(&self, peer: Node) {
        if let Ok((device, number)) = self.way(peer) {
            device.nudge(number);
        }
    }

    fn rest(&self) -> Option<Traffic> {
        let mut all = self.first.rest()?;
        for branch in self.more.iter().filter(|branch| !branch.is_forgotten()) {
            // Nobody sees what comes on a device that is not open.
            let device = branch.is_open.load(Ordering::Acquire).then(|| branch.device.lend())??;
            let one = device.rest()?;
            all = Traffic { sent: all.sent + one.sent, received: all.received + one.received };
        }
        Some(all)
    }

    fn outbound(&self) -> Outbound {
        let mut outbound = Outbound::default();
        self.all().for_each(|device| outbound.add_all(device.outbound()));
        outbound
    }
}
