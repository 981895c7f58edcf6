//! What waits for room in a device, for one peer, in order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use weft_sync::Lock;

/// How many short messages are sent at once, and how many bytes of them: so that a call of the kernel does not take longer than
/// what others may have to wait for.
const AT_ONCE: usize = 16;
const BYTES_AT_ONCE: u64 = 1 << 20;

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
    /// Takes what comes first, if anything, and what follows it as far as a device may send all of that at once: `short` returns the
    /// length of what it may. Nothing overtakes what is taken before [`Turn::done`] says that it is sent.
    pub fn take(&self, taken: &mut VecDeque<T>, short: impl Fn(&T) -> Option<u64>) {
        let mut items = self.backlog.items.lock();
        let Some(first) = items.pop_front() else { return };
        let mut bytes = short(&first);
        taken.push_back(first);
        while taken.len() < AT_ONCE
            && let Some(before) = bytes
            && let Some(more) = items.front().and_then(&short)
            && before + more <= BYTES_AT_ONCE
        {
            bytes = Some(before + more);
            taken.extend(items.pop_front());
        }
    }

    /// Takes the first alone.
    pub fn take_one(&self) -> Option<T> {
        self.backlog.items.lock().pop_front()
    }

    /// Puts back what was taken, for which there is no room.
    pub fn put_back(&self, items: &mut VecDeque<T>) {
        let mut waiting = self.backlog.items.lock();
        while let Some(last) = items.pop_back() {
            waiting.push_front(last);
        }
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

    /// Items that may go with others are their own length; those that may not are negative.
    fn short(item: &i64) -> Option<u64> {
        u64::try_from(*item).ok()
    }

    #[test]
    fn what_is_put_back_is_first_and_still_in_the_way() {
        let backlog = Backlog::default();
        assert!(backlog.is_empty());
        (0..3).for_each(|item| backlog.push(item));
        let turn = backlog.turn().expect("nobody else sends");
        assert!(backlog.turn().is_none());
        let mut taken = VecDeque::new();
        turn.take(&mut taken, short);
        assert_eq!(taken, [0, 1, 2]);
        assert_eq!(taken.pop_front(), Some(0));
        turn.done();
        turn.put_back(&mut taken);
        for item in 1..3 {
            assert_eq!(turn.take_one(), Some(item));
            assert!(!backlog.is_empty(), "it is being sent");
            turn.done();
        }
        assert!(backlog.is_empty() && turn.take_one().is_none());
        drop(turn);
        assert!(backlog.turn().is_some());
    }

    #[test]
    fn what_goes_at_once_is_short_and_follows_each_other() {
        let backlog = Backlog::default();
        let turn = backlog.turn().expect("nobody else is there");
        let counts = |pushed: Vec<i64>| {
            pushed.into_iter().for_each(|item| backlog.push(item));
            let (mut counts, mut taken) = (Vec::new(), VecDeque::new());
            while !backlog.is_empty() {
                turn.take(&mut taken, short);
                counts.push(taken.len());
                taken.drain(..).for_each(|_| turn.done());
            }
            counts
        };
        assert_eq!(counts(vec![10; 40]), [16, 16, 8]);
        assert_eq!(counts(vec![100_000; 12]), [10, 2], "no more than a call may take");
        assert_eq!(counts(vec![-1, 10, 100_000]), [1, 2]);
        assert_eq!(counts(vec![10, 10, -1, 10]), [2, 1, 1]);
        assert_eq!(counts(vec![2 << 20, 10]), [1, 1], "the first goes however long it is");
    }
}
