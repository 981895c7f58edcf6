//! Models of the protocols between workers, for loom: what waits for a worker, with senders, thieves, the monitor and the
//! worker's sleep ([`ready`](crate::ready) itself), and the wait set. The parking state's own model is beside it, in [`state`](crate::state).
//!
//! Items that live for ever are leaked in each run of a model, as they are outside of models.
#![cfg(test)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use loom::thread;
use weft_sync::queue::{Chain, Gathering, Inbox, Linked, Links, RunQueue};

use crate::ready::Ready;

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

/// Others send while the worker falls asleep. Either it sees what they sent, or one of them sees that it sleeps.
#[test]
fn sending_to_a_sleeping_worker_wakes_it() {
    bounded(|| {
        let ready = Arc::new(Ready::<Item>::new());
        let sender = {
            let ready = ready.clone();
            thread::spawn(move || ready.send(Chain::one(item())))
        };
        let asleep = ready.fall_asleep();
        let woken = sender.join().unwrap();
        assert!(!asleep || woken, "asleep with work in the inbox");
    });
}

/// Two ranks that waited for one event are sent to a worker that falls asleep, while a thief takes one of them: it drains
/// the inbox into the queue and leaves the other there.
#[test]
fn what_a_thief_leaves_is_seen_by_a_worker_that_falls_asleep() {
    bounded(|| {
        let ready = Arc::new(Ready::<Item>::new());
        let sender = {
            let ready = ready.clone();
            thread::spawn(move || {
                let waiting = Gathering::new();
                waiting.add(item());
                waiting.add(item());
                ready.send(waiting.take().unwrap())
            })
        };
        let thief = {
            let ready = ready.clone();
            thread::spawn(move || {
                let loot = RunQueue::new();
                ready.steal(&loot, 8);
            })
        };
        let asleep = ready.fall_asleep();
        let woken = sender.join().unwrap();
        thief.join().unwrap();
        assert!(!asleep || woken || ready.is_empty(), "asleep with work in the queue");
    });
}

/// The monitor moves what waits for a stuck worker to one that falls asleep, while somebody sends to the stuck one:
/// nothing is left where nobody looks.
#[test]
fn what_the_monitor_moves_is_seen_by_a_worker_that_falls_asleep() {
    bounded(|| {
        let workers = Arc::new([Ready::<Item>::new(), Ready::new()]);
        let sender = {
            let workers = workers.clone();
            thread::spawn(move || workers[0].send(Chain::one(item())))
        };
        let monitor = {
            let workers = workers.clone();
            thread::spawn(move || {
                let loot = RunQueue::new();
                workers[0].take_all(&loot);
                while let Some(item) = loot.pop() {
                    workers[1].send_silently(Chain::one(item));
                }
                workers[1].rouse()
            })
        };
        let asleep = workers[1].fall_asleep();
        let woken = monitor.join().unwrap();
        sender.join().unwrap();
        assert!(!asleep || woken || workers[1].is_empty(), "asleep with work in the inbox");
        // What the monitor was too early for, the stuck worker finds itself.
        let waiting = workers.iter().filter_map(|w| w.pop()).count();
        assert_eq!(waiting, 1);
    });
}

/// The owner pushes and pops while a thief takes half and a third thread sends to the inbox: each item runs once.
#[test]
fn a_thief_and_the_owner_never_run_the_same_rank() {
    bounded(|| {
        let ready = Arc::new(Ready::<Item>::new());
        let items = [item(), item()];
        let run = |item: &'static Item| {
            item.runs.fetch_add(1, Relaxed);
        };
        let thief = {
            let ready = ready.clone();
            thread::spawn(move || {
                let loot = RunQueue::new();
                ready.steal(&loot, 8);
                while let Some(item) = loot.pop() {
                    run(item);
                }
            })
        };
        let _awake = ready.send(Chain::one(items[0]));
        ready.push(Chain::one(items[1]));
        for _ in 0..2 {
            ready.pop().into_iter().for_each(run);
        }
        thief.join().unwrap();
        while let Some(item) = ready.pop() {
            run(item);
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
                        run_all(&shared.0);
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
