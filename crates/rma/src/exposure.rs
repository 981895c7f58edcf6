//! Who exposes its memory to whom, and who has finished with it: general active target synchronisation among ranks.
//!
//! Each rank has one [`Exposure`]. As an origin it is told there by targets that expose their memory to it; a start waits until
//! all of its targets have, and takes their words back. A target can be ahead of a start by one post: its wait ends only after
//! the origin has taken the word and completed. As a target it is told there by origins that have completed; a wait takes as many
//! as its post named.
//!
//! Nobody waits here. Who would have to leaves word who it is ([`Waiter`]), and looks again when it was woken.

use crate::gate::Waiter;
use std::collections::HashMap;
use weft_sync::Lock;
use weft_sync::facade::atomic::{AtomicU32, Ordering};

struct State<W> {
    /// How often each rank has posted for this one, as far as no start has taken it.
    posts: HashMap<u32, u32>,
    /// How many origins have completed, as far as no wait has taken it.
    completed: u64,
    waiting: Vec<W>,
}

/// What a rank is told by those it synchronises with.
pub struct Exposure<W> {
    state: Lock<State<W>>,
    /// Counts what it was told, so that one who waits need not lock to see that there is nothing new.
    news: AtomicU32,
}

impl<W: Waiter> Default for Exposure<W> {
    fn default() -> Self {
        let state = State { posts: HashMap::new(), completed: 0, waiting: Vec::new() };
        Self { state: Lock::new(state), news: AtomicU32::new(0) }
    }
}

impl<W: Waiter> Exposure<W> {
    fn tell(&self, change: impl FnOnce(&mut State<W>)) {
        let mut state = self.state.lock();
        change(&mut state);
        self.news.fetch_add(1, Ordering::Release);
        let waiting = core::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(W::wake);
    }

    /// Returns a number that changes whenever the rank is told something.
    pub fn news(&self) -> u32 {
        self.news.load(Ordering::Acquire)
    }

    /// Has who waits look again.
    pub fn disturb(&self) {
        self.tell(|_| ());
    }

    /// Tells the rank that rank `target` exposes its memory to it.
    pub fn post(&self, target: u32) {
        self.tell(|state| *state.posts.entry(target).or_default() += 1);
    }

    /// Takes the posts of `targets` that have come out of the list. With some left, `waiter` is woken when there is news.
    pub fn take_posts(&self, targets: &mut Vec<u32>, waiter: Option<W>) {
        let mut state = self.state.lock();
        targets.retain(|target| {
            let Some(posts) = state.posts.get_mut(target) else { return true };
            *posts -= 1;
            if *posts == 0 {
                state.posts.remove(target);
            }
            false
        });
        if !targets.is_empty() {
            state.waiting.extend(waiter);
        }
    }

    /// Returns how many completions have come that no wait has taken.
    pub fn completions(&self) -> u64 {
        self.state.lock().completed
    }

    /// Tells the rank that an origin has completed.
    pub fn complete(&self) {
        self.tell(|state| state.completed += 1);
    }

    /// Takes so many completions, if they have come. Else `waiter` is woken when there is news.
    pub fn take_completions(&self, number: u64, waiter: Option<W>) -> bool {
        let mut state = self.state.lock();
        let are_there = state.completed >= number;
        if are_there {
            state.completed -= number;
        } else {
            state.waiting.extend(waiter);
        }
        are_there
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32 as Count;

    struct Counted(Arc<Count>);

    impl Waiter for Counted {
        fn wake(self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn posts_may_come_early_and_are_taken_once() {
        let exposure = Exposure::<Counted>::default();
        exposure.post(3);
        exposure.post(7);
        let mut targets = vec![7];
        exposure.take_posts(&mut targets, None);
        assert!(targets.is_empty());
        let mut targets = vec![3, 7];
        exposure.take_posts(&mut targets, None);
        assert_eq!(targets, [7], "the post of 7 was taken before");
    }

    #[test]
    fn who_waits_is_woken_by_news() {
        let (exposure, woken) = (Exposure::default(), Arc::new(Count::new(0)));
        let waiter = || Some(Counted(woken.clone()));
        let before = exposure.news();
        assert!(!exposure.take_completions(2, waiter()));
        exposure.complete();
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        assert_ne!(exposure.news(), before);
        assert_eq!(exposure.completions(), 1);
        assert!(!exposure.take_completions(2, waiter()));
        exposure.complete();
        assert_eq!(woken.load(Ordering::Relaxed), 2);
        assert!(exposure.take_completions(2, waiter()) && !exposure.take_completions(1, None));
        assert!(exposure.take_completions(0, None), "nobody was named");
    }
}
