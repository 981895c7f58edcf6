//! All interleavings of the threads of one rank that share its ring, by model checking:
//! `RUSTFLAGS="--cfg loom" cargo test -p weft-local --test turns_model --release`.
#![cfg(loom)]
#![allow(unsafe_code)] // The ring's sides are unsafe to call.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::thread;
use weft_local::{Header, Ring};
use weft_sync::Lock;

const SLOTS: i32 = weft_local::SLOTS as i32;

/// The rings of a pair of ranks. Only the one to the receiver is sent into.
struct World {
    ring: Ring,
    back: Ring,
    /// Held by whoever is the consumer.
    receiver: Lock<()>,
    /// Whether the sending rank has announced a thread.
    announced: AtomicBool,
}

impl World {
    fn new() -> Arc<Self> {
        let announced = AtomicBool::new(false);
        Arc::new(Self { ring: Ring::default(), back: Ring::default(), receiver: Lock::new(()), announced })
    }

    /// Sends as `Endpoint::push_into` of `weft-p2p` decides: the rank's own thread alone until a thread was announced,
    /// then all in turn.
    fn push(&self, sender: i32, number: i32) -> bool {
        let header = Header::new(0, sender, number, 4);
        let payload = (&raw const number).cast();
        // SAFETY: that there is one producer at a time is what the model is to show. The payload is four bytes.
        unsafe {
            if !self.announced.load(Relaxed) {
                sender == 0 && self.ring.push(header, payload)
            } else {
                self.ring.push_in_turn(header, payload)
            }
        }
    }

    /// Takes what is there, and notes who sent which number.
    fn drain(&self, seen: &mut Vec<(i32, i32)>) {
        let _role = self.receiver.lock();
        // SAFETY: the lock is held.
        unsafe {
            while let Some(message) = self.ring.peek() {
                let number = message.payload.cast::<i32>().read_unaligned();
                assert_eq!(number, message.header.tag(), "half a message");
                seen.push((message.header.source(), number));
                self.ring.pop(&message);
            }
        }
    }
}

fn of(sender: i32, seen: &[(i32, i32)]) -> Vec<i32> {
    seen.iter().filter(|s| s.0 == sender).map(|s| s.1).collect()
}

fn bounded(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(body);
}

/// The rank's own thread sends, announces and creates a thread, and goes on sending beside it while the receiver takes
/// what is there. What finds no room goes another way.
fn threads_share(joined: bool) {
    bounded(move || {
        let world = World::new();
        if joined {
            Ring::join(&world.ring, &world.back);
        }
        let owner = {
            let world = world.clone();
            thread::spawn(move || {
                assert!(world.push(0, 0));
                world.announced.store(true, Relaxed);
                let created = {
                    let world = world.clone();
                    thread::spawn(move || world.push(1, 0))
                };
                let mine = world.push(0, 1);
                (mine, created.join().unwrap())
            })
        };
        let mut seen = Vec::new();
        world.drain(&mut seen);
        let (mine, theirs) = owner.join().unwrap();
        world.drain(&mut seen);
        assert!(mine || theirs, "there was room for one more");
        assert_eq!(of(0, &seen), if mine { vec![0, 1] } else { vec![0] });
        assert_eq!(of(1, &seen), if theirs { vec![0] } else { vec![] });
    });
}

#[test]
fn threads_of_a_rank_share_its_ring() {
    threads_share(false);
}

/// The first message goes by shuttle.
#[test]
fn threads_of_a_rank_share_its_ring_and_shuttle() {
    threads_share(true);
}

/// Two threads of a rank send into a ring that is full but for one place.
#[test]
fn one_place_is_not_filled_twice() {
    bounded(|| {
        let world = World::new();
        world.announced.store(true, Relaxed);
        (0..SLOTS - 1).for_each(|i| assert!(world.push(0, i)));
        let other = {
            let world = world.clone();
            thread::spawn(move || world.push(1, 0))
        };
        let mine = world.push(0, SLOTS);
        let theirs = other.join().unwrap();
        assert!(mine != theirs, "one place, taken by both or none");
        let mut seen = Vec::new();
        world.drain(&mut seen);
        assert_eq!(seen.len() as i32, SLOTS);
        assert_eq!(of(1, &seen).len(), usize::from(theirs));
    });
}
