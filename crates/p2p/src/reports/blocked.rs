//! Which threads wait for which messages, for those who look for ranks that can never go on.
//!
//! An operation that is in matching has not been matched, and whoever matches it takes it out under the lock of its endpoint. So
//! what is found there under the lock, with the thread that waits for it in its word, is a wait that nobody has begun to end.

use crate::endpoint::Payload;
use crate::engine::Engine;
use crate::matching::Envelope;

/// More entries than this of one rank are not looked through.
const MOST: usize = 20_000;

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum For {
    /// A message to receive.
    Receive(Envelope),
    /// A message to see.
    Probe(Envelope),
    /// That a rank of the job receives a message.
    Send(u32),
}

/// A thread that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// The address of the thread's record, which may be of any rank.
    pub thread: usize,
    /// What it waits for.
    pub waits_for: For,
    /// The rank in whose matching it was found.
    pub at: u32,
    /// Another number for each message, and for each receive, of that rank; 0 for a probe.
    pub number: u64,
}

impl Engine {
    /// Adds the threads that wait for messages to a rank of this process, or for that to receive or probe.
    pub fn blocked_at(&self, rank: u32, found: &mut Vec<Blocked>) {
        let Some(me) = self.local(rank) else { return };
        let mut state = me.lock();
        if state.posted.len() + state.unexpected.len() > MOST {
            return;
        }
        let blocked = |thread, waits_for, number| Blocked { thread, waits_for, at: rank, number };
        state.unexpected.for_each_numbered(|_, message, number| {
            if let Payload::Sender(send) = message.payload.plain() {
                found.extend(send.get().waiter().map(|thread| blocked(thread, For::Send(rank), number)));
            }
        });
        // What is in a ring may be what is waited for.
        if me.rings_ready() {
            return;
        }
        state.posted.for_each_numbered(|envelope, receive, number| {
            let waiter = receive.get().waiter();
            found.extend(waiter.map(|thread| blocked(thread, For::Receive(*envelope), number)));
        });
        let probers = state.probers.clone();
        for (pattern, thread) in probers {
            if state.unexpected.peek(&pattern).is_none() {
                let thread = core::ptr::from_ref(thread) as usize;
                found.push(blocked(thread, For::Probe(pattern), 0));
            }
        }
    }
}
