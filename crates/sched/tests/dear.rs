//! Where processes outnumber the cores and each look costs calls of the kernel, who waits looks a few times and then sleeps. One
//! process, one source, so one test.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use std::time::Duration;

use weft_sched::{Config, Scheduler, Source, Thread};

/// How often a thread looks before it parks, and how often workers do in a round: the rank's looks once, and once more when it
/// falls asleep, and so may the other; the thread that looks while all compute may come between.
const LOOKS: usize = 16;
const POLLS: u32 = 4;
const ROUNDS: usize = 200;

/// Counts how often it is asked, and sleeps until it is woken.
#[derive(Default)]
struct Bell {
    rings: AtomicU32,
    sleeping: AtomicU32,
    polls: AtomicU32,
}

static BELL: Bell = Bell { rings: AtomicU32::new(0), sleeping: AtomicU32::new(0), polls: AtomicU32::new(0) };

impl Source for Bell {
    fn poll(&self) -> bool {
        self.polls.fetch_add(1, Ordering::Relaxed);
        false
    }

    fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool) {
        let seen = self.rings.load(Ordering::SeqCst);
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if is_idle() {
            weft_sys::futex::wait_for(&self.rings, seen, Some(limit));
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.sleeping.load(Ordering::SeqCst) != 0 {
            self.rings.fetch_add(1, Ordering::SeqCst);
            weft_sys::futex::wake(&self.rings, u32::MAX);
        }
    }
}

/// The rounds that the rank has waited for, and may go on to.
static DONE: AtomicUsize = AtomicUsize::new(0);
static ALLOWED: AtomicUsize = AtomicUsize::new(0);
/// It waits for a round.
static WAITS: AtomicBool = AtomicBool::new(false);

static RANK: OnceLock<&'static Thread> = OnceLock::new();

/// Waits for each round; the looks before it parks are bounded.
fn wait() {
    let _ = RANK.set(weft_sched::current());
    for round in 1..=ROUNDS {
        let mut looks = 0;
        weft_sched::wait_until(|| {
            WAITS.store(true, Ordering::SeqCst);
            looks += 1;
            // It may be woken once for nothing, by what is left of the round before.
            assert!(looks <= 2 * LOOKS + 1, "{looks} looks");
            ALLOWED.load(Ordering::SeqCst) >= round
        });
        DONE.store(round, Ordering::SeqCst);
    }
}

/// Returns when the workers have found their sleep: none has polled for a while.
fn until_nobody_polls() {
    let mut before = u32::MAX;
    while before != BELL.polls.load(Ordering::Relaxed) {
        before = BELL.polls.load(Ordering::Relaxed);
        (0..200).for_each(|_| std::thread::yield_now());
    }
}

#[test]
fn who_waits_looks_a_few_times_and_then_sleeps() {
    weft_sched::set_source(&BELL, true, true);
    weft_sched::on_deadlock(|| panic!("others could still send"));
    // Two workers: with one, nobody could do anything while it looks.
    weft_sched::start(Config {
        ranks: 1,
        workers: 2,
        scheduler: Scheduler::Auto,
        stack_size: 256 << 10,
        ..Config::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
    weft_sched::spawn_rank(0, Box::new(wait)).unwrap_or_else(|error| panic!("{error}"));
    BELL.polls.store(0, Ordering::Relaxed);
    for round in 1..=ROUNDS {
        while !WAITS.swap(false, Ordering::SeqCst) {
            std::thread::yield_now();
        }
        let rank = RANK.get().expect("it waits");
        while !rank.is_parked() || BELL.sleeping.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        until_nobody_polls();
        ALLOWED.store(round, Ordering::SeqCst);
        rank.unpark();
        while DONE.load(Ordering::SeqCst) < round {
            std::thread::yield_now();
        }
    }
    weft_sched::wait_for_ranks();
    let polls = BELL.polls.load(Ordering::Relaxed);
    assert!(polls <= POLLS * ROUNDS as u32, "{polls} polls in {ROUNDS} rounds");
}
