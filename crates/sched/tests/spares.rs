//! A worker that the monitor added to help out does not stay behind as the one that sleeps in the source. One process, one
//! source, so one test.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weft_sched::{Config, Scheduler, Source, Thread};

/// Who has slept in the source, by the names of kernel threads.
static SLEPT: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Quiet;

impl Source for Quiet {
    fn poll(&self) -> bool {
        false
    }

    fn sleep(&self, _limit: Duration, is_idle: &dyn Fn() -> bool) {
        let name = std::thread::current().name().unwrap_or_default().to_string();
        let mut slept = SLEPT.lock().unwrap();
        if !slept.contains(&name) {
            slept.push(name);
        }
        drop(slept);
        if is_idle() {
            std::thread::yield_now();
        }
    }

    fn wake(&self) {}
}

static HAS_RUN: AtomicBool = AtomicBool::new(false);
/// The ranks that wait for the end.
static RANKS: Mutex<Vec<&'static Thread>> = Mutex::new(Vec::new());
static MAY_END: AtomicBool = AtomicBool::new(false);

fn has_slept(name: &str) -> bool {
    SLEPT.lock().unwrap().iter().any(|slept| slept == name)
}

fn first() {
    // The worker has slept there before there was a rank.
    SLEPT.lock().unwrap().clear();
    // Keeps the only worker until a spare has run the other rank, and for as long as that needs to fall asleep.
    while !HAS_RUN.load(Ordering::Acquire) {
        std::hint::spin_loop();
    }
    let end = Instant::now() + Duration::from_millis(100);
    while Instant::now() < end && !has_slept("weft-worker-1") {
        std::hint::spin_loop();
    }
    wait_for_the_end();
}

fn second() {
    HAS_RUN.store(true, Ordering::Release);
    wait_for_the_end();
}

fn wait_for_the_end() {
    RANKS.lock().unwrap().push(weft_sched::current());
    while !MAY_END.load(Ordering::Acquire) {
        weft_sched::park();
    }
}

#[test]
fn a_spare_worker_does_not_sleep_in_the_source() {
    weft_sched::set_source(&Quiet, false, false);
    weft_sched::start(Config {
        ranks: 2,
        workers: 1,
        scheduler: Scheduler::User,
        stack_size: 256 << 10,
        ..Config::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
    for (rank, body) in [(0, first as fn()), (1, second)] {
        weft_sched::spawn_rank(rank, Box::new(body)).unwrap_or_else(|error| panic!("{error}"));
    }
    let limit = Instant::now() + Duration::from_secs(20);
    while !(HAS_RUN.load(Ordering::Acquire) && has_slept("weft-worker-0")) && Instant::now() < limit {
        std::thread::yield_now();
    }
    assert!(HAS_RUN.load(Ordering::Acquire), "no spare has run the second rank");
    assert_eq!(*SLEPT.lock().unwrap(), ["weft-worker-0"]);
    MAY_END.store(true, Ordering::Release);
    RANKS.lock().unwrap().iter().for_each(|rank| rank.unpark());
    weft_sched::wait_for_ranks();
}
