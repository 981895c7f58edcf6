//! Models of the protocols between workers, for loom: the inbox with a worker that falls asleep, the run queue with a
//! thief, and the wait set. The parking state's own model is beside it, in [`state`](crate::state).
//!
//! Items that live for ever are leaked in each run of a model, as they are outside of models.
#![cfg(test)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use loom::thread;
use weft_sync::Biased;
use weft_sync::facade::fence_after_rmw;
use weft_sync::queue::{Chain, Gathering, Inbox, Linked, Links, RunQueue};

struct Item {
    links: Links<Item>,
    runs: AtomicUsize,
}

impl Linked for Item {
    fn links(&self) -> &Links<Self> {
        &self.links
    }
}

fn item() -> &'static Item {
    Box::leak(Box::new(Item { links: Links::new(), runs: AtomicUsize::new(0) }))
}

fn run_all(list: &Gathering<Item>) {
    for item in list.take().into_iter().flatten() {
        item.runs.fetch_add(1, Relaxed);
    }
}

fn bounded(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

/// A pusher adds while the owner falls asleep. Either the owner sees the item, or the pusher sees that it sleeps.
#[test]
fn a_push_to_a_sleeping_worker_wakes_it() {
    bounded(|| {
        let shared = Arc::new((Inbox::<Item>::new(), AtomicUsize::new(0), AtomicBool::new(false)));
        let pusher = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.0.push(Chain::one(item()));
                if shared.1.load(SeqCst) == 1 && shared.1.swap(0, SeqCst) == 1 {
                    shared.2.store(true, Release); // The wake system call.
                }
            })
        };
        shared.1.swap(1, SeqCst);
        fence_after_rmw();
        let seen = !shared.0.is_empty();
        pusher.join().unwrap();
        assert!(seen || shared.2.load(Acquire), "asleep with work in the inbox");
    });
}

/// The owner pushes and pops while a thief takes half and a third thread sends to the inbox: each item runs once.
#[test]
fn a_thief_and_the_owner_never_run_the_same_rank() {
    bounded(|| {
        let shared = Arc::new((Biased::new(RunQueue::<Item>::new()), Inbox::<Item>::new()));
        let items = [item(), item()];
        let thief = {
            let shared = shared.clone();
            thread::spawn(move || {
                let loot = RunQueue::new();
                shared.0.visit(|queue| {
                    shared.1.drain_to(queue);
                    queue.split(&loot, 8);
                });
                while let Some(item) = loot.pop() {
                    item.runs.fetch_add(1, Relaxed);
                }
            })
        };
        shared.1.push(Chain::one(items[0]));
        shared.0.owner(|queue| queue.push(Chain::one(items[1])));
        for _ in 0..2 {
            let next = shared.0.owner(|queue| {
                shared.1.drain_to(queue);
                queue.pop()
            });
            if let Some(item) = next {
                item.runs.fetch_add(1, Relaxed);
            }
        }
        thief.join().unwrap();
        while let Some(item) = shared.0.owner(RunQueue::pop) {
            item.runs.fetch_add(1, Relaxed);
        }
        for item in items {
            assert_eq!(item.runs.load(Relaxed), 1);
        }
    });
}

/// Two waiters and a waker, with the steps of `WaitSet::wait_once` and `wake_all`: each waiter that entered the list
/// becomes runnable exactly once, and nobody is left behind.
#[test]
fn everybody_in_a_wait_set_is_woken_once() {
    bounded(|| {
        let shared = Arc::new((Gathering::<Item>::new(), AtomicBool::new(false)));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let me = item();
                    if shared.1.load(Acquire) {
                        return None;
                    }
                    shared.0.add(me);
                    if shared.1.load(Acquire) {
                        shared
                            .0
                            .take()
                            .into_iter()
                            .flatten()
                            .for_each(|i| drop(i.runs.fetch_add(1, Relaxed)));
                    }
                    Some(me)
                })
            })
            .collect();
        shared.1.store(true, Release);
        run_all(&shared.0);
        // All first: the last waiter may be the one that wakes the others.
        let entered: Vec<_> = waiters.into_iter().filter_map(|w| w.join().unwrap()).collect();
        for item in entered {
            assert_eq!(item.runs.load(Relaxed), 1, "in the list and not woken, or woken twice");
        }
    });
}

/// Many add chains, one takes: the order of each sender is kept, and nothing is lost.
#[test]
fn an_inbox_keeps_each_senders_order() {
    bounded(|| {
        let inbox = Arc::new(Inbox::<Item>::new());
        let items: [&'static Item; 3] = [item(), item(), item()];
        let other = inbox.clone();
        let sender = thread::spawn(move || {
            other.push(Chain::one(items[0]));
            other.push(Chain::one(items[1]));
        });
        inbox.push(Chain::one(items[2]));
        let queue = RunQueue::new();
        inbox.drain_to(&queue);
        sender.join().unwrap();
        inbox.drain_to(&queue);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order.len(), 3);
        let place = |i: &'static Item| order.iter().position(|o| core::ptr::eq(*o, i)).unwrap();
        assert!(place(items[0]) < place(items[1]));
    });
}
