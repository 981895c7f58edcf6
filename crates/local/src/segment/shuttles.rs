//! Memory between two processes that goes to and fro: whose turn it is.
//!
//! A *shuttle* is at one of its two processes at a time. That one may send a message in it, and with the message the shuttle goes
//! to the other: when all of it has been copied, it is there, for an answer. What cannot go that way, because the
//! shuttle is at the other process or the message is too long, goes through the bytes of the pair.
//!
//! So the lines in which an answer is written lie in the caches of who writes it, and the next message finds them where the answer
//! was read. Through bytes that are used in turn, each message writes lines that it has to fetch from elsewhere, from the peer's cache even
//! where that is far. Two threads that copied to and fro in parts of up to 16 KiB, on an AMD EPYC (Zen 3), in us a message, by a ring of 2 MiB
//! each way and by one shuttle; near each other, and where they share no cache:
//!
//! |         | near       | far        |
//! |---------|------------|------------|
//! | 8 KiB   | 0.95, 0.6  | -, 1.7     |
//! | 64 KiB  | 3.2, 2.9   | 14, 6.2    |
//! | 256 KiB | 11.5, 10.6 | 55, 22     |
//! | 512 KiB | 22, 21     | 105, 49    |
//!
//! Nothing of it is shared but the bytes: who has received the last part of a message that came in the shuttle knows that it is
//! here, and who has begun to send one that it is not.

use std::sync::atomic::{AtomicBool, Ordering};

use weft_transport::Node;

/// Which shuttles are at this process.
pub(crate) struct Shuttles(Box<[AtomicBool]>);

impl Shuttles {
    /// At first a shuttle is at the process with the lower number.
    pub fn new(node: Node, nodes: u32) -> Self {
        Self((0..nodes).map(|peer| AtomicBool::new(node < peer)).collect())
    }

    /// Tells whether the shuttle to a peer is here.
    #[inline]
    pub fn is_here(&self, peer: Node) -> bool {
        self.0[peer as usize].load(Ordering::Acquire)
    }

    /// Takes the shuttle to a peer for a message, if it is here.
    #[inline]
    pub fn leave(&self, peer: Node) -> bool {
        self.is_here(peer) && self.0[peer as usize].swap(false, Ordering::Acquire)
    }

    /// Notes that all of a message has been taken out of the shuttle to a peer, which is here now.
    #[inline]
    pub fn arrive(&self, peer: Node) {
        // What was copied out of it stays before what is written next.
        self.0[peer as usize].store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuttle_is_at_one_of_two() {
        let ends = [Shuttles::new(0, 2), Shuttles::new(1, 2)];
        assert!(!ends[1].leave(0), "it begins at the lower number");
        assert!(ends[0].leave(1));
        assert!(!ends[0].leave(1) && !ends[1].leave(0), "it is on its way");
        ends[1].arrive(0);
        assert!(!ends[0].leave(1));
        assert!(ends[1].is_here(0) && ends[1].leave(0) && !ends[1].leave(0));
    }
}
