//! All interleavings of gates, posts and completions, by model checking:
//! `RUSTFLAGS="--cfg loom" cargo test -p weft-rma --release --test gate_model`.
#![cfg(loom)]
#![allow(unsafe_code, dead_code)] // Data as programs use it: cells whose accesses the model checks.

#[path = "../src/exposure.rs"]
mod exposure;
#[path = "../src/gate.rs"]
mod gate;

use exposure::Exposure;
use gate::{Gate, Latch, Waiter, Way};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Notify};
use loom::thread;

/// One who sleeps until it is woken. Whom nobody wakes is a deadlock to the model.
#[derive(Clone)]
struct Sleeper(Arc<(AtomicBool, Notify)>);

impl Sleeper {
    fn new() -> Self {
        Self(Arc::new((AtomicBool::new(false), Notify::new())))
    }

    fn wait(&self) {
        // The model also returns from waits that nobody has ended.
        while !self.0.0.load(Ordering::Acquire) {
            self.0.1.wait();
        }
    }
}

impl Waiter for Sleeper {
    fn wake(self) {
        self.0.0.store(true, Ordering::Release);
        self.0.1.notify();
    }
}

/// Checks the interleavings of a body that have few preemptions; all would take hours.
fn bounded(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    // Three threads and a lock.
    builder.max_branches = 20_000;
    builder.check(body);
}

struct World {
    latch: Latch,
    gate: Gate<Sleeper>,
    data: UnsafeCell<u64>,
}

impl World {
    fn new(alone: u32) -> Arc<Self> {
        Arc::new(Self { latch: Latch::default(), gate: Gate::new(alone), data: UnsafeCell::new(0) })
    }

    /// Enters; who must wait goes on only when it was woken and is in.
    fn enter(&self, way: Way) {
        let woken = Sleeper::new();
        if let Some(ticket) = self.gate.enter(&self.latch, way, || woken.clone()) {
            woken.wait();
            assert!(self.gate.has_admitted(ticket), "woken and not in");
        }
    }

    fn write(&self) {
        self.enter(Way::Alone);
        // SAFETY: the model reports a conflicting access.
        self.data.with_mut(|data| unsafe { *data += 1 });
        self.gate.leave(&self.latch);
    }

    fn read(&self) -> u64 {
        self.enter(Way::Shared);
        // SAFETY: the model reports a conflicting access.
        let found = self.data.with(|data| unsafe { *data });
        self.gate.leave(&self.latch);
        found
    }
}

#[test]
fn writers_exclude_each_other_and_nobody_is_forgotten() {
    bounded(|| {
        let world = World::new(1);
        let others: Vec<_> = (0..2)
            .map(|_| {
                let world = world.clone();
                thread::spawn(move || world.write())
            })
            .collect();
        world.write();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(world.read(), 3);
        assert_eq!(world.latch.held(), None);
    });
}

#[test]
fn who_sees_the_latch_alone_forgets_nobody() {
    bounded(|| {
        let world = World::new(1);
        let (other, apart) = (world.clone(), world.clone());
        let other = thread::spawn(move || other.write());
        // Of another process: it does not wait here, and tells the queue's process when it leaves.
        let apart = thread::spawn(move || {
            let is_in = apart.latch.enter(Way::Alone, 1);
            if is_in {
                // SAFETY: the model reports a conflicting access.
                apart.data.with_mut(|data| unsafe { *data += 1 });
                if apart.latch.leave() {
                    apart.gate.let_in(&apart.latch);
                }
            }
            u64::from(is_in)
        });
        world.write();
        other.join().unwrap();
        assert_eq!(2 + apart.join().unwrap(), world.read());
        assert_eq!(world.latch.held(), None);
    });
}

#[test]
fn readers_see_whole_writes_and_nobody_is_forgotten() {
    bounded(|| {
        let world = World::new(1);
        let (writer, reader) = (world.clone(), world.clone());
        let writer = thread::spawn(move || writer.write());
        let reader = thread::spawn(move || reader.read());
        assert!(world.read() <= 1 && reader.join().unwrap() <= 1);
        writer.join().unwrap();
        assert_eq!(world.latch.held(), None);
    });
}

#[test]
fn who_shares_waits_for_all_who_are_alone() {
    bounded(|| {
        let world = World::new(u32::MAX);
        let others: Vec<_> = (0..2)
            .map(|_| {
                let world = world.clone();
                thread::spawn(move || {
                    world.enter(Way::Alone);
                    // SAFETY: the model reports a conflicting access; both only read.
                    world.data.with(|data| unsafe { *data });
                    world.gate.leave(&world.latch);
                })
            })
            .collect();
        world.enter(Way::Shared);
        // SAFETY: the model reports a conflicting access: nobody is in who is alone.
        world.data.with_mut(|data| unsafe { *data += 1 });
        world.gate.leave(&world.latch);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn who_joins_waits_for_who_is_alone_and_passes_who_waits() {
    bounded(|| {
        let world = World::new(1);
        let writer = world.clone();
        world.enter(Way::Shared);
        let writer = thread::spawn(move || writer.write());
        // Would wait for ever if the writer, who waits for the first entry, went before.
        let woken = Sleeper::new();
        world.gate.join(&world.latch, woken.clone());
        woken.wait();
        world.gate.leave(&world.latch);
        world.gate.leave(&world.latch);
        // Now the writer may be in.
        let woken = Sleeper::new();
        world.gate.join(&world.latch, woken.clone());
        woken.wait();
        // SAFETY: the model reports a conflicting access.
        assert!(world.data.with(|data| unsafe { *data }) <= 1);
        world.gate.leave(&world.latch);
        writer.join().unwrap();
        assert_eq!((world.latch.held(), world.read()), (None, 1));
    });
}

#[test]
fn an_epoch_of_origin_and_target_hands_memory_to_and_fro() {
    bounded(|| {
        // The target's memory, and what each of both is told.
        let world =
            Arc::new((UnsafeCell::new(0u64), Exposure::<Sleeper>::default(), Exposure::<Sleeper>::default()));
        let origin = world.clone();
        let origin = thread::spawn(move || {
            let (memory, told, target) = (&origin.0, &origin.1, &origin.2);
            for epoch in 0..2 {
                let mut targets = vec![0];
                loop {
                    let woken = Sleeper::new();
                    told.take_posts(&mut targets, Some(woken.clone()));
                    if targets.is_empty() {
                        break;
                    }
                    woken.wait();
                }
                // SAFETY: the model reports a conflicting access.
                memory.with_mut(|memory| unsafe { *memory += epoch + 1 });
                target.complete();
            }
        });
        for epoch in 0..2 {
            world.1.post(0);
            loop {
                let woken = Sleeper::new();
                if world.2.take_completions(1, Some(woken.clone())) {
                    break;
                }
                woken.wait();
            }
            // SAFETY: the model reports a conflicting access.
            assert_eq!(world.0.with(|memory| unsafe { *memory }), [1, 3][epoch]);
        }
        origin.join().unwrap();
    });
}
