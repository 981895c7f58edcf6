//! What happens when a peer is lost: the client hears of it, and gets back what it gave.

use crate::client::{Client, Nonsense};
use crate::service::{Awaited, Item, Lent, Post};
use std::sync::atomic::Ordering;
use weft_transport::Node;

impl<C: Client> Post<C> {
    /// What [`weft_transport::Handler::lost`] is to do.
    pub fn lost(&self, client: &C, peer: Node, reason: &str) {
        self.lose(client, peer, reason, true);
    }

    /// Ends everything that has to do with a peer which has sent what no peer of ours sends.
    #[cold]
    pub(crate) fn lose_liar(&self, client: &C, peer: Node, what: &Nonsense) {
        let reason = format!("node process {peer} has sent {}", what.0);
        self.lose(client, peer, &reason, false);
    }

    /// Ends everything that has to do with a peer. What a device has in its hands it has let go of only if it `reports` the loss.
    #[cold]
    fn lose(&self, client: &C, peer: Node, reason: &str, reports: bool) {
        let was_lost = self.peers[peer as usize].is_lost.swap(true, Ordering::SeqCst);
        if was_lost && !reports {
            return;
        }
        if !was_lost {
            client.lost(peer, reason);
        }
        self.drop_backlog(client, peer);
        let gone = self.lent.remove_all(|lent| lent.to == peer && (reports || !lent.is_asked));
        gone.into_iter().for_each(|lent| self.give_up(client, lent));
        let is_gone = |awaited: &Awaited<C>| awaited.from == peer && (reports || awaited.placing == 0);
        let gone = self.awaited.remove_all(is_gone);
        gone.into_iter().for_each(|awaited| client.unfilled(awaited.room, Some(reason)));
        if reports {
            let staged = self.peers[peer as usize].staged.lock().take();
            drop(staged);
        }
    }

    /// Forgets what waits for a lost peer.
    #[cold]
    pub(crate) fn drop_backlog(&self, client: &C, to: Node) {
        let peer = &self.peers[to as usize];
        // Whoever has the turn ends it soon: it neither waits nor goes on after the loss.
        let turn = loop {
            match peer.backlog.turn() {
                Some(turn) => break turn,
                None => std::thread::yield_now(),
            }
        };
        let (mut gone, mut unasked) = (Vec::new(), Vec::new());
        while let Some(item) = turn.take_one() {
            turn.done();
            if let Item::Stream(stream) = &item
                && !stream.is_in_hands
            {
                unasked.extend(self.lent.remove(stream.lent));
            }
            gone.extend(self.leave(item));
        }
        drop(turn);
        gone.into_iter().for_each(|then| client.unsent(then));
        unasked.into_iter().for_each(|lent| self.give_up(client, lent));
    }

    /// Takes back what a lost peer has not heard of.
    #[cold]
    pub(crate) fn take_back(&self, client: &C, name: u64) {
        let lent = self.lent.remove(name);
        lent.into_iter().for_each(|lent| self.give_up(client, lent));
    }

    fn give_up(&self, client: &C, lent: Lent<C>) {
        self.count_back(&lent);
        drop(lent.data);
        if let Some(then) = lent.then {
            client.unsent(then);
        }
    }
}
