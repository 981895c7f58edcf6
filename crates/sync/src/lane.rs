//! One direction of a conversation: a [`Ring`] for what is sent ahead, and the [`Shuttle`] that the direction shares
//! with the opposite one for what answers. Messages arrive in the order in which they were sent, whichever way.
//!
//! What goes by shuttle is marked with the ring's position at that time: all messages below it were sent before, all
//! others after. The consumer looks at the ring first and at the shuttle second. If it finds a message in the ring, it
//! also sees what the shuttle carried before that; if it finds one in the shuttle, it sees the ring's messages before
//! that when it looks again.
#![allow(unsafe_code)] // Passes on the contracts of its two halves.

use crate::ring::{Payload, Ring};
use crate::shuttle::{Shuttle, Side};

/// What carries a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The ring of the direction.
    Ring,
    /// The shuttle of the pair.
    Shuttle,
}

/// A direction, put together for one access. Its sender is `side` of the shuttle.
#[derive(Clone, Copy)]
pub struct Lane<'a, const N: usize> {
    /// The ring of this direction.
    pub ring: &'a Ring<N>,
    /// The shuttle, once there is one, and the sender's side of it.
    pub shuttle: Option<(&'a Shuttle, Side)>,
}

impl<'a, const N: usize> Lane<'a, N> {
    /// Lets `fill` write a payload where one may go, and publishes it. Returns false, without calling `fill`, if there
    /// is no room.
    ///
    /// # Safety
    /// One thread at a time sends in this direction.
    #[inline]
    pub unsafe fn push_with(&self, fill: impl Fn(&mut Payload)) -> bool {
        // SAFETY: the caller is the only sender.
        unsafe {
            if let Some((shuttle, sender)) = self.shuttle
                && shuttle.push_with(sender, self.ring.next() as u32, &fill)
            {
                return true;
            }
            self.ring.push_with(&fill)
        }
    }

    /// As [`Lane::push_with`], with a message of several slots, which go by the ring; see [`Ring::push_slots`].
    ///
    /// # Safety
    /// As there.
    #[inline]
    pub unsafe fn push_slots(&self, slots: u32, fill: impl Fn(u32, &mut Payload)) -> bool {
        // SAFETY: the caller is the only sender.
        unsafe { self.ring.push_slots(0, slots, fill) }
    }

    /// Tells whether a message is there. Open to all; a hint to those who are not the consumer.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.shuttle.is_some_and(|(shuttle, sender)| shuttle.is_ready(sender.other())) || self.ring.is_ready()
    }

    /// Returns the next message, if there is one, and what carries it. It stays until [`Lane::pop`].
    ///
    /// # Safety
    /// The caller has the consumer's role, and keeps it until it has let go of the payload.
    #[inline]
    pub unsafe fn peek(&self) -> Option<(&'a Payload, Carrier)> {
        // SAFETY: the caller's role.
        unsafe {
            loop {
                let in_ring = self.ring.peek();
                if let Some((shuttle, sender)) = self.shuttle
                    && let Some((mark, payload)) = shuttle.peek(sender.other())
                {
                    if mark == self.ring.taken() as u32 {
                        return Some((payload, Carrier::Shuttle));
                    }
                    if in_ring.is_none() {
                        // What was sent before it by the ring is there now.
                        continue;
                    }
                }
                return in_ring.map(|payload| (payload, Carrier::Ring));
            }
        }
    }

    /// Takes the message of one slot that [`Lane::peek`] returned.
    ///
    /// # Safety
    /// The caller has the consumer's role, and `carrier` is what the last look returned.
    #[inline]
    pub unsafe fn pop(&self, carrier: Carrier) {
        // SAFETY: the caller's promise.
        unsafe {
            match (carrier, self.shuttle) {
                (Carrier::Shuttle, Some((shuttle, sender))) => shuttle.pop(sender.other()),
                _ => self.ring.pop(),
            }
        }
    }

    /// Takes the message of several slots that [`Lane::peek`] returned the first of.
    ///
    /// # Safety
    /// As [`Lane::pop`]; it was sent by [`Lane::push_slots`] with so many.
    #[inline]
    pub unsafe fn pop_slots(&self, slots: u32) {
        // SAFETY: the caller's promise; all slots of a message are there with the first.
        unsafe { self.ring.pop_slots(slots) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Two threads send bursts to each other, each message numbered, as their seeds say.
    #[test]
    fn order_holds_over_both_ways() {
        let (there, back, shuttle) = (Ring::<8>::new(), Ring::<8>::new(), Shuttle::new());
        let talk = |side: Side, mut seed: u64| {
            let lane = |sender: Side| Lane {
                ring: if sender == Side::First { &there } else { &back },
                shuttle: Some((&shuttle, sender)),
            };
            let (out, into) = (lane(side), lane(side.other()));
            let (mut sent, mut received) = (0u64, 0u64);
            const ALL: u64 = 100_000;
            while sent < ALL || received < ALL {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                for _ in 0..seed % 4 {
                    // SAFETY: this thread is the only sender of its side.
                    if sent < ALL && unsafe { out.push_with(|payload| payload[6] = sent) } {
                        sent += 1;
                    }
                }
                // SAFETY: this thread is the only consumer of its side.
                while let Some((payload, carrier)) = unsafe { into.peek() } {
                    assert_eq!(payload[6], received);
                    received += 1;
                    // SAFETY: the carrier is that of the line just looked at.
                    unsafe { into.pop(carrier) };
                }
                std::thread::yield_now();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| talk(Side::First, 7));
            talk(Side::Second, 11);
        });
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn order_holds_over_both_ways() {
        loom::model(|| {
            let parts = Arc::new((Ring::<2>::new(), Shuttle::new()));
            let other = parts.clone();
            let sender = loom::thread::spawn(move || {
                // The first message goes by shuttle, or before it one by the ring; then two by the ring.
                let lane = Lane { ring: &other.0, shuttle: Some((&other.1, Side::First)) };
                let ring_only = Lane { shuttle: None, ..lane };
                // SAFETY: the only sender.
                unsafe {
                    assert!(ring_only.push_with(|payload| *payload = [0; 7]));
                    assert!(lane.push_with(|payload| *payload = [1; 7]));
                    assert!(lane.push_with(|payload| *payload = [2; 7]));
                }
            });
            let lane = Lane { ring: &parts.0, shuttle: Some((&parts.1, Side::First)) };
            for i in 0..3u64 {
                // SAFETY: the only consumer.
                unsafe {
                    loop {
                        if let Some((payload, carrier)) = lane.peek() {
                            assert_eq!(payload, &[i; 7]);
                            lane.pop(carrier);
                            break;
                        }
                        loom::thread::yield_now();
                    }
                }
            }
            sender.join().unwrap();
        });
    }
}
