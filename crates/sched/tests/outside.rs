//! Ranks on workers and threads of their own wait for what comes from outside of the process. One process, one source, so
//! one test.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use weft_sched::{Config, Scheduler, Source, Thread};

const RANKS: u32 = 4;
const PLAIN: usize = 4;
const ROUNDS: u64 = 2000;
const LOCAL: u64 = 100;
/// How often each waiter was asked from inside.
static ASKED: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];

/// Messages for waiters, by their number: how many were sent, and how many the poll has handed over.
struct Post {
    sent: [AtomicU64; 8],
    arrived: [AtomicU64; 8],
    threads: Mutex<[Option<&'static Thread>; 8]>,
    polling: Mutex<()>,
    bell: AtomicU32,
    sleeping: AtomicU32,
}

static POST: Post = Post {
    sent: [const { AtomicU64::new(0) }; 8],
    arrived: [const { AtomicU64::new(0) }; 8],
    threads: Mutex::new([None; 8]),
    polling: Mutex::new(()),
    bell: AtomicU32::new(0),
    sleeping: AtomicU32::new(0),
};

/// A worker and one thread sleep in the source; who else does would wake up each time for nothing.
const SLEEPERS: u32 = 2;
/// The most that have slept there at once.
static MOST: AtomicU32 = AtomicU32::new(0);

/// Sleeps that only the time ended, though there was reason to wake up.
static OVERSLEPT: AtomicU32 = AtomicU32::new(0);

impl Source for Post {
    fn poll(&self) -> bool {
        let Ok(_turn) = self.polling.try_lock() else { return false };
        let mut moved = false;
        for waiter in 0..8 {
            let sent = self.sent[waiter].load(Ordering::Acquire);
            if self.arrived[waiter].load(Ordering::Relaxed) != sent {
                self.arrived[waiter].store(sent, Ordering::Release);
                moved = true;
                let thread = self.threads.lock().unwrap()[waiter];
                if let Some(thread) = thread {
                    thread.unpark();
                }
            }
        }
        moved
    }

    fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool) {
        let seen = self.bell.load(Ordering::SeqCst);
        MOST.fetch_max(self.sleeping.fetch_add(1, Ordering::SeqCst) + 1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let nothing =
            (0..8).all(|i| self.sent[i].load(Ordering::SeqCst) == self.arrived[i].load(Ordering::SeqCst));
        let sleeps = nothing && is_idle();
        if sleeps && !weft_sys::futex::wait_for(&self.bell, seen, Some(limit)) && !is_idle() {
            OVERSLEPT.fetch_add(1, Ordering::SeqCst);
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.sleeping.load(Ordering::SeqCst) != 0 {
            self.bell.fetch_add(1, Ordering::SeqCst);
            weft_sys::futex::wake(&self.bell, u32::MAX);
        }
    }
}

/// Waits for every message in turn, and asks for the next.
fn wait(number: usize, answers: &AtomicU64) {
    POST.threads.lock().unwrap()[number] = Some(weft_sched::current());
    for round in 1..=ROUNDS {
        while POST.arrived[number].load(Ordering::Acquire) < round {
            weft_sched::park();
        }
        answers.store(round, Ordering::Release);
    }
    // From here on only wake-ups from inside.
    for round in 1..=LOCAL {
        while ASKED[number].load(Ordering::Acquire) < round {
            weft_sched::park();
        }
        answers.store(ROUNDS + round, Ordering::Release);
    }
}

/// Wakes the waiters from inside the process, each when all of it sleeps.
fn wake_from_inside(answers: &[AtomicU64; 8]) {
    for round in 1..=LOCAL {
        for (waiter, answer) in answers.iter().enumerate() {
            let thread = POST.threads.lock().unwrap()[waiter].expect("it has answered before");
            while !thread.is_parked() || POST.sleeping.load(Ordering::SeqCst) < SLEEPERS {
                std::thread::yield_now();
            }
            ASKED[waiter].store(round, Ordering::Release);
            thread.unpark();
            while answer.load(Ordering::Acquire) < ROUNDS + round {
                std::thread::yield_now();
            }
            assert_eq!(OVERSLEPT.load(Ordering::SeqCst), 0, "a wake-up was lost");
        }
    }
}

#[test]
fn what_comes_from_outside_wakes_ranks_and_threads() {
    weft_sched::set_source(&POST, false, false);
    weft_sched::on_deadlock(|| panic!("others could still send"));
    let scheduler = Scheduler::Auto;
    weft_sched::start(Config {
        ranks: RANKS,
        workers: 2,
        scheduler,
        stack_size: 256 << 10,
        ..Config::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
    static ANSWERS: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];
    for rank in 0..RANKS {
        weft_sched::spawn_rank(rank, Box::new(move || wait(rank as usize, &ANSWERS[rank as usize])))
            .unwrap_or_else(|error| panic!("{error}"));
    }
    let begin = Barrier::new(PLAIN + 1);
    std::thread::scope(|scope| {
        for (plain, answers) in ANSWERS.iter().enumerate().skip(RANKS as usize) {
            let begin = &begin;
            scope.spawn(move || {
                begin.wait();
                wait(plain, answers);
            });
        }
        begin.wait();
        // The outside: one message to each waiter per round, the next when it has been answered.
        for round in 1..=ROUNDS {
            for sent in &POST.sent {
                sent.store(round, Ordering::Release);
                POST.wake();
            }
            for answer in &ANSWERS {
                while answer.load(Ordering::Acquire) < round {
                    std::thread::yield_now();
                }
            }
        }
        wake_from_inside(&ANSWERS);
    });
    weft_sched::wait_for_ranks();
    assert_eq!(MOST.load(Ordering::Relaxed), SLEEPERS);
    assert_eq!(weft_sched::late_wakes(), 0, "a wake-up of a thread at its own word was lost");
    assert_eq!(OVERSLEPT.load(Ordering::SeqCst), 0, "a wake-up was lost");
}
