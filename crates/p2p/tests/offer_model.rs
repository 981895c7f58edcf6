//! All interleavings of an offer, by model checking:
//! `RUSTFLAGS="--cfg loom" cargo test -p weft-p2p --test offer_model --release`.
//!
//! The ring and the operation's word are the library's own; the lock, which has a model of its own, is loom's. The steps
//! around them are those of `Engine::offer`, `Engine::receive`, `Endpoint::suspend` and `Endpoint::park`, for one message:
//! the sender's looks while it spins are one, and its buffer and the receiver's are cells whose accesses the model checks.
//! Nobody is invited to copy the tail: that has a model of its own.
#![cfg(loom)]
#![allow(unsafe_code, dead_code)] // The ring's sides are unsafe to call; the model uses a part of the word.

#[path = "../src/operation/word.rs"]
mod word;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*, fence};
use loom::sync::{Arc, Mutex, Notify};
use loom::thread;
use weft_local::{Header, Ring};
use word::{Completed, Registered, Word};

const DATA: u64 = 4711;
/// Names of threads, as aligned as a thread's address.
const SENDER: usize = 64;
const RECEIVER: usize = 128;

/// An operation: its word, and all else of it that has one owner at a time, which here is the user's data.
struct Operation {
    word: Word,
    data: UnsafeCell<u64>,
    settled: AtomicBool,
}

impl Operation {
    fn new(word: Word, data: u64) -> &'static Self {
        Box::leak(Box::new(Self { word, data: UnsafeCell::new(data), settled: AtomicBool::new(false) }))
    }

    fn read(&self) -> u64 {
        // SAFETY: the model reports a conflicting access.
        self.data.with(|data| unsafe { *data })
    }

    fn write(&self, value: u64) {
        // SAFETY: an access of another thread meanwhile would be reported by the model.
        self.data.with_mut(|data| unsafe { *data = value });
    }
}

/// What the lock of the receiver's endpoint guards.
#[derive(Default)]
struct State {
    posted: Option<&'static Operation>,
    unexpected: Option<&'static Operation>,
}

/// The receiver's endpoint, the ring that leads to it, and the wake-ups of both ranks.
struct World {
    state: Mutex<State>,
    ring: Ring,
    asleep: AtomicBool,
    posted: AtomicBool,
    /// What each rank sleeps on, and how often it was woken.
    sleep: [Notify; 2],
    woken: [AtomicUsize; 2],
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::default()),
            ring: Ring::default(),
            asleep: AtomicBool::new(false),
            posted: AtomicBool::new(false),
            sleep: [Notify::new(), Notify::new()],
            woken: [AtomicUsize::new(0), AtomicUsize::new(0)],
        })
    }

    fn wake(&self, thread: usize) {
        let rank = usize::from(thread == RECEIVER);
        assert_eq!(self.woken[rank].fetch_add(1, AcqRel), 0, "woken twice");
        self.sleep[rank].notify();
    }

    fn sleep(&self, thread: usize) {
        let rank = usize::from(thread == RECEIVER);
        while self.woken[rank].load(Acquire) == 0 {
            self.sleep[rank].wait();
        }
    }

    /// `finish` of a receive.
    fn finish_receive(&self, receive: &Operation, me: usize) {
        let thread = receive.word.owed().expect("blocking receives are owed");
        if thread == me {
            receive.settled.store(true, Relaxed);
            receive.word.set_done();
        } else {
            receive.word.set_done();
            self.wake(thread);
        }
    }

    /// `finish` of a send that was in matching.
    fn finish_send(&self, send: &Operation) {
        match send.word.complete(false) {
            Completed::Alone => {}
            Completed::Awaited(thread) => self.wake(thread),
            Completed::Detached => unreachable!("nobody detaches"),
        }
    }

    /// `Endpoint::take_from_ring`: copies straight from an offer, if there is one.
    fn take_from_ring(&self, buffer: &Operation) -> bool {
        // SAFETY: callers hold the lock.
        let Some(send) = (unsafe { self.pop() }) else { return false };
        buffer.write(send.read());
        assert!(send.word.is_offered());
        send.word.set_done();
        true
    }

    /// `Endpoint::drain_ring` with `add_offer`.
    fn drain(&self, state: &mut State, me: usize) {
        // SAFETY: callers hold the lock.
        while let Some(send) = unsafe { self.pop() } {
            if let Some(receive) = state.posted.take() {
                self.posted.store(false, Relaxed);
                receive.write(send.read());
                assert!(send.word.is_offered());
                send.word.set_done();
                self.finish_receive(receive, me);
            } else {
                send.word.withdraw_offer();
                state.unexpected = Some(send);
            }
        }
    }

    /// Takes the operation that is offered in the ring.
    ///
    /// # Safety
    /// The caller holds the lock.
    unsafe fn pop(&self) -> Option<&'static Operation> {
        // SAFETY: the caller is the consumer; offers hold the address of an operation.
        unsafe {
            let message = self.ring.peek()?;
            let send = &*message.payload.cast::<*const Operation>().read_unaligned();
            self.ring.pop(&message);
            Some(send)
        }
    }

    fn drain_and_deliver(&self, me: usize) {
        self.drain(&mut self.state.lock().unwrap(), me);
    }

    /// `Engine::send` for a message of medium length. Afterwards the buffer is the sender's again.
    fn send(&self) {
        let operation = if self.asleep.load(Relaxed) || self.posted.load(Relaxed) {
            let operation = Operation::new(Word::pending(), DATA);
            self.deliver(operation);
            operation
        } else {
            let operation = Operation::new(Word::offered(), DATA);
            self.offer(operation);
            operation
        };
        assert!(operation.word.is_done());
        operation.write(0);
    }

    fn offer(&self, operation: &'static Operation) {
        let address = core::ptr::from_ref(operation);
        let header = Header::new(0, 0, 0, 8);
        // SAFETY: the only producer; the payload is eight bytes.
        assert!(unsafe { self.ring.push(header, (&raw const address).cast()) });
        fence(SeqCst);
        if self.asleep.load(Relaxed) {
            self.drain_and_deliver(SENDER);
        }
        if operation.word.is_done() {
            return;
        }
        // It would park now.
        self.drain_and_deliver(SENDER);
        assert!(!operation.word.is_offered(), "whoever took it from the ring is still at work");
        self.wait_for(operation);
    }

    /// `Engine::deliver`, and the wait for it.
    fn deliver(&self, operation: &'static Operation) {
        let mut state = self.state.lock().unwrap();
        self.drain(&mut state, SENDER);
        if let Some(receive) = state.posted.take() {
            self.posted.store(false, Relaxed);
            drop(state);
            receive.write(operation.read());
            self.finish_receive(receive, SENDER);
            operation.word.set_done(); // The real one returns: nobody waits for it.
            return;
        }
        state.unexpected = Some(operation);
        drop(state);
        self.wait_for(operation);
    }

    fn wait_for(&self, operation: &Operation) {
        while !operation.word.is_done() && operation.word.register(SENDER) != Registered::TooLate {
            self.sleep(SENDER);
        }
    }

    /// Copies from a send that left the queue of unexpected messages.
    fn take_message(&self, send: &Operation, buffer: &Operation) {
        buffer.write(send.read());
        self.finish_send(send);
    }

    /// `Engine::receive`; `looks` times before it posts. Returns what was received.
    fn receive(&self, looks: u32) -> u64 {
        let buffer = Operation::new(Word::owed_to(RECEIVER), 0);
        for _ in 0..looks {
            if self.ring.is_ready() {
                let mut state = self.state.lock().unwrap();
                let taken = match state.unexpected.take() {
                    Some(send) => {
                        drop(state);
                        self.take_message(send, buffer);
                        true
                    }
                    None => self.take_from_ring(buffer),
                };
                if taken {
                    return buffer.read();
                }
            }
            thread::yield_now();
        }
        let mut state = self.state.lock().unwrap();
        if let Some(send) = state.unexpected.take() {
            drop(state);
            self.take_message(send, buffer);
            return buffer.read();
        }
        if self.take_from_ring(buffer) {
            return buffer.read();
        }
        state.posted = Some(buffer);
        self.posted.store(true, Relaxed);
        // `Endpoint::suspend`.
        self.asleep.store(true, Relaxed);
        drop(state);
        fence(SeqCst);
        if self.ring.is_ready() {
            self.drain_and_deliver(RECEIVER);
        }
        if !buffer.settled.load(Relaxed) {
            self.sleep(RECEIVER);
        }
        self.asleep.store(false, Relaxed);
        assert!(buffer.word.is_done());
        buffer.read()
    }
}

fn bounded(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    // Three threads and a lock.
    builder.max_branches = 20_000;
    builder.check(body);
}

/// Sender and receiver meet: the message arrives whole, the sender gets its buffer back when nobody reads it any more, and
/// nobody sleeps for ever (the model reports that as a deadlock) or is woken twice.
fn meet(looks: u32) {
    bounded(3, move || {
        let world = World::new();
        let sender = {
            let world = world.clone();
            thread::spawn(move || world.send())
        };
        assert_eq!(world.receive(looks), DATA);
        sender.join().unwrap();
        assert!(!world.ring.is_ready());
    });
}

#[test]
fn an_offer_to_a_receiver_that_sleeps_at_once() {
    meet(0);
}

#[test]
fn an_offer_to_a_receiver_that_looks_once() {
    meet(1);
}

/// A third thread, of the receiver's rank, empties the ring meanwhile, as every thread does that waits or tests.
#[test]
fn an_offer_that_another_thread_moves() {
    bounded(2, || {
        let world = World::new();
        let sender = {
            let world = world.clone();
            thread::spawn(move || world.send())
        };
        let other = {
            let world = world.clone();
            thread::spawn(move || {
                if world.ring.is_ready() {
                    world.drain_and_deliver(0);
                }
            })
        };
        assert_eq!(world.receive(0), DATA);
        sender.join().unwrap();
        other.join().unwrap();
    });
}
