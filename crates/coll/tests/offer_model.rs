//! All interleavings of a loan, by model checking: `RUSTFLAGS="--cfg loom" cargo test -p weft-coll --release`.
#![cfg(loom)]
#![allow(unsafe_code, dead_code)] // Buffers as the library uses them: cells whose accesses the model checks.

#[path = "../src/rounds/offer.rs"]
mod offer;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use offer::{Offer, Place};

struct World {
    offer: Offer,
    /// The root's buffer, which the root writes again as soon as it has it back.
    buffer: UnsafeCell<u64>,
    /// The copy, which whoever frees it writes.
    aside: UnsafeCell<u64>,
    freed: AtomicU32,
}

fn read(cell: &UnsafeCell<u64>) {
    // SAFETY: the model reports a conflicting access.
    cell.with(|p| assert_eq!(unsafe { *p }, 7));
}

fn write(cell: &UnsafeCell<u64>, value: u64) {
    // SAFETY: a write while somebody reads would be reported by the model.
    cell.with_mut(|p| unsafe { *p = value });
}

impl World {
    fn free(&self) {
        write(&self.aside, 0);
        self.freed.fetch_add(1, Ordering::Relaxed);
    }

    fn reader(&self, readers: u32) {
        let place = self.offer.begin();
        read(if place == Place::Buffer { &self.buffer } else { &self.aside });
        if self.offer.end(place, readers).frees {
            self.free();
        }
    }
}

fn run(readers: u32, puts_aside: bool) {
    let mut builder = loom::model::Builder::new();
    // All interleavings of three threads take minutes; those with few preemptions have found every mutation tried.
    builder.preemption_bound = (readers > 1).then_some(3);
    builder.check(move || {
        let world = Arc::new(World {
            offer: Offer::default(),
            buffer: UnsafeCell::new(7),
            aside: UnsafeCell::new(0),
            freed: AtomicU32::new(0),
        });
        let others: Vec<_> = (0..readers)
            .map(|_| {
                let world = world.clone();
                thread::spawn(move || world.reader(readers))
            })
            .collect();
        if puts_aside {
            write(&world.aside, 7);
            if world.offer.set_aside(readers) {
                world.free();
            }
        }
        while !world.offer.is_over(readers) {
            thread::yield_now();
        }
        write(&world.buffer, 8);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(world.freed.load(Ordering::Relaxed), u32::from(puts_aside));
    });
}

#[test]
fn a_root_that_waits_has_its_buffer_to_itself() {
    run(2, false);
}

#[test]
fn a_root_that_puts_a_copy_aside_leaves_early_and_the_copy_is_freed_once() {
    run(1, true);
    run(2, true);
}

#[test]
fn only_the_end_that_the_root_waits_for_wakes_it() {
    loom::model(|| {
        let offer = Offer::default();
        let early = offer.begin();
        assert!(!offer.set_aside(2) && !offer.is_over(2));
        let late = offer.begin();
        assert_eq!((early, late), (Place::Buffer, Place::Aside));
        let ended = offer.end(early, 2);
        assert!(ended.wakes && !ended.frees && offer.is_over(2));
        let ended = offer.end(late, 2);
        assert!(ended.frees && !ended.wakes);
    });
}
