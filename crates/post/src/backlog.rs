//! What waits for room in a device, for one peer, in order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use weft_sync::Lock;

/// What waits to be sent to a peer.
pub(crate) struct Backlog<T> {
    /// How many items wait, or are being sent. Zero only when those before are handed to the device, so who finds it so
    /// overtakes nothing.
    length: AtomicUsize,
    items: Lock<VecDeque<T>>,
    is_busy: AtomicBool,
}

impl<T> Default for Backlog<T> {
    fn default() -> Self {
        Self {
            length: AtomicUsize::new(0),
            items: Lock::new(VecDeque::new()),
            is_busy: AtomicBool::new(false),
        }
    }
}

impl<T> Backlog<T> {
    /// Tells whether everything before is sent.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length.load(Ordering::Acquire) == 0
    }

    /// Adds something.
    pub fn push(&self, item: T) {
        let mut items = self.items.lock();
        self.length.fetch_add(1, Ordering::SeqCst);
        items.push_back(item);
    }

    /// Becomes the one who sends, if nobody else is.
    pub fn turn(&self) -> Option<Turn<'_, T>> {
        let is_free = !self.is_busy.swap(true, Ordering::Acquire);
        is_free.then(|| Turn { backlog: self })
    }
}

/// The right to send what waits.
pub(crate) struct Turn<'a, T> {
    backlog: &'a Backlog<T>,
}

impl<T> Turn<'_, T> {
    /// Takes what comes first. Nothing overtakes it before [`Turn::done`] says that it is sent.
    pub fn take(&self) -> Option<T> {
        self.backlog.items.lock().pop_front()
    }

    /// Puts back what was taken, for which there is no room.
    pub fn put_back(&self, item: T) {
        self.backlog.items.lock().push_front(item);
    }

    /// Notes that what was taken is sent, or never will be.
    pub fn done(&self) {
        self.backlog.length.fetch_sub(1, Ordering::Release);
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.backlog.is_busy.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_back_is_first_and_still_in_the_way() {
        let backlog = Backlog::default();
        assert!(backlog.is_empty());
        (0..3).for_each(|item| backlog.push(item));
        let turn = backlog.turn().expect("nobody else sends");
        assert!(backlog.turn().is_none());
        assert_eq!(turn.take(), Some(0));
        turn.put_back(0);
        for item in 0..3 {
            assert_eq!(turn.take(), Some(item));
            assert!(!backlog.is_empty(), "it is being sent");
            turn.done();
        }
        assert!(backlog.is_empty() && turn.take().is_none());
        drop(turn);
        assert!(backlog.turn().is_some());
    }
}
